#include "firn/graph.h"

#include "graph_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

static const firn_data *cooked(firn_graph *graph, const char *node, int frame)
{
    const firn_data *data = NULL;
    firn_error error = {0};
    if (firn_graph_cook(graph, node, frame, &data, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return data;
}

static double mean_height(const firn_data *data)
{
    const firn_points *points = &data->particles->points;
    const firn_vec3 *position = firn_points_find(points, "P")->data;
    double sum = 0.0;
    for (size_t i = 0; i < points->count; i++)
        sum += (double)position[i].y;
    return sum / (double)points->count;
}

static void a_frame_cooks_from_a_scene(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    const firn_data *data = cooked(graph, "solver", 1);
    assert_true(data->particles->points.count > 100);
    double start = mean_height(data);
    assert_float_equal(start, 0.2, 0.01);
    assert_true(mean_height(cooked(graph, "solver", 2)) < start - 0.05);
    firn_graph_destroy(graph);
}

static void only_what_changed_is_cooked_again(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    cooked(graph, "solver", 3);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 3);
    assert_int_equal(firn_graph_cook_count(graph, "ball"), 1);
    cooked(graph, "solver", 3);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 3);
    cooked(graph, "solver", 4);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 4);

    firn_error error;
    assert_int_equal(firn_graph_set_text(graph, "solver.thread_count=2", &error), FIRN_OK);
    cooked(graph, "solver", 4);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 4); // the result is the same
    assert_int_equal(firn_graph_set_text(graph, "snow.young_modulus=2e5", &error), FIRN_OK);
    cooked(graph, "solver", 2);
    assert_int_equal(firn_graph_cook_count(graph, "snow"), 2);
    assert_int_equal(firn_graph_cook_count(graph, "ball"), 2);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 6);
    cooked(graph, "solver", 1); // earlier: from the beginning
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 7);
    firn_graph_destroy(graph);
}

static void the_same_frame_has_the_same_bits_however_it_is_reached(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    const firn_points *points = &cooked(graph, "solver", 3)->particles->points;
    size_t bytes = points->count * sizeof(firn_vec3);
    uint64_t once = firn_hash64(firn_points_find(points, "P")->data, bytes, 0);
    cooked(graph, "solver", 5);
    points = &cooked(graph, "solver", 3)->particles->points;
    assert_true(firn_hash64(firn_points_find(points, "P")->data, bytes, 0) == once);
    firn_graph_destroy(graph);
}

static void presets_give_way_to_what_is_set(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    double values[3];
    firn_error error;
    assert_int_equal(firn_graph_set_text(graph, "snow.preset=icy", &error), FIRN_OK);
    assert_int_equal(firn_graph_get(graph, "snow", "hardening", 1, values, &error), FIRN_OK);
    assert_float_equal(values[0], 15.0, 1e-6);
    assert_int_equal(firn_graph_set_text(graph, "snow.hardening=7", &error), FIRN_OK);
    assert_int_equal(firn_graph_get(graph, "snow", "hardening", 1, values, &error), FIRN_OK);
    assert_float_equal(values[0], 7.0, 1e-6);
    assert_int_equal(firn_graph_reset(graph, "snow", "hardening", &error), FIRN_OK);
    assert_int_equal(firn_graph_get(graph, "snow", "hardening", 1, values, &error), FIRN_OK);
    assert_float_equal(values[0], 15.0, 1e-6);
    firn_graph_destroy(graph);
}

static void preset_choices_are_the_presets_of_the_material(void **state)
{
    (void)state;
    firn_graph *graph = NULL;
    assert_int_equal(firn_graph_create(&graph, NULL), FIRN_OK);
    const firn_node_info *type = firn_graph_type_find(graph, "material");
    const firn_param *preset = firn_params_find(type->params, "preset");
    char name[64];
    int index = 0;
    for (; firn_param_choice(preset, index, name, sizeof name); index++)
        assert_string_equal(firn_material_presets(index)->name, name);
    assert_null(firn_material_presets(index));
    firn_graph_destroy(graph);
}

