// USD as input: what the official library says of the world is what is read. The fixtures and the
// points in expected.txt were made by it (usd-core 26.11, and Blender 4.5 for shape.usdc):
// references, payloads, sublayers with offsets, variants, inherits, transforms, visibility,
// skeletons, packed arrays.
#define _POSIX_C_SOURCE 200809L
#include "firn/usd_scene.h"

#include "firn/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static firn_usd_scene *open_fixture(const char *name)
{
    char path[512];
    firn_error error;
    firn_usd_scene *scene = NULL;
    snprintf(path, sizeof path, FIRN_FIXTURES "/usd/%s", name);
    if (firn_usd_scene_open(path, &scene, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return scene;
}

static firn_usd_mesh read_mesh(const char *name, const char *pattern, double time)
{
    firn_usd_mesh mesh;
    firn_error error;
    firn_usd_scene *scene = open_fixture(name);
    if (firn_usd_read_world_mesh(scene, pattern, time, &mesh, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    firn_usd_scene_close(scene);
    return mesh;
}

// How far the nearest vertex is; prims may come in another order than with the official library.
static float nearest(const firn_usd_mesh *mesh, firn_vec3 p)
{
    float best = INFINITY;
    for (size_t i = 0; i < mesh->vertex_count; i++)
        best = fminf(best, firn_length(firn_sub(mesh->position[i], p)));
    return best;
}

static void meshes_are_where_the_official_library_has_them(void **state)
{
    (void)state;
    FILE *file = fopen(FIRN_FIXTURES "/usd/expected.txt", "r");
    assert_non_null(file);
    char name[64];
    double time;
    size_t vertices, corners, points, cases = 0;
    while (fscanf(file, "%63s %lf %zu %zu %zu", name, &time, &vertices, &corners, &points) == 5) {
        firn_usd_mesh mesh = read_mesh(name, "", time);
        assert_int_equal(mesh.vertex_count, vertices);
        assert_int_equal(mesh.corner_count, corners);
        for (size_t i = 0; i < points; i++) {
            firn_vec3 p;
            assert_int_equal(fscanf(file, "%f %f %f", &p.x, &p.y, &p.z), 3);
            if (!(nearest(&mesh, p) < 1e-5f * (1.0f + firn_length(p))))
                fail_msg("%s at %g s: nothing at (%g, %g, %g)", name, time, (double)p.x,
                         (double)p.y, (double)p.z);
        }
        firn_usd_mesh_free(&mesh);
        cases++;
    }
    fclose(file);
    assert_int_equal(cases, 17);
}

static double volume_of(const firn_usd_mesh *mesh)
{
    double sum = 0.0;
    const int32_t *c = mesh->corner;
    for (size_t f = 0; f < mesh->face_count; c += mesh->face_size[f++])
        for (int32_t k = 2; k < mesh->face_size[f]; k++) {
            firn_vec3 a = mesh->position[c[0]], b = mesh->position[c[k - 1]],
                      d = mesh->position[c[k]];
            sum += (double)firn_dot(a, firn_cross(b, d)) / 6.0;
        }
    return sum;
}

/// A layer in text, put beside others of a folder of its own.
typedef struct fixture {
    char folder[64], path[128];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/firn_scene_XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    snprintf(f->path, sizeof f->path, "%s/layer.usda", f->folder);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    unlink(f->path);
    rmdir(f->folder);
    free(f);
    return 0;
}

static firn_result open_text(fixture *f, const char *text, firn_usd_scene **scene,
                             firn_error *error)
{
    FILE *file = fopen(f->path, "w");
    assert_non_null(file);
    fprintf(file, "#usda 1.0\n%s", text);
    fclose(file);
    return firn_usd_scene_open(f->path, scene, error);
}

#define CUBE                                                                                       \
    "point3f[] points = [(0,0,0),(0,0,1),(0,1,0),(0,1,1),(1,0,0),(1,0,1),(1,1,0),(1,1,1)]\n"       \
    "int[] faceVertexCounts = [4,4,4,4,4,4]\n"                                                     \
    "int[] faceVertexIndices = [0,1,3,2, 4,6,7,5, 0,4,5,1, 2,3,7,6, 0,2,6,4, 1,5,7,3]\n"

static firn_usd_mesh mesh_of(fixture *f, const char *text, const char *pattern, double time)
{
    firn_usd_scene *scene = NULL;
    firn_usd_mesh mesh = {0};
    firn_error error;
    if (open_text(f, text, &scene, &error) != FIRN_OK ||
        firn_usd_read_world_mesh(scene, pattern, time, &mesh, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    firn_usd_scene_close(scene);
    return mesh;
}

static void faces_look_outward_however_they_are_stored(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *text;
        double volume;
    } cases[] = {
        {"def Mesh \"a\" { " CUBE "}", 1.0},
        {"def Mesh \"a\" { uniform token orientation = \"leftHanded\"\n" CUBE "}", -1.0},
        {"def Mesh \"a\" { float3 xformOp:scale = (-2, 1, 1)\n"
         "uniform token[] xformOpOrder = [\"xformOp:scale\"]\n" CUBE "}",
         2.0},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_usd_mesh mesh = mesh_of(f, cases[i].text, "", 0.0);
        assert_true(fabs(volume_of(&mesh) - cases[i].volume) < 1e-6);
        firn_usd_mesh_free(&mesh);
    }
}

static void a_mesh_that_says_nothing_is_a_subdivision_surface(void **state)
{
    fixture *f = *state;
    firn_usd_mesh mesh =
        mesh_of(f,
                "def Mesh \"a\" { " CUBE "int[] creaseIndices = [0, 1, 3, 2, 0]\n"
                "int[] creaseLengths = [5]\nfloat[] creaseSharpnesses = [3]\n"
                "int[] cornerIndices = [7]\nfloat[] cornerSharpnesses = [10]\n"
                "int[] holeIndices = [1]\n}\n"
                "def Mesh \"b\" { uniform token subdivisionScheme = \"none\"\n" CUBE "}",
                "", 0.0);
    assert_int_equal(mesh.cage_count, 1);
    const firn_usd_cage *cage = &mesh.cages[0];
    assert_int_equal(cage->scheme, FIRN_USD_SCHEME_CATMULL_CLARK);
    assert_int_equal(cage->vertex_count, 8);
    assert_int_equal(cage->crease_count, 4);
    assert_int_equal(cage->crease[7], 0);
    assert_true(cage->crease_sharpness[3] == 3.0f);
    assert_int_equal(cage->peak[0], 7);
    assert_int_equal(cage->hole[0], 1);
    assert_int_equal(mesh.vertex_count, 16);
    firn_usd_mesh_free(&mesh);
}

static void patterns_choose_meshes_and_subsets_of_faces(void **state)
{
    fixture *f = *state;
    static const char text[] =
        "def Xform \"man\" { def Mesh \"body\" { uniform token subdivisionScheme = \"none\"\n" CUBE
        "def GeomSubset \"boots\" { int[] indices = [0, 2] } } }\n"
        "def Camera \"lens\" { }\n";
    static const struct {
        const char *pattern;
        size_t faces;
    } cases[] = {{"", 6}, {"body", 6}, {"/man", 6}, {"boots", 2}, {"body ^boots", 4}};
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_usd_mesh mesh = mesh_of(f, text, cases[i].pattern, 0.0);
        assert_int_equal(mesh.face_count, cases[i].faces);
        firn_usd_mesh_free(&mesh);
    }
    firn_usd_scene *scene = NULL;
    firn_usd_mesh mesh;
    firn_error error;
    char unused[200];
    assert_int_equal(open_text(f, text, &scene, &error), FIRN_OK);
    assert_int_equal(firn_usd_read_world_mesh(scene, "cat", 0.0, &mesh, &error),
                     FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "cat"));
    firn_usd_scene_leftover(scene, "", unused, sizeof unused);
    assert_string_equal(unused, "1 Camera (/lens)");
    firn_usd_scene_close(scene);
}

static void times_are_seconds_whatever_a_code_counts(void **state)
{
    fixture *f = *state;
    firn_usd_mesh mesh =
        mesh_of(f,
                "( timeCodesPerSecond = 50 )\ndef Mesh \"a\" {\n"
                "double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 100: (8, "
                "0, 0) }\nuniform token[] xformOpOrder = "
                "[\"xformOp:translate\"]\nvector3f[] velocities = [(0,0,0),(0,0,0),"
                "(0,0,0),(0,0,0),(0,0,0),(0,0,0),(0,0,0),(0,0,0)]\n" CUBE "}",
                "", 0.5);
    assert_true(fabsf(mesh.position[0].x - 2.0f) < 1e-6f);
    assert_true(fabsf(mesh.velocity[0].x - 4.0f) < 1e-4f); // of what moves the prim
    firn_usd_mesh_free(&mesh);
}

static void points_come_with_their_columns(void **state)
{
    (void)state;
    static const char *const names[] = {"points.usda", "points.usdc"};
    for (size_t k = 0; k < FIRN_COUNT(names); k++) {
        firn_usd_scene *scene = open_fixture(names[k]);
        firn_usd_cloud *cloud = NULL;
        firn_error error;
        if (firn_usd_read_points(scene, "", 3.0 / 24.0, &cloud, &error) != FIRN_OK)
            fail_msg("%s", error.message);
        const firn_points *points = firn_usd_cloud_points(cloud);
        assert_int_equal(points->count, 40);
        const firn_vec3 *p = firn_points_find(points, "P")->data;
        const firn_vec3 *v = firn_points_find(points, "v")->data;
        const float *radius = firn_points_find(points, "pscale")->data;
        const int64_t *id = firn_points_find(points, "id")->data;
        const int32_t *material = firn_points_find(points, "material")->data;
        // Scaled by 2 and moved up by 100.
        assert_true(firn_length(firn_sub(p[7], firn_vec(14.0f, 6.0f, 107.0f))) < 1e-4f);
        assert_true(fabsf(v[7].y - 12.0f) < 1e-4f);
        assert_true(fabsf(radius[7] - 2.0f) < 1e-6f && fabsf(radius[8] - 1.0f) < 1e-6f);
        assert_true(id[7] == 10000000007ll);
        assert_true(material[7] == 1 && material[8] == 2);
        assert_int_equal(firn_points_find(points, "tint")->tuple_size, 3);
        assert_string_equal(firn_usd_scene_metadata(scene), "metersPerUnit=0.01;upAxis=Z");
        firn_usd_cloud_free(cloud);
        firn_usd_scene_close(scene);
    }
}

static void what_is_wrong_is_named(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"def Mesh \"a\" { int[] x = [1, 2 }", "line 2"},
        {"def Mesh \"a\"", "line"},
        {"def Xform \"a\" ( references = @gone.usda@ ) { }", "gone.usda"},
        {"def Xform \"a\" ( references = </nobody> ) { }", "/nobody"},
        {"def Xform \"a\" ( references = </a> ) { }", "within"},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_usd_scene *scene = NULL;
        firn_error error = {0};
        assert_int_not_equal(open_text(f, cases[i].text, &scene, &error), FIRN_OK);
        assert_non_null(strstr(error.message, f->path));
        if (strstr(error.message, cases[i].word) == NULL)
            fail_msg("%s", error.message);
    }
    static const struct {
        const char *text, *word;
    } meshes[] = {
        {"def Mesh \"a\" { point3f[] points = [(0,0,0)]\nint[] faceVertexCounts = [3]\nint[] "
         "faceVertexIndices = [0, 0, 1] }",
         "not there"},
        {"def Mesh \"a\" { point3f[] points = [(0,0,inf)]\nint[] faceVertexCounts = []\nint[] "
         "faceVertexIndices = [] }",
         "finite"},
        {"def Mesh \"a\" { point3f[] points = [(0,0,0)]\nint[] faceVertexCounts = [9]\nint[] "
         "faceVertexIndices = [0, 0, 0] }",
         "corners"},
        {"def Mesh \"a\" { float4 xformOp:rotateXYZ = (1, 2, 3, 4)\nuniform token[] xformOpOrder = "
         "[\"xformOp:rotateXYZ\"]\n" CUBE " }",
         "rotateXYZ"},
    };
    for (size_t i = 0; i < FIRN_COUNT(meshes); i++) {
        firn_usd_scene *scene = NULL;
        firn_usd_mesh mesh;
        firn_error error = {0};
        assert_int_equal(open_text(f, meshes[i].text, &scene, &error), FIRN_OK);
        assert_int_equal(firn_usd_read_world_mesh(scene, "", 0.0, &mesh, &error), FIRN_ERR_FORMAT);
        assert_non_null(strstr(error.message, "/a"));
        if (strstr(error.message, meshes[i].word) == NULL)
            fail_msg("%s", error.message);
        firn_usd_scene_close(scene);
    }
}

static int allocations_left;

static void *refuse_later(size_t size, size_t alignment, void *context)
{
    (void)context;
    size_t whole = (size + alignment - 1) / alignment * alignment;
    return allocations_left-- > 0 ? aligned_alloc(alignment, whole) : NULL;
}

static void plain_free(void *memory, void *context)
{
    (void)context;
    free(memory);
}

static void memory_that_runs_out_is_an_answer(void **state)
{
    (void)state;
    static const char *const names[] = {"shot.usda", "skelref.usda"};
    for (size_t k = 0; k < FIRN_COUNT(names); k++) {
        char path[512];
        snprintf(path, sizeof path, FIRN_FIXTURES "/usd/%s", names[k]);
        bool done = false;
        for (int limit = 0; !done; limit += limit < 60 ? 1 : 17) {
            firn_usd_scene *scene = NULL;
            firn_usd_mesh mesh;
            firn_allocator allocator = {refuse_later, plain_free, NULL};
            allocations_left = limit;
            firn_set_allocator(&allocator);
            if (firn_usd_scene_open(path, &scene, NULL) == FIRN_OK)
                done = firn_usd_read_world_mesh(scene, "", 0.3, &mesh, NULL) == FIRN_OK;
            if (done)
                firn_usd_mesh_free(&mesh);
            firn_usd_scene_close(scene);
            firn_set_allocator(NULL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes_are_where_the_official_library_has_them),
        cmocka_unit_test_setup_teardown(faces_look_outward_however_they_are_stored, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_mesh_that_says_nothing_is_a_subdivision_surface, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(patterns_choose_meshes_and_subsets_of_faces, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(times_are_seconds_whatever_a_code_counts, set_up,
                                        tear_down),
        cmocka_unit_test(points_come_with_their_columns),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_named, set_up, tear_down),
        cmocka_unit_test(memory_that_runs_out_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
