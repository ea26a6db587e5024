#define _POSIX_C_SOURCE 200809L
#include "firn/params.h"

#include "firn/vec.h"

#include <limits.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct settings {
    bool flag;
    int count;
    float size;
    double limit;
    firn_vec3 wind;
    int kernel;
} settings;

#define ROW(field) FIRN_PARAM(settings, field)
static const firn_param rows[] = {
    {ROW(flag), FIRN_BOOL, {1.0}, 0.0, 0.0, "", "A flag"},
    {ROW(count), FIRN_INT, {3.0}, -5.0, 10.0, "", "A count"},
    {ROW(size), FIRN_FLOAT, {0.02}, 1e-4, 0.1, "m", "A size"},
    {ROW(limit), FIRN_DOUBLE, {0.1}, -1e300, 1e300, "s", "A limit"},
    {ROW(wind), FIRN_VEC3, {0.0, -9.81, 0.0}, -100.0, 100.0, "m/s", "A wind"},
    {ROW(kernel),
     FIRN_CHOICE,
     {1.0},
     0.0,
     0.0,
     "",
     "A kernel",
     "linear|quadratic|cubic",
     "Weighting",
     "flag==true"},
};
static const firn_param_table table = {rows, FIRN_COUNT(rows)};

static settings defaults(void)
{
    settings s;
    memset(&s, 0xA5, sizeof s);
    firn_params_reset(table, &s);
    return s;
}

static const firn_param *row(const char *name)
{
    const firn_param *param = firn_params_find(table, name);
    assert_non_null(param);
    return param;
}

static void reset_writes_every_default(void **state)
{
    (void)state;
    settings s = defaults();
    assert_true(s.flag);
    assert_int_equal(s.count, 3);
    assert_true(s.size == 0.02f && s.limit == 0.1);
    assert_true(s.wind.x == 0.0f && s.wind.y == -9.81f && s.wind.z == 0.0f);
    assert_int_equal(s.kernel, 1);
    assert_int_equal(firn_params_check(table, &s, "thing", NULL), FIRN_OK);
}

static void a_value_out_of_range_is_named_with_owner_value_range_and_unit(void **state)
{
    (void)state;
    firn_error error;
    settings s = defaults();
    s.size = -0.1f;
    assert_int_equal(firn_params_check(table, &s, "solver", &error), FIRN_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "solver.size is -0.1 m; it must be between 0.0001 and 0.1 m");
    s = defaults();
    s.wind.z = 1e6f;
    firn_params_check(table, &s, "solver", &error);
    assert_string_equal(error.message,
                        "solver.wind is 0, -9.81, 1e+06 m/s; it must be between -100 and 100 m/s");
    s = defaults();
    s.kernel = 3;
    firn_params_check(table, &s, "solver", &error);
    assert_string_equal(error.message, "solver.kernel is 3; it must be linear, quadratic or cubic");
}

static void what_is_not_finite_is_refused(void **state)
{
    (void)state;
    const double bad[] = {(double)NAN, (double)INFINITY, (double)-INFINITY, 1e308};
    for (size_t i = 0; i < FIRN_COUNT(rows); i++) {
        for (size_t j = 0; j < FIRN_COUNT(bad); j++) {
            for (int component = 0; component < firn_param_components(&rows[i]); component++) {
                settings s = defaults(), before = s;
                double values[3];
                firn_param_get(&rows[i], &s, values);
                values[component] = bad[j];
                assert_int_equal(firn_param_set(&rows[i], &s, values, NULL), FIRN_ERR_ARGUMENT);
                assert_memory_equal(&s, &before, sizeof s);
            }
        }
    }
    static const firn_param endless = {ROW(limit),       FIRN_DOUBLE, {0.0},           0.0,
                                       (double)INFINITY, "",          "No upper bound"};
    settings s = defaults();
    const double infinite[3] = {(double)INFINITY};
    assert_int_equal(firn_param_set(&endless, &s, infinite, NULL), FIRN_ERR_ARGUMENT);
    s.limit = (double)NAN;
    assert_int_equal(firn_params_check(table, &s, "thing", NULL), FIRN_ERR_ARGUMENT);
}

