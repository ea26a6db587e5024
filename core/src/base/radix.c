#include "radix.h"

#include <string.h>

enum {
    DIGIT = 8, // bits that a pass sorts by
    BUCKETS = 1 << DIGIT,
    CHUNK_ITEMS = 4096, // one unit of parallel work
    CHUNK_MAX = 64,
};

int firn_bit_count(uint64_t most)
{
    int count = 0;
    for (; most > 0; most >>= 1)
        count++;
    return count;
}

// One pass: the place of an item follows from its digit and its present place alone, so the result
// does not depend on how the work is shared.
static void sort_by_digit(const uint64_t *from, uint64_t *to, size_t count, firn_bit_range digit,
                          int thread_count)
{
    uint32_t places[CHUNK_MAX][BUCKETS];
    size_t chunks = count / CHUNK_ITEMS + 1;
    chunks = chunks < CHUNK_MAX ? chunks : CHUNK_MAX;
    uint64_t mask = ((uint64_t)1 << (digit.high - digit.low)) - 1;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t c = 0; c < chunks; c++) {
        memset(places[c], 0, sizeof places[c]);
        for (size_t i = count * c / chunks; i < count * (c + 1) / chunks; i++)
            places[c][from[i] >> digit.low & mask]++;
    }
    uint32_t sum = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        for (size_t c = 0; c < chunks; c++) {
            uint32_t here = places[c][bucket];
            places[c][bucket] = sum;
            sum += here;
        }
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t c = 0; c < chunks; c++)
        for (size_t i = count * c / chunks; i < count * (c + 1) / chunks; i++)
            to[places[c][from[i] >> digit.low & mask]++] = from[i];
}

uint64_t *firn_radix_sort(uint64_t *items, uint64_t *scratch, size_t count, firn_bit_range bits,
                          int thread_count)
{
    for (int low = bits.low; low < bits.high; low += DIGIT) {
        int high = low + DIGIT < bits.high ? low + DIGIT : bits.high;
        sort_by_digit(items, scratch, count, (firn_bit_range){low, high}, thread_count);
        uint64_t *sorted = scratch;
        scratch = items;
        items = sorted;
    }
    return items;
}
