/// Heat of a block's particles, method.md section 13: compiled for each instruction set.
#include "gather.h"
#include "models/enthalpy.h"
#include "scatter.h"
#include "transfer_group.h"

/// A group as heat sees it.
typedef struct warm_group {
    firn_lane_materials materials;
    firn_fx mass, volume;        // kg; m^3, that it fills now or less
    firn_fx temperature, liquid; // K from FIRN_HEAT_ZERO; share
    firn_fx pull; // J/(kg K), towards what has settled around; 0 of what melts or freezes
} warm_group;

FIRN_INLINE firn_fx heat_of(const firn_lane_materials *materials, firn_heat_column column)
{
    const float *values = materials->table->heat[column];
    return materials->same ? firn_fx_set(values[materials->lane[0]])
                           : firn_fx_gather(values, materials->lane);
}

// Particles that have settled, frozen or melted, are drawn to their mean on the nodes, by a share
// that conduction would carry them: nodes do not see all noise, and none must stay. Where each
// counts by how much it is drawn, all give what others get.
FIRN_INLINE firn_fx pull_of(const firn_heat_pass *heat, const warm_group *g)
{
    float h = heat->pass->grid->cell_size;
    firn_fx capacity = firn_fx_select(g->liquid >= 1.0f, heat_of(&g->materials, FIRN_HEAT_LIQUID),
                                      heat_of(&g->materials, FIRN_HEAT_SOLID));
    firn_fx diffusion = heat_of(&g->materials, FIRN_HEAT_CONDUCTIVITY) * g->volume /
                        (capacity * firn_fx_max(firn_fx_set(1e-30f), g->mass));
    firn_fx way = (FIRN_HEAT_RELAXATION * heat->dt / (h * h)) * diffusion;
    firn_fx share = 1.0f - firn_fx_exp(firn_fx_max(firn_fx_set(-20.0f), -way));
    firn_ix settled = (g->liquid <= 0.0f) | (g->liquid >= 1.0f);
    return firn_fx_select(settled, capacity * share, firn_fx_set(0.0f));
}

FIRN_INLINE warm_group warm_load(const firn_heat_pass *heat, size_t first, int n)
{
    const firn_pass *pass = heat->pass;
    firn_fx one = firn_fx_set(1.0f);
    warm_group g = {.materials = lane_materials_load(pass, first, n),
                    .mass = channel_load(pass, FIRN_MASS, first, n, 0.0f),
                    .liquid = channel_load(pass, heat->liquid, first, n, 0.0f)};
    g.temperature =
        channel_load(pass, heat->temperature, first, n, FIRN_HEAT_ZERO) - FIRN_HEAT_ZERO;
    // Loose snow counts as if it lay at its density: nobody knows how far its flakes are apart.
    g.volume = channel_load(pass, FIRN_VOLUME, first, n, 0.0f) *
               firn_fx_min(one, channel_load(pass, FIRN_JP, first, n, 1.0f));
    g.pull = pull_of(heat, &g);
    return g;
}

FIRN_INLINE void heat_to_tiles(const firn_heat_pass *heat, const firn_block *block, int order,
                               firn_tiles *tiles)
{
    const firn_pass *pass = heat->pass;
    firn_fx zero = {0};
    const firn_fx3 nothing = {zero, zero, zero};
    const firn_fm3 flat = {{zero, zero, zero, zero, zero, zero, zero, zero, zero}};
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = plain_group_size(block->end, first);
        warm_group g = warm_load(heat, first, n);
        _Alignas(64) firn_stencils st;
        _Alignas(64) firn_columns columns;
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, FIRN_SLOPES_GRADIENTS,
                      1.0f / pass->grid->cell_size);
        make_scatter(&st, order, FIRN_SLOPES_GRADIENTS);
        firn_fx settled = g.mass * g.pull;
        columns_from_lanes(&columns, &st, FIRN_SLOPES_GRADIENTS,
                           (firn_fx3){g.mass * g.temperature, settled * g.temperature, settled},
                           g.mass, flat);
        scatter_group(tiles->velocity, &st, &columns, n, order, SCATTER_VALUES);
        if (!heat->surface)
            continue;
        firn_fx side = st.slope_scale * g.volume;
        const firn_fm3 slope = {{side, zero, zero, zero, side, zero, zero, zero, side}};
        columns_from_lanes(&columns, &st, FIRN_SLOPES_GRADIENTS, nothing, g.volume, slope);
        scatter_group(tiles->old, &st, &columns, n, order, SCATTER_VALUES);
        scatter_group(tiles->old, &st, &columns, n, order, SCATTER_GRADIENTS);
    }
}

void FIRN_KERNEL(heat_to_grid)(const firn_heat_pass *heat, const firn_block *block)
{
    const firn_pass *pass = heat->pass;
    firn_tiles tiles;
    firn_tile_box box = tile_box(pass, block, pass->grid->order);
    tile_clear(tiles.velocity, box);
    if (heat->surface)
        tile_clear(tiles.old, box);
    if (pass->grid->order == 3)
        heat_to_tiles(heat, block, 3, &tiles);
    else
        heat_to_tiles(heat, block, 4, &tiles);
    tile_add(pass->grid, pass->velocity, block, tiles.velocity, box);
    if (heat->surface)
        tile_add(pass->grid, pass->old, block, tiles.old, box);
}

