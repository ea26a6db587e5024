// Snow gets the velocity of the mesh or level set that it is made from.
#define _XOPEN_SOURCE 700
#include "source_flow.h"

#include "firn/vdb_surface.h"
#include "firn/vdb_write.h"

#include "graph_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef firn_vec3 motion(firn_vec3 p);

static firn_vec3 shifts(firn_vec3 p)
{
    (void)p;
    return firn_vec(2.0f, -1.0f, 0.5f);
}

static firn_vec3 turns(firn_vec3 p)
{
    return firn_cross(firn_vec(1.0f, 3.0f, -2.0f), firn_sub(p, firn_vec(0.1f, 0.0f, 0.0f)));
}

static firn_vec3 stretches(firn_vec3 p) { return firn_vec(2.0f * p.x, -p.y + 0.5f * p.z, 0.1f); }

static firn_vec3 box_point(int i)
{
    return firn_vec(i & 4 ? 0.3f : -0.3f, i & 2 ? 0.7f : 0.3f, i & 1 ? 0.2f : -0.2f);
}

static const int32_t sizes[6] = {4, 4, 4, 4, 4, 4};
static const int32_t corners[24] = {0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1,
                                    2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3};

static firn_vdb_shape *box_shape(motion *v)
{
    firn_vec3 points[8], velocity[8];
    for (int i = 0; i < 8; i++) {
        points[i] = box_point(i);
        velocity[i] = v(points[i]);
    }
    firn_vdb_mesh mesh = {8, points, velocity, 6, sizes, 24, corners};
    firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
    def.voxel_size = 0.02f;
    firn_vdb_shape *shape = NULL;
    assert_int_equal(firn_vdb_shape_from_mesh(&def, &mesh, &shape, NULL), FIRN_OK);
    return shape;
}

static firn_vec3 flow_at(const firn_source_flow *flow, int x, int y, int z)
{
    size_t index = ((size_t)x * (size_t)flow->size[1] + (size_t)y) * (size_t)flow->size[2];
    return flow->values[index + (size_t)z];
}

static void affine_motions_are_met_inside_too(void **state)
{
    (void)state;
    motion *const motions[] = {shifts, turns, stretches};
    for (size_t m = 0; m < FIRN_COUNT(motions); m++) {
        firn_vdb_shape *shape = box_shape(motions[m]);
        firn_source_flow flow;
        assert_int_equal(firn_source_flow_make(firn_vdb_shape_level_set(shape),
                                               firn_vdb_shape_velocity(shape), &flow, NULL),
                         FIRN_OK);
        double off = 0.0, all = 0.0;
        for (int x = 0; x < flow.size[0]; x++)
            for (int y = 0; y < flow.size[1]; y++)
                for (int z = 0; z < flow.size[2]; z++) {
                    firn_vec3 p = firn_add_scaled(flow.origin, flow.spacing,
                                                  firn_vec((float)x, (float)y, (float)z));
                    // Voxels beyond the faces have the velocity of the nearest point of the mesh.
                    if (fabsf(p.x) > 0.28f || p.y > 0.68f || p.y < 0.32f || fabsf(p.z) > 0.18f)
                        continue;
                    firn_vec3 d = firn_sub(flow_at(&flow, x, y, z), motions[m](p));
                    off += (double)firn_dot(d, d);
                    all += (double)firn_dot(motions[m](p), motions[m](p));
                }
        assert_true(all > 0.0 && sqrt(off / all) < (m == 0 ? 1e-5 : 0.05));
        firn_free((void *)flow.values);
        firn_vdb_shape_destroy(shape);
    }
}

static void write_obj(const char *folder, int frame, firn_vec3 shift)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.3000s/box.%04d.obj", folder, frame);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 8; i++) {
        firn_vec3 p = firn_add(box_point(i), shift);
        fprintf(file, "v %.9g %.9g %.9g\n", (double)p.x, (double)p.y, (double)p.z);
    }
    for (int i = 0; i < 24; i += 4)
        fprintf(file, "f %d %d %d %d\n", corners[i] + 1, corners[i + 1] + 1, corners[i + 2] + 1,
                corners[i + 3] + 1);
    fclose(file);
}

