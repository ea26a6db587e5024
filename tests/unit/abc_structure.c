// Names, strings, times and shapes of archives that no honest writer makes.
#include "unit/abc_builder.h"

#include "firn/abc_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static abc_builder built;
static const uint64_t data_bit = (uint64_t)1 << 63;

static firn_result open_built(firn_error *error)
{
    firn_abc *archive;
    firn_result result = firn_abc_open_memory(built.bytes, built.size, "built", &archive, error);
    firn_abc_close(archive);
    return result;
}

static firn_abc *open_fixture(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, FIRN_FIXTURES "/alembic/%s.abc", name);
    firn_abc *archive;
    assert_int_equal(firn_abc_open(path, &archive, NULL), FIRN_OK);
    return archive;
}

// --- Objects -------------------------------------------------------------------------------------

static void shared_groups_do_not_multiply_without_end(void **state)
{
    (void)state;
    // Each level has ten children with one group: ten times as many objects a level.
    abc_builder_start(&built);
    uint64_t group = abc_builder_object(&built, 0, NULL);
    for (int level = 0; level < 12; level++) {
        abc_list children = {.count = 0};
        for (int i = 0; i < 10; i++)
            abc_list_object(&children, (const char[]){(char)('a' + i), '\0'}, "", group);
        group = abc_builder_object(&built, 0, &children);
    }
    abc_builder_finish(&built, group, 1.0);
    firn_error error;
    assert_int_equal(open_built(&error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "more objects"));
}

static uint64_t nest_objects(int depth)
{
    uint64_t group = abc_builder_object(&built, 0, NULL);
    for (int level = 0; level < depth; level++) {
        abc_list child = {.count = 0};
        abc_list_object(&child, "x", "", group);
        group = abc_builder_object(&built, 0, &child);
    }
    return group;
}

static void objects_nest_to_a_limit(void **state)
{
    (void)state;
    firn_error error;
    abc_builder_start(&built);
    abc_builder_finish(&built, nest_objects(512), 1.0);
    firn_abc *archive = abc_builder_open(&built);
    assert_int_equal(firn_abc_object_at(archive, 512)->depth, 512);
    assert_int_equal(strlen(firn_abc_object_at(archive, 512)->path), 1024);
    firn_abc_close(archive);
    abc_builder_start(&built);
    abc_builder_finish(&built, nest_objects(515), 1.0);
    assert_int_equal(open_built(&error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "deep"));
}

static void compounds_nest_to_a_limit(void **state)
{
    (void)state;
    for (int extra = 0; extra <= 4; extra += 4) {
        abc_builder_start(&built);
        uint64_t group = 0;
        for (int level = 0; level < 512 + extra; level++) {
            abc_list child = {.count = 0};
            abc_list_property(&child, "c", "", 0, FIRN_ABC_POD_BOOL, 0, 0, group);
            group = abc_list_compound(&built, &child);
        }
        abc_builder_finish(&built, abc_builder_object(&built, group, NULL), 1.0);
        assert_int_equal(open_built(NULL), extra > 0 ? FIRN_ERR_FORMAT : FIRN_OK);
    }
}

static void names_with_slashes_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"a/b", "/", "fine"};
    for (size_t i = 0; i < FIRN_COUNT(names); i++) {
        abc_list children = {.count = 0};
        abc_builder_start(&built);
        abc_list_object(&children, names[i], "", 0);
        abc_builder_finish(&built, abc_builder_object(&built, 0, &children), 1.0);
        assert_int_equal(open_built(NULL), i < 2 ? FIRN_ERR_FORMAT : FIRN_OK);
    }
}

