/// Which colliders each block may touch in a substep, and room for what each of them takes from it.
///
/// A substep looks twice: for blocks of nodes before the grid is updated, for blocks of particles
/// when the new velocities are known and with them how far a particle can go. Both claim memory,
/// so that the passes which use the lists cannot fail, and both count first and fill afterwards:
/// lists lie one behind the other in the order of the blocks, however many colliders there are.
#include "sim_state.h"

#include <math.h>
#include <string.h>

// How far around a block colliders are looked for before it counts as clear, cells.
#define BLOCK_MARGIN 2.0f
#define NODE_MARGIN 2.0f
// From the middle of a node block to the farthest of its nodes, cells.
#define NODE_REACH 2.7f
// From the middle of a block to the farthest point of a sphere around some of its particles, cells.
#define CLUSTER_REACH 7.5f

static firn_vec3 node_block_middle(const firn_sim *sim, size_t b)
{
    float h = sim->grid.cell_size;
    firn_coord coord = ((const firn_coord *)sim->grid.node_coord.data)[b];
    return firn_add(firn_grid_node_position(&sim->grid, coord, 0),
                    firn_vec(1.5f * h, 1.5f * h, 1.5f * h));
}

static firn_vec3 block_middle(const firn_sim *sim, size_t b)
{
    float h = sim->grid.cell_size, shift = (float)firn_grid_shift(&sim->grid);
    firn_coord c = firn_grid_blocks(&sim->grid)[b].coord;
    firn_vec3 corner = {h * ((float)(4 * c.x) + shift), h * ((float)(4 * c.y) + shift),
                        h * ((float)(4 * c.z) + shift)};
    return firn_add(corner, firn_vec(2.0f * h, 2.0f * h, 2.0f * h));
}

static int count_near(const firn_sim *sim, firn_vec3 middle, float radius)
{
    firn_near near = {.index = NULL};
    firn_colliders_near(&sim->colliders, NULL, middle, radius, &near);
    return near.count;
}

// The number of colliders that nodes of the block may be inside of.
static int count_at_nodes(const firn_sim *sim, size_t b, float reach)
{
    float *clearance = (float *)sim->clearance.node.data + b, h = sim->grid.cell_size;
    if (*clearance > sim->clearance.surface_total || firn_sim_is_idle(sim, b))
        return 0;
    firn_vec3 middle = node_block_middle(sim, b);
    if (*clearance != FIRN_NO_CLEARANCE) {
        float before = sim->clearance.surface_total - sim->clearance.surface_travel;
        bool any = count_near(sim, middle, reach + NODE_MARGIN * h) > 0;
        *clearance = any ? FIRN_NO_CLEARANCE : before + NODE_MARGIN * h;
    }
    return *clearance > sim->clearance.surface_total ? 0 : count_near(sim, middle, reach);
}

// The number of colliders that particles of the block may meet.
static int count_at_particles(const firn_sim *sim, size_t b, float reach)
{
    float *clearance = (float *)sim->clearance.block.data + b, h = sim->grid.cell_size;
    if (*clearance > sim->clearance.surface_total || firn_sim_sleeps(sim, b))
        return 0;
    firn_vec3 middle = block_middle(sim, b);
    if (*clearance != FIRN_NO_CLEARANCE) {
        float margin = BLOCK_MARGIN * h;
        float before = sim->clearance.surface_total - sim->clearance.surface_travel;
        // Once groups have looked, they count every travel from there on.
        bool looks = count_near(sim, middle, (FIRN_BLOCK_REACH + BLOCK_MARGIN) * h) > 0 ||
                     !(sim->clearance.surface_travel < margin);
        *clearance = looks ? FIRN_NO_CLEARANCE : before + margin;
    }
    return *clearance == FIRN_NO_CLEARANCE ? count_near(sim, middle, reach) : 0;
}

/// How the lists of one kind of block are made.
typedef struct lists_kind {
    size_t count; // of blocks
    float reach;  // m, around the middle of a block
    int (*count_at)(const firn_sim *sim, size_t b, float reach);
    firn_vec3 (*middle)(const firn_sim *sim, size_t b);
} lists_kind;

static void count_lists(firn_sim *sim, firn_contact_lists *lists, const lists_kind *kind)
{
    uint32_t *begin = lists->begin.data;
    begin[0] = 0;
#pragma omp parallel for schedule(dynamic, 32) num_threads(sim->thread_count)
    for (size_t b = 0; b < kind->count; b++)
        begin[b + 1] = (uint32_t)kind->count_at(sim, b, kind->reach);
    for (size_t b = 0; b < kind->count; b++)
        begin[b + 1] += begin[b];
}

