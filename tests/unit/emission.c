#include "effort.h"
#include "seeding_scene.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_positions(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(firn_vec3));
}

// Emits until end in calls of dt, then returns every particle where it is at that time if nothing
// but its velocity moves it, sorted.
static firn_vec3 *stream(const firn_source_def *def, float cell_size, double dt, size_t *count)
{
    scene s = scene_with_cells(cell_size);
    begin(&s, def);
    firn_vec3 *points = NULL;
    size_t before = 0;
    int calls = (int)ceil(def->end / dt - 1e-9);
    for (int call = 0; call <= calls; call++) {
        double time = call < calls ? call * dt : def->end;
        assert_int_equal(emit(&s, time), FIRN_OK);
        points = realloc(points, (s.seeds.count + 1) * sizeof *points);
        assert_non_null(points);
        for (; before < s.seeds.count; before++)
            points[before] =
                firn_add_scaled(positions(&s)[before], (float)(def->end - time), def->velocity);
    }
    *count = before;
    finish(&s);
    qsort(points, before, sizeof *points, compare_positions);
    return points;
}

static void a_continuous_source_makes_a_column_of_the_lattice_density(void **state)
{
    (void)state;
    const double steps[] = {0.0013, 0.011, 0.5};
    const float jitters[] = {0.0f, 0.7f};
    for (size_t run = 0; run < 6; run += (size_t)effort(1, 5)) {
        size_t count;
        firn_source_def def = nozzle(run % 2 ? FIRN_REGION_BOX : FIRN_REGION_SPHERE);
        def.jitter = jitters[run / 3];
        firn_vec3 *points = stream(&def, 0.02f, steps[run % 3], &count);
        // The column between x = 0.3 and 1.2, whose cross section is the region's.
        double section = run % 2 ? 0.16 : 0.125663706;
        int slices[9] = {0};
        for (size_t i = 0; i < count; i++) {
            int slice = (int)floorf((points[i].x - 0.3f) * 10.0f);
            if (slice >= 0 && slice < 9)
                slices[slice]++;
        }
        double expected = section * 0.1 / 1e-6;
        double total = 0.0;
        for (int i = 0; i < 9; i++) {
            total += slices[i];
            assert_true(fabs(slices[i] / expected - 1.0) < 0.03);
        }
        assert_true(fabs(total / (9.0 * expected) - 1.0) < 0.01);
        free(points);
    }
}

static void a_stream_has_neither_gaps_nor_doubles(void **state)
{
    (void)state;
    size_t count;
    firn_source_def def = nozzle(FIRN_REGION_BOX);
    def.jitter = 0.0f;
    def.velocity = firn_vec(2.5f, 1.25f, 0.0f);
    def.half_size = firn_vec(0.25f, 0.25f, 0.25f);
    def.end = 1.0;
    firn_vec3 *points = stream(&def, 0.125f, 0.0173, &count);
    // Its own lattice has room for one point in each cell of spacing 1/16.
    enum { NX = 64, NY = 64, NZ = 8 };
    char *seen = calloc(NX * NY * NZ, 1);
    assert_non_null(seen);
    for (size_t i = 0; i < count; i++) {
        firn_vec3 origin = firn_sub(points[i], def.velocity);
        int x = (int)floorf(origin.x * 16.0f) + 48, y = (int)floorf(origin.y * 16.0f) + 32;
        int z = (int)floorf(origin.z * 16.0f) + 4;
        assert_true(x >= 0 && x < NX && y >= 0 && y < NY && z >= 0 && z < NZ);
        char *cell = &seen[(x * NY + y) * NZ + z];
        assert_int_equal(*cell, 0);
        *cell = 1;
    }
    // Upstream of the box, along the velocity, every lattice point has come.
    int wanted = 0;
    for (int step = 0; step < 30; step++)
        for (int z = 0; z < NZ; z++) {
            int x = 48 - step, y = 32 - step / 2;
            wanted++;
            assert_int_equal(seen[(x * NY + y) * NZ + z], 1);
        }
    assert_true(wanted > 200);
    free(seen);
    free(points);
}

static void what_is_emitted_does_not_depend_on_the_calls(void **state)
{
    (void)state;
    for (int region = FIRN_REGION_SPHERE; region <= FIRN_REGION_BOX; region++) {
        firn_source_def def = nozzle(region);
        def.velocity = firn_vec(1.7f, -0.4f, 0.3f);
        def.jitter = 0.9f;
        size_t expected, count;
        firn_vec3 *once = stream(&def, 0.05f, 1.0, &expected);
        firn_vec3 *often = stream(&def, 0.05f, 0.00137, &count);
        assert_int_equal(count, expected);
        double sums[2] = {0};
        for (size_t i = 0; i < count; i++) {
            sums[0] += (double)firn_dot(once[i], once[i]);
            sums[1] += (double)firn_dot(often[i], often[i]);
        }
        assert_true(fabs(sums[0] / sums[1] - 1.0) < 1e-6);
        free(once);
        free(often);
    }
}

static void a_sheet_thinner_than_the_spacing_emits_all_the_same(void **state)
{
    (void)state;
    size_t count;
    firn_source_def def = nozzle(FIRN_REGION_BOX);
    def.half_size = firn_vec(1e-4f, 0.2f, 0.2f);
    firn_vec3 *points = stream(&def, 0.02f, 0.004, &count);
    assert_true(fabs((double)count / (0.16 * 1.5 / 1e-6) - 1.0) < 0.01);
    free(points);
}

