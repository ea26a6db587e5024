// Points bring their mass, volume, temperature and material along, from every format that has room
// for them; a source for each material takes its own.
#define _XOPEN_SOURCE 700
#include "graph_fixture.h"

#include "firn/bgeo.h"
#include "firn/node.h"
#include "firn/usd.h"
#include "firn/vdb_points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 30 };

static firn_vec3 position[COUNT], velocity[COUNT];
static float mass[COUNT], temperature[COUNT];
static int32_t material[COUNT];

static void make_points(void)
{
    for (int i = 0; i < COUNT; i++) {
        position[i] = firn_vec(0.02f * (float)(i % 5), 0.02f * (float)(i / 5), 0.0f);
        velocity[i] = firn_vec(0.1f * (float)i, 0.0f, 0.0f);
        mass[i] = 0.001f * (float)(1 + i % 3);
        temperature[i] = 260.0f + (float)(i % 7);
        material[i] = 1 + i % 2;
    }
}

static const firn_points *table(void)
{
    static const firn_attribute columns[] = {
        {"P", FIRN_STORAGE_FLOAT32, FIRN_TYPE_POINT, 3, position},
        {"v", FIRN_STORAGE_FLOAT32, FIRN_TYPE_VECTOR, 3, velocity},
        {"mass", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, mass},
        {"temperature", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, temperature},
        {"material", FIRN_STORAGE_INT32, FIRN_TYPE_NONE, 1, material},
    };
    static const firn_points points = {
        .count = COUNT, .attributes = columns, .attribute_count = FIRN_COUNT(columns)};
    return &points;
}

static void put_bgeo(const char *path)
{
    firn_bgeo_def def = firn_bgeo_def_default();
    assert_int_equal(firn_bgeo_write(path, table(), &def, NULL), FIRN_OK);
}

static void put_usd(const char *path)
{
    const firn_usd_points_def def = {.prim = "/snow/points", .frame = 1.0};
    assert_int_equal(firn_usd_write_points(path, table(), &def, NULL), FIRN_OK);
}

static void put_ply(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "ply\nformat ascii 1.0\nelement vertex %d\n", COUNT);
    static const char *const names[] = {"x",  "y",    "z",           "vx",      "vy",
                                        "vz", "mass", "temperature", "material"};
    for (size_t i = 0; i < FIRN_COUNT(names); i++)
        fprintf(file, "property %s %s\n", i == 8 ? "int" : "float", names[i]);
    fprintf(file, "end_header\n");
    for (int i = 0; i < COUNT; i++)
        fprintf(file, "%.9g %.9g %.9g %.9g 0 0 %.9g %.9g %d\n", (double)position[i].x,
                (double)position[i].y, (double)position[i].z, (double)velocity[i].x,
                (double)mass[i], (double)temperature[i], (int)material[i]);
    fclose(file);
}

static void put_vdb(const char *path)
{
    const firn_vdb_attribute attributes[] = {{"v", FIRN_VDB_ATTRIBUTE_VEC3, velocity},
                                             {"mass", FIRN_VDB_ATTRIBUTE_FLOAT, mass},
                                             {"temperature", FIRN_VDB_ATTRIBUTE_FLOAT, temperature},
                                             {"material", FIRN_VDB_ATTRIBUTE_INT, material}};
    const firn_vdb_points points = {COUNT, position, FIRN_COUNT(attributes), attributes};
    firn_vdb_points_def def = firn_vdb_points_def_default();
    assert_int_equal(firn_vdb_write_points(path, &def, &points, NULL, NULL), FIRN_OK);
}

static const struct {
    const char *name;
    void (*put)(const char *path);
} formats[] = {{"p.bgeo", put_bgeo}, {"p.usdc", put_usd}, {"p.ply", put_ply}, {"p.vdb", put_vdb}};

static const float *values_of(const firn_source_def *def, const char *channel)
{
    for (size_t i = 0; i < def->value_count; i++)
        if (strcmp(def->values[i].channel, channel) == 0)
            return def->values[i].points;
    return NULL;
}

