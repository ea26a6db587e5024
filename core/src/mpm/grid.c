#include "grid.h"

#include "base/radix.h"
#include "owners.h"

#include <string.h>

static bool reaches(const firn_block *block, int order, int axis, int side)
{
    return side == 0 ||
           (side < 0 ? block->low[axis] < 0 : block->high[axis] + order - 2 >= FIRN_BLOCK_EDGE);
}

static bool reaches_neighbor(const firn_block *block, int order, int neighbor)
{
    firn_coord c = firn_neighbor_offset(neighbor);
    return reaches(block, order, 0, c.x) && reaches(block, order, 1, c.y) &&
           reaches(block, order, 2, c.z);
}

/// Blocks that are being made.
typedef struct block_list {
    firn_block *blocks;
    size_t count;
    int order;
    int thread_count;
    const firn_owners *owners; // NULL: all nodes are wanted, else those that this rank owns
} block_list;

static bool add_node_keys(firn_block_map *map, const block_list *list)
{
    bool fits = true;
#pragma omp parallel for schedule(dynamic, 64) reduction(&& : fits) num_threads(list->thread_count)
    for (size_t b = 0; b < list->count; b++)
        for (int neighbor = 0; neighbor < FIRN_NEIGHBORS; neighbor++)
            if (reaches_neighbor(&list->blocks[b], list->order, neighbor)) {
                uint64_t key = firn_block_key(firn_block_neighbor(list->blocks[b].coord, neighbor));
                if (list->owners == NULL || firn_owners_own(list->owners, key))
                    fits = fits && firn_block_map_add(map, key);
            }
    return fits;
}

// Of own blocks, and of those of other ranks.
static bool add_all_node_keys(firn_block_map *map, const void *user)
{
    const block_list *lists = user;
    return add_node_keys(map, &lists[0]) && (lists[1].count == 0 || add_node_keys(map, &lists[1]));
}

// The rows of the node block on a neighbor that a block's particles can reach.
static uint16_t rows_of_neighbor(const firn_block *block, int neighbor, int order)
{
    firn_coord side = firn_neighbor_offset(neighbor);
    const int first[2] = {FIRN_BLOCK_EDGE * side.x, FIRN_BLOCK_EDGE * side.y};
    uint32_t rows = 0;
    for (int row = 0; row < FIRN_BLOCK_ROWS; row++) {
        const int node[2] = {first[0] + row / FIRN_BLOCK_EDGE, first[1] + row % FIRN_BLOCK_EDGE};
        bool reached = true;
        for (int axis = 0; axis < 2; axis++)
            reached &= node[axis] >= block->low[axis] && node[axis] < block->high[axis] + order - 1;
        rows |= (uint32_t)reached << row;
    }
    return (uint16_t)rows;
}

static void link_block(const firn_grid *grid, firn_block *block)
{
    uint16_t *rows = grid->rows.data;
    for (int neighbor = 0; neighbor < FIRN_NEIGHBORS; neighbor++) {
        block->near[neighbor] = -1;
        if (!reaches_neighbor(block, grid->order, neighbor))
            continue;
        uint64_t key = firn_block_key(firn_block_neighbor(block->coord, neighbor));
        int32_t number = block->near[neighbor] = firn_block_map_find(&grid->map, key);
        uint16_t own = rows_of_neighbor(block, neighbor, grid->order);
        if (number < 0)
            continue; // of another rank, and it is not wanted here
#pragma omp atomic
        rows[number] |= own;
    }
}

static void link_blocks(const firn_grid *grid, const block_list *list)
{
    size_t count = list->count;
#pragma omp parallel for schedule(dynamic, 64) num_threads(list->thread_count)
    for (size_t b = 0; b < count; b++)
        link_block(grid, &list->blocks[b]);
}

firn_result firn_grid_find_nodes(firn_grid *grid, firn_block *blocks, size_t count,
                                 int thread_count, firn_error *error)
{
    block_list lists[2] = {{blocks, count, grid->order, thread_count, NULL}, {NULL}};
    if (grid->owners != NULL)
        lists[1] = (block_list){grid->owners->ghosts.data, grid->owners->ghost_count, grid->order,
                                thread_count, grid->owners};
    size_t before = grid->node_block_count + grid->node_block_count / 4, least = count + count / 2;
    firn_block_filling filling = {
        .budget = grid->budget,
        .scratch = &grid->scratch,
        .expected = before > least ? before : least,
        .thread_count = thread_count,
        .add = add_all_node_keys,
        .user = lists,
    };
    FIRN_TRY(firn_block_map_fill(&grid->map, &filling, error));
    FIRN_TRY(firn_array_claim(grid->budget, &grid->rows, grid->map.count, sizeof(uint16_t), error));
    if (grid->map.count > 0)
        memset(grid->rows.data, 0, grid->map.count * sizeof(uint16_t));
    for (int i = 0; i < 2; i++)
        if (lists[i].count > 0)
            link_blocks(grid, &lists[i]);
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

void firn_grid_clear_rows(const firn_grid *grid, firn_node_field field, size_t block)
{
    float *nodes = firn_grid_nodes(grid, field, block);
    uint32_t rows = firn_grid_rows(grid, block);
    if (rows == (1u << FIRN_BLOCK_ROWS) - 1) {
        memset(nodes, 0, FIRN_BLOCK_FLOATS * sizeof *nodes);
        return;
    }
    for (int row = 0; row < FIRN_BLOCK_ROWS; row++)
        if (rows >> row & 1)
            memset(nodes + row * FIRN_ROW_FLOATS, 0, FIRN_ROW_FLOATS * sizeof *nodes);
}

// A field that is not in use and has memory; FIRN_NODE_FIELD_COUNT when there is none.
static int find_idle_field(const firn_grid *grid)
{
    int f = 0;
    while (f < FIRN_NODE_FIELD_COUNT &&
           (firn_grid_has(grid, (firn_node_field)f) || grid->field[f].data == NULL))
        f++;
    return f;
}

void firn_grid_use(firn_grid *grid, uint32_t fields)
{
    grid->fields = fields;
    for (int f = 0; f < FIRN_NODE_FIELD_COUNT; f++) {
        int idle = find_idle_field(grid);
        if (!firn_grid_has(grid, (firn_node_field)f) || grid->field[f].data != NULL ||
            idle == FIRN_NODE_FIELD_COUNT)
            continue;
        grid->field[f] = grid->field[idle];
        grid->field[idle] = (firn_array){NULL, 0};
    }
}

void firn_grid_free(firn_grid *grid)
{
    firn_array *arrays[] = {&grid->blocks,  &grid->node_coord,  &grid->color_blocks, &grid->moves,
                            &grid->scratch, &grid->map.entries, &grid->map.keys,     &grid->rows};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(grid->budget, arrays[i]);
    for (int f = 0; f < FIRN_NODE_FIELD_COUNT; f++)
        firn_array_free(grid->budget, &grid->field[f]);
    for (int w = 0; w < FIRN_WORD_COUNT; w++)
        firn_scratch_free(grid->budget, &grid->words[w]);
}
