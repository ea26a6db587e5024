#include "coord_table.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const firn_coord_table *table, firn_coord coord)
{
    uint64_t hash = (uint64_t)(uint32_t)coord.x * 0x9E3779B97F4A7C15u ^
                    (uint64_t)(uint32_t)coord.y * 0xC2B2AE3D27D4EB4Fu ^
                    (uint64_t)(uint32_t)coord.z * 0x165667B19E3779F9u;
    return (size_t)(hash ^ (hash >> 29) ^ (hash >> 43)) & table->slot_mask;
}

static bool same(firn_coord a, firn_coord b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// The slot that holds coord, or the free one where it belongs.
static size_t probe(const firn_coord_table *table, firn_coord coord)
{
    size_t slot = slot_of(table, coord);
    while (table->slots[slot] != 0 && !same(table->entries[table->slots[slot] - 1].coord, coord))
        slot = (slot + 1) & table->slot_mask;
    return slot;
}

static void fill_slots(firn_coord_table *table)
{
    memset(table->slots, 0, (table->slot_mask + 1) * sizeof *table->slots);
    for (size_t i = 0; i < table->count; i++)
        table->slots[probe(table, table->entries[i].coord)] = (uint32_t)(i + 1);
}

static firn_result grow(firn_coord_table *table, firn_error *error)
{
    size_t capacity = table->capacity > 0 ? 2 * table->capacity : 256;
    firn_coord_entry *entries = NULL;
    uint32_t *slots = NULL;
    if (capacity <= UINT32_MAX / 2) {
        entries = firn_alloc(capacity * sizeof *entries);
        slots = firn_alloc(2 * capacity * sizeof *slots);
    }
    if (entries == NULL || slots == NULL) {
        firn_free(entries);
        firn_free(slots);
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "out of memory: cannot list more than %zu blocks of space; use larger "
                         "voxels or cells",
                         table->count);
    }
    if (table->count > 0)
        memcpy(entries, table->entries, table->count * sizeof *entries);
    firn_free(table->entries);
    firn_free(table->slots);
    table->entries = entries;
    table->capacity = capacity;
    table->slots = slots;
    table->slot_mask = 2 * capacity - 1;
    fill_slots(table);
    return FIRN_OK;
}

firn_result firn_coord_table_add(firn_coord_table *table, firn_coord coord, uint32_t *number,
                                 firn_error *error)
{
    if (table->capacity == 0)
        FIRN_TRY(grow(table, error));
    size_t slot = probe(table, coord);
    if (table->slots[slot] == 0) {
        if (table->count == table->capacity) {
            FIRN_TRY(grow(table, error));
            slot = probe(table, coord);
        }
        table->entries[table->count] = (firn_coord_entry){.coord = coord};
        table->slots[slot] = (uint32_t)++table->count;
    }
    *number = table->slots[slot] - 1;
    return FIRN_OK;
}

size_t firn_coord_table_find(const firn_coord_table *table, firn_coord coord)
{
    if (table->count == 0)
        return 0;
    uint32_t held = table->slots[probe(table, coord)];
    return held != 0 ? held - 1 : table->count;
}

static int compare_entries(const void *a, const void *b)
{
    firn_coord p = ((const firn_coord_entry *)a)->coord, q = ((const firn_coord_entry *)b)->coord;
    if (p.x != q.x)
        return p.x < q.x ? -1 : 1;
    if (p.y != q.y)
        return p.y < q.y ? -1 : 1;
    return p.z < q.z ? -1 : p.z > q.z;
}

void firn_coord_table_sort(firn_coord_table *table)
{
    if (table->count == 0)
        return;
    qsort(table->entries, table->count, sizeof *table->entries, compare_entries);
    fill_slots(table);
}

void firn_coord_table_free(firn_coord_table *table)
{
    firn_free(table->entries);
    firn_free(table->slots);
    *table = (firn_coord_table){0};
}
