/// Particles to grid: mass, momentum and stress, method.md (6) and (7).
#include "scatter.h"
#include "transfer_group.h"

// What resists the rate of deformation in the explicit step, method.md (24).
FIRN_INLINE firn_fs3 group_viscosity(const firn_pass *pass, const firn_state *s)
{
    float h = pass->grid->cell_size;
    firn_fx transit2 =
        firn_fx_ratio(firn_fx_set(h * h), firn_fx_max(firn_fx_set(1e-30f), s->wave2));
    firn_fx time =
        firn_snow_damping(material_of(pass->materials->damping, &s->materials), transit2, pass->dt);
    return firn_snow_viscous_stress(&s->c, s->moduli, time);
}

// Stress of the group, method.md (10), times its volume and a factor; and its share in the sums.
FIRN_INLINE firn_fm3 group_stress(const firn_pass *pass, const firn_state *s, firn_scheme scheme,
                                  float factor, firn_lane_sums *sums)
{
    firn_ix there = lanes_below(s->n);
    firn_fs3 strain = firn_snow_strain_of(&s->deformation);
    sums->elastic += s->volume * firn_snow_energy(strain, s->moduli);
    sums->jp += firn_fx_select(there, s->jp, firn_fx_set(0.0f));
    sums->jp_min = firn_fx_min(sums->jp_min, firn_fx_select(there, s->jp, firn_fx_set(FIRN_NO_JP)));
    firn_fs3 stress = firn_snow_stress(strain, s->moduli);
    if (scheme == FIRN_SCHEME_APIC)
        stress = firn_fs3_add(stress, group_viscosity(pass, s));
    return firn_fm3_from_fs3(firn_fs3_scale(factor * s->volume, stress));
}

FIRN_INLINE void group_sums(firn_fx mass, firn_fx3 u, firn_fx3 v, firn_lane_sums *sums)
{
    sums->mass += mass;
    sums->moment[0] += mass * u.x;
    sums->moment[1] += mass * u.y;
    sums->moment[2] += mass * u.z;
    sums->kinetic += 0.5f * mass * (v.x * v.x + v.y * v.y + v.z * v.z);
}

static void finish_sums(const firn_lane_sums *lanes, firn_block_sums *sums)
{
    sums->mass = firn_fx_sum(lanes->mass);
    for (int axis = 0; axis < 3; axis++)
        sums->moment[axis] = firn_fx_sum(lanes->moment[axis]);
    sums->kinetic = firn_fx_sum(lanes->kinetic);
    sums->elastic = firn_fx_sum(lanes->elastic);
    sums->jp = firn_fx_sum(lanes->jp);
    sums->jp_min = firn_fx_min_lane(lanes->jp_min);
}

// Momentum and mass of the group, and what goes with the slopes: the affine momentum, and in the
// explicit step the impulse of the stress, method.md (5)-(7).
FIRN_INLINE void group_to_grid(const firn_pass *pass, const firn_state *s, firn_scheme scheme,
                               int order, firn_outbound *out)
{
    const firn_slopes slopes =
        scheme == FIRN_SCHEME_FLIP ? FIRN_SLOPES_GRADIENTS : FIRN_SLOPES_MOMENTS;
    const firn_scatter flat = scheme == FIRN_SCHEME_FLIP ? SCATTER_VALUES : SCATTER_MOMENTS;
    const firn_scatter slanted = scheme == FIRN_SCHEME_FLIP ? SCATTER_GRADIENTS : SCATTER_MOMENTS;
    const float h = pass->grid->cell_size;
    _Alignas(64) firn_stencils st;
    _Alignas(64) firn_columns columns;
    make_stencils(&st, s->u, order, slopes, 1.0f / h);
    make_scatter(&st, order, slopes);
    firn_fm3 stress = group_stress(
        pass, s, scheme, scheme == FIRN_SCHEME_APIC ? -pass->dt * st.slope_scale : -st.slope_scale,
        &out->sums);
    group_sums(s->mass, s->u, s->v, &out->sums);
    firn_fm3 affine = {{{0}}};
    if (scheme == FIRN_SCHEME_APIC)
        affine = stress;
    if (scheme != FIRN_SCHEME_FLIP)
        affine = firn_fm3_add_scaled(
            affine, s->mass * (st.slope_scale * h * h / (order == 3 ? 4.0f : 3.0f)), s->c);
    columns_from_lanes(&columns, &st, slopes, firn_fx3_scale(s->mass, s->v), s->mass, affine);
    scatter_group(out->tiles.velocity, &st, &columns, s->n, order, flat);
    if (scheme == FIRN_SCHEME_APIC)
        return;
    firn_fx zero = {0};
    columns_from_lanes(&columns, &st, slopes, (firn_fx3){zero, zero, zero}, zero, stress);
    scatter_group(out->tiles.old, &st, &columns, s->n, order, slanted);
}

