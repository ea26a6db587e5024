#include "effort.h"
#include "scene.h"

typedef struct place {
    double x[3];
    uint32_t id;
} place;

static firn_sim *empty_sim(int kernel)
{
    firn_sim_def def = firn_sim_def_default();
    def.kernel = kernel;
    def.thread_count = 1;
    return scene_create(&def);
}

static void add_points(firn_sim *sim, const firn_vec3 *points, size_t count)
{
    firn_source_def def = firn_source_def_points(points, count);
    scene_add(sim, &def);
}

static void add_cloud(firn_sim *sim, int count, double size, uint64_t seed)
{
    firn_vec3 *points = calloc((size_t)count, sizeof *points);
    for (int i = 0; i < count; i++)
        points[i] =
            firn_vec((float)ref_random(&seed, -size, size), (float)ref_random(&seed, -size, size),
                     (float)ref_random(&seed, -size, size));
    add_points(sim, points, (size_t)count);
    free(points);
}

static void sort(firn_sim *sim)
{
    firn_error error;
    scene_expect_ok(firn_sim_sort(sim, &error), &error);
}

static uint32_t id_of(const firn_sim *sim, size_t p)
{
    return ((const uint32_t *)firn_channel_of(&sim->particles, FIRN_ID))[p];
}

// Where every particle is, by id; ids that are gone have NAN.
static place *places_of(const firn_sim *sim)
{
    place *places = calloc(sim->particles.next_id, sizeof *places);
    for (uint32_t id = 0; id < sim->particles.next_id; id++)
        places[id].x[0] = NAN;
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++)
            scene_position(sim, &blocks[b], p, places[id_of(sim, p)].x);
    return places;
}

// Moves particles about as substeps would, up to reach cells.
static void push(firn_sim *sim, double reach, uint64_t seed)
{
    for (size_t p = 0; p < sim->particles.count; p++)
        for (int axis = 0; axis < 3; axis++)
            firn_channel_of(&sim->particles, FIRN_U + axis)[p] +=
                (float)ref_random(&seed, -reach, reach);
}

static void expect_sorted(const firn_sim *sim)
{
    const firn_grid *grid = &sim->grid;
    const firn_block *blocks = firn_grid_blocks(grid);
    size_t next = 0;
    for (size_t b = 0; b < grid->block_count; b++) {
        assert_int_equal(blocks[b].begin, next);
        assert_true(blocks[b].end > blocks[b].begin);
        next = blocks[b].end;
        if (b > 0)
            assert_true(firn_block_key(blocks[b - 1].coord) < firn_block_key(blocks[b].coord));
        int last_cell = -1;
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++) {
            int cell = 0;
            for (int axis = 0; axis < 3; axis++) {
                float u = firn_channel_of(&sim->particles, FIRN_U + axis)[p];
                assert_true(u >= 0.0f && u <= 4.0f);
                cell = 4 * cell + ((int)floorf(u) & 3);
            }
            assert_true(cell >= last_cell);
            last_cell = cell;
        }
        for (int n = 0; n < 27; n++) {
            if (blocks[b].near[n] < 0)
                continue;
            firn_coord at = ((const firn_coord *)grid->node_coord.data)[blocks[b].near[n]];
            assert_int_equal(at.x, blocks[b].coord.x + n / 9 - 1);
            assert_int_equal(at.y, blocks[b].coord.y + n / 3 % 3 - 1);
            assert_int_equal(at.z, blocks[b].coord.z + n % 3 - 1);
        }
    }
    assert_int_equal(next, sim->particles.count);
}

// Wherever a particle of the block drifts by less than a cell, its kernel finds its nodes.
static void expect_reach(const firn_sim *sim, const firn_block *block, size_t p)
{
    for (int n = 0; n < 27; n++) {
        const int side[3] = {n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1};
        bool needed = true;
        for (int axis = 0; axis < 3; axis++) {
            int cell = (int)floorf(firn_channel_of(&sim->particles, FIRN_U + axis)[p]);
            int first = cell - 1, last = cell + 1 + sim->grid.order - 1;
            assert_true(block->low[axis] <= first || first < 0);
            assert_true(block->high[axis] >= cell + 2 || cell + 2 > 5);
            needed &= side[axis] == 0 || (side[axis] < 0 ? first < 0 : last >= 4);
        }
        assert_true(!needed || block->near[n] >= 0);
    }
}

