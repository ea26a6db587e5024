#include "firn/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_failure_returns_its_code_and_keeps_the_sentence(void **state)
{
    (void)state;
    firn_error error;
    assert_int_equal(firn_fail(&error, FIRN_ERR_IO, "%s %d", "frame", 7), FIRN_ERR_IO);
    assert_int_equal(error.code, FIRN_ERR_IO);
    assert_string_equal(error.message, "frame 7");
    assert_int_equal(firn_fail(NULL, FIRN_ERR_STALE, "%s", "nobody listens"), FIRN_ERR_STALE);
}

static void a_sentence_that_is_too_long_is_cut_and_terminated(void **state)
{
    (void)state;
    char text[3 * FIRN_MESSAGE_SIZE];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    firn_error error;
    firn_fail(&error, FIRN_ERR_IO, "%s", text);
    assert_int_equal(strlen(error.message), FIRN_MESSAGE_SIZE - 1);
}

static void every_result_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = FIRN_OK; i <= FIRN_ERR_EXISTS; i++) {
        assert_string_not_equal(firn_result_name((firn_result)i), "unknown result");
        for (int j = FIRN_OK; j < i; j++)
            assert_string_not_equal(firn_result_name((firn_result)i),
                                    firn_result_name((firn_result)j));
    }
    assert_string_equal(firn_result_name((firn_result)(FIRN_ERR_EXISTS + 1)), "unknown result");
}

static firn_result try_twice(firn_result first, int *reached)
{
    FIRN_TRY(first);
    *reached = 1;
    return FIRN_OK;
}

static void try_returns_the_first_failure(void **state)
{
    (void)state;
    int reached = 0;
    assert_int_equal(try_twice(FIRN_ERR_FORMAT, &reached), FIRN_ERR_FORMAT);
    assert_int_equal(reached, 0);
    assert_int_equal(try_twice(FIRN_OK, &reached), FIRN_OK);
    assert_int_equal(reached, 1);
}

static void memory_is_aligned_whatever_its_size(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < 300; bytes++) {
        unsigned char *memory = firn_alloc_zero(bytes);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 64, 0);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(memory[i], 0);
        firn_free(memory);
    }
    firn_free(NULL);
}

typedef struct counter {
    int held, asked;
} counter;

static void *counting_allocate(size_t bytes, size_t alignment, void *user)
{
    counter *count = user;
    count->held++;
    count->asked++;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void counting_release(void *memory, void *user)
{
    ((counter *)user)->held--;
    free(memory);
}

static void a_host_can_provide_the_memory(void **state)
{
    (void)state;
    counter count = {0, 0};
    firn_allocator hook = {counting_allocate, counting_release, &count};
    firn_set_allocator(&hook);
    void *memory = firn_alloc(100);
    assert_int_equal(count.held, 1);
    firn_free(memory);
    assert_int_equal(count.held, 0);
    firn_set_allocator(NULL);
    firn_free(firn_alloc(100));
    assert_int_equal(count.asked, 1);
}

static const char *failed_condition;

static void remember(const char *condition, const char *file, int line)
{
    (void)file;
    (void)line;
    failed_condition = condition;
}

static void an_assertion_tells_the_handler_its_condition(void **state)
{
    (void)state;
    firn_set_assert_handler(remember);
    FIRN_ASSERT(1 + 1 == 2);
    assert_null(failed_condition);
    FIRN_ASSERT(1 + 1 == 3);
    assert_string_equal(failed_condition, "1 + 1 == 3");
    firn_set_assert_handler(NULL);
}

static void the_checksum_sees_every_bit_and_the_length(void **state)
{
    (void)state;
    unsigned char bytes[41] = {0};
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint64_t whole = firn_hash64(bytes, size, 1);
        assert_true(whole == firn_hash64(bytes, size, 1));
        assert_true(whole != firn_hash64(bytes, size, 2));
        if (size > 0)
            assert_true(whole != firn_hash64(bytes, size - 1, 1));
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_true(whole != firn_hash64(bytes, size, 1));
            bytes[bit / 8] = 0;
        }
    }
}

static void the_checksum_spreads_one_bit_over_half_of_its_own(void **state)
{
    (void)state;
    int changed = 0, trials = 0;
    for (uint64_t value = 0; value < 64; value++) {
        for (int bit = 0; bit < 64; bit++, trials++) {
            uint64_t other = value ^ (uint64_t)1 << bit;
            changed += __builtin_popcountll(firn_hash64(&value, sizeof value, 0) ^
                                            firn_hash64(&other, sizeof other, 0));
        }
    }
    assert_in_range(changed / trials, 30, 34);
}

static void the_clock_only_goes_forward(void **state)
{
    (void)state;
    double before = firn_seconds();
    for (int i = 0; i < 1000; i++) {
        double now = firn_seconds();
        assert_true(now >= before);
        before = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_returns_its_code_and_keeps_the_sentence),
        cmocka_unit_test(a_sentence_that_is_too_long_is_cut_and_terminated),
        cmocka_unit_test(every_result_has_a_name_of_its_own),
        cmocka_unit_test(try_returns_the_first_failure),
        cmocka_unit_test(memory_is_aligned_whatever_its_size),
        cmocka_unit_test(a_host_can_provide_the_memory),
        cmocka_unit_test(an_assertion_tells_the_handler_its_condition),
        cmocka_unit_test(the_checksum_sees_every_bit_and_the_length),
        cmocka_unit_test(the_checksum_spreads_one_bit_over_half_of_its_own),
        cmocka_unit_test(the_clock_only_goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
