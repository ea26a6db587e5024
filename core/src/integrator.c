/// integrator = auto: explicit or semi-implicit, whichever should be cheaper for what the particles
/// do now. The estimate looks at the state alone, never at a clock: any machine, any number of
/// threads and a resumed run choose alike.
#include "sim_state.h"

#include <math.h>

/// Cost in ns per particle as `firn bench` measures it; only the ratios count.
typedef struct step_cost {
    double plain;     // an explicit substep
    double split;     // an implicit substep without its iterations
    double iteration; // one product with the Hessian and the vector operations around it
} step_cost;

static const step_cost costs[2][2] = {
    [FIRN_KERNEL_QUADRATIC] =
        {[FIRN_TRANSFER_APIC] = {40.0, 85.0, 35.0}, [FIRN_TRANSFER_FLIP] = {50.0, 85.0, 38.0}},
    [FIRN_KERNEL_CUBIC] =
        {[FIRN_TRANSFER_APIC] = {75.0, 130.0, 52.0}, [FIRN_TRANSFER_FLIP] = {85.0, 130.0, 54.0}},
};

// Iterations grow with the number of cells that a wave crosses in the substep, method.md (25).
#define ITERATIONS_LEAST 2.0
#define ITERATIONS_PER_CELL 1.5

// Extremes over all particles, sorted or not.
static firn_block_limits measure_all(const firn_sim *sim)
{
    firn_pass pass = firn_sim_pass(sim, 0.0f);
    firn_block all = {.begin = 0, .end = (uint32_t)sim->particles.count};
    firn_block_limits limits;
    sim->kernels->measure(&pass, &all, &limits);
    return limits;
}

void firn_sim_choose_integrator(firn_sim *sim)
{
    const firn_sim_def *def = &sim->def;
    if (def->integrator == FIRN_INTEGRATOR_AUTO) {
        firn_block_limits limits = measure_all(sim);
        const step_cost *cost = &costs[def->kernel][def->transfer];
        double h = def->cell_size, dt_max = def->dt_max;
        double speed = sqrt((double)limits.speed2), wave = sqrt((double)limits.wave2);
        // No step crosses more than dt_max, however slow the snow.
        double dt = fmin(dt_max, (double)def->cfl * h / fmax(speed, 1e-9));
        double dt_explicit = fmin(dt, (double)def->wave_cfl * h / fmax(wave, 1e-9));
        double iterations = ITERATIONS_LEAST + ITERATIONS_PER_CELL * dt * wave / h;
        sim->implicit =
            (cost->split + iterations * cost->iteration) / dt < cost->plain / dt_explicit;
    }
    // Fields of the grid are claimed by the sort that every call begins with.
    int fields = sim->implicit                         ? FIRN_NODE_FIELD_COUNT
                 : def->transfer == FIRN_TRANSFER_FLIP ? FIRN_NODE_NEXT_OLD + 1
                                                       : FIRN_NODE_NEXT + 1;
    sim->grid.field_count = fields;
}
