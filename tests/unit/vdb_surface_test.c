// Level sets made from meshes and particles, against closed forms.
#define _GNU_SOURCE
#include "unit/vdb_support.h"

#include "firn/vdb_surface.h"

#include <stdatomic.h>

static const float VOXEL = 0.02f;
static const float PI = 3.14159265f;

enum { RINGS = 48, SECTORS = 96 };

/// A sphere of quads with triangles at the poles, as arrays that the caller frees.
typedef struct mesh_data {
    firn_vdb_mesh mesh;
    firn_vec3 points[RINGS * SECTORS + 2];
    firn_vec3 velocity[RINGS * SECTORS + 2];
    int32_t sizes[(RINGS + 1) * SECTORS];
    int32_t indices[4 * (RINGS + 1) * SECTORS];
} mesh_data;

static void add_face(mesh_data *data, const int32_t *corners, int count)
{
    data->sizes[data->mesh.face_count++] = count;
    for (int i = 0; i < count; i++)
        data->indices[data->mesh.index_count++] = corners[i];
}

static mesh_data *make_sphere(float radius)
{
    mesh_data *data = calloc(1, sizeof *data);
    for (int ring = 0; ring < RINGS; ring++)
        for (int sector = 0; sector < SECTORS; sector++) {
            float theta = PI * (float)(ring + 1) / (RINGS + 1);
            float phi = 2.0f * PI * (float)sector / SECTORS;
            data->points[SECTORS * ring + sector] =
                firn_vec(radius * sinf(theta) * cosf(phi), radius * cosf(theta),
                         radius * sinf(theta) * sinf(phi));
        }
    int32_t north = RINGS * SECTORS, south = north + 1;
    data->points[north] = firn_vec(0.0f, radius, 0.0f);
    data->points[south] = firn_vec(0.0f, -radius, 0.0f);
    for (int sector = 0; sector < SECTORS; sector++) {
        int32_t next = (sector + 1) % SECTORS, last = SECTORS * (RINGS - 1);
        add_face(data, (int32_t[]){north, sector, next}, 3);
        add_face(data, (int32_t[]){south, last + next, last + sector}, 3);
        for (int ring = 0; ring + 1 < RINGS; ring++) {
            int32_t a = SECTORS * ring + sector, b = SECTORS * ring + next;
            add_face(data, (int32_t[]){a, a + SECTORS, b + SECTORS, b}, 4);
        }
    }
    for (size_t i = 0; i < FIRN_COUNT(data->points); i++)
        data->velocity[i] = scene_velocity(data->points[i]);
    data->mesh.point_count = FIRN_COUNT(data->points);
    data->mesh.points = data->points;
    data->mesh.velocity = data->velocity;
    data->mesh.face_sizes = data->sizes;
    data->mesh.indices = data->indices;
    return data;
}

static firn_vdb_shape *convert(const firn_vdb_mesh *mesh, const firn_vdb_mesh_def *def)
{
    firn_error error;
    firn_vdb_shape *shape = NULL;
    assert_ok(firn_vdb_shape_from_mesh(def, mesh, &shape, &error));
    return shape;
}

/// Compares all voxels in a cube of 2 * reach voxels with a distance, clamped to the band.
static void assert_distance(const firn_level_set *set, int reach, float (*distance)(firn_vec3),
                            float tolerance)
{
    for (int x = -reach; x < reach; x++)
        for (int y = -reach; y < reach; y++)
            for (int z = -reach; z < reach; z++) {
                firn_vec3 p =
                    firn_transform_point(set->map, firn_vec((float)x, (float)y, (float)z));
                float band = set->background;
                float expected = fmaxf(-band, fminf(band, distance(p)));
                float found = fmaxf(-band, fminf(band, scene_level_set_value(set, x, y, z)));
                // Voxels near the edge of the band may belong to it or not.
                if (fabsf(expected) < band - 0.5f * VOXEL || fabsf(found) < band - 0.5f * VOXEL ||
                    expected * found < 0.0f)
                    assert_float_equal(found, expected, tolerance);
            }
}

static float sphere_distance(firn_vec3 p) { return firn_length(p) - 0.4f; }

