#include "space/sdf.h"

#include "level_set_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static firn_budget budget;

static firn_sdf build(const firn_level_set *set)
{
    firn_sdf sdf;
    firn_error error = {FIRN_OK, ""};
    if (firn_sdf_build(&budget, &sdf, set, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return sdf;
}

static void release(firn_sdf *sdf)
{
    firn_sdf_free(&budget, sdf);
    assert_int_equal(budget.used, 0);
}

static float slope(firn_vec3 p, const void *user)
{
    (void)user;
    return 0.3f * p.x - 0.5f * p.y + 0.7f * p.z + 0.1f;
}

static void linear_field_is_exact_with_its_gradient(void **state)
{
    (void)state;
    fixture_set f = fixture_make(slope, NULL, fixture_map(0.1f), 100.0f, 2);
    firn_sdf sdf = build(&f.set);
    uint32_t random = 1u;
    for (int i = 0; i < 5000; i++) {
        firn_vec3 voxel = fixture_random_point(&random, 14.9f);
        firn_distance d = firn_sdf_sample(&sdf, voxel);
        assert_float_equal(0.1f * d.value, slope(firn_scale(0.1f, voxel), NULL), 2e-6f);
        assert_float_equal(d.gradient.x, 0.3f, 2e-5f);
        assert_float_equal(d.gradient.y, -0.5f, 2e-5f);
        assert_float_equal(d.gradient.z, 0.7f, 2e-5f);
    }
    release(&sdf);
    fixture_free(&f);
}

static void gradient_is_the_derivative_of_the_value(void **state)
{
    (void)state;
    fixture_ball ball = {{0.13f, -0.07f, 0.02f}, 0.5f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.1f), 0.3f, 2);
    firn_sdf sdf = build(&f.set);
    uint32_t random = 2u;
    for (int i = 0; i < 3000; i++) {
        firn_vec3 p = fixture_random_point(&random, 9.0f);
        // Stay within one voxel cube, where the interpolation is smooth.
        p = firn_vec(floorf(p.x) + 0.1f + 0.8f * (p.x - floorf(p.x)),
                     floorf(p.y) + 0.1f + 0.8f * (p.y - floorf(p.y)),
                     floorf(p.z) + 0.1f + 0.8f * (p.z - floorf(p.z)));
        const float h = 0.05f;
        firn_vec3 steps[3] = {{h, 0.0f, 0.0f}, {0.0f, h, 0.0f}, {0.0f, 0.0f, h}};
        firn_distance d = firn_sdf_sample(&sdf, p);
        const float gradient[3] = {d.gradient.x, d.gradient.y, d.gradient.z};
        for (int k = 0; k < 3; k++) {
            float difference = firn_sdf_sample(&sdf, firn_add(p, steps[k])).value -
                               firn_sdf_sample(&sdf, firn_sub(p, steps[k])).value;
            assert_float_equal(gradient[k], difference / (2.0f * h), 2e-4f);
        }
    }
    release(&sdf);
    fixture_free(&f);
}

static void sphere_is_within_a_fraction_of_a_voxel(void **state)
{
    (void)state;
    fixture_ball ball = {{0.03f, 0.01f, -0.02f}, 1.0f};
    firn_transform map = fixture_map(0.05f);
    map.rotation = firn_quat_turn(firn_vec(1.0f, 2.0f, -1.0f), 0.7f);
    map.translation = firn_vec(0.01f, 0.02f, 0.03f);
    fixture_set f = fixture_make(fixture_ball_distance, &ball, map, 0.15f, 5);
    assert_true(f.set.tile_count > 0);
    firn_sdf sdf = build(&f.set);
    uint32_t random = 3u;
    for (int i = 0; i < 20000; i++) {
        firn_vec3 p = fixture_random_point(&random, 1.3f);
        float truth = fixture_ball_distance(p, &ball);
        float value = 0.05f * firn_sdf_sample(&sdf, firn_transform_point_inverse(map, p)).value;
        if (fabsf(truth) < 0.09f)
            assert_float_equal(value, truth, 0.03f * 0.05f);
        else // beyond the band at least the side is right
            assert_true(value * truth > 0.0f);
    }
    release(&sdf);
    fixture_free(&f);
}

static void tiles_of_every_edge_are_found(void **state)
{
    (void)state;
    firn_tile tiles[4] = {{{-8, 0, 0}, 8, -0.1f},
                          {{128, -128, 0}, 128, -0.2f},
                          {{-8192, 4096, -4096}, 4096, -0.3f},
                          {{4096, 0, 0}, 4096, 0.9f}};
    firn_level_set set = {
        .map = firn_transform_identity(), .background = 0.9f, .tile_count = 4, .tiles = tiles};
    firn_sdf sdf = build(&set);
    for (int i = 0; i < 4; i++) {
        float e = (float)tiles[i].edge;
        firn_vec3 o = {(float)tiles[i].origin.x, (float)tiles[i].origin.y,
                       (float)tiles[i].origin.z};
        const float spots[3] = {0.0f, 0.4f * e, e - 1.0f};
        for (int k = 0; k < 27; k++) {
            firn_vec3 p = {o.x + spots[k % 3], o.y + spots[k / 3 % 3], o.z + spots[k / 9]};
            firn_distance d = firn_sdf_sample(&sdf, p);
            assert_float_equal(d.value, tiles[i].value, 1e-6f);
            if (k == 13)
                assert_float_equal(firn_length(d.gradient), 0.0f, 1e-6f);
        }
        firn_vec3 beside = {o.x - 1.0f, o.y + 1.0f, o.z + 1.0f};
        assert_float_equal(firn_sdf_sample(&sdf, beside).value, 0.9f, 1e-6f);
    }
    release(&sdf);
}

static void leaf_wins_over_a_larger_tile(void **state)
{
    (void)state;
    firn_tile tile = {{0, 0, 0}, 128, -0.3f};
    firn_coord origin = {16, 24, 32};
    float values[FIRN_LEAF_VOXELS];
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++)
        values[i] = 0.001f * (float)i;
    firn_level_set set = {firn_transform_identity(), 0.3f, 1, &origin, values, 1, &tile};
    firn_sdf sdf = build(&set);
    assert_float_equal(firn_sdf_sample(&sdf, firn_vec(17.0f, 26.0f, 35.0f)).value,
                       0.001f * (64.0f + 16.0f + 3.0f), 1e-6f);
    assert_float_equal(firn_sdf_sample(&sdf, firn_vec(15.0f, 26.0f, 35.0f)).value, -0.3f, 1e-6f);
    release(&sdf);
}

