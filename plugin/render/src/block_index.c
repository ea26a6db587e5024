#include "block_index.h"

#include <string.h>

enum { NODE_BLOCKS = 64 };
#define ROOT_LIMIT ((uint64_t)1 << 26) // entries, 256 MB

static firn_result out_of_memory(firn_error *error)
{
    return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot index the voxels");
}

firn_result firn_block_index_open(firn_block_index *index, firn_coord lower, firn_coord upper,
                                  firn_error *error)
{
    const int32_t from[3] = {lower.x, lower.y, lower.z}, to[3] = {upper.x, upper.y, upper.z};
    int32_t begin[3];
    uint64_t entries = 1;
    memset(index, 0, sizeof *index);
    for (int axis = 0; axis < 3; axis++) {
        begin[axis] = from[axis] & ~3;
        int64_t nodes = (((int64_t)to[axis] & ~3) - begin[axis]) / 4 + 1;
        entries *= (uint64_t)nodes;
        index->extent[axis] = (uint32_t)(4 * nodes);
        if (nodes <= 0 || nodes > (int64_t)ROOT_LIMIT || entries > ROOT_LIMIT)
            return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                             "the voxels are spread too far for their size: remove the strays or "
                             "use larger voxels");
    }
    index->lower = (firn_coord){begin[0], begin[1], begin[2]};
    index->root = firn_alloc_zero(entries * sizeof *index->root);
    return index->root != NULL ? FIRN_OK : out_of_memory(error);
}

void firn_block_index_free(firn_block_index *index)
{
    firn_free(index->root);
    firn_free(index->nodes);
    memset(index, 0, sizeof *index);
}

static firn_result add_node(firn_block_index *index, uint32_t *node, firn_error *error)
{
    if (index->node_count == index->node_capacity) {
        size_t capacity = index->node_capacity > 0 ? 2 * index->node_capacity : 8;
        uint32_t *nodes = firn_alloc(capacity * NODE_BLOCKS * sizeof *nodes);
        if (nodes == NULL)
            return out_of_memory(error);
        if (index->node_count > 0)
            memcpy(nodes, index->nodes, index->node_count * NODE_BLOCKS * sizeof *nodes);
        firn_free(index->nodes);
        index->nodes = nodes;
        index->node_capacity = capacity;
    }
    memset(index->nodes + index->node_count * NODE_BLOCKS, 0, NODE_BLOCKS * sizeof *index->nodes);
    *node = (uint32_t)++index->node_count;
    return FIRN_OK;
}

firn_result firn_block_index_add(firn_block_index *index, firn_coord block, uint32_t *number,
                                 firn_error *error)
{
    uint32_t i = (uint32_t)block.x - (uint32_t)index->lower.x,
             j = (uint32_t)block.y - (uint32_t)index->lower.y,
             k = (uint32_t)block.z - (uint32_t)index->lower.z;
    FIRN_ASSERT(i < index->extent[0] && j < index->extent[1] && k < index->extent[2]);
    size_t at = ((size_t)(i >> 2) * (index->extent[1] >> 2) + (j >> 2)) * (index->extent[2] >> 2) +
                (k >> 2);
    if (index->root[at] == 0)
        FIRN_TRY(add_node(index, &index->root[at], error));
    uint32_t slot = (i & 3) << 4 | (j & 3) << 2 | (k & 3);
    uint32_t *entry = &index->nodes[(size_t)(index->root[at] - 1) * NODE_BLOCKS + slot];
    if (*entry == 0)
        *entry = (uint32_t)++index->count;
    *number = *entry - 1;
    return FIRN_OK;
}

size_t firn_block_index_bytes(const firn_block_index *index)
{
    size_t root =
        (size_t)(index->extent[0] >> 2) * (index->extent[1] >> 2) * (index->extent[2] >> 2);
    return (root + index->node_capacity * NODE_BLOCKS) * sizeof(uint32_t);
}
