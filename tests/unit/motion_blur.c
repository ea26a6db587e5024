#include "clouds.h"

#include "firn/sim.h"

// Velocity of a voxel of the lattice, or NULL where it is not known.
static const firn_vec3 *velocity_at(const firn_field_view *view, const int v[3])
{
    for (size_t i = 0; i < view->leaf_count; i++) {
        firn_coord o = view->leaf_origin[i];
        if (v[0] < o.x || v[0] > o.x + 7 || v[1] < o.y || v[1] > o.y + 7 || v[2] < o.z ||
            v[2] > o.z + 7)
            continue;
        size_t at = i * 512 + (size_t)(((v[0] - o.x) * 8 + v[1] - o.y) * 8 + v[2] - o.z);
        const uint64_t *mask = view->velocity_mask != NULL ? view->velocity_mask : view->mask;
        return mask[at / 64] >> (at % 64) & 1 ? &view->velocity[at] : NULL;
    }
    return NULL;
}

static size_t known_voxels(const firn_field_view *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->leaf_count * FIRN_LEAF_VOXELS; i++)
        count += view->velocity_mask[i / 64] >> (i % 64) & 1;
    return count;
}

// Where a voxel of snow is at some time, and what a renderer reads to interpolate there.
static void expect_known_around(const firn_field_view *view, firn_vec3 p, int rim)
{
    const float h = view->voxel_size;
    const int base[3] = {(int)floorf(p.x / h), (int)floorf(p.y / h), (int)floorf(p.z / h)};
    for (int i = 0; i < 27; i++) {
        const int voxel[3] = {base[0] + (i / 9 - 1) * rim, base[1] + (i / 3 % 3 - 1) * rim,
                              base[2] + (i % 3 - 1) * rim};
        assert_non_null(velocity_at(view, voxel));
    }
}

static void every_voxel_that_snow_reaches_has_a_velocity(void **state)
{
    (void)state;
    cloud c = random_cloud(12);
    firn_field_def def = plain_def();
    def.shutter = 0.04f; // up to 0.22 m, 11 voxels
    for (def.dilation = 0; def.dilation < 2; def.dilation++) {
        firn_field *field = rasterize(&def, &c);
        firn_field_view view = firn_field_read(field);
        for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
            if (!is_active(&view, i))
                continue;
            for (int k = -16; k <= 16; k++)
                expect_known_around(&view,
                                    firn_add_scaled(voxel_center(&view, i),
                                                    def.shutter * (float)k / 16.0f,
                                                    view.velocity[i]),
                                    def.dilation);
        }
        firn_field_destroy(field);
    }
    cloud_free(&c);
}

static void snow_keeps_its_own_velocity_and_the_rest_has_that_of_what_passes(void **state)
{
    (void)state;
    cloud c = random_cloud(1);
    c.velocity[0] = firn_vec(7.0f, 0.0f, -3.0f);
    firn_field_def def = plain_def();
    def.shutter = 0.1f;
    def.dilation = 3;
    firn_field *field = rasterize(&def, &c);
    firn_field_view view = firn_field_read(field);
    for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
        bool known = view.velocity_mask[i / 64] >> (i % 64) & 1;
        firn_vec3 v = known ? c.velocity[0] : firn_vec(0.0f, 0.0f, 0.0f);
        float tolerance = is_active(&view, i) ? 0.0f : 1e-5f;
        assert_float_equal(view.velocity[i].x, v.x, tolerance);
        assert_float_equal(view.velocity[i].y, v.y, tolerance);
        assert_float_equal(view.velocity[i].z, v.z, tolerance);
        assert_true(known || !is_active(&view, i));
    }
    firn_field_destroy(field);
    cloud_free(&c);
}

