#include "space/flow.h"

#include "level_set_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static firn_budget budget;

static void flow_is_linear_between_voxels_and_zero_beyond(void **state)
{
    (void)state;
    fixture_flow f = fixture_flow_make(firn_vec(0.0f, 0.0f, 0.0f), fixture_map(0.5f), 1);
    for (size_t i = 0; i < 8u * FIRN_LEAF_VOXELS; i++) {
        firn_vec3 p =
            fixture_point(f.grid.map, f.origins[i / FIRN_LEAF_VOXELS], (int)(i % FIRN_LEAF_VOXELS));
        f.values[i] = firn_vec(p.y + 9.0f, 2.0f * p.z, -p.x);
    }
    firn_flow_grid flow;
    assert_int_equal(firn_flow_build(&budget, &flow, &f.grid, NULL), FIRN_OK);
    uint32_t random = 8u;
    for (int i = 0; i < 2000; i++) {
        firn_vec3 p = fixture_random_point(&random, 3.4f);
        firn_vec3 v = firn_flow_sample(&flow, p);
        assert_float_equal(v.x, p.y + 9.0f, 1e-5f);
        assert_float_equal(v.y, 2.0f * p.z, 1e-5f);
        assert_float_equal(v.z, -p.x, 1e-5f);
        assert_true(firn_length(v) <= flow.max_speed);
    }
    assert_float_equal(firn_length(firn_flow_sample(&flow, firn_vec(5.0f, 0.0f, 0.0f))), 0.0f,
                       0.0f);
    firn_flow_free(&budget, &flow);
    assert_int_equal(budget.used, 0);
    fixture_flow_free(&f);
}

static void bad_velocity_grids_are_refused(void **state)
{
    (void)state;
    fixture_flow f = fixture_flow_make(firn_vec(1.0f, 0.0f, 0.0f), fixture_map(0.1f), 1);
    firn_flow_grid flow;
    firn_velocity_grid bad = f.grid;
    bad.values = NULL;
    assert_int_equal(firn_flow_build(&budget, &flow, &bad, NULL), FIRN_ERR_ARGUMENT);
    bad = f.grid;
    bad.map.scale = 0.0f;
    assert_int_equal(firn_flow_build(&budget, &flow, &bad, NULL), FIRN_ERR_ARGUMENT);
    f.values[1000].z = NAN;
    assert_int_equal(firn_flow_build(&budget, &flow, &f.grid, NULL), FIRN_ERR_ARGUMENT);
    assert_int_equal(budget.used, 0);
    fixture_flow_free(&f);
}

static void velocity_goes_on_beyond_the_leaves(void **state)
{
    (void)state;
    const firn_vec3 known = {1.0f, -2.0f, 3.0f};
    fixture_flow f = fixture_flow_make(known, fixture_map(0.1f), 1);
    firn_flow_grid flow;
    assert_int_equal(firn_flow_build(&budget, &flow, &f.grid, NULL), FIRN_OK);
    assert_int_equal(firn_flow_continue(&budget, &flow, 2.0f, NULL), FIRN_OK);
    uint32_t random = 3u;
    for (int i = 0; i < 2000; i++) {
        // The leaves end at 0.8 m; the last voxel of the continuation blends to nothing.
        firn_vec3 v = firn_flow_sample(&flow, fixture_random_point(&random, 2.7f));
        assert_float_equal(firn_length(firn_sub(v, known)), 0.0f, 1e-5f);
    }
    assert_float_equal(firn_length(firn_flow_sample(&flow, firn_vec(9.0f, 0.0f, 0.0f))), 0.0f,
                       0.0f);
    firn_flow_free(&budget, &flow);
    assert_int_equal(budget.used, 0);
    fixture_flow_free(&f);
}

static void unknown_voxels_of_a_leaf_take_the_mean_of_the_known(void **state)
{
    (void)state;
    const firn_vec3 known = {0.0f, 5.0f, 0.0f};
    fixture_flow f = fixture_flow_make(firn_vec(0.0f, 0.0f, 0.0f), fixture_map(1.0f), 1);
    for (int i = 0; i < 40; i++)
        f.values[7 * FIRN_LEAF_VOXELS + i] = known; // of the leaf at (0, 0, 0)
    firn_flow_grid flow;
    assert_int_equal(firn_flow_build(&budget, &flow, &f.grid, NULL), FIRN_OK);
    assert_float_equal(firn_flow_sample(&flow, firn_vec(6.0f, 6.0f, 6.0f)).y, 5.0f, 1e-5f);
    // A leaf without any velocity is at rest.
    assert_float_equal(firn_flow_sample(&flow, firn_vec(-4.0f, 3.0f, 3.0f)).y, 0.0f, 0.0f);
    firn_flow_free(&budget, &flow);
    fixture_flow_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flow_is_linear_between_voxels_and_zero_beyond),
        cmocka_unit_test(bad_velocity_grids_are_refused),
        cmocka_unit_test(velocity_goes_on_beyond_the_leaves),
        cmocka_unit_test(unknown_voxels_of_a_leaf_take_the_mean_of_the_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
