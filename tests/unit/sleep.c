#include "scene.h"

static void sort(firn_sim *sim)
{
    firn_error error;
    scene_expect_ok(firn_sim_sort(sim, &error), &error);
}

// Three blocks in a row, far enough from each other, with two grains each; a grain of the first
// goes to a place of its own.
static void block_that_loses_snow_is_not_at_rest(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    firn_sim *sim = scene_create(&def);
    const float h = def.cell_size;
    firn_vec3 points[6];
    for (int i = 0; i < 6; i++)
        points[i] = firn_vec(h * (float)(24 * (i / 2) + 2), h * (float)(1 + i % 2), 2.0f * h);
    firn_source_def grains = firn_source_def_points(points, FIRN_COUNT(points));
    scene_add(sim, &grains);
    sort(sim);
    firn_block *blocks = firn_grid_blocks(&sim->grid);
    assert_int_equal(sim->grid.block_count, 3);
    for (int b = 0; b < 3; b++)
        blocks[b].rest = 1.0f + (float)b;
    firn_channel_of(&sim->particles, FIRN_U + 1)[blocks[0].begin] += 4.0f;
    sort(sim);
    blocks = firn_grid_blocks(&sim->grid);
    assert_int_equal(sim->grid.block_count, 4);
    const float rest[4] = {0.0f, 0.0f, 2.0f, 3.0f};
    for (int b = 0; b < 4; b++)
        assert_true(blocks[b].rest == rest[b]);
    firn_sim_destroy(sim);
}

// Two grains in neighboring blocks, each at the low end of its own: the first does not reach the
// block of the second, but the second reaches nodes of the first.
static void block_with_a_loud_neighbor_stays_awake_though_it_does_not_reach_it(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.sleep_speed = 0.1f;
    def.sleep_time = 1.0f;
    firn_sim *sim = scene_create(&def);
    const float h = def.cell_size;
    const firn_vec3 points[2] = {{0.7f * h, 2.0f * h, 2.0f * h}, {4.7f * h, 2.0f * h, 2.0f * h}};
    firn_source_def grains = firn_source_def_points(points, FIRN_COUNT(points));
    scene_add(sim, &grains);
    sort(sim);
    firn_error error;
    scene_expect_ok(firn_sim_reserve(sim, &error), &error);
    firn_block *blocks = firn_grid_blocks(&sim->grid);
    const int ahead = 22, behind = 4; // ways to the next block along x, and to the one before
    assert_int_equal(sim->grid.block_count, 2);
    assert_true(blocks[0].near[ahead] < 0 && blocks[1].near[behind] >= 0);
    firn_transfer_measure(sim);
    blocks[0].rest = def.sleep_time;
    firn_sleep_arrange(sim);
    assert_int_equal(sim->rest.asleep_count, 0);
    blocks[1].rest = def.sleep_time;
    firn_sleep_arrange(sim);
    assert_int_equal(sim->rest.asleep_count, 2);
    firn_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_that_loses_snow_is_not_at_rest),
        cmocka_unit_test(block_with_a_loud_neighbor_stays_awake_though_it_does_not_reach_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
