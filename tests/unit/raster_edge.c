#include "clouds.h"

#include "firn/sim.h"

static void mass_and_momentum_are_conserved_for_every_edge(void **state)
{
    (void)state;
    cloud random = random_cloud(2000), lattice = lattice_cloud(6);
    const float edges[] = {0.01f, 0.5f, 1.0f, 3.0f};
    for (size_t run = 0; run < 3 * FIRN_COUNT(edges); run++) {
        firn_field_def def = plain_def();
        def.edge = edges[run % FIRN_COUNT(edges)];
        def.kernel = (int)(run % 2);
        def.voxel_size = run % 3 == 0 ? 0.02f : 0.01f;
        def.anisotropy = run % 3 == 2 ? 4.0f : 1.0f;
        expect_conserved(&def, &random);
        expect_conserved(&def, &lattice);
    }
    cloud_free(&random);
    cloud_free(&lattice);
}

// Mean density of the layers of voxels around the top of a lattice: 0 is the first above it.
static void layers_at_top(const firn_field_def *def, const cloud *c, float top, double mean[9])
{
    firn_field *field = rasterize(def, c);
    firn_field_view view = firn_field_read(field);
    double sum[9] = {0}, count = 0.0;
    for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
        firn_vec3 p = voxel_center(&view, i);
        int layer = (int)floorf((p.y - top) / view.voxel_size) + 4;
        bool inner = fabsf(p.x - 0.5f * top) < 0.25f * top && fabsf(p.z - 0.5f * top) < 0.25f * top;
        if (!inner || layer < 0 || layer > 8)
            continue;
        sum[layer] += (double)view.density[i];
        count += layer == 0;
    }
    for (int i = 0; i < 9; i++)
        mean[i] = sum[i] / count;
    firn_field_destroy(field);
}

static void a_flat_boundary_is_as_wide_as_the_edge_and_in_its_place(void **state)
{
    (void)state;
    cloud c = lattice_cloud(12);
    firn_field_def def = plain_def();
    double blurred[9], sharp[9];
    def.voxel_size = 0.01f; // the kernel is two voxels wide
    layers_at_top(&def, &c, 0.24f, blurred);
    assert_true(blurred[5] > 10.0); // a voxel beyond the surface is not empty
    def.edge = 1.0f;
    layers_at_top(&def, &c, 0.24f, sharp);
    assert_true(sharp[5] < 0.01);
    assert_true(sharp[4] < 0.25 * 400.0);
    assert_true(sharp[3] > 0.75 * 400.0);
    double before = 0.0, after = 0.0;
    for (int i = 0; i < 9; i++) {
        before += blurred[i];
        after += sharp[i];
    }
    assert_true(fabs(after / before - 1.0) < 0.02); // what was beyond came to the nearest layers
    cloud_free(&c);
}

static void a_grain_beside_a_body_keeps_its_mass_and_place(void **state)
{
    (void)state;
    cloud c = lattice_cloud(8);
    size_t grain = c.points.count - 1;
    c.position[grain] = firn_vec(0.08f, 0.16f + 0.045f, 0.08f);
    firn_field_def def = plain_def();
    def.voxel_size = 0.01f;
    def.edge = 1.0f;
    firn_field *field = rasterize(&def, &c);
    firn_field_view view = firn_field_read(field);
    double mass = 0.0;
    for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++)
        if (voxel_center(&view, i).y > 0.171f)
            mass += (double)view.density[i] * 1e-6;
    assert_true(mass > 0.95 * (double)c.mass[grain] && mass < 1.05 * (double)c.mass[grain]);
    firn_field_destroy(field);
    cloud_free(&c);
}

// A level set of a half space, y below a height, in leaves around the cloud.
typedef struct floor_set {
    firn_level_set set;
    firn_coord origin[512];
    float values[512 * 512];
} floor_set;