static void keys_are_interpolated(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    const firn_key keys[] = {{1, {0, 0, 0}}, {5, {0, 4, 0}}, {7, {0, 4, 0}}};
    static const double expected[3][2] = {{0.0, 4.0}, {2.0, 4.0}, {2.0, 4.0}}; // at 3 and 6
    firn_error error;
    for (int i = 0; i < 3; i++) {
        double values[3];
        assert_int_equal(firn_graph_set_keys(graph, "ground", "translation", keys, 3,
                                             (firn_interpolation)i, FIRN_LAYER_ALWAYS, &error),
                         FIRN_OK);
        for (int f = 0; f < 2; f++) {
            double frame = f == 0 ? 3.0 : 6.0;
            assert_int_equal(firn_graph_get(graph, "ground", "translation", frame, values, &error),
                             FIRN_OK);
            // Smooth: half way between a rest and a rest, to the middle by symmetry.
            assert_float_equal(values[1], expected[i][f], 1e-6);
        }
        firn_graph_get(graph, "ground", "translation", -3.0, values, &error);
        assert_float_equal(values[1], 0.0, 1e-6);
        firn_graph_get(graph, "ground", "translation", 99.0, values, &error);
        assert_float_equal(values[1], 4.0, 1e-6);
    }
    firn_graph_destroy(graph);
}

static void a_rising_ground_lifts_the_snow(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    double still = mean_height(cooked(graph, "solver", 6));
    const firn_key keys[] = {{1, {0, 0, 0}}, {6, {0, 0.3, 0}}};
    assert_int_equal(firn_graph_set_keys(graph, "ground", "translation", keys, 2,
                                         FIRN_INTERPOLATION_LINEAR, FIRN_LAYER_ALWAYS, NULL),
                     FIRN_OK);
    assert_true(mean_height(cooked(graph, "solver", 6)) > still + 0.15);
    firn_graph_destroy(graph);
}

static void what_cannot_move_refuses_keys(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    const firn_key keys[] = {{1, {0, 0, 0}}, {1, {0, 0.3, 0}}};
    firn_error error;
    assert_int_equal(firn_graph_set_keys(graph, "solver", "cell_size", keys, 1,
                                         FIRN_INTERPOLATION_LINEAR, FIRN_LAYER_ALWAYS, &error),
                     FIRN_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "of a solver these can: gravity"));
    assert_int_equal(firn_graph_set_keys(graph, "ground", "scale", keys, 1,
                                         FIRN_INTERPOLATION_LINEAR, FIRN_LAYER_ALWAYS, &error),
                     FIRN_ERR_ARGUMENT); // a scale of zero
    assert_int_equal(firn_graph_set_keys(graph, "ground", "translation", keys, 2,
                                         FIRN_INTERPOLATION_LINEAR, FIRN_LAYER_ALWAYS, &error),
                     FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "frames of keys must rise"));
    firn_graph_destroy(graph);
}

