// An archive of another program: limit surfaces, face sets, cameras, units, and what is not used.
#define _XOPEN_SOURCE 700
#include "mesh_file.h"
#include "placement.h"

#include "firn/abc_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SCENE FIRN_FIXTURES "/alembic/studio_scene.abc"

static firn_mesh read_scene(const char *object, int level, double frame)
{
    firn_mesh_file file = {.subd = {level, 0.05f}};
    firn_mesh mesh = {0};
    firn_error error = {0};
    firn_result result = firn_mesh_file_open(&file, SCENE, object, &error);
    if (result == FIRN_OK)
        result = firn_mesh_file_read(&file, object, frame / 24.0, &mesh, &error);
    if (result != FIRN_OK)
        print_error("%s\n", error.message);
    assert_int_equal(result, FIRN_OK);
    firn_mesh_file_close(&file);
    return mesh;
}

static void the_limit_surface_is_that_of_the_other_program(void **state)
{
    (void)state;
    json_t *json = json_load_file(FIRN_FIXTURES "/alembic/studio_scene_limit.json", 0, NULL);
    json_t *points = json_object_get(json, "points"), *point;
    size_t index;
    firn_mesh mesh = read_scene("", 2, 3.0);
    assert_int_equal(mesh.vertex_count, json_array_size(points));
    assert_int_equal(mesh.face_count, 96);
    json_array_foreach(points, index, point)
    {
        firn_vec3 there = {(float)json_number_value(json_array_get(point, 0)),
                           (float)json_number_value(json_array_get(point, 1)),
                           (float)json_number_value(json_array_get(point, 2))};
        float nearest = 1.0f;
        for (size_t i = 0; i < mesh.vertex_count; i++)
            nearest = fminf(nearest, firn_length(firn_sub(there, mesh.position[i])));
        assert_true(nearest < 2e-5f);
    }
    firn_mesh_free(&mesh);
    json_decref(json);
}

static void its_velocity_is_that_of_its_transform(void **state)
{
    (void)state;
    firn_mesh mesh = read_scene("", 1, 3.0);
    for (size_t i = 0; i < mesh.vertex_count; i++)
        assert_true(firn_length(firn_sub(mesh.velocity[i], firn_vec(2.4f, 0, 0))) < 1e-3f);
    firn_mesh_free(&mesh);
}

static void the_level_follows_the_voxels_unless_it_is_given(void **state)
{
    (void)state;
    firn_mesh cage = read_scene("", 0, 1.0), chosen = read_scene("", -1, 1.0);
    assert_int_equal(cage.face_count, 6);
    assert_int_equal(cage.vertex_count, 8);
    float longest = 0.0f;
    for (size_t f = 0; f < chosen.face_count; f++)
        for (int k = 0; k < 4; k++) {
            firn_vec3 a = chosen.position[chosen.corner[4 * f + (size_t)k]];
            firn_vec3 b = chosen.position[chosen.corner[4 * f + (size_t)((k + 1) % 4)]];
            longest = fmaxf(longest, firn_length(firn_sub(a, b)));
        }
    assert_true(longest <= 0.05f);
    firn_mesh_free(&cage);
    firn_mesh_free(&chosen);
}

// The volume inside, signed by the way the corners run.
static double volume_of(const firn_mesh *mesh)
{
    double sum = 0.0;
    const int32_t *corner = mesh->corner;
    for (size_t f = 0; f < mesh->face_count; corner += mesh->face_size[f++])
        for (int32_t k = 2; k < mesh->face_size[f]; k++) {
            firn_vec3 a = mesh->position[corner[0]], b = mesh->position[corner[k - 1]];
            sum += (double)firn_dot(a, firn_cross(b, mesh->position[corner[k]])) / 6.0;
        }
    return sum;
}

static void corners_run_counter_clockwise(void **state)
{
    (void)state;
    firn_mesh cage = read_scene("", 0, 1.0), limit = read_scene("", 3, 1.0);
    assert_true(fabs(volume_of(&cage) - 8.0) < 1e-5);
    // It lies inside of its cage.
    assert_true(volume_of(&limit) > 2.0 && volume_of(&limit) < 8.0);
    firn_mesh_free(&cage);
    firn_mesh_free(&limit);
}

static void face_sets_are_selected_and_excluded_by_their_names(void **state)
{
    (void)state;
    for (int level = 0; level <= 2; level++) {
        firn_mesh all = read_scene("body", level, 1.0), boots = read_scene("boots", level, 1.0);
        firn_mesh rest = read_scene("body ^boots", level, 1.0);
        firn_mesh both = read_scene("boots skin", level, 1.0);
        assert_int_equal(boots.face_count, all.face_count / 6);
        assert_int_equal(rest.face_count, all.face_count - boots.face_count);
        assert_int_equal(both.face_count, all.face_count);
        // The boots are the face below.
        for (size_t i = 0; i < boots.corner_count; i++)
            assert_true(boots.position[boots.corner[i]].y < 0.6f);
        firn_mesh_free(&all);
        firn_mesh_free(&boots);
        firn_mesh_free(&rest);
        firn_mesh_free(&both);
    }
}

