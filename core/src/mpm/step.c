/// Time: substeps as large as stays sane, each a transaction that is checked before particles move,
/// and a call that starts again with smaller steps when the physics left the sane range.
#include "sim_state.h"

#include <math.h>
#include <string.h>

enum {
    SORT_INTERVAL = 30, // substeps; cells lose their order and with it speed, never correctness
};

// Bounds of a substep may be passed by this factor when particles turn out faster or stiffer than
// foreseen: they have more room than that.
#define FORESIGHT_SLACK 1.03

/// One attempt at a call of firn_sim_step.
typedef struct attempt {
    firn_sim *sim;
    double begin, end; // s
    double shrink;     // factor on every bound of the step
    double ceiling;    // s, the last step that went well may grow only slowly
    double mark;       // s of wall time, for the stages
    const char *cause; // of the last rejected substep
    double value;      // that goes with the cause
} attempt;

static void count_time(attempt *a, firn_stage stage)
{
    double now = firn_seconds();
    a->sim->stats.seconds[stage] += now - a->mark;
    a->mark = now;
}

firn_result firn_sim_sort(firn_sim *sim, firn_error *error)
{
    firn_bounds bounds = {sim->def.domain_lower, sim->def.domain_upper};
    firn_transfer_recover(sim);
    sim->foresight.dt = 0.0;
    FIRN_TRY(firn_grid_sort(&sim->grid, &sim->particles, &bounds, sim->emission.new_keys.data,
                            sim->order.sorted_count, sim->thread_count, error));
    // A retry brings the keys of its particles back.
    if (!firn_snapshot_has_new(sim))
        firn_array_relax(&sim->budget, &sim->emission.new_keys);
    sim->order.sorted_count = sim->particles.count;
    FIRN_TRY(firn_sequence_build(&sim->sequence, &sim->grid, sim->thread_count, error));
    sim->order.must_sort = false;
    sim->order.since_sort = 0;
    return FIRN_OK;
}

firn_result firn_sim_reserve(firn_sim *sim, firn_error *error)
{
    firn_budget *budget = &sim->budget;
    size_t blocks = sim->grid.block_count, node_blocks = sim->grid.node_block_count;
    FIRN_TRY(firn_array_claim(budget, &sim->sums, blocks, sizeof(firn_block_sums), error));
    FIRN_TRY(firn_array_claim(budget, &sim->limits, blocks, sizeof(firn_block_limits), error));
    FIRN_TRY(
        firn_array_claim(budget, &sim->node_limits, node_blocks, sizeof(firn_node_limits), error));
    FIRN_TRY(firn_clearance_reserve(sim, error));
    FIRN_TRY(firn_sleep_reserve(sim, error));
    return firn_sim_is_implicit(sim) ? firn_implicit_reserve(sim, error) : FIRN_OK;
}

// Brings particles and grid into the state that a substep starts from.
static firn_result arrange(attempt *a, firn_error *error)
{
    firn_sim *sim = a->sim;
    bool drifted = !(sim->foresight.extremes.low >= 0.0f && sim->foresight.extremes.high < 0.0f);
    bool sorting = sim->order.must_sort || drifted || sim->order.since_sort >= SORT_INTERVAL;
    if (sorting)
        FIRN_TRY(firn_sim_is_implicit(sim) ? firn_implicit_sort(sim, error)
                                           : firn_sim_sort(sim, error));
    FIRN_TRY(firn_sim_reserve(sim, error));
    if (sim->volumes_missing && sim->particles.count > 0) {
        firn_transfer_find_volumes(sim);
        sim->volumes_missing = false;
        sorting = true;
    }
    if (sorting) {
        firn_clearance_forget(sim);
        firn_transfer_measure(sim);
        firn_sleep_arrange(sim);
    }
    count_time(a, FIRN_STAGE_SORT);
    return FIRN_OK;
}

static firn_result emit(attempt *a, firn_error *error)
{
    firn_sim *sim = a->sim;
    firn_source *sources = sim->emission.sources.data;
    for (int i = 0; i < sim->emission.source_count; i++)
        if (sources[i].alive)
            FIRN_TRY(firn_sim_emit(sim, &sources[i], error));
    count_time(a, FIRN_STAGE_EMIT);
    return FIRN_OK;
}

