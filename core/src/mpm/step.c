/// One substep: the ten steps of the method (the paper's section 4.1, method.md section 1).
///
///     firn_sim_step (schedule.c)
///       snapshot, if somebody may go back        <------------------------------+
///       while time is left:                                                     |
///         firn_substep                                                          |
///           emit            sources give new particles                          |
///           arrange         when due grains outside the grid fly (slow.c), sort |
///                           [2] volumes of new particles                        |
///           dt              from the extremes of all particles      <----+      |
///           to grid         [1] mass, momentum     [3] stress forces     |      |
///           update          [4] velocities         [5] node contact      | half | retry with
///           solve           [6] semi-implicit step, or nothing           | dt   | smaller
///           sane?           no ------------------------------------------+      | substeps
///           bodies          move by what nodes gave them                        |
///           to particles    [7] F, J_P     [8] velocities                       |
///                           [9] particle contact    [10] positions              |
///           contact         what colliders were given                           |
///           sleep           who rests, who wakes                                |
///       diverged? ----------------------------------------------------------->--+
///
/// What is fused. [1] and [3] are one scatter, [4] and [5] one sweep over nodes, [7] to [10] one
/// gather: a particle and a node are read once each. In explicit substeps the gather of one substep
/// and the scatter of the next are one pass as well, the *cycle*: while its particles are at hand,
/// a block gives them to the grid of the next substep (FIRN_NODE_NEXT), whose dt is foreseen. That
/// grid is used if the next substep has that dt; a sort, waking snow or another dt make it void,
/// and [1] and [3] run on their own. The bits are the same either way, but for the dt.
///
/// What order makes the bits. A node adds up its blocks in the order of their colors, and a block
/// its particles in the order of the sort, which is stable (sequence.c, sort.c). Sums over blocks
/// and node blocks are added one after the other in key order. Gathers write their own particles
/// only. So nothing depends on the number of threads.
///
/// Who may fail. Emission, arrange and the lists of colliders near blocks, for want of memory;
/// speed beyond the limit, before and after the sort. Steps 1 to 6 change nothing but the grid, and
/// what they found is looked at before a particle is touched: from there on nothing fails. A
/// substep that is not sane never happened.
#include "schedule.h"
#include "sim_state.h"

#include <math.h>
#include <string.h>

static void count_time(firn_schedule *s, firn_stage stage)
{
    double now = firn_seconds();
    s->sim->stats.seconds[stage] += now - s->clock;
    s->clock = now;
}

static void start_clock(firn_schedule *s)
{
    memset(s->sim->stats.seconds, 0, sizeof s->sim->stats.seconds);
    s->sim->stats.product_seconds = 0.0;
    s->clock = firn_seconds();
}

firn_result firn_sim_reserve(firn_sim *sim, firn_error *error)
{
    FIRN_TRY(firn_transfer_reserve(sim, error));
    FIRN_TRY(firn_grid_update_reserve(sim, error));
    FIRN_TRY(firn_clearance_reserve(sim, error));
    FIRN_TRY(firn_sleep_reserve(sim, error));
    return firn_sim_is_implicit(sim) ? firn_implicit_reserve(sim, error) : FIRN_OK;
}

static firn_result emit(firn_schedule *s, firn_error *error)
{
    firn_sim *sim = s->sim;
    firn_source *sources = sim->emission.sources.data;
    for (int i = 0; i < sim->emission.source_count; i++)
        if (sources[i].alive && !firn_flight_takes(sim, &sources[i]))
            FIRN_TRY(firn_sim_emit(sim, &sources[i], FIRN_OK, error));
    count_time(s, FIRN_STAGE_EMIT);
    return FIRN_OK;
}

// Before a sort particles may change their model, and come from outside the grid or go there.
static firn_result sort(firn_schedule *s, firn_error *error)
{
    firn_sim *sim = s->sim;
    FIRN_TRY(firn_slow_stage(sim, s->end - sim->time, error));
    firn_result result =
        firn_sim_is_implicit(sim) ? firn_implicit_sort(sim, error) : firn_sim_sort(sim, error);
    if (result == FIRN_OK)
        firn_flight_commit(sim);
    else
        firn_flight_undo(sim);
    FIRN_TRY(result);
    FIRN_TRY(firn_flight_reserve(sim, error));
    firn_flight_measure(sim);
    return FIRN_OK;
}