static void a_pattern_that_selects_nothing_is_refused(void **state)
{
    (void)state;
    firn_mesh_file file = {.subd = {-1, 0.05f}};
    firn_mesh mesh;
    firn_error error;
    assert_int_equal(firn_mesh_file_open(&file, SCENE, "hat", &error), FIRN_OK);
    assert_int_equal(firn_mesh_file_read(&file, "hat", 0.1, &mesh, &error), FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "hat"));
    firn_mesh_file_close(&file);
}

static void what_is_not_used_is_named(void **state)
{
    (void)state;
    firn_abc *archive = NULL;
    char text[400];
    assert_int_equal(firn_abc_open(SCENE, &archive, NULL), FIRN_OK);
    firn_abc_leftover(archive, "", text, sizeof text);
    assert_string_equal(text, "1 cameras (/lens/lens), 1 Curve (/hair/hair)");
    firn_abc_leftover(archive, "hat", text, sizeof text);
    assert_non_null(strstr(text, "1 meshes not selected (/body/Cube)"));
    firn_abc_leftover(archive, "boots", text, sizeof text);
    assert_null(strstr(text, "meshes"));
    for (size_t size = 1; size < 60; size++) {
        firn_abc_leftover(archive, "", text, size);
        assert_true(strlen(text) < size);
    }
    firn_abc_close(archive);
}

static void the_camera_is_read(void **state)
{
    (void)state;
    firn_abc *archive = NULL;
    firn_abc_camera camera;
    firn_abc_matrix place;
    assert_int_equal(firn_abc_open(SCENE, &archive, NULL), FIRN_OK);
    int object = firn_abc_object_find(archive, "/lens/lens");
    assert_int_equal(firn_abc_read_camera(archive, object, 0.1, &camera, NULL), FIRN_OK);
    assert_true(camera.focal_length == 35.0 && fabs(camera.aperture[0] - 3.6) < 1e-6);
    assert_int_equal(firn_abc_world_matrix(archive, object, 0.1, &place, NULL, NULL), FIRN_OK);
    // Blender's (0, -8, 2) with Z up.
    assert_true(fabs(place.m[13] - 2.0) < 1e-5 && fabs(place.m[14] - 8.0) < 1e-5);
    firn_error error;
    assert_int_not_equal(firn_abc_read_camera(archive, 0, 0.1, &camera, &error), FIRN_OK);
    firn_abc_close(archive);
}

static void recorded_units_and_axes_count_where_nothing_is_set(void **state)
{
    (void)state;
    firn_axes_def automatic, set = {0, 0}; // m and y
    firn_params_reset(firn_axes_params(), &automatic);
    static const struct {
        const char *metadata;
        float scale;
        bool turned;
    } cases[] = {
        {"", 1.0f, false},
        {"units=cm", 0.01f, false},
        {"a=b;units=Centimeters;upAxis=Z", 0.01f, true},
        {"metersPerUnit=0.01;up_axis=y", 0.01f, false},
        {"metersPerUnit=0.0254", 0.0254f, false},
        {"linearUnit=in", 0.0254f, false},
        {"units=furlong", 1.0f, false},
        {"metersPerUnit=nonsense;upAxis=z", 1.0f, true},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_axes_def found = firn_axes_recorded(&automatic, cases[i].metadata);
        firn_vec3 p = {1.0f, 2.0f, 3.0f};
        firn_axes_convert(&found, &p, 1);
        firn_vec3 expected = cases[i].turned ? firn_vec(1.0f, 3.0f, -2.0f) : firn_vec(1, 2, 3);
        assert_true(firn_length(firn_sub(p, firn_scale(cases[i].scale, expected))) < 1e-6f);
        found = firn_axes_recorded(&set, cases[i].metadata);
        assert_true(firn_axes_are_ours(&found));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_surface_is_that_of_the_other_program),
        cmocka_unit_test(its_velocity_is_that_of_its_transform),
        cmocka_unit_test(the_level_follows_the_voxels_unless_it_is_given),
        cmocka_unit_test(corners_run_counter_clockwise),
        cmocka_unit_test(face_sets_are_selected_and_excluded_by_their_names),
        cmocka_unit_test(a_pattern_that_selects_nothing_is_refused),
        cmocka_unit_test(what_is_not_used_is_named),
        cmocka_unit_test(the_camera_is_read),
        cmocka_unit_test(recorded_units_and_axes_count_where_nothing_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