static void metadata_values_are_found_by_key(void **state)
{
    (void)state;
    char value[8];
    assert_true(firn_abc_metadata_value("a=1;bb=22;a=3", "a", value, sizeof value));
    assert_string_equal(value, "1");
    assert_true(firn_abc_metadata_value("a=1;bb=22", "bb", value, sizeof value));
    assert_string_equal(value, "22");
    assert_true(firn_abc_metadata_value("a=x=y", "a", value, sizeof value));
    assert_string_equal(value, "x=y");
    assert_true(firn_abc_metadata_value("long=123456789", "long", value, sizeof value));
    assert_string_equal(value, "1234567");
    assert_false(firn_abc_metadata_value("a=1;bb=22", "b", value, sizeof value));
    assert_false(firn_abc_metadata_value("broken;a=1", "a", value, sizeof value));
    assert_string_equal(value, "");
}

// A file is read through 16 pages of 16384 bytes; what lies across the border of the last one must
// come out whole.
static void file_and_memory_read_the_same(void **state)
{
    (void)state;
    static const unsigned char padding[16 * 16384] = {0};
    const char *path = "abc_structure_pages.abc";
    for (size_t shift = 0; shift < 400; shift += 5) {
        abc_list children = {.count = 0};
        abc_builder_start(&built);
        abc_builder_data(&built, padding, sizeof padding - 24 - shift);
        for (int i = 0; i < 12; i++)
            abc_list_object(&children, (const char[]){(char)('a' + i), 'b', '\0'}, "key=value", 0);
        abc_builder_finish(&built, abc_builder_object(&built, 0, &children), 1.0);
        FILE *file = fopen(path, "wb");
        assert_int_equal(fwrite(built.bytes, 1, built.size, file), built.size);
        fclose(file);
        firn_abc *archive;
        firn_error error = {0};
        if (firn_abc_open(path, &archive, &error) != FIRN_OK)
            fail_msg("%s", error.message);
        assert_int_equal(firn_abc_object_count(archive), 13);
        for (int i = 0; i < 12; i++) {
            const firn_abc_object *object = firn_abc_object_at(archive, i + 1);
            assert_string_equal(object->name, ((const char[]){(char)('a' + i), 'b', '\0'}));
            assert_string_equal(object->metadata, "key=value");
        }
        firn_abc_close(archive);
    }
    remove(path);
}

// --- Strings and indexed parameters --------------------------------------------------------------

// The root object gets `names`, an array of strings, and `tags`, the same through indices.
static void build_strings(const char *text, size_t size, uint64_t count, const uint32_t *indices,
                          size_t index_count)
{
    abc_list top = {.count = 0}, tags = {.count = 0};
    abc_builder_start(&built);
    const uint64_t words[2] = {abc_builder_sample(&built, text, size),
                               abc_builder_data(&built, &count, sizeof count)};
    uint64_t group = abc_builder_group(&built, words, 2);
    const void *samples[] = {indices};
    abc_list_property(&top, "names", "", 2, FIRN_ABC_POD_STRING, 1, 1, group);
    abc_list_property(&tags, ".vals", "", 2, FIRN_ABC_POD_STRING, 1, 1, group);
    abc_list_array(&built, &tags, ".indices", "", FIRN_ABC_POD_UINT32, 1, samples, &index_count, 1);
    abc_list_property(&top, "tags", "", 0, FIRN_ABC_POD_BOOL, 0, 0,
                      abc_list_compound(&built, &tags));
    abc_builder_finish(&built, abc_builder_object(&built, abc_list_compound(&built, &top), NULL),
                       1.0);
}

static firn_result read_named(const char *path, firn_abc_array *array, firn_error *error)
{
    static firn_abc *archive;
    archive = abc_builder_open(&built);
    int property = firn_abc_property_find(archive, 0, path);
    firn_result result = firn_abc_read_param(archive, property, 0, array, error);
    firn_abc_close(archive);
    return result;
}

static void strings_are_counted_by_their_dimensions(void **state)
{
    (void)state;
    static const uint32_t indices[] = {2, 0, 2};
    firn_abc_array array;
    build_strings("wet\0\0icy", 9, 3, indices, 3);
    assert_int_equal(read_named("names", &array, NULL), FIRN_OK);
    assert_int_equal(array.count, 3);
    assert_memory_equal(array.values, "wet\0\0icy", 9);
    firn_abc_array_free(&array);
    assert_int_equal(read_named("tags", &array, NULL), FIRN_OK);
    assert_int_equal(array.count, 3);
    assert_int_equal(array.bytes, 12);
    assert_memory_equal(array.values, "icy\0wet\0icy", 12);
    firn_abc_array_free(&array);
}