// dE = -dt V k grad(T) . grad(w): what one node gets, others lose.
FIRN_INLINE void flow_in_tiles(const firn_heat_pass *heat, const firn_block *block, int order,
                               firn_tiles *tiles)
{
    const firn_pass *pass = heat->pass;
    firn_fx zero = {0};
    const firn_fx3 nothing = {zero, zero, zero};
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = plain_group_size(block->end, first);
        warm_group g = warm_load(heat, first, n);
        _Alignas(64) firn_stencils st;
        _Alignas(64) firn_columns columns;
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, FIRN_SLOPES_GRADIENTS,
                      1.0f / pass->grid->cell_size);
        firn_sample sample = gather_group(tiles->velocity, &st, n, order, FIRN_SLOPES_GRADIENTS);
        firn_fx flow = heat->dt * g.volume * heat_of(&g.materials, FIRN_HEAT_CONDUCTIVITY);
        // Sources may make snow far thinner than its material says.
        flow = -st.slope_scale * firn_fx_min(flow, heat->most_flow * g.mass);
        const firn_fx *m = sample.gradient.m;
        const firn_fm3 slope = {
            {flow * m[0], flow * m[1], flow * m[2], zero, zero, zero, zero, zero, zero}};
        make_scatter(&st, order, FIRN_SLOPES_GRADIENTS);
        columns_from_lanes(&columns, &st, FIRN_SLOPES_GRADIENTS, nothing, zero, slope);
        scatter_group(tiles->old, &st, &columns, n, order, SCATTER_GRADIENTS);
    }
}

void FIRN_KERNEL(heat_flow)(const firn_heat_pass *heat, const firn_block *block)
{
    const firn_pass *pass = heat->pass;
    firn_tiles tiles;
    firn_tile_box box = tile_box(pass, block, pass->grid->order);
    tile_load(pass->grid, pass->velocity, block, tiles.velocity, box);
    tile_clear(tiles.old, box);
    if (pass->grid->order == 3)
        flow_in_tiles(heat, block, 3, &tiles);
    else
        flow_in_tiles(heat, block, 4, &tiles);
    tile_add(pass->grid, pass->old, block, tiles.old, box);
}

// What a group takes up, J/kg: its share of what nodes have gained, and its part of the way to what
// has settled around.
FIRN_INLINE firn_fx gain_of(const warm_group *g, firn_fx3 nodes)
{
    return nodes.x + g->pull * (nodes.y - g->temperature);
}

// Particle p takes up a gain; true when its stiffness has changed by some percent.
static bool take_up(const firn_heat_pass *heat, size_t p, int material, double gain)
{
    const firn_particles *particles = heat->pass->particles;
    const firn_materials *materials = heat->pass->materials;
    float *temperature = firn_channel_of(particles, heat->temperature) + p;
    float *liquid = firn_channel_of(particles, heat->liquid) + p;
    float *rest = firn_channel_of(particles, heat->rest) + p;
    firn_warmth before = {*temperature, *liquid, *rest};
    double enthalpy = firn_enthalpy(materials, material, before) + gain;
    firn_warmth now = firn_warmth_of(materials, material, enthalpy);
    *temperature = now.temperature;
    *liquid = now.liquid;
    *rest = now.rest;
    float was = firn_warm_stiffness(materials, material, before);
    float is = firn_warm_stiffness(materials, material, now);
    if (was == is)
        return false;
    firn_channel_of(particles, FIRN_STIFFNESS)[p] *= is / was;
    return firn_stiffness_step(was) != firn_stiffness_step(is);
}

FIRN_INLINE bool heat_from_tile(const firn_heat_pass *heat, const firn_block *block, int order,
                                const float *tile)
{
    const firn_pass *pass = heat->pass;
    bool changed = false;
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = plain_group_size(block->end, first);
        warm_group g = warm_load(heat, first, n);
        _Alignas(64) firn_stencils st;
        _Alignas(64) firn_lines lines;
        _Alignas(64) float gain[FIRN_LANES];
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, FIRN_SLOPES_GRADIENTS,
                      1.0f / pass->grid->cell_size);
        make_products(&st, order);
        gather_values(tile, &st, n, order, &lines);
        firn_fx_store(gain, gain_of(&g, value_of(&lines, &st, order)));
        for (int l = 0; l < n; l++)
            changed |= take_up(heat, first + (size_t)l, g.materials.lane[l], (double)gain[l]);
    }
    return changed;
}

bool FIRN_KERNEL(heat_to_particles)(const firn_heat_pass *heat, const firn_block *block)
{
    const firn_pass *pass = heat->pass;
    _Alignas(64) float tile[TILE_FLOATS];
    tile_load(pass->grid, pass->velocity, block, tile, tile_box(pass, block, pass->grid->order));
    return pass->grid->order == 3 ? heat_from_tile(heat, block, 3, tile)
                                  : heat_from_tile(heat, block, 4, tile);
}
