#define _POSIX_C_SOURCE 200809L
#include "graph_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void a_scene_survives_saving_and_loading(void **state)
{
    (void)state;
    char *scene = fixture_scene_with(
        "{\"type\": \"collider\"}",
        "{\"type\": \"collider\", \"comment\": \"moves\", \"ui\": {\"at\": [1, 2]}, \"params\":\n"
        "{\"friction\": 0.3, \"active_to\": 0.1234567890123456789, \"contact\": \"sticky\",\n"
        " \"translation\": {\"keys\": [[1, [0, 0, 0]], [4.5, [0, 0.1, 0]]], \"interpolation\":\n"
        " \"smooth\"}, \"scale\": {\"from\": 1, \"values\": [1, 2, 3]}},\n"
        " \"final\": {\"friction\": 0.7}}");
    firn_graph *graph = fixture_load(scene, ".");
    char *first = NULL, *second = NULL;
    assert_int_equal(firn_graph_print(graph, false, &first, NULL), FIRN_OK);
    firn_graph *again = fixture_load(first, ".");
    assert_int_equal(firn_graph_print(again, false, &second, NULL), FIRN_OK);
    assert_string_equal(first, second);
    assert_true(firn_graph_hash(graph, NULL) == firn_graph_hash(again, NULL));
    assert_non_null(strstr(first, "\"friction\": 0.3"));
    assert_string_equal(firn_graph_ui(again, "ground"), "{\"at\":[1,2]}");
    size_t count = 0;
    firn_interpolation interpolation;
    assert_non_null(firn_graph_keys(again, "ground", "scale", &count, &interpolation));
    assert_int_equal(count, 3);
    firn_free(first);
    firn_free(second);
    firn_free(scene);
    firn_graph_destroy(graph);
    firn_graph_destroy(again);
}

static void mistakes_have_line_node_and_hint(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"\"radius\"", "\"radios\"",
         "test.firn:11: ball (snow_source) has no parameter 'radios'; did you mean 'radius'?"},
        {"\"fps\"", "\"fsp\"", "test.firn:4: the scene has no key 'fsp'; did you mean 'fps'?"},
        {"0.15", "-1", "test.firn:11: ball.radius is -1 m; it must be between 1e-05 and 100000 m"},
        {"\"collider\"", "\"colider\"",
         "test.firn:14: ground: there is no node type 'colider'; did you mean 'collider'?"},
        {"[\"ground\"]", "[\"grund\"]",
         "test.firn:18: solver.colliders: there is no node 'grund'; did you mean 'ground'?"},
        {"\"sources\"", "\"source\"",
         "test.firn:18: solver has no input 'source'; did you mean 'sources'?"},
        {"\"packing\"", "\"pack\"",
         "test.firn:8: snow.preset is 'pack'; it must be paper, powder, packing, wet, icy, muddy, "
         "snowball, fresh, jelly, sand, water, mud, slush, chocolate, honey or ice"},
        {"\"cell_size\": 0.05", "\"cell_size\": [1, 2, 3]",
         "test.firn:17: solver.cell_size must be a number"},
        {"[0, 0.2, 0]", "0.2", "test.firn:11: ball.center must be a list of three numbers"},
        {"\"firn\": 1", "\"firn\": 2",
         "test.firn:2: the scene has version 2; this Firn reads version 1"},
        {"\"firn\": 1", "\"fern\": 1",
         "test.firn:1: this is not a Firn scene: it does not begin with {\"firn\": 1"},
        {"[1, 6]", "[1]", "test.firn:5: frames must be a list of the first and the last frame"},
        {"\"params\": {\"format\"", "\"parms\": {\"format\"",
         "test.firn:22: the node 'points' has no key 'parms'; did you mean 'params'?"},
        {"\"cell_size\": 0.05", "\"cell_size\": {\"keys\": [[1, 2]]}",
         "test.firn:17: solver.cell_size cannot be animated: the whole simulation is built on its "
         "value; of a solver these can: gravity flip_ratio dt_min dt_max cfl wave_cfl tolerance "
         "max_iterations speed_limit"},
        {"\"format\": \"bgeo\"", "\"name\": {\"keys\": [[1, 2]]}",
         "test.firn:22: points.name cannot be animated: it is a text; a path may have a frame "
         "number"},
        {"\"format\": \"bgeo\"", "\"format\": {\"keys\": [[1, 2]]}",
         "test.firn:22: points.format cannot be animated: a write_particles works in the same way "
         "in every frame"},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        char *text = fixture_scene_with(cases[i].from, cases[i].to);
        firn_graph *graph = NULL;
        firn_error error = {0};
        assert_int_not_equal(
            firn_graph_load_memory(text, strlen(text), "test.firn", ".", &graph, &error), FIRN_OK);
        assert_null(graph);
        assert_string_equal(error.message, cases[i].message);
        firn_free(text);
    }
}

