/// One simulation on several ranks has the bits of one: particles, blocks, statistics and forces.
#include "rank_cast.h"

#include "firn/sim_bodies.h"

// Kernel and transfer of the default on all numbers of ranks, the others on five.
static void crash_with(int integrator, double seconds)
{
    for (int combination = 4 * integrator; combination < 4 * integrator + 4; combination++) {
        const shot_def crash = {.name = integrator ? "implicit crash" : "explicit crash",
                                .def = scene_combination(combination),
                                .fill = fill_crash,
                                .calls = 2,
                                .seconds = seconds};
        if (combination % 4 == 0)
            expect_bits_of_one_on_all(&crash);
        else
            expect_bits_of_one_on(&crash, 5);
    }
}

static void explicit_steps_have_the_bits_of_one_rank(void **state)
{
    (void)state;
    crash_with(0, 0.01);
}

static void implicit_steps_have_the_bits_of_one_rank(void **state)
{
    (void)state;
    crash_with(1, 0.015);
}

static void chosen_integrator_is_that_of_one_rank(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.integrator = FIRN_INTEGRATOR_AUTO;
    const shot_def crash = {
        .name = "auto crash", .def = def, .fill = fill_crash, .calls = 4, .seconds = 0.005};
    expect_bits_of_one_on_all(&crash);
}

// Each rank goes on from what it has saved, and nobody knows any more who owns what.
static firn_result reload(firn_sim *sim, int call, firn_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    if (call == 0)
        return FIRN_OK;
    firn_result result = firn_sim_save_memory(sim, &bytes, &size, error);
    if (result == FIRN_OK)
        result = firn_sim_load_memory(sim, bytes, size, error);
    firn_free(bytes);
    if (firn_owners_shared(&sim->owners))
        memset(sim->owners.cuts.data, 0xff, sim->owners.cuts.bytes);
    return result;
}

static void ranks_go_on_from_their_checkpoints(void **state)
{
    (void)state;
    const shot_def crash = {.name = "reloaded crash",
                            .def = scene_combination(0),
                            .fill = fill_crash,
                            .change = reload,
                            .calls = 3,
                            .seconds = 0.004};
    expect_bits_of_one_on(&crash, 5);
}

// A crash with a heavy ball and a light plank that touch snow of several ranks, and each other.
static firn_result fill_bodies(firn_sim *sim, firn_error *error)
{
    FIRN_TRY(fill_crash(sim, error));
    firn_body_def body = firn_body_def_default();
    body.shape = firn_collider_def_sphere(firn_vec(0.0f, 0.05f, 0.0f), 0.05f);
    body.density = 2000.0f;
    body.velocity = firn_vec(1.0f, -1.0f, 0.0f);
    FIRN_TRY(firn_sim_add_body(sim, &body, NULL, error));
    body.shape = firn_collider_def_box(firn_vec(0.0f, 0.11f, 0.0f), firn_vec(0.12f, 0.01f, 0.04f));
    body.density = 300.0f;
    return firn_sim_add_body(sim, &body, NULL, error);
}

static void bodies_have_the_bits_of_one_rank(void **state)
{
    (void)state;
    for (int integrator = 0; integrator < 2; integrator++) {
        const shot_def crash = {.name = "crash with bodies",
                                .def = scene_combination(4 * integrator),
                                .fill = fill_bodies,
                                .change = reload,
                                .calls = 3,
                                .seconds = 0.004};
        expect_bits_of_one_on(&crash, 5);
    }
}

// Intervals that stay: some ranks own nothing, and one owns places where snow comes later.
static void rank_may_own_nothing(void **state)
{
    (void)state;
    const uint64_t cuts[] = {
        firn_block_key((firn_coord){-90, 0, 0}), firn_block_key((firn_coord){-1, 0, -1}),
        firn_block_key((firn_coord){0, 1, 0}),   firn_block_key((firn_coord){0, 1, 0}),
        firn_block_key((firn_coord){1, 0, 0}),   firn_block_key((firn_coord){9, 0, 0})};
    for (int combination = 0; combination < 8; combination += 7) {
        shot_def crash = {.name = "fixed intervals",
                          .def = scene_combination(combination),
                          .fill = fill_crash,
                          .calls = 1,
                          .seconds = 0.01,
                          .cuts = cuts};
        crash.def.thread_count = 2;
        expect_bits_of_one_on(&crash, 7);
    }
}

// A heap at rest, and a box that falls beside it later and wakes it.
static firn_result fill_heap(firn_sim *sim, firn_error *error)
{
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    FIRN_TRY(firn_sim_add_collider(sim, &floor, NULL, error));
    firn_source_def heap =
        firn_source_def_box(firn_vec(0.0f, 0.06f, 0.0f), firn_vec(0.25f, 0.06f, 0.08f));
    thin_out(&heap);
    FIRN_TRY(firn_sim_add_source(sim, &heap, NULL, error));
    firn_source_def box =
        firn_source_def_box(firn_vec(0.15f, 0.2f, 0.0f), firn_vec(0.04f, 0.04f, 0.04f));
    box.start = 0.055;
    thin_out(&box);
    box.velocity = firn_vec(0.0f, -2.0f, 0.0f);
    return firn_sim_add_source(sim, &box, NULL, error);
}

// Gravity turns: everything wakes.
static firn_result tilt(firn_sim *sim, int call, firn_error *error)
{
    firn_sim_def def = sim->def;
    if (call == 5)
        def.gravity = firn_vec(3.0f, -9.0f, 0.0f);
    return firn_sim_change(sim, &def, error);
}

