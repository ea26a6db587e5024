/// Finds blocks of 8^3 voxels by their coordinates: a dense root of nodes with 4^3 blocks each.
#ifndef FIRN_RENDER_BLOCK_INDEX_H
#define FIRN_RENDER_BLOCK_INDEX_H

#include "firn/base.h"
#include "firn/vec.h"

enum { FIRN_NO_BLOCK = -1 };

/// All zero is an empty index.
typedef struct firn_block_index {
    firn_coord lower;   // blocks, a multiple of 4: where the root begins
    uint32_t extent[3]; // blocks, multiples of 4
    uint32_t *root;     // number of a node + 1; 0: none
    uint32_t *nodes;    // 64 for each: number of a block + 1; 0: none
    size_t node_count, node_capacity;
    size_t count; // of blocks
} firn_block_index;

/// Prepares for blocks within [lower, upper], both included.
firn_result firn_block_index_open(firn_block_index *index, firn_coord lower, firn_coord upper,
                                  firn_error *error);
void firn_block_index_free(firn_block_index *index);

/// Finds or makes a block; numbers are given in order.
firn_result firn_block_index_add(firn_block_index *index, firn_coord block, uint32_t *number,
                                 firn_error *error);

size_t firn_block_index_bytes(const firn_block_index *index);

/// The number of a block, or FIRN_NO_BLOCK.
static inline int32_t firn_block_find(const firn_block_index *index, int32_t x, int32_t y,
                                      int32_t z)
{
    uint32_t i = (uint32_t)x - (uint32_t)index->lower.x, j = (uint32_t)y - (uint32_t)index->lower.y,
             k = (uint32_t)z - (uint32_t)index->lower.z;
    if (i >= index->extent[0] || j >= index->extent[1] || k >= index->extent[2])
        return FIRN_NO_BLOCK;
    size_t at = ((size_t)(i >> 2) * (index->extent[1] >> 2) + (j >> 2)) * (index->extent[2] >> 2) +
                (k >> 2);
    uint32_t node = index->root[at];
    if (node == 0)
        return FIRN_NO_BLOCK;
    uint32_t slot = (i & 3) << 4 | (j & 3) << 2 | (k & 3);
    return (int32_t)index->nodes[(size_t)(node - 1) * 64 + slot] - 1;
}

#endif