static void far_and_odd_points_are_background(void **state)
{
    (void)state;
    fixture_ball ball = {{0.0f, 0.0f, 0.0f}, 0.5f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.1f), 0.3f, 2);
    firn_sdf sdf = build(&f.set);
    const float far[6] = {1e3f, -1e3f, 1e30f, -INFINITY, INFINITY, NAN};
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 3; k++) {
            firn_vec3 p = {k == 0 ? far[i] : 0.0f, k == 1 ? far[i] : 0.0f, k == 2 ? far[i] : 0.0f};
            assert_float_equal(firn_sdf_sample(&sdf, p).value, 3.0f, 1e-5f);
        }
    release(&sdf);
    fixture_free(&f);
}

static void empty_set_is_nowhere(void **state)
{
    (void)state;
    firn_level_set set = {.map = firn_transform_identity(), .background = 1.0f};
    firn_sdf sdf = build(&set);
    firn_vec3 low = {-1e9f, -1e9f, -1e9f}, high = {1e9f, 1e9f, 1e9f};
    assert_float_equal(firn_sdf_sample(&sdf, firn_vec(0.0f, 0.0f, 0.0f)).value, 1.0f, 0.0f);
    assert_false(firn_sdf_may_reach(&sdf, low, high, 0.0f));
    release(&sdf);
}

static void box_query_never_misses_and_tells_far_from_near(void **state)
{
    (void)state;
    fixture_ball ball = {{0.05f, -0.1f, 0.2f}, 1.1f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.04f), 0.12f, 5);
    firn_sdf sdf = build(&f.set);
    uint32_t random = 6u;
    int far = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        firn_vec3 center = fixture_random_point(&random, 39.0f);
        float share = fixture_random(&random);
        float r = 10.0f * share * share * share, limit = 0.1f * fixture_random(&random) - 0.05f;
        firn_vec3 half = {r, r, r};
        bool reached =
            firn_sdf_may_reach(&sdf, firn_sub(center, half), firn_add(center, half), limit);
        for (int k = 0; k < 8; k++) {
            firn_vec3 p = firn_add(center, fixture_random_point(&random, r));
            if (0.04f * firn_sdf_sample(&sdf, p).value <= limit)
                assert_true(reached);
        }
        if (fixture_ball_distance(firn_scale(0.04f, center), &ball) > 0.04f * (1.8f * r + 16.0f)) {
            far++;
            refused += !reached;
        }
    }
    assert_true(far > 500);
    assert_int_equal(refused, far);
    firn_vec3 low = {-1e30f, -1e30f, -1e30f}, high = {1e30f, 1e30f, 1e30f};
    assert_true(firn_sdf_may_reach(&sdf, low, high, 0.0f));
    release(&sdf);
    fixture_free(&f);
}