static void fill_lists(firn_sim *sim, firn_contact_lists *lists, const lists_kind *kind)
{
    const uint32_t *begin = lists->begin.data;
#pragma omp parallel for schedule(dynamic, 32) num_threads(sim->thread_count)
    for (size_t b = 0; b < kind->count; b++) {
        if (begin[b] == begin[b + 1])
            continue;
        firn_near near = {.index = (int *)lists->colliders.data + begin[b]};
        // When all act, there is nothing to look for again.
        if (begin[b + 1] - begin[b] == (uint32_t)lists->active_count)
            firn_colliders_active(&sim->colliders, near.index);
        else
            firn_colliders_near(&sim->colliders, NULL, kind->middle(sim, b), kind->reach, &near);
    }
}

static firn_result find_lists(firn_sim *sim, firn_contact_lists *lists, const lists_kind *kind,
                              firn_error *error)
{
    firn_budget *budget = &sim->budget;
    lists->active_count = firn_colliders_active_count(&sim->colliders);
    lists->block_count = lists->active_count > 0 ? kind->count : 0;
    lists->entry_count = 0;
    if (lists->block_count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_array_claim(budget, &lists->begin, kind->count + 1, sizeof(uint32_t), error));
    count_lists(sim, lists, kind);
    size_t entries = ((const uint32_t *)lists->begin.data)[kind->count];
    FIRN_TRY(firn_array_claim(budget, &lists->colliders, entries, sizeof(int), error));
    FIRN_TRY(firn_array_claim(budget, &lists->taken, entries, sizeof(firn_impulse), error));
    lists->entry_count = entries;
    if (entries > 0) {
        memset(lists->taken.data, 0, entries * sizeof(firn_impulse));
        fill_lists(sim, lists, kind);
    }
    return FIRN_OK;
}

firn_result firn_contact_find_nodes(firn_sim *sim, firn_error *error)
{
    // Air turns aside, snow sticks and loose snow packs where a node is near a collider, too.
    float cells = NODE_REACH + (firn_forces_have_drag(&sim->forces)  ? 1.0f
                                : sim->colliders.sticks              ? 0.6f
                                : sim->materials.full_density > 0.0f ? 0.5f
                                                                     : 0.0f);
    const lists_kind kind = {sim->grid.node_block_count, cells * sim->grid.cell_size,
                             count_at_nodes, node_block_middle};
    FIRN_TRY(find_lists(sim, &sim->contact.nodes, &kind, error));
    size_t entries = sim->contact.nodes.entry_count;
    if (sim->rest.asleep_count > 0 && entries > 0) {
        FIRN_TRY(firn_array_claim(&sim->budget, &sim->contact.held, entries, sizeof(firn_impulse),
                                  error));
        memset(sim->contact.held.data, 0, entries * sizeof(firn_impulse));
    }
    if (!firn_sim_is_implicit(sim))
        return FIRN_OK;
    for (int i = 0; i < FIRN_REACTION_COUNT; i++)
        FIRN_TRY(firn_array_claim(&sim->budget, &sim->contact.reaction[i], entries,
                                  sizeof(firn_impulse), error));
    return firn_array_claim(&sim->budget, &sim->contact.normals, entries, sizeof(firn_vec3), error);
}

// No particle leaves the grid faster than its fastest node; FLIP may add what the particle was
// faster than the nodes before, which are means of particles.
static float fastest_particle(const firn_sim *sim, firn_node_limits limits)
{
    float fastest = sqrtf(limits.any_speed2);
    if (!firn_sim_is_apic(sim))
        fastest += 2.0f * sqrtf(sim->foresight.extremes.speed2);
    return 1.01f * fastest;
}

firn_result firn_contact_find_particles(firn_sim *sim, float dt, firn_node_limits limits,
                                        firn_error *error)
{
    float h = sim->grid.cell_size;
    float reach = (CLUSTER_REACH + FIRN_GROUP_MARGIN) * h +
                  1.01f * (dt * fastest_particle(sim, limits) + sim->clearance.surface_travel);
    const lists_kind kind = {sim->grid.block_count, reach, count_at_particles, block_middle};
    return find_lists(sim, &sim->contact.particles, &kind, error);
}

void firn_contact_free(firn_touching *contact, firn_budget *budget)
{
    firn_array *arrays[] = {&contact->nodes.begin,
                            &contact->nodes.colliders,
                            &contact->nodes.taken,
                            &contact->particles.begin,
                            &contact->particles.colliders,
                            &contact->particles.taken,
                            &contact->held,
                            &contact->accounts,
                            &contact->normals};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(budget, arrays[i]);
    for (int i = 0; i < FIRN_REACTION_COUNT; i++)
        firn_array_free(budget, &contact->reaction[i]);
}
