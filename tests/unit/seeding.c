#include "seeding_scene.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void lattice_without_jitter_is_exact_and_aligned_to_the_grid(void **state)
{
    (void)state;
    scene s = scene_with_cells(0.25f);
    firn_source_def def =
        firn_source_def_box(firn_vec(-0.25f, 0.5f, 0.0f), firn_vec(0.5f, 0.25f, 0.75f));
    def.jitter = 0.0f;
    begin(&s, &def);
    assert_int_equal(emit(&s, 0.0), FIRN_OK);
    assert_int_equal(s.seeds.count, 8 * 4 * 2 * 6);
    int in_cell[4][2][6] = {{{0}}};
    for (size_t i = 0; i < s.seeds.count; i++) {
        firn_vec3 x = firn_scale(4.0f, positions(&s)[i]); // in cells
        const float parts[3] = {x.x - floorf(x.x), x.y - floorf(x.y), x.z - floorf(x.z)};
        for (int axis = 0; axis < 3; axis++)
            assert_true(parts[axis] == 0.25f || parts[axis] == 0.75f);
        in_cell[(int)floorf(x.x) + 3][(int)floorf(x.y) - 1][(int)floorf(x.z) + 3]++;
        assert_float_equal(masses(&s)[i], 400.0f / 512.0f, 0.0f);
        assert_float_equal(column(&s, FIRN_VOLUME)[i], 1.0f / 512.0f, 0.0f);
        assert_float_equal(stiffnesses(&s)[i], 1.0f, 0.0f);
        assert_float_equal(column(&s, FIRN_JP)[i], 1.0f, 0.0f);
    }
    for (int i = 0; i < 4 * 2 * 6; i++)
        assert_int_equal((&in_cell[0][0][0])[i], 8);
    finish(&s);
}

static void boxes_side_by_side_share_no_point(void **state)
{
    (void)state;
    size_t counts[3];
    for (int i = 0; i < 3; i++) {
        scene s = scene_with_cells(0.25f);
        // With one particle per cell, faces at odd eighths go through lattice points.
        firn_source_def def = firn_source_def_box(firn_vec(i == 0   ? 0.125f
                                                           : i == 1 ? -0.375f
                                                                    : 0.625f,
                                                           0.125f, 0.125f),
                                                  firn_vec(i == 0 ? 1.0f : 0.5f, 0.5f, 0.5f));
        def.jitter = 0.0f;
        def.particles_per_cell = 1.0f;
        begin(&s, &def);
        assert_int_equal(emit(&s, 0.0), FIRN_OK);
        counts[i] = s.seeds.count;
        finish(&s);
    }
    assert_int_equal(counts[0], counts[1] + counts[2]);
}

static void ball_has_the_same_density_everywhere(void **state)
{
    (void)state;
    enum { SHELLS = 10 };
    const double radius = 0.5;
    const firn_vec3 center = {0.137f, -0.211f, 0.053f};
    const float jitters[] = {0.0f, 0.5f, 1.0f};
    for (size_t run = 0; run < FIRN_COUNT(jitters); run++) {
        scene s = scene_with_cells(0.02f);
        firn_source_def def = firn_source_def_sphere(center, (float)radius);
        def.jitter = jitters[run];
        begin(&s, &def);
        assert_int_equal(emit(&s, 0.0), FIRN_OK);
        const double volume = 4.18879020478639 * radius * radius * radius;
        const double expected = volume / 1e-6;
        assert_true(fabs((double)s.seeds.count / expected - 1.0) < 0.002);
        // Shells of equal volume hold equal numbers.
        int shells[SHELLS] = {0};
        double moment[3] = {0};
        for (size_t i = 0; i < s.seeds.count; i++) {
            firn_vec3 d = firn_sub(positions(&s)[i], center);
            double r = (double)firn_length(d) / radius;
            assert_true(r <= 1.0 + 1e-6);
            int shell = (int)(r * r * r * SHELLS);
            shells[shell < SHELLS ? shell : SHELLS - 1]++;
            moment[0] += (double)d.x;
            moment[1] += (double)d.y;
            moment[2] += (double)d.z;
        }
        for (int shell = 0; shell < SHELLS; shell++)
            assert_true(fabs(shells[shell] * SHELLS / expected - 1.0) < 0.01);
        for (int axis = 0; axis < 3; axis++)
            assert_true(fabs(moment[axis]) / (double)s.seeds.count < 5e-4 * radius);
        finish(&s);
    }
}

