#include "sim_defs.h"

#include "firn/defs.h"

#include <string.h>

#define ROW(field) FIRN_PARAM(firn_sim_def, field)

// clang-format off
static const firn_param sim_params[] = {
    {ROW(cell_size), FIRN_FLOAT, {0.02}, 1e-4, 1.0, "m",
     "Edge of a grid cell, the size of the smallest chunk that can break off. Half the size means "
     "eight times the particles and about sixteen times the work"},
    {ROW(gravity), FIRN_VEC3, {0.0, -9.81, 0.0}, -1000.0, 1000.0, "m/s^2",
     "Acceleration of everything; the Y axis points up"},
    {ROW(kernel), FIRN_CHOICE, {FIRN_KERNEL_QUADRATIC}, 0.0, 1.0, "",
     "Reach of a particle on the grid: quadratic touches 27 nodes and is fast, cubic touches 64, "
     "is smoother and what the paper uses", "quadratic|cubic"},
    {ROW(transfer), FIRN_CHOICE, {FIRN_TRANSFER_APIC}, 0.0, 1.0, "",
     "How velocities travel between particles and grid: apic keeps rotation and is quiet, flip "
     "blends as the paper does and is livelier", "apic|flip", "Velocity transfer"},
    {ROW(integrator), FIRN_CHOICE, {FIRN_INTEGRATOR_EXPLICIT}, 0.0, 2.0, "",
     "explicit takes many cheap substeps, as small as stiff snow demands; implicit solves a system "
     "in each of few large ones; auto takes the one that should be faster, frame by frame",
     "explicit|implicit|auto"},
    {ROW(volume), FIRN_CHOICE, {FIRN_VOLUME_SEED}, 0.0, 1.0, "",
     "Initial volume of a particle: its share of the seeding lattice, or from the density that "
     "the grid sees in the first step, as in the paper", "seed|grid", "Initial volume"},
    {ROW(beta), FIRN_FLOAT, {1.0}, 0.5, 1.0, "",
     "Share of the new forces in the implicit step: 1 is backward Euler and damps, 0.5 is "
     "trapezoidal and keeps more energy", .label = "Implicitness",
     .visible_when = "integrator==implicit"},
    {ROW(flip_ratio), FIRN_FLOAT, {0.95}, 0.0, 1.0, "",
     "Share of FLIP in the blend with PIC over the reference step: 1 keeps all motion and noise, "
     "0 damps strongly", .label = "FLIP ratio", .visible_when = "transfer==flip"},
    {ROW(flip_reference_dt), FIRN_FLOAT, {5e-4}, 1e-6, 1.0, "s",
     "Time in which the FLIP ratio acts once, so that damping does not depend on the substep",
     .label = "FLIP reference step", .visible_when = "transfer==flip"},
    {ROW(dt_min), FIRN_FLOAT, {1e-7}, 1e-9, 1.0, "s",
     "Shortest substep; when even this one fails, the simulation is reported as diverged",
     .label = "Shortest substep"},
    {ROW(dt_max), FIRN_FLOAT, {2e-3}, 1e-9, 1.0, "s",
     "Longest substep, however calm the snow", .label = "Longest substep"},
    {ROW(cfl), FIRN_FLOAT, {0.5}, 0.01, 1.0, "cells",
     "How far the fastest particle may travel in a substep", .label = "CFL number"},
    {ROW(wave_cfl), FIRN_FLOAT, {0.5}, 0.01, 1.0, "cells",
     "How far an elastic wave may travel in an explicit substep; lower it when packed snow jitters",
     .label = "Wave CFL number", .visible_when = "integrator==explicit"},
    {ROW(tolerance), FIRN_FLOAT, {1e-3}, 1e-9, 10.0, "m/s",
     "Velocity error that the implicit solve may leave; smaller costs more iterations",
     .visible_when = "integrator==implicit"},
    {ROW(max_iterations), FIRN_INT, {200}, 1.0, 10000.0, "",
     "Most iterations of an implicit solve; when they do not suffice, the substep is halved",
     .label = "Iteration limit", .visible_when = "integrator==implicit"},
    {ROW(speed_limit), FIRN_FLOAT, {1000.0}, 1.0, 1e6, "m/s",
     "Snow faster than this means that the simulation diverged"},
    {ROW(retries), FIRN_INT, {3}, 0.0, 20.0, "",
     "How often a frame that diverged is computed again with half the step before giving up; above "
     "0 a copy of the state is kept, at about 120 bytes per particle"},
    {ROW(domain_lower), FIRN_VEC3, {-1000.0, -1000.0, -1000.0}, -1e5, 1e5, "m",
     "Lower corner of the region that is kept; snow that leaves it is removed"},
    {ROW(domain_upper), FIRN_VEC3, {1000.0, 1000.0, 1000.0}, -1e5, 1e5, "m",
     "Upper corner of the region that is kept; snow that leaves it is removed"},
    {ROW(sleep_speed), FIRN_FLOAT, {0.0}, 0.0, 1.0, "m/s",
     "Snow that stays slower than this falls asleep and costs nothing until it is touched; 0 keeps "
     "all snow awake. 0.003 suits most shots with settled snow"},
    {ROW(sleep_time), FIRN_FLOAT, {0.1}, 1e-3, 100.0, "s",
     "How long snow must have been slow before it falls asleep"},
    {ROW(thread_count), FIRN_INT, {0}, 0.0, 1024.0, "",
     "Processor cores to use; 0 uses every one. The result is the same for any number",
     .label = "Threads"},
    {ROW(memory_limit), FIRN_DOUBLE, {0.0}, 0.0, 1e9, "MB",
     "Most memory that the simulation may hold; 0 sets no limit"},
    {ROW(isa), FIRN_CHOICE, {FIRN_ISA_NATIVE}, 0, 1, "",
     "Instructions of the solver: native, the fastest that the processor has; or portable, the "
     "same bits on every x86-64 with AVX2 and FMA, slower where there is AVX-512",
     "native|portable", .label = "Instruction set", .added = true},
    {ROW(free_flight), FIRN_CHOICE, {FIRN_FLIGHT_SNOWFALL}, 0, 2, "",
     "What flies outside the grid while it is alone, at a hundredth of the cost: snowfall, the "
     "flakes of snowfalls until they near snow; all, also spray of any snow; or off, nothing",
     "off|snowfall|all", .label = "Free flight", .added = true},
    {ROW(heat), FIRN_BOOL, {0}, 0, 1, "",
     "Particles have a temperature: heat flows between them, colliders with a temperature and the "
     "air; they soften, melt and freeze as their materials say. Sources give it with channels: "
     "temperature=268", .added = true},
    {ROW(heat_speed), FIRN_FLOAT, {1.0}, 0.0, 1e6, "",
     "Seconds of heat in a second of motion: real snow takes hours to melt; 1000 melts it in a "
     "shot", .visible_when = "heat==true", .added = true},
    {ROW(air_temperature), FIRN_FLOAT, {273.15}, 0.0, 5000.0, "K",
     "Temperature of the air around; 273.15 is 0 C", .visible_when = "heat==true", .added = true},
    {ROW(air_exchange), FIRN_FLOAT, {0.0}, 0.0, 1e6, "W/(m^2 K)",
     "Heat that passes between the surface and the air, for each degree between them: 5 in still "
     "air, 20 in a breeze; 0: none", .visible_when = "heat==true", .added = true},
    {ROW(sun), FIRN_FLOAT, {0.0}, 0.0, 1e7, "W/m^2",
     "Heat that a surface takes up that faces the sun; snow keeps 100 to 300 of the 1000 of a "
     "clear day. Nothing throws shadows", .visible_when = "heat==true", .added = true},
    {ROW(sun_direction), FIRN_VEC3, {0.0, 1.0, 0.0}, -1.0, 1.0, "",
     "Direction to the sun", .visible_when = "heat==true", .added = true},
};
// clang-format on