static void strings_without_end_are_refused(void **state)
{
    (void)state;
    static const uint32_t indices[] = {0};
    firn_abc_array array;
    build_strings("wet\0icy", 7, 2, indices, 1);
    assert_int_equal(read_named("names", &array, NULL), FIRN_ERR_FORMAT);
    assert_null(array.values);
    build_strings("wet\0icy", 8, 3, indices, 1);
    assert_int_equal(read_named("names", &array, NULL), FIRN_ERR_FORMAT);
    build_strings("wet\0icy", 8, (uint64_t)1 << 62, indices, 1);
    assert_int_equal(read_named("names", &array, NULL), FIRN_ERR_FORMAT);
}

static void indices_outside_the_values_are_refused(void **state)
{
    (void)state;
    static const uint32_t indices[] = {0, 2};
    firn_abc_array array;
    firn_error error;
    build_strings("wet\0icy", 8, 2, indices, 2);
    assert_int_equal(read_named("tags", &array, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "tags/.indices"));
}

static void a_long_string_used_often_stays_within_bounds(void **state)
{
    (void)state;
    enum { LENGTH = 60000, USES = 16000 };
    static char text[LENGTH];
    static uint32_t indices[USES];
    memset(text, 'x', sizeof text - 1);
    firn_abc_array array;
    build_strings(text, sizeof text, 1, indices, USES); // would become almost a gigabyte
    assert_int_equal(read_named("tags", &array, NULL), FIRN_ERR_MEMORY);
    assert_null(array.values);
}

static void dimensions_of_number_arrays_do_not_matter(void **state)
{
    (void)state;
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    static const uint64_t dimensions[2] = {3, 2};
    abc_list top = {.count = 0};
    abc_builder_start(&built);
    const uint64_t words[2] = {abc_builder_sample(&built, values, sizeof values),
                               abc_builder_data(&built, dimensions, sizeof dimensions)};
    abc_list_property(&top, "grid", "", 2, FIRN_ABC_POD_FLOAT32, 1, 1,
                      abc_builder_group(&built, words, 2));
    abc_builder_finish(&built, abc_builder_object(&built, abc_list_compound(&built, &top), NULL),
                       1.0);
    firn_abc_array array;
    assert_int_equal(read_named("grid", &array, NULL), FIRN_OK);
    assert_int_equal(array.count, 6);
    assert_memory_equal(array.values, values, sizeof values);
    firn_abc_array_free(&array);
}

// --- Meshes that share data, instances -----------------------------------------------------------

static void triangle(abc_list *geometry)
{
    static const float p[] = {0, 0, 0, 1, 0, 0, 0, 0, 1};
    static const int32_t corner[] = {0, 1, 2}, face[] = {3};
    static const size_t three = 3, one = 1;
    const void *ps[] = {p}, *cs[] = {corner}, *fs[] = {face};
    abc_list_array(&built, geometry, "P", "", FIRN_ABC_POD_FLOAT32, 3, ps, &three, 1);
    abc_list_array(&built, geometry, ".faceIndices", "", FIRN_ABC_POD_INT32, 1, cs, &three, 1);
    abc_list_array(&built, geometry, ".faceCounts", "", FIRN_ABC_POD_INT32, 1, fs, &one, 1);
}

static void add_instance(abc_list *objects, const char *name, const char *source)
{
    const void *paths[] = {source};
    abc_list top = {.count = 0};
    uint64_t word = abc_builder_sample(&built, paths[0], strlen(source) + 1);
    abc_list_property(&top, ".instanceSource", "", 1, FIRN_ABC_POD_STRING, 1, 1,
                      abc_builder_group(&built, &word, 1));
    abc_list_object(objects, name, "isInstance=1",
                    abc_builder_object(&built, abc_list_compound(&built, &top), NULL));
}

