#define _POSIX_C_SOURCE 200809L
#include "sequence.h"

#include <string.h>
#include <time.h>

enum {
    OWN = 13,          // of firn_block.near
    PATIENCE = 5000,   // looks before the processor is left to others
    NEIGHBOR_MAX = 62, // half of 5^3 - 1: of two neighbors one comes first
};

static void number_blocks(const firn_grid *grid, int32_t *numbers, int thread_count)
{
    const firn_block *blocks = firn_grid_blocks(grid);
    memset(numbers, 0xff, grid->node_block_count * sizeof *numbers);
    size_t count = grid->block_count;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t b = 0; b < count; b++)
        numbers[blocks[b].near[OWN]] = (int32_t)b;
}

static int32_t block_at(const firn_sequence *sequence, const firn_grid *grid, firn_coord at)
{
    int32_t node_block = firn_block_map_find(&grid->map, firn_block_key(at));
    return node_block < 0 ? -1 : ((const int32_t *)sequence->numbers.data)[node_block];
}

// Lists the blocks before b that may share a node with it; gives their number.
static uint32_t list_others(const firn_sequence *sequence, const firn_grid *grid, size_t b,
                            uint32_t others[NEIGHBOR_MAX * 2])
{
    // Tiles end less than a block beyond their own for the quadratic kernel, and at the first node
    // of the second next one for the cubic.
    int reach = grid->order == 3 ? 1 : 2;
    firn_coord c = firn_grid_blocks(grid)[b].coord;
    int color = firn_block_color(c, grid->order);
    uint32_t count = 0;
    for (int x = -reach; x <= reach; x++)
        for (int y = -reach; y <= reach; y++)
            for (int z = -reach; z <= reach; z++) {
                firn_coord at = {c.x + x, c.y + y, c.z + z};
                int32_t other =
                    firn_block_color(at, grid->order) < color ? block_at(sequence, grid, at) : -1;
                if (other >= 0)
                    others[count++] = (uint32_t)other;
            }
    return count;
}

firn_result firn_sequence_build(firn_sequence *sequence, const firn_grid *grid, int thread_count,
                                firn_error *error)
{
    if (thread_count == 1 || grid->block_count == 0)
        return FIRN_OK;
    firn_budget *budget = grid->budget;
    size_t count = grid->block_count;
    FIRN_TRY(firn_array_claim(budget, &sequence->numbers, grid->node_block_count, sizeof(int32_t),
                              error));
    FIRN_TRY(firn_array_claim(budget, &sequence->begin, count + 1, sizeof(uint32_t), error));
    FIRN_TRY(firn_array_claim(budget, &sequence->done, count, sizeof(atomic_uint), error));
    number_blocks(grid, sequence->numbers.data, thread_count);
    uint32_t *begin = sequence->begin.data;
    begin[0] = 0;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t b = 0; b < count; b++) {
        uint32_t others[NEIGHBOR_MAX * 2];
        begin[b + 1] = list_others(sequence, grid, b, others);
    }
    for (size_t b = 0; b < count; b++)
        begin[b + 1] += begin[b];
    FIRN_TRY(
        firn_array_claim(budget, &sequence->others, begin[count] + 1, sizeof(uint32_t), error));
    uint32_t *lists = sequence->others.data;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t b = 0; b < count; b++) {
        uint32_t others[NEIGHBOR_MAX * 2];
        uint32_t n = list_others(sequence, grid, b, others);
        memcpy(lists + begin[b], others, n * sizeof *others);
    }
    atomic_uint *done = sequence->done.data;
    for (size_t b = 0; b < count; b++)
        atomic_init(&done[b], 0);
    sequence->turn = 0;
    return FIRN_OK;
}

static void wait_for(const firn_sequence *sequence, size_t b)
{
    static const struct timespec moment = {.tv_nsec = 20000};
    const uint32_t *begin = sequence->begin.data, *others = sequence->others.data;
    atomic_uint *done = sequence->done.data;
    int looks = 0;
    for (uint32_t i = begin[b]; i < begin[b + 1]; i++)
        while (atomic_load_explicit(&done[others[i]], memory_order_acquire) != sequence->turn)
            if (++looks > PATIENCE)
                nanosleep(&moment, NULL);
}

void firn_sequence_run(firn_sequence *sequence, const firn_grid *grid, int thread_count,
                       firn_sequence_work work)
{
    const uint32_t *list = grid->color_blocks.data;
    size_t count = grid->block_count, ahead = (size_t)thread_count;
    if (thread_count == 1) {
        for (size_t i = 0; i < count; i++)
            work.run(work.user, list[i], list[i + 1 < count ? i + 1 : i]);
        return;
    }
    atomic_uint *done = sequence->done.data;
    sequence->turn++;
// Blocks are handed out in their order: whoever is waited for has been begun.
#pragma omp parallel for schedule(monotonic : dynamic) num_threads(thread_count)
    for (size_t i = 0; i < count; i++) {
        wait_for(sequence, list[i]);
        work.run(work.user, list[i], list[i + ahead < count ? i + ahead : i]);
        atomic_store_explicit(&done[list[i]], sequence->turn, memory_order_release);
    }
}

void firn_sequence_free(firn_sequence *sequence, firn_budget *budget)
{
    firn_array_free(budget, &sequence->numbers);
    firn_array_free(budget, &sequence->begin);
    firn_array_free(budget, &sequence->others);
    firn_array_free(budget, &sequence->done);
}
