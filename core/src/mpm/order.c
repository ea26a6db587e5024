#include "order.h"

#include "sim_state.h"

enum {
    SORT_INTERVAL = 30, // substeps; cells lose their order and with it speed, never correctness
};

void firn_order_void(firn_order *order) { order->must_sort = true; }

void firn_order_advance(firn_order *order) { order->since_sort++; }

bool firn_order_is_old(const firn_order *order) { return order->since_sort >= SORT_INTERVAL; }

bool firn_order_is_due(const firn_order *order, const firn_foresight *foresight)
{
    return order->must_sort || order->since_sort >= SORT_INTERVAL ||
           !firn_foresight_in_reach(foresight);
}

bool firn_order_is_due_after(const firn_order *order, const firn_foresight *foresight, double dt)
{
    return order->since_sort + 1 >= SORT_INTERVAL || dt >= foresight->stay;
}

firn_result firn_sim_sort(firn_sim *sim, firn_error *error)
{
    firn_bounds bounds = {sim->def.domain_lower, sim->def.domain_upper};
    firn_transfer_recover(sim);
    firn_foresight_void(&sim->foresight);
    FIRN_TRY(firn_grid_sort(&sim->grid, &sim->particles, &bounds, sim->emission.new_keys.data,
                            sim->order.sorted_count, sim->thread_count, error));
    // A retry brings the keys of its particles back.
    if (!firn_snapshot_has_new(sim))
        firn_array_relax(&sim->budget, &sim->emission.new_keys);
    sim->order.sorted_count = sim->particles.count;
    firn_result result = firn_sequence_build(&sim->sequence, &sim->grid, sim->thread_count, error);
    FIRN_TRY(firn_owners_agree(&sim->owners, result, error));
    firn_owners_count(&sim->owners, &sim->grid, sim->particles.count);
    sim->order.must_sort = false;
    sim->order.since_sort = 0;
    return FIRN_OK;
}