static void add_lift(abc_list *objects, const char *name, double height, abc_list *children)
{
    static const uint8_t op = 0x10, yes = 1;
    const double up[3] = {0, height, 0};
    const void *ops[] = {&op}, *yeses[] = {&yes}, *ups[] = {up};
    abc_list xform = {.count = 0};
    abc_list_scalar(&built, &xform, ".inherits", FIRN_ABC_POD_BOOL, 1, yeses, 1);
    abc_list_scalar(&built, &xform, ".ops", FIRN_ABC_POD_UINT8, 1, ops, 1);
    abc_list_scalar(&built, &xform, ".vals", FIRN_ABC_POD_FLOAT64, 3, ups, 1);
    abc_list_schema_object(&built, objects, name, "AbcGeom_Xform_v3", ".xform", &xform, children);
}

// /part/m; /pair/lift, 1 m up, with an instance of /part; /top, 10 m up, with one of /pair.
static void instances_bring_instances(void **state)
{
    (void)state;
    abc_list geometry = {.count = 0}, meshes = {.count = 0}, objects = {.count = 0};
    abc_list inner = {.count = 0}, pair = {.count = 0}, outer = {.count = 0};
    abc_builder_start(&built);
    triangle(&geometry);
    abc_list_schema_object(&built, &meshes, "m", "AbcGeom_PolyMesh_v1", ".geom", &geometry, NULL);
    abc_list_object(&objects, "part", "", abc_builder_object(&built, 0, &meshes));
    add_instance(&inner, "copy", "/part");
    add_lift(&pair, "lift", 1.0, &inner);
    abc_list_object(&objects, "pair", "", abc_builder_object(&built, 0, &pair));
    add_instance(&outer, "copy", "/pair");
    add_lift(&objects, "top", 10.0, &outer);
    abc_builder_finish(&built, abc_builder_object(&built, 0, &objects), 1.0);
    firn_abc *archive = abc_builder_open(&built);
    firn_abc_mesh mesh;
    assert_int_equal(firn_abc_read_world_mesh(archive, NULL, 0.0, &mesh, NULL), FIRN_OK);
    assert_int_equal(mesh.vertex_count, 9);
    assert_true(mesh.position[0].y == 0.0f && mesh.position[3].y == 1.0f &&
                mesh.position[6].y == 11.0f);
    firn_abc_mesh_free(&mesh);
    firn_abc_close(archive);
}

// Two triangles, of which the second is hidden in the sample at 0 s and shown in that at 1 s.
static void what_is_hidden_takes_no_part(void **state)
{
    (void)state;
    static const int8_t hidden = 0, shown = 1;
    const void *values[] = {&hidden, &shown};
    abc_list geometry = {.count = 0}, other = {.count = 0}, objects = {.count = 0};
    abc_list top = {.count = 0};
    abc_builder_start(&built);
    triangle(&geometry);
    triangle(&other);
    abc_list_schema_object(&built, &objects, "a", "AbcGeom_PolyMesh_v1", ".geom", &geometry, NULL);
    abc_list_property(&top, ".geom", "schema=AbcGeom_PolyMesh_v1", 0, 0, 0, 0,
                      abc_list_compound(&built, &other));
    abc_list_scalar(&built, &top, "visible", FIRN_ABC_POD_INT8, 1, values, 2);
    abc_list_object(&objects, "b", "schema=AbcGeom_PolyMesh_v1",
                    abc_builder_object(&built, abc_list_compound(&built, &top), NULL));
    abc_builder_finish(&built, abc_builder_object(&built, 0, &objects), 1.0);
    firn_abc *archive = abc_builder_open(&built);
    static const struct {
        const char *pattern;
        double time;
        size_t vertices;
    } cases[] = {{NULL, 0.0, 3},  {NULL, 1.0, 6}, {"b", 0.0, 0},    {"b", 1.0, 3},
                 {"a b", 1.0, 6}, {"^b", 1.0, 3}, {"* ^a", 1.0, 3}, {"/a ^/b", 1.0, 3}};
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_abc_mesh mesh;
        assert_int_equal(
            firn_abc_read_world_mesh(archive, cases[i].pattern, cases[i].time, &mesh, NULL),
            FIRN_OK);
        assert_int_equal(mesh.vertex_count, cases[i].vertices);
        firn_abc_mesh_free(&mesh);
    }
    firn_abc_close(archive);
}