// Brings particles and grid into the state that a substep starts from, and claims all its memory.
static firn_result arrange(firn_schedule *s, firn_error *error)
{
    firn_sim *sim = s->sim;
    bool sorting = firn_order_is_due(&sim->order, &sim->foresight) ||
                   firn_flight_is_due(sim, 0.0) || firn_heat_is_due(sim, 0.0);
    if (sorting)
        FIRN_TRY(sort(s, error));
    firn_result result = firn_sim_reserve(sim, error);
    // Only blocks that are new need memory.
    FIRN_TRY(sorting ? firn_owners_agree(&sim->owners, result, error) : result);
    if (sim->volumes_missing && firn_sim_count(sim) > 0) {
        firn_transfer_find_volumes(sim);
        sim->volumes_missing = false;
        sorting = true;
    }
    if (sorting) {
        firn_clearance_forget(sim);
        if (firn_heat_is_due(sim, 0.0))
            FIRN_TRY(firn_heat_run(sim, s->end - sim->time, error));
        firn_transfer_measure(sim);
        firn_sleep_arrange(sim);
    }
    count_time(s, FIRN_STAGE_SORT);
    return FIRN_OK;
}

// (m/s)^2, of the fastest particle or grain.
static float fastest2(const firn_sim *sim)
{
    float particle = sim->foresight.extremes.speed2;
    float grain = sim->store.count > 0 ? sim->store.speed2 : 0.0f;
    return grain > particle ? grain : particle; // what is no number is the particle's
}

static firn_result check_speed(const firn_sim *sim, firn_error *error)
{
    float limit2 = sim->def.speed_limit * sim->def.speed_limit;
    float speed2 = fastest2(sim);
    if (speed2 <= limit2)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_DIVERGED,
                     "the simulation diverged at %.6f s: a particle moves at %g m/s, beyond the "
                     "speed limit of %g m/s; use smaller steps (dt_max, wave_cfl) or softer snow",
                     sim->time, sqrt((double)speed2), (double)sim->def.speed_limit);
}

// Lists of contact claim memory wherever colliders are.
static firn_result agree_on_lists(firn_sim *sim, firn_result result, firn_error *error)
{
    bool needed = sim->contact.account_count > 0;
    return needed ? firn_owners_agree(&sim->owners, result, error) : result;
}

static firn_result find_colliders(firn_schedule *s, float dt, firn_error *error)
{
    return agree_on_lists(s->sim, firn_clearance_prepare(s->sim, dt, error), error);
}

static void to_grid(firn_schedule *s, float dt)
{
    firn_sim *sim = s->sim;
    if ((float)sim->foresight.dt == dt)
        firn_transfer_take_ahead(sim);
    else
        firn_transfer_to_grid(sim, dt);
    count_time(s, FIRN_STAGE_P2G);
}

static firn_node_limits update(firn_schedule *s, float dt)
{
    firn_node_limits nodes = firn_grid_update(s->sim, dt);
    count_time(s, FIRN_STAGE_GRID);
    return nodes;
}

static bool solve(firn_schedule *s, float dt, firn_node_limits *nodes)
{
    firn_sim *sim = s->sim;
    sim->stats.iterations = 0;
    sim->stats.residual = 0.0;
    if (!firn_sim_is_implicit(sim) || !nodes->finite)
        return true;
    firn_solve found = firn_implicit_solve(sim, dt);
    sim->stats.iterations = found.iterations;
    sim->stats.residual = found.residual;
    *nodes = firn_grid_collide(sim);
    count_time(s, FIRN_STAGE_SOLVE);
    return found.converged ||
           firn_schedule_reject(s, "the implicit solve did not converge; residual, m/s",
                                found.residual);
}

