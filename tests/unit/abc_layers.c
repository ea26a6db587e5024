// Several archives as one: what later layers say stands over the earlier ones.
#define _XOPEN_SOURCE 700
#include "unit/abc_builder.h"

#include "firn/abc_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char paths[3][64];

// A layer of its own file. What is given of a triangle /m is in it, and a second one at will.
typedef struct layer {
    const float *p[2];      // positions of two samples
    bool faces;             // of /m
    const char *metadata;   // of /m, NULL: its schema
    const char *other;      // a second object, NULL: none
    const char *other_meta; // likewise
} layer;

static const float here[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
static const float there[9] = {5, 0, 0, 6, 0, 0, 5, 1, 0};
static const int32_t corners[3] = {0, 2, 1}, three = 3;
static const char mesh_schema[] =
    "schema=AbcGeom_PolyMesh_v1;schemaObjTitle=AbcGeom_PolyMesh_v1:.geom";

static void add_mesh(abc_builder *b, abc_list *objects, const char *name, const char *metadata,
                     const float *const p[2], bool faces)
{
    const void *positions[2] = {p[0], p[1]}, *c[1] = {corners}, *f[1] = {&three};
    const size_t points[2] = {3, 3}, one[1] = {1};
    abc_list geometry = {.count = 0}, top = {.count = 0};
    if (p[0] != NULL)
        abc_list_array(b, &geometry, "P", "", FIRN_ABC_POD_FLOAT32, 3, positions, points,
                       p[1] != NULL ? 2 : 1);
    if (faces) {
        abc_list_array(b, &geometry, ".faceIndices", "", FIRN_ABC_POD_INT32, 1, c, points, 1);
        abc_list_array(b, &geometry, ".faceCounts", "", FIRN_ABC_POD_INT32, 1, f, one, 1);
    }
    abc_list_property(&top, ".geom", "", 0, 0, 0, 0, abc_list_compound(b, &geometry));
    abc_list none = {.count = 0};
    abc_list_object(objects, name, metadata,
                    abc_builder_object(b, abc_list_compound(b, &top), &none));
}

static void write_layer(int number, const layer *l)
{
    static abc_builder b;
    abc_list objects = {.count = 0};
    abc_builder_start(&b);
    add_mesh(&b, &objects, "m", l->metadata != NULL ? l->metadata : mesh_schema, l->p, l->faces);
    if (l->other != NULL) {
        const float *const p[2] = {there, NULL};
        add_mesh(&b, &objects, l->other, l->other_meta != NULL ? l->other_meta : mesh_schema, p,
                 true);
    }
    abc_builder_finish(&b, abc_builder_object(&b, 0, &objects), 1.0);
    FILE *file = fopen(paths[number], "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b.bytes, 1, b.size, file), b.size);
    fclose(file);
}

static firn_abc *open_all(int count)
{
    const char *names[3] = {paths[0], paths[1], paths[2]};
    firn_abc *archive = NULL;
    firn_error error = {0};
    firn_result result = firn_abc_open_layers(names, count, &archive, &error);
    if (result != FIRN_OK)
        print_error("%s\n", error.message);
    assert_int_equal(result, FIRN_OK);
    return archive;
}

static firn_abc_mesh mesh_of(const firn_abc *archive, const char *pattern, double time)
{
    firn_abc_mesh mesh;
    firn_error error = {0};
    firn_result result = firn_abc_read_world_mesh(archive, pattern, time, &mesh, &error);
    if (result != FIRN_OK)
        print_error("%s\n", error.message);
    assert_int_equal(result, FIRN_OK);
    return mesh;
}

static const layer model = {{here, NULL}, true, NULL, "rock", NULL};

static void an_animation_stands_over_a_model(void **state)
{
    (void)state;
    const layer animation = {{here, there}, false, "", NULL, NULL};
    write_layer(0, &model);
    write_layer(1, &animation);
    firn_abc *archive = open_all(2);
    assert_int_equal(firn_abc_object_count(archive), 3);
    firn_abc_mesh mesh = mesh_of(archive, "m", 0.5);
    assert_int_equal(mesh.face_count, 1);
    assert_true(mesh.position[0].x == 2.5f);
    assert_true(mesh.velocity[0].x == 5.0f);
    firn_abc_mesh_free(&mesh);
    // What the second layer does not speak of is as it was.
    mesh = mesh_of(archive, "rock", 0.5);
    assert_true(mesh.position[0].x == 5.0f);
    firn_abc_mesh_free(&mesh);
    double first, last;
    assert_true(firn_abc_time_range(archive, &first, &last));
    assert_true(first == 0.0 && last == 1.0);
    firn_abc_close(archive);
}

static void one_layer_is_the_archive_itself(void **state)
{
    (void)state;
    write_layer(0, &model);
    firn_abc *whole = open_all(1), *plain = NULL;
    assert_int_equal(firn_abc_open(paths[0], &plain, NULL), FIRN_OK);
    assert_int_equal(firn_abc_object_count(whole), firn_abc_object_count(plain));
    assert_int_equal(firn_abc_property_count(whole), firn_abc_property_count(plain));
    for (int i = 0; i < firn_abc_object_count(plain); i++) {
        const firn_abc_object *a = firn_abc_object_at(whole, i), *b = firn_abc_object_at(plain, i);
        assert_string_equal(a->path, b->path);
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->parent, b->parent);
        assert_int_equal(a->child_count, b->child_count);
        assert_int_equal(a->first_property, b->first_property);
        assert_int_equal(a->property_count, b->property_count);
    }
    for (int i = 0; i < firn_abc_property_count(plain); i++) {
        const firn_abc_property *a = firn_abc_property_at(whole, i),
                                *b = firn_abc_property_at(plain, i);
        assert_string_equal(a->path, b->path);
        assert_int_equal(a->parent, b->parent);
        assert_int_equal(a->object, b->object);
    }
    firn_abc_close(whole);
    firn_abc_close(plain);
}

static void a_new_object_is_added_and_pruning_takes_one_away(void **state)
{
    (void)state;
    const layer more = {{NULL, NULL}, false, "", "tree", NULL};
    const layer less = {{NULL, NULL}, false, "", "rock", "prune=1"};
    write_layer(0, &model);
    write_layer(1, &more);
    write_layer(2, &less);
    firn_abc *archive = open_all(2);
    assert_true(firn_abc_object_find(archive, "/tree") > 0);
    assert_true(firn_abc_object_find(archive, "/rock") > 0);
    firn_abc_close(archive);
    archive = open_all(3);
    assert_true(firn_abc_object_find(archive, "/tree") > 0);
    assert_int_equal(firn_abc_object_find(archive, "/rock"), -1);
    assert_int_equal(firn_abc_object_at(archive, 0)->child_count, 2);
    firn_abc_mesh mesh = mesh_of(archive, "", 0.0);
    assert_int_equal(mesh.face_count, 2);
    firn_abc_mesh_free(&mesh);
    firn_abc_close(archive);
}

static void replacing_forgets_what_was_there(void **state)
{
    (void)state;
    char metadata[200];
    snprintf(metadata, sizeof metadata, "%s;replace=1", mesh_schema);
    const layer without_faces = {{there, NULL}, false, metadata, NULL, NULL};
    write_layer(0, &model);
    write_layer(1, &without_faces);
    firn_abc *archive = open_all(2);
    int m = firn_abc_object_find(archive, "/m");
    assert_true(firn_abc_property_find(archive, m, ".geom/P") >= 0);
    assert_int_equal(firn_abc_property_find(archive, m, ".geom/.faceIndices"), -1);
    firn_abc_close(archive);
}

static void a_layer_that_is_not_there_is_named(void **state)
{
    (void)state;
    write_layer(0, &model);
    unlink(paths[1]);
    const char *names[2] = {paths[0], paths[1]};
    firn_abc *archive = NULL;
    firn_error error;
    assert_int_equal(firn_abc_open_layers(names, 2, &archive, &error), FIRN_ERR_NOT_FOUND);
    assert_null(archive);
    assert_non_null(strstr(error.message, paths[1]));
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        snprintf(paths[i], sizeof paths[i], "/tmp/firn_layer_%d_XXXXXX", i);
        int made = mkstemp(paths[i]);
        if (made < 0)
            return 1;
        close(made);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_animation_stands_over_a_model),
        cmocka_unit_test(one_layer_is_the_archive_itself),
        cmocka_unit_test(a_new_object_is_added_and_pruning_takes_one_away),
        cmocka_unit_test(replacing_forgets_what_was_there),
        cmocka_unit_test(a_layer_that_is_not_there_is_named),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
    return failed;
}