// The mean velocity of the snow at the first frame, and how far any particle is from it.
static firn_vec3 seeded_velocity(const char *folder, const char *params, float *spread)
{
    char source[600];
    snprintf(source, sizeof source, "\"params\": {\"region\": %s}", params);
    char *text = fixture_scene_with(
        "\"params\": {\"center\": [0, 0.2, 0], \"radius\": 0.15, \"velocity\": [1, -2, 0]}",
        source);
    firn_graph *graph = fixture_load(text, folder);
    const firn_data *data = NULL;
    firn_error error = {0};
    firn_result result = firn_graph_cook(graph, "solver", 1, &data, &error);
    if (result != FIRN_OK)
        print_error("%s\n", error.message);
    assert_int_equal(result, FIRN_OK);
    const firn_points *points = &data->particles->points;
    const firn_vec3 *v = firn_points_find(points, "v")->data;
    firn_vec3 sum = {0, 0, 0};
    assert_true(points->count > 100);
    for (size_t i = 0; i < points->count; i++)
        sum = firn_add(sum, v[i]);
    sum = firn_scale(1.0f / (float)points->count, sum);
    *spread = 0.0f;
    for (size_t i = 0; i < points->count; i++)
        *spread = fmaxf(*spread, firn_length(firn_sub(v[i], sum)));
    firn_graph_destroy(graph);
    firn_free(text);
    return sum;
}

static void a_moving_mesh_hands_its_velocity_on(void **state)
{
    (void)state;
    char folder[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    for (int frame = 1; frame <= 4; frame++)
        write_obj(folder, frame, firn_vec(0.05f * (float)frame, 0.0f, 0.0f));
    float spread = 0.0f;
    const char *file = "\"mesh\", \"file\": \"box.$F4.obj\", \"mesh_voxel_size\": 0.03";
    char with[400];
    firn_vec3 rest = seeded_velocity(folder, file, &spread);
    assert_true(firn_length(rest) == 0.0f);
    // 0.05 m in a frame of 1/24 s.
    snprintf(with, sizeof with, "%s, \"inherit_velocity\": 1", file);
    firn_vec3 whole = seeded_velocity(folder, with, &spread);
    assert_true(firn_length(firn_sub(whole, firn_vec(1.2f, 0, 0))) < 1e-3f && spread < 1e-3f);
    snprintf(with, sizeof with, "%s, \"inherit_velocity\": 0.5, \"velocity\": [0, 1, 0]", file);
    firn_vec3 half = seeded_velocity(folder, with, &spread);
    assert_true(firn_length(firn_sub(half, firn_vec(0.6f, 1, 0))) < 1e-3f && spread < 1e-3f);
    // Twice as large, it goes twice as fast.
    snprintf(with, sizeof with, "%s, \"inherit_velocity\": 1, \"scale\": 2", file);
    firn_vec3 large = seeded_velocity(folder, with, &spread);
    assert_true(firn_length(firn_sub(large, firn_vec(2.4f, 0, 0))) < 2e-3f);
    fixture_remove(folder);
}

static void a_level_set_hands_its_velocity_on(void **state)
{
    (void)state;
    char folder[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%.3000s/box.vdb", folder);
    firn_vdb_shape *shape = box_shape(shifts);
    firn_vdb_content content = {.surface = firn_vdb_shape_level_set(shape),
                                .velocity = firn_vdb_shape_velocity(shape)};
    firn_vdb_write_def def = firn_vdb_write_def_default();
    def.half = false;
    assert_int_equal(firn_vdb_write(path, &def, &content, NULL, NULL), FIRN_OK);
    firn_vdb_shape_destroy(shape);
    float spread = 0.0f;
    firn_vec3 v = seeded_velocity(
        folder, "\"level_set\", \"file\": \"box.vdb\", \"inherit_velocity\": 1", &spread);
    assert_true(firn_length(firn_sub(v, shifts(v))) < 1e-3f && spread < 1e-3f);
    fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affine_motions_are_met_inside_too),
        cmocka_unit_test(a_moving_mesh_hands_its_velocity_on),
        cmocka_unit_test(a_level_set_hands_its_velocity_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
