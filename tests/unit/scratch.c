/// Scratch memory has one holder at a time, and says so.
#include "base/scratch.h"
#include "scene.h"

static int failed;
static void remember(const char *condition, const char *file, int line)
{
    (void)condition, (void)file, (void)line;
    failed++;
}

static void memory_goes_from_holder_to_holder(void **state)
{
    (void)state;
    firn_budget budget = {0};
    firn_scratch scratch = {.holder = NULL};
    assert_int_equal(firn_scratch_reserve(&budget, &scratch, 100, sizeof(float), NULL), FIRN_OK);
    float *cache = firn_scratch_lease(&scratch, "solve", 100, sizeof(float));
    assert_ptr_equal(firn_scratch_lease(&scratch, "solve", 50, sizeof(float)), cache);
    firn_scratch_release(&scratch, "solve");
    uint32_t *order = firn_scratch_lease(&scratch, "sort", 100, sizeof(uint32_t));
    assert_ptr_equal(order, cache); // no byte more
    assert_int_equal(budget.used, scratch.memory.bytes);
    firn_scratch_release(&scratch, "sort");
    firn_scratch_free(&budget, &scratch);
    assert_int_equal(budget.used, 0);
}

static void two_holders_at_once_assert(void **state)
{
    (void)state;
    firn_budget budget = {0};
    firn_scratch scratch = {.holder = NULL};
    firn_set_assert_handler(remember);
    failed = 0;
    assert_int_equal(firn_scratch_reserve(&budget, &scratch, 100, 4, NULL), FIRN_OK);
    firn_scratch_lease(&scratch, "sort", 100, 4);
    assert_int_equal(failed, 0);
    firn_scratch_lease(&scratch, "solve", 100, 4);
    assert_int_equal(failed, 1);
    firn_scratch_release(&scratch, "sort");
    assert_int_equal(failed, 2);
    // Growing what somebody holds, and more than has been claimed, too.
    firn_scratch_lease(&scratch, "sort", 100, 4);
    assert_int_equal(firn_scratch_reserve(&budget, &scratch, 100, 4, NULL), FIRN_OK);
    assert_int_equal(failed, 3);
    firn_scratch_lease(&scratch, "sort", 1 << 20, 4);
    assert_int_equal(failed, 4);
    firn_set_assert_handler(NULL);
    firn_scratch_free(&budget, &scratch);
}

static void spare_slot_has_one_holder_too(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    firn_sim *sim = scene_create(&def);
    scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.03f, firn_vec(0.0f, 0.0f, 0.0f));
    scene_step(sim, 1e-3);
    assert_null(sim->particles.spare_holder);
    firn_set_assert_handler(remember);
    failed = 0;
    firn_particles_lease_spare(&sim->particles, "solve");
    firn_particles_lease_spare(&sim->particles, "solve");
    assert_int_equal(failed, 0);
    assert_int_equal(firn_particles_reserve(&sim->particles, 1, NULL), FIRN_OK);
    assert_int_equal(failed, 1);
    firn_particles_release_spare(&sim->particles, "solve");
    firn_particles_release_spare(&sim->particles, "solve");
    assert_int_equal(failed, 2);
    firn_set_assert_handler(NULL);
    firn_sim_destroy(sim);
}

// Whatever a simulation does, it holds nothing between two calls, and a change of the integrator
// lets fields take over the memory of others.
static void nothing_is_held_between_two_steps(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        firn_sim *sim = scene_create(&def);
        scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.03f, firn_vec(0.0f, -1.0f, 0.0f));
        for (int step = 0; step < 3; step++) {
            scene_step(sim, 2e-3);
            for (int w = 0; w < FIRN_WORD_COUNT; w++)
                assert_null(sim->grid.words[w].holder);
            assert_null(sim->particles.spare_holder);
            for (int f = 0; f < FIRN_NODE_FIELD_COUNT; f++)
                assert_true(firn_grid_has(&sim->grid, (firn_node_field)f) ==
                            (sim->grid.field[f].data != NULL));
        }
        const uint32_t sets[] = {FIRN_FIELDS_APIC, FIRN_FIELDS_IMPLICIT, FIRN_FIELDS_FLIP};
        size_t used = sim->budget.used;
        for (size_t k = 0; k < FIRN_COUNT(sets); k++) {
            firn_grid_use(&sim->grid, sets[k]);
            for (int f = 0; f < FIRN_NODE_FIELD_COUNT; f++)
                for (int g = 0; g < f; g++)
                    assert_true(sim->grid.field[f].data == NULL ||
                                sim->grid.field[f].data != sim->grid.field[g].data);
            assert_int_equal(sim->budget.used, used);
        }
        scene_step(sim, 2e-3);
        firn_sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_goes_from_holder_to_holder),
        cmocka_unit_test(two_holders_at_once_assert),
        cmocka_unit_test(spare_slot_has_one_holder_too),
        cmocka_unit_test(nothing_is_held_between_two_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