static void sleeping_snow_has_the_bits_of_one_rank(void **state)
{
    (void)state;
    for (int integrator = 0; integrator < 2; integrator++) {
        firn_sim_def def = scene_combination(4 * integrator);
        def.sleep_speed = 0.2f;
        def.sleep_time = 0.01f;
        const shot_def heap = {.name = integrator ? "implicit heap" : "heap",
                               .def = def,
                               .fill = fill_heap,
                               .change = tilt,
                               .calls = 6,
                               .seconds = 0.02};
        cast *one = perform(&heap, 1);
        size_t most = 0, least = SIZE_MAX;
        const outcome *o = &one->workers[0].outcome;
        for (int i = 0; i < o->substep_count; i++) {
            most = o->substeps[i].asleep > most ? o->substeps[i].asleep : most;
            if (most > 0)
                least = o->substeps[i].asleep < least ? o->substeps[i].asleep : least;
        }
        assert_true(most > 1000 && least < most);
        dismiss(one);
        expect_bits_of_one_on_all(&heap);
    }
}

// Between two calls some grains are put far away, all in one cell, and some out of the world.
static firn_result carry_off(firn_sim *sim, int call, firn_error *error)
{
    (void)error;
    const uint32_t *id = (const uint32_t *)firn_channel_of(&sim->particles, FIRN_ID);
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    float *u[3];
    for (int axis = 0; axis < 3; axis++)
        u[axis] = firn_channel_of(&sim->particles, FIRN_U + axis);
    for (size_t b = 0; call > 0 && b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++) {
            if (id[p] % 211 == 5)
                u[1][p] += 1e6f;
            if (id[p] % 31 != 3)
                continue;
            u[0][p] = 4.0f * (float)(2 - blocks[b].coord.x) + 0.5f;
            u[1][p] = 4.0f * (float)(8 - blocks[b].coord.y) + 1.5f;
            u[2][p] = 4.0f * (float)(0 - blocks[b].coord.z) + 2.5f;
        }
    return FIRN_OK;
}

static void emitted_and_lost_snow_has_the_bits_of_one_rank(void **state)
{
    (void)state;
    for (int combination = 0; combination < 8; combination += 4) {
        firn_sim_def def = scene_combination(combination);
        def.volume = FIRN_VOLUME_GRID;
        def.domain_lower = firn_vec(-1.0f, -1.0f, -1.0f);
        def.domain_upper = firn_vec(0.25f, 1.0f, 1.0f);
        const shot_def jet = {.name = "jet",
                              .def = def,
                              .fill = fill_jet,
                              .change = carry_off,
                              .calls = 3,
                              .seconds = 0.012};
        expect_bits_of_one_on_all(&jet);
    }
}

// Loose snow in gusts beside packed snow: what each node knows of the snow around it.
static firn_result fill_storm(firn_sim *sim, firn_error *error)
{
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    floor.adhesion = 100.0f;
    FIRN_TRY(firn_sim_add_collider(sim, &floor, NULL, error));
    firn_source_def heap =
        firn_source_def_box(firn_vec(0.0f, 0.06f, 0.0f), firn_vec(0.2f, 0.06f, 0.08f));
    thin_out(&heap);
    FIRN_TRY(firn_sim_add_source(sim, &heap, NULL, error));
    firn_source_def flakes =
        firn_source_def_box(firn_vec(0.05f, 0.25f, 0.0f), firn_vec(0.2f, 0.1f, 0.1f));
    flakes.loose = true;
    flakes.particles_per_cell = 1.0f;
    flakes.velocity = firn_vec(0.0f, -2.0f, 0.0f);
    FIRN_TRY(firn_sim_add_source(sim, &flakes, NULL, error));
    firn_force_def wind = firn_force_def_drag(firn_vec(8.0f, 0.0f, 1.0f), 1.0f);
    wind.gust = 2.0f;
    wind.gust_size = 0.1f;
    return firn_sim_add_force(sim, &wind, NULL, error);
}

static void storms_have_the_bits_of_one_rank(void **state)
{
    (void)state;
    for (int combination = 0; combination < 8; combination += 4) {
        const shot_def storm = {.name = "storm",
                                .def = scene_combination(combination),
                                .fill = fill_storm,
                                .calls = 2,
                                .seconds = 0.012};
        expect_bits_of_one_on_all(&storm);
    }
}

static void retries_are_made_together(void **state)
{
    (void)state;
    for (int retries = 0; retries <= 20; retries += 20) {
        firn_sim_def def = scene_combination(0);
        def.dt_min = def.dt_max = 5e-3f;
        def.retries = retries;
        const shot_def crash = {.name = "retry",
                                .def = def,
                                .fill = fill_crash,
                                .calls = 2,
                                .seconds = 0.04,
                                .fails = retries == 0};
        expect_bits_of_one_on_all(&crash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explicit_steps_have_the_bits_of_one_rank),
        cmocka_unit_test(implicit_steps_have_the_bits_of_one_rank),
        cmocka_unit_test(chosen_integrator_is_that_of_one_rank),
        cmocka_unit_test(ranks_go_on_from_their_checkpoints),
        cmocka_unit_test(bodies_have_the_bits_of_one_rank),
        cmocka_unit_test(rank_may_own_nothing),
        cmocka_unit_test(sleeping_snow_has_the_bits_of_one_rank),
        cmocka_unit_test(emitted_and_lost_snow_has_the_bits_of_one_rank),
        cmocka_unit_test(storms_have_the_bits_of_one_rank),
        cmocka_unit_test(retries_are_made_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