void FIRN_KERNEL(outbound_begin)(const firn_pass *pass, const firn_block *block, firn_outbound *out)
{
    out->box = tile_box(pass, block, pass->grid->order);
    tile_clear(out->tiles.velocity, out->box);
    if (pass->scheme != FIRN_SCHEME_APIC)
        tile_clear(out->tiles.old, out->box);
    memset(&out->sums, 0, sizeof out->sums);
    out->sums.jp_min = firn_fx_set(FIRN_NO_JP);
}

void FIRN_KERNEL(outbound_add)(const firn_pass *pass, const firn_state *state, firn_outbound *out)
{
    bool quadratic = pass->grid->order == 3;
    switch (pass->scheme) {
    case FIRN_SCHEME_APIC:
        if (quadratic)
            group_to_grid(pass, state, FIRN_SCHEME_APIC, 3, out);
        else
            group_to_grid(pass, state, FIRN_SCHEME_APIC, 4, out);
        break;
    case FIRN_SCHEME_APIC_SPLIT:
        if (quadratic)
            group_to_grid(pass, state, FIRN_SCHEME_APIC_SPLIT, 3, out);
        else
            group_to_grid(pass, state, FIRN_SCHEME_APIC_SPLIT, 4, out);
        break;
    case FIRN_SCHEME_FLIP:
        if (quadratic)
            group_to_grid(pass, state, FIRN_SCHEME_FLIP, 3, out);
        else
            group_to_grid(pass, state, FIRN_SCHEME_FLIP, 4, out);
        break;
    }
}

void FIRN_KERNEL(outbound_end)(const firn_pass *pass, const firn_block *block, firn_outbound *out,
                               firn_block_sums *sums)
{
    finish_sums(&out->sums, sums);
    tile_add(pass->grid, pass->velocity, block, out->tiles.velocity, out->box);
    if (pass->scheme != FIRN_SCHEME_APIC)
        tile_add(pass->grid, pass->old, block, out->tiles.old, out->box);
}

static firn_state state_load(const firn_pass *pass, size_t first, int n)
{
    firn_state s = {.first = first,
                    .n = n,
                    .materials = lane_materials_load(pass, first, n),
                    .u = vector_load(pass, FIRN_U, first, n),
                    .v = vector_load(pass, FIRN_V, first, n),
                    .jp = channel_load(pass, FIRN_JP, first, n, 1.0f)};
    firn_fm3 f = matrix_load(pass, FIRN_F, first, n, 1.0f);
    s.deformation = firn_snow_deformation_of(&f);
    if (pass->scheme != FIRN_SCHEME_FLIP)
        s.c = matrix_load(pass, FIRN_C, first, n, 0.0f);
    state_harden(pass, &s);
    return s;
}

void FIRN_KERNEL(to_grid)(const firn_pass *pass, const firn_block *block,
                          const firn_block *following, firn_block_sums *sums)
{
    firn_outbound out;
    firn_affine affine = pass->scheme == FIRN_SCHEME_FLIP ? AFFINE_NONE : AFFINE_WHOLE;
    FIRN_KERNEL(outbound_begin)(pass, block, &out);
    for (size_t first = block->begin; first < block->end;) {
        int n = group_size(block, first);
        particles_prefetch(pass, block, following, first, affine, FETCH_MOTION);
        firn_state state = state_load(pass, first, n);
        particles_prefetch(pass, block, following, first, affine, FETCH_DEFORMATION);
        FIRN_KERNEL(outbound_add)(pass, &state, &out);
        particles_prefetch(pass, block, following, first, affine, FETCH_REST);
        first += (size_t)n;
    }
    FIRN_KERNEL(outbound_end)(pass, block, &out, sums);
}
