/// Numbers of blocks by their place: a set that threads fill together and that is then put in
/// order.
#ifndef FIRN_BLOCK_MAP_H
#define FIRN_BLOCK_MAP_H

#include "base/memory.h"

#include "firn/vec.h"

#include <stdatomic.h>

enum { FIRN_COORD_LIMIT = 1 << 20 }; // blocks from the origin in each direction

static inline uint64_t firn_block_key(firn_coord c)
{
    return (uint64_t)(c.x + FIRN_COORD_LIMIT) << 42 | (uint64_t)(c.y + FIRN_COORD_LIMIT) << 21 |
           (uint64_t)(c.z + FIRN_COORD_LIMIT);
}

static inline firn_coord firn_block_coord(uint64_t key)
{
    int32_t low = (1 << 21) - 1;
    firn_coord c = {(int32_t)(key >> 42) - FIRN_COORD_LIMIT,
                    ((int32_t)(key >> 21) & low) - FIRN_COORD_LIMIT,
                    ((int32_t)key & low) - FIRN_COORD_LIMIT};
    return c;
}

/// Keys of blocks to numbers, open addressing.
typedef struct firn_block_map {
    firn_array entries;  // firn_block_entry
    firn_array keys;     // uint64, those in the map
    size_t mask;         // capacity - 1
    size_t limit;        // of keys
    size_t count;        // of keys that are numbered
    atomic_size_t added; // at least the number of keys
} firn_block_map;

/// Finds the number of key, or -1.
int32_t firn_block_map_find(const firn_block_map *map, uint64_t key);

/// Adds a key unless it is there, from any number of threads at once. False when the map is full.
bool firn_block_map_add(firn_block_map *map, uint64_t key);

/// How a map is filled.
typedef struct firn_block_filling {
    firn_budget *budget;
    firn_array *scratch; // memory for the time of the call
    size_t expected;     // keys; a guess
    int thread_count;
    /// Adds all keys; false when one did not fit. It is called again when the map has grown.
    bool (*add)(firn_block_map *map, const void *user);
    const void *user;
} firn_block_filling;

/// Empties the map, fills it, and numbers the keys in rising order.
firn_result firn_block_map_fill(firn_block_map *map, const firn_block_filling *filling,
                                firn_error *error);

#endif
