/// The order in which threads work on blocks that share nodes.
#include "scene.h"

#include <stdatomic.h>

/// When blocks were begun and ended.
typedef struct record {
    atomic_uint clock;
    unsigned begun[64], ended[64];
} record;

static void note_block(const void *user, size_t b, size_t following)
{
    (void)following;
    record *r = *(record *const *)user;
    r->begun[b] = atomic_fetch_add(&r->clock, 1);
    for (volatile int busy = 0; busy < 2000 * (int)(b % 5); busy = busy + 1)
        continue;
    r->ended[b] = atomic_fetch_add(&r->clock, 1);
}

static bool share_nodes(firn_coord a, firn_coord b, int order)
{
    int far = order == 3 ? 1 : 2;
    return abs(a.x - b.x) <= far && abs(a.y - b.y) <= far && abs(a.z - b.z) <= far;
}

static bool waits_for(const firn_sequence *sequence, size_t b, size_t other)
{
    const uint32_t *begin = sequence->begin.data, *others = sequence->others.data;
    for (uint32_t i = begin[b]; i < begin[b + 1]; i++)
        if (others[i] == other)
            return true;
    return false;
}

// A block waits for all that come before it and share nodes with it, and for nobody else.
static void check_lists(const firn_sequence *sequence, const firn_grid *grid)
{
    const firn_block *blocks = firn_grid_blocks(grid);
    for (size_t a = 0; a < grid->block_count; a++)
        for (size_t b = 0; b < grid->block_count; b++) {
            bool before = firn_block_color(blocks[a].coord, grid->order) <
                          firn_block_color(blocks[b].coord, grid->order);
            bool shared = share_nodes(blocks[a].coord, blocks[b].coord, grid->order);
            assert_int_equal(waits_for(sequence, b, a), before && shared);
        }
}

static void check_order(const firn_grid *grid, const record *r)
{
    const firn_block *blocks = firn_grid_blocks(grid);
    for (size_t a = 0; a < grid->block_count; a++)
        for (size_t b = 0; b < grid->block_count; b++) {
            int before = firn_block_color(blocks[a].coord, grid->order);
            int after = firn_block_color(blocks[b].coord, grid->order);
            if (before < after && share_nodes(blocks[a].coord, blocks[b].coord, grid->order))
                assert_true(r->ended[a] < r->begun[b]);
        }
}

static void blocks_that_share_nodes_follow_each_other(void **state)
{
    (void)state;
    for (int kernel = FIRN_KERNEL_QUADRATIC; kernel <= FIRN_KERNEL_CUBIC; kernel++) {
        firn_sim_def def = firn_sim_def_default();
        def.kernel = kernel;
        def.cell_size = 0.01f;
        def.thread_count = 4;
        firn_sim *sim = scene_create(&def);
        firn_source_def cube =
            firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.055f, 0.055f, 0.055f));
        scene_add(sim, &cube);
        firn_error error;
        scene_expect_ok(firn_sim_sort(sim, &error), &error);
        assert_in_range(sim->grid.block_count, 27, 64);
        check_lists(&sim->sequence, &sim->grid);
        for (int round = 0; round < 50; round++) {
            record r = {0}, *where = &r;
            firn_sequence_run(&sim->sequence, &sim->grid, 4,
                              (firn_sequence_work){note_block, &where});
            assert_int_equal(atomic_load(&r.clock), 2 * sim->grid.block_count);
            check_order(&sim->grid, &r);
        }
        firn_sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_share_nodes_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
