#include "firn/defs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct thing_def {
    uint32_t cookie;
    float size;
} thing_def;

static const firn_param rows[] = {
    {FIRN_PARAM(thing_def, size), FIRN_FLOAT, {2.0}, 1.0, 3.0, "m", "Size of the thing"}};
static const firn_param_table table = {rows, FIRN_COUNT(rows)};

static firn_result check(const thing_def *def, firn_error *error)
{
    return firn_def_check(def->cookie, sizeof *def, table, def, "thing", error);
}

static void cookies_of_different_sizes_differ_and_are_never_zero(void **state)
{
    (void)state;
    for (size_t a = 0; a < 600; a++) {
        assert_int_not_equal(firn_def_cookie(a), 0);
        for (size_t b = 0; b < a; b++)
            assert_int_not_equal(firn_def_cookie(a), firn_def_cookie(b));
    }
}

static void memory_that_was_never_initialized_is_refused(void **state)
{
    (void)state;
    for (int filler = 0; filler < 256; filler++) {
        thing_def def;
        memset(&def, filler, sizeof def);
        def.size = 2.0f;
        firn_error error;
        assert_int_equal(check(&def, &error), FIRN_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "thing settings are not initialized"));
    }
}

static void a_struct_of_other_headers_is_refused(void **state)
{
    (void)state;
    thing_def def = {.cookie = firn_def_cookie(sizeof def + 4), .size = 2.0f};
    assert_int_equal(check(&def, NULL), FIRN_ERR_ARGUMENT);
}

static void values_are_checked_once_the_cookie_is_right(void **state)
{
    (void)state;
    thing_def def = {.cookie = firn_def_cookie(sizeof def), .size = 2.0f};
    assert_int_equal(check(&def, NULL), FIRN_OK);
    def.size = 4.0f;
    firn_error error;
    assert_int_equal(check(&def, &error), FIRN_ERR_ARGUMENT);
    assert_string_equal(error.message, "thing.size is 4 m; it must be between 1 and 3 m");
}

static void a_copy_stays_within_the_callers_struct(void **state)
{
    (void)state;
    const char full[] = "0123456789";
    for (size_t size = 0; size < 20; size++) {
        char def[24];
        memset(def, '!', sizeof def);
        firn_def_copy(def, size, full, 10);
        for (size_t i = 0; i < sizeof def; i++)
            assert_int_equal(def[i], i >= size ? '!' : i < 10 ? full[i] : '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cookies_of_different_sizes_differ_and_are_never_zero),
        cmocka_unit_test(memory_that_was_never_initialized_is_refused),
        cmocka_unit_test(a_struct_of_other_headers_is_refused),
        cmocka_unit_test(values_are_checked_once_the_cookie_is_right),
        cmocka_unit_test(a_copy_stays_within_the_callers_struct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
