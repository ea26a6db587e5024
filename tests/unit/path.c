#include "firn/file.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_name(const char *pattern, int frame, const char *expected)
{
    char path[200];
    assert_int_equal(firn_path_of_frame(pattern, frame, path, sizeof path, NULL), FIRN_OK);
    assert_string_equal(path, expected);
}

static void every_notation_gives_the_same_name(void **state)
{
    (void)state;
    assert_name("ball.$F4.vdb", 7, "ball.0007.vdb");
    assert_name("ball.####.vdb", 7, "ball.0007.vdb");
    assert_name("ball.%04d.vdb", 7, "ball.0007.vdb");
    assert_name("ball.$F.vdb", 7, "ball.7.vdb");
    assert_name("ball.%d.vdb", 7, "ball.7.vdb");
    assert_name("ball.#.vdb", 7, "ball.7.vdb");
    assert_name("$F3", 7, "007");
}

static void a_number_wider_than_its_padding_is_not_cut(void **state)
{
    (void)state;
    assert_name("a.$F2.b", 12345, "a.12345.b");
    assert_name("a.##.b", 12345, "a.12345.b");
    assert_name("a.%02d.b", INT_MAX, "a.2147483647.b");
}

static void a_negative_frame_has_its_sign_before_the_padding(void **state)
{
    (void)state;
    assert_name("a.$F4.b", -12, "a.-0012.b");
    assert_name("a.%d.b", -12, "a.-12.b");
    assert_name("a.####.b", INT_MIN, "a.-2147483648.b");
}

static void frames_are_reckoned_with_between_backquotes(void **state)
{
    (void)state;
    assert_name("a.`$F-10`.b", 7, "a.-3.b");
    assert_name("a.`$F4+1`.b", 7, "a.0008.b");
    assert_name("a.`padzero(3, 2*($F - 1))`.b", 7, "a.012.b");
    assert_name("a.`$F % 5`.b", 13, "a.3.b");
    assert_name("a.`$F % 5`.b", -1, "a.4.b");
    assert_name("a.`($F-1)/2`.b", 8, "a.3.b");
    assert_name("a.`-$F`.b", 8, "a.-8.b");
    assert_name("$F3/a.`1+$F*2`.b", 8, "008/a.17.b");
    int number = 0;
    assert_true(firn_path_number("a.`$F-10`.b", 7, &number));
    assert_int_equal(number, -3);
    assert_false(firn_path_number("a.b", 7, &number));
}

static void what_cannot_be_reckoned_stays(void **state)
{
    (void)state;
    const char *strays[] = {"`",
                            "``",
                            "`1+2`",
                            "`$F/0`",
                            "`$F+`",
                            "`($F`",
                            "`$F$F`",
                            "`padzero(4)`",
                            "`$F-1",
                            "`$FPS`",
                            "`2**3`",
                            "`$F^2`",
                            "`((((((((((($F)))))))))))`"};
    for (size_t i = 0; i < FIRN_COUNT(strays); i++) {
        char path[64];
        assert_int_equal(firn_path_of_frame(strays[i], 1, path, sizeof path, NULL), FIRN_OK);
        assert_int_equal(path[0], '`');
    }
    char deep[600] = "`";
    memset(deep + 1, '-', 500);
    strcpy(deep + 501, "$F`");
    char path[700];
    assert_int_equal(firn_path_of_frame(deep, 1, path, sizeof path, NULL), FIRN_OK);
}

static void every_number_of_one_notation_is_replaced(void **state)
{
    (void)state;
    assert_name("$F4/ball.$F4.$F.vdb", 7, "0007/ball.0007.7.vdb");
    assert_name("##/ball.####.vdb", 7, "07/ball.0007.vdb");
}

static void what_looks_like_another_notation_stays(void **state)
{
    (void)state;
    assert_name("take#2/100%d/ball.$F4.vdb", 7, "take#2/100%d/ball.0007.vdb");
    assert_name("take#2/ball.%04d.vdb", 7, "take#2/ball.0007.vdb");
}

static void stray_signs_stay(void **state)
{
    (void)state;
    const char *strays[] = {"",          "ball.vdb", "100%", "%",    "$",   "a$b", "$FPS",
                            "$JOB/ball", "%s%n%x",   "%4d",  "%-4d", "%ld", "$f4"};
    for (size_t i = 0; i < FIRN_COUNT(strays); i++) {
        assert_false(firn_path_has_frame(strays[i]));
        assert_name(strays[i], 7, strays[i]);
    }
    assert_true(firn_path_has_frame("$JOB/ball.$F4.vdb"));
    assert_name("$JOB/50%/ball_$F_v2.vdb", 7, "$JOB/50%/ball_7_v2.vdb");
}

static void a_padding_beyond_reason_is_not_a_number(void **state)
{
    (void)state;
    assert_name("$F99999999999999999999", 7, "$F99999999999999999999");
    assert_name("%0999999999d", 7, "%0999999999d");
}

static void a_name_that_does_not_fit_is_refused_and_fits_otherwise(void **state)
{
    (void)state;
    const char *expected = "ball.0007.vdb";
    for (size_t size = 1; size <= 20; size++) {
        char path[20];
        memset(path, '!', sizeof path);
        firn_error error;
        firn_result result = firn_path_of_frame("ball.$F4.vdb", 7, path, size, &error);
        if (size > strlen(expected)) {
            assert_int_equal(result, FIRN_OK);
            assert_string_equal(path, expected);
        } else {
            assert_int_equal(result, FIRN_ERR_ARGUMENT);
            assert_string_equal(path, "");
        }
        for (size_t i = size; i < sizeof path; i++)
            assert_int_equal(path[i], '!');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_notation_gives_the_same_name),
        cmocka_unit_test(a_number_wider_than_its_padding_is_not_cut),
        cmocka_unit_test(a_negative_frame_has_its_sign_before_the_padding),
        cmocka_unit_test(frames_are_reckoned_with_between_backquotes),
        cmocka_unit_test(what_cannot_be_reckoned_stays),
        cmocka_unit_test(every_number_of_one_notation_is_replaced),
        cmocka_unit_test(what_looks_like_another_notation_stays),
        cmocka_unit_test(stray_signs_stay),
        cmocka_unit_test(a_padding_beyond_reason_is_not_a_number),
        cmocka_unit_test(a_name_that_does_not_fit_is_refused_and_fits_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
