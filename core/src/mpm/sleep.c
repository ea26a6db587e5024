/// Sleeping snow, method.md section 11: blocks at rest leave the computation until something comes.
///
/// A block is quiet when it has been slow for long enough, and sleeps when all its neighbors are
/// quiet too. The nodes that a sleeping block touches stand still; every other node still receives
/// all its particles, so that nothing changes for the awake when their neighbors fall asleep.
#include "sim_state.h"

#include <string.h>

enum { OWN = 13 }; // of firn_block.near

// A moving collider wakes what it may reach before anyone looks again, in cells beyond the block.
#define WAKE_MARGIN 2.0f

firn_result firn_sleep_reserve(firn_sim *sim, firn_error *error)
{
    if (!firn_sim_may_sleep(sim))
        return FIRN_OK;
    size_t blocks = sim->grid.block_count, node_blocks = sim->grid.node_block_count;
    FIRN_TRY(firn_array_claim(&sim->budget, &sim->rest.asleep, blocks, sizeof(uint8_t), error));
    FIRN_TRY(firn_array_claim(&sim->budget, &sim->rest.awake, node_blocks, sizeof(uint8_t), error));
    FIRN_TRY(firn_array_claim(&sim->budget, &sim->rest.idle, node_blocks, sizeof(uint8_t), error));
    return firn_array_claim(&sim->budget, &sim->rest.held, node_blocks, sizeof(uint64_t), error);
}

// The nodes of the neighbor number n that lie in a block's tile, a bit for each.
static uint64_t touched_nodes(int n, int order)
{
    int last = order == 3 ? 2 : 3;
    const int offset[3] = {n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1};
    uint64_t mask = 0;
    for (int node = 0; node < FIRN_BLOCK_NODES; node++) {
        const int at[3] = {node >> 4, node >> 2 & 3, node & 3};
        bool inside = true;
        for (int axis = 0; axis < 3; axis++)
            inside &= offset[axis] == 0 || (offset[axis] < 0 ? at[axis] == 3 : at[axis] <= last);
        mask |= (uint64_t)inside << node;
    }
    return mask;
}

static bool is_quiet(const firn_sim *sim, size_t b)
{
    return firn_grid_blocks(&sim->grid)[b].rest >= sim->def.sleep_time;
}

// Blocks next to one of another rank that is not at rest are marked at their own place, by a bit
// that is not of their own state.
enum { AWAKE = 1, BESIDE_AWAKE = 2 };

static void mark_beside_ghosts(firn_sim *sim)
{
    const firn_owners *owners = &sim->owners;
    const firn_block *ghosts = owners->ghosts.data;
    const uint8_t *awake_ghost = owners->flags.data;
    uint8_t *awake = sim->rest.awake.data;
    for (size_t g = 0; g < owners->ghost_count; g++)
        for (int n = 0; awake_ghost[g] && n < FIRN_NEIGHBORS; n++) {
            firn_coord at = firn_block_neighbor(ghosts[g].coord, n);
            int32_t number = firn_block_map_find(&sim->grid.map, firn_block_key(at));
            if (number >= 0)
                awake[number] |= BESIDE_AWAKE;
        }
}

// Neighbors that a block does not reach are looked up by place: they may reach its nodes all the
// same.
static bool has_awake_neighbor(const firn_sim *sim, const firn_block *block)
{
    const uint8_t *awake = sim->rest.awake.data;
    if (awake[block->near[OWN]] & BESIDE_AWAKE)
        return true;
    for (int n = 0; n < FIRN_NEIGHBORS; n++) {
        int32_t number = block->near[n];
        if (number < 0)
            number = firn_block_map_find(&sim->grid.map,
                                         firn_block_key(firn_block_neighbor(block->coord, n)));
        if (number >= 0 && awake[number] & AWAKE)
            return true;
    }
    return false;
}

// What sleeps is at rest: its velocities, slower than anyone sees, end.
static void lay_down(firn_sim *sim, const firn_block *block)
{
    const firn_particles *particles = &sim->particles;
    size_t count = block->end - block->begin;
    const firn_channel_set *set = &particles->channels;
    for (int row = 0; row < set->row_count; row++) {
        const firn_channel *channel = firn_channel_set_row(set, row);
        bool moves = (channel->use & FIRN_CHANNEL_MOTION) != 0 && set->column[row] >= 0;
        for (int k = 0; moves && k < channel->components; k++)
            memset(firn_channel_of(particles, set->column[row] + k) + block->begin, 0,
                   count * sizeof(float));
    }
}

static void mark_nodes_of(firn_sim *sim, const firn_block *blocks, const uint8_t *asleep,
                          size_t count)
{
    uint8_t *idle = sim->rest.idle.data;
    uint64_t *held = sim->rest.held.data, touched[FIRN_NEIGHBORS];
    for (int n = 0; n < FIRN_NEIGHBORS; n++)
        touched[n] = touched_nodes(n, sim->grid.order);
#pragma omp parallel for schedule(static) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        for (int n = 0; n < FIRN_NEIGHBORS; n++) {
            int32_t near = blocks[b].near[n];
            if (near < 0)
                continue;
            if (asleep[b]) {
#pragma omp atomic
                held[near] |= touched[n];
            } else {
#pragma omp atomic write
                idle[near] = 0;
            }
        }
}

