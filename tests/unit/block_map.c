#include "space/block_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/// A cuboid of blocks; every one of them is added by several iterations.
typedef struct cuboid {
    firn_coord low;
    int edge[3];
    int threads;
} cuboid;

static int volume(const cuboid *c) { return c->edge[0] * c->edge[1] * c->edge[2]; }

static firn_coord block_at(const cuboid *c, int i)
{
    return (firn_coord){c->low.x + i / (c->edge[1] * c->edge[2]),
                        c->low.y + i / c->edge[2] % c->edge[1], c->low.z + i % c->edge[2]};
}

static bool add_cuboid(firn_block_map *map, const void *user)
{
    const cuboid *c = user;
    int count = volume(c);
    bool fits = true;
#pragma omp parallel for schedule(dynamic, 7) reduction(&& : fits) num_threads(c->threads)
    for (int i = 0; i < 3 * count; i++)
        fits = fits && firn_block_map_add(map, firn_block_key(block_at(c, (7 * i + 3) % count)));
    return fits;
}

static firn_block_filling filling_of(const cuboid *c, firn_budget *budget, firn_array *scratch)
{
    return (firn_block_filling){.budget = budget,
                                .scratch = scratch,
                                .thread_count = c->threads,
                                .add = add_cuboid,
                                .user = c};
}

// More keys than expected, on both sides of the origin and at the ends of the world.
static void every_key_is_there_once_with_its_place_in_the_order(void **state)
{
    (void)state;
    const int far = FIRN_COORD_LIMIT - 1;
    const cuboid cuboids[] = {{{-20, -3, -7}, {40, 16, 25}, 2},
                              {{-1, -1, -1}, {1, 1, 1}, 1},
                              {{-far, far - 5, 0}, {25, 5, 40}, 3},
                              {{0, 0, far - 900}, {5, 5, 900}, 8}};
    for (size_t k = 0; k < FIRN_COUNT(cuboids); k++) {
        const cuboid *c = &cuboids[k];
        firn_budget budget = {0};
        firn_array scratch = {NULL, 0};
        firn_block_map map = {.count = 0};
        firn_block_filling filling = filling_of(c, &budget, &scratch);
        for (int round = 0; round < 2; round++) {
            assert_int_equal(firn_block_map_fill(&map, &filling, NULL), FIRN_OK);
            assert_int_equal(map.count, volume(c));
            for (int i = 0; i < volume(c); i++) {
                uint64_t key = firn_block_key(block_at(c, i));
                assert_int_equal(firn_block_map_find(&map, key), i);
                assert_true(((const uint64_t *)map.keys.data)[i] == key);
            }
            firn_coord beside = {c->low.x, c->low.y, c->low.z - 1};
            assert_int_equal(firn_block_map_find(&map, firn_block_key(beside)), -1);
        }
        firn_array_free(&budget, &scratch);
        firn_array_free(&budget, &map.entries);
        firn_array_free(&budget, &map.keys);
        assert_int_equal(budget.used, 0);
    }
}

static void keys_are_places(void **state)
{
    (void)state;
    const firn_coord coords[] = {{0, 0, 0},
                                 {-1, 2, -3},
                                 {FIRN_COORD_LIMIT - 1, -FIRN_COORD_LIMIT, 5},
                                 {-FIRN_COORD_LIMIT, FIRN_COORD_LIMIT - 1, FIRN_COORD_LIMIT - 1}};
    for (size_t i = 0; i < FIRN_COUNT(coords); i++) {
        firn_coord back = firn_block_coord(firn_block_key(coords[i]));
        assert_int_equal(back.x, coords[i].x);
        assert_int_equal(back.y, coords[i].y);
        assert_int_equal(back.z, coords[i].z);
    }
}

static void memory_that_runs_out_is_an_error(void **state)
{
    (void)state;
    const cuboid c = {{0, 0, 0}, {30, 30, 30}, 2};
    int failures = 0;
    for (size_t limit = 1000;; limit *= 2) {
        firn_budget budget = {.limit = limit};
        firn_array scratch = {NULL, 0};
        firn_block_map map = {.count = 0};
        firn_block_filling filling = filling_of(&c, &budget, &scratch);
        firn_result result = firn_block_map_fill(&map, &filling, NULL);
        firn_array_free(&budget, &scratch);
        firn_array_free(&budget, &map.entries);
        firn_array_free(&budget, &map.keys);
        if (result == FIRN_OK)
            break;
        assert_int_equal(result, FIRN_ERR_MEMORY);
        failures++;
    }
    assert_true(failures > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_there_once_with_its_place_in_the_order),
        cmocka_unit_test(keys_are_places),
        cmocka_unit_test(memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