static void both_bounds_are_allowed_and_the_next_number_is_not(void **state)
{
    (void)state;
    settings s = defaults();
    // (float)1e-4 is below 1e-4 and (float)0.1 above 0.1: they still are the bounds.
    assert_int_equal(firn_param_parse(row("size"), &s, "0.0001", NULL), FIRN_OK);
    assert_int_equal(firn_params_check(table, &s, "thing", NULL), FIRN_OK);
    s.size = nextafterf(s.size, 0.0f);
    assert_int_equal(firn_params_check(table, &s, "thing", NULL), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_param_parse(row("size"), &s, "0.1", NULL), FIRN_OK);
    assert_int_equal(firn_params_check(table, &s, "thing", NULL), FIRN_OK);
    s.size = nextafterf(s.size, 1.0f);
    assert_int_equal(firn_params_check(table, &s, "thing", NULL), FIRN_ERR_ARGUMENT);
    s = defaults();
    for (s.count = -6; s.count <= 11; s.count++)
        assert_int_equal(firn_params_check(table, &s, "thing", NULL) == FIRN_OK,
                         s.count >= -5 && s.count <= 10);
}

static void a_byte_that_is_no_bool_is_refused(void **state)
{
    (void)state;
    settings s = defaults();
    memset(&s.flag, 0xA5, sizeof s.flag);
    assert_int_equal(firn_params_check(table, &s, "thing", NULL), FIRN_ERR_ARGUMENT);
}

static void whole_numbers_stay_whole(void **state)
{
    (void)state;
    settings s = defaults();
    firn_error error;
    assert_int_equal(firn_param_parse(row("count"), &s, "2.5", &error), FIRN_ERR_ARGUMENT);
    assert_string_equal(error.message, "count is 2.5; it must be a whole number between -5 and 10");
    assert_int_equal(firn_param_parse(row("count"), &s, "1e1", NULL), FIRN_OK);
    assert_int_equal(s.count, 10);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = firn_hash64(seed, sizeof *seed, 0);
    return *seed;
}

static void assert_text_round_trip(const firn_param *param, const settings *s)
{
    char text[200];
    settings back = defaults();
    firn_param_print(param, s, text, sizeof text);
    assert_null(strchr(text, ','));
    assert_int_equal(firn_param_parse(param, &back, text, NULL), FIRN_OK);
    double values[3], again[3];
    firn_param_get(param, s, values);
    firn_param_get(param, &back, again);
    assert_memory_equal(values, again, sizeof values);
}

static void text_gives_the_same_bits_back(void **state)
{
    (void)state;
    static const firn_param wide[] = {
        {ROW(size), FIRN_FLOAT, {0.0}, -3e38, 3e38, "", ""},
        {ROW(limit), FIRN_DOUBLE, {0.0}, -1e308, 1e308, "", ""},
        {ROW(wind), FIRN_VEC3, {0.0}, -3e38, 3e38, "", ""},
        {ROW(count), FIRN_INT, {0.0}, INT_MIN, INT_MAX, "", ""},
    };
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        settings s = defaults();
        uint32_t bits[4];
        for (int i = 0; i < 4; i++)
            bits[i] = (uint32_t)next_random(&seed);
        uint64_t long_bits = next_random(&seed);
        memcpy(&s.wind, bits, sizeof s.wind);
        memcpy(&s.size, bits, sizeof s.size);
        memcpy(&s.count, bits + 3, sizeof s.count);
        memcpy(&s.limit, &long_bits, sizeof s.limit);
        for (size_t i = 0; i < FIRN_COUNT(wide); i++) {
            firn_param_table one = {&wide[i], 1};
            if (firn_params_check(one, &s, NULL, NULL) == FIRN_OK)
                assert_text_round_trip(&wide[i], &s);
        }
    }
    settings s = defaults();
    s.size = -0.0f;
    assert_text_round_trip(&wide[0], &s);
    s.limit = 5e-324;
    assert_text_round_trip(&wide[1], &s);
}

static void words_and_choices_give_themselves_back(void **state)
{
    (void)state;
    settings s = defaults();
    for (s.kernel = 0; s.kernel < 3; s.kernel++)
        assert_text_round_trip(row("kernel"), &s);
    s.flag = false;
    assert_text_round_trip(row("flag"), &s);
    s.flag = true;
    assert_text_round_trip(row("flag"), &s);
}

static void text_is_as_short_as_the_type_allows(void **state)
{
    (void)state;
    char text[100];
    settings s = defaults();
    firn_param_print(row("size"), &s, text, sizeof text);
    assert_string_equal(text, "0.02");
    firn_param_print(row("limit"), &s, text, sizeof text);
    assert_string_equal(text, "0.1");
    firn_param_print(row("wind"), &s, text, sizeof text);
    assert_string_equal(text, "0 -9.81 0");
}