static void the_rim_is_as_wide_as_asked_on_every_side(void **state)
{
    (void)state;
    cloud c = random_cloud(1);
    c.position[0] = firn_vec(0.01f, 0.01f, 0.01f); // the center of a voxel: 3 x 3 x 3 are reached
    firn_field_def def = plain_def();
    for (int dilation = 1; dilation <= 9; dilation += 4) {
        def.dilation = dilation;
        firn_field *field = rasterize(&def, &c);
        firn_field_view view = firn_field_read(field);
        size_t edge = 3 + 2 * (size_t)dilation;
        assert_int_equal(known_voxels(&view), edge * edge * edge);
        const int corner[3] = {-1 - dilation, 1 + dilation, -1 - dilation};
        assert_non_null(velocity_at(&view, corner));
        firn_field_destroy(field);
    }
    cloud_free(&c);
}

static void density_and_compaction_do_not_change(void **state)
{
    (void)state;
    cloud c = random_cloud(300);
    firn_field_def def = plain_def();
    firn_field *plain = rasterize(&def, &c);
    def.shutter = 0.02f;
    def.dilation = 1;
    firn_field *wide = rasterize(&def, &c);
    firn_field_view a = firn_field_read(plain), b = firn_field_read(wide);
    assert_null(a.velocity_mask);
    size_t at = 0;
    for (size_t leaf = 0; leaf < b.leaf_count; leaf++) {
        const size_t bytes = FIRN_LEAF_VOXELS * sizeof(float);
        if (at < a.leaf_count &&
            memcmp(&a.leaf_origin[at], &b.leaf_origin[leaf], sizeof(firn_coord)) == 0) {
            assert_memory_equal(&b.density[leaf * 512], &a.density[at * 512], bytes);
            assert_memory_equal(&b.compaction[leaf * 512], &a.compaction[at * 512], bytes);
            assert_memory_equal(&b.mask[leaf * 8], &a.mask[at * 8], 64);
            at++;
        } else {
            for (size_t i = 0; i < 512; i++)
                assert_true(!is_active(&b, leaf * 512 + i) && b.density[leaf * 512 + i] == 0.0f);
        }
    }
    assert_int_equal(at, a.leaf_count);
    assert_true(b.leaf_count > a.leaf_count);
    firn_field_destroy(plain);
    firn_field_destroy(wide);
    cloud_free(&c);
}

static void fast_snow_costs_its_way_and_no_more(void **state)
{
    (void)state;
    cloud c = random_cloud(1);
    c.velocity[0] = firn_vec(400.0f, 400.0f, 400.0f);
    firn_field_def def = plain_def();
    def.shutter = 0.02f; // 400 voxels along each axis, there and back
    firn_field *field = rasterize(&def, &c);
    firn_field_view view = firn_field_read(field);
    assert_true(view.leaf_count > 100 && view.leaf_count < 1000);
    firn_field_destroy(field);
    cloud_free(&c);
}

static void snow_that_is_too_fast_to_follow_is_refused(void **state)
{
    (void)state;
    cloud c = random_cloud(2);
    c.velocity[1] = firn_vec(1e6f, 0.0f, 0.0f);
    firn_field_def def = plain_def();
    def.shutter = 0.02f;
    firn_field *field = NULL;
    firn_error error = {0};
    assert_int_equal(firn_field_create(&def, &c.points, &field, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "shutter"));
    assert_null(field);
    cloud_free(&c);
}

static void result_does_not_depend_on_thread_count(void **state)
{
    (void)state;
    cloud c = random_cloud(1000);
    firn_field_def def = plain_def();
    def.shutter = 0.02f;
    def.dilation = 1;
    expect_same_for_all_threads(def, &c);
    cloud_free(&c);
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    cloud c = random_cloud(50);
    firn_field_def def = plain_def();
    int plain = allocations_needed(&def, &c);
    def.shutter = 0.02f;
    def.dilation = 1;
    assert_true(allocations_needed(&def, &c) > plain + 8);
    cloud_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_voxel_that_snow_reaches_has_a_velocity),
        cmocka_unit_test(snow_keeps_its_own_velocity_and_the_rest_has_that_of_what_passes),
        cmocka_unit_test(the_rim_is_as_wide_as_asked_on_every_side),
        cmocka_unit_test(density_and_compaction_do_not_change),
        cmocka_unit_test(fast_snow_costs_its_way_and_no_more),
        cmocka_unit_test(snow_that_is_too_fast_to_follow_is_refused),
        cmocka_unit_test(result_does_not_depend_on_thread_count),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
