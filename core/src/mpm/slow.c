/// What happens before a sort: the only place where a particle may change its model, since blocks
/// keep those of a model together. A function of the state alone.
#include "sim_state.h"

// Loose snow that has packed to this J_P joins the snow that it is made of, method.md (52).
static const float JOIN_JP = 1.1f;

static bool has_loose(const firn_sim *sim) { return sim->materials.full_density > 0.0f; }

static void join_loose(firn_sim *sim)
{
    const float *jp = firn_channel_of(&sim->particles, FIRN_JP);
    uint8_t *material = sim->particles.material.data;
    size_t count = sim->particles.count;
#pragma omp parallel for schedule(static) num_threads(sim->thread_count)
    for (size_t p = 0; p < count; p++) {
        const firn_bond *made = &sim->bonds[material[p]];
        if (made->loose && jp[p] <= JOIN_JP)
            material[p] = made->of;
    }
}

firn_result firn_slow_stage(firn_sim *sim, double left, firn_error *error)
{
    if (has_loose(sim))
        join_loose(sim);
    firn_heat_change_phase(sim);
    firn_flight_promise(sim);
    firn_flight_advance(sim);
    FIRN_TRY(firn_flight_emit(sim, error));
    return firn_flight_exchange(sim, left, error);
}

void firn_slow_finish(firn_sim *sim)
{
    firn_flight_advance(sim);
    firn_flight_measure(sim);
}

firn_result firn_slow_end(firn_sim *sim, firn_error *error)
{
    firn_flight_advance(sim);
    FIRN_TRY(firn_flight_emit(sim, error));
    return firn_flight_reserve(sim, error);
}