static void text_that_is_not_a_value_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } bad[] = {
        {"size", ""},         {"size", "0,02"},
        {"size", "0.02x"},    {"size", "0.02 0.02"},
        {"size", "nan"},      {"size", "inf"},
        {"size", "0x1p-6"},   {"size", "1e"},
        {"size", "."},        {"size", "--1"},
        {"size", "0.0 2"},    {"wind", "1 2"},
        {"wind", "1 2 3 4"},  {"wind", "1,,2,3"},
        {"wind", "1-2-3"},    {"count", "99999999999"},
        {"flag", "maybe"},    {"flag", ""},
        {"kernel", "cubik"},  {"kernel", "linear|cubic"},
        {"kernel", ""},       {"limit", "1e999999"},
        {"wind", "[1,2,3"},   {"wind", "1,2,3]"},
        {"wind", "[1,2,3]]"}, {"size", "[1]"},
    };
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        settings s = defaults(), before = s;
        firn_error error;
        assert_int_equal(firn_param_parse(row(bad[i].name), &s, bad[i].text, &error),
                         FIRN_ERR_ARGUMENT);
        assert_memory_equal(&s, &before, sizeof s);
        assert_non_null(strstr(error.message, bad[i].name));
    }
}

static void vectors_may_be_written_with_commas_and_brackets(void **state)
{
    (void)state;
    static const char *const forms[] = {"1,-2, 3.5", "1 -2 3.5", "[1,-2,3.5]", " [ 1, -2 3.5 ] "};
    for (size_t i = 0; i < FIRN_COUNT(forms); i++) {
        settings s = defaults();
        assert_int_equal(firn_param_parse(row("wind"), &s, forms[i], NULL), FIRN_OK);
        assert_true(s.wind.x == 1.0f && s.wind.y == -2.0f && s.wind.z == 3.5f);
    }
}

static void a_locale_with_decimal_commas_changes_nothing(void **state)
{
    (void)state;
    // The locale is made on the spot, so that the test runs wherever Debian's locales are.
    char folder[] = "locales.XXXXXX", command[200];
    assert_non_null(mkdtemp(folder));
    setenv("LOCPATH", folder, 1);
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 ./%s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    bool made = system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (!made)
        skip();
    char half[8];
    snprintf(half, sizeof half, "%.1f", 0.5);
    assert_string_equal(half, "0,5");
    text_gives_the_same_bits_back(state);
    text_is_as_short_as_the_type_allows(state);
    text_that_is_not_a_value_changes_nothing(state);
    a_value_out_of_range_is_named_with_owner_value_range_and_unit(state);
    setlocale(LC_ALL, "C");
}