// The rows of nodes that a particle can reach by drifting are marked in the blocks that have them.
static void expect_rows(const firn_sim *sim, const firn_block *block, size_t p)
{
    int first[2];
    for (int axis = 0; axis < 2; axis++)
        first[axis] = (int)floorf(firn_channel_of(&sim->particles, FIRN_U + axis)[p]) - 1;
    int width = sim->grid.order + 2;
    for (int i = 0; i < width * width; i++) {
        int x = first[0] + i / width + 4, y = first[1] + i % width + 4; // from the block before
        for (int z = 0; z < 3; z++) {
            int32_t near = block->near[x / 4 * 9 + y / 4 * 3 + z];
            if (near >= 0)
                assert_true(firn_grid_rows(&sim->grid, (size_t)near) >> (x % 4 * 4 + y % 4) & 1);
        }
    }
}

static void blocks_hold_what_their_particles_can_reach_and_little_else(void **state)
{
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        firn_sim *sim = empty_sim(kernel);
        add_cloud(sim, 500, 0.5, 3);
        sort(sim);
        const firn_block *blocks = firn_grid_blocks(&sim->grid);
        for (size_t b = 0; b < sim->grid.block_count; b++) {
            for (size_t p = blocks[b].begin; p < blocks[b].end; p++) {
                expect_reach(sim, &blocks[b], p);
                expect_rows(sim, &blocks[b], p);
            }
        }
        firn_sim_destroy(sim);
        sim = empty_sim(kernel);
        add_points(sim, (const firn_vec3[]){{0.5f, 0.5f, 0.5f}}, 1);
        sort(sim);
        assert_true(sim->grid.node_block_count <= (sim->grid.order == 3 ? 8 : 27));
        uint32_t rows = 0;
        for (size_t b = 0; b < sim->grid.node_block_count; b++)
            for (int row = 0; row < FIRN_BLOCK_ROWS; row++)
                rows += firn_grid_rows(&sim->grid, b) >> row & 1;
        assert_true((int)rows <= 3 * (sim->grid.order + 2) * (sim->grid.order + 2));
        firn_sim_destroy(sim);
    }
}

static void every_particle_is_in_its_block_and_stays_where_it_was(void **state)
{
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        firn_sim *sim = empty_sim(kernel);
        add_cloud(sim, 3000, 0.5, 1);
        sort(sim);
        expect_sorted(sim);
        for (int round = 0; round < 4; round++) {
            push(sim, round == 3 ? 30.0 : 1.0, (uint64_t)round);
            place *before = places_of(sim);
            sort(sim);
            expect_sorted(sim);
            place *after = places_of(sim);
            for (uint32_t id = 0; id < 3000; id++)
                for (int axis = 0; axis < 3; axis++)
                    // A number just below a block's edge may round onto it.
                    scene_expect_near(after[id].x[axis], before[id].x[axis], 1e-8);
            free(before);
            free(after);
        }
        firn_sim_destroy(sim);
    }
}

// So near below the end of its block that a float of cells rounds to it.
static void new_particle_at_the_end_of_a_block_stays_where_it_is(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.cell_size = 0.02f;
    firn_sim *sim = scene_create(&def);
    const firn_vec3 points[] = {
        {-0.07f, 0.0f, 0.0f}, {0.0f, -0.07f, -0.07f}, {-0.07f, -0.07f, -0.07f}};
    add_points(sim, points, FIRN_COUNT(points));
    sort(sim);
    place *places = places_of(sim);
    for (size_t i = 0; i < FIRN_COUNT(points); i++) {
        const float wanted[3] = {points[i].x, points[i].y, points[i].z};
        for (int axis = 0; axis < 3; axis++)
            scene_expect_near(places[i].x[axis], (double)wanted[axis], 1e-6);
    }
    expect_sorted(sim);
    free(places);
    firn_sim_destroy(sim);
}

