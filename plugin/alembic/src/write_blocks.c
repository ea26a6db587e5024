#include "write.h"

#include <string.h>

firn_abc_block *firn_abc_blocks_find(firn_abc_block_map *map, firn_abc_digest key, uint64_t bytes)
{
    size_t mask = map->capacity - 1;
    for (size_t i = (size_t)key.word[0] & mask;; i = (i + 1) & mask) {
        firn_abc_block *block = &map->slots[i];
        if (block->word == 0 || (block->bytes == bytes && block->key.word[0] == key.word[0] &&
                                 block->key.word[1] == key.word[1]))
            return block;
    }
}

bool firn_abc_blocks_reserve(firn_abc_block_map *map)
{
    if (2 * (map->count + 1) <= map->capacity)
        return true;
    firn_abc_block_map grown = {.count = map->count,
                                .capacity = map->capacity == 0 ? 64 : 2 * map->capacity};
    grown.slots = firn_alloc_zero(grown.capacity * sizeof *grown.slots);
    if (grown.slots == NULL)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].word != 0)
            *firn_abc_blocks_find(&grown, map->slots[i].key, map->slots[i].bytes) = map->slots[i];
    firn_free(map->slots);
    *map = grown;
    return true;
}
