/// A set of leaves or blocks that is being made: found by coordinate, then put in a fixed order.
#ifndef FIRN_COORD_TABLE_H
#define FIRN_COORD_TABLE_H

#include "firn/base.h"
#include "firn/vec.h"

typedef struct firn_coord_entry {
    firn_coord coord;
    size_t count; // for the user, starts at 0
} firn_coord_entry;

/// All zero is an empty table.
typedef struct firn_coord_table {
    firn_coord_entry *entries;
    size_t count, capacity;
    uint32_t *slots; // number of an entry + 1; 0: free
    size_t slot_mask;
} firn_coord_table;

/// Finds or makes the entry; number is its index. Fails only for want of memory, and never for an
/// entry that is there.
firn_result firn_coord_table_add(firn_coord_table *table, firn_coord coord, uint32_t *number,
                                 firn_error *error);

/// The index of an entry, or that behind the last one if there is none at coord.
size_t firn_coord_table_find(const firn_coord_table *table, firn_coord coord);

/// Orders the entries by x, then y, then z; their numbers change. Cannot fail.
void firn_coord_table_sort(firn_coord_table *table);

void firn_coord_table_free(firn_coord_table *table);

#endif
