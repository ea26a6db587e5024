/// Particles to grid: mass, momentum and stress, method.md (6) and (7).
#include "scatter.h"
#include "transfer_group.h"

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
    sums->packing = lanes->packing;
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
    float factor = scheme == FIRN_SCHEME_APIC ? -pass->dt * st.slope_scale : -st.slope_scale;
    firn_fm3 stress = firn_fm3_from_fs3(firn_fs3_scale(factor * s->volume, s->stress));
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

void FIRN_KERNEL(to_grid)(const firn_pass *pass, const firn_block *block,
                          const firn_block *following, firn_block_sums *sums)
{
    firn_outbound out;
    FIRN_KERNEL(outbound_begin)(pass, block, &out);
    for (int m = 0; m < FIRN_MODEL_COUNT; m++) {
        firn_segment segment = segment_of(block, following, m);
        if (segment.begin < segment.end)
            FIRN_KERNEL(transfers)[m]->to_grid(pass, &segment, &out);
    }
    FIRN_KERNEL(outbound_end)(pass, block, &out, sums);
}
