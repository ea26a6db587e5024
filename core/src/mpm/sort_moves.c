/// Where particles go in a sort: out of the world, to a block around their own, or farther.
#include "sorting.h"

#include <stdlib.h>

static firn_coord coord_add(firn_coord a, firn_coord b)
{
    return (firn_coord){a.x + b.x, a.y + b.y, a.z + b.z};
}

// firn_blocks_below as an integer; what is no number, or too far for one, counts as out of range.
static int32_t whole_blocks(float u)
{
    return fabsf(u) < 4.0f * FIRN_COORD_LIMIT ? (int32_t)firn_blocks_below(u)
                                              : 2 * FIRN_COORD_LIMIT;
}

static firn_coord shift_of(const firn_sorting *s, size_t p)
{
    return (firn_coord){whole_blocks(s->u[0][p]), whole_blocks(s->u[1][p]),
                        whole_blocks(s->u[2][p])};
}

static bool in_range(firn_coord c)
{
    int32_t limit = FIRN_COORD_LIMIT - 2;
    return abs(c.x) < limit && abs(c.y) < limit && abs(c.z) < limit;
}

static bool in_bounds(const firn_sorting *s, firn_coord block, const float u[3])
{
    double h = s->grid->cell_size, shift = firn_grid_shift(s->grid);
    double x = h * (u[0] + 4.0 * block.x + shift);
    double y = h * (u[1] + 4.0 * block.y + shift);
    double z = h * (u[2] + 4.0 * block.z + shift);
    const firn_bounds *b = s->bounds;
    return x >= b->lower.x && y >= b->lower.y && z >= b->lower.z && x <= b->upper.x &&
           y <= b->upper.y && z <= b->upper.z;
}

static bool particle_in_bounds(const firn_sorting *s, firn_coord block, size_t p)
{
    return in_bounds(s, block, (const float[3]){s->u[0][p], s->u[1][p], s->u[2][p]});
}

// True when a block and those around it are far from all bounds, so that no particle needs a look.
static bool block_in_bounds(const firn_sorting *s, firn_coord block)
{
    firn_coord low = firn_block_neighbor(block, 0),
               high = firn_block_neighbor(block, FIRN_NEIGHBORS - 1);
    return in_range(low) && in_range(high) &&
           in_bounds(s, block, (const float[3]){-5.0f, -5.0f, -5.0f}) &&
           in_bounds(s, block, (const float[3]){9.0f, 9.0f, 9.0f});
}

static int group_of(const firn_sorting *s, firn_coord block, size_t p)
{
    firn_coord shift = shift_of(s, p);
    if (!in_range(coord_add(block, shift)) || !particle_in_bounds(s, block, p))
        return FIRN_MOVE_REMOVED;
    if (abs(shift.x) > 1 || abs(shift.y) > 1 || abs(shift.z) > 1)
        return FIRN_MOVE_FAR;
    return 9 * shift.x + 3 * shift.y + shift.z + FIRN_MOVE_STAY;
}

// What is no number, or too far for an integer, is going to be removed.
static uint32_t cell_along(float u)
{
    return fabsf(u) < 1e9f ? (uint32_t)(int32_t)floorf(u) & 3 : 0;
}

static uint32_t code_of(const firn_sorting *s, size_t p, int group)
{
    uint32_t cell =
        cell_along(s->u[0][p]) << 4 | cell_along(s->u[1][p]) << 2 | cell_along(s->u[2][p]);
    if (s->model != NULL)
        cell |= (uint32_t)s->model[((const uint8_t *)s->particles->material.data)[p]]
                << FIRN_CELL_BITS;
    return cell << FIRN_GROUP_BITS | (uint32_t)group;
}

static uint32_t group_in(uint32_t code) { return code & ((1u << FIRN_GROUP_BITS) - 1); }

// The codes of a block's particles if all are less than a block away from it.
static bool find_near_codes(const firn_sorting *s, const firn_block *block)
{
    const float *x = s->u[0], *y = s->u[1], *z = s->u[2];
    bool near = true;
    for (size_t p = block->begin; p < block->end; p++) {
        near &= fabsf(x[p] - 2.0f) < 6.0f && fabsf(y[p] - 2.0f) < 6.0f && fabsf(z[p] - 2.0f) < 6.0f;
        int group = 9 * ((x[p] >= 4.0f) - (x[p] < 0.0f)) + 3 * ((y[p] >= 4.0f) - (y[p] < 0.0f)) +
                    (z[p] >= 4.0f) - (z[p] < 0.0f) + FIRN_MOVE_STAY;
        s->codes[p] = code_of(s, p, group);
    }
    return near;
}

void firn_sort_group_block(const firn_sorting *s, size_t b)
{
    const firn_block *block = &firn_grid_blocks(s->grid)[b];
    uint32_t *order = s->order;
    if (!block_in_bounds(s, block->coord) || !find_near_codes(s, block))
        for (size_t p = block->begin; p < block->end; p++)
            s->codes[p] = code_of(s, p, group_of(s, block->coord, p));
    uint32_t at[FIRN_MOVE_GROUPS] = {0}, sum = block->begin;
    for (size_t p = block->begin; p < block->end; p++)
        at[group_in(s->codes[p])]++;
    for (int g = 0; g < FIRN_MOVE_GROUPS; g++) {
        uint32_t here = at[g];
        s->moves[b].begin[g] = at[g] = sum;
        sum += here;
    }
    s->moves[b].begin[FIRN_MOVE_GROUPS] = sum;
    for (size_t p = block->begin; p < block->end; p++)
        order[at[group_in(s->codes[p])]++] = (uint32_t)p;
}

uint32_t firn_sort_new_code(const firn_sorting *s, size_t p)
{
    return code_of(s, p, FIRN_MOVE_STAY);
}

bool firn_sort_keeps_new(const firn_sorting *s, size_t i)
{
    firn_coord coord = firn_block_coord(s->new_keys[i]);
    return in_range(coord) && particle_in_bounds(s, coord, s->sorted_count + i) &&
           (s->grid->owners == NULL || firn_owners_own(s->grid->owners, s->new_keys[i]));
}

uint64_t firn_sort_far_key(const firn_sorting *s, size_t b, size_t p)
{
    return firn_block_key(coord_add(firn_grid_blocks(s->grid)[b].coord, shift_of(s, p)));
}
