#include "seeding/seed_volume.h"

#include "seeding/seeding.h"

#include "level_set_balls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const firn_seeding snow = {.cell_size = 0.02f, .density = 400.0f, .up = {0.0f, 1.0f, 0.0f}};

// What a source has emitted, in its owner's hands.
static const firn_channel_set *plain_channels(void)
{
    static firn_channel_set set;
    firn_channel_set_reset(&set, FIRN_NEED_ALWAYS);
    return &set;
}

typedef struct filling {
    firn_budget budget;
    firn_source source;
    firn_seeds seeds;
} filling;

static void fill_until(filling *f, const firn_source_def *def, const double *times, int count)
{
    firn_error error = {0};
    memset(f, 0, sizeof *f);
    f->seeds.budget = &f->budget;
    f->seeds.channels = plain_channels();
    if (firn_source_open(&f->source, def, f->seeds.channels, 0.0, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    for (int i = 0; i < count; i++)
        if (firn_source_emit(&f->source, &snow, times[i], &f->seeds, &error) != FIRN_OK)
            fail_msg("%s", error.message);
}

static const firn_vec3 *positions(const filling *f) { return f->seeds.position.data; }

static void filling_free(filling *f)
{
    firn_seeds_free(&f->seeds);
    firn_source_close(&f->source);
}

static firn_transform voxels_of(float size)
{
    return (firn_transform){{0.013f, -0.007f, 0.021f}, firn_quat_identity(), size};
}

static void a_level_set_is_filled_like_the_shape_it_stands_for(void **state)
{
    (void)state;
    const firn_vec3 center = {0.11f, 0.2f, -0.3f};
    const double now = 0.0;
    const float sizes[] = {0.007f, 0.02f, 0.05f};
    for (int run = 0; run < 6; run++) {
        firn_transform map = voxels_of(sizes[run / 2]);
        if (run % 2)
            map.rotation = firn_quat_turn(firn_vec(1.0f, 2.0f, -0.5f), 0.7f);
        balls b = balls_make(&center, 1, 0.3f, map);
        assert_true(b.set.tile_count > 0 || sizes[run / 2] == 0.05f);
        firn_source_def def = firn_source_def_level_set(&b.set);
        filling f;
        fill_until(&f, &def, &now, 1);
        // Trilinear distance cuts corners: the volume is off by a share of a voxel of the surface.
        double expected = 0.113097336 / 1e-6;
        double slack = 0.001 + 4.0 * pow((double)sizes[run / 2] / 0.3, 2.0);
        assert_true(fabs((double)f.seeds.count / expected - 1.0) < slack);
        double moment[3] = {0};
        for (size_t i = 0; i < f.seeds.count; i++) {
            firn_vec3 d = firn_sub(positions(&f)[i], center);
            assert_true(firn_length(d) < 0.3f + 0.2f * sizes[run / 2]);
            moment[0] += (double)d.x;
            moment[1] += (double)d.y;
            moment[2] += (double)d.z;
        }
        for (int axis = 0; axis < 3; axis++)
            assert_true(fabs(moment[axis]) / (double)f.seeds.count < 1e-3);
        filling_free(&f);
        balls_free(&b);
    }
}

static void no_lattice_point_is_used_twice(void **state)
{
    (void)state;
    const firn_vec3 center = {0.0f, 0.0f, 0.0f};
    const double now = 0.0;
    balls b = balls_make(&center, 1, 0.2f, voxels_of(0.013f));
    firn_source_def def = firn_source_def_level_set(&b.set);
    def.jitter = 0.0f;
    filling f;
    fill_until(&f, &def, &now, 1);
    enum { N = 50 };
    char *seen = calloc(N * N * N, 1);
    assert_non_null(seen);
    for (size_t i = 0; i < f.seeds.count; i++) {
        firn_vec3 p = firn_scale(100.0f, positions(&f)[i]);
        int cell =
            (((int)floorf(p.x) + 25) * N + (int)floorf(p.y) + 25) * N + (int)floorf(p.z) + 25;
        assert_int_equal(seen[cell]++, 0);
    }
    free(seen);
    filling_free(&f);
    balls_free(&b);
}

static void things_far_apart_are_found_without_searching_the_void(void **state)
{
    (void)state;
    const firn_vec3 centers[2] = {{0.0f, 0.0f, 0.0f}, {900.0f, -400.0f, 700.0f}};
    const double now = 0.0;
    balls b = balls_make(centers, 2, 0.1f, voxels_of(0.02f));
    firn_source_def def = firn_source_def_level_set(&b.set);
    filling f;
    fill_until(&f, &def, &now, 1);
    assert_true(f.source.volume->blocks.count < 1000);
    size_t near = 0;
    for (size_t i = 0; i < f.seeds.count; i++)
        near += firn_length(positions(&f)[i]) < 1.0f;
    assert_true(fabs((double)near / (0.5 * (double)f.seeds.count) - 1.0) < 0.02);
    filling_free(&f);
    balls_free(&b);
}

static void a_level_set_streams_a_column_of_even_density(void **state)
{
    (void)state;
    const firn_vec3 center = {0.0f, 0.0f, 0.0f};
    balls b = balls_make(&center, 1, 0.15f, voxels_of(0.015f));
    firn_source_def def = firn_source_def_level_set(&b.set);
    def.velocity = firn_vec(0.0f, 2.0f, 0.0f);
    def.end = 0.4;
    double often[81];
    for (int i = 0; i <= 80; i++)
        often[i] = i / 200.0;
    const double once[2] = {0.0, 0.4};
    filling f[2];
    fill_until(&f[0], &def, once, 2);
    fill_until(&f[1], &def, often, 81);
    assert_int_equal(f[0].seeds.count, f[1].seeds.count);
    double slices[4] = {0};
    for (size_t i = 0; i < f[0].seeds.count; i++) {
        int slice = (int)floorf((positions(&f[0])[i].y - 0.2f) * 10.0f);
        if (slice >= 0 && slice < 4)
            slices[slice] += 1.0;
    }
    double mean = 0.0, expected = 0.0706858347 * 0.1 / 1e-6;
    for (int i = 0; i < 4; i++) {
        assert_true(fabs(slices[i] / expected - 1.0) < 0.03);
        mean += slices[i] / 4.0;
    }
    assert_true(fabs(mean / expected - 1.0) < 0.01);
    filling_free(&f[0]);
    filling_free(&f[1]);
    balls_free(&b);
}

static void snow_that_crosses_two_parts_is_made_once(void **state)
{
    (void)state;
    const firn_vec3 centers[2] = {{0.0f, 0.0f, 0.0f}, {0.5f, 0.0f, 0.0f}};
    const double times[3] = {0.0, 0.11, 0.3};
    size_t counts[2];
    for (int parts = 1; parts <= 2; parts++) {
        balls b = balls_make(centers, parts, 0.1f, voxels_of(0.02f));
        firn_source_def def = firn_source_def_level_set(&b.set);
        def.velocity = firn_vec(2.0f, 0.0f, 0.0f);
        def.end = 0.3;
        filling f;
        fill_until(&f, &def, times, 3);
        counts[parts - 1] = f.seeds.count;
        filling_free(&f);
        balls_free(&b);
    }
    // The second ball adds itself and the gap to the first, which its own stream fills.
    double column = 0.0314159265 * 0.5 / 1e-6;
    assert_true(fabs((double)(counts[1] - counts[0]) / column - 1.0) < 0.03);
}

static void layers_follow_the_surface(void **state)
{
    (void)state;
    const firn_vec3 center = {0.0f, 0.0f, 0.0f};
    const double now = 0.0;
    balls b = balls_make(&center, 1, 0.2f, voxels_of(0.02f));
    firn_source_def def = firn_source_def_level_set(&b.set);
    def.shell_thickness = 0.04f;
    def.shell_stiffness = 3.0f;
    def.crust_depth = 0.1f;
    def.crust_density = 2.0f;
    filling f;
    fill_until(&f, &def, &now, 1);
    const float *stiffness = f.seeds.column[FIRN_STIFFNESS].data;
    const float *mass = f.seeds.column[FIRN_MASS].data;
    for (size_t i = 0; i < f.seeds.count; i++) {
        firn_vec3 p = positions(&f)[i];
        float depth = 0.2f - firn_length(p);
        float above = firn_length(firn_add(p, firn_vec(0.0f, 0.1f, 0.0f))) - 0.2f;
        if (fabsf(depth - 0.04f) > 0.002f)
            assert_float_equal(stiffness[i], depth < 0.04f ? 3.0f : 1.0f, 1e-6f);
        if (fabsf(above) > 0.002f)
            assert_float_equal(mass[i], above > 0.0f ? 8e-4f : 4e-4f, 1e-8f);
    }
    filling_free(&f);
    balls_free(&b);
}

static void expect_refused(const firn_source_def *def)
{
    filling f = {{0}, {{0}}, {0}};
    f.seeds.budget = &f.budget;
    f.seeds.channels = plain_channels();
    firn_error error = {0};
    firn_result result = firn_source_open(&f.source, def, f.seeds.channels, 0.0, &error);
    if (result == FIRN_OK) {
        result = firn_source_emit(&f.source, &snow, 0.0, &f.seeds, &error);
        filling_free(&f);
    }
    assert_int_equal(result, FIRN_ERR_ARGUMENT);
    assert_true(strlen(error.message) > 10);
}

static void bad_level_sets_are_refused(void **state)
{
    (void)state;
    const firn_vec3 center = {0.0f, 0.0f, 0.0f};
    balls b = balls_make(&center, 1, 0.2f, voxels_of(0.02f));
    firn_source_def def = firn_source_def_level_set(NULL);
    expect_refused(&def);
    def.level_set = &b.set;
    def.shell_thickness = 0.1f; // the band is 6 cm
    expect_refused(&def);
    def.shell_thickness = 0.0f;

    firn_level_set empty = b.set;
    empty.leaf_count = empty.tile_count = 0;
    def.level_set = &empty;
    expect_refused(&def);
    const firn_tile huge = {{0, 0, 0}, 4096, -1.0f};
    firn_level_set mountain = {
        .map = voxels_of(1.0f), .background = 3.0f, .tile_count = 1, .tiles = &huge};
    def.level_set = &mountain;
    expect_refused(&def);
    firn_level_set distant = b.set;
    distant.map.translation.x = 3e38f;
    def.level_set = &distant;
    expect_refused(&def);
    b.values[700] = NAN;
    def.level_set = &b.set;
    expect_refused(&def);
    balls_free(&b);
}

// Fails the allocation that follows this many.
static void *failing_allocate(size_t bytes, size_t alignment, void *user)
{
    int *left = user;
    return (*left)-- > 0 ? aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                         : NULL;
}

static void plain_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static void running_out_of_memory_changes_nothing(void **state)
{
    (void)state;
    const firn_vec3 center = {0.0f, 0.0f, 0.0f};
    balls b = balls_make(&center, 1, 0.2f, voxels_of(0.02f));
    firn_source_def def = firn_source_def_level_set(&b.set);
    firn_result result = FIRN_ERR_MEMORY;
    for (int allowed = 0; result != FIRN_OK; allowed++) {
        int left = allowed;
        const firn_allocator allocator = {failing_allocate, plain_release, &left};
        firn_set_allocator(&allocator);
        filling f = {{0}, {{0}}, {0}};
        f.seeds.budget = &f.budget;
        f.seeds.channels = plain_channels();
        result = firn_source_open(&f.source, &def, f.seeds.channels, 0.0, NULL);
        if (result == FIRN_OK) {
            result = firn_source_emit(&f.source, &snow, 0.0, &f.seeds, NULL);
            assert_true((f.seeds.count > 0) == (result == FIRN_OK));
            assert_true(f.source.started == (result == FIRN_OK));
            filling_free(&f);
        }
        assert_true(result == FIRN_OK || result == FIRN_ERR_MEMORY);
        firn_set_allocator(NULL);
        assert_true(allowed < 500);
    }
    balls_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_set_is_filled_like_the_shape_it_stands_for),
        cmocka_unit_test(no_lattice_point_is_used_twice),
        cmocka_unit_test(things_far_apart_are_found_without_searching_the_void),
        cmocka_unit_test(a_level_set_streams_a_column_of_even_density),
        cmocka_unit_test(snow_that_crosses_two_parts_is_made_once),
        cmocka_unit_test(layers_follow_the_surface),
        cmocka_unit_test(bad_level_sets_are_refused),
        cmocka_unit_test(running_out_of_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
