#include "grid.h"

#include "radix.h"

static bool reaches(const firn_block *block, int axis, int side)
{
    return side == 0 || (side < 0 ? block->low[axis] < 0 : block->high[axis] > FIRN_BLOCK_EDGE);
}

static bool reaches_way(const firn_block *block, int way)
{
    firn_coord c = firn_way_coord(way);
    return reaches(block, 0, c.x) && reaches(block, 1, c.y) && reaches(block, 2, c.z);
}

/// Blocks that are being made.
typedef struct block_list {
    firn_block *blocks;
    size_t count;
    int thread_count;
} block_list;

static bool add_node_keys(firn_block_map *map, const void *user)
{
    const block_list *list = user;
    bool fits = true;
#pragma omp parallel for schedule(dynamic, 64) reduction(&& : fits) num_threads(list->thread_count)
    for (size_t b = 0; b < list->count; b++)
        for (int way = 0; way < FIRN_WAYS; way++)
            if (reaches_way(&list->blocks[b], way)) {
                uint64_t key = firn_block_key(firn_block_next(list->blocks[b].coord, way));
                fits = fits && firn_block_map_add(map, key);
            }
    return fits;
}

firn_result firn_grid_find_nodes(firn_grid *grid, firn_block *blocks, size_t count,
                                 int thread_count, firn_error *error)
{
    block_list list = {blocks, count, thread_count};
    size_t before = grid->node_block_count + grid->node_block_count / 4, least = count + count / 2;
    firn_block_filling filling = {
        .budget = grid->budget,
        .scratch = &grid->scratch,
        .expected = before > least ? before : least,
        .thread_count = thread_count,
        .add = add_node_keys,
        .user = &list,
    };
    FIRN_TRY(firn_block_map_fill(&grid->map, &filling, error));
#pragma omp parallel for schedule(dynamic, 64) num_threads(thread_count)
    for (size_t b = 0; b < count; b++)
        for (int way = 0; way < FIRN_WAYS; way++) {
            uint64_t key = firn_block_key(firn_block_next(blocks[b].coord, way));
            blocks[b].near[way] =
                reaches_way(&blocks[b], way) ? firn_block_map_find(&grid->map, key) : -1;
        }
    return FIRN_OK;
}

void firn_grid_color(firn_grid *grid, const firn_block *blocks, size_t count, int thread_count)
{
    uint64_t *items = grid->scratch.data;
    uint32_t *list = grid->color_blocks.data;
    int period = firn_color_period(grid->order);
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t b = 0; b < count; b++)
        items[b] = (uint64_t)firn_block_color(blocks[b].coord, grid->order) << 32 | (uint64_t)b;
    grid->color_count = period * period * period;
    firn_bit_range bits = {32, 32 + firn_bit_count((uint64_t)grid->color_count - 1)};
    items = firn_radix_sort(items, items + count, count, bits, thread_count);
    size_t *begin = grid->color_begin;
    for (int color = 0; color <= grid->color_count; color++)
        begin[color] = 0;
    for (size_t i = 0; i < count; i++) {
        list[i] = (uint32_t)items[i];
        begin[(items[i] >> 32) + 1] = i + 1;
    }
    // A color without blocks ends where the one before does.
    for (int color = 0; color < grid->color_count; color++)
        begin[color + 1] = begin[color + 1] > begin[color] ? begin[color + 1] : begin[color];
}

void firn_grid_free(firn_grid *grid)
{
    firn_array *arrays[] = {&grid->blocks,   &grid->node_coord,  &grid->color_blocks,
                            &grid->moves,    &grid->destination, &grid->scratch,
                            &grid->order_of, &grid->map.entries, &grid->map.keys};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(grid->budget, arrays[i]);
    for (int f = 0; f < FIRN_NODE_FIELD_COUNT; f++)
        firn_array_free(grid->budget, &grid->field[f]);
}