// /model/m, and below /up, ten meters up, an instance of what source names.
static void build_instance(const char *source)
{
    static const uint8_t op = 0x10, yes = 1;
    static const double up[3] = {0, 10, 0};
    const void *ops[] = {&op}, *yeses[] = {&yes}, *ups[] = {up};
    abc_list geometry = {.count = 0}, meshes = {.count = 0}, xform = {.count = 0};
    abc_list instances = {.count = 0}, objects = {.count = 0};
    abc_builder_start(&built);
    triangle(&geometry);
    abc_list_schema_object(&built, &meshes, "m", "AbcGeom_PolyMesh_v1", ".geom", &geometry, NULL);
    abc_list_object(&objects, "model", "", abc_builder_object(&built, 0, &meshes));
    add_instance(&instances, "copy", source);
    abc_list_scalar(&built, &xform, ".inherits", FIRN_ABC_POD_BOOL, 1, yeses, 1);
    abc_list_scalar(&built, &xform, ".ops", FIRN_ABC_POD_UINT8, 1, ops, 1);
    abc_list_scalar(&built, &xform, ".vals", FIRN_ABC_POD_FLOAT64, 3, ups, 1);
    abc_list_schema_object(&built, &objects, "up", "AbcGeom_Xform_v3", ".xform", &xform,
                           &instances);
    abc_builder_finish(&built, abc_builder_object(&built, 0, &objects), 1.0);
}

static void instances_bring_their_meshes(void **state)
{
    (void)state;
    static const char *const sources[] = {"/model", "/model/m"};
    for (size_t i = 0; i < FIRN_COUNT(sources); i++) {
        build_instance(sources[i]);
        firn_abc *archive = abc_builder_open(&built);
        firn_abc_mesh mesh;
        assert_int_equal(firn_abc_read_world_mesh(archive, NULL, 0.0, &mesh, NULL), FIRN_OK);
        assert_int_equal(mesh.vertex_count, 6);
        assert_true(mesh.position[1].y == 0.0f && mesh.position[4].y == 10.0f);
        firn_abc_mesh_free(&mesh);
        assert_int_equal(firn_abc_read_world_mesh(archive, "/up/copy", 0.0, &mesh, NULL), FIRN_OK);
        assert_int_equal(mesh.vertex_count, 3);
        firn_abc_mesh_free(&mesh);
        firn_abc_close(archive);
    }
}

static void instances_of_nothing_or_of_themselves_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        firn_result result;
    } cases[] = {{"/gone", FIRN_ERR_FORMAT},
                 {"/", FIRN_ERR_UNSUPPORTED},
                 {"/up", FIRN_ERR_UNSUPPORTED},
                 {"/up/copy", FIRN_ERR_UNSUPPORTED}};
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        build_instance(cases[i].source);
        firn_abc *archive = abc_builder_open(&built);
        firn_abc_mesh mesh;
        assert_int_equal(firn_abc_read_world_mesh(archive, NULL, 0.0, &mesh, NULL),
                         cases[i].result);
        assert_null(mesh.position);
        firn_abc_close(archive);
    }
}