static floor_set *half_space(float height, float voxel)
{
    floor_set *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->set = (firn_level_set){.map = {{0.0f, 0.0f, 0.0f}, firn_quat_identity(), voxel},
                                 .background = 3.0f * voxel,
                                 .leaf_count = 512,
                                 .leaf_origin = made->origin,
                                 .values = made->values};
    for (int leaf = 0; leaf < 512; leaf++) {
        made->origin[leaf] =
            (firn_coord){8 * (leaf / 64 - 2), 8 * (leaf / 8 % 8 - 2), 8 * (leaf % 8 - 2)};
        for (int i = 0; i < 512; i++) {
            float y = voxel * (float)(made->origin[leaf].y + i / 8 % 8);
            made->values[leaf * 512 + i] = fminf(fmaxf(y - height, -3.0f * voxel), 3.0f * voxel);
        }
    }
    return made;
}

static void snow_stays_inside_the_mask_with_its_mass(void **state)
{
    (void)state;
    cloud c = lattice_cloud(8);
    floor_set *below = half_space(0.16f, 0.01f);
    c.points.mask = &below->set;
    for (int run = 0; run < 2; run++) {
        firn_field_def def = plain_def();
        def.voxel_size = 0.01f;
        def.edge = run ? 1.0f : 0.0f;
        expect_conserved(&def, &c);
        firn_field *field = rasterize(&def, &c);
        firn_field_view view = firn_field_read(field);
        for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++)
            if (is_active(&view, i))
                assert_true(voxel_center(&view, i).y < 0.166f);
        firn_field_destroy(field);
    }
    free(below);
    cloud_free(&c);
}

static void a_damaged_mask_is_refused(void **state)
{
    (void)state;
    cloud c = lattice_cloud(2);
    floor_set *below = half_space(0.16f, 0.01f);
    below->set.map.scale = NAN;
    c.points.mask = &below->set;
    firn_field_def def = plain_def();
    firn_field *field = NULL;
    firn_error error = {0};
    assert_int_not_equal(firn_field_create(&def, &c.points, &field, &error), FIRN_OK);
    assert_null(field);
    free(below);
    cloud_free(&c);
}

static void clipping_leaves_the_dense_voxels_as_they_are(void **state)
{
    (void)state;
    cloud c = lattice_cloud(4);
    firn_field_def def = plain_def();
    firn_field *whole = rasterize(&def, &c);
    def.clip = 50.0f;
    firn_field *clipped = rasterize(&def, &c);
    firn_field_view a = firn_field_read(whole), b = firn_field_read(clipped);
    size_t thin = 0;
    for (size_t i = 0; i < a.leaf_count * FIRN_LEAF_VOXELS; i++) {
        size_t leaf = 0;
        while (leaf < b.leaf_count &&
               memcmp(&b.leaf_origin[leaf], &a.leaf_origin[i / 512], sizeof(firn_coord)) != 0)
            leaf++;
        bool there = leaf < b.leaf_count;
        size_t at = leaf * FIRN_LEAF_VOXELS + i % FIRN_LEAF_VOXELS;
        if (a.density[i] >= 50.0f) {
            assert_true(there && is_active(&b, at));
            assert_float_equal(b.density[at], a.density[i], 0.0f);
            assert_float_equal(b.velocity[at].z, a.velocity[i].z, 0.0f);
        } else if (there) {
            assert_false(is_active(&b, at));
            assert_float_equal(b.density[at], 0.0f, 0.0f);
            thin += is_active(&a, i);
        }
    }
    assert_true(thin > 0);
    firn_field_destroy(whole);
    firn_field_destroy(clipped);
    cloud_free(&c);
}

static void result_does_not_depend_on_thread_count(void **state)
{
    (void)state;
    cloud c = random_cloud(5000);
    firn_field_def def = plain_def();
    def.edge = 1.0f;
    def.filter_width = 0.06f;
    expect_same_for_all_threads(def, &c);
    cloud_free(&c);
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    cloud c = random_cloud(500);
    floor_set *below = half_space(0.16f, 0.01f);
    firn_field_def def = plain_def();
    int plain = allocations_needed(&def, &c);
    def.edge = 1.0f;
    c.points.mask = &below->set;
    assert_true(allocations_needed(&def, &c) > plain + 4);
    free(below);
    cloud_free(&c);
}