static void any_number_of_particles_per_cell_is_honored(void **state)
{
    (void)state;
    const float numbers[] = {0.5f, 1.0f, 3.0f, 8.0f, 27.0f, 100.0f};
    for (size_t i = 0; i < FIRN_COUNT(numbers); i++) {
        scene s = scene_with_cells(0.1f);
        firn_source_def def =
            firn_source_def_box(firn_vec(0.3f, 0.0f, 0.0f), firn_vec(1.0f, 1.0f, 1.0f));
        def.particles_per_cell = numbers[i];
        begin(&s, &def);
        assert_int_equal(emit(&s, 0.0), FIRN_OK);
        // A whole layer of the lattice may be in or out at each pair of faces.
        double spacing = 0.1 / cbrt((double)numbers[i]);
        double expected = 8000.0 * (double)numbers[i];
        assert_true(fabs((double)s.seeds.count / expected - 1.0) < 1.5 * spacing * 1.1);
        double mass = 0.0;
        for (size_t k = 0; k < s.seeds.count; k++)
            mass += (double)masses(&s)[k];
        assert_true(fabs(mass / (400.0 * 8.0 * (double)s.seeds.count / expected) - 1.0) < 1e-5);
        finish(&s);
    }
}

static void jitter_moves_points_by_at_most_half_its_share_and_depends_on_the_seed(void **state)
{
    (void)state;
    scene exact = scene_with_cells(0.25f), moved[2] = {exact, exact};
    firn_source_def def =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f, 0.5f, 0.5f));
    def.jitter = 0.8f; // stays within the cell of the lattice: no point leaves the box
    for (int i = 0; i < 2; i++) {
        def.seed = i;
        begin(&moved[i], &def);
        assert_int_equal(emit(&moved[i], 0.0), FIRN_OK);
    }
    def.jitter = 0.0f;
    begin(&exact, &def);
    assert_int_equal(emit(&exact, 0.0), FIRN_OK);
    int different = 0;
    double sum[3] = {0};
    for (size_t i = 0; i < exact.seeds.count; i++) {
        for (int k = 0; k < 2; k++) {
            assert_int_equal(moved[k].seeds.count, exact.seeds.count);
            firn_vec3 d = firn_sub(positions(&moved[k])[i], positions(&exact)[i]);
            float reach = 0.4f * 0.125f + 1e-6f;
            assert_true(fabsf(d.x) <= reach && fabsf(d.y) <= reach && fabsf(d.z) <= reach);
            sum[0] += (double)d.x;
            sum[1] += (double)d.y;
            sum[2] += (double)d.z;
        }
        different += positions(&moved[0])[i].x != positions(&moved[1])[i].x;
    }
    // The mean of so many even offsets is zero within five deviations.
    double deviation = 0.1 / sqrt(12.0 * 2.0 * (double)exact.seeds.count);
    for (int axis = 0; axis < 3; axis++)
        assert_true(fabs(sum[axis]) / (2.0 * (double)exact.seeds.count) < 5.0 * deviation);
    assert_true((size_t)different > exact.seeds.count * 9 / 10);
    finish(&exact);
    finish(&moved[0]);
    finish(&moved[1]);
}

static void spin_turns_about_the_center(void **state)
{
    (void)state;
    scene s = scene_with_cells(0.1f);
    firn_source_def def = firn_source_def_sphere(firn_vec(1.0f, 2.0f, 3.0f), 0.4f);
    def.velocity = firn_vec(5.0f, 0.0f, -1.0f);
    def.angular_velocity = firn_vec(0.0f, 0.0f, 2.0f);
    begin(&s, &def);
    assert_int_equal(emit(&s, 0.0), FIRN_OK);
    for (size_t i = 0; i < s.seeds.count; i++) {
        firn_vec3 x = positions(&s)[i], v = velocity_of(&s, i);
        assert_float_equal(v.x, 5.0f - 2.0f * (x.y - 2.0f), 1e-5f);
        assert_float_equal(v.y, 2.0f * (x.x - 1.0f), 1e-5f);
        assert_float_equal(v.z, -1.0f, 0.0f);
    }
    finish(&s);
}