static void box_query_sees_the_voxels_just_beyond(void **state)
{
    (void)state;
    firn_tile tile = {{8, 8, 8}, 8, -1.0f};
    firn_level_set set = {
        .map = firn_transform_identity(), .background = 1.0f, .tile_count = 1, .tiles = &tile};
    firn_sdf sdf = build(&set);
    const float ends[2] = {7.9f, 15.1f};
    for (int k = 0; k < 8; k++) {
        firn_vec3 p = {ends[k & 1], ends[k >> 1 & 1], ends[k >> 2]};
        assert_true(firn_sdf_sample(&sdf, p).value <= 0.0f);
        assert_true(firn_sdf_may_reach(&sdf, p, p, 0.0f));
    }
    release(&sdf);
}

static void refuse(const firn_level_set *set, const char *word)
{
    firn_sdf sdf;
    firn_error error = {FIRN_OK, ""};
    assert_int_equal(firn_sdf_build(&budget, &sdf, set, &error), FIRN_ERR_ARGUMENT);
    if (strstr(error.message, word) == NULL)
        fail_msg("'%s' does not speak of %s", error.message, word);
    assert_int_equal(budget.used, 0);
}

static void bad_level_sets_are_refused(void **state)
{
    (void)state;
    static float values[2 * FIRN_LEAF_VOXELS];
    firn_coord origins[2] = {{0, 0, 0}, {8, 0, 0}};
    firn_tile tile = {{128, 0, 0}, 128, -1.0f};
    const firn_level_set good = {firn_transform_identity(), 1.0f, 2, origins, values, 1, &tile};
    firn_sdf sdf = build(&good);
    release(&sdf);

    firn_level_set bad = good;
    bad.background = 0.0f;
    refuse(&bad, "background");
    bad.background = NAN;
    refuse(&bad, "background");
    bad = good;
    bad.map.scale = -1.0f;
    refuse(&bad, "scale");
    bad.map.scale = INFINITY;
    refuse(&bad, "scale");
    bad = good;
    bad.map.rotation.w = 0.5f;
    refuse(&bad, "quaternion");
    bad = good;
    bad.map.translation.y = NAN;
    refuse(&bad, "translation");
    bad = good;
    bad.values = NULL;
    refuse(&bad, "arrays");
    bad = good;
    bad.tiles = NULL;
    refuse(&bad, "array");
    bad = good;
    bad.leaf_count = SIZE_MAX;
    refuse(&bad, "large");
    origins[1] = (firn_coord){4, 0, 0};
    refuse(&good, "multiple");
    origins[1] = (firn_coord){0, 0, 0};
    refuse(&good, "two leaves");
    origins[1] = (firn_coord){INT32_MIN, 0, 0};
    refuse(&good, "away");
    origins[1] = (firn_coord){8, 0, 0};
    tile.edge = 64;
    refuse(&good, "edge 64");
    tile.edge = 4096;
    refuse(&good, "multiple");
    tile = (firn_tile){{128, 0, 0}, 128, NAN};
    refuse(&good, "finite");
    tile.value = -1.0f;
    values[700] = INFINITY;
    refuse(&good, "finite");
    values[700] = 0.0f;
}

static void memory_limit_is_kept(void **state)
{
    (void)state;
    fixture_ball ball = {{0.0f, 0.0f, 0.0f}, 0.5f};
    fixture_set f = fixture_make(fixture_ball_distance, &ball, fixture_map(0.1f), 0.3f, 2);
    firn_budget tight = {.limit = 100};
    firn_sdf sdf;
    assert_int_equal(firn_sdf_build(&tight, &sdf, &f.set, NULL), FIRN_ERR_MEMORY);
    assert_int_equal(tight.used, 0);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_field_is_exact_with_its_gradient),
        cmocka_unit_test(gradient_is_the_derivative_of_the_value),
        cmocka_unit_test(sphere_is_within_a_fraction_of_a_voxel),
        cmocka_unit_test(tiles_of_every_edge_are_found),
        cmocka_unit_test(leaf_wins_over_a_larger_tile),
        cmocka_unit_test(far_and_odd_points_are_background),
        cmocka_unit_test(empty_set_is_nowhere),
        cmocka_unit_test(box_query_sees_the_voxels_just_beyond),
        cmocka_unit_test(box_query_never_misses_and_tells_far_from_near),
        cmocka_unit_test(bad_level_sets_are_refused),
        cmocka_unit_test(memory_limit_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