static void a_closed_mesh_gives_the_distance_to_its_surface(void **state)
{
    (void)state;
    mesh_data *data = make_sphere(0.4f);
    for (int threads = 1; threads <= 2; threads++) {
        firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
        def.thread_count = threads;
        firn_vdb_shape *shape = convert(&data->mesh, &def);
        assert_string_equal(firn_vdb_shape_warning(shape), "");
        const firn_level_set *set = firn_vdb_shape_level_set(shape);
        assert_float_equal(set->background, 3.0f * VOXEL, 1e-6f);
        assert_distance(set, 30, sphere_distance, 0.15f * VOXEL);
        firn_vdb_shape_destroy(shape);
    }
    free(data);
}

static void point_velocities_are_carried_to_the_voxels(void **state)
{
    (void)state;
    mesh_data *data = make_sphere(0.4f);
    firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
    firn_vdb_shape *shape = convert(&data->mesh, &def);
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    const firn_velocity_grid *velocity = firn_vdb_shape_velocity(shape);
    assert_non_null(velocity);
    size_t compared = 0;
    for (size_t leaf = 0; leaf < velocity->leaf_count; leaf++)
        for (int n = 0; n < 512; n++) {
            firn_coord c = scene_voxel(velocity->leaf_origin[leaf], n);
            if (fabsf(scene_level_set_value(set, c.x, c.y, c.z)) > 2.0f * VOXEL)
                continue;
            firn_vec3 p =
                firn_transform_point(velocity->map, firn_vec((float)c.x, (float)c.y, (float)c.z));
            firn_vec3 nearest = firn_scale(0.4f, firn_normalize(p));
            firn_vec3 off =
                firn_sub(velocity->values[512 * leaf + (size_t)n], scene_velocity(nearest));
            assert_true(firn_length(off) < 0.03f);
            compared++;
        }
    assert_true(compared > 10000);
    firn_vdb_shape_destroy(shape);
    data->mesh.velocity = NULL;
    shape = convert(&data->mesh, &def);
    assert_null(firn_vdb_shape_velocity(shape));
    firn_vdb_shape_destroy(shape);
    free(data);
}

static const firn_vec3 box_points[8] = {
    {-0.3f, -0.2f, -0.1f}, {0.3f, -0.2f, -0.1f}, {0.3f, 0.2f, -0.1f}, {-0.3f, 0.2f, -0.1f},
    {-0.3f, -0.2f, 0.1f},  {0.3f, -0.2f, 0.1f},  {0.3f, 0.2f, 0.1f},  {-0.3f, 0.2f, 0.1f}};
static const int32_t box_quads[24] = {0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4,
                                      3, 7, 6, 2, 0, 4, 7, 3, 1, 2, 6, 5};
static const int32_t box_sizes[6] = {4, 4, 4, 4, 4, 4};

static float box_distance(firn_vec3 p)
{
    firn_vec3 q = {fabsf(p.x) - 0.3f, fabsf(p.y) - 0.2f, fabsf(p.z) - 0.1f};
    firn_vec3 out = {fmaxf(q.x, 0.0f), fmaxf(q.y, 0.0f), fmaxf(q.z, 0.0f)};
    return firn_length(out) + fminf(fmaxf(q.x, fmaxf(q.y, q.z)), 0.0f);
}

static void a_box_of_quads_is_exact_whether_or_not_its_points_are_shared(void **state)
{
    (void)state;
    firn_vec3 split[24];
    int32_t order[24];
    for (int i = 0; i < 24; i++) {
        split[i] = box_points[box_quads[i]];
        order[i] = i;
    }
    firn_vdb_mesh meshes[2] = {{8, box_points, NULL, 6, box_sizes, 24, box_quads},
                               {24, split, NULL, 6, box_sizes, 24, order}};
    for (int i = 0; i < 2; i++) {
        firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
        firn_vdb_shape *shape = convert(&meshes[i], &def);
        assert_string_equal(firn_vdb_shape_warning(shape), "");
        assert_distance(firn_vdb_shape_level_set(shape), 24, box_distance, 1e-4f);
        firn_vdb_shape_destroy(shape);
    }
}

static float l_distance(firn_vec3 p)
{
    // The prism over an L: the square of side 0.8 around the origin without one quarter.
    float outer = fmaxf(fabsf(p.x), fabsf(p.y)) - 0.4f, notch = fminf(p.x, p.y);
    float flat = fmaxf(outer, notch);
    return fmaxf(flat, fabsf(p.z) - 0.2f); // exact inside and near flat sides only
}