static void all_that_belongs_to_a_particle_moves_with_it(void **state)
{
    (void)state;
    firn_sim *sim = empty_sim(0);
    add_cloud(sim, 1000, 0.3, 2);
    for (size_t p = 0; p < 1000; p++) {
        for (int c = FIRN_V; c < sim->particles.channel_count; c++)
            if (c != FIRN_ID)
                firn_channel_of(&sim->particles, c)[p] = (float)(p + 1000 * (size_t)c);
        ((uint8_t *)sim->particles.material.data)[p] = (uint8_t)(p % 251);
    }
    for (int round = 0; round < 3; round++) {
        sort(sim);
        for (size_t p = 0; p < 1000; p++) {
            uint32_t id = id_of(sim, p);
            for (int c = FIRN_V; c < sim->particles.channel_count; c++)
                if (c != FIRN_ID)
                    assert_true(firn_channel_of(&sim->particles, c)[p] ==
                                (float)(id + 1000 * (uint32_t)c));
            assert_int_equal(((const uint8_t *)sim->particles.material.data)[p], id % 251);
        }
        push(sim, 2.0, (uint64_t)round);
    }
    firn_sim_destroy(sim);
}

static void particles_of_a_cell_keep_their_order(void **state)
{
    (void)state;
    firn_sim *sim = empty_sim(0);
    add_cloud(sim, 2000, 0.1, 3);
    sort(sim);
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin + 1; p < blocks[b].end; p++) {
            bool same = true;
            for (int axis = 0; axis < 3; axis++) {
                const float *u = firn_channel_of(&sim->particles, FIRN_U + axis);
                same = same && (int)u[p] == (int)u[p - 1];
            }
            if (same)
                assert_true(id_of(sim, p) > id_of(sim, p - 1));
        }
    uint64_t hash = firn_sim_hash(sim);
    sort(sim);
    assert_true(firn_sim_hash(sim) == hash);
    firn_sim_destroy(sim);
}

static void order_does_not_depend_on_the_threads(void **state)
{
    (void)state;
    uint64_t expected = 0;
    const int threads[] = {1, 2, 3, 8};
    for (size_t t = 0; t < FIRN_COUNT(threads); t++) {
        firn_sim *sim = empty_sim(1);
        sim->thread_count = threads[t];
        add_cloud(sim, 40000, 0.5, 4);
        sort(sim);
        push(sim, 1.0, 9);
        sort(sim);
        expect_sorted(sim);
        if (t == 0)
            expected = firn_sim_hash(sim);
        assert_true(firn_sim_hash(sim) == expected);
        firn_sim_destroy(sim);
    }
}

static void particles_out_of_the_domain_are_removed(void **state)
{
    (void)state;
    firn_sim *sim = empty_sim(0);
    sim->def.domain_lower = firn_vec(-0.3f, -0.4f, -0.2f);
    sim->def.domain_upper = firn_vec(0.2f, 0.35f, 0.5f);
    add_cloud(sim, 4000, 0.6, 5);
    sort(sim);
    assert_true(sim->particles.count > 100 && sim->particles.count < 3000);
    for (int round = 0; round < 3; round++) {
        expect_sorted(sim);
        push(sim, 3.0, (uint64_t)round);
        place *before = places_of(sim);
        sort(sim);
        place *after = places_of(sim);
        for (uint32_t id = 0; id < sim->particles.next_id; id++) {
            const double *x = before[id].x;
            if (isnan(x[0]))
                continue;
            bool inside = x[0] >= -0.3 && x[1] >= -0.4 && x[2] >= -0.2 && x[0] <= 0.2 &&
                          x[1] <= 0.35 && x[2] <= 0.5;
            // Corners are single precision.
            double margin = 1e-6;
            bool near = fabs(x[0] + 0.3) < margin || fabs(x[1] + 0.4) < margin ||
                        fabs(x[2] + 0.2) < margin || fabs(x[0] - 0.2) < margin ||
                        fabs(x[1] - 0.35) < margin || fabs(x[2] - 0.5) < margin;
            assert_true(near || inside == !isnan(after[id].x[0]));
        }
        free(before);
        free(after);
    }
    // The last one leaves, too.
    sim->def.domain_upper = firn_vec(-0.29f, -0.39f, -0.19f);
    push(sim, 100.0, 7);
    for (size_t p = 0; p < sim->particles.count; p++)
        firn_channel_of(&sim->particles, FIRN_U)[p] = 5000.0f;
    sort(sim);
    assert_int_equal(sim->particles.count, 0);
    assert_int_equal(sim->grid.block_count, 0);
    firn_sim_destroy(sim);
}

