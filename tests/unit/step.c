#include "falling_box.h"

enum { TRACE_MOST = 4000 };

/// The substeps of a call as the progress callback sees them.
typedef struct trace {
    int count;
    int cancel_after; // substeps; 0: never
    firn_step_stats stats[TRACE_MOST];
} trace;

static bool record(const firn_step_stats *stats, void *user)
{
    trace *t = user;
    assert_true(t->count < TRACE_MOST);
    t->stats[t->count++] = *stats;
    return t->count != t->cancel_after;
}

static void time_is_hit_exactly(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim *sim = landing_box(scene_combination(i));
        trace t = {.count = 0};
        firn_sim_set_progress(sim, record, &t);
        double time = 0.0;
        const double spans[] = {1.0 / 240.0, 1e-7, 0.0031};
        for (size_t s = 0; s < FIRN_COUNT(spans); s++) {
            scene_step(sim, spans[s]);
            time += spans[s];
            assert_true(firn_sim_time(sim) == time);
            assert_true(t.stats[t.count - 1].time == time);
            assert_true(t.stats[t.count - 1].progress == 1.0);
        }
        double last = 0.0;
        for (int k = 0; k < t.count; k++) {
            assert_int_equal(t.stats[k].substep, k + 1);
            scene_expect_near(t.stats[k].time - last, t.stats[k].dt, 1e-12);
            last = t.stats[k].time;
        }
        firn_sim_destroy(sim);
    }
}

static double wave_speed(void)
{
    firn_material_def m = firn_material_def_default();
    double e = (double)m.young_modulus, nu = (double)m.poisson_ratio;
    return sqrt(e * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu)) / (double)m.density);
}

static trace *traced_step(firn_sim *sim, double seconds)
{
    trace *t = calloc(1, sizeof *t);
    firn_sim_set_progress(sim, record, t);
    scene_step(sim, seconds);
    return t;
}

static void substeps_stay_below_every_bound(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        def.dt_max = 1e-3f;
        firn_sim *sim = landing_box(def);
        trace *t = traced_step(sim, 0.02);
        double speed = sqrt(16.25), h = (double)def.cell_size, longest = 0.0;
        for (int k = 0; k < t->count; k++) {
            double dt = t->stats[k].dt;
            assert_true(dt <= (double)def.dt_max * (1.0 + 1e-6));
            assert_true(dt * speed <= (double)def.cfl * h * (1.0 + 1e-5));
            if (def.integrator == FIRN_INTEGRATOR_EXPLICIT && k == 0)
                assert_true(dt * wave_speed() <= (double)def.wave_cfl * h * (1.0 + 1e-5));
            speed = t->stats[k].max_speed;
            longest = fmax(longest, dt);
        }
        // They are no shorter than they must be either.
        double bound = (double)def.dt_max;
        if (def.integrator == FIRN_INTEGRATOR_EXPLICIT)
            bound = (double)def.wave_cfl * h / wave_speed();
        assert_true(longest > 0.9 * bound);
        free(t);
        firn_sim_destroy(sim);
    }
}

static void packed_snow_takes_shorter_explicit_substeps(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    double dt[2];
    for (int packed = 0; packed < 2; packed++) {
        firn_sim *sim = falling_box(def, nowhere);
        for (size_t p = 0; packed && p < sim->particles.count; p++)
            firn_channel_of(&sim->particles, FIRN_JP)[p] = 0.9f;
        trace *t = traced_step(sim, 0.01);
        dt[packed] = t->stats[0].dt;
        free(t);
        firn_sim_destroy(sim);
    }
    scene_expect_near(dt[0] / dt[1], exp(0.5 * 10.0 * 0.1), 0.05);
}

static void shortest_substep_overrides_the_bounds(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.dt_min = 6e-4f; // the wave bound is 4.6e-4
    firn_sim *sim = falling_box(def, nowhere);
    trace *t = traced_step(sim, 6e-3);
    for (int k = 0; k < t->count; k++)
        scene_expect_near(t->stats[k].dt, 6e-4, 1e-8);
    free(t);
    firn_sim_destroy(sim);
}

