/// Particles to grid: mass, momentum and stress, method.md (6) and (7).
#include "isa.h"
#include "lanes.h"
#include "stencil.h"

/// What a group of particles gives to the grid, one node for each particle: momentum and mass;
/// affine momentum and stress, a column for each axis.
typedef struct firn_gifts {
    float momentum[FIRN_LANES][4];
    float affine[3][FIRN_LANES][4];
    float force[3][FIRN_LANES][4];
} firn_gifts;

/// firn_block_sums while they are being added up.
typedef struct firn_lane_sums {
    firn_fx_total mass, moment[3], kinetic, elastic, jp;
    firn_fx jp_min;
} firn_lane_sums;

FIRN_INLINE void columns_from_lanes(float (*out)[FIRN_LANES][4], firn_fm3 a)
{
    firn_fx zero = {0};
    for (int column = 0; column < 3; column++)
        nodes_from_lanes(out[column], a.m[column], a.m[3 + column], a.m[6 + column], zero);
}

// What resists the rate of deformation in the explicit step, method.md (24).
FIRN_INLINE firn_fs3 group_viscosity(const firn_pass *pass, size_t first, int n,
                                     firn_snow_moduli moduli, firn_fx volume)
{
    float h = pass->grid->cell_size;
    firn_fx mass = channel_load(pass, FIRN_MASS, first, n, 0.0f);
    firn_fx stiffness =
        firn_fx_max(firn_fx_set(1e-30f), (moduli.lambda + 2.0f * moduli.mu) * volume);
    firn_fx time = firn_snow_damping(material_load(pass, pass->materials->damping, first, n),
                                     h * h * mass / stiffness, pass->dt);
    firn_fm3 gradient = matrix_load(pass, FIRN_C, first, n, 0.0f);
    return firn_snow_viscous_stress(&gradient, moduli, time);
}

// Stress of the group, method.md (10), and its share in the sums.
FIRN_INLINE firn_fm3 group_stress(const firn_pass *pass, size_t first, int n, firn_scheme scheme,
                                  firn_lane_sums *sums)
{
    const float *jp_channel = firn_channel_of(pass->particles, FIRN_JP) + first;
    firn_fx jp = lanes_load(jp_channel, n, FIRN_NO_JP);
    firn_fx volume = channel_load(pass, FIRN_VOLUME, first, n, 0.0f);
    firn_snow_moduli moduli = moduli_load(pass, first, n);
    firn_fs3 strain = firn_snow_strain(matrix_load(pass, FIRN_F, first, n, 1.0f));
    firn_fx_accumulate(&sums->elastic, volume * firn_snow_energy(strain, moduli));
    firn_fx_accumulate(&sums->jp, lanes_load(jp_channel, n, 0.0f));
    sums->jp_min = firn_fx_min(sums->jp_min, jp);
    firn_fs3 stress = firn_snow_stress(strain, moduli);
    if (scheme == FIRN_SCHEME_APIC)
        stress = firn_fs3_add(stress, group_viscosity(pass, first, n, moduli, volume));
    return firn_fm3_from_fs3(firn_fs3_scale(volume, stress));
}

FIRN_INLINE void group_sums(firn_fx mass, firn_fx3 u, firn_fx3 v, firn_lane_sums *sums)
{
    firn_fx_accumulate(&sums->mass, mass);
    firn_fx_accumulate(&sums->moment[0], mass * u.x);
    firn_fx_accumulate(&sums->moment[1], mass * u.y);
    firn_fx_accumulate(&sums->moment[2], mass * u.z);
    firn_fx_accumulate(&sums->kinetic, 0.5f * mass * (v.x * v.x + v.y * v.y + v.z * v.z));
}

static void finish_sums(const firn_lane_sums *lanes, firn_block_sums *sums)
{
    sums->mass = firn_fx_total_sum(&lanes->mass);
    for (int axis = 0; axis < 3; axis++)
        sums->moment[axis] = firn_fx_total_sum(&lanes->moment[axis]);
    sums->kinetic = firn_fx_total_sum(&lanes->kinetic);
    sums->elastic = firn_fx_total_sum(&lanes->elastic);
    sums->jp = firn_fx_total_sum(&lanes->jp);
    sums->jp_min = firn_fx_min_lane(lanes->jp_min);
}

