#include "field/raster.h"

#include "clouds.h"

#include "firn/sim.h"

// Ellipsoids of a cloud whose kernel is some voxels wide.
static firn_raster shapes_of(const cloud *c, double width, float ratio)
{
    firn_raster raster = {
        .points = &c->points, .per_voxel = width / 0.02, .width = width, .thread_count = 2};
    firn_error error = {0};
    if (firn_raster_anisotropy(&raster, ratio, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return raster;
}

static void mass_and_momentum_are_conserved_for_every_ratio_voxel_and_kernel(void **state)
{
    (void)state;
    cloud random = random_cloud(2000), lattice = lattice_cloud(6);
    const float voxels[] = {0.005f, 0.01f, 0.0137f, 0.05f};
    for (size_t run = 0; run < 2 * FIRN_COUNT(voxels); run++) {
        firn_field_def def = plain_def();
        def.kernel = (int)(run % 2);
        def.voxel_size = voxels[run / 2];
        def.anisotropy = 2.0f + (float)(run % 3);
        expect_conserved(&def, &random);
        expect_conserved(&def, &lattice);
    }
    cloud_free(&random);
    cloud_free(&lattice);
}

static void a_particle_alone_is_round(void **state)
{
    (void)state;
    cloud c = random_cloud(3);
    c.position[1] = firn_vec(5.0f, 0.0f, 0.0f);
    c.position[2] = firn_vec(5.0f, 0.005f, 0.0f); // a pair does not count as a surface
    firn_raster raster = shapes_of(&c, 4.0, 4.0f);
    for (size_t i = 0; i < 3; i++) {
        const firn_footprint *own = &raster.footprint[i];
        assert_float_equal(own->to_unit[0], 0.5f, 1e-6f); // half a unit, which is 2 voxels
        assert_float_equal(own->to_unit[3], 0.5f, 1e-6f);
        assert_float_equal(own->to_unit[5], 0.5f, 1e-6f);
        assert_float_equal(own->to_unit[1], 0.0f, 1e-6f);
        assert_float_equal(own->extent[0], own->extent[2], 1e-5f);
    }
    firn_raster_free(&raster);
    cloud_free(&c);
}

static void kernels_are_flat_at_a_surface_and_round_within(void **state)
{
    (void)state;
    enum { EDGE = 10, N = 2 * EDGE };
    cloud c = lattice_cloud(EDGE);
    firn_raster raster = shapes_of(&c, 4.0, 4.0f);
    const int middle = N / 2;
    const firn_footprint *top = &raster.footprint[(middle * N + N - 1) * N + middle];
    const firn_footprint *deep = &raster.footprint[(middle * N + middle) * N + middle];
    assert_true(top->to_unit[3] > 2.0f * top->to_unit[0]);
    assert_true(top->extent[1] < 0.5f * top->extent[0]);
    assert_float_equal(top->to_unit[0], top->to_unit[5], 1e-4f);
    for (int axis = 0; axis < 3; axis++)
        assert_float_equal(deep->extent[axis], 4.0f * (float)firn_raster_radius(&raster), 0.4f);
    firn_raster_free(&raster);
    cloud_free(&c);
}

static void axes_keep_to_the_ratio_the_unit_and_the_voxel(void **state)
{
    (void)state;
    cloud c = lattice_cloud(8);
    for (size_t i = 0; i < c.points.count; i++)
        c.position[i].y = 0.0f; // a sheet, much thinner than any kernel
    for (int run = 0; run < 4; run++) {
        float ratio = run % 2 ? 2.0f : 16.0f;
        double width = run / 2 ? 6.0 : 1.5;
        firn_raster raster = shapes_of(&c, width, ratio);
        float radius = (float)firn_raster_radius(&raster);
        for (size_t i = 0; i < c.points.count; i++) {
            const float *extent = raster.footprint[i].extent;
            float longest = fmaxf(extent[0], extent[2]);
            assert_true(extent[1] >= 0.9999f * radius);
            assert_true(extent[1] * ratio >= 0.9999f * longest);
            assert_true(longest <= 1.0001f * radius * (float)width);
        }
        firn_raster_free(&raster);
    }
    cloud_free(&c);
}

static void turning_the_snow_turns_the_kernels(void **state)
{
    (void)state;
    cloud c = random_cloud(3000), turned = random_cloud(3000);
    for (size_t i = 0; i < c.points.count; i++) {
        c.position[i] = firn_scale(0.15f, c.position[i]);
        c.position[i].z *= 0.2f;
        turned.position[i] = firn_vec(c.position[i].y, c.position[i].z, c.position[i].x);
    }
    firn_raster a = shapes_of(&c, 4.0, 4.0f), b = shapes_of(&turned, 4.0, 4.0f);
    // xx xy xz yy yz zz of the turned matrix, in places of the first.
    static const int place[6] = {3, 4, 1, 5, 2, 0};
    int flat = 0;
    for (size_t i = 0; i < c.points.count; i++) {
        for (int k = 0; k < 6; k++)
            assert_float_equal(b.footprint[i].to_unit[k], a.footprint[i].to_unit[place[k]], 2e-3f);
        flat += fabsf(a.footprint[i].to_unit[5] - a.footprint[i].to_unit[0]) > 0.1f;
    }
    assert_true(flat > 1000);
    firn_raster_free(&a);
    firn_raster_free(&b);
    cloud_free(&c);
    cloud_free(&turned);
}

// Mass above a height, of all.
static double share_above(const firn_field_def *def, const cloud *c, float height)
{
    firn_field *field = rasterize(def, c);
    firn_field_view view = firn_field_read(field);
    double above = 0.0, all = 0.0;
    for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
        all += (double)view.density[i];
        if (voxel_center(&view, i).y > height)
            above += (double)view.density[i];
    }
    firn_field_destroy(field);
    return above / all;
}

static void flat_kernels_leave_less_snow_beyond_a_surface(void **state)
{
    (void)state;
    cloud c = lattice_cloud(10);
    firn_field_def def = plain_def();
    def.voxel_size = 0.005f;
    double round_share = share_above(&def, &c, 0.2f);
    def.anisotropy = 4.0f;
    double flat_share = share_above(&def, &c, 0.2f);
    assert_true(round_share > 0.005);
    assert_true(flat_share < 0.5 * round_share);
    cloud_free(&c);
}

static void result_does_not_depend_on_thread_count(void **state)
{
    (void)state;
    cloud c = random_cloud(5000);
    firn_field_def def = plain_def();
    def.anisotropy = 4.0f;
    def.filter_width = 0.06f;
    expect_same_for_all_threads(def, &c);
    cloud_free(&c);
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    cloud c = random_cloud(500);
    firn_field_def def = plain_def();
    int round_kernels = allocations_needed(&def, &c);
    def.anisotropy = 4.0f;
    assert_true(allocations_needed(&def, &c) > round_kernels + 5);
    cloud_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_and_momentum_are_conserved_for_every_ratio_voxel_and_kernel),
        cmocka_unit_test(a_particle_alone_is_round),
        cmocka_unit_test(kernels_are_flat_at_a_surface_and_round_within),
        cmocka_unit_test(axes_keep_to_the_ratio_the_unit_and_the_voxel),
        cmocka_unit_test(turning_the_snow_turns_the_kernels),
        cmocka_unit_test(flat_kernels_leave_less_snow_beyond_a_surface),
        cmocka_unit_test(result_does_not_depend_on_thread_count),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