/// Shortens the substeps in the middle of a call.
typedef struct shortening {
    firn_sim *sim;
    bool forgetful; // what the grid holds for the next substep is thrown away
    int count;
} shortening;

static bool shorten(const firn_step_stats *stats, void *user)
{
    (void)stats;
    shortening *s = user;
    if (++s->count == 5)
        s->sim->def.dt_min = s->sim->def.dt_max = 1e-4f;
    if (s->forgetful)
        s->sim->foresight.dt = 0.0;
    return s->count < 10;
}

static void grid_for_a_longer_substep_is_filled_anew(void **state)
{
    (void)state;
    uint64_t hash[2];
    for (int forgetful = 0; forgetful < 2; forgetful++) {
        firn_sim_def def = scene_combination(0);
        def.dt_min = def.dt_max = 4e-4f;
        firn_sim *sim = landing_box(def);
        shortening s = {.sim = sim, .forgetful = forgetful == 1};
        firn_sim_set_progress(sim, shorten, &s);
        assert_int_equal(firn_sim_step(sim, 4.0, NULL), FIRN_ERR_CANCELLED);
        hash[forgetful] = firn_sim_hash(sim);
        assert_true(firn_sim_stats(sim).elastic > 0.0);
        firn_sim_destroy(sim);
    }
    assert_true(hash[0] == hash[1]);
}

// A box whose fall was cancelled after three substeps.
static firn_sim *cancelled_box(firn_sim_def def)
{
    firn_sim *sim = landing_box(def);
    trace *t = calloc(1, sizeof *t);
    t->cancel_after = 3;
    firn_sim_set_progress(sim, record, t);
    assert_int_equal(firn_sim_step(sim, 0.05, NULL), FIRN_ERR_CANCELLED);
    firn_sim_set_progress(sim, NULL, NULL);
    free(t);
    return sim;
}

static void call_that_fails_after_a_cancelled_one_leaves_its_state(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        def.retries = 1;
        firn_sim *sim = cancelled_box(def), *failed = cancelled_box(def);
        failed->def.speed_limit = 1e-3f;
        assert_int_equal(firn_sim_step(failed, 0.05, NULL), FIRN_ERR_DIVERGED);
        assert_true(firn_sim_hash(failed) == firn_sim_hash(sim));
        firn_sim_destroy(sim);
        firn_sim_destroy(failed);
    }
}

static void cancelled_call_leaves_the_last_finished_substep(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        uint64_t at_substep[4];
        for (int run = 0; run < 2; run++) {
            firn_sim *sim = landing_box(def);
            trace *t = calloc(1, sizeof *t);
            t->cancel_after = 3;
            firn_sim_set_progress(sim, record, t);
            firn_error error;
            assert_int_equal(firn_sim_step(sim, 0.05, &error), FIRN_ERR_CANCELLED);
            assert_true(strstr(error.message, "cancelled") != NULL);
            assert_int_equal(t->count, 3);
            assert_true(firn_sim_time(sim) == t->stats[2].time);
            at_substep[run] = firn_sim_hash(sim);
            // It goes on from there.
            t->cancel_after = 0;
            scene_step(sim, 0.002);
            at_substep[2 + run] = firn_sim_hash(sim);
            free(t);
            firn_sim_destroy(sim);
        }
        assert_true(at_substep[0] == at_substep[1] && at_substep[2] == at_substep[3]);
    }
}

/// Takes the hash of every substep.
typedef struct hashes {
    firn_sim *sim;
    int count;
    uint64_t hash[16];
    bool stop;
} hashes;

static bool take_hash(const firn_step_stats *stats, void *user)
{
    (void)stats;
    hashes *h = user;
    h->hash[h->count++] = firn_sim_hash(h->sim);
    return !(h->stop && h->count == 2) && h->count < 16;
}

static void state_after_a_cancel_is_the_state_that_the_callback_saw(void **state)
{
    (void)state;
    firn_sim *sim[2];
    hashes h[2];
    for (int i = 0; i < 2; i++) {
        sim[i] = landing_box(scene_combination(0));
        h[i] = (hashes){.sim = sim[i], .stop = i == 1};
        firn_sim_set_progress(sim[i], take_hash, &h[i]);
        assert_int_equal(firn_sim_step(sim[i], 0.1, NULL), FIRN_ERR_CANCELLED);
    }
    assert_true(firn_sim_hash(sim[1]) == h[0].hash[1]);
    assert_true(firn_sim_hash(sim[0]) == h[0].hash[15]);
    firn_sim_destroy(sim[0]);
    firn_sim_destroy(sim[1]);
}