static void final_values_count_in_final_quality_only(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    firn_error error;
    double values[3];
    assert_int_equal(
        firn_graph_set_param(graph, "solver", "cell_size", "0.01", FIRN_LAYER_FINAL, &error),
        FIRN_OK);
    firn_graph_get(graph, "solver", "cell_size", 1, values, &error);
    assert_float_equal(values[0], 0.05, 1e-6);
    assert_int_equal(firn_graph_set_text(graph, "quality=final", &error), FIRN_OK);
    firn_graph_get(graph, "solver", "cell_size", 1, values, &error);
    assert_float_equal(values[0], 0.01, 1e-6);
    assert_int_equal(firn_graph_set_text(graph, "solver.cell_size=0.03", &error), FIRN_OK);
    firn_graph_get(graph, "solver", "cell_size", 1, values, &error);
    assert_float_equal(values[0], 0.03, 1e-6); // the last word
    firn_graph_destroy(graph);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    firn_error error;
    static const struct {
        const char *assignment, *message;
    } cases[] = {
        {"solver.cel_size=1",
         "solver (solver) has no parameter 'cel_size'; did you mean 'cell_size'?"},
        {"solvr.cell_size=1", "there is no node 'solvr'; did you mean 'solver'?"},
        {"solver.cell_size=2", "solver.cell_size is 2 m; it must be between 0.0001 and 1 m"},
        {"solver.kernel=linear", "solver.kernel is 'linear'; it must be quadratic or cubic"},
        {"fsp=2", "the graph has no setting 'fsp'; did you mean 'fps'?"},
        {"solver", "'solver' sets nothing; write node.parameter=value"},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        assert_int_not_equal(firn_graph_set_text(graph, cases[i].assignment, &error), FIRN_OK);
        assert_string_equal(error.message, cases[i].message);
    }
    assert_int_equal(firn_graph_add(graph, "colider", "x", &error), FIRN_ERR_NOT_FOUND);
    assert_string_equal(error.message, "there is no node type 'colider'; did you mean 'collider'?");
    assert_int_equal(firn_graph_add(graph, "solver", "solver", &error), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_graph_add(graph, "solver", "7 x", &error), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_graph_link(graph, "ground", "solver", "sources", &error),
                     FIRN_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "solver.sources takes a source, but ground makes a collider");
    const firn_data *data = NULL;
    assert_int_equal(firn_graph_cook(graph, "solver", 0, &data, &error), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_graph_cook(graph, "points", 1, &data, &error), FIRN_ERR_UNSUPPORTED);
    firn_graph_destroy(graph);
}

static void validation_lists_every_problem(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    firn_error error;
    const firn_problem *problems = NULL;
    size_t count = 0;
    assert_int_equal(firn_graph_validate(graph, &problems, &count, &error), FIRN_OK);
    assert_int_equal(count, 0);
    assert_int_equal(firn_graph_unlink(graph, "ball", "solver", NULL, &error), FIRN_OK);
    assert_int_equal(firn_graph_set_text(graph, "ground.shape=mesh", &error), FIRN_OK);
    assert_int_equal(firn_graph_set_text(graph, "ball.region=mesh", &error), FIRN_OK);
    assert_int_equal(firn_graph_set_text(graph, "ball.file=no_such.obj", &error), FIRN_OK);
    assert_int_not_equal(firn_graph_validate(graph, &problems, &count, &error), FIRN_OK);
    static const char *const sentences[] = {
        "ball.file: there is no file 'no_such.obj'",
        "ground.file is empty; it must name the mesh or level set",
        "solver (solver) needs a source at its input 'sources'",
        "ball is not linked to anything and has no effect",
    };
    assert_int_equal(count, FIRN_COUNT(sentences));
    for (size_t i = 0; i < count; i++)
        assert_string_equal(problems[i].message, sentences[i]);
    firn_graph_destroy(graph);
}

static void removed_nodes_take_their_links_along(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    firn_error error;
    cooked(graph, "solver", 2);
    assert_int_equal(firn_graph_rename(graph, "ground", "floor", &error), FIRN_OK);
    assert_string_equal(firn_graph_input(graph, "solver", "colliders", 0), "floor");
    cooked(graph, "solver", 2);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 2); // names do not matter
    assert_int_equal(firn_graph_remove(graph, "floor", &error), FIRN_OK);
    assert_null(firn_graph_input(graph, "solver", "colliders", 0));
    assert_true(mean_height(cooked(graph, "solver", 6)) < -0.2);
    firn_graph_destroy(graph);
}

static firn_answer stop_at_frame_3(const firn_report *report, void *user)
{
    (void)user;
    return report->frame >= 3 && report->fraction > 0.0 ? FIRN_STOP : FIRN_CONTINUE;
}