// The largest step from a time on that all bounds allow, and an even share of what is left,
// method.md (17).
static double choose_dt(const attempt *a, double from)
{
    const firn_sim *sim = a->sim;
    const firn_sim_def *def = &sim->def;
    double h = def->cell_size, left = a->end - from;
    double speed = sqrt((double)sim->foresight.extremes.speed2) +
                   (double)firn_colliders_max_speed(&sim->colliders, from, a->end);
    double dt = def->dt_max;
    if (speed * dt > def->cfl * h)
        dt = def->cfl * h / speed;
    double wave = sqrt((double)sim->foresight.extremes.wave2);
    if (!firn_sim_is_implicit(sim) && wave * dt > def->wave_cfl * h)
        dt = def->wave_cfl * h / wave;
    dt = a->shrink * fmax(dt, def->dt_min);
    dt = fmin(dt, a->ceiling);
    return left / fmax(1.0, ceil(left / dt - 1e-6));
}

// Whether a sort is due behind a substep of dt, or likely: particles change their speed little.
static bool sorts_next(const firn_sim *sim, double dt)
{
    return sim->order.since_sort + 1 >= SORT_INTERVAL || dt >= sim->foresight.stay;
}

// What the substep after one of dt is going to be, as far as can be told; 0 when the grid cannot be
// filled for it in advance.
static double foresee_dt(const attempt *a, double dt)
{
    const firn_sim *sim = a->sim;
    double from = sim->time + dt;
    bool last = a->end - from <= 1e-9 * dt;
    return last || sorts_next(sim, dt) || firn_sim_is_implicit(sim) ? 0.0 : choose_dt(a, from);
}

// The substep that the grid has been filled for, if that is no larger than what it should be now
// that the particles have moved.
static double settle_dt(const attempt *a)
{
    double wanted = choose_dt(a, a->sim->time), ahead = a->sim->foresight.dt;
    return ahead > 0.0 && ahead <= FORESIGHT_SLACK * wanted ? ahead : wanted;
}

static bool reject(attempt *a, const char *cause, double value)
{
    a->cause = cause;
    a->value = value;
    return false;
}

static bool sane(attempt *a, firn_node_limits limits, float dt)
{
    if (!limits.finite)
        return reject(a, "velocities are no longer finite numbers; fastest node before that, m/s",
                      sqrt((double)a->sim->foresight.extremes.speed2));
    // More than a cell in a step and the kernels would read past their tiles.
    double speed = sqrt((double)limits.speed2);
    if (speed * dt > a->sim->def.cell_size)
        return reject(a, "snow would cross more than a cell in a substep, at m/s", speed);
    return true;
}

// Everything up to the point where particles change; false when the result must not be used.
static bool try_substep(attempt *a, float dt, firn_node_limits *limits)
{
    firn_sim *sim = a->sim;
    if ((float)sim->foresight.dt == dt)
        firn_transfer_take_ahead(sim);
    else
        firn_transfer_to_grid(sim, dt);
    count_time(a, FIRN_STAGE_P2G);
    *limits = firn_grid_update(sim, dt);
    count_time(a, FIRN_STAGE_GRID);
    sim->stats.iterations = 0;
    sim->stats.residual = 0.0;
    if (firn_sim_is_implicit(sim)) {
        if (!limits->finite)
            return sane(a, *limits, dt);
        firn_solve solve = firn_implicit_solve(sim, dt);
        sim->stats.iterations = solve.iterations;
        sim->stats.residual = solve.residual;
        *limits = firn_grid_collide(sim);
        count_time(a, FIRN_STAGE_SOLVE);
        if (!solve.converged)
            return reject(a, "the implicit solve did not converge; residual, m/s", solve.residual);
    }
    return sane(a, *limits, dt);
}

static void finish_substep(attempt *a, double dt, int rejected)
{
    firn_sim *sim = a->sim;
    bool measured = sim->order.since_sort == 0;
    double next = foresee_dt(a, dt);
    if (next > 0.0)
        firn_transfer_cycle(sim, dt, next);
    else
        firn_transfer_to_particles(sim, (float)dt);
    count_time(a, next > 0.0 ? FIRN_STAGE_CYCLE : FIRN_STAGE_G2P);
    // The last substep of a call ends on the time asked for, free of rounding.
    sim->time = a->end - sim->time <= dt * (1.0 + 1e-9) ? a->end : sim->time + dt;
    sim->substep++;
    sim->order.since_sort++;
    firn_step_stats *stats = &sim->stats;
    stats->time = sim->time;
    stats->dt = dt;
    stats->integrator = sim->implicit ? FIRN_INTEGRATOR_IMPLICIT : FIRN_INTEGRATOR_EXPLICIT;
    stats->progress = (sim->time - a->begin) / (a->end - a->begin);
    stats->substep = sim->substep;
    stats->rejected = rejected;
    stats->max_speed = sqrt((double)sim->foresight.extremes.speed2);
    stats->particles = sim->particles.count;
    stats->blocks = sim->grid.node_block_count;
    stats->bytes = sim->budget.used;
    stats->asleep = sim->rest.asleep_count;
    firn_contact_commit(sim, dt, measured);
    firn_sleep_update(sim, (float)dt);
    count_time(a, FIRN_STAGE_OTHER);
}

