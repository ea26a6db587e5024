/// Stable sort of the particles by block and cell, and the blocks that follow from it.
#include "grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    REMOVED = -1,
    CHUNK_PARTICLES = 8192, // one unit of parallel counting
    CHUNK_MAX = 64,
    CELLS = FIRN_BLOCK_NODES,
};

typedef struct sorting {
    firn_grid *grid;
    firn_particles *particles;
    const firn_bounds *bounds;
    const uint64_t *new_keys;
    size_t sorted_count;
    int thread_count;
    size_t key_count;   // blocks after the sort
    size_t chunk_count; // of the counting
} sorting;

// Whole blocks in a distance of u cells; what is no number, or too far for an integer, counts as
// out of range.
static int32_t whole_blocks(float u)
{
    return fabsf(u) < 4.0f * FIRN_COORD_LIMIT ? (int32_t)floorf(0.25f * u) : 2 * FIRN_COORD_LIMIT;
}

static firn_coord shift_of(const float *const u[3], size_t p)
{
    firn_coord shift = {whole_blocks(u[0][p]), whole_blocks(u[1][p]), whole_blocks(u[2][p])};
    return shift;
}

static bool is_zero(firn_coord c) { return (c.x | c.y | c.z) == 0; }

static bool in_range(firn_coord c)
{
    int32_t limit = FIRN_COORD_LIMIT - 2;
    return abs(c.x) < limit && abs(c.y) < limit && abs(c.z) < limit;
}

static bool in_bounds(const sorting *s, firn_coord block, const float *const u[3], size_t p)
{
    double h = s->grid->cell_size, shift = firn_grid_shift(s->grid);
    double x = h * (u[0][p] + 4.0 * block.x + shift);
    double y = h * (u[1][p] + 4.0 * block.y + shift);
    double z = h * (u[2][p] + 4.0 * block.z + shift);
    const firn_bounds *b = s->bounds;
    return x >= b->lower.x && y >= b->lower.y && z >= b->lower.z && x <= b->upper.x &&
           y <= b->upper.y && z <= b->upper.z;
}

// True when a whole block and its drift are far from the bounds, so that no particle needs a look.
static bool block_in_bounds(const sorting *s, firn_coord block)
{
    static const float corner[2][3] = {{-5.0f, -5.0f, -5.0f}, {9.0f, 9.0f, 9.0f}};
    const float *const low[3] = {&corner[0][0], &corner[0][1], &corner[0][2]};
    const float *const high[3] = {&corner[1][0], &corner[1][1], &corner[1][2]};
    return in_bounds(s, block, low, 0) && in_bounds(s, block, high, 0);
}

static firn_result number_of(sorting *s, firn_coord block, int32_t *number, firn_error *error)
{
    firn_grid *grid = s->grid;
    return firn_block_map_insert(&grid->map, grid->budget, &grid->keys, firn_block_key(block),
                                 number, error);
}

