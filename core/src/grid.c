#include "grid.h"

#include <string.h>

typedef struct firn_block_entry {
    uint64_t key;
    int32_t value; // -1: empty
} firn_block_entry;

static size_t slot_of(const firn_block_map *map, uint64_t key)
{
    const firn_block_entry *entries = map->entries.data;
    size_t slot = (size_t)((key * 0x9E3779B97F4A7C15u) >> 20) & map->mask;
    while (entries[slot].value >= 0 && entries[slot].key != key)
        slot = (slot + 1) & map->mask;
    return slot;
}

int32_t firn_block_map_find(const firn_block_map *map, uint64_t key)
{
    if (map->count == 0)
        return -1;
    const firn_block_entry *entries = map->entries.data;
    return entries[slot_of(map, key)].value;
}

firn_result firn_block_map_clear(firn_block_map *map, firn_budget *budget, size_t expected,
                                 firn_error *error)
{
    size_t capacity = 64;
    while (capacity < 2 * expected)
        capacity *= 2;
    FIRN_TRY(firn_array_claim(budget, &map->entries, capacity, sizeof(firn_block_entry), error));
    firn_block_entry *entries = map->entries.data;
    for (size_t i = 0; i < capacity; i++)
        entries[i].value = -1;
    map->mask = capacity - 1;
    map->count = 0;
    return FIRN_OK;
}

// Doubles the table; keys holds every key that is in it, in the order of their numbers.
static firn_result grow_map(firn_block_map *map, firn_budget *budget, const uint64_t *keys,
                            firn_error *error)
{
    size_t count = map->count;
    FIRN_TRY(firn_block_map_clear(map, budget, 2 * count, error));
    firn_block_entry *entries = map->entries.data;
    for (size_t i = 0; i < count; i++) {
        size_t slot = slot_of(map, keys[i]);
        entries[slot] = (firn_block_entry){keys[i], (int32_t)i};
    }
    map->count = count;
    return FIRN_OK;
}

firn_result firn_block_map_insert(firn_block_map *map, firn_budget *budget, firn_array *keys,
                                  uint64_t key, int32_t *number, firn_error *error)
{
    firn_block_entry *entries = map->entries.data;
    size_t slot = slot_of(map, key);
    if (entries[slot].value < 0) {
        FIRN_TRY(firn_array_reserve(budget, keys, map->count + 1, sizeof(uint64_t), error));
        if (2 * (map->count + 1) > map->mask) {
            FIRN_TRY(grow_map(map, budget, keys->data, error));
            entries = map->entries.data;
            slot = slot_of(map, key);
        }
        entries[slot] = (firn_block_entry){key, (int32_t)map->count};
        ((uint64_t *)keys->data)[map->count++] = key;
    }
    *number = entries[slot].value;
    return FIRN_OK;
}

void firn_block_map_renumber(firn_block_map *map, const uint64_t *sorted_keys)
{
    firn_block_entry *entries = map->entries.data;
    for (size_t i = 0; i < map->count; i++)
        entries[slot_of(map, sorted_keys[i])].value = (int32_t)i;
}

void firn_grid_free(firn_grid *grid)
{
    firn_array *arrays[] = {&grid->blocks,   &grid->node_coord,  &grid->color_blocks,
                            &grid->keys,     &grid->destination, &grid->cells,
                            &grid->order_of, &grid->map.entries};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(grid->budget, arrays[i]);
    for (int f = 0; f < FIRN_NODE_FIELD_COUNT; f++)
        firn_array_free(grid->budget, &grid->field[f]);
}
