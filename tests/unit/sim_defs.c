#include "mpm/sim_defs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/def_rows.h"

static void every_field_has_a_row(void **state)
{
    (void)state;
    assert_rows_cover(firn_sim_params(), sizeof(uint32_t), sizeof(firn_sim_def));
    assert_rows_are_sound(firn_sim_params());
}

// Their values: what stands between fields is nobody's.
static void assert_same_settings(const firn_sim_def *a, const firn_sim_def *b)
{
    firn_param_table rows = firn_sim_params();
    for (size_t i = 0; i < rows.count; i++) {
        char one[FIRN_TEXT_SIZE], other[FIRN_TEXT_SIZE];
        firn_param_print(&rows.params[i], a, one, sizeof one);
        firn_param_print(&rows.params[i], b, other, sizeof other);
        assert_string_equal(one, other);
    }
}

static void every_preset_is_valid(void **state)
{
    (void)state;
    firn_sim_def def = firn_sim_def_default();
    assert_int_equal(firn_sim_def_check(&def, NULL), FIRN_OK);
    firn_sim_def preset;
    assert_int_equal(firn_sim_def_preset("default", &preset, NULL), FIRN_OK);
    assert_same_settings(&preset, &def);
    assert_int_equal(firn_sim_def_preset("paper", &preset, NULL), FIRN_OK);
    assert_int_equal(firn_sim_def_check(&preset, NULL), FIRN_OK);
}

static void the_paper_preset_is_what_was_published(void **state)
{
    (void)state;
    firn_sim_def def;
    assert_int_equal(firn_sim_def_preset("paper", &def, NULL), FIRN_OK);
    assert_int_equal(def.kernel, FIRN_KERNEL_CUBIC);
    assert_int_equal(def.transfer, FIRN_TRANSFER_FLIP);
    assert_int_equal(def.integrator, FIRN_INTEGRATOR_IMPLICIT);
    assert_int_equal(def.volume, FIRN_VOLUME_GRID);
    assert_true(def.flip_ratio == 0.95f);
    assert_true(def.beta == 1.0f);
}

static void an_unknown_preset_changes_nothing(void **state)
{
    (void)state;
    firn_sim_def def = firn_sim_def_default(), before = def;
    firn_error error;
    assert_int_equal(firn_sim_def_preset("papr", &def, &error), FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "'papr'"));
    assert_memory_equal(&def, &before, sizeof def);
}

static void limits_that_cross_are_refused(void **state)
{
    (void)state;
    firn_error error;
    firn_sim_def def = firn_sim_def_default();
    def.dt_min = 2.0f * def.dt_max;
    assert_int_equal(firn_sim_def_check(&def, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "dt_min"));
    def = firn_sim_def_default();
    def.domain_lower.y = def.domain_upper.y;
    assert_int_equal(firn_sim_def_check(&def, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "domain_lower"));
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    firn_error error;
    firn_sim_def def = firn_sim_def_default();
    def.cell_size = -0.1f;
    assert_int_equal(firn_sim_def_check(&def, &error), FIRN_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "solver.cell_size is -0.1 m; it must be between 0.0001 and 1 m");
    def = firn_sim_def_default();
    def.gravity.x = NAN;
    assert_int_equal(firn_sim_def_check(&def, NULL), FIRN_ERR_ARGUMENT);
    memset(&def, 0, sizeof def);
    assert_int_equal(firn_sim_def_check(&def, NULL), FIRN_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_a_row),
        cmocka_unit_test(every_preset_is_valid),
        cmocka_unit_test(the_paper_preset_is_what_was_published),
        cmocka_unit_test(an_unknown_preset_changes_nothing),
        cmocka_unit_test(limits_that_cross_are_refused),
        cmocka_unit_test(bad_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