static bool is_sane(firn_schedule *s, float dt, firn_node_limits nodes)
{
    if (!nodes.finite)
        return firn_schedule_reject(
            s, "velocities are no longer finite numbers; fastest node before that, m/s",
            sqrt((double)s->sim->foresight.extremes.speed2));
    // More than a cell in a step and the kernels would read past their tiles.
    double speed = sqrt((double)nodes.speed2);
    if (speed * dt > s->sim->def.cell_size)
        return firn_schedule_reject(s, "snow would cross more than a cell in a substep, at m/s",
                                    speed);
    return true;
}

// Bodies get what nodes lost, and must not be thrown out of the reach of lists.
static bool move_bodies(firn_schedule *s, float dt)
{
    double speed = firn_coupling_arrive(s->sim, dt);
    return speed * (double)dt <= (double)s->sim->def.cell_size ||
           firn_schedule_reject(s, "a body would cross more than a cell in a substep, at m/s",
                                speed);
}

static void to_particles(firn_schedule *s, double dt, double next_dt)
{
    if (next_dt > 0.0)
        firn_transfer_cycle(s->sim, dt, next_dt);
    else
        firn_transfer_to_particles(s->sim, (float)dt);
    count_time(s, next_dt > 0.0 ? FIRN_STAGE_CYCLE : FIRN_STAGE_G2P);
}

static void fill_stats(const firn_schedule *s, double dt, int rejected)
{
    firn_sim *sim = s->sim;
    firn_step_stats *stats = &sim->stats;
    stats->time = sim->time;
    stats->dt = dt;
    stats->integrator = sim->implicit ? FIRN_INTEGRATOR_IMPLICIT : FIRN_INTEGRATOR_EXPLICIT;
    stats->progress = (sim->time - s->begin) / (s->end - s->begin);
    stats->substep = sim->substep;
    stats->rejected = rejected;
    stats->max_speed = sqrt((double)fastest2(sim));
    stats->particles = firn_sim_count(sim) + sim->store.count;
    stats->settled = sim->store.count > 0 ? sim->store.settled : 0;
    stats->flying = sim->store.count - stats->settled;
    stats->blocks = firn_owners_shared(&sim->owners) ? sim->owners.node_block_count
                                                     : sim->grid.node_block_count;
    stats->bytes = sim->budget.used;
    stats->asleep = sim->rest.asleep_count;
}

firn_result firn_substep(firn_schedule *s, firn_error *error)
{
    firn_sim *sim = s->sim;
    start_clock(s);
    // Once before the sort, which would take a particle that flew out of the domain for one that
    // left it, and once after it for the particles that are new.
    FIRN_TRY(check_speed(sim, error));
    FIRN_TRY(emit(s, error));
    FIRN_TRY(arrange(s, error)); // 2: initial volumes, once for new particles
    FIRN_TRY(check_speed(sim, error));

    double dt = firn_schedule_dt(s);
    bool after_sort = sim->order.since_sort == 0;
    firn_node_limits nodes;
    int rejected = 0;
    for (;; rejected++) {
        firn_forces_prepare(&sim->forces, sim->time, (float)dt);
        FIRN_TRY(find_colliders(s, (float)dt, error)); // where the colliders are
        to_grid(s, (float)dt);                         // 1: mass, momentum; 3: stress
        nodes = update(s, (float)dt);                  // 4: velocities; 5: node contact
        bool solved = solve(s, (float)dt, &nodes);     // 6: semi-implicit step
        if (solved && is_sane(s, (float)dt, nodes) && move_bodies(s, (float)dt))
            break;
        FIRN_TRY(firn_schedule_halve(s, &dt, error));
    }
    firn_result found = firn_contact_find_particles(sim, (float)dt, nodes, error);
    FIRN_TRY(agree_on_lists(sim, found, error));
    // 7: F and J_P; 8: velocities; 9: particle contact; 10: positions. Then, if the next substep
    // can be foreseen, its 1 and 3.
    to_particles(s, dt, firn_schedule_next_dt(s, dt));

    firn_schedule_accept(s, dt, rejected);
    firn_order_advance(&sim->order);
    fill_stats(s, dt, rejected);
    firn_contact_commit(sim, dt, after_sort);
    firn_coupling_commit(sim, dt);
    firn_sleep_update(sim, (float)dt);
    count_time(s, FIRN_STAGE_OTHER);
    return FIRN_OK;
}