FIRN_INLINE void make_gifts(const firn_pass *pass, size_t first, int n, firn_scheme scheme,
                            int order, firn_fx3 u, firn_gifts *gifts, firn_lane_sums *sums)
{
    firn_fx mass = channel_load(pass, FIRN_MASS, first, n, 0.0f);
    firn_fx3 v = vector_load(pass, FIRN_V, first, n);
    firn_fm3 stress = group_stress(pass, first, n, scheme, sums);
    group_sums(mass, u, v, sums);
    nodes_from_lanes(gifts->momentum, mass * v.x, mass * v.y, mass * v.z, mass);
    if (scheme != FIRN_SCHEME_APIC)
        columns_from_lanes(gifts->force, firn_fm3_scale(firn_fx_set(-1.0f), stress));
    if (scheme == FIRN_SCHEME_FLIP)
        return;
    // The affine momentum goes through the same slopes as the stress, method.md (5).
    float h = pass->grid->cell_size;
    firn_fx inertia = mass * (h * h / (order == 3 ? 4.0f : 3.0f));
    firn_fm3 affine = firn_fm3_scale(inertia, matrix_load(pass, FIRN_C, first, n, 0.0f));
    if (scheme == FIRN_SCHEME_APIC)
        affine = firn_fm3_add(affine, firn_fm3_scale(firn_fx_set(-pass->dt), stress));
    columns_from_lanes(gifts->affine, affine);
}

FIRN_INLINE void scatter_group(float *momentum, float *force, const firn_stencils *st,
                               const firn_gifts *gifts, int n, firn_scheme scheme, int order)
{
    for (int l = 0; l < n; l++) {
        firn_node value = node_load(gifts->momentum[l]);
        if (scheme == FIRN_SCHEME_FLIP)
            scatter_value(momentum, st, l, order, value);
        else
            scatter(momentum, st, l, order, value, node_load(gifts->affine[0][l]),
                    node_load(gifts->affine[1][l]), node_load(gifts->affine[2][l]));
        if (scheme != FIRN_SCHEME_APIC)
            scatter(force, st, l, order, (firn_node){0}, node_load(gifts->force[0][l]),
                    node_load(gifts->force[1][l]), node_load(gifts->force[2][l]));
    }
}

FIRN_INLINE void block_to_grid(const firn_pass *pass, const firn_block *block, firn_scheme scheme,
                               int order, firn_block_sums *sums)
{
    _Alignas(64) float momentum[TILE_FLOATS], force[TILE_FLOATS];
    memset(momentum, 0, sizeof momentum);
    if (scheme != FIRN_SCHEME_APIC)
        memset(force, 0, sizeof force);
    firn_lane_sums lanes;
    memset(&lanes, 0, sizeof lanes);
    lanes.jp_min = firn_fx_set(FIRN_NO_JP);
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        firn_fx3 u = vector_load(pass, FIRN_U, first, n);
        _Alignas(64) firn_stencils st;
        _Alignas(64) firn_gifts gifts;
        make_stencils(&st, u, order, scheme != FIRN_SCHEME_FLIP, 1.0f / pass->grid->cell_size);
        make_gifts(pass, first, n, scheme, order, u, &gifts, &lanes);
        scatter_group(momentum, force, &st, &gifts, n, scheme, order);
    }
    finish_sums(&lanes, sums);
    tile_add(pass->grid, FIRN_NODE_VELOCITY, block, momentum);
    if (scheme != FIRN_SCHEME_APIC)
        tile_add(pass->grid, FIRN_NODE_OLD, block, force);
}

void FIRN_KERNEL(to_grid)(const firn_pass *pass, const firn_block *block, firn_block_sums *sums)
{
    bool quadratic = pass->grid->order == 3;
    switch (pass->scheme) {
    case FIRN_SCHEME_APIC:
        if (quadratic)
            block_to_grid(pass, block, FIRN_SCHEME_APIC, 3, sums);
        else
            block_to_grid(pass, block, FIRN_SCHEME_APIC, 4, sums);
        break;
    case FIRN_SCHEME_APIC_SPLIT:
        if (quadratic)
            block_to_grid(pass, block, FIRN_SCHEME_APIC_SPLIT, 3, sums);
        else
            block_to_grid(pass, block, FIRN_SCHEME_APIC_SPLIT, 4, sums);
        break;
    case FIRN_SCHEME_FLIP:
        if (quadratic)
            block_to_grid(pass, block, FIRN_SCHEME_FLIP, 3, sums);
        else
            block_to_grid(pass, block, FIRN_SCHEME_FLIP, 4, sums);
        break;
    }
}
