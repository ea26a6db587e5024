#include "block_map.h"

#include "base/radix.h"

#define NO_KEY UINT64_MAX

enum { LEAST_CAPACITY = 4096 }; // more than threads that may all overshoot the limit by one

typedef struct firn_block_entry {
    _Atomic uint64_t key;
    int32_t value;
} firn_block_entry;

static uint64_t key_at(const firn_block_entry *entry)
{
    return atomic_load_explicit(&entry->key, memory_order_relaxed);
}

static size_t slot_of(const firn_block_map *map, uint64_t key)
{
    const firn_block_entry *entries = map->entries.data;
    // Four blocks along z share a line of the cache. The high half is folded in because the low
    // bits of a product know nothing of x, which stands high in a key.
    uint64_t hash = (key >> 2) * 0x9E3779B97F4A7C15u;
    size_t slot = (size_t)((hash ^ hash >> 32) << 2 | (key & 3)) & map->mask;
    for (uint64_t seen = key_at(&entries[slot]); seen != NO_KEY && seen != key;
         seen = key_at(&entries[slot]))
        slot = (slot + 1) & map->mask;
    return slot;
}

int32_t firn_block_map_find(const firn_block_map *map, uint64_t key)
{
    if (map->count == 0)
        return -1;
    const firn_block_entry *entry = (firn_block_entry *)map->entries.data + slot_of(map, key);
    return key_at(entry) == key ? entry->value : -1;
}

static firn_result clear(firn_block_map *map, const firn_block_filling *filling, size_t expected,
                         firn_error *error)
{
    firn_budget *budget = filling->budget;
    size_t capacity = LEAST_CAPACITY;
    while (capacity < 2 * expected)
        capacity *= 2;
    FIRN_TRY(firn_array_claim(budget, &map->entries, capacity, sizeof(firn_block_entry), error));
    FIRN_TRY(firn_array_claim(budget, &map->keys, capacity / 2, sizeof(uint64_t), error));
    firn_block_entry *entries = map->entries.data;
#pragma omp parallel for schedule(static) num_threads(filling->thread_count)
    for (size_t i = 0; i < capacity; i++)
        atomic_store_explicit(&entries[i].key, NO_KEY, memory_order_relaxed);
    map->mask = capacity - 1;
    map->limit = capacity / 2;
    map->count = 0;
    atomic_store_explicit(&map->added, 0, memory_order_relaxed);
    return FIRN_OK;
}

bool firn_block_map_add(firn_block_map *map, uint64_t key)
{
    firn_block_entry *entries = map->entries.data;
    for (;;) {
        firn_block_entry *entry = &entries[slot_of(map, key)];
        if (key_at(entry) == key)
            return true;
        if (atomic_load_explicit(&map->added, memory_order_relaxed) >= map->limit)
            return false;
        uint64_t free = NO_KEY;
        if (!atomic_compare_exchange_strong_explicit(&entry->key, &free, key, memory_order_relaxed,
                                                     memory_order_relaxed))
            continue; // another thread was faster, perhaps with the same key
        size_t number = atomic_fetch_add_explicit(&map->added, 1, memory_order_relaxed);
        if (number >= map->limit)
            return false;
        ((uint64_t *)map->keys.data)[number] = key;
        return true;
    }
}

/// The box around some blocks, and the bits that a coordinate in it takes.
typedef struct key_box {
    firn_coord low;
    int bits[3];
} key_box;

static key_box box_of(const uint64_t *keys, size_t count, int thread_count)
{
    int32_t x0 = INT32_MAX, y0 = INT32_MAX, z0 = INT32_MAX;
    int32_t x1 = INT32_MIN, y1 = INT32_MIN, z1 = INT32_MIN;
#pragma omp parallel for schedule(static) reduction(min                                            \
                                                    : x0, y0, z0) reduction(max                    \
                                                                            : x1, y1, z1)          \
    num_threads(thread_count)
    for (size_t i = 0; i < count; i++) {
        firn_coord c = firn_block_coord(keys[i]);
        x0 = c.x < x0 ? c.x : x0;
        y0 = c.y < y0 ? c.y : y0;
        z0 = c.z < z0 ? c.z : z0;
        x1 = c.x > x1 ? c.x : x1;
        y1 = c.y > y1 ? c.y : y1;
        z1 = c.z > z1 ? c.z : z1;
    }
    return (key_box){{x0, y0, z0},
                     {firn_bit_count((uint64_t)(x1 - x0)), firn_bit_count((uint64_t)(y1 - y0)),
                      firn_bit_count((uint64_t)(z1 - z0))}};
}

static uint64_t pack(const key_box *box, uint64_t key)
{
    firn_coord c = firn_block_coord(key);
    return ((uint64_t)(c.x - box->low.x) << box->bits[1] | (uint64_t)(c.y - box->low.y))
               << box->bits[2] |
           (uint64_t)(c.z - box->low.z);
}

static uint64_t unpack(const key_box *box, uint64_t code)
{
    int32_t z = (int32_t)(code & (((uint64_t)1 << box->bits[2]) - 1));
    code >>= box->bits[2];
    int32_t y = (int32_t)(code & (((uint64_t)1 << box->bits[1]) - 1));
    int32_t x = (int32_t)(code >> box->bits[1]);
    return firn_block_key((firn_coord){box->low.x + x, box->low.y + y, box->low.z + z});
}

// Keys are sorted by their places in the box around them, which take few bits.
static void sort_keys(uint64_t *keys, uint64_t *scratch, size_t count, int thread_count)
{
    key_box box = box_of(keys, count, thread_count);
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < count; i++)
        keys[i] = pack(&box, keys[i]);
    firn_bit_range bits = {0, box.bits[0] + box.bits[1] + box.bits[2]};
    const uint64_t *sorted = firn_radix_sort(keys, scratch, count, bits, thread_count);
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < count; i++)
        keys[i] = unpack(&box, sorted[i]);
}

firn_result firn_block_map_fill(firn_block_map *map, const firn_block_filling *filling,
                                firn_error *error)
{
    size_t expected = filling->expected;
    do {
        FIRN_TRY(clear(map, filling, expected, error));
        expected = 2 * map->limit;
    } while (!filling->add(map, filling->user));
    size_t count = atomic_load_explicit(&map->added, memory_order_relaxed);
    FIRN_TRY(firn_array_claim(filling->budget, filling->scratch, count, sizeof(uint64_t), error));
    firn_block_entry *entries = map->entries.data;
    uint64_t *keys = map->keys.data;
    if (count > 0)
        sort_keys(keys, filling->scratch->data, count, filling->thread_count);
#pragma omp parallel for schedule(static) num_threads(filling->thread_count)
    for (size_t i = 0; i < count; i++)
        entries[slot_of(map, keys[i])].value = (int32_t)i;
    map->count = count;
    return FIRN_OK;
}