static void broken_json_has_its_line(void **state)
{
    (void)state;
    char *text = fixture_scene_with("\"fps\": 24,", "\"fps\": 24");
    firn_graph *graph = NULL;
    firn_error error = {0};
    assert_int_equal(firn_graph_load_memory(text, strlen(text), "test.firn", ".", &graph, &error),
                     FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "test.firn:5: this is not JSON"));
    firn_free(text);
    text = fixture_scene_with("\"fps\": 24,", "\"fps\": 24, \"fps\": 25,");
    assert_int_equal(firn_graph_load_memory(text, strlen(text), "test.firn", ".", &graph, &error),
                     FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "duplicate object key"));
    firn_free(text);
}

static void every_cut_scene_is_refused(void **state)
{
    (void)state;
    size_t size = strlen(fixture_scene);
    for (size_t cut = 0; cut + 2 < size; cut += 7) {
        firn_graph *graph = NULL;
        firn_error error;
        assert_int_equal(firn_graph_load_memory(fixture_scene, cut, "cut", ".", &graph, &error),
                         FIRN_ERR_FORMAT);
        assert_null(graph);
    }
}

static void paths_know_variables_and_the_scene_folder(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, "/shots/seq");
    firn_error error = {0};
    char path[FIRN_PATH_SIZE];
    static const struct {
        const char *text, *path;
    } cases[] = {
        {"mesh.obj", "/shots/seq/mesh.obj"},
        {"/a/b.$F4.vdb", "/a/b.$F4.vdb"},
        {"$FIRN_TEST_SHOW/x.####.vdb", "/show/x.####.vdb"},
        {"${FIRN_TEST_SHOW}_2/x", "/show_2/x"},
    };
    setenv("FIRN_TEST_SHOW", "/show", 1);
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        assert_int_equal(
            firn_graph_set_param(graph, "ball", "file", cases[i].text, FIRN_LAYER_ALWAYS, &error),
            FIRN_OK);
        assert_int_equal(firn_graph_get_path(graph, "ball", "file", path, sizeof path, &error),
                         FIRN_OK);
        assert_string_equal(path, cases[i].path);
    }
    unsetenv("FIRN_TEST_SHOW");
    assert_int_equal(firn_graph_get_path(graph, "ball", "file", path, sizeof path, &error),
                     FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "'FIRN_TEST_SHOW'"));
    firn_graph_destroy(graph);
}

static void a_scene_without_a_name_is_called_like_its_file(void **state)
{
    (void)state;
    char folder[64], path[128];
    fixture_folder(folder, sizeof folder);
    char *text = fixture_scene_with("\"name\": \"drop\",", "");
    firn_graph *graph = fixture_load(text, ".");
    snprintf(path, sizeof path, "%s/avalanche.firn", folder);
    firn_file_writer *file = NULL;
    assert_int_equal(firn_file_create(path, &file, NULL), FIRN_OK);
    firn_file_write(file, text, strlen(text));
    assert_int_equal(firn_file_commit(file, NULL), FIRN_OK);
    firn_graph_destroy(graph);
    assert_int_equal(firn_graph_load(path, &graph, NULL), FIRN_OK);
    assert_string_equal(firn_graph_shot(graph)->name, "avalanche");
    firn_graph_destroy(graph);
    firn_free(text);
    fixture_remove(folder);
}

/// An allocator that fails at the n-th request.
typedef struct failing {
    int left;
} failing;

static void *allocate(size_t bytes, size_t alignment, void *user)
{
    failing *f = user;
    if (f->left-- == 0)
        return NULL;
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    return aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
}

static void release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static void every_failed_allocation_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    failing f;
    firn_allocator allocator = {allocate, release, &f};
    firn_set_allocator(&allocator);
    firn_result result = FIRN_ERR_MEMORY;
    for (int n = 0; result != FIRN_OK && n < 2000; n++) {
        firn_graph *graph = NULL;
        firn_error error;
        f.left = n;
        result = firn_graph_load_memory(fixture_scene, strlen(fixture_scene), "test.firn", ".",
                                        &graph, &error);
        if (result != FIRN_OK)
            assert_int_equal(result, FIRN_ERR_MEMORY);
        f.left = 1 << 30;
        firn_graph_destroy(graph);
    }
    firn_set_allocator(NULL);
    assert_int_equal(result, FIRN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scene_survives_saving_and_loading),
        cmocka_unit_test(mistakes_have_line_node_and_hint),
        cmocka_unit_test(broken_json_has_its_line),
        cmocka_unit_test(every_cut_scene_is_refused),
        cmocka_unit_test(paths_know_variables_and_the_scene_folder),
        cmocka_unit_test(a_scene_without_a_name_is_called_like_its_file),
        cmocka_unit_test(every_failed_allocation_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