static void a_misspelled_name_finds_its_neighbor(void **state)
{
    (void)state;
    static const struct {
        const char *written, *meant;
    } slips[] = {
        {"sise", "size"},      {"szie", "size"},  {"SIZE", "size"},    {"kernal", "kernel"},
        {"kernels", "kernel"}, {"winds", "wind"}, {"limits", "limit"}, {"cuont", "count"},
        {"temperature", NULL}, {"", NULL},        {"x", NULL},         {"flip_ratio", NULL},
    };
    for (size_t i = 0; i < FIRN_COUNT(slips); i++) {
        const char *found = firn_params_suggest(table, slips[i].written);
        if (slips[i].meant == NULL) {
            assert_null(found);
        } else {
            assert_non_null(found);
            assert_string_equal(found, slips[i].meant);
        }
    }
    char longer[1000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_null(firn_params_suggest(table, longer));
    assert_null(firn_params_find(table, "sise"));
}

static void swapped_letters_are_one_slip(void **state)
{
    (void)state;
    static const firn_param names[] = {{.name = "fort"}, {.name = "form"}};
    firn_param_table pair = {names, FIRN_COUNT(names)};
    assert_string_equal(firn_params_suggest(pair, "fomr"), "form");
}

static void choices_have_names_up_to_the_last(void **state)
{
    (void)state;
    char text[20];
    assert_true(firn_param_choice(row("kernel"), 0, text, sizeof text));
    assert_string_equal(text, "linear");
    assert_true(firn_param_choice(row("kernel"), 2, text, sizeof text));
    assert_string_equal(text, "cubic");
    assert_false(firn_param_choice(row("kernel"), 3, text, sizeof text));
    assert_false(firn_param_choice(row("kernel"), -1, text, sizeof text));
    assert_false(firn_param_choice(row("size"), 0, text, sizeof text));
}

static void labels_are_given_or_made_from_the_name(void **state)
{
    (void)state;
    static const firn_param cell_size = {"cell_size", 0, FIRN_FLOAT, {0.0}, 0.0, 0.0, "", ""};
    char text[20];
    firn_param_label(&cell_size, text, sizeof text);
    assert_string_equal(text, "Cell size");
    firn_param_label(row("kernel"), text, sizeof text);
    assert_string_equal(text, "Weighting");
}

static void a_short_buffer_is_cut_and_never_overrun(void **state)
{
    (void)state;
    settings s = defaults();
    for (size_t i = 0; i < FIRN_COUNT(rows); i++) {
        char whole[100];
        firn_param_print(&rows[i], &s, whole, sizeof whole);
        for (size_t size = 1; size < 12; size++) {
            char text[12];
            memset(text, '!', sizeof text);
            firn_param_print(&rows[i], &s, text, size);
            assert_true(strlen(text) < size);
            assert_memory_equal(text, whole, strlen(text));
            for (size_t j = size; j < sizeof text; j++)
                assert_int_equal(text[j], '!');
        }
    }
}

typedef struct texts {
    char name[FIRN_TEXT_SIZE];
    char file[FIRN_TEXT_SIZE];
} texts;

static const firn_param text_rows[] = {
    {FIRN_PARAM(texts, name), FIRN_STRING, {0}, 0, 0, "", "A name", .text = "snow"},
    {FIRN_PARAM(texts, file), FIRN_PATH, {0}, 0, 0, "", "A file"},
};

static void texts_are_stored_whole_and_take_no_numbers(void **state)
{
    (void)state;
    const firn_param_table both = {text_rows, FIRN_COUNT(text_rows)};
    texts t;
    memset(&t, 0xA5, sizeof t);
    firn_params_reset(both, &t);
    assert_string_equal(t.name, "snow");
    assert_string_equal(t.file, "");

    firn_error error;
    char text[FIRN_TEXT_SIZE + 1], printed[FIRN_TEXT_SIZE];
    memset(text, 'x', sizeof text);
    text[FIRN_TEXT_SIZE] = '\0';
    assert_int_equal(firn_param_parse(&text_rows[0], &t, text, &error), FIRN_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "name is 1024 bytes long; it must be a text of at most 1023 bytes");
    text[FIRN_TEXT_SIZE - 1] = '\0';
    assert_int_equal(firn_param_parse(&text_rows[0], &t, text, &error), FIRN_OK);
    firn_param_print(&text_rows[0], &t, printed, sizeof printed);
    assert_string_equal(printed, text);
    assert_int_equal(firn_params_check(both, &t, "node", &error), FIRN_OK);

    // Equal texts are equal bytes, whatever was there before.
    texts fresh;
    firn_params_reset(both, &fresh);
    assert_int_equal(firn_param_parse(&text_rows[0], &t, "snow", &error), FIRN_OK);
    assert_memory_equal(&t, &fresh, sizeof t);

    const double one[3] = {1.0, 0.0, 0.0};
    assert_int_equal(firn_param_set(&text_rows[1], &t, one, &error), FIRN_ERR_ARGUMENT);
    memset(t.file, 'x', sizeof t.file);
    assert_int_equal(firn_params_check(both, &t, "node", &error), FIRN_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reset_writes_every_default),
        cmocka_unit_test(a_value_out_of_range_is_named_with_owner_value_range_and_unit),
        cmocka_unit_test(what_is_not_finite_is_refused),
        cmocka_unit_test(both_bounds_are_allowed_and_the_next_number_is_not),
        cmocka_unit_test(a_byte_that_is_no_bool_is_refused),
        cmocka_unit_test(whole_numbers_stay_whole),
        cmocka_unit_test(text_gives_the_same_bits_back),
        cmocka_unit_test(words_and_choices_give_themselves_back),
        cmocka_unit_test(text_is_as_short_as_the_type_allows),
        cmocka_unit_test(text_that_is_not_a_value_changes_nothing),
        cmocka_unit_test(vectors_may_be_written_with_commas_and_brackets),
        cmocka_unit_test(a_locale_with_decimal_commas_changes_nothing),
        cmocka_unit_test(a_misspelled_name_finds_its_neighbor),
        cmocka_unit_test(swapped_letters_are_one_slip),
        cmocka_unit_test(choices_have_names_up_to_the_last),
        cmocka_unit_test(labels_are_given_or_made_from_the_name),
        cmocka_unit_test(a_short_buffer_is_cut_and_never_overrun),
        cmocka_unit_test(texts_are_stored_whole_and_take_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