// Numbers the block that every particle now belongs to. Most stay: those need no look-up.
static firn_result find_destinations(sorting *s, firn_error *error)
{
    firn_grid *grid = s->grid;
    const float *const u[3] = {firn_channel_of(s->particles, FIRN_U),
                               firn_channel_of(s->particles, FIRN_U + 1),
                               firn_channel_of(s->particles, FIRN_U + 2)};
    int32_t *destination = grid->destination.data;
    for (size_t b = 0; b < grid->block_count; b++) {
        const firn_block *block = &firn_grid_blocks(grid)[b];
        bool inside = block_in_bounds(s, block->coord);
        int32_t home = -1;
        for (size_t p = block->begin; p < block->end; p++) {
            firn_coord shift = shift_of(u, p);
            firn_coord coord = {block->coord.x + shift.x, block->coord.y + shift.y,
                                block->coord.z + shift.z};
            if (!in_range(coord) || (!inside && !in_bounds(s, block->coord, u, p))) {
                destination[p] = REMOVED;
            } else if (!is_zero(shift)) {
                FIRN_TRY(number_of(s, coord, &destination[p], error));
            } else {
                if (home < 0)
                    FIRN_TRY(number_of(s, coord, &home, error));
                destination[p] = home;
            }
        }
    }
    for (size_t p = s->sorted_count; p < s->particles->count; p++) {
        firn_coord coord = firn_block_coord(s->new_keys[p - s->sorted_count]);
        if (in_range(coord) && in_bounds(s, coord, u, p))
            FIRN_TRY(number_of(s, coord, &destination[p], error));
        else
            destination[p] = REMOVED;
    }
    s->key_count = grid->map.count;
    return FIRN_OK;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

// Puts the keys in order and tells each old number its place; places is scratch for that.
static void rank_keys(firn_grid *grid, int32_t *places)
{
    uint64_t *keys = grid->keys.data;
    size_t count = grid->map.count;
    if (count == 0)
        return;
    uint64_t *sorted = (uint64_t *)(places + 2 * ((count + 1) / 2));
    memcpy(sorted, keys, count * sizeof *keys);
    qsort(sorted, count, sizeof *sorted, compare_keys);
    firn_block_map_renumber(&grid->map, sorted);
    for (size_t i = 0; i < count; i++)
        places[i] = firn_block_map_find(&grid->map, keys[i]);
    memcpy(keys, sorted, count * sizeof *keys);
}

static firn_result rank_destinations(sorting *s, firn_error *error)
{
    firn_grid *grid = s->grid;
    FIRN_TRY(firn_array_claim(grid->budget, &grid->cells, s->key_count + 1, 16, error));
    int32_t *places = grid->cells.data;
    rank_keys(grid, places);
    int32_t *destination = grid->destination.data;
    size_t count = s->particles->count;
#pragma omp parallel for schedule(static) num_threads(s->thread_count)
    for (size_t p = 0; p < count; p++)
        if (destination[p] != REMOVED)
            destination[p] = places[destination[p]];
    return FIRN_OK;
}

static size_t chunk_begin(const sorting *s, size_t chunk)
{
    return s->particles->count * chunk / s->chunk_count;
}

// Counting sort by block: the place of a particle follows from its block and its present place
// alone, so the result does not depend on how the work is shared.
static firn_result order_by_block(sorting *s, firn_block *blocks, firn_error *error)
{
    firn_grid *grid = s->grid;
    size_t blocks_count = s->key_count, chunks = s->chunk_count;
    FIRN_TRY(firn_array_claim(grid->budget, &grid->cells, blocks_count * chunks + 1,
                              sizeof(uint32_t), error));
    uint32_t *counts = grid->cells.data, *order = grid->order_of.data;
    const int32_t *destination = grid->destination.data;
    memset(counts, 0, blocks_count * chunks * sizeof *counts);
#pragma omp parallel for schedule(dynamic) num_threads(s->thread_count)
    for (size_t c = 0; c < chunks; c++)
        for (size_t p = chunk_begin(s, c); p < chunk_begin(s, c + 1); p++)
            if (destination[p] != REMOVED)
                counts[c * blocks_count + (size_t)destination[p]]++;
    uint32_t sum = 0;
    for (size_t b = 0; b < blocks_count; b++) {
        blocks[b].begin = sum;
        for (size_t c = 0; c < chunks; c++) {
            uint32_t here = counts[c * blocks_count + b];
            counts[c * blocks_count + b] = sum;
            sum += here;
        }
        blocks[b].end = sum;
    }
#pragma omp parallel for schedule(dynamic) num_threads(s->thread_count)
    for (size_t c = 0; c < chunks; c++)
        for (size_t p = chunk_begin(s, c); p < chunk_begin(s, c + 1); p++)
            if (destination[p] != REMOVED)
                order[counts[c * blocks_count + (size_t)destination[p]]++] = (uint32_t)p;
    return FIRN_OK;
}

static uint32_t cell_of(const float *u, uint32_t p) { return (uint32_t)(int32_t)floorf(u[p]) & 3; }

// Within a block, particles of one cell stand together. Writes the final order over destination.
static void order_by_cell(const sorting *s, const firn_block *block)
{
    const float *const u[3] = {firn_channel_of(s->particles, FIRN_U),
                               firn_channel_of(s->particles, FIRN_U + 1),
                               firn_channel_of(s->particles, FIRN_U + 2)};
    const uint32_t *order = s->grid->order_of.data;
    uint32_t *final = s->grid->destination.data;
    uint32_t counts[CELLS] = {0};
    for (uint32_t i = block->begin; i < block->end; i++) {
        uint32_t p = order[i];
        counts[cell_of(u[0], p) << 4 | cell_of(u[1], p) << 2 | cell_of(u[2], p)]++;
    }
    uint32_t sum = block->begin;
    for (int c = 0; c < CELLS; c++) {
        uint32_t here = counts[c];
        counts[c] = sum;
        sum += here;
    }
    for (uint32_t i = block->begin; i < block->end; i++) {
        uint32_t p = order[i];
        final[counts[cell_of(u[0], p) << 4 | cell_of(u[1], p) << 2 | cell_of(u[2], p)]++] = p;
    }
}

// How far positions in a block may drift along each axis: a cell at least.
static void find_reach(const sorting *s, firn_block *block)
{
    const uint32_t *order = s->grid->order_of.data;
    for (int axis = 0; axis < 3; axis++) {
        const float *u = firn_channel_of(s->particles, FIRN_U + axis);
        uint32_t least = 3, most = 0;
        for (uint32_t i = block->begin; i < block->end; i++) {
            uint32_t cell = cell_of(u, order[i]);
            least = cell < least ? cell : least;
            most = cell > most ? cell : most;
        }
        // Without the block below, kernels begin at node 0; without the one above, they end at 3.
        uint32_t alone = FIRN_BLOCK_EDGE - (uint32_t)s->grid->order;
        block->low[axis] = least == 0 ? -1 : 0;
        block->high[axis] = (int8_t)(most >= alone ? FIRN_BLOCK_EDGE + 1 : alone + 1);
    }
}

static bool reaches(const firn_block *block, int axis, int side)
{
    return side == 0 || (side < 0 ? block->low[axis] < 0 : block->high[axis] > FIRN_BLOCK_EDGE);
}

// The node blocks are all blocks that the kernels of a block's particles can reach.
static firn_result find_node_blocks(sorting *s, firn_block *blocks, firn_error *error)
{
    firn_grid *grid = s->grid;
    FIRN_TRY(firn_block_map_clear(&grid->map, grid->budget, 4 * s->key_count, error));
#pragma omp parallel for schedule(dynamic, 16) num_threads(s->thread_count)
    for (size_t b = 0; b < s->key_count; b++)
        find_reach(s, &blocks[b]);
    for (size_t b = 0; b < s->key_count; b++) {
        firn_coord c = blocks[b].coord;
        for (int n = 0; n < 27; n++) {
            int x = n / 9 - 1, y = n / 3 % 3 - 1, z = n % 3 - 1;
            firn_coord at = {c.x + x, c.y + y, c.z + z};
            blocks[b].near[n] = -1;
            if (reaches(&blocks[b], 0, x) && reaches(&blocks[b], 1, y) && reaches(&blocks[b], 2, z))
                FIRN_TRY(number_of(s, at, &blocks[b].near[n], error));
        }
    }
    size_t count = grid->map.count;
    FIRN_TRY(firn_array_claim(grid->budget, &grid->cells, count + 1, 16, error));
    int32_t *places = grid->cells.data;
    rank_keys(grid, places);
    for (size_t b = 0; b < s->key_count; b++)
        for (int n = 0; n < 27; n++)
            if (blocks[b].near[n] >= 0)
                blocks[b].near[n] = places[blocks[b].near[n]];
    return firn_array_reserve(grid->budget, &grid->node_coord, count, sizeof(firn_coord), error);
}

static int color_of(firn_coord c, int period)
{
    int x = (c.x + FIRN_COORD_LIMIT * 3) % period, y = (c.y + FIRN_COORD_LIMIT * 3) % period,
        z = (c.z + FIRN_COORD_LIMIT * 3) % period;
    return (x * period + y) * period + z;
}

// Tiles are 8 nodes wide for the quadratic kernel and 9 for the cubic one: every second, or third,
// block along an axis can be scattered at the same time.
static void color_blocks(firn_grid *grid)
{
    int period = grid->order == 3 ? 2 : 3;
    const firn_block *blocks = firn_grid_blocks(grid);
    uint32_t *list = grid->color_blocks.data;
    size_t filled = 0;
    grid->color_count = period * period * period;
    for (int color = 0; color < grid->color_count; color++) {
        grid->color_begin[color] = filled;
        for (size_t b = 0; b < grid->block_count; b++)
            if (color_of(blocks[b].coord, period) == color)
                list[filled++] = (uint32_t)b;
    }
    grid->color_begin[grid->color_count] = filled;
}

static void wrap_positions(const sorting *s)
{
    size_t count = s->particles->count;
    for (int axis = 0; axis < 3; axis++) {
        float *u = firn_channel_of(s->particles, FIRN_U + axis);
#pragma omp parallel for schedule(static) num_threads(s->thread_count)
        for (size_t p = 0; p < count; p++)
            u[p] -= 4.0f * floorf(0.25f * u[p]);
    }
}

// From here on nothing can fail: particles and blocks take their new places.
static void commit(sorting *s, firn_array *blocks)
{
    firn_grid *grid = s->grid;
    firn_block *list = blocks->data;
#pragma omp parallel for schedule(dynamic, 16) num_threads(s->thread_count)
    for (size_t b = 0; b < s->key_count; b++)
        order_by_cell(s, &list[b]);
    wrap_positions(s);
    size_t kept = s->key_count > 0 ? list[s->key_count - 1].end : 0;
    firn_particles_permute(s->particles, grid->destination.data, kept, s->thread_count);

    firn_array_free(grid->budget, &grid->blocks);
    grid->blocks = *blocks;
    grid->block_count = s->key_count;
    grid->node_block_count = grid->map.count;
    const uint64_t *keys = grid->keys.data;
    firn_coord *coords = grid->node_coord.data;
    for (size_t i = 0; i < grid->node_block_count; i++)
        coords[i] = firn_block_coord(keys[i]);
    color_blocks(grid);
}

// Blocks that held the same number of particles before keep their rest; the others were disturbed.
static void carry_rest(const sorting *s, firn_block *blocks)
{
    const firn_block *old = firn_grid_blocks(s->grid);
    size_t count = s->grid->block_count, o = 0;
    for (size_t b = 0; b < s->key_count; b++) {
        uint64_t key = firn_block_key(blocks[b].coord);
        while (o < count && firn_block_key(old[o].coord) < key)
            o++;
        bool same = o < count && firn_block_key(old[o].coord) == key &&
                    old[o].end - old[o].begin == blocks[b].end - blocks[b].begin;
        blocks[b].rest = same ? old[o].rest : 0.0f;
    }
}

static firn_result prepare(sorting *s, firn_array *blocks, firn_error *error)
{
    firn_grid *grid = s->grid;
    firn_budget *budget = grid->budget;
    size_t count = s->particles->count;
    FIRN_TRY(firn_array_claim(budget, &grid->destination, count + FIRN_PADDING, sizeof(uint32_t),
                              error));
    FIRN_TRY(
        firn_array_claim(budget, &grid->order_of, count + FIRN_PADDING, sizeof(uint32_t), error));
    FIRN_TRY(firn_block_map_clear(&grid->map, budget, 2 * grid->block_count, error));
    FIRN_TRY(find_destinations(s, error));
    FIRN_TRY(rank_destinations(s, error));
    // Never fewer than before: a snapshot of the blocks must find room when it is brought back.
    size_t held = grid->blocks.bytes / sizeof(firn_block);
    size_t wanted = s->key_count + 1 > held ? s->key_count + 1 : held;
    FIRN_TRY(firn_array_claim(budget, blocks, wanted, sizeof(firn_block), error));
    firn_block *list = blocks->data;
    const uint64_t *keys = grid->keys.data;
    for (size_t b = 0; b < s->key_count; b++)
        list[b].coord = firn_block_coord(keys[b]);
    FIRN_TRY(order_by_block(s, list, error));
    carry_rest(s, list);
    FIRN_TRY(find_node_blocks(s, list, error));
    FIRN_TRY(
        firn_array_reserve(budget, &grid->color_blocks, s->key_count + 1, sizeof(uint32_t), error));
    for (int f = 0; f < grid->field_count; f++)
        FIRN_TRY(firn_array_reserve(budget, &grid->field[f], grid->map.count,
                                    FIRN_BLOCK_FLOATS * sizeof(float), error));
    return FIRN_OK;
}

firn_result firn_grid_sort(firn_grid *grid, firn_particles *particles, const firn_bounds *bounds,
                           const uint64_t *new_keys, size_t sorted_count, int thread_count,
                           firn_error *error)
{
    size_t chunks = particles->count / CHUNK_PARTICLES + 1;
    sorting s = {
        .grid = grid,
        .particles = particles,
        .bounds = bounds,
        .new_keys = new_keys,
        .sorted_count = sorted_count,
        .thread_count = thread_count,
        .chunk_count = chunks < CHUNK_MAX ? chunks : CHUNK_MAX,
    };
    firn_array blocks = {NULL, 0};
    firn_result result = prepare(&s, &blocks, error);
    if (result != FIRN_OK) {
        firn_array_free(grid->budget, &blocks);
        return result;
    }
    commit(&s, &blocks);
    return FIRN_OK;
}
