#include "clouds.h"
#include "effort.h"

#include "firn/sim.h"

static void mass_and_momentum_are_conserved_for_every_kernel_voxel_and_filter(void **state)
{
    (void)state;
    cloud c = random_cloud(4000);
    double mass = 0.0, momentum[3] = {0}, packing = 0.0;
    for (size_t i = 0; i < c.points.count; i++) {
        mass += (double)c.mass[i];
        momentum[0] += (double)c.mass[i] * (double)c.velocity[i].x;
        momentum[1] += (double)c.mass[i] * (double)c.velocity[i].y;
        momentum[2] += (double)c.mass[i] * (double)c.velocity[i].z;
        packing += (double)c.mass[i] / (double)c.jp[i];
    }
    const float voxels[] = {0.005f, 0.0137f, 0.02f, 0.05f, 0.3f, 5.0f};
    const float widths[] = {0.0f, 0.001f, 0.031f};
    const size_t runs = FIRN_COUNT(voxels) * FIRN_COUNT(widths) * 2;
    for (size_t run = 0; run < runs; run += (size_t)effort(1, 7)) {
        firn_field_def def = plain_def();
        def.kernel = (int)(run % 2);
        def.voxel_size = voxels[run / 2 % FIRN_COUNT(voxels)];
        def.filter_width = widths[run / 2 / FIRN_COUNT(voxels)];
        firn_field *field = rasterize(&def, &c);
        firn_field_view view = firn_field_read(field);
        double volume = pow((double)view.voxel_size, 3.0), sum[5] = {0};
        for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
            double m = (double)view.density[i] * volume;
            assert_true(is_active(&view, i) == (m > 0.0));
            sum[0] += m;
            sum[1] += m * (double)view.velocity[i].x;
            sum[2] += m * (double)view.velocity[i].y;
            sum[3] += m * (double)view.velocity[i].z;
            sum[4] += m * (double)view.compaction[i];
        }
        assert_true(fabs(sum[0] / mass - 1.0) < 1e-6);
        for (int axis = 0; axis < 3; axis++)
            assert_true(fabs(sum[1 + axis] - momentum[axis]) < 1e-6 * mass * 5.0);
        assert_true(fabs(sum[4] / packing - 1.0) < 1e-6);
        firn_field_destroy(field);
    }
    cloud_free(&c);
}

static void a_uniform_lattice_gives_its_density_velocity_and_compaction(void **state)
{
    (void)state;
    cloud c = lattice_cloud(16);
    const float voxels[] = {0.01f, 0.02f, 0.04f};
    for (int run = 0; run < 6; run++) {
        firn_field_def def = plain_def();
        def.kernel = run % 2;
        def.voxel_size = voxels[run / 2];
        firn_field *field = rasterize(&def, &c);
        firn_field_view view = firn_field_read(field);
        int inside = 0;
        for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
            if (!is_active(&view, i))
                continue;
            firn_coord o = view.leaf_origin[i / 512];
            float h = view.voxel_size;
            float p[3] = {h * ((float)(o.x + (int)(i / 64 % 8)) + 0.5f),
                          h * ((float)(o.y + (int)(i / 8 % 8)) + 0.5f),
                          h * ((float)(o.z + (int)(i % 8)) + 0.5f)};
            assert_float_equal(view.velocity[i].x, 1.0f, 0.0f);
            assert_float_equal(view.velocity[i].y, -2.0f, 0.0f);
            assert_float_equal(view.velocity[i].z, 3.0f, 0.0f);
            assert_float_equal(view.compaction[i], 1.0f / 0.8f, 0.0f);
            bool deep = true;
            for (int axis = 0; axis < 3; axis++)
                deep = deep && p[axis] > 0.085f && p[axis] < 0.235f;
            inside += deep;
            if (deep)
                assert_float_equal(view.density[i], 400.0f, 400.0f * 1e-4f);
        }
        assert_true(inside >= 27);
        firn_field_destroy(field);
    }
    cloud_free(&c);
}

