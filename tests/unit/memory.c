#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void used_bytes_are_the_sum_of_all_arrays(void **state)
{
    (void)state;
    firn_budget budget = {0};
    firn_array arrays[4] = {{0}};
    for (size_t round = 1; round < 40; round++) {
        size_t held = 0;
        for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
            assert_int_equal(firn_array_reserve(&budget, &arrays[i], round * (i + 1) * 7, 12, NULL),
                             FIRN_OK);
        for (size_t i = 0; i < FIRN_COUNT(arrays); i++) {
            assert_true(arrays[i].bytes >= round * (i + 1) * 7 * 12);
            held += arrays[i].bytes;
        }
        assert_int_equal(budget.used, held);
        assert_true(budget.peak >= budget.used);
    }
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(&budget, &arrays[i]);
    assert_int_equal(budget.used, 0);
}

static void growing_keeps_what_is_there(void **state)
{
    (void)state;
    firn_budget budget = {0};
    firn_array array = {0};
    for (uint32_t count = 1; count < 5000; count++) {
        assert_int_equal(firn_array_reserve(&budget, &array, count, sizeof count, NULL), FIRN_OK);
        ((uint32_t *)array.data)[count - 1] = count;
    }
    for (uint32_t count = 1; count < 5000; count++)
        assert_int_equal(((uint32_t *)array.data)[count - 1], count);
    firn_array_free(&budget, &array);
}

static void the_limit_is_never_passed_and_nothing_changes_at_it(void **state)
{
    (void)state;
    firn_budget budget = {.limit = 10000};
    firn_array array = {0}, other = {0};
    assert_int_equal(firn_array_reserve(&budget, &other, 2000, 1, NULL), FIRN_OK);
    size_t count = 1;
    while (firn_array_reserve(&budget, &array, count, 1, NULL) == FIRN_OK) {
        assert_true(budget.peak <= budget.limit);
        memset(array.data, 7, array.bytes);
        count++;
    }
    firn_array before = array;
    firn_error error;
    assert_int_equal(firn_array_reserve(&budget, &array, count, 1, &error), FIRN_ERR_MEMORY);
    assert_non_null(strstr(error.message, "memory limit"));
    assert_memory_equal(&array, &before, sizeof array);
    assert_int_equal(budget.used, array.bytes + other.bytes);
    // Both copies are held while contents move, so half of what is free is what can be reached.
    assert_true(count > (budget.limit - other.bytes) / 2);
    firn_array_free(&budget, &array);
    firn_array_free(&budget, &other);
}

static void scratch_may_use_the_whole_limit(void **state)
{
    (void)state;
    firn_budget budget = {.limit = 10000};
    firn_array array = {0};
    for (size_t count = 1000; count <= 10000; count += 1000)
        assert_int_equal(firn_array_claim(&budget, &array, count, 1, NULL), FIRN_OK);
    assert_int_equal(firn_array_claim(&budget, &array, 10001, 1, NULL), FIRN_ERR_MEMORY);
    assert_int_equal(budget.used, array.bytes);
    firn_array_free(&budget, &array);
    assert_int_equal(budget.used, 0);
}

static void *no_memory(size_t bytes, size_t alignment, void *user)
{
    (void)bytes;
    (void)alignment;
    (void)user;
    return NULL;
}

static void no_release(void *memory, void *user)
{
    (void)memory;
    (void)user;
}

static void a_refused_allocation_changes_nothing(void **state)
{
    (void)state;
    firn_budget budget = {0};
    firn_array array = {0};
    assert_int_equal(firn_array_reserve(&budget, &array, 100, 1, NULL), FIRN_OK);
    firn_array before = array;
    firn_allocator nothing = {no_memory, no_release, NULL};
    firn_set_allocator(&nothing);
    firn_error error;
    assert_int_equal(firn_array_reserve(&budget, &array, 1000, 1, &error), FIRN_ERR_MEMORY);
    firn_set_allocator(NULL);
    assert_memory_equal(&array, &before, sizeof array);
    assert_int_equal(budget.used, array.bytes);
    firn_array_free(&budget, &array);
}

static void a_size_that_overflows_is_refused(void **state)
{
    (void)state;
    firn_budget budget = {0};
    firn_array array = {0};
    assert_int_equal(firn_array_reserve(&budget, &array, SIZE_MAX / 4, 64, NULL), FIRN_ERR_MEMORY);
    assert_int_equal(firn_array_claim(&budget, &array, SIZE_MAX, 1, NULL), FIRN_ERR_MEMORY);
    assert_null(array.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_bytes_are_the_sum_of_all_arrays),
        cmocka_unit_test(growing_keeps_what_is_there),
        cmocka_unit_test(the_limit_is_never_passed_and_nothing_changes_at_it),
        cmocka_unit_test(scratch_may_use_the_whole_limit),
        cmocka_unit_test(a_refused_allocation_changes_nothing),
        cmocka_unit_test(a_size_that_overflows_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