firn_param_table firn_sim_params(void)
{
    firn_param_table table = {sim_params, FIRN_COUNT(sim_params)};
    return table;
}

void firn_sim_def_reset(firn_sim_def *def, size_t size)
{
    firn_sim_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_sim_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

firn_result firn_sim_def_preset(const char *name, firn_sim_def *def, firn_error *error)
{
    bool paper = strcmp(name, "paper") == 0;
    if (!paper && strcmp(name, "default") != 0)
        return firn_fail(error, FIRN_ERR_NOT_FOUND,
                         "there are no solver settings called '%.100s'; choose default or paper",
                         name);
    *def = firn_sim_def_default();
    if (paper) {
        def->kernel = FIRN_KERNEL_CUBIC;
        def->transfer = FIRN_TRANSFER_FLIP;
        def->integrator = FIRN_INTEGRATOR_IMPLICIT;
        def->beta = 1.0f;
        def->volume = FIRN_VOLUME_GRID;
        def->dt_max = 5e-4f;
        def->free_flight = FIRN_FLIGHT_OFF;
    }
    return FIRN_OK;
}

firn_result firn_sim_def_check(const firn_sim_def *def, firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_sim_params(), def, "solver", error));
    if (def->dt_min > def->dt_max)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "solver.dt_min is above solver.dt_max; the shortest substep must not be "
                         "longer than the longest");
    firn_vec3 size = firn_sub(def->domain_upper, def->domain_lower);
    if (!(size.x > 0.0f && size.y > 0.0f && size.z > 0.0f))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "solver.domain_lower must be below solver.domain_upper on every axis; "
                         "no snow could stay in an empty domain");
    return FIRN_OK;
}