static void one_particle_becomes_the_spline(void **state)
{
    (void)state;
    cloud c = cloud_make(1);
    c.position[0] = firn_vec(-0.5f, 0.5f, 0.5f); // the center of voxel (-1, 0, 0)
    c.velocity[0] = firn_vec(0.0f, 0.0f, 0.0f);
    c.mass[0] = 8.0f;
    c.jp[0] = 1.0f;
    const float expected[2][3] = {{6.0f / 8.0f, 1.0f / 8.0f, 0.0f},
                                  {4.0f / 6.0f, 1.0f / 6.0f, 0.0f}};
    for (int kernel = 0; kernel < 2; kernel++) {
        firn_field_def def = plain_def();
        def.voxel_size = 1.0f;
        def.kernel = kernel;
        firn_field *field = rasterize(&def, &c);
        firn_field_view view = firn_field_read(field);
        for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
            firn_coord o = view.leaf_origin[i / 512];
            int d[3] = {abs(o.x + (int)(i / 64 % 8) + 1), abs(o.y + (int)(i / 8 % 8)),
                        abs(o.z + (int)(i % 8))};
            float weight = 8.0f;
            for (int axis = 0; axis < 3; axis++)
                weight *= expected[kernel][d[axis] < 2 ? d[axis] : 2];
            assert_float_equal(view.density[i], weight, 1e-5f);
        }
        firn_field_destroy(field);
    }
    cloud_free(&c);
}

static void the_center_of_mass_stays_where_it_is(void **state)
{
    (void)state;
    cloud c = random_cloud(50);
    c.points.count = 1;
    for (int run = 0; run < 100; run++) {
        firn_field_def def = plain_def();
        def.kernel = run % 2;
        def.voxel_size = 0.0625f;
        def.filter_width = run % 3 ? 0.0625f : 0.125f;
        c.points.position = &c.position[run / 2];
        firn_field *field = rasterize(&def, &c);
        firn_field_view view = firn_field_read(field);
        double mass = 0.0, moment[3] = {0};
        for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
            firn_coord o = view.leaf_origin[i / 512];
            double m = (double)view.density[i];
            mass += m;
            moment[0] += m * (o.x + (int)(i / 64 % 8) + 0.5) * 0.0625;
            moment[1] += m * (o.y + (int)(i / 8 % 8) + 0.5) * 0.0625;
            moment[2] += m * (o.z + (int)(i % 8) + 0.5) * 0.0625;
        }
        const float *x = &c.points.position->x;
        for (int axis = 0; axis < 3; axis++)
            assert_true(fabs(moment[axis] / mass - (double)x[axis]) < 2e-6);
        firn_field_destroy(field);
    }
    cloud_free(&c);
}

static void moving_by_whole_leaves_moves_the_field(void **state)
{
    (void)state;
    cloud c = random_cloud(500), moved = cloud_make(500);
    const firn_coord shift = {8, -24, 800};
    firn_field_def def = plain_def();
    def.voxel_size = 0.0625f;
    for (size_t i = 0; i < 500; i++) {
        // Few bits, so that the sum with the shift is exact.
        c.position[i].x = floorf(c.position[i].x * 4096.0f) / 4096.0f;
        c.position[i].y = floorf(c.position[i].y * 4096.0f) / 4096.0f;
        c.position[i].z = floorf(c.position[i].z * 4096.0f) / 4096.0f;
        moved.position[i] = firn_add(c.position[i], firn_vec(0.5f, -1.5f, 50.0f));
    }
    memcpy(moved.velocity, c.velocity, 500 * sizeof(firn_vec3));
    memcpy(moved.mass, c.mass, 500 * sizeof(float));
    memcpy(moved.jp, c.jp, 500 * sizeof(float));
    firn_field *fields[2] = {rasterize(&def, &c), rasterize(&def, &moved)};
    firn_field_view a = firn_field_read(fields[0]), b = firn_field_read(fields[1]);
    assert_int_equal(a.leaf_count, b.leaf_count);
    for (size_t i = 0; i < a.leaf_count; i++) {
        assert_int_equal(a.leaf_origin[i].x + shift.x, b.leaf_origin[i].x);
        assert_int_equal(a.leaf_origin[i].y + shift.y, b.leaf_origin[i].y);
        assert_int_equal(a.leaf_origin[i].z + shift.z, b.leaf_origin[i].z);
    }
    assert_memory_equal(a.mask, b.mask, a.leaf_count * 64);
    assert_memory_equal(a.density, b.density, a.leaf_count * 512 * sizeof(float));
    assert_memory_equal(a.velocity, b.velocity, a.leaf_count * 512 * sizeof(firn_vec3));
    firn_field_destroy(fields[0]);
    firn_field_destroy(fields[1]);
    cloud_free(&c);
    cloud_free(&moved);
}

