#include "scene.h"

#include <stdio.h>

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

static const firn_vec3 nowhere = {0.0f, 0.0f, 0.0f};

static firn_sim *falling_box(firn_sim_def def, firn_vec3 velocity)
{
    firn_sim *sim = scene_create(&def);
    scene_add_box(sim, nowhere, 0.05f, velocity);
    return sim;
}

// A box that meets the floor soon.
static firn_sim *landing_box(firn_sim_def def)
{
    firn_sim *sim = falling_box(def, firn_vec(0.5f, -4.0f, 0.0f));
    scene_add_floor(sim, -0.06f);
    return sim;
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

// A step so long that an explicit update explodes at once.
static firn_sim_def exploding(int retries)
{
    firn_sim_def def = scene_combination(0);
    def.dt_min = def.dt_max = 5e-3f;
    def.retries = retries;
    return def;
}

static void diverged_call_leaves_the_state_it_started_from(void **state)
{
    (void)state;
    firn_sim *sim = landing_box(exploding(2));
    // Something has happened already: particles are out of the order that a sort would give.
    sim->def.dt_min = 1e-7f;
    scene_step(sim, 0.02);
    sim->def.dt_min = 5e-3f;
    uint64_t before = firn_sim_hash(sim);
    double time = firn_sim_time(sim);
    firn_error error;
    assert_int_equal(firn_sim_step(sim, 0.2, &error), FIRN_ERR_DIVERGED);
    assert_non_null(strstr(error.message, "diverged at"));
    assert_true(firn_sim_hash(sim) == before);
    assert_true(firn_sim_time(sim) == time);
    assert_true(scene_is_finite(sim));
    // And the state is good for more.
    sim->def.dt_min = 1e-7f;
    scene_step(sim, 0.01);
    firn_sim_destroy(sim);
}

static void retry_gives_what_a_smaller_step_gives(void **state)
{
    (void)state;
    for (int volume = FIRN_VOLUME_SEED; volume <= FIRN_VOLUME_GRID; volume++) {
        firn_sim_def def = exploding(20);
        def.volume = volume;
        firn_sim *sim = landing_box(def);
        scene_step(sim, 0.04);
        assert_true(firn_sim_stats(sim).dt < 1e-3);
        assert_true(scene_is_finite(sim));
        int halvings = (int)round(log2((double)def.dt_max / firn_sim_stats(sim).dt));
        def.retries = 0;
        def.dt_min = def.dt_max = ldexpf(def.dt_max, -halvings);
        firn_sim *small = landing_box(def);
        scene_step(small, 0.04);
        assert_true(firn_sim_hash(small) == firn_sim_hash(sim));
        assert_true(firn_sim_stats(small).elastic > 0.0);
        firn_sim_destroy(small);
        firn_sim_destroy(sim);
    }
}

static void retry_undoes_emission(void **state)
{
    (void)state;
    firn_sim *sim[2];
    for (int i = 0; i < 2; i++) {
        firn_sim_def def = i == 0 ? exploding(20) : scene_combination(0);
        sim[i] = landing_box(def);
        firn_source_def stream =
            firn_source_def_box(firn_vec(0.3f, 0.0f, 0.0f), firn_vec(0.03f, 0.03f, 0.03f));
        stream.velocity = firn_vec(0.0f, -2.0f, 0.0f);
        stream.end = 10.0;
        scene_add(sim[i], &stream);
        scene_step(sim[i], 0.03);
    }
    assert_int_equal(firn_sim_particles(sim[0]).count, firn_sim_particles(sim[1]).count);
    assert_int_equal(sim[0]->particles.next_id, sim[1]->particles.next_id);
    firn_sim_destroy(sim[0]);
    firn_sim_destroy(sim[1]);
}

// Fewer blocks at the moment of the divergence than when the call began.
static void retry_brings_back_blocks_that_have_gone(void **state)
{
    (void)state;
    firn_sim_def def = exploding(1);
    def.domain_lower = firn_vec(-1.0f, -0.2f, -1.0f);
    def.domain_upper = firn_vec(1.0f, 1.0f, 1.0f);
    def.dt_min = 1e-7f;
    def.speed_limit = 5.3f;
    firn_sim *sim = scene_create(&def);
    // A wide cloud leaves the domain; one box stays and becomes too fast.
    firn_source_def cloud =
        firn_source_def_box(firn_vec(0.0f, -0.17f, 0.0f), firn_vec(0.8f, 0.02f, 0.8f));
    cloud.particles_per_cell = 1.0f;
    cloud.velocity = firn_vec(0.0f, -5.0f, 0.0f);
    scene_add(sim, &cloud);
    scene_add_box(sim, firn_vec(0.0f, 0.9f, 0.0f), 0.03f, firn_vec(0.0f, -4.5f, 0.0f));
    scene_step(sim, 1e-4);
    uint64_t before = firn_sim_hash(sim);
    assert_int_equal(firn_sim_step(sim, 0.2, NULL), FIRN_ERR_DIVERGED);
    assert_true(firn_sim_hash(sim) == before);
    firn_sim_destroy(sim);
}

static void without_retries_the_last_sane_substep_stays(void **state)
{
    (void)state;
    firn_sim *sim = landing_box(exploding(0));
    firn_error error;
    assert_int_equal(firn_sim_step(sim, 0.2, &error), FIRN_ERR_DIVERGED);
    assert_true(scene_is_finite(sim));
    assert_int_equal(firn_sim_particles(sim).count, sim->particles.next_id);
    firn_sim_destroy(sim);
}

static void number_that_is_none_is_caught(void **state)
{
    (void)state;
    const int channels[] = {FIRN_V + 1, FIRN_F + 4, FIRN_MASS, FIRN_VOLUME, FIRN_STIFFNESS};
    const float bad[] = {NAN, INFINITY};
    for (int i = 0; i < 8; i++)
        for (size_t c = 0; c < FIRN_COUNT(channels); c++)
            for (size_t k = 0; k < FIRN_COUNT(bad); k++) {
                firn_sim *sim = landing_box(scene_combination(i));
                scene_step(sim, 1e-3);
                firn_channel_of(&sim->particles, channels[c])[5] = bad[k];
                firn_error error;
                assert_int_equal(firn_sim_step(sim, 0.01, &error), FIRN_ERR_DIVERGED);
                assert_true(error.message[0] != '\0');
                firn_sim_destroy(sim);
            }
}

static void particle_at_no_place_does_no_harm(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f};
    for (int i = 0; i < 8; i++)
        for (size_t k = 0; k < FIRN_COUNT(bad); k++) {
            firn_sim *sim = landing_box(scene_combination(i));
            scene_step(sim, 1e-3);
            firn_channel_of(&sim->particles, FIRN_U + 1)[5] = bad[k];
            firn_result result = firn_sim_step(sim, 0.005, NULL);
            assert_true(result == FIRN_OK || result == FIRN_ERR_DIVERGED);
            firn_sim_destroy(sim);
        }
}

