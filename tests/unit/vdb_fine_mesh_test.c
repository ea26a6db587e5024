// Level sets of meshes whose triangles are smaller than voxels, which have a way of their own.
#define _GNU_SOURCE
#include "unit/vdb_support.h"

#include "firn/vdb_surface.h"

static const float VOXEL = 0.02f;

enum { MOST = 60 }; // quads along an edge of a side

/// A box of 0.6 x 0.4 x 0.2 m, each side of which is cut into n x n quads.
typedef struct box {
    firn_vdb_mesh mesh;
    firn_vec3 points[6 * (MOST + 1) * (MOST + 1)], velocity[6 * (MOST + 1) * (MOST + 1)];
    int32_t sizes[6 * MOST * MOST], indices[6 * 4 * MOST * MOST];
} box;

// Points of a side from -1 to 1 along two axes. Seams have points of their own, so that a velocity
// that is not the same on both sides would show.
static firn_vec3 on_side(int side, float s, float t)
{
    const firn_vec3 half = {0.3f, 0.2f, 0.1f};
    float sign = side % 2 == 0 ? 1.0f : -1.0f, c[3];
    c[side / 2] = sign;
    c[(side / 2 + 1) % 3] = s;
    c[(side / 2 + 2) % 3] = t * sign;
    return firn_vec(half.x * c[0], half.y * c[1], half.z * c[2]);
}

static void make_box(box *b, int n)
{
    memset(&b->mesh, 0, sizeof b->mesh);
    for (int side = 0; side < 6; side++) {
        int32_t first = (int32_t)b->mesh.point_count;
        for (int i = 0; i <= n; i++)
            for (int j = 0; j <= n; j++) {
                float step = 2.0f / (float)n;
                firn_vec3 p = on_side(side, step * (float)i - 1.0f, step * (float)j - 1.0f);
                b->velocity[b->mesh.point_count] = firn_vec(p.y, 2.0f * p.z, -p.x);
                b->points[b->mesh.point_count++] = p;
            }
        for (int i = 0; i < n * n; i++) {
            int32_t a = first + i / n * (n + 1) + i % n;
            const int32_t corners[4] = {a, a + n + 1, a + n + 2, a + 1};
            b->sizes[b->mesh.face_count++] = 4;
            memcpy(b->indices + b->mesh.index_count, corners, sizeof corners);
            b->mesh.index_count += 4;
        }
    }
    b->mesh.points = b->points;
    b->mesh.velocity = b->velocity;
    b->mesh.face_sizes = b->sizes;
    b->mesh.indices = b->indices;
}

static firn_vdb_shape *convert(const box *b, int threads)
{
    firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
    def.voxel_size = VOXEL;
    def.solid = FIRN_VDB_SOLID_FILL; // points of a seam may differ in their last bit
    def.thread_count = threads;
    firn_error error;
    firn_vdb_shape *shape = NULL;
    assert_ok(firn_vdb_shape_from_mesh(&def, &b->mesh, &shape, &error));
    return shape;
}

static float distance_of(firn_vec3 p)
{
    firn_vec3 q = {fabsf(p.x) - 0.3f, fabsf(p.y) - 0.2f, fabsf(p.z) - 0.1f};
    firn_vec3 out = {fmaxf(q.x, 0.0f), fmaxf(q.y, 0.0f), fmaxf(q.z, 0.0f)};
    return firn_length(out) + fminf(fmaxf(q.x, fmaxf(q.y, q.z)), 0.0f);
}

// Sides of one quad are cut by OpenVDB, those of sixty by Firn; in between are both.
static void the_distance_does_not_depend_on_how_fine_a_mesh_is(void **state)
{
    const int cuts[] = {1, 3, 7, 30, MOST};
    box *b = *state;
    for (size_t k = 0; k < FIRN_COUNT(cuts); k++) {
        make_box(b, cuts[k]);
        firn_vdb_shape *shape = convert(b, 0);
        const firn_level_set *set = firn_vdb_shape_level_set(shape);
        size_t near = 0;
        for (int x = -20; x < 20; x++)
            for (int y = -15; y < 15; y++)
                for (int z = -10; z < 10; z++) {
                    firn_vec3 at = firn_vec((float)x, (float)y, (float)z);
                    float expected = distance_of(firn_transform_point(set->map, at));
                    float found = scene_level_set_value(set, x, y, z);
                    assert_true(expected * found > 0.0f || fabsf(expected) < 1e-6f);
                    if (fabsf(expected) > 2.5f * VOXEL)
                        continue;
                    assert_float_equal(found, expected, 1e-4f);
                    near++;
                }
        assert_true(near > 10000);
        firn_vdb_shape_destroy(shape);
    }
}

static void velocities_are_those_of_the_nearest_point_of_the_surface(void **state)
{
    box *b = *state;
    make_box(b, 45);
    firn_vdb_shape *shape = convert(b, 0);
    const firn_velocity_grid *velocity = firn_vdb_shape_velocity(shape);
    size_t compared = 0;
    for (size_t i = 0; i < velocity->leaf_count * FIRN_LEAF_VOXELS; i++) {
        firn_coord c =
            scene_voxel(velocity->leaf_origin[i / FIRN_LEAF_VOXELS], (int)(i % FIRN_LEAF_VOXELS));
        firn_vec3 p =
            firn_transform_point(velocity->map, firn_vec((float)c.x, (float)c.y, (float)c.z));
        // Outside there is one nearest point.
        if (distance_of(p) < 0.0f || distance_of(p) > 2.0f * VOXEL)
            continue;
        firn_vec3 at = {fminf(fmaxf(p.x, -0.3f), 0.3f), fminf(fmaxf(p.y, -0.2f), 0.2f),
                        fminf(fmaxf(p.z, -0.1f), 0.1f)};
        firn_vec3 off = firn_sub(velocity->values[i], firn_vec(at.y, 2.0f * at.z, -at.x));
        assert_true(firn_length(off) < 1e-4f);
        compared++;
    }
    assert_true(compared > 4000);
    firn_vdb_shape_destroy(shape);
}

static void the_bits_do_not_depend_on_the_number_of_threads(void **state)
{
    box *b = *state;
    make_box(b, MOST);
    firn_vdb_shape *one = convert(b, 1);
    const firn_level_set *set = firn_vdb_shape_level_set(one);
    const firn_velocity_grid *velocity = firn_vdb_shape_velocity(one);
    for (int threads = 2; threads <= 8; threads *= 2) {
        firn_vdb_shape *many = convert(b, threads);
        const firn_level_set *also = firn_vdb_shape_level_set(many);
        const firn_velocity_grid *flow = firn_vdb_shape_velocity(many);
        assert_int_equal(also->leaf_count, set->leaf_count);
        assert_int_equal(flow->leaf_count, velocity->leaf_count);
        assert_memory_equal(also->values, set->values,
                            set->leaf_count * FIRN_LEAF_VOXELS * sizeof *set->values);
        assert_memory_equal(flow->values, velocity->values,
                            velocity->leaf_count * FIRN_LEAF_VOXELS * sizeof *velocity->values);
        firn_vdb_shape_destroy(many);
    }
    firn_vdb_shape_destroy(one);
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(box));
    return *state == NULL;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_distance_does_not_depend_on_how_fine_a_mesh_is),
        cmocka_unit_test(velocities_are_those_of_the_nearest_point_of_the_surface),
        cmocka_unit_test(the_bits_do_not_depend_on_the_number_of_threads),
    };
    return cmocka_run_group_tests_name("vdb_fine_mesh", tests, set_up, tear_down);
}