static void blocks_are_proportional_to_the_places_with_snow(void **state)
{
    (void)state;
    const firn_vec3 corners[] = {{999.0f, 999.0f, 999.0f},    {-999.0f, 999.0f, -999.0f},
                                 {999.0f, -999.0f, 0.0f},     {0.001f, 0.001f, 0.001f},
                                 {-0.001f, -0.001f, -0.001f}, {-999.0f, -999.0f, -999.0f}};
    firn_sim *sim = empty_sim(1);
    add_points(sim, corners, FIRN_COUNT(corners));
    sort(sim);
    expect_sorted(sim);
    assert_int_equal(sim->particles.count, FIRN_COUNT(corners));
    assert_true(sim->grid.block_count <= FIRN_COUNT(corners));
    assert_true(sim->grid.node_block_count <= 27 * FIRN_COUNT(corners));
    scene_step(sim, 1e-4);
    assert_true(firn_sim_stats(sim).bytes < 4000000);
    firn_sim_destroy(sim);
}

// Far from the origin a float has steps of 6e-5 m; the snow there moves in much smaller ones.
static void slow_snow_far_away_arrives(void **state)
{
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++)
        for (int side = -1; side <= 1; side += 2) {
            firn_sim_def def = firn_sim_def_default();
            def.kernel = kernel;
            def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
            def.thread_count = 1;
            def.dt_max = 1e-4f;
            firn_sim *sim = scene_create(&def);
            const float far = 900.0f * (float)side;
            scene_add_box(sim, firn_vec(far, -far, far), 0.03f, firn_vec(0.01f, -0.01f, 0.01f));
            sort(sim);
            scene_sums before = scene_sums_of(sim);
            for (int frame = 0; frame < 4; frame++)
                scene_step(sim, 0.025); // 250 substeps of 1e-6 m each
            scene_sums after = scene_sums_of(sim);
            scene_expect_near(after.center[0] - before.center[0], 1e-3, 2e-6);
            scene_expect_near(after.center[1] - before.center[1], -1e-3, 2e-6);
            scene_expect_near(after.center[2] - before.center[2], 1e-3, 2e-6);
            firn_sim_destroy(sim);
        }
}

static void far_away_snow_falls_as_snow_at_the_origin(void **state)
{
    (void)state;
    scene_sums at[2];
    const firn_vec3 centers[2] = {{0.0f, 0.0f, 0.0f}, {-512.0f, 512.0f, 256.0f}};
    for (int i = 0; i < 2; i++) {
        firn_sim_def def = scene_combination(0);
        def.cell_size = 0.03125f; // both places are whole blocks, so only digits could differ
        firn_sim *sim = scene_create(&def);
        firn_source_def box = firn_source_def_box(centers[i], firn_vec(0.0625f, 0.0625f, 0.0625f));
        box.velocity = firn_vec(0.5f, -2.0f, 0.25f);
        box.jitter = 0.0f; // it differs from place to place
        scene_add(sim, &box);
        scene_add_floor(sim, centers[i].y - 0.0625f);
        scene_step(sim, 0.02);
        at[i] = scene_sums_of(sim);
        firn_sim_destroy(sim);
    }
    scene_expect_near(at[1].center[0] + 512.0, at[0].center[0], 1e-5);
    scene_expect_near(at[1].center[1] - 512.0, at[0].center[1], 1e-5);
    scene_expect_near(at[1].momentum[1], at[0].momentum[1], 1e-3 * fabs(at[0].momentum[1]));
}

// What lies in the memory of nodes that no particle reaches does not matter.
static void nodes_out_of_reach_are_not_read(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i += effort(1, 3)) {
        uint64_t hash[2];
        for (int poisoned = 0; poisoned < 2; poisoned++) {
            firn_sim_def def = scene_combination(i);
            firn_sim *sim = scene_create(&def);
            add_cloud(sim, 300, 0.4, 5);
            scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.05f, firn_vec(1.0f, -2.0f, 0.5f));
            scene_step(sim, 0.002);
            for (int f = 0; poisoned && f < FIRN_NODE_CONTACT; f++)
                if (firn_grid_has(&sim->grid, (firn_node_field)f))
                    memset(sim->grid.field[f].data, -1, sim->grid.field[f].bytes);
            scene_step(sim, 0.002);
            hash[poisoned] = firn_sim_hash(sim);
            firn_sim_destroy(sim);
        }
        assert_true(hash[0] == hash[1]);
    }
}