static float density_at(const firn_field_view *view, int x, int y, int z)
{
    for (size_t i = 0; i < view->leaf_count; i++) {
        firn_coord o = view->leaf_origin[i];
        if (x >= o.x && x < o.x + 8 && y >= o.y && y < o.y + 8 && z >= o.z && z < o.z + 8)
            return view->density[i * 512 + (size_t)(((x - o.x) * 8 + y - o.y) * 8 + z - o.z)];
    }
    return 0.0f;
}

static void moving_by_whole_voxels_moves_the_field(void **state)
{
    (void)state;
    cloud c = random_cloud(200), moved = random_cloud(200);
    firn_field_def def = plain_def();
    def.voxel_size = 0.0625f;
    for (size_t i = 0; i < 200; i++)
        moved.position[i] =
            firn_add(c.position[i], firn_vec(3.0f / 16.0f, -0.0625f, 13.0f / 16.0f));
    firn_field *fields[2] = {rasterize(&def, &c), rasterize(&def, &moved)};
    firn_field_view a = firn_field_read(fields[0]), b = firn_field_read(fields[1]);
    for (int x = -12; x < 12; x++)
        for (int y = -12; y < 12; y++)
            for (int z = -12; z < 12; z++) {
                float before = density_at(&a, x, y, z);
                float after = density_at(&b, x + 3, y - 1, z + 13);
                assert_float_equal(after, before, 1e-4f * (before + 0.01f));
            }
    firn_field_destroy(fields[0]);
    firn_field_destroy(fields[1]);
    cloud_free(&c);
    cloud_free(&moved);
}

static void result_does_not_depend_on_thread_count(void **state)
{
    (void)state;
    cloud c = random_cloud(20000);
    firn_field_def def = plain_def();
    const int threads[] = {1, 2, 3, 8, 0};
    uint64_t hashes[FIRN_COUNT(threads)];
    for (size_t i = 0; i < FIRN_COUNT(threads); i++) {
        def.thread_count = threads[i];
        hashes[i] = field_hash(rasterize(&def, &c));
        assert_true(hashes[i] == hashes[0]);
    }
    cloud_free(&c);
}

static void leaves_are_sorted_and_never_empty(void **state)
{
    (void)state;
    cloud c = random_cloud(3000);
    firn_field_def def = plain_def();
    firn_field *field = rasterize(&def, &c);
    firn_field_view view = firn_field_read(field);
    assert_true(view.leaf_count > 100);
    for (size_t i = 0; i < view.leaf_count; i++) {
        firn_coord o = view.leaf_origin[i];
        assert_true(o.x % 8 == 0 && o.y % 8 == 0 && o.z % 8 == 0);
        uint64_t any = 0;
        for (int word = 0; word < 8; word++)
            any |= view.mask[i * 8 + (size_t)word];
        assert_true(any != 0);
        if (i > 0) {
            firn_coord p = view.leaf_origin[i - 1];
            assert_true(p.x < o.x || (p.x == o.x && (p.y < o.y || (p.y == o.y && p.z < o.z))));
        }
    }
    firn_field_destroy(field);
    cloud_free(&c);
}

static void particles_far_apart_stay_sparse(void **state)
{
    (void)state;
    cloud c = cloud_make(2);
    for (int i = 0; i < 2; i++) {
        c.position[i] = i ? firn_vec(9e4f, -8e4f, 7e4f) : firn_vec(-9e4f, 0.0f, 1.0f);
        c.velocity[i] = firn_vec(0.0f, 0.0f, 0.0f);
        c.mass[i] = c.jp[i] = 1.0f;
    }
    firn_field_def def = plain_def();
    def.voxel_size = 0.01f;
    firn_field *field = rasterize(&def, &c);
    assert_true(firn_field_read(field).leaf_count <= 16);
    firn_field_destroy(field);
    cloud_free(&c);
}