static void a_source_waits_for_its_start_and_fills_where_it_stands_when_added_late(void **state)
{
    (void)state;
    scene s = scene_with_cells(0.1f);
    firn_source_def def = firn_source_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 0.3f);
    def.start = 1.0;
    def.velocity = firn_vec(2.0f, 0.0f, 0.0f);
    begin(&s, &def);
    assert_int_equal(emit(&s, 0.75), FIRN_OK);
    assert_int_equal(s.seeds.count, 0);
    assert_false(s.source.started);
    assert_int_equal(emit(&s, 1.25), FIRN_OK);
    size_t count = s.seeds.count;
    assert_true(count > 0);
    double mean = 0.0;
    for (size_t i = 0; i < count; i++)
        mean += (double)positions(&s)[i].x / (double)count;
    assert_true(fabs(mean - 0.5) < 0.01); // traveled for a quarter of a second
    assert_int_equal(emit(&s, 3.0), FIRN_OK);
    assert_int_equal(s.seeds.count, count);
    finish(&s);

    scene late = scene_with_cells(0.1f);
    late.seeds.budget = &late.budget;
    late.seeds.channels = plain_channels();
    assert_int_equal(firn_source_open(&late.source, &def, plain_channels(), 5.0, NULL), FIRN_OK);
    assert_int_equal(emit(&late, 5.0), FIRN_OK);
    assert_int_equal(late.seeds.count, count);
    for (size_t i = 0; i < count; i++)
        assert_true(firn_length(positions(&late)[i]) <= 0.3f + 1e-6f);
    finish(&late);
}

static void points_are_taken_as_they_are(void **state)
{
    (void)state;
    firn_vec3 points[2] = {{1.0f, 2.0f, 3.0f}, {-1.0f, 0.0f, 0.5f}};
    firn_vec3 extra[2] = {{0.0f, 0.0f, 1.0f}, {4.0f, 0.0f, 0.0f}};
    float mass[2] = {0.25f, 0.5f}, jp[2] = {0.9f, 1.1f};
    scene s = scene_with_cells(0.1f);
    firn_source_def def = firn_source_def_points(points, 2);
    def.velocity = firn_vec(1.0f, 0.0f, 0.0f);
    begin(&s, &def);
    points[0].x = 77.0f; // the source has its own copy
    assert_int_equal(emit(&s, 0.0), FIRN_OK);
    assert_int_equal(s.seeds.count, 2);
    assert_float_equal(positions(&s)[0].x, 1.0f, 0.0f);
    assert_float_equal(masses(&s)[0], 400.0f * 0.001f / 8.0f, 1e-7f);
    assert_float_equal(column(&s, FIRN_VOLUME)[0], 0.0f, 0.0f);
    assert_int_equal(emit(&s, 1.0), FIRN_OK);
    assert_int_equal(s.seeds.count, 2);
    finish(&s);

    scene full = scene_with_cells(0.1f);
    const firn_source_value values[] = {{"v", .points = &extra[0].x},
                                        {"mass", .points = mass},
                                        {"Jp", .points = jp},
                                        {"stiffness", .value = {3.0f}}};
    def.values = values;
    def.value_count = FIRN_COUNT(values);
    def.density_noise = 1.0f; // given masses stand
    begin(&full, &def);
    assert_int_equal(emit(&full, 0.0), FIRN_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_float_equal(velocity_of(&full, i).x, 1.0f + extra[i].x, 0.0f);
        assert_float_equal(velocity_of(&full, i).z, extra[i].z, 0.0f);
        assert_float_equal(masses(&full)[i], mass[i], 0.0f);
        assert_float_equal(column(&full, FIRN_VOLUME)[i], mass[i] / 400.0f, 1e-9f);
        assert_float_equal(column(&full, FIRN_JP)[i], jp[i], 0.0f);
        assert_float_equal(stiffnesses(&full)[i], 3.0f, 0.0f);
    }
    finish(&full);
}

static void shell_and_crust_are_layers_of_their_depth(void **state)
{
    (void)state;
    scene s = scene_with_cells(0.05f);
    firn_source_def def =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f, 0.5f, 0.5f));
    def.shell_thickness = 0.11f;
    def.shell_stiffness = 3.0f;
    def.shell_density = 1.5f;
    def.crust_depth = 0.21f;
    def.crust_stiffness = 5.0f;
    def.crust_density = 0.5f;
    begin(&s, &def);
    assert_int_equal(emit(&s, 0.0), FIRN_OK);
    const double standard = 400.0 * 0.025 * 0.025 * 0.025;
    size_t shell = 0, crust = 0;
    for (size_t i = 0; i < s.seeds.count; i++) {
        firn_vec3 x = positions(&s)[i];
        float depth = 0.5f - fmaxf(fabsf(x.x), fmaxf(fabsf(x.y), fabsf(x.z)));
        bool in_shell = depth<0.11f, in_crust = x.y> 0.5f - 0.21f;
        shell += in_shell;
        crust += in_crust;
        float stiffness = (in_shell ? 3.0f : 1.0f) * (in_crust ? 5.0f : 1.0f);
        double density = (in_shell ? 1.5 : 1.0) * (in_crust ? 0.5 : 1.0);
        assert_float_equal(stiffnesses(&s)[i], stiffness, 1e-5f);
        assert_true(fabs((double)masses(&s)[i] / (standard * density) - 1.0) < 1e-5);
    }
    assert_true(shell > 0 && crust > 0 && shell + crust < 2 * s.seeds.count);
    finish(&s);
}