static void a_host_may_stop_a_cook(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    firn_host host = {.progress = stop_at_frame_3};
    firn_graph_set_host(graph, &host);
    const firn_data *data = NULL;
    firn_error error;
    assert_int_equal(firn_graph_cook(graph, "solver", 5, &data, &error), FIRN_ERR_CANCELLED);
    firn_graph_set_host(graph, NULL);
    assert_non_null(cooked(graph, "solver", 3)->particles);
    firn_graph_destroy(graph);
}

static void every_type_describes_itself_as_json(void **state)
{
    (void)state;
    firn_graph *graph = NULL;
    firn_error error;
    assert_int_equal(firn_graph_create(&graph, &error), FIRN_OK);
    char *all = NULL, *one = NULL;
    assert_int_equal(firn_graph_describe(graph, NULL, &all, &error), FIRN_OK);
    json_t *tables = json_loads(all, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(tables, "version")), firn_version());
    json_t *nodes = json_object_get(tables, "nodes");
    for (size_t i = 0; firn_graph_type(graph, i) != NULL; i++) {
        const firn_node_info *info = firn_graph_type(graph, i);
        assert_int_equal(firn_graph_describe(graph, info->name, &one, &error), FIRN_OK);
        json_t *type = json_loads(one, 0, NULL);
        assert_true(json_equal(type, json_array_get(nodes, i)));
        json_t *params = json_object_get(type, "params");
        assert_int_equal(json_array_size(params), info->params.count);
        for (size_t k = 0; k < info->params.count; k++) {
            json_t *row = json_array_get(params, k);
            assert_string_equal(json_string_value(json_object_get(row, "name")),
                                info->params.params[k].name);
            assert_non_null(json_object_get(row, "default"));
        }
        json_decref(type);
        firn_free(one);
    }
    assert_int_equal(firn_graph_describe(graph, "snow_sauce", &one, &error), FIRN_ERR_NOT_FOUND);
    json_decref(tables);
    firn_free(all);
    firn_graph_destroy(graph);
}

static void the_node_that_failed_is_known(void **state)
{
    (void)state;
    firn_graph *graph = fixture_load(fixture_scene, ".");
    firn_error error;
    const firn_data *data = NULL;
    assert_string_equal(firn_graph_failed_node(graph), "");
    assert_int_equal(firn_graph_set_text(graph, "ground.shape=mesh", &error), FIRN_OK);
    assert_int_equal(firn_graph_set_text(graph, "ground.file=" __FILE__, &error), FIRN_OK);
    assert_int_not_equal(firn_graph_cook(graph, "solver", 1, &data, &error), FIRN_OK);
    assert_string_equal(firn_graph_failed_node(graph), "ground");
    assert_int_equal(firn_graph_set_text(graph, "ground.shape=plane", &error), FIRN_OK);
    cooked(graph, "solver", 1);
    assert_string_equal(firn_graph_failed_node(graph), "");
    firn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_cooks_from_a_scene),
        cmocka_unit_test(only_what_changed_is_cooked_again),
        cmocka_unit_test(the_same_frame_has_the_same_bits_however_it_is_reached),
        cmocka_unit_test(presets_give_way_to_what_is_set),
        cmocka_unit_test(preset_choices_are_the_presets_of_the_material),
        cmocka_unit_test(keys_are_interpolated),
        cmocka_unit_test(a_rising_ground_lifts_the_snow),
        cmocka_unit_test(what_cannot_move_refuses_keys),
        cmocka_unit_test(final_values_count_in_final_quality_only),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(validation_lists_every_problem),
        cmocka_unit_test(removed_nodes_take_their_links_along),
        cmocka_unit_test(a_host_may_stop_a_cook),
        cmocka_unit_test(every_type_describes_itself_as_json),
        cmocka_unit_test(the_node_that_failed_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
