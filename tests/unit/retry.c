/// Calls that diverge: what is tried again, what is reported, what is left behind.
#include "falling_box.h"

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

// Each call goes back to its own beginning, not to that of an earlier one.
static void retry_of_a_later_call_starts_from_its_own_state(void **state)
{
    (void)state;
    firn_sim *sim = landing_box(exploding(20)), *again = landing_box(exploding(20));
    scene_step(sim, 0.04);
    void *bytes = NULL;
    size_t size = 0;
    firn_error error;
    scene_expect_ok(firn_sim_save_memory(sim, &bytes, &size, &error), &error);
    scene_expect_ok(firn_sim_load_memory(again, bytes, size, &error), &error);
    firn_free(bytes);
    scene_step(sim, 0.04);
    scene_step(again, 0.04);
    assert_true(firn_sim_stats(sim).dt < 2e-3);
    assert_true(firn_sim_hash(sim) == firn_sim_hash(again));
    firn_sim_destroy(again);
    firn_sim_destroy(sim);
}

// What would wake sleeping snow is still to come when a call is undone.
static void retry_remembers_what_wakes_snow(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.sleep_speed = 0.01f;
    def.sleep_time = 0.02f;
    def.retries = 1;
    firn_sim *sim = scene_create(&def);
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), -0.05f);
    floor.active_to = 1.01f;
    assert_int_equal(firn_sim_add_collider(sim, &floor, NULL, NULL), FIRN_OK);
    scene_add_box(sim, nowhere, 0.05f, nowhere);
    scene_step(sim, 1.0);
    assert_int_equal(firn_sim_stats(sim).asleep, sim->particles.count);
    uint64_t acting = sim->rest.acting_colliders;
    def.gravity.y = 60.0f;
    def.speed_limit = 1.0f;
    assert_int_equal(firn_sim_change(sim, &def, NULL), FIRN_OK);
    assert_int_equal(firn_sim_step(sim, 0.1, NULL), FIRN_ERR_DIVERGED);
    assert_true(sim->rest.disturbed && sim->rest.acting_colliders == acting);
    def.speed_limit = 100.0f;
    assert_int_equal(firn_sim_change(sim, &def, NULL), FIRN_OK);
    scene_step(sim, 0.005);
    assert_int_equal(firn_sim_stats(sim).asleep, 0);
    firn_sim_destroy(sim);
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

// More new particles than the list of their blocks is kept for.
static void retry_brings_back_particles_that_wait_for_their_block(void **state)
{
    (void)state;
    firn_sim_def def = exploding(1);
    def.speed_limit = 3.0f;
    firn_sim *sim = scene_create(&def);
    scene_add_box(sim, nowhere, 0.27f, firn_vec(0.0f, -4.0f, 0.0f));
    assert_true(sim->particles.count * sizeof(uint64_t) > 1 << 20);
    uint64_t before = firn_sim_hash(sim);
    assert_int_equal(firn_sim_step(sim, 0.01, NULL), FIRN_ERR_DIVERGED);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diverged_call_leaves_the_state_it_started_from),
        cmocka_unit_test(retry_gives_what_a_smaller_step_gives),
        cmocka_unit_test(retry_of_a_later_call_starts_from_its_own_state),
        cmocka_unit_test(retry_remembers_what_wakes_snow),
        cmocka_unit_test(retry_undoes_emission),
        cmocka_unit_test(retry_brings_back_blocks_that_have_gone),
        cmocka_unit_test(retry_brings_back_particles_that_wait_for_their_block),
        cmocka_unit_test(without_retries_the_last_sane_substep_stays),
        cmocka_unit_test(number_that_is_none_is_caught),
        cmocka_unit_test(particle_at_no_place_does_no_harm),
        cmocka_unit_test(too_fast_snow_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