static void colors_share_no_node(void **state)
{
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        firn_sim *sim = empty_sim(kernel);
        add_cloud(sim, 4000, 0.4, 6);
        sort(sim);
        const firn_grid *grid = &sim->grid;
        const firn_block *blocks = firn_grid_blocks(grid);
        const uint32_t *list = grid->color_blocks.data;
        // A tile has nodes -1 to 6 or 7: blocks nearer than that must differ in color.
        int least = kernel == FIRN_KERNEL_QUADRATIC ? 2 : 3;
        assert_int_equal(grid->color_begin[grid->color_count], grid->block_count);
        for (int color = 0; color < grid->color_count; color++)
            for (size_t i = grid->color_begin[color]; i < grid->color_begin[color + 1]; i++)
                for (size_t j = grid->color_begin[color]; j < i; j++) {
                    firn_coord a = blocks[list[i]].coord, b = blocks[list[j]].coord;
                    assert_true(abs(a.x - b.x) >= least || abs(a.y - b.y) >= least ||
                                abs(a.z - b.z) >= least);
                }
        firn_sim_destroy(sim);
    }
}

static void failed_sort_changes_nothing(void **state)
{
    (void)state;
    firn_sim *sim = empty_sim(0);
    add_cloud(sim, 2000, 0.2, 8);
    sort(sim);
    push(sim, 60.0, 3);
    uint64_t before = firn_sim_hash(sim);
    int failures = 0;
    for (size_t spare = 0; spare < 100000000; spare += spare / 4 + 20000) {
        sim->budget.limit = sim->budget.used + spare;
        firn_error error;
        firn_result result = firn_sim_sort(sim, &error);
        if (result == FIRN_OK)
            break;
        assert_int_equal(result, FIRN_ERR_MEMORY);
        assert_true(firn_sim_hash(sim) == before);
        failures++;
    }
    assert_true(failures > 3);
    expect_sorted(sim);
    sim->budget.limit = 0;
    firn_sim_destroy(sim);
}

// Fast snow leaves its block's reach within a few substeps and must be sorted in time.
static void fast_snow_is_sorted_before_it_leaves_its_tile(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim_def def = scene_combination(i);
        def.cfl = 1.0f;
        def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
        firn_sim *sim = scene_create(&def);
        scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.04f, firn_vec(150.0f, -140.0f, 130.0f));
        scene_step(sim, 0.01);
        scene_sums sums = scene_sums_of(sim);
        scene_expect_near(sums.center[0], 1.5, 1e-3);
        scene_expect_near(sums.center[1], -1.4, 1e-3);
        scene_expect_near(sums.center[2], 1.3, 1e-3);
        firn_sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_particle_is_in_its_block_and_stays_where_it_was),
        cmocka_unit_test(new_particle_at_the_end_of_a_block_stays_where_it_is),
        cmocka_unit_test(all_that_belongs_to_a_particle_moves_with_it),
        cmocka_unit_test(particles_of_a_cell_keep_their_order),
        cmocka_unit_test(order_does_not_depend_on_the_threads),
        cmocka_unit_test(particles_out_of_the_domain_are_removed),
        cmocka_unit_test(blocks_hold_what_their_particles_can_reach_and_little_else),
        cmocka_unit_test(blocks_are_proportional_to_the_places_with_snow),
        cmocka_unit_test(slow_snow_far_away_arrives),
        cmocka_unit_test(far_away_snow_falls_as_snow_at_the_origin),
        cmocka_unit_test(nodes_out_of_reach_are_not_read),
        cmocka_unit_test(colors_share_no_node),
        cmocka_unit_test(failed_sort_changes_nothing),
        cmocka_unit_test(fast_snow_is_sorted_before_it_leaves_its_tile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
