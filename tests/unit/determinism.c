/// Same input, same bits: whatever the threads, the build of the kernels or the way there.
#define _POSIX_C_SOURCE 200809L
#include "effort.h"
#include "scene.h"

#include <stdlib.h>

// A collider that moves, a stream and a box in several blocks.
static firn_sim *make_scene(const firn_sim_def *def)
{
    firn_sim *sim = scene_create(def);
    scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.09f, firn_vec(0.5f, -3.0f, 0.2f));
    firn_source_def stream = firn_source_def_sphere(firn_vec(0.15f, 0.05f, 0.0f), 0.04f);
    stream.velocity = firn_vec(-2.0f, -2.0f, 0.0f);
    stream.end = 1.0;
    stream.stiffness_noise = 0.5f;
    stream.chunk_size = 0.04f;
    scene_add(sim, &stream);
    scene_add_floor(sim, -0.1f);
    firn_collider_def ball = firn_collider_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 0.05f);
    ball.friction = 0.3f;
    firn_collider_id id;
    firn_error error;
    scene_expect_ok(firn_sim_add_collider(sim, &ball, &id, &error), &error);
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {1.0, firn_transform_identity()}};
    keys[0].pose.translation = firn_vec(-0.15f, 0.0f, 0.0f);
    keys[1].pose.translation = firn_vec(1.0f, 0.0f, 0.0f);
    scene_expect_ok(firn_sim_move_collider(sim, id, keys, 2, &error), &error);
    return sim;
}

static uint64_t hash_of_run(firn_sim_def def)
{
    firn_sim *sim = make_scene(&def);
    scene_step(sim, 0.004);
    scene_step(sim, 0.003);
    uint64_t hash = firn_sim_hash(sim);
    firn_sim_destroy(sim);
    return hash;
}

static void result_does_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    const int threads[] = {1, 3, 2, 8}, counts = effort(FIRN_COUNT(threads), 2);
    uint64_t seen[8];
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        for (int t = 0; t < counts; t++) {
            def.thread_count = threads[t];
            uint64_t hash = hash_of_run(def);
            if (t == 0)
                seen[i] = hash;
            assert_true(hash == seen[i]);
        }
        for (int k = 0; k < i; k++)
            assert_true(seen[k] != seen[i]);
    }
}

static void every_instruction_set_repeats_its_bits(void **state)
{
    (void)state;
    for (int k = 0; firn_kernels_at(k) != NULL; k++) {
        if (!firn_kernels_at(k)->supported())
            continue;
        uint64_t seen = 0;
        for (int threads = 1; threads <= 2; threads++) {
            firn_sim_def def = scene_combination(7);
            def.thread_count = threads;
            firn_sim *sim = make_scene(&def);
            sim->kernels = firn_kernels_at(k);
            assert_string_equal(firn_sim_isa(sim), firn_kernels_at(k)->isa);
            scene_step(sim, 0.004);
            if (threads == 1)
                seen = firn_sim_hash(sim);
            assert_true(firn_sim_hash(sim) == seen);
            firn_sim_destroy(sim);
        }
    }
}

// Lanes and fused operations round differently, which must stay a matter of digits.
static void instruction_sets_agree(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i += effort(1, 7)) {
        scene_sums first = {.mass = 0.0};
        for (int k = 0; firn_kernels_at(k) != NULL; k++) {
            if (!firn_kernels_at(k)->supported())
                continue;
            firn_sim_def def = scene_combination(i);
            firn_sim *sim = make_scene(&def);
            sim->kernels = firn_kernels_at(k);
            scene_step(sim, 0.004);
            scene_sums sums = scene_sums_of(sim);
            if (k == 0)
                first = sums;
            assert_true(sums.mass == first.mass);
            for (int axis = 0; axis < 3; axis++) {
                scene_expect_near(sums.center[axis], first.center[axis], 1e-6);
                scene_expect_near(sums.momentum[axis], first.momentum[axis], 1e-3 * sums.mass);
            }
            firn_sim_destroy(sim);
        }
    }
}

// What a farm of many processors has in common; on those without AVX2 there is a sentence instead.
static void portable_is_avx2_and_says_so_where_it_cannot_be(void **state)
{
    (void)state;
    firn_sim_def def = firn_sim_def_default();
    def.isa = FIRN_ISA_PORTABLE;
    firn_sim *sim = NULL;
    firn_error error;
    setenv("FIRN_ISA", "scalar", 1);
    assert_int_equal(firn_sim_create(&def, &sim, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "portable"));
    setenv("FIRN_ISA", "avx2", 1);
    def.isa = FIRN_ISA_NATIVE;
    bool has_avx2 = firn_sim_create(&def, &sim, NULL) == FIRN_OK;
    firn_sim_destroy(sim);
    uint64_t expected = has_avx2 ? hash_of_run(def) : 0;
    unsetenv("FIRN_ISA");
    def.isa = FIRN_ISA_PORTABLE;
    firn_result result = firn_sim_create(&def, &sim, &error);
    assert_int_equal(result, has_avx2 ? FIRN_OK : FIRN_ERR_ARGUMENT);
    if (has_avx2) {
        assert_string_equal(firn_sim_isa(sim), "avx2");
        assert_true(hash_of_run(def) == expected);
    }
    firn_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(portable_is_avx2_and_says_so_where_it_cannot_be),
        cmocka_unit_test(result_does_not_depend_on_the_number_of_threads),
        cmocka_unit_test(every_instruction_set_repeats_its_bits),
        cmocka_unit_test(instruction_sets_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
