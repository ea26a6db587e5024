/// The hash of leaves and tiles that level sets and velocity grids share.
#ifndef FIRN_LEAF_INDEX_H
#define FIRN_LEAF_INDEX_H

#include "base/memory.h"

#include "firn/level_set.h"

enum { FIRN_TILE_LEVELS = 3 }; // edges of 8, 128 and 4096 voxels

/// Where the leaves and tiles are.
typedef struct firn_leaf_index {
    firn_array table; // entries by hash, a power of two of them
    uint32_t mask;    // capacity - 1; meaningless while count is 0
    size_t count;
    bool has_level[FIRN_TILE_LEVELS];
    firn_coord lower, upper; // voxels, corners of the box around all; upper is beyond the last
} firn_leaf_index;

typedef struct firn_leaf_entry {
    firn_coord cell; // origin / edge
    int32_t level;   // of the edge: 0, 1, 2; FIRN_LEAF_EMPTY
    uint32_t item;   // what the owner of the index keeps for it
    float minimum;   // m, of its values
} firn_leaf_entry;

enum { FIRN_LEAF_EMPTY = -1 };

// Voxels beyond are out of reach; sums of coordinates cannot overflow.
enum { FIRN_VOXEL_LIMIT = 1 << 30 };

static inline int firn_level_shift(int level) { return level == 0 ? 3 : level == 1 ? 7 : 12; }

static inline bool firn_same_cell(firn_coord a, firn_coord b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static inline firn_coord firn_cell_of(firn_coord voxel, int level)
{
    int shift = firn_level_shift(level);
    return (firn_coord){voxel.x >> shift, voxel.y >> shift, voxel.z >> shift};
}

/// Number of a voxel in its leaf.
static inline int firn_leaf_offset(firn_coord voxel)
{
    return ((voxel.x & 7) * 8 + (voxel.y & 7)) * 8 + (voxel.z & 7);
}

// floorf is a call on processors of the baseline.
static inline int32_t firn_floor_int(float x)
{
    int32_t truncated = (int32_t)x;
    return truncated - (x < (float)truncated);
}

/// The voxel at or below a point that is within reach.
static inline firn_coord firn_floor_coord(firn_vec3 p)
{
    return (firn_coord){firn_floor_int(p.x), firn_floor_int(p.y), firn_floor_int(p.z)};
}

static inline uint32_t firn_cell_hash(firn_coord cell, int level)
{
    uint32_t h = (uint32_t)cell.x * 0x9E3779B1u ^ (uint32_t)cell.y * 0x85EBCA77u ^
                 (uint32_t)cell.z * 0xC2B2AE3Du ^ (uint32_t)level * 0x27D4EB2Fu;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    return h ^ h >> 13;
}

/// The slot that holds the cell, or the empty one where it belongs.
static inline firn_leaf_entry *firn_leaf_slot(const firn_leaf_index *index, firn_coord cell,
                                              int level)
{
    firn_leaf_entry *entries = index->table.data;
    uint32_t at = firn_cell_hash(cell, level) & index->mask;
    while (entries[at].level != FIRN_LEAF_EMPTY &&
           !(entries[at].level == level && firn_same_cell(entries[at].cell, cell)))
        at = (at + 1) & index->mask;
    return &entries[at];
}

/// The entry of a cell of 8^3 voxels, or NULL.
static inline const firn_leaf_entry *firn_leaf_find(const firn_leaf_index *index, firn_coord cell)
{
    if (!index->has_level[0])
        return NULL;
    const firn_leaf_entry *slot = firn_leaf_slot(index, cell, 0);
    return slot->level == FIRN_LEAF_EMPTY ? NULL : slot;
}

/// Whether a point in voxels is where an entry can have a say; never for one that is not finite.
static inline bool firn_leaf_index_holds(const firn_leaf_index *index, firn_vec3 p)
{
    return index->count > 0 && p.x > (float)(index->lower.x - 1) && p.x < (float)index->upper.x &&
           p.y > (float)(index->lower.y - 1) && p.y < (float)index->upper.y &&
           p.z > (float)(index->lower.z - 1) && p.z < (float)index->upper.z;
}

/// Empties the index and makes room for count entries.
firn_result firn_leaf_index_claim(firn_budget *budget, firn_leaf_index *index, size_t count,
                                  firn_error *error);

/// Puts an entry (its item and minimum) at an origin, for which there must be room.
firn_result firn_leaf_index_insert(firn_leaf_index *index, firn_coord origin, int level,
                                   firn_leaf_entry value, firn_error *error);

/// Refuses a transform that is not finite, turned by something else than a unit quaternion or not
/// scaled by a positive number. what names it in the message.
firn_result firn_transform_check(const firn_transform *transform, const char *what,
                                 firn_error *error);

/// The same transform with a rotation of exactly unit length.
firn_transform firn_unit_rotation(firn_transform transform);

#endif
