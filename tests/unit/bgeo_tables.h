/// Tables of points for the tests of geometry files.
#ifndef TEST_BGEO_TABLES_H
#define TEST_BGEO_TABLES_H

#include "firn/bgeo.h"

#include <stdint.h>

/// Owns random columns; the seed decides everything.
typedef struct random_table {
    firn_points points;
    firn_attribute attributes[12], details[4];
    void *owned[64];
    size_t owned_count;
} random_table;

/// attribute_count includes P. Values avoid what a format cannot hold: narrow keeps them exact in
/// 32-bit floats and integers.
random_table *table_create(size_t count, size_t attribute_count, size_t detail_count, uint64_t seed,
                           bool narrow);
void table_destroy(random_table *table);

/// Fails the test unless both hold the same values, compared as integers, doubles or strings.
void assert_same_points(const firn_points *expected, const firn_points *found);

/// Next number of a random sequence.
uint64_t random_next(uint64_t *seed);

/// A whole file, released with firn_free.
unsigned char *slurp(const char *path, size_t *size);

#endif