// A block of packed snow with grains far above it.
static void layers_are_the_density_in_two_parts(void **state)
{
    (void)state;
    cloud block = lattice_cloud(8), c = cloud_make(block.points.count + 40);
    size_t count = block.points.count;
    memcpy(c.position, block.position, count * sizeof(firn_vec3));
    memcpy(c.velocity, block.velocity, count * sizeof(firn_vec3));
    memcpy(c.mass, block.mass, count * sizeof(float));
    memcpy(c.jp, block.jp, count * sizeof(float));
    for (size_t i = count; i < c.points.count; i++) {
        c.position[i] = firn_vec(0.1f * (float)(i - count), 1.0f, 0.0f);
        c.velocity[i] = firn_vec(0.0f, 0.0f, 0.0f);
        c.mass[i] = c.mass[0];
        c.jp[i] = 1.0f;
    }
    for (int run = 0; run < 4; run++) {
        firn_field_def def = plain_def();
        def.edge = run % 2 ? 1.0f : 0.0f;
        def.voxel_size = run < 2 ? 0.02f : 0.01f;
        def.layers = true;
        firn_field *field = rasterize(&def, &c);
        firn_field_view view = firn_field_read(field);
        assert_int_equal(view.grid_count, 2);
        assert_string_equal(view.grids[0].name, "body");
        assert_int_equal(view.grids[0].layer, FIRN_FIELD_BODY);
        assert_string_equal(view.grids[1].name, "powder");
        assert_int_equal(view.grids[1].layer, FIRN_FIELD_POWDER);
        double volume = pow((double)view.voxel_size, 3.0), body = 0.0, powder = 0.0;
        float highest = 0.0f;
        for (size_t i = 0; i < view.leaf_count * FIRN_LEAF_VOXELS; i++) {
            float packed = view.grids[0].values[i], loose = view.grids[1].values[i];
            assert_true(packed >= 0.0f && loose >= 0.0f);
            assert_true(fabsf(packed + loose - view.density[i]) <= 1e-6f * view.density[i]);
            body += volume * (double)packed;
            powder += volume * (double)loose;
            firn_vec3 p = voxel_center(&view, i);
            highest = p.y > 0.5f && view.density[i] > highest ? view.density[i] : highest;
        }
        double grains = 40.0 * (double)c.mass[0], block_mass = (double)count * (double)c.mass[0];
        assert_true(fabs(powder / grains - 1.0) < 0.02);
        assert_true(fabs(body / block_mass - 1.0) < 0.001);
        // Grains alone keep the whole width of their kernels: no edge makes balls of them.
        def.edge = 0.0f;
        def.layers = false;
        firn_field *plain = rasterize(&def, &c);
        firn_field_view before = firn_field_read(plain);
        float soft = 0.0f;
        for (size_t i = 0; i < before.leaf_count * FIRN_LEAF_VOXELS; i++)
            if (voxel_center(&before, i).y > 0.5f && before.density[i] > soft)
                soft = before.density[i];
        assert_true(fabsf(highest / soft - 1.0f) < 1e-4f);
        firn_field_destroy(plain);
        firn_field_destroy(field);
    }
    cloud_free(&block);
    cloud_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_the_density_in_two_parts),
        cmocka_unit_test(mass_and_momentum_are_conserved_for_every_edge),
        cmocka_unit_test(a_flat_boundary_is_as_wide_as_the_edge_and_in_its_place),
        cmocka_unit_test(a_grain_beside_a_body_keeps_its_mass_and_place),
        cmocka_unit_test(snow_stays_inside_the_mask_with_its_mass),
        cmocka_unit_test(a_damaged_mask_is_refused),
        cmocka_unit_test(clipping_leaves_the_dense_voxels_as_they_are),
        cmocka_unit_test(result_does_not_depend_on_thread_count),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