static void the_widest_filter_keeps_the_mass(void **state)
{
    (void)state;
    cloud c = random_cloud(10);
    firn_field_def def = plain_def();
    def.kernel = FIRN_KERNEL_CUBIC;
    def.voxel_size = 0.0625f;
    def.filter_width = 1.0f;
    firn_field *field = rasterize(&def, &c);
    firn_field_view view = firn_field_read(field);
    double mass = 0.0, expected = 0.0;
    for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++)
        mass += (double)view.density[i] * pow(0.0625, 3.0);
    for (size_t i = 0; i < c.points.count; i++)
        expected += (double)c.mass[i];
    assert_true(fabs(mass / expected - 1.0) < 1e-6);
    firn_field_destroy(field);
    cloud_free(&c);
}

static void only_what_is_wanted_is_made(void **state)
{
    (void)state;
    cloud c = random_cloud(300);
    firn_field_def def = plain_def();
    firn_field *full = rasterize(&def, &c);
    firn_field_view all = firn_field_read(full);
    for (int run = 0; run < 3; run++) {
        def.velocity = run == 1;
        def.compaction = run == 2;
        c.points.velocity = def.velocity ? c.velocity : NULL;
        c.points.jp = def.compaction ? c.jp : NULL;
        firn_field *field = rasterize(&def, &c);
        firn_field_view view = firn_field_read(field);
        size_t voxels = view.leaf_count * FIRN_LEAF_VOXELS;
        assert_int_equal(view.leaf_count, all.leaf_count);
        assert_true((view.velocity != NULL) == def.velocity);
        assert_true((view.compaction != NULL) == def.compaction);
        for (size_t i = 0; i < voxels; i++) {
            assert_float_equal(view.density[i], all.density[i], 1e-5f * all.density[i]);
            if (def.velocity)
                assert_float_equal(view.velocity[i].x, all.velocity[i].x, 1e-4f);
            if (def.compaction)
                assert_float_equal(view.compaction[i], all.compaction[i], 1e-5f);
        }
        firn_field_destroy(field);
    }
    c.points.count = 0;
    firn_field *empty = rasterize(&def, &c);
    assert_int_equal(firn_field_read(empty).leaf_count, 0);
    firn_field_destroy(empty);
    firn_field_destroy(full);
    firn_field_destroy(NULL);
    cloud_free(&c);
}

// Any number of grids: each is what it would be alone, and the others do not change.
static void more_grids_are_means_like_the_others(void **state)
{
    (void)state;
    cloud c = random_cloud(500);
    firn_field_def def = firn_field_def_default();
    def.voxel_size = 0.03f;
    firn_field *plain = NULL, *full = NULL;
    firn_error error;
    assert_int_equal(firn_field_create(&def, &c.points, &plain, &error), FIRN_OK);
    const firn_field_values values[] = {
        {"packing", 1, true, 1.0f, c.jp},   {"speed", 3, false, 0.0f, &c.velocity[0].x},
        {"weight", 1, false, 0.0f, c.mass}, {"again", 3, false, 2.0f, &c.velocity[0].x},
        {"jp", 1, false, 1.0f, c.jp},
    };
    c.points.values = values;
    c.points.value_count = FIRN_COUNT(values);
    for (int run = 0; run < 3; run++) {
        def.velocity = run != 1;
        def.compaction = run != 2;
        assert_int_equal(firn_field_create(&def, &c.points, &full, &error), FIRN_OK);
        firn_field_view a = firn_field_read(plain), b = firn_field_read(full);
        assert_int_equal(a.leaf_count, b.leaf_count);
        assert_int_equal(b.grid_count, FIRN_COUNT(values));
        size_t voxels = 512 * a.leaf_count;
        assert_memory_equal(a.density, b.density, voxels * sizeof(float));
        assert_memory_equal(a.compaction, b.grids[0].values, voxels * sizeof(float));
        assert_memory_equal(a.velocity, b.grids[1].values, 3 * voxels * sizeof(float));
        assert_memory_equal(a.velocity, b.grids[3].values, 3 * voxels * sizeof(float));
        assert_string_equal(b.grids[4].name, "jp");
        assert_true(b.grids[3].components == 3 && b.grids[3].background == 2.0f);
        assert_true((b.velocity != NULL) == def.velocity);
        firn_field_destroy(full);
    }
    firn_field_values bad[] = {
        {"density", 1, false, 0.0f, c.jp}, {"vel", 3, false, 0.0f, &c.velocity[0].x},
        {"", 1, false, 0.0f, c.jp},        {"x", 2, false, 0.0f, c.jp},
        {"x", 1, false, NAN, c.jp},        {"x", 1, false, 0.0f, NULL},
        {NULL, 1, false, 0.0f, c.jp},      {"x", 1, true, 0.0f, &c.velocity[0].x},
    };
    c.velocity[0].x = -1.0f;
    c.points.value_count = 1;
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        c.points.values = &bad[i];
        assert_int_equal(firn_field_create(&def, &c.points, &full, &error), FIRN_ERR_ARGUMENT);
        assert_true(strlen(error.message) > 20);
    }
    firn_field_destroy(plain);
    cloud_free(&c);
}