static void a_concave_polygon_is_not_filled_in(void **state)
{
    (void)state;
    firn_vec3 points[12];
    const float outline[6][2] = {{-0.4f, -0.4f}, {0.4f, -0.4f}, {0.4f, 0.0f},
                                 {0.0f, 0.0f},   {0.0f, 0.4f},  {-0.4f, 0.4f}};
    int32_t sizes[8] = {6, 6, 4, 4, 4, 4, 4, 4}, indices[36];
    for (int i = 0; i < 6; i++) {
        points[i] = firn_vec(outline[i][0], outline[i][1], -0.2f);
        points[6 + i] = firn_vec(outline[i][0], outline[i][1], 0.2f);
        // The corner between the arms comes last, where a fan from the first would be wrong.
        indices[i] = (i + 4) % 6;
        indices[6 + i] = 6 + (10 - i) % 6;
        int32_t next = (i + 1) % 6;
        int32_t side[4] = {i, next, 6 + next, 6 + i};
        memcpy(indices + 12 + 4 * i, side, sizeof side);
    }
    firn_vdb_mesh mesh = {12, points, NULL, 8, sizes, 36, indices};
    firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
    firn_vdb_shape *shape = convert(&mesh, &def);
    assert_string_equal(firn_vdb_shape_warning(shape), "");
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    for (int x = -25; x < 25; x++)
        for (int y = -25; y < 25; y++)
            for (int z = -15; z < 15; z++) {
                firn_vec3 p =
                    firn_transform_point(set->map, firn_vec((float)x, (float)y, (float)z));
                float expected = l_distance(p);
                // OpenVDB is a voxel off where the surface folds inward.
                if (fabsf(expected) > 0.75f * VOXEL)
                    assert_int_equal(scene_level_set_value(set, x, y, z) < 0.0f, expected < 0.0f);
            }
    // No triangle spans the notch either: above its middle nothing is near.
    assert_true(scene_level_set_value(set, 8, 8, 9) == set->background);
    assert_true(scene_level_set_value(set, 8, 8, 10) == set->background);
    firn_vdb_shape_destroy(shape);
}

static float sheet_distance(firn_vec3 p)
{
    float x = fmaxf(fabsf(p.x) - 0.3f, 0.0f), z = fmaxf(fabsf(p.z) - 0.2f, 0.0f);
    return sqrtf(x * x + p.y * p.y + z * z) - 0.05f;
}

static void an_open_mesh_becomes_a_shell_of_the_chosen_thickness(void **state)
{
    (void)state;
    const firn_vec3 points[4] = {
        {-0.3f, 0.0f, -0.2f}, {0.3f, 0.0f, -0.2f}, {0.3f, 0.0f, 0.2f}, {-0.3f, 0.0f, 0.2f}};
    const int32_t indices[6] = {0, 1, 2, 0, 2, 3};
    const firn_vec3 velocity[4] = {
        {1.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}};
    firn_vdb_mesh mesh = {4, points, velocity, 2, NULL, 6, indices};
    for (int solid = FIRN_VDB_SOLID_AUTO; solid <= FIRN_VDB_SOLID_SHELL; solid += 2) {
        firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
        def.solid = solid;
        def.shell_thickness = 0.1f;
        firn_vdb_shape *shape = convert(&mesh, &def);
        assert_int_equal(strstr(firn_vdb_shape_warning(shape), "open") != NULL,
                         solid == FIRN_VDB_SOLID_AUTO);
        assert_distance(firn_vdb_shape_level_set(shape), 24, sheet_distance, 1e-3f);
        const firn_velocity_grid *moving = firn_vdb_shape_velocity(shape);
        firn_coord leaf = {0, -8, 0};
        size_t at = scene_find_leaf(moving->leaf_origin, moving->leaf_count, leaf);
        assert_true(at < moving->leaf_count);
        assert_float_equal(moving->values[512 * at + 7 * 8].x, 1.0f, 1e-5f);
        firn_vdb_shape_destroy(shape);
    }
}

