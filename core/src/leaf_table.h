/// The leaves of a field that is being made: found by coordinate, then put in a fixed order.
#ifndef FIRN_LEAF_TABLE_H
#define FIRN_LEAF_TABLE_H

#include "firn/base.h"
#include "firn/vec.h"

typedef struct firn_leaf_entry {
    firn_coord coord; // leaves, voxel / 8
    size_t count;     // of particles that reach it
} firn_leaf_entry;

/// All zero is an empty table.
typedef struct firn_leaf_table {
    firn_leaf_entry *entries;
    size_t count, capacity;
    uint32_t *slots; // number of an entry + 1; 0: free
    size_t slot_mask;
} firn_leaf_table;

/// Finds or makes the entry; number is its index. Fails only for want of memory, and never for an
/// entry that is there.
firn_result firn_leaf_table_add(firn_leaf_table *table, firn_coord coord, uint32_t *number,
                                firn_error *error);

/// Orders the entries by x, then y, then z; their numbers change. Cannot fail.
void firn_leaf_table_sort(firn_leaf_table *table);

void firn_leaf_table_free(firn_leaf_table *table);

#endif