static void too_fast_snow_is_reported(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.speed_limit = 3.0f;
    firn_sim *sim = falling_box(def, firn_vec(0.0f, -4.0f, 0.0f));
    firn_error error;
    assert_int_equal(firn_sim_step(sim, 0.01, &error), FIRN_ERR_DIVERGED);
    assert_non_null(strstr(error.message, "speed limit"));
    firn_sim_destroy(sim);

    sim = falling_box(def, firn_vec(0.0f, -2.0f, 0.0f));
    scene_step(sim, 0.1);
    assert_int_equal(firn_sim_step(sim, 0.01, &error), FIRN_ERR_DIVERGED);
    firn_sim_destroy(sim);
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

/// Free fall as the substeps of the method cut it.
typedef struct fall {
    double v, y;
} fall;

static bool follow_fall(const firn_step_stats *stats, void *user)
{
    fall *f = user;
    f->v -= 9.81 * stats->dt;
    f->y += f->v * stats->dt;
    return true;
}

static void covariance_of(const firn_sim *sim, const scene_sums *sums, double c[6])
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    memset(c, 0, 6 * sizeof *c);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++) {
            double x[3];
            scene_position(sim, &blocks[b], p, x);
            for (int k = 0; k < 6; k++) {
                int i = k < 3 ? k : k - 3, j = k < 3 ? k : (k - 2) % 3;
                c[k] += scene_value(sim, FIRN_MASS, p) * (x[i] - sums->center[i]) *
                        (x[j] - sums->center[j]) / sums->mass;
            }
        }
}

static void free_fall_follows_the_closed_form_and_keeps_the_shape(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        def.tolerance = 1e-6f;
        firn_sim *sim = falling_box(def, firn_vec(1.0f, 2.0f, -0.5f));
        firn_error error;
        scene_expect_ok(firn_sim_sort(sim, &error), &error);
        scene_sums before = scene_sums_of(sim);
        double shape[6], after_shape[6];
        covariance_of(sim, &before, shape);
        fall f = {2.0, before.center[1]};
        firn_sim_set_progress(sim, follow_fall, &f);
        scene_step(sim, 0.5);
        scene_sums after = scene_sums_of(sim);
        covariance_of(sim, &after, after_shape);
        assert_true(after.mass == before.mass);
        // Each substep rounds a velocity of up to 3 m/s twice; a solve may leave its tolerance.
        double slack = 5e-7 * (double)firn_sim_stats(sim).substep;
        if (firn_sim_is_implicit(sim))
            slack *= 3.0;
        scene_expect_near(after.momentum[0] / after.mass, 1.0, slack);
        scene_expect_near(after.momentum[1] / after.mass, f.v, slack);
        scene_expect_near(f.v, 2.0 - 9.81 * 0.5, 1e-6);
        scene_expect_near(after.momentum[2] / after.mass, -0.5, slack);
        scene_expect_near(after.center[0] - before.center[0], 0.5, 0.5 * slack);
        scene_expect_near(after.center[1], f.y, 0.5 * slack);
        // Parabola: off by half a substep's share of the speed at most.
        double parabola = before.center[1] + 2.0 * 0.5 - 0.5 * 9.81 * 0.25;
        scene_expect_near(after.center[1], parabola, 0.6 * 9.81 * 0.5 * (double)sim->def.dt_max);
        for (int k = 0; k < 6; k++)
            scene_expect_near(after_shape[k], shape[k], 1e-4 * shape[0]);
        for (size_t p = 0; p < sim->particles.count; p++)
            for (int k = 0; k < 9; k++)
                scene_expect_near(scene_value(sim, FIRN_F + k, p), k % 4 == 0 ? 1.0 : 0.0, 1e-4);
        firn_sim_destroy(sim);
    }
}