static void noise_varies_stiffness_and_density_independently(void **state)
{
    (void)state;
    scene s = scene_with_cells(0.05f);
    firn_source_def def =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f, 0.5f, 0.5f));
    def.stiffness_noise = 1.0f;
    def.density_noise = 0.5f;
    def.noise_scale = 0.1f;
    begin(&s, &def);
    assert_int_equal(emit(&s, 0.0), FIRN_OK);
    const float standard = 400.0f * 0.025f * 0.025f * 0.025f;
    double mean = 0.0, cross = 0.0, square = 0.0;
    float lowest = 10.0f, highest = 0.0f;
    for (size_t i = 0; i < s.seeds.count; i++) {
        float stiffness = stiffnesses(&s)[i], density = masses(&s)[i] / standard;
        assert_true(stiffness >= 0.05f && stiffness <= 2.0f);
        assert_true(density >= 0.4999f && density <= 1.5001f);
        lowest = fminf(lowest, stiffness);
        highest = fmaxf(highest, stiffness);
        mean += (double)stiffness / (double)s.seeds.count;
        cross += (double)((stiffness - 1.0f) * (density - 1.0f));
        square += (double)((stiffness - 1.0f) * (stiffness - 1.0f));
    }
    assert_true(lowest < 0.4f && highest > 1.6f);
    assert_true(fabs(mean - 1.0) < 0.03);
    assert_true(fabs(cross) < 0.1 * square);
    finish(&s);
}

// Its logarithm has about the amplitude asked for, and a place has the same in cells of any size.
static void strength_noise_is_a_field_in_space(void **state)
{
    (void)state;
    double spread[2];
    float middle[2];
    for (int n = 0; n < 2; n++) {
        scene s = scene_with_cells(n == 0 ? 0.04f : 0.02f);
        firn_source_def def =
            firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.6f, 0.6f, 0.6f));
        def.strength_noise = 1.2f;
        def.noise_scale = 0.1f;
        def.jitter = 0.0f;
        begin(&s, &def);
        assert_int_equal(emit(&s, 0.0), FIRN_OK);
        double sum = 0.0, square = 0.0, count = (double)s.seeds.count, nearest = INFINITY;
        for (size_t i = 0; i < s.seeds.count; i++) {
            double strength = log((double)stiffnesses(&s)[i]);
            assert_true(strength <= log(8.0) + 1e-6);
            sum += strength;
            square += strength * strength;
            double away = (double)firn_length(positions(&s)[i]);
            if (away < nearest) {
                nearest = away;
                middle[n] = (float)strength;
            }
        }
        spread[n] = sqrt(square / count - sum * sum / (count * count));
        assert_true(fabs(sum / count) < 0.2 * 1.2);
        finish(&s);
    }
    assert_true(spread[0] > 0.5 * 1.2 && spread[0] < 1.5 * 1.2);
    assert_true(fabs(spread[1] - spread[0]) < 0.1 * spread[0]);
    // Half a lattice apart at most, a tenth of the smallest lumps but one.
    assert_true(fabsf(middle[1] - middle[0]) < 0.6f * (float)spread[0]);
}

static double bond_share(float cell_size, float chunk_size, int seed, uint64_t *hash)
{
    scene s = scene_with_cells(cell_size);
    firn_source_def def =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f, 0.5f, 0.5f));
    def.jitter = 0.0f;
    def.chunk_size = chunk_size;
    def.seed = seed;
    begin(&s, &def);
    assert_int_equal(emit(&s, 0.0), FIRN_OK);
    const uint8_t *bond = s.seeds.bond.data;
    size_t bonds = 0;
    for (size_t i = 0; i < s.seeds.count; i++) {
        assert_true(bond[i] <= 1);
        bonds += bond[i];
        assert_float_equal(stiffnesses(&s)[i], 1.0f, 0.0f);
        assert_float_equal(masses(&s)[i], masses(&s)[0], 0.0f);
    }
    double share = (double)bonds / (double)s.seeds.count;
    *hash = firn_hash64(bond, s.seeds.count, 0);
    finish(&s);
    return share;
}