static void a_half_sphere_is_a_bowl_not_a_ball(void **state)
{
    (void)state;
    mesh_data *data = make_sphere(0.4f);
    // Leave out the faces above the equator.
    size_t faces = 0, used = 0;
    for (size_t face = 0, at = 0; face < data->mesh.face_count; face++) {
        int32_t size = data->sizes[face];
        bool below = true;
        for (int32_t i = 0; i < size; i++)
            below = below && data->points[data->indices[at + (size_t)i]].y < 0.02f;
        if (below) {
            memmove(data->indices + used, data->indices + at, (size_t)size * sizeof *data->indices);
            data->sizes[faces++] = size;
            used += (size_t)size;
        }
        at += (size_t)size;
    }
    data->mesh.face_count = faces;
    data->mesh.index_count = used;
    firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
    firn_vdb_shape *shape = convert(&data->mesh, &def);
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    assert_true(strlen(firn_vdb_shape_warning(shape)) > 0);
    assert_true(scene_level_set_value(set, 0, -10, 0) > 0.0f); // inside the bowl
    assert_true(scene_level_set_value(set, 0, -20, 0) < 0.0f); // in its wall
    assert_true(scene_level_set_value(set, 0, -30, 0) > 0.0f); // below
    firn_vdb_shape_destroy(shape);
    free(data);
}

static void bad_meshes_are_refused_before_any_work(void **state)
{
    (void)state;
    firn_error error;
    struct {
        firn_vec3 point;
        int32_t index;
        int32_t size;
        const char *says;
    } cases[] = {
        {{NAN, 0.0f, 0.0f}, 0, 4, "point 3 of the mesh is not finite"},
        {{0.0f, INFINITY, 0.0f}, 0, 4, "point 3"},
        {{0.0f, 0.0f, 1e30f}, 0, 4, "voxels"},
        {{1000.0f, 0.0f, 0.0f}, 0, 4, "voxels"},
        {{-0.3f, 0.2f, -0.1f}, 8, 4, "index 0 of the mesh is 8"},
        {{-0.3f, 0.2f, -0.1f}, -1, 4, "index 0"},
        {{-0.3f, 0.2f, -0.1f}, 0, 2, "face 0"},
        {{-0.3f, 0.2f, -0.1f}, 0, 5, "face 5"},
        {{-0.3f, 0.2f, -0.1f}, 0, 3, "use 23 of its 24"},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_vec3 points[8];
        int32_t indices[24], sizes[6];
        memcpy(points, box_points, sizeof points);
        memcpy(indices, box_quads, sizeof indices);
        memcpy(sizes, box_sizes, sizeof sizes);
        points[3] = cases[i].point;
        indices[0] = cases[i].index;
        sizes[0] = cases[i].size;
        firn_vdb_mesh mesh = {8, points, NULL, 6, sizes, 24, indices};
        firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
        firn_vdb_shape *shape = NULL;
        double start = firn_seconds();
        assert_int_equal(firn_vdb_shape_from_mesh(&def, &mesh, &shape, &error), FIRN_ERR_ARGUMENT);
        assert_true(firn_seconds() - start < 1.0);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", error.message, cases[i].says);
        assert_null(shape);
    }
    firn_vdb_mesh mesh = {8, box_points, NULL, 6, box_sizes, 24, box_quads};
    firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
    firn_vdb_shape *shape = NULL;
    def.voxel_size = 2e-4f;
    def.memory_limit = 100.0;
    assert_int_equal(firn_vdb_shape_from_mesh(&def, &mesh, &shape, &error), FIRN_ERR_MEMORY);
    firn_vdb_mesh empty = {0};
    def = firn_vdb_mesh_def_default();
    assert_ok(firn_vdb_shape_from_mesh(&def, &empty, &shape, &error));
    assert_int_equal(firn_vdb_shape_level_set(shape)->leaf_count, 0);
    firn_vdb_shape_destroy(shape);
}

// ---- particles
// -----------------------------------------------------------------------------------

static float particle_distance(firn_vec3 p)
{
    return fminf(firn_length(firn_sub(p, firn_vec(-0.2f, 0.0f, 0.0f))) - 0.1f,
                 firn_length(firn_sub(p, firn_vec(0.2f, 0.0f, 0.0f))) - 0.15f);
}