static firn_graph *source_of(const char *path, const char *number)
{
    firn_graph *graph = NULL;
    assert_int_equal(firn_graph_create(&graph, NULL), FIRN_OK);
    assert_int_equal(firn_graph_add(graph, "snow_source", "in", NULL), FIRN_OK);
    const char *const settings[][2] = {
        {"region", "points"}, {"file", path}, {"file_unit", "m"}, {"point_material", number}};
    for (size_t i = 0; i < FIRN_COUNT(settings); i++)
        assert_int_equal(firn_graph_set_param(graph, "in", settings[i][0], settings[i][1],
                                              FIRN_LAYER_ALWAYS, NULL),
                         FIRN_OK);
    return graph;
}

// The number of the point that stands there.
static int find(firn_vec3 p)
{
    for (int i = 0; i < COUNT; i++)
        if (firn_length(firn_sub(position[i], p)) < 1e-4f)
            return i;
    return -1;
}

static void check_source(const char *path, int wanted)
{
    char number[16];
    snprintf(number, sizeof number, "%d", wanted);
    firn_graph *graph = source_of(path, number);
    const firn_data *data = NULL;
    firn_error error = {0};
    if (firn_graph_cook(graph, "in", 1, &data, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    const firn_source_def *def = &data->source->def;
    assert_int_equal(def->point_count, wanted < 0 ? COUNT : COUNT / 2);
    const float *m = values_of(def, "mass"), *t = values_of(def, "temperature"),
                *v = values_of(def, "v");
    assert_true(m != NULL && t != NULL && v != NULL);
    for (size_t k = 0; k < def->point_count; k++) {
        int i = find(def->points[k]);
        assert_true(i >= 0 && (wanted < 0 || material[i] == wanted));
        assert_true(fabsf(m[k] - mass[i]) < 1e-7f && fabsf(t[k] - temperature[i]) < 1e-3f);
        assert_true(fabsf(v[3 * k] - velocity[i].x) < 1e-3f);
    }
    firn_graph_destroy(graph);
}

static void every_format_brings_them_along(void **state)
{
    (void)state;
    char folder[64], path[128];
    fixture_folder(folder, sizeof folder);
    make_points();
    for (size_t k = 0; k < FIRN_COUNT(formats); k++) {
        snprintf(path, sizeof path, "%s/%s", folder, formats[k].name);
        formats[k].put(path);
        check_source(path, -1);
        check_source(path, 1);
        check_source(path, 2);
    }
    fixture_remove(folder);
}

static void a_material_that_no_point_has_is_named(void **state)
{
    (void)state;
    char folder[64], path[128];
    fixture_folder(folder, sizeof folder);
    make_points();
    snprintf(path, sizeof path, "%s/p.ply", folder);
    put_ply(path);
    firn_graph *graph = source_of(path, "7");
    const firn_data *data = NULL;
    firn_error error = {0};
    assert_int_equal(firn_graph_cook(graph, "in", 1, &data, &error), FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, "7"));
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void read_particles_shows_usd_at_its_time(void **state)
{
    (void)state;
    firn_graph *graph = NULL;
    const firn_data *data = NULL;
    firn_error error = {0};
    assert_int_equal(firn_graph_create(&graph, NULL), FIRN_OK);
    assert_int_equal(firn_graph_add(graph, "read_particles", "in", NULL), FIRN_OK);
    assert_int_equal(firn_graph_set_param(graph, "in", "file", FIRN_FIXTURES "/usd/points.usdc",
                                          FIRN_LAYER_ALWAYS, NULL),
                     FIRN_OK);
    for (int frame = 1; frame <= 5; frame += 2) {
        if (firn_graph_cook(graph, "in", frame, &data, &error) != FIRN_OK)
            fail_msg("%s", error.message);
        const firn_points *points = &data->particles->points;
        const firn_vec3 *p = firn_points_find(points, "P")->data;
        const float *radius = firn_points_find(points, "pscale")->data;
        // (14, 2 frame, 107) in centimeters, Z up.
        firn_vec3 there = firn_vec(0.14f, 1.07f, -0.02f * (float)frame);
        assert_int_equal(points->count, 40);
        assert_true(firn_length(firn_sub(p[7], there)) < 1e-5f);
        assert_true(fabsf(radius[7] - 0.02f) < 1e-6f);
    }
    firn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_brings_them_along),
        cmocka_unit_test(a_material_that_no_point_has_is_named),
        cmocka_unit_test(read_particles_shows_usd_at_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