// The share of a sheet of given thickness goes with thickness and the number of sheets in a length.
static void bonds_are_sheets_one_cell_thick_between_chunks(void **state)
{
    (void)state;
    uint64_t hash[5];
    assert_true(bond_share(0.02f, 0.0f, 0, &hash[0]) == 0.0);
    double coarse = bond_share(0.04f, 0.25f, 0, &hash[1]);
    double fine = bond_share(0.02f, 0.25f, 0, &hash[2]);
    double small = bond_share(0.02f, 0.125f, 0, &hash[3]);
    assert_true(fine > 0.1 && fine < 0.25);
    assert_true(coarse / fine > 1.6 && coarse / fine < 2.1);
    assert_true(small / fine > 1.6 && small / fine < 2.1);
    (void)bond_share(0.02f, 0.25f, 1, &hash[4]);
    assert_true(hash[4] != hash[2]);
}

static void expect_refused(const firn_source_def *def)
{
    firn_source source;
    firn_error error = {0};
    assert_int_equal(firn_source_open(&source, def, plain_channels(), 0.0, &error),
                     FIRN_ERR_ARGUMENT);
    assert_true(strlen(error.message) > 10);
}

static void bad_definitions_are_refused(void **state)
{
    (void)state;
    firn_source_def def = {0};
    expect_refused(&def);
    def = firn_source_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), -1.0f);
    expect_refused(&def);
    def = firn_source_def_sphere(firn_vec(NAN, 0.0f, 0.0f), 1.0f);
    expect_refused(&def);
    def = firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(1.0f, INFINITY, 1.0f));
    expect_refused(&def);
    def = firn_source_def_points(NULL, 3);
    expect_refused(&def);
    const firn_vec3 points[2] = {{0.0f, 0.0f, 0.0f}, {0.0f, NAN, 0.0f}};
    def = firn_source_def_points(points, 0);
    expect_refused(&def);
    def = firn_source_def_points(points, 2);
    expect_refused(&def);
    const float mass = 0.0f, jp = -1.0f;
    def = firn_source_def_points(points, 1);
    const firn_source_value bad[] = {
        {"mass", .points = &mass}, {"Jp", .points = &jp},         {"stiffness", .value = {NAN}},
        {"density", .value = {1}}, {"temperature", .value = {1}}, {"F", .points = &jp},
        {"v", .noise = -1.0f},
    };
    def.value_count = 1;
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        def.values = &bad[i];
        expect_refused(&def);
    }
    const firn_source_value unknown = {"stifness", .value = {1.0f}};
    def.values = &unknown;
    firn_source source;
    firn_error error;
    assert_int_equal(firn_source_open(&source, &def, plain_channels(), 0.0, &error),
                     FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "did you mean 'stiffness'?"));
    assert_non_null(strstr(error.message, " mass "));
    const firn_source_value twice[] = {{"Jp", .value = {0.5f}}, {"Jp", .value = {0.5f}}};
    def.values = twice;
    def.value_count = 2;
    expect_refused(&def);
    def = firn_source_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 1.0f);
    const firn_source_value listed = {"Jp", .points = (const float[]){1.0f}};
    def.values = &listed;
    def.value_count = 1;
    expect_refused(&def);
}