static void mark_nodes(firn_sim *sim)
{
    const firn_owners *owners = &sim->owners;
    size_t nodes = sim->grid.node_block_count;
    if (nodes == 0)
        return;
    memset(sim->rest.idle.data, 1, nodes);
    memset(sim->rest.held.data, 0, nodes * sizeof(uint64_t));
    mark_nodes_of(sim, firn_grid_blocks(&sim->grid), sim->rest.asleep.data, sim->grid.block_count);
    if (firn_owners_shared(owners))
        mark_nodes_of(sim, owners->ghosts.data, owners->flags.data, owners->ghost_count);
}

// Finds the blocks that are not at rest, and those beside them on other ranks.
static void mark_awake(firn_sim *sim)
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    uint8_t *asleep = sim->rest.asleep.data, *awake = sim->rest.awake.data;
    size_t count = sim->grid.block_count;
    if (sim->grid.node_block_count > 0)
        memset(awake, 0, sim->grid.node_block_count);
#pragma omp parallel for schedule(static) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        awake[blocks[b].near[OWN]] = asleep[b] = !is_quiet(sim, b);
    firn_ghosts_tell(&sim->owners, asleep);
    if (firn_owners_shared(&sim->owners))
        mark_beside_ghosts(sim);
}

void firn_sleep_arrange(firn_sim *sim)
{
    FIRN_ASSERT(*sim->affine == FIRN_AFFINE_THERE); // lay_down clears it
    sim->rest.asleep_count = 0;
    if (!firn_sim_may_sleep(sim) || firn_sim_count(sim) == 0)
        return;
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    firn_block_limits *limits = sim->measures.limits.data;
    uint8_t *asleep = sim->rest.asleep.data;
    size_t count = sim->grid.block_count, sleepers = 0;
    mark_awake(sim);
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : sleepers)                             \
    num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        asleep[b] = is_quiet(sim, b) && !has_awake_neighbor(sim, &blocks[b]);
        if (!asleep[b])
            continue;
        // Those that slept before lie still already.
        if (limits[b].speed2 > 0.0f)
            lay_down(sim, &blocks[b]);
        limits[b].speed2 = 0.0f;
        sleepers += blocks[b].end - blocks[b].begin;
    }
    sim->rest.asleep_count = firn_owners_sum(&sim->owners, sleepers);
    if (sim->rest.asleep_count == 0)
        return;
    firn_ghosts_tell(&sim->owners, asleep);
    mark_nodes(sim);
}

void firn_sleep_disturb(firn_rest *rest) { rest->disturbed = true; }

static void wake_all(firn_sim *sim)
{
    firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        blocks[b].rest = 0.0f;
}

static bool is_near_collider_that_moves(const firn_sim *sim, const firn_block *block)
{
    const firn_grid *grid = &sim->grid;
    float h = grid->cell_size, center = 2.0f + (float)firn_grid_shift(grid);
    firn_vec3 middle = {h * ((float)(4 * block->coord.x) + center),
                        h * ((float)(4 * block->coord.y) + center),
                        h * ((float)(4 * block->coord.z) + center)};
    return firn_colliders_move_near(&sim->colliders, middle, (FIRN_BLOCK_REACH + WAKE_MARGIN) * h);
}

static bool is_in_force_that_changed(const firn_sim *sim, const firn_block *block)
{
    const firn_grid *grid = &sim->grid;
    float h = grid->cell_size, low = (float)firn_grid_shift(grid) - 2.0f, high = low + 8.0f;
    firn_coord c = block->coord;
    firn_vec3 corner = {h * (float)(4 * c.x), h * (float)(4 * c.y), h * (float)(4 * c.z)};
    return firn_forces_changed_in(&sim->forces,
                                  firn_add(corner, firn_vec(h * low, h * low, h * low)),
                                  firn_add(corner, firn_vec(h * high, h * high, h * high)));
}

static float rest_after(const firn_sim *sim, size_t b, float dt, bool moving)
{
    const firn_block *block = &firn_grid_blocks(&sim->grid)[b];
    const firn_block_limits *limits = sim->measures.limits.data;
    float slow = sim->def.sleep_speed;
    if (!(limits[b].speed2 < slow * slow) || (moving && is_near_collider_that_moves(sim, block)) ||
        (sim->forces.acting_count > 0 &&
         (is_in_force_that_changed(sim, block) || firn_air_stirs(sim, block))))
        return 0.0f;
    float rest = block->rest + dt;
    return rest < sim->def.sleep_time ? rest : sim->def.sleep_time;
}

void firn_sleep_update(firn_sim *sim, float dt)
{
    if (!firn_sim_may_sleep(sim))
        return;
    firn_block *blocks = firn_grid_blocks(&sim->grid);
    size_t count = sim->grid.block_count;
    bool moving, changed = false;
    uint64_t acting = firn_colliders_acting(&sim->colliders, &moving);
    acting ^= firn_forces_acting(&sim->forces);
#pragma omp parallel for schedule(dynamic, 64) reduction(||                                        \
                                                         : changed) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        bool quiet = is_quiet(sim, b);
        blocks[b].rest = rest_after(sim, b, dt, moving);
        changed = changed || quiet != is_quiet(sim, b);
    }
    changed = firn_owners_any(&sim->owners, changed);
    // What a collider that came or went has held up or pressed down lies nobody knows where.
    bool all = sim->rest.disturbed || acting != sim->rest.acting_colliders;
    if (all)
        wake_all(sim);
    if (changed || all) {
        firn_transfer_recover(sim);
        firn_sleep_arrange(sim);
        // Those who slept have neither given their share to the grid nor seen colliders pass.
        firn_foresight_void(&sim->foresight);
        sim->contact.resettled = true;
        firn_clearance_forget(sim);
    }
    sim->rest.acting_colliders = acting;
    sim->rest.disturbed = false;
    firn_forces_settle(&sim->forces);
}