static firn_result check_speed(const firn_sim *sim, firn_error *error)
{
    if (sim->foresight.extremes.speed2 <= sim->def.speed_limit * sim->def.speed_limit)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_DIVERGED,
                     "the simulation diverged at %.6f s: a particle moves at %g m/s, beyond the "
                     "speed limit of %g m/s; use smaller steps (dt_max, wave_cfl) or softer snow",
                     sim->time, sqrt((double)sim->foresight.extremes.speed2),
                     (double)sim->def.speed_limit);
}

static firn_result substep(attempt *a, firn_error *error)
{
    firn_sim *sim = a->sim;
    memset(sim->stats.seconds, 0, sizeof sim->stats.seconds);
    sim->stats.product_seconds = 0.0;
    a->mark = firn_seconds();
    // Once before the sort, which would take a particle that flew out of the domain for one that
    // left it, and once after it for the particles that are new.
    FIRN_TRY(check_speed(sim, error));
    FIRN_TRY(emit(a, error));
    FIRN_TRY(arrange(a, error));
    FIRN_TRY(check_speed(sim, error));
    double dt = settle_dt(a);
    for (int rejected = 0;; rejected++) {
        firn_node_limits limits;
        firn_forces_prepare(&sim->forces, sim->time, (float)dt);
        FIRN_TRY(firn_clearance_prepare(sim, (float)dt, error));
        if (try_substep(a, (float)dt, &limits)) {
            FIRN_TRY(firn_contact_find_particles(sim, (float)dt, limits, error));
            finish_substep(a, dt, rejected);
            a->ceiling = rejected > 0 ? 1.5 * dt : 2.0 * a->ceiling;
            return FIRN_OK;
        }
        dt *= 0.5;
        a->ceiling = dt;
        if (dt < a->shrink * (double)sim->def.dt_min)
            return firn_fail(error, FIRN_ERR_DIVERGED,
                             "the simulation diverged at %.6f s: %s %g, with a substep of %g s "
                             "that must not become smaller; lower dt_min, soften the snow or "
                             "slow the colliders down",
                             sim->time, a->cause, a->value, 2.0 * dt);
    }
}

static firn_result run_substeps(attempt *a, firn_error *error)
{
    firn_sim *sim = a->sim;
    a->ceiling = (double)sim->def.dt_max;
    FIRN_TRY(firn_contact_begin(sim, error));
    firn_sim_choose_integrator(sim);
    sim->order.must_sort = true;
    sim->solve.warm = false;
    sim->foresight.extremes = (firn_block_limits){.speed2 = 0.0f};
    while (sim->time < a->end) {
        FIRN_TRY(substep(a, error));
        if (sim->progress != NULL && !sim->progress(&sim->stats, sim->progress_user))
            return firn_fail(error, FIRN_ERR_CANCELLED, "cancelled at %.6f s", sim->time);
    }
    return FIRN_OK;
}

// However it ends, the particles are complete.
static firn_result run(attempt *a, firn_error *error)
{
    firn_result result = run_substeps(a, error);
    firn_transfer_recover(a->sim);
    return result;
}

firn_result firn_sim_step(firn_sim *sim, double seconds, firn_error *error)
{
    if (!(seconds > 0.0) || !(seconds < 1e6))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot step by %g s; the time must be above zero and below 1e6 s",
                         seconds);
    attempt a = {.sim = sim, .begin = sim->time, .end = sim->time + seconds, .shrink = 1.0};
    FIRN_TRY(firn_snapshot_begin(sim, error));
    firn_result result = run(&a, error);
    for (int i = 0; result == FIRN_ERR_DIVERGED && i < sim->def.retries; i++) {
        firn_snapshot_undo(sim);
        a.shrink *= 0.5;
        result = run(&a, error);
    }
    if (result == FIRN_ERR_DIVERGED && sim->def.retries > 0)
        firn_snapshot_undo(sim);
    return result;
}