static void a_source_without_particles_or_with_too_many_is_refused_and_unchanged(void **state)
{
    (void)state;
    for (int run = 0; run < 4; run++) {
        scene s = scene_with_cells(run == 0 ? 1.0f : 1e-3f);
        firn_source_def def = firn_source_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 0.01f);
        def.jitter = 0.0f;
        if (run == 1)
            def.radius = 10.0f;
        if (run == 2)
            def.radius = 1e5f;
        if (run == 3) // few particles, but an endless plate to look for them
            def = firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(1e5f, 1e-5f, 1e5f));
        begin(&s, &def);
        assert_int_equal(emit(&s, 0.0), FIRN_ERR_ARGUMENT);
        assert_true(strlen(s.error.message) > 10);
        assert_false(s.source.started);
        assert_int_equal(s.seeds.count, 0);
        finish(&s);
    }
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
    const firn_vec3 points[3] = {{0}};
    const float ones[3] = {1.0f, 1.0f, 1.0f};
    const firn_source_value values[] = {
        {"v", .points = &points[0].x}, {"mass", .points = ones}, {"Jp", .points = ones}};
    for (int run = 0; run < 2; run++) {
        firn_source_def def = nozzle(FIRN_REGION_BOX);
        if (run == 1) {
            def = firn_source_def_points(points, 3);
            def.values = values;
            def.value_count = FIRN_COUNT(values);
        }
        bool done = false;
        for (int allowed = 0; !done; allowed++) {
            int left = allowed;
            const firn_allocator allocator = {failing_allocate, plain_release, &left};
            firn_set_allocator(&allocator);
            scene s = scene_with_cells(0.1f);
            s.seeds.budget = &s.budget;
            s.seeds.channels = plain_channels();
            firn_result opened = firn_source_open(&s.source, &def, s.seeds.channels, 0.0, &s.error);
            firn_result result = opened == FIRN_OK ? emit(&s, 0.1) : opened;
            if (result != FIRN_OK) {
                assert_int_equal(result, FIRN_ERR_MEMORY);
                assert_int_equal(s.seeds.count, 0);
                assert_false(s.source.started);
            } else {
                assert_true(s.seeds.count > 0);
            }
            done = result == FIRN_OK;
            firn_seeds_free(&s.seeds);
            if (opened == FIRN_OK)
                firn_source_close(&s.source);
            firn_set_allocator(NULL);
            assert_true(allowed < 500);
        }
    }
}

static uint64_t hash_of_seeds(const scene *s)
{
    const size_t count = s->seeds.count;
    uint64_t hash = firn_hash64(s->seeds.position.data, count * sizeof(firn_vec3), count);
    for (int c = 0; c < FIRN_CHANNEL_MAX; c++)
        if (s->seeds.column[c].data != NULL)
            hash = firn_hash64(s->seeds.column[c].data, count * sizeof(float), hash);
    return firn_hash64(s->seeds.bond.data, count, hash);
}

// Enough blocks for several batches, that fill and then stream in.
static void seeds_do_not_depend_on_the_threads(void **state)
{
    (void)state;
    uint64_t seen = 0;
    for (int threads = 1; threads <= 5; threads++) {
        scene s = scene_with_cells(0.04f);
        s.seeding.thread_count = threads;
        firn_source_def def = firn_source_def_sphere(firn_vec(0.1f, 0.0f, 0.0f), 0.6f);
        def.velocity = firn_vec(1.0f, -2.0f, 0.5f);
        def.stiffness_noise = def.density_noise = 0.5f;
        def.shell_thickness = 0.05f;
        def.shell_stiffness = 3.0f;
        def.chunk_size = 0.2f;
        def.end = 1.0;
        begin(&s, &def);
        assert_int_equal(emit(&s, 0.0), FIRN_OK);
        size_t filled = s.seeds.count;
        assert_true(filled > 100000);
        assert_int_equal(emit(&s, 0.1), FIRN_OK);
        assert_true(s.seeds.count > filled + 10000);
        if (threads == 1)
            seen = hash_of_seeds(&s);
        assert_true(hash_of_seeds(&s) == seen);
        finish(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lattice_without_jitter_is_exact_and_aligned_to_the_grid),
        cmocka_unit_test(boxes_side_by_side_share_no_point),
        cmocka_unit_test(ball_has_the_same_density_everywhere),
        cmocka_unit_test(any_number_of_particles_per_cell_is_honored),
        cmocka_unit_test(jitter_moves_points_by_at_most_half_its_share_and_depends_on_the_seed),
        cmocka_unit_test(spin_turns_about_the_center),
        cmocka_unit_test(a_source_waits_for_its_start_and_fills_where_it_stands_when_added_late),
        cmocka_unit_test(points_are_taken_as_they_are),
        cmocka_unit_test(shell_and_crust_are_layers_of_their_depth),
        cmocka_unit_test(noise_varies_stiffness_and_density_independently),
        cmocka_unit_test(strength_noise_is_a_field_in_space),
        cmocka_unit_test(bonds_are_sheets_one_cell_thick_between_chunks),
        cmocka_unit_test(bad_definitions_are_refused),
        cmocka_unit_test(a_source_without_particles_or_with_too_many_is_refused_and_unchanged),
        cmocka_unit_test(running_out_of_memory_changes_nothing),
        cmocka_unit_test(seeds_do_not_depend_on_the_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
