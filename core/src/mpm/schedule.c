/// A call of firn_sim_step: substeps as large as stays sane, and the call again from its start with
/// smaller ones when the physics left the sane range. step.c is what a substep does.
#include "schedule.h"

#include "sim_state.h"

#include <math.h>

// Bounds of a substep may be passed by this factor when particles turn out faster or stiffer than
// foreseen: they have more room than that.
#define FORESIGHT_SLACK 1.03

// The largest step from a time on that all bounds allow, and an even share of what is left,
// method.md (17).
static double choose_dt(const firn_schedule *s, double from)
{
    const firn_sim *sim = s->sim;
    const firn_sim_def *def = &sim->def;
    double h = def->cell_size, left = s->end - from;
    double speed = sqrt((double)sim->foresight.extremes.speed2) +
                   (double)firn_colliders_max_speed(&sim->colliders, from, s->end);
    double dt = def->dt_max;
    if (speed * dt > def->cfl * h)
        dt = def->cfl * h / speed;
    double wave = sqrt((double)sim->foresight.extremes.wave2);
    if (!firn_sim_is_implicit(sim) && wave * dt > def->wave_cfl * h)
        dt = def->wave_cfl * h / wave;
    dt = s->shrink * fmax(dt, def->dt_min);
    dt = fmin(dt, s->ceiling);
    return left / fmax(1.0, ceil(left / dt - 1e-6));
}

double firn_schedule_dt(const firn_schedule *s)
{
    double wanted = choose_dt(s, s->sim->time), ahead = s->sim->foresight.dt;
    return ahead > 0.0 && ahead <= FORESIGHT_SLACK * wanted ? ahead : wanted;
}

double firn_schedule_next_dt(const firn_schedule *s, double dt)
{
    const firn_sim *sim = s->sim;
    double from = sim->time + dt;
    bool last = s->end - from <= 1e-9 * dt;
    if (last || firn_sim_is_implicit(sim) ||
        firn_order_is_due_after(&sim->order, &sim->foresight, dt) || firn_flight_is_due(sim, dt) ||
        firn_heat_is_due(sim, dt))
        return 0.0;
    return choose_dt(s, from);
}

bool firn_schedule_reject(firn_schedule *s, const char *cause, double value)
{
    s->cause = cause;
    s->value = value;
    return false;
}

firn_result firn_schedule_halve(firn_schedule *s, double *dt, firn_error *error)
{
    *dt *= 0.5;
    s->ceiling = *dt;
    if (!(*dt < s->shrink * (double)s->sim->def.dt_min))
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_DIVERGED,
                     "the simulation diverged at %.6f s: %s %g, with a substep of %g s "
                     "that must not become smaller; lower dt_min, soften the snow or "
                     "slow the colliders down",
                     s->sim->time, s->cause, s->value, 2.0 * *dt);
}

void firn_schedule_accept(firn_schedule *s, double dt, int rejected)
{
    firn_sim *sim = s->sim;
    // The last substep of a call ends on the time asked for, free of rounding.
    sim->time = s->end - sim->time <= dt * (1.0 + 1e-9) ? s->end : sim->time + dt;
    sim->substep++;
    s->ceiling = rejected > 0 ? 1.5 * dt : 2.0 * s->ceiling;
}

static firn_result run_substeps(firn_schedule *s, firn_error *error)
{
    firn_sim *sim = s->sim;
    s->ceiling = (double)sim->def.dt_max;
    FIRN_TRY(firn_owners_agree(&sim->owners, firn_contact_begin(sim, error), error));
    firn_coupling_begin(sim);
    firn_sim_choose_integrator(sim);
    firn_order_void(&sim->order);
    firn_implicit_forget(&sim->solve);
    firn_foresight_reset(&sim->foresight);
    firn_store_forget(&sim->store);
    sim->store.time = sim->time;
    firn_heat_begin(sim);
    FIRN_TRY(firn_flight_reserve(sim, error));
    while (sim->time < s->end) {
        FIRN_TRY(firn_substep(s, error));
        bool goes_on = sim->progress == NULL || sim->progress(&sim->stats, sim->progress_user);
        firn_result result =
            goes_on ? FIRN_OK
                    : firn_fail(error, FIRN_ERR_CANCELLED, "cancelled at %.6f s", sim->time);
        FIRN_TRY(firn_owners_agree(&sim->owners, result, error));
    }
    return firn_slow_end(sim, error);
}

// However it ends, the particles are complete.
static firn_result run(firn_schedule *s, firn_error *error)
{
    s->sim->revision++; // also of an attempt that begins where the snapshot was taken
    firn_owners_start_clock(&s->sim->owners);
    firn_result result = run_substeps(s, error);
    firn_owners_stop_clock(&s->sim->owners);
    firn_slow_finish(s->sim);
    firn_transfer_recover(s->sim);
    return result;
}

firn_result firn_sim_step(firn_sim *sim, double seconds, firn_error *error)
{
    if (!(seconds > 0.0) || !(seconds < 1e6))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot step by %g s; the time must be above zero and below 1e6 s",
                         seconds);
    firn_schedule s = {.sim = sim, .begin = sim->time, .end = sim->time + seconds, .shrink = 1.0};
    firn_error sentence;
    if (error == NULL)
        error = &sentence; // other ranks may want it
    FIRN_TRY(firn_owners_agree(&sim->owners, firn_snapshot_begin(sim, error), error));
    firn_result result = run(&s, error);
    for (int i = 0; result == FIRN_ERR_DIVERGED && i < sim->def.retries; i++) {
        firn_snapshot_undo(sim);
        s.shrink *= 0.5;
        result = run(&s, error);
    }
    if (result == FIRN_ERR_DIVERGED && sim->def.retries > 0)
        firn_snapshot_undo(sim);
    return result;
}
