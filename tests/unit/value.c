#include "graph_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

static firn_param row(firn_param_type type)
{
    firn_param param = {"x", 0, type, {0}, -1e9, 1e9, "", "A value"};
    return param;
}

static void a_smooth_curve_never_leaves_the_range_of_its_keys(void **state)
{
    (void)state;
    firn_param param = row(FIRN_DOUBLE);
    firn_key keys[] = {{1, {0}}, {2, {1}}, {7, {1.1}}, {8, {-3}}, {20, {0}}};
    firn_value value = {.param = &param,
                        .keys = keys,
                        .key_count = FIRN_COUNT(keys),
                        .interpolation = FIRN_INTERPOLATION_SMOOTH};
    for (size_t k = 0; k < FIRN_COUNT(keys); k++) {
        double at[3];
        firn_value_at(&value, keys[k].frame, at);
        assert_true(at[0] == keys[k].value[0]);
    }
    for (size_t k = 0; k + 1 < FIRN_COUNT(keys); k++) {
        double a = keys[k].value[0], b = keys[k + 1].value[0], before = a;
        for (int i = 0; i <= 50; i++) {
            double at[3], t = i / 50.0;
            firn_value_at(&value, keys[k].frame + t * (keys[k + 1].frame - keys[k].frame), at);
            double step = (at[0] - before) * (b > a ? 1.0 : -1.0);
            assert_true(step > -1e-12); // and goes one way only
            before = at[0];
        }
    }
}

static void a_smooth_curve_has_no_corners(void **state)
{
    (void)state;
    firn_param param = row(FIRN_DOUBLE);
    firn_key keys[] = {{0, {0}}, {1, {1}}, {3, {5}}, {4, {5.5}}};
    firn_value value = {.param = &param,
                        .keys = keys,
                        .key_count = FIRN_COUNT(keys),
                        .interpolation = FIRN_INTERPOLATION_SMOOTH};
    const double h = 1e-5;
    for (size_t k = 1; k + 1 < FIRN_COUNT(keys); k++) {
        double left[3], here[3], right[3];
        firn_value_at(&value, keys[k].frame - h, left);
        firn_value_at(&value, keys[k].frame, here);
        firn_value_at(&value, keys[k].frame + h, right);
        assert_true(fabs(right[0] - 2.0 * here[0] + left[0]) < 1e-3 * h);
    }
}

static void whole_numbers_and_flags_stay_what_they_are(void **state)
{
    (void)state;
    firn_param whole = row(FIRN_INT), flag = row(FIRN_BOOL);
    firn_key keys[] = {{0, {0}}, {10, {1}}};
    firn_value value = {
        .param = &whole, .keys = keys, .key_count = 2, .interpolation = FIRN_INTERPOLATION_LINEAR};
    double at[3];
    firn_value_at(&value, 4.0, at);
    assert_true(at[0] == 0.0);
    firn_value_at(&value, 6.0, at);
    assert_true(at[0] == 1.0);
    value.param = &flag;
    firn_value_at(&value, 9.9, at);
    assert_true(at[0] == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smooth_curve_never_leaves_the_range_of_its_keys),
        cmocka_unit_test(a_smooth_curve_has_no_corners),
        cmocka_unit_test(whole_numbers_and_flags_stay_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