static void new_snow_stands_at_its_sub_frame_position(void **state)
{
    (void)state;
    scene s = scene_with_cells(0.1f);
    firn_source_def def = nozzle(FIRN_REGION_BOX);
    def.jitter = 0.0f;
    begin(&s, &def);
    assert_int_equal(emit(&s, 0.0), FIRN_OK);
    size_t first = s.seeds.count;
    assert_int_equal(emit(&s, 0.123), FIRN_OK);
    assert_true(s.seeds.count > first);
    for (size_t i = first; i < s.seeds.count; i++) {
        double lattice = ((double)positions(&s)[i].x - 3.0 * 0.123) / 0.05 - 0.5;
        assert_true(fabs(lattice - nearbyint(lattice)) < 1e-4);
    }
    finish(&s);
}

static void emission_resumes_from_its_marks(void **state)
{
    (void)state;
    firn_source_def def = nozzle(FIRN_REGION_SPHERE);
    scene whole = scene_with_cells(0.05f);
    begin(&whole, &def);
    assert_int_equal(emit(&whole, 0.31), FIRN_OK);
    scene resumed = scene_with_cells(0.05f);
    begin(&resumed, &def);
    resumed.source.started = whole.source.started;
    resumed.source.begun = whole.source.begun;
    resumed.source.emitted = whole.source.emitted;
    size_t before = whole.seeds.count;
    assert_int_equal(emit(&whole, 0.77), FIRN_OK);
    assert_int_equal(emit(&resumed, 0.77), FIRN_OK);
    assert_int_equal(resumed.seeds.count, whole.seeds.count - before);
    assert_memory_equal(positions(&resumed), positions(&whole) + before,
                        resumed.seeds.count * sizeof(firn_vec3));
    finish(&whole);
    finish(&resumed);
}

static firn_source_def mover(int region, firn_vec3 velocity, firn_vec3 drift)
{
    firn_source_def def = nozzle(region);
    def.velocity = velocity;
    def.region_velocity = drift;
    return def;
}

static void a_region_that_moves_is_one_that_stands_seen_from_it(void **state)
{
    (void)state;
    const firn_vec3 v = {1.0f, 0.5f, 0.0f}, w = {-0.5f, 1.0f, 0.25f};
    for (int region = FIRN_REGION_SPHERE; region <= FIRN_REGION_BOX; region++) {
        scene moving = scene_with_cells(0.05f), still = scene_with_cells(0.05f);
        const firn_source_def defs[2] = {mover(region, v, w),
                                         mover(region, firn_sub(v, w), firn_vec(0, 0, 0))};
        begin(&moving, &defs[0]);
        begin(&still, &defs[1]);
        size_t seen = 0;
        for (int step = 0; step <= 20; step++) {
            double time = 0.013 * step;
            assert_int_equal(emit(&moving, time), FIRN_OK);
            assert_int_equal(emit(&still, time), FIRN_OK);
            assert_int_equal(moving.seeds.count, still.seeds.count);
            for (; seen < moving.seeds.count; seen++) {
                firn_vec3 there = firn_add_scaled(positions(&still)[seen], (float)time, w);
                firn_vec3 gap = firn_sub(positions(&moving)[seen], there);
                assert_true(firn_length(gap) < 1e-6f);
                assert_true(firn_length(firn_sub(velocity_of(&moving, seen), v)) == 0.0f);
            }
        }
        finish(&moving);
        finish(&still);
    }
}

// The region goes in steps of unlike length and rests in between.
static void what_a_region_sweeps_over_is_filled_once(void **state)
{
    (void)state;
    const float way[] = {0.0f, 0.11f, 0.3f, 0.3f, 0.62f, 1.0f};
    const float cell = 0.05f, half = 0.1f;
    scene s = scene_with_cells(cell);
    // A bit longer than its points need: none of them ever lies in a face.
    firn_source_def def =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(half + 0.01f, half, half));
    def.jitter = 0.0f;
    def.end = 10.0;
    begin(&s, &def);
    assert_int_equal(emit(&s, 0.0), FIRN_OK);
    for (int frame = 1; frame < 6; frame++) {
        def.travel = firn_vec(way[frame - 1], 0.0f, 0.0f);
        def.region_velocity = firn_vec(10.0f * (way[frame] - way[frame - 1]), 0.0f, 0.0f);
        double begun = 0.1 * (frame - 1);
        firn_source_change(&s.source, &def, begun, cell);
        for (int step = 1; step <= 7; step++)
            assert_int_equal(emit(&s, begun + 0.1 * step / 7.0), FIRN_OK);
    }
    // A particle in each spacing of the way, but for the last half spacing.
    const float spacing = 0.5f * cell;
    int column[64] = {0};
    for (size_t i = 0; i < s.seeds.count; i++) {
        int place = (int)floorf((positions(&s)[i].x + half) / spacing);
        assert_in_range(place, 0, 63);
        column[place]++;
    }
    int swept = (int)((way[5] + 2.0f * half) / spacing);
    for (int i = 0; i + 1 < swept; i++)
        assert_int_equal(column[i], 8 * 8);
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_continuous_source_makes_a_column_of_the_lattice_density),
        cmocka_unit_test(a_stream_has_neither_gaps_nor_doubles),
        cmocka_unit_test(what_is_emitted_does_not_depend_on_the_calls),
        cmocka_unit_test(a_sheet_thinner_than_the_spacing_emits_all_the_same),
        cmocka_unit_test(new_snow_stands_at_its_sub_frame_position),
        cmocka_unit_test(emission_resumes_from_its_marks),
        cmocka_unit_test(a_region_that_moves_is_one_that_stands_seen_from_it),
        cmocka_unit_test(what_a_region_sweeps_over_is_filled_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
