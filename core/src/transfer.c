/// The kernels over all blocks, in parallel. Scatters go color by color: blocks of one color share
/// no node, and a node receives its sums in the order of the colors, whatever the threads do.
#include "sim_state.h"

#include <math.h>
#include <string.h>

firn_pass firn_sim_pass(const firn_sim *sim, float dt)
{
    firn_pass pass = {
        .grid = &sim->grid,
        .particles = &sim->particles,
        .materials = &sim->materials,
        .colliders = &sim->colliders,
        .scheme = !firn_sim_is_apic(sim)      ? FIRN_SCHEME_FLIP
                  : firn_sim_is_implicit(sim) ? FIRN_SCHEME_APIC_SPLIT
                                              : FIRN_SCHEME_APIC,
        .dt = dt,
        // The share is given for a reference step; it compounds like a decay, method.md (14).
        .flip_share = powf(sim->def.flip_ratio, dt / sim->def.flip_reference_dt),
    };
    for (int c = 0; c < FIRN_CACHE_OWN; c++)
        pass.cache[c] = sim->cache[c].data;
    pass.cache[FIRN_CACHE_OWN] = sim->particles.scratch.data;
    pass.cache[FIRN_CACHE_OWN + 1] = sim->grid.destination.data;
    pass.cache[FIRN_CACHE_OWN + 2] = sim->grid.order_of.data;
    return pass;
}

static void clear_field(firn_sim *sim, firn_node_field field)
{
    size_t count = sim->grid.node_block_count;
#pragma omp parallel for schedule(static) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        if (firn_sim_is_implicit(sim)) // its solve runs over all nodes
            memset(firn_grid_nodes(&sim->grid, field, b), 0, FIRN_BLOCK_FLOATS * sizeof(float));
        else if (!firn_sim_is_idle(sim, b))
            firn_grid_clear_rows(&sim->grid, field, b);
}

static void add_sums(firn_sim *sim)
{
    const firn_block_sums *sums = sim->sums.data;
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    double h = sim->def.cell_size, shift = firn_grid_shift(&sim->grid), jp = 0.0;
    firn_step_stats *stats = &sim->stats;
    stats->kinetic = stats->elastic = stats->potential = 0.0;
    stats->mean_jp = stats->min_jp = 1.0;
    if (sim->particles.count == 0)
        return;
    stats->min_jp = (double)FIRN_NO_JP;
    for (size_t b = 0; b < sim->grid.block_count; b++) {
        const firn_block_sums *s = &sums[b];
        firn_coord c = blocks[b].coord;
        stats->kinetic += s->kinetic;
        stats->elastic += s->elastic;
        stats->potential -=
            (double)sim->def.gravity.x * h * (s->moment[0] + s->mass * (4.0 * c.x + shift)) +
            (double)sim->def.gravity.y * h * (s->moment[1] + s->mass * (4.0 * c.y + shift)) +
            (double)sim->def.gravity.z * h * (s->moment[2] + s->mass * (4.0 * c.z + shift));
        jp += s->jp;
        if (s->jp_min < stats->min_jp)
            stats->min_jp = s->jp_min;
    }
    stats->mean_jp = jp / (double)sim->particles.count;
}

// Blocks of one color lie apart: the start of the next one is fetched while this one is at work.
static void prefetch_block(const firn_particles *particles, const firn_block *block)
{
    enum { LINE = 16 }; // floats
    for (int c = 0; c < particles->channel_count; c++) {
        const float *first = firn_channel_of(particles, c) + block->begin;
        __builtin_prefetch(first);
        __builtin_prefetch(first + LINE);
    }
}

