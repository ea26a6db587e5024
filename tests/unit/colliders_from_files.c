#define _XOPEN_SOURCE 700
#include "firn/graph.h"
#include "firn/vdb_surface.h"
#include "firn/vdb_write.h"

#include "graph_fixture.h"
#include "mesh_archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// A slab, 2 m wide and 0.2 m thick, whose top is at a height.
static const int32_t sizes[6] = {4, 4, 4, 4, 4, 4};
static const int32_t corners[24] = {0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1,
                                    2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3};

static void slab(float top, firn_vec3 points[8])
{
    for (int i = 0; i < 8; i++)
        points[i] = firn_vec(i & 4 ? 1.0f : -1.0f, i & 2 ? top : top - 0.2f, i & 1 ? 1.0f : -1.0f);
}

static float height(int frame) { return 0.05f * (float)(frame - 1); }

static void write_vdb(const char *folder, int frame)
{
    firn_vec3 points[8], velocity[8];
    slab(height(frame), points);
    for (int i = 0; i < 8; i++)
        velocity[i] = firn_vec(0.0f, 0.05f * 24.0f, 0.0f);
    firn_vdb_mesh mesh = {8, points, velocity, 6, sizes, 24, corners};
    firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
    def.voxel_size = 0.05f;
    firn_vdb_shape *shape = NULL;
    assert_int_equal(firn_vdb_shape_from_mesh(&def, &mesh, &shape, NULL), FIRN_OK);
    char path[256];
    snprintf(path, sizeof path, "%s/slab.%04d.vdb", folder, frame);
    firn_vdb_write_def settings = firn_vdb_write_def_default();
    firn_vdb_content content = {.surface = firn_vdb_shape_level_set(shape),
                                .velocity = firn_vdb_shape_velocity(shape)};
    assert_int_equal(firn_vdb_write(path, &settings, &content, NULL, NULL), FIRN_OK);
    firn_vdb_shape_destroy(shape);
}

static void rise(int frame, firn_vec3 *points) { slab(height(frame), points); }

static void write_abc(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/slab.abc", folder);
    firn_vec3 points[8];
    int32_t turned[24];
    for (int i = 0; i < 24; i++)
        turned[i] = corners[i / 4 * 4 + 3 - i % 4];
    firn_abc_mesh_data data = {.point_count = 8,
                               .face_count = 6,
                               .corner_count = 24,
                               .face_counts = sizes,
                               .face_indices = turned};
    write_mesh_archive(path, "slab", 6, data, points, rise);
}

static void write_obj(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/slab.obj", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    firn_vec3 points[8];
    slab(0.0f, points);
    for (int i = 0; i < 8; i++)
        fprintf(file, "v %g %g %g\n", (double)points[i].x, (double)points[i].y,
                (double)points[i].z);
    for (int i = 0; i < 6; i++)
        fprintf(file, "f %d %d %d %d\n", corners[4 * i] + 1, corners[4 * i + 1] + 1,
                corners[4 * i + 2] + 1, corners[4 * i + 3] + 1);
    fclose(file);
}

static firn_graph *with_ground(const char *folder, const char *const *settings)
{
    firn_graph *graph = fixture_load(fixture_scene, folder);
    firn_graph_set_text(graph, "ground.mesh_voxel_size=0.05", NULL);
    for (; *settings != NULL; settings++) {
        firn_error error = {0};
        if (firn_graph_set_text(graph, *settings, &error) != FIRN_OK)
            fail_msg("%s", error.message);
    }
    return graph;
}