static void particles_are_covered_by_spheres(void **state)
{
    (void)state;
    firn_error error;
    const firn_vec3 position[2] = {{-0.2f, 0.0f, 0.0f}, {0.2f, 0.0f, 0.0f}};
    const float radius[2] = {0.1f, 0.15f};
    firn_vdb_spheres spheres = {2, position, radius};
    firn_vdb_skin_def def = firn_vdb_skin_def_default();
    def.smoothing = 0;
    firn_vdb_shape *shape = NULL;
    assert_ok(firn_vdb_shape_from_particles(&def, &spheres, &shape, &error));
    assert_distance(firn_vdb_shape_level_set(shape), 24, particle_distance, 0.05f * VOXEL);
    firn_vdb_shape_destroy(shape);
    // Small ones do not vanish; none at all is an empty surface.
    spheres.radius = NULL;
    def.radius = 1e-4f;
    assert_ok(firn_vdb_shape_from_particles(&def, &spheres, &shape, &error));
    assert_true(scene_level_set_value(firn_vdb_shape_level_set(shape), 10, 0, 0) < 0.0f);
    firn_vdb_shape_destroy(shape);
    spheres.count = 0;
    assert_ok(firn_vdb_shape_from_particles(&def, &spheres, &shape, &error));
    assert_int_equal(firn_vdb_shape_level_set(shape)->leaf_count, 0);
    firn_vdb_shape_destroy(shape);
    const firn_vec3 bad[2] = {{0.0f, 0.0f, 0.0f}, {0.0f, NAN, 0.0f}};
    firn_vdb_spheres broken = {2, bad, NULL};
    assert_int_equal(firn_vdb_shape_from_particles(&def, &broken, &shape, &error),
                     FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "particle 1"));
}

/// How far the zero crossings above a layer of particles lie apart.
static float roughness(int smoothing)
{
    firn_error error;
    enum { SIDE = 12 };
    firn_vec3 position[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        position[i] = firn_vec(0.08f * (float)(i % SIDE - SIDE / 2), 0.0f,
                               0.08f * (float)(i / SIDE - SIDE / 2));
    firn_vdb_spheres spheres = {SIDE * SIDE, position, NULL};
    firn_vdb_skin_def def = firn_vdb_skin_def_default();
    def.radius = 0.065f;
    def.smoothing = smoothing;
    firn_vdb_shape *shape = NULL;
    assert_ok(firn_vdb_shape_from_particles(&def, &spheres, &shape, &error));
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    float low = 1.0f, high = -1.0f;
    for (int x = -10; x < 10; x++)
        for (int z = -10; z < 10; z++)
            for (int y = 0; y < 8; y++) {
                float a = scene_level_set_value(set, x, y, z);
                float b = scene_level_set_value(set, x, y + 1, z);
                if (a < 0.0f && b >= 0.0f) {
                    float height = ((float)y + a / (a - b)) * VOXEL;
                    low = fminf(low, height);
                    high = fmaxf(high, height);
                }
            }
    firn_vdb_shape_destroy(shape);
    assert_true(high > low);
    return high - low;
}

static void smoothing_evens_out_the_bumps(void **state)
{
    (void)state;
    float rough = roughness(0), smooth = roughness(3);
    assert_true(smooth < 0.6f * rough);
}

static bool stop_after(void *user)
{
    atomic_int *left = user;
    return atomic_fetch_sub(left, 1) <= 0;
}

static void a_conversion_can_be_stopped(void **state)
{
    (void)state;
    mesh_data *data = make_sphere(0.4f);
    for (int count = 0; count < 1000; count += 250) {
        atomic_int left = count;
        firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
        def.stop = stop_after;
        def.user = &left;
        firn_error error;
        firn_vdb_shape *shape = NULL;
        assert_int_equal(firn_vdb_shape_from_mesh(&def, &data->mesh, &shape, &error),
                         FIRN_ERR_CANCELLED);
        assert_null(shape);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_mesh_gives_the_distance_to_its_surface),
        cmocka_unit_test(point_velocities_are_carried_to_the_voxels),
        cmocka_unit_test(a_box_of_quads_is_exact_whether_or_not_its_points_are_shared),
        cmocka_unit_test(a_concave_polygon_is_not_filled_in),
        cmocka_unit_test(an_open_mesh_becomes_a_shell_of_the_chosen_thickness),
        cmocka_unit_test(a_half_sphere_is_a_bowl_not_a_ball),
        cmocka_unit_test(bad_meshes_are_refused_before_any_work),
        cmocka_unit_test(a_conversion_can_be_stopped),
        cmocka_unit_test(particles_are_covered_by_spheres),
        cmocka_unit_test(smoothing_evens_out_the_bumps),
    };
    return cmocka_run_group_tests_name("vdb_surface", tests, NULL, NULL);
}