static void many_meshes_of_one_array_stay_within_bounds(void **state)
{
    (void)state;
    enum { POINTS = 15000, MESHES = 60 };
    static float p[3 * POINTS];
    static const size_t count = POINTS, none = 0;
    const void *ps[] = {p}, *nothing[] = {NULL};
    abc_list geometry = {.count = 0}, meshes = {.count = 0}, groups = {.count = 0};
    abc_builder_start(&built);
    abc_list_array(&built, &geometry, "P", "", FIRN_ABC_POD_FLOAT32, 3, ps, &count, 1);
    abc_list_array(&built, &geometry, ".faceIndices", "", FIRN_ABC_POD_INT32, 1, nothing, &none, 1);
    abc_list_array(&built, &geometry, ".faceCounts", "", FIRN_ABC_POD_INT32, 1, nothing, &none, 1);
    abc_list_schema_object(&built, &meshes, "m", "AbcGeom_PolyMesh_v1", ".geom", &geometry, NULL);
    uint64_t one = abc_builder_object(&built, 0, &meshes);
    for (int i = 0; i < MESHES; i++) {
        char name[16];
        snprintf(name, sizeof name, "g%d", i);
        abc_list_object(&groups, name, "", one);
    }
    abc_list all = {.count = 0};
    abc_list_object(&all, "all", "", abc_builder_object(&built, 0, &groups));
    abc_list_object(&all, "again", "", abc_builder_object(&built, 0, &groups));
    abc_list_object(&all, "more", "", abc_builder_object(&built, 0, &groups));
    abc_builder_finish(&built, abc_builder_object(&built, 0, &all), 1.0);
    firn_abc *archive = abc_builder_open(&built);
    firn_abc_mesh mesh;
    firn_error error;
    // 180 times 15000 points of 24 bytes are more than 16 MiB + 16 times the file.
    assert_int_equal(firn_abc_read_world_mesh(archive, NULL, 0.0, &mesh, &error), FIRN_ERR_MEMORY);
    assert_non_null(strstr(error.message, "select fewer"));
    assert_int_equal(firn_abc_read_world_mesh(archive, "/more/g7", 0.0, &mesh, NULL), FIRN_OK);
    assert_int_equal(mesh.vertex_count, POINTS);
    firn_abc_mesh_free(&mesh);
    firn_abc_close(archive);
}

// --- Time ----------------------------------------------------------------------------------------

static void sample_before_a_time_is_the_last_one_reached(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("acyclic");
    const firn_abc_time_sampling *acyclic = firn_abc_time_sampling_at(archive, 1);
    assert_int_equal(firn_abc_sample_before(acyclic, 5, -7.0), 0);
    assert_int_equal(firn_abc_sample_before(acyclic, 5, 0.24), 1);
    assert_int_equal(firn_abc_sample_before(acyclic, 5, 0.25 - 0.5e-5), 2);
    assert_int_equal(firn_abc_sample_before(acyclic, 5, 0.25), 2);
    assert_int_equal(firn_abc_sample_before(acyclic, 5, 1e300), 4);
    assert_int_equal(firn_abc_sample_before(acyclic, 0, 1.0), 0);
    const firn_abc_time_sampling *cyclic = firn_abc_time_sampling_at(archive, 2);
    for (uint32_t i = 0; i < 8; i++) {
        double time = (double)(i / 2) / 24.0 + (i % 2 == 1 ? 0.25 / 24.0 : 0.0);
        assert_near(firn_abc_sample_time(cyclic, i), time, 1e-15);
        assert_int_equal(firn_abc_sample_before(cyclic, 8, time), i);
        assert_int_equal(firn_abc_sample_before(cyclic, 8, time + 0.004), i);
    }
    const firn_abc_time_sampling uniform = {FIRN_ABC_TIME_UNIFORM, 1.0 / 24.0, 0, 1,
                                            (const double[]){1.0 / 24.0}};
    for (uint32_t i = 0; i < 100000; i += 997)
        assert_int_equal(firn_abc_sample_before(&uniform, UINT32_MAX, (double)(i + 1) / 24.0), i);
    firn_abc_close(archive);
}