static void simulations_do_not_know_each_other(void **state)
{
    (void)state;
    uint64_t alone[8];
    firn_sim *sim[8];
    for (int i = 0; i < 8; i++) {
        firn_sim *one = landing_box(scene_combination(i));
        scene_step(one, 0.004);
        scene_step(one, 0.004);
        alone[i] = firn_sim_hash(one);
        firn_sim_destroy(one);
        sim[i] = landing_box(scene_combination(i));
    }
    for (int step = 0; step < 2; step++)
        for (int i = 0; i < 8; i++)
            scene_step(sim[i], 0.004);
    for (int i = 0; i < 8; i++) {
        assert_true(firn_sim_hash(sim[i]) == alone[i]);
        firn_sim_destroy(sim[i]);
    }
}

static void empty_simulation_runs_until_snow_comes(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        def.thread_count = 2;
        def.sleep_speed = 0.01f;
        firn_sim *sim = scene_create(&def);
        scene_step(sim, 0.01);
        firn_step_stats stats = firn_sim_stats(sim);
        assert_true(isfinite(stats.mean_jp) && isfinite(stats.min_jp) && isfinite(stats.residual));
        assert_int_equal(stats.particles, 0);
        firn_source_def late = firn_source_def_sphere(nowhere, 0.05f);
        late.start = 0.0135;
        scene_add(sim, &late);
        assert_int_equal(firn_sim_particles(sim).count, 0);
        scene_step(sim, 0.01);
        assert_true(firn_sim_particles(sim).count > 100);
        assert_true(firn_sim_time(sim) == 0.02);
        firn_sim_destroy(sim);
    }
}

static void seconds_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    firn_sim *sim = landing_box(scene_combination(0));
    uint64_t before = firn_sim_hash(sim);
    const double bad[] = {0.0, -1.0, NAN, INFINITY, 1e7};
    for (size_t i = 0; i < FIRN_COUNT(bad); i++)
        assert_int_equal(firn_sim_step(sim, bad[i], NULL), FIRN_ERR_ARGUMENT);
    assert_true(firn_sim_hash(sim) == before);
    firn_sim_destroy(sim);
}

// A lattice point an ulp beyond a cell on every axis gives nodes next to no mass.
static void particle_just_beyond_a_cell_is_no_trouble(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        for (int digit = 3; digit < 14; digit++) {
            firn_sim_def def = scene_combination(i);
            def.cell_size = 0.02f;
            def.gravity = nowhere;
            firn_sim *sim = scene_create(&def);
            scene_add_box(sim, nowhere, 0.04f, nowhere);
            firn_error error;
            scene_expect_ok(firn_sim_sort(sim, &error), &error);
            for (int axis = 0; axis < 3; axis++)
                firn_channel_of(&sim->particles, FIRN_U + axis)[0] = powf(10.0f, (float)-digit);
            scene_step(sim, 1e-3);
            assert_int_equal(firn_sim_stats(sim).rejected, 0);
            firn_sim_destroy(sim);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_hit_exactly),
        cmocka_unit_test(substeps_stay_below_every_bound),
        cmocka_unit_test(packed_snow_takes_shorter_explicit_substeps),
        cmocka_unit_test(shortest_substep_overrides_the_bounds),
        cmocka_unit_test(grid_for_a_longer_substep_is_filled_anew),
        cmocka_unit_test(call_that_fails_after_a_cancelled_one_leaves_its_state),
        cmocka_unit_test(cancelled_call_leaves_the_last_finished_substep),
        cmocka_unit_test(state_after_a_cancel_is_the_state_that_the_callback_saw),
        cmocka_unit_test(simulations_do_not_know_each_other),
        cmocka_unit_test(empty_simulation_runs_until_snow_comes),
        cmocka_unit_test(seconds_that_make_no_sense_are_refused),
        cmocka_unit_test(particle_just_beyond_a_cell_is_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
