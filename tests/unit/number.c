#include "firn/number.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ (*seed >> 29);
}

static void assert_exact(const char *text)
{
    double wide, expected_wide = strtod(text, NULL);
    float narrow, expected_narrow = strtof(text, NULL);
    const char *end = text + strlen(text);
    assert_ptr_equal(firn_number_parse(text, end, &wide), end);
    assert_ptr_equal(firn_number_parse_float(text, end, &narrow), end);
    assert_memory_equal(&wide, &expected_wide, sizeof wide);
    assert_memory_equal(&narrow, &expected_narrow, sizeof narrow);
}

static void numbers_are_the_nearest_floats_and_doubles(void **state)
{
    (void)state;
    static const char *const hard[] = {
        "0",
        "-0",
        "1",
        "+1.5",
        ".5",
        "5.",
        "1e22",
        "1e23",
        "-1e-22",
        "1e-23",
        "9007199254740993",
        "179769313486231580793e289",
        "2.2250738585072011e-308",
        "4.9e-324",
        "1e400",
        "-1e-400",
        "1e-45",
        "7.0064923216240853e-46",
        "3.4028235677973366e38",
        "340282346638528859811704183484516925440",
        "1.00000005960464477539062",
        "1.00000005960464477539063",
        "1.000000059604644775390625",
        "1.0000000596046447754",
        "8388609.5",
        "16777217",
        "16777219.0000000000000000000000000001",
        "0.000000000000000000000000000000000000000000000000000000000000000000001e69",
        "123456789012345678901234567890",
        "00000000000000000000000000012.5",
        "1e99999999999999999999",
        "1e-99999999999999999999",
    };
    for (size_t i = 0; i < FIRN_COUNT(hard); i++)
        assert_exact(hard[i]);
    uint64_t seed = 1;
    char text[400];
    for (int i = 0; i < 100000; i++) {
        double value;
        uint64_t bits = random_next(&seed);
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%.*g", 1 + (int)(random_next(&seed) % 20), value);
        assert_exact(text);
        float narrow;
        uint32_t half = (uint32_t)(bits >> 7);
        memcpy(&narrow, &half, sizeof narrow);
        // Halfway between two floats, and just beside it.
        double middle = 0.5 * ((double)narrow + (double)nextafterf(narrow, 1e30f));
        if (!isfinite(middle))
            continue;
        snprintf(text, sizeof text, "%.*g", 14 + (int)(random_next(&seed) % 8), middle);
        assert_exact(text);
    }
}

static void very_long_numbers_are_exact(void **state)
{
    (void)state;
    // The exact middle of two doubles, then a digit far behind that decides.
    char text[2001];
    for (int last = 0; last < 2; last++) {
        memset(text, '0', sizeof text);
        memcpy(text, "9007199254740993.", 17);
        text[1999] = last != 0 ? '1' : '0';
        text[2000] = '\0';
        assert_exact(text);
        memset(text + 17, '7', 1000);
        assert_exact(text);
    }
    memset(text, '0', sizeof text);
    memcpy(text, "9007199254740993.", 17);
    text[700] = '1';
    text[701] = '\0';
    assert_exact(text);
}

static void a_number_ends_where_it_ends(void **state)
{
    (void)state;
    double value;
    const char text[] = "12.5e+x";
    assert_ptr_equal(firn_number_parse(text, text + 7, &value), text + 4);
    assert_true(value == 12.5);
    assert_ptr_equal(firn_number_parse(text, text + 2, &value), text + 2);
    assert_true(value == 12.0);
    static const char *const none[] = {"", "-", ".", "e5", "nan", "inf", "x1"};
    for (size_t i = 0; i < FIRN_COUNT(none); i++)
        assert_null(firn_number_parse(none[i], none[i] + strlen(none[i]), &value));
}

static void integers_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    int64_t value;
    const char *text = "-9223372036854775808";
    assert_non_null(firn_number_parse_integer(text, text + strlen(text), &value));
    assert_true(value == INT64_MIN);
    text = "9223372036854775807";
    assert_non_null(firn_number_parse_integer(text, text + strlen(text), &value));
    assert_true(value == INT64_MAX);
    text = "9223372036854775808";
    assert_null(firn_number_parse_integer(text, text + strlen(text), &value));
}

static void every_half_survives_a_round_trip(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 65536; half++) {
        float value = firn_half_to_float((uint16_t)half);
        if (isnan(value))
            assert_true((half & 0x7C00u) == 0x7C00u && (half & 0x3FFu) != 0);
        else
            assert_int_equal(firn_half_from_double(value), half);
    }
    assert_true(firn_half_to_float(0x3C00) == 1.0f);
    assert_true(firn_half_to_float(0x7BFF) == 65504.0f);
    assert_int_equal(firn_half_from_double(1.0 + 0x1p-11), 0x3C00); // half to even
    assert_int_equal(firn_half_from_double(1.0 + 0x1.8p-10), 0x3C02);
    assert_int_equal(firn_half_from_double(1e9), 0x7C00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_nearest_floats_and_doubles),
        cmocka_unit_test(very_long_numbers_are_exact),
        cmocka_unit_test(a_number_ends_where_it_ends),
        cmocka_unit_test(integers_that_do_not_fit_are_refused),
        cmocka_unit_test(every_half_survives_a_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