static void archive_tells_its_time_range(void **state)
{
    (void)state;
    double first, last;
    firn_abc *archive = open_fixture("groups_meshes");
    assert_true(firn_abc_time_range(archive, &first, &last));
    assert_near(first, 1001.0 / 24.0, 1e-12);
    assert_near(last, 1006.0 / 24.0, 1e-12);
    firn_abc_close(archive);
    build_instance("/model");
    archive = abc_builder_open(&built);
    assert_false(firn_abc_time_range(archive, &first, &last));
    firn_abc_close(archive);
}

static void overview_tells_what_an_object_holds(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("xform_hierarchy");
    firn_abc_summary summary;
    int root = firn_abc_object_find(archive, "/root_xf");
    int box = firn_abc_object_find(archive, "/root_xf/child_xf/box");
    assert_int_equal(firn_abc_object_at(archive, box)->depth, 3);
    assert_int_equal(firn_abc_summarize(archive, root, &summary, NULL), FIRN_OK);
    assert_int_equal(summary.variance, FIRN_ABC_VARIANCE_HOMOGENEOUS);
    assert_int_equal(summary.sample_count, 24);
    assert_near(summary.last_time, 23.0 / 24.0, 1e-12);
    assert_int_equal(firn_abc_summarize(archive, box, &summary, NULL), FIRN_OK);
    assert_int_equal(summary.variance, FIRN_ABC_VARIANCE_CONSTANT);
    assert_int_equal(summary.min_faces, 6);
    assert_int_equal(summary.max_points, 8);
    assert_true(summary.has_bounds && summary.bounds[0] == -0.5 && summary.bounds[5] == 0.5);
    assert_int_equal(firn_abc_summarize(archive, 0, &summary, NULL), FIRN_OK);
    assert_int_equal(summary.sample_count, 0);
    firn_abc_close(archive);
}

static void children_without_a_list_are_not_seen(void **state)
{
    (void)state;
    // An object group that ends with a group has no child headers.
    abc_builder_start(&built);
    uint64_t leaf = abc_builder_object(&built, 0, NULL);
    const uint64_t words[2] = {0, leaf};
    abc_builder_finish(&built, abc_builder_group(&built, words, 2), 1.0);
    firn_abc *archive = abc_builder_open(&built);
    assert_int_equal(firn_abc_object_count(archive), 1);
    firn_abc_close(archive);
    // And one whose headers are too short for the hashes is damaged.
    abc_builder_start(&built);
    const uint64_t bad[2] = {0, abc_builder_data(&built, "short", 5)};
    abc_builder_finish(&built, abc_builder_group(&built, bad, 2), 1.0);
    assert_int_equal(open_built(NULL), FIRN_ERR_FORMAT);
    assert_true((bad[1] & data_bit) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_groups_do_not_multiply_without_end),
        cmocka_unit_test(objects_nest_to_a_limit),
        cmocka_unit_test(compounds_nest_to_a_limit),
        cmocka_unit_test(names_with_slashes_are_refused),
        cmocka_unit_test(metadata_values_are_found_by_key),
        cmocka_unit_test(file_and_memory_read_the_same),
        cmocka_unit_test(strings_are_counted_by_their_dimensions),
        cmocka_unit_test(strings_without_end_are_refused),
        cmocka_unit_test(indices_outside_the_values_are_refused),
        cmocka_unit_test(a_long_string_used_often_stays_within_bounds),
        cmocka_unit_test(dimensions_of_number_arrays_do_not_matter),
        cmocka_unit_test(instances_bring_their_meshes),
        cmocka_unit_test(instances_bring_instances),
        cmocka_unit_test(what_is_hidden_takes_no_part),
        cmocka_unit_test(instances_of_nothing_or_of_themselves_are_refused),
        cmocka_unit_test(many_meshes_of_one_array_stay_within_bounds),
        cmocka_unit_test(sample_before_a_time_is_the_last_one_reached),
        cmocka_unit_test(archive_tells_its_time_range),
        cmocka_unit_test(overview_tells_what_an_object_holds),
        cmocka_unit_test(children_without_a_list_are_not_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