static void expect_refused(const firn_field_def *def, const firn_field_points *points)
{
    firn_field *field = NULL;
    firn_error error = {0};
    assert_int_equal(firn_field_create(def, points, &field, &error), FIRN_ERR_ARGUMENT);
    assert_true(strlen(error.message) > 10);
    assert_null(field);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    cloud c = random_cloud(10);
    firn_field_def def = {0};
    expect_refused(&def, &c.points);
    def = plain_def();
    def.voxel_size = 0.0f;
    expect_refused(&def, &c.points);
    def.voxel_size = NAN;
    expect_refused(&def, &c.points);
    def = plain_def();
    def.filter_width = 10.0f; // 500 voxels
    expect_refused(&def, &c.points);
    def = plain_def();

    firn_field_points points = c.points;
    points.velocity = NULL;
    expect_refused(&def, &points);
    points = c.points;
    points.jp = NULL;
    expect_refused(&def, &points);
    points = c.points;
    points.mass = NULL;
    expect_refused(&def, &points);
    points = c.points;
    points.cell_size = NAN;
    expect_refused(&def, &points);

    const float bad[] = {NAN, INFINITY, -1.0f, 0.0f};
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        float kept = c.mass[5];
        c.mass[5] = bad[i];
        expect_refused(&def, &c.points);
        c.mass[5] = kept;
        kept = c.jp[9];
        c.jp[9] = bad[i];
        expect_refused(&def, &c.points);
        c.jp[9] = kept;
    }
    const float far[] = {NAN, -INFINITY, 2e6f, 3e38f};
    for (size_t i = 0; i < FIRN_COUNT(far); i++) {
        float kept = c.position[0].y;
        c.position[0].y = far[i];
        expect_refused(&def, &c.points);
        c.position[0].y = kept;
    }
    c.velocity[3].z = NAN;
    expect_refused(&def, &c.points);
    cloud_free(&c);
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    cloud c = random_cloud(3000); // the table of leaves has to grow
    firn_field_def def = plain_def();
    int allowed = allocations_needed(&def, &c);
    assert_true(allowed > 9);
    cloud_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_and_momentum_are_conserved_for_every_kernel_voxel_and_filter),
        cmocka_unit_test(more_grids_are_means_like_the_others),
        cmocka_unit_test(a_uniform_lattice_gives_its_density_velocity_and_compaction),
        cmocka_unit_test(one_particle_becomes_the_spline),
        cmocka_unit_test(the_center_of_mass_stays_where_it_is),
        cmocka_unit_test(moving_by_whole_leaves_moves_the_field),
        cmocka_unit_test(moving_by_whole_voxels_moves_the_field),
        cmocka_unit_test(result_does_not_depend_on_thread_count),
        cmocka_unit_test(leaves_are_sorted_and_never_empty),
        cmocka_unit_test(particles_far_apart_stay_sparse),
        cmocka_unit_test(the_widest_filter_keeps_the_mass),
        cmocka_unit_test(only_what_is_wanted_is_made),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
