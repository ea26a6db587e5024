#include "base/radix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state ^ *state >> 29;
}

static uint64_t bits_of(uint64_t item, firn_bit_range bits)
{
    uint64_t width = (uint64_t)(bits.high - bits.low);
    return item >> bits.low & (width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX);
}

// Items carry their first place in the bits that do not count.
static void items_are_in_order_and_equal_ones_stay_so(void **state)
{
    (void)state;
    const size_t counts[] = {0, 1, 2, 300, 5000, 300000};
    const firn_bit_range ranges[] = {{32, 33}, {32, 40}, {32, 49}, {24, 64}};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int r = 0; r < 4; r++)
            for (int threads = 1; threads <= 3; threads++) {
                size_t count = counts[k];
                uint64_t *memory = calloc(2 * count + 1, sizeof *memory), seed = count, sum = 0;
                for (size_t i = 0; i < count; i++) {
                    memory[i] = next(&seed) >> 24 << 24 | i;
                    sum += memory[i];
                }
                firn_bit_range bits = ranges[r];
                uint64_t *sorted = firn_radix_sort(memory, memory + count, count, bits, threads);
                assert_true(sorted == memory || sorted == memory + count);
                for (size_t i = 0; i < count; i++)
                    sum -= sorted[i];
                assert_true(sum == 0);
                for (size_t i = 1; i < count; i++) {
                    uint64_t before = bits_of(sorted[i - 1], bits), here = bits_of(sorted[i], bits);
                    assert_true(before < here || (before == here && (sorted[i - 1] & 0xFFFFFF) <
                                                                        (sorted[i] & 0xFFFFFF)));
                }
                free(memory);
            }
}

static void bits_are_counted(void **state)
{
    (void)state;
    assert_int_equal(firn_bit_count(0), 0);
    for (int bits = 1; bits <= 64; bits++) {
        uint64_t least = (uint64_t)1 << (bits - 1);
        assert_int_equal(firn_bit_count(least), bits);
        assert_int_equal(firn_bit_count(least | (least - 1)), bits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_in_order_and_equal_ones_stay_so),
        cmocka_unit_test(bits_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
