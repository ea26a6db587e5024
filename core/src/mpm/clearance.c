/// What is known about the distance to colliders since the last sort: clearances that may be gone
/// without another look. contact_lists.c and touch.c find them, and use them up.
#include "sim_state.h"

#include <string.h>

// Groups of lanes in all blocks at most.
static size_t group_count(const firn_sim *sim)
{
    size_t count = sim->particles.count + FIRN_LINE; // a phase is less
    return count / (size_t)sim->kernels->lanes + FIRN_MODEL_COUNT * sim->grid.block_count + 1;
}

firn_result firn_clearance_reserve(firn_sim *sim, firn_error *error)
{
    firn_budget *budget = &sim->budget;
    size_t blocks = sim->grid.block_count, nodes = sim->grid.node_block_count;
    FIRN_TRY(firn_array_claim(budget, &sim->clearance.block, blocks, sizeof(float), error));
    FIRN_TRY(
        firn_array_claim(budget, &sim->clearance.group, group_count(sim), sizeof(float), error));
    FIRN_TRY(firn_array_claim(budget, &sim->clearance.node, nodes, sizeof(float), error));
    return firn_array_claim(budget, &sim->clearance.open_nodes, nodes, sizeof(uint64_t), error);
}

void firn_clearance_forget(firn_sim *sim) { sim->clearance.known = false; }

static firn_result find_nodes(firn_sim *sim, firn_error *error)
{
    FIRN_TRY(firn_contact_find_nodes(sim, error));
    return firn_coupling_reserve(sim, error);
}

firn_result firn_clearance_prepare(firn_sim *sim, float dt, firn_error *error)
{
    FIRN_TRY(firn_coupling_predict(sim, dt, error));
    bool moving;
    uint64_t acting = firn_colliders_acting(&sim->colliders, &moving);
    sim->clearance.surface_travel = firn_colliders_travel(&sim->colliders);
    sim->clearance.surface_total += sim->clearance.surface_travel;
    size_t blocks = sim->grid.block_count, nodes = sim->grid.node_block_count;
    if ((sim->clearance.known && acting == sim->clearance.colliders) || nodes == 0)
        return find_nodes(sim, error);
    sim->clearance.surface_total = sim->clearance.surface_travel;
    if (blocks > 0)
        memset(sim->clearance.block.data, 0, blocks * sizeof(float));
    memset(sim->clearance.group.data, 0, group_count(sim) * sizeof(float));
    memset(sim->clearance.node.data, 0, nodes * sizeof(float));
    memset(sim->clearance.open_nodes.data, 0, nodes * sizeof(uint64_t));
    sim->clearance.colliders = acting;
    sim->clearance.known = true;
    return find_nodes(sim, error);
}