void firn_transfer_to_grid(firn_sim *sim, float dt)
{
    firn_grid *grid = &sim->grid;
    firn_pass pass = firn_sim_pass(sim, dt);
    const firn_block *blocks = firn_grid_blocks(grid);
    const uint32_t *list = grid->color_blocks.data;
    firn_block_sums *sums = sim->sums.data;
    clear_field(sim, FIRN_NODE_VELOCITY);
    if (pass.scheme != FIRN_SCHEME_APIC)
        clear_field(sim, FIRN_NODE_OLD);
    for (int color = 0; color < grid->color_count; color++) {
        size_t begin = grid->color_begin[color], end = grid->color_begin[color + 1];
#pragma omp parallel for schedule(dynamic, 2) num_threads(sim->thread_count)
        for (size_t i = begin; i < end; i++) {
            if (sim->since_sort > 0 && firn_sim_sleeps(sim, list[i]))
                continue;
            prefetch_block(&sim->particles, &blocks[list[i + 1 < end ? i + 1 : i]]);
            sim->kernels->to_grid(&pass, &blocks[list[i]], &sums[list[i]]);
        }
    }
    add_sums(sim);
}

static void add_limits(firn_sim *sim)
{
    const firn_block_limits *limits = sim->limits.data;
    firn_block_limits all = {.low = INFINITY, .high = -INFINITY};
    for (size_t b = 0; b < sim->grid.block_count; b++) {
        all.speed2 = limits[b].speed2 > all.speed2 ? limits[b].speed2 : all.speed2;
        all.wave2 = limits[b].wave2 > all.wave2 ? limits[b].wave2 : all.wave2;
        all.low = limits[b].low < all.low ? limits[b].low : all.low;
        all.high = limits[b].high > all.high ? limits[b].high : all.high;
    }
    sim->extremes = all;
}

static void for_limits(firn_sim *sim, float dt, bool all,
                       void (*kernel)(const firn_pass *, const firn_block *, firn_block_limits *))
{
    firn_pass pass = firn_sim_pass(sim, dt);
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    firn_block_limits *limits = sim->limits.data;
    size_t count = sim->grid.block_count;
#pragma omp parallel for schedule(dynamic) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        if (all || !firn_sim_sleeps(sim, b))
            kernel(&pass, &blocks[b], &limits[b]);
    add_limits(sim);
}

void firn_transfer_to_particles(firn_sim *sim, float dt)
{
    for_limits(sim, dt, false, sim->kernels->to_particles);
}

void firn_transfer_measure(firn_sim *sim) { for_limits(sim, 0.0f, true, sim->kernels->measure); }

static void for_blocks(firn_sim *sim, const firn_pass *pass,
                       void (*kernel)(const firn_pass *, const firn_block *))
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    size_t count = sim->grid.block_count;
#pragma omp parallel for schedule(dynamic) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        kernel(pass, &blocks[b]);
}

void firn_transfer_find_volumes(firn_sim *sim)
{
    firn_transfer_to_grid(sim, 0.0f);
    firn_pass pass = firn_sim_pass(sim, 0.0f);
    for_blocks(sim, &pass, sim->kernels->find_volumes);
}

void firn_transfer_prepare_hessian(firn_sim *sim, float dt)
{
    firn_pass pass = firn_sim_pass(sim, dt);
    for_blocks(sim, &pass, sim->kernels->prepare_hessian);
}

void firn_transfer_apply_hessian(firn_sim *sim, float dt, firn_node_field input,
                                 firn_node_field output)
{
    firn_grid *grid = &sim->grid;
    firn_pass pass = firn_sim_pass(sim, dt);
    pass.input = input;
    pass.output = output;
    const firn_block *blocks = firn_grid_blocks(grid);
    const uint32_t *list = grid->color_blocks.data;
    clear_field(sim, output);
    for (int color = 0; color < grid->color_count; color++) {
        size_t begin = grid->color_begin[color], end = grid->color_begin[color + 1];
#pragma omp parallel for schedule(dynamic) num_threads(sim->thread_count)
        for (size_t i = begin; i < end; i++)
            if (!firn_sim_sleeps(sim, list[i]))
                sim->kernels->apply_hessian(&pass, &blocks[list[i]]);
    }
}
