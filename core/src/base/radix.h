/// Sorting of numbers by some of their bits, in parallel.
#ifndef FIRN_RADIX_H
#define FIRN_RADIX_H

#include <stddef.h>
#include <stdint.h>

/// Bits of an item that count: from low to below high.
typedef struct firn_bit_range {
    int low, high;
} firn_bit_range;

/// Sorts count items, less than 2^32, by the bits of a range; equal ones keep their order. Scratch
/// holds as many. Returns the one of both arrays that holds the result.
uint64_t *firn_radix_sort(uint64_t *items, uint64_t *scratch, size_t count, firn_bit_range bits,
                          int thread_count);

/// How many bits numbers up to most need.
int firn_bit_count(uint64_t most);

#endif