// The lowest particle of frame 6: on top of the slab, wherever that is.
static void assert_rests_on(firn_graph *graph, float top)
{
    const firn_data *data = NULL;
    firn_error error = {0};
    if (firn_graph_cook(graph, "solver", 6, &data, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    const firn_points *points = &data->particles->points;
    const firn_vec3 *position = firn_points_find(points, "P")->data;
    float lowest = 1e9f;
    for (size_t i = 0; i < points->count; i++)
        lowest = position[i].y < lowest ? position[i].y : lowest;
    assert_true(lowest > top - 0.03f);
    assert_true(lowest < top + 0.08f);
}

static void meshes_and_level_sets_hold_the_snow(void **state)
{
    (void)state;
    char folder[64];
    fixture_folder(folder, sizeof folder);
    write_obj(folder);
    write_abc(folder);
    for (int frame = 1; frame <= 6; frame++)
        write_vdb(folder, frame);
    static const char *const still[] = {"ground.shape=mesh", "ground.file=slab.obj", NULL};
    static const char *const vdb[] = {"ground.shape=level_set", "ground.file=slab.0001.vdb", NULL};
    static const char *const moving[] = {"ground.shape=mesh", "ground.file=slab.abc",
                                         "ground.deforming=true", NULL};
    static const char *const sequence[] = {"ground.shape=level_set", "ground.file=slab.$F4.vdb",
                                           "ground.deforming=true", NULL};
    static const struct {
        const char *const *settings;
        float top;
    } cases[] = {{still, 0.0f}, {vdb, 0.0f}, {moving, 0.25f}, {sequence, 0.25f}};
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_graph *graph = with_ground(folder, cases[i].settings);
        assert_rests_on(graph, cases[i].top);
        firn_graph_destroy(graph);
    }
    fixture_remove(folder);
}

static void missing_and_cut_frames_are_named(void **state)
{
    (void)state;
    char folder[64], path[256];
    fixture_folder(folder, sizeof folder);
    for (int frame = 1; frame <= 6; frame++)
        write_vdb(folder, frame);
    static const char *const sequence[] = {"ground.shape=level_set", "ground.file=slab.$F4.vdb",
                                           "ground.deforming=true", NULL};
    snprintf(path, sizeof path, "%s/slab.0004.vdb", folder);
    assert_int_equal(truncate(path, 2000), 0);
    firn_graph *graph = with_ground(folder, sequence);
    const firn_data *data = NULL;
    firn_error error = {0};
    assert_int_equal(firn_graph_cook(graph, "solver", 6, &data, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "ground"));
    assert_non_null(strstr(error.message, "slab.0004.vdb"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(firn_graph_validate(graph, NULL, NULL, &error), FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "slab.0004.vdb"));
    assert_int_not_equal(firn_graph_cook(graph, "solver", 6, &data, &error), FIRN_OK);

    // With another policy the gap is bridged, and a file that comes back is noticed.
    assert_int_equal(firn_graph_set_text(graph, "ground.sequence_missing=interpolate", &error),
                     FIRN_OK);
    assert_rests_on(graph, 0.25f);
    size_t count = firn_graph_cook_count(graph, "solver");
    write_vdb(folder, 4);
    assert_rests_on(graph, 0.25f);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), count + 6);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

// The shot and the frames around it go on beyond the last file.
static void a_sequence_that_ends_early_holds_its_last_file(void **state)
{
    (void)state;
    char folder[64], from[128], to[128];
    fixture_folder(folder, sizeof folder);
    static const char *const meshes[] = {"ground.shape=mesh", "ground.file=slab.$F4.obj",
                                         "ground.mesh_voxel_size=0.05",
                                         "ground.sequence_missing=hold", NULL};
    for (int frame = 1; frame <= 3; frame++) {
        write_obj(folder);
        snprintf(from, sizeof from, "%s/slab.obj", folder);
        snprintf(to, sizeof to, "%s/slab.%04d.obj", folder, frame);
        assert_int_equal(rename(from, to), 0);
    }
    firn_graph *graph = with_ground(folder, meshes);
    assert_rests_on(graph, 0.0f);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void a_source_fills_a_mesh(void **state)
{
    (void)state;
    char folder[64];
    fixture_folder(folder, sizeof folder);
    write_obj(folder);
    static const char *const filled[] = {"ball.region=mesh", "ball.file=slab.obj",
                                         "ball.mesh_voxel_size=0.05", "ball.jitter=0", NULL};
    firn_graph *graph = with_ground(folder, filled);
    const firn_data *data = NULL;
    firn_error error = {0};
    if (firn_graph_cook(graph, "solver", 1, &data, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    const firn_points *points = &data->particles->points;
    const float *mass = firn_points_find(points, "mass")->data;
    double sum = 0.0;
    for (size_t i = 0; i < points->count; i++)
        sum += (double)mass[i];
    assert_true(fabs(sum / (400.0 * 2.0 * 2.0 * 0.2) - 1.0) < 0.05);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes_and_level_sets_hold_the_snow),
        cmocka_unit_test(missing_and_cut_frames_are_named),
        cmocka_unit_test(a_sequence_that_ends_early_holds_its_last_file),
        cmocka_unit_test(a_source_fills_a_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