static void flight_of_a_spinning_box_keeps_its_momenta(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        def.gravity = nowhere;
        def.tolerance = 1e-6f;
        firn_sim *sim = scene_create(&def);
        firn_source_def box = firn_source_def_box(nowhere, firn_vec(0.05f, 0.03f, 0.04f));
        box.velocity = firn_vec(1.0f, -2.0f, 0.5f);
        box.angular_velocity = firn_vec(3.0f, 5.0f, -10.0f);
        scene_add(sim, &box);
        firn_error error;
        scene_expect_ok(firn_sim_sort(sim, &error), &error);
        scene_sums before = scene_sums_of(sim);
        scene_step(sim, 0.05);
        scene_sums after = scene_sums_of(sim);
        assert_true(after.mass == before.mass);
        for (int k = 0; k < 3; k++) {
            scene_expect_near(after.momentum[k], before.momentum[k], 2e-5 * before.mass * 2.3);
            // The stress of the implicit step is linear in the velocities, and thus not quite
            // symmetric; FLIP makes no promise.
            double allowed = firn_sim_is_implicit(sim) ? 0.05 : 1e-4;
            if (firn_sim_is_apic(sim))
                scene_expect_near(after.angular[k], before.angular[k],
                                  allowed * fabs(before.angular[k]));
        }
        firn_sim_destroy(sim);
    }
}

// Energy that a block of random velocities loses to the blend in a fixed time.
static double energy_left(float dt)
{
    firn_sim_def def = scene_combination(2);
    def.gravity = nowhere;
    def.dt_min = def.dt_max = dt;
    firn_sim *sim = falling_box(def, nowhere);
    uint64_t seed = 3;
    for (size_t p = 0; p < sim->particles.count; p++) {
        // Without stress only the blend changes velocities.
        firn_channel_of(&sim->particles, FIRN_STIFFNESS)[p] = 1e-6f;
        for (int k = 0; k < 3; k++)
            firn_channel_of(&sim->particles, FIRN_V + k)[p] = (float)ref_random(&seed, -0.5, 0.5);
    }
    firn_error error;
    scene_expect_ok(firn_sim_sort(sim, &error), &error);
    double before = scene_sums_of(sim).kinetic;
    scene_step(sim, 4e-3);
    double after = scene_sums_of(sim).kinetic;
    firn_sim_destroy(sim);
    return after / before;
}

static void flip_damping_does_not_depend_on_the_substep(void **state)
{
    (void)state;
    double coarse = energy_left(4e-4f), fine = energy_left(1e-4f);
    assert_true(coarse > 0.3 && coarse < 0.8);
    scene_expect_near(coarse, fine, 0.03 * fine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_hit_exactly),
        cmocka_unit_test(substeps_stay_below_every_bound),
        cmocka_unit_test(packed_snow_takes_shorter_explicit_substeps),
        cmocka_unit_test(shortest_substep_overrides_the_bounds),
        cmocka_unit_test(cancelled_call_leaves_the_last_finished_substep),
        cmocka_unit_test(state_after_a_cancel_is_the_state_that_the_callback_saw),
        cmocka_unit_test(diverged_call_leaves_the_state_it_started_from),
        cmocka_unit_test(retry_gives_what_a_smaller_step_gives),
        cmocka_unit_test(retry_undoes_emission),
        cmocka_unit_test(retry_brings_back_blocks_that_have_gone),
        cmocka_unit_test(without_retries_the_last_sane_substep_stays),
        cmocka_unit_test(number_that_is_none_is_caught),
        cmocka_unit_test(particle_at_no_place_does_no_harm),
        cmocka_unit_test(too_fast_snow_is_reported),
        cmocka_unit_test(simulations_do_not_know_each_other),
        cmocka_unit_test(empty_simulation_runs_until_snow_comes),
        cmocka_unit_test(seconds_that_make_no_sense_are_refused),
        cmocka_unit_test(particle_just_beyond_a_cell_is_no_trouble),
        cmocka_unit_test(free_fall_follows_the_closed_form_and_keeps_the_shape),
        cmocka_unit_test(flight_of_a_spinning_box_keeps_its_momenta),
        cmocka_unit_test(flip_damping_does_not_depend_on_the_substep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
