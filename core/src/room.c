/// What is known about the distance to colliders since the last sort: rooms that may be gone
/// without another look. touch.c and grid_update.c find them, and use them up.
#include "sim_state.h"

#include <string.h>

// Groups of lanes in all blocks at most.
static size_t group_count(const firn_sim *sim)
{
    return sim->particles.count / (size_t)sim->kernels->lanes + sim->grid.block_count + 1;
}

firn_result firn_room_reserve(firn_sim *sim, firn_error *error)
{
    firn_budget *budget = &sim->budget;
    size_t blocks = sim->grid.block_count, nodes = sim->grid.node_block_count;
    FIRN_TRY(firn_array_claim(budget, &sim->block_room, blocks, sizeof(float), error));
    FIRN_TRY(firn_array_claim(budget, &sim->group_room, group_count(sim), sizeof(float), error));
    FIRN_TRY(firn_array_claim(budget, &sim->node_room, nodes, sizeof(float), error));
    return firn_array_claim(budget, &sim->open_nodes, nodes, sizeof(uint64_t), error);
}

void firn_room_forget(firn_sim *sim) { sim->rooms_known = false; }

void firn_room_prepare(firn_sim *sim, float dt)
{
    firn_colliders_prepare(&sim->colliders, sim->time, dt);
    bool moving;
    uint64_t acting = firn_colliders_acting(&sim->colliders, &moving);
    sim->surface_way = firn_colliders_way(&sim->colliders);
    sim->surface_total += sim->surface_way;
    size_t blocks = sim->grid.block_count, nodes = sim->grid.node_block_count;
    if ((sim->rooms_known && acting == sim->room_colliders) || blocks == 0)
        return;
    sim->surface_total = sim->surface_way;
    memset(sim->block_room.data, 0, blocks * sizeof(float));
    memset(sim->group_room.data, 0, group_count(sim) * sizeof(float));
    memset(sim->node_room.data, 0, nodes * sizeof(float));
    memset(sim->open_nodes.data, 0, nodes * sizeof(uint64_t));
    sim->room_colliders = acting;
    sim->rooms_known = true;
}
