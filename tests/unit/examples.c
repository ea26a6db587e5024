/// Every example shot is valid and moves; their checked-in files are what their makers write.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph_fixture.h"

#include "firn/graph.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static firn_graph *load(const char *name)
{
    char path[FIRN_PATH_SIZE];
    firn_graph *graph = NULL;
    firn_error error = {0};
    snprintf(path, sizeof path, FIRN_SCENES "/%.500s", name);
    if (firn_graph_load(path, &graph, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return graph;
}

static void check_example(const char *name)
{
    firn_graph *graph = load(name);
    firn_error error = {0};
    const firn_problem *problems = NULL;
    size_t count = 0;
    if (firn_graph_validate(graph, &problems, &count, &error) != FIRN_OK)
        fail_msg("%s: %s", name, error.message);
    assert_true(firn_graph_shot(graph)->comment[0] != '\0');
    assert_int_equal(firn_graph_shot(graph)->quality, FIRN_QUALITY_PREVIEW);
    firn_graph_destroy(graph);
}

static void cook_example(const char *name)
{
    firn_graph *graph = load(name);
    firn_error error = {0};
    double cell[3];
    const firn_data *data = NULL;
    assert_int_equal(firn_graph_get(graph, "solver", "cell_size", 1.0, cell, &error), FIRN_OK);
    cell[0] *= 2.0;
    assert_int_equal(firn_graph_set(graph, "solver", "cell_size", cell, &error), FIRN_OK);
    if (firn_graph_cook(graph, "solver", 2, &data, &error) != FIRN_OK)
        fail_msg("%s: %s", name, error.message);
    const firn_points *points = &data->particles->points;
    const firn_attribute *position = firn_points_find(points, "P");
    assert_true(points->count > 200);
    for (int axis = 0; axis < 3; axis++)
        assert_int_equal(firn_attribute_range(position, points->count, axis).not_finite, 0);
    // One frame is not enough for snow to leave the ground or the scene.
    assert_true(firn_attribute_range(position, points->count, 1).upper < 8.0);
    firn_graph_destroy(graph);
}

static size_t for_each_example(void (*visit)(const char *name))
{
    size_t count = 0;
    DIR *folder = opendir(FIRN_SCENES);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".firn") == 0) {
            visit(entry->d_name);
            count++;
        }
    }
    closedir(folder);
    return count;
}

static void every_example_is_valid_and_says_what_it_is(void **state)
{
    (void)state;
    assert_true(for_each_example(check_example) >= 15);
}

static void every_example_cooks_its_first_frames(void **state)
{
    (void)state;
    for_each_example(cook_example);
}

static firn_vec3 *cook_positions(firn_graph *graph, int frame, size_t *count)
{
    firn_error error = {0};
    const firn_data *data = NULL;
    if (firn_graph_cook(graph, "solver", frame, &data, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    const firn_points *points = &data->particles->points;
    firn_vec3 *copy = firn_alloc(points->count * sizeof *copy);
    memcpy(copy, firn_points_find(points, "P")->data, points->count * sizeof *copy);
    *count = points->count;
    return copy;
}

// The level sets that `firn collider` writes are those that the mesh becomes in a cook.
static void the_character_leaves_the_same_snow_as_mesh_and_as_level_sets(void **state)
{
    (void)state;
    enum { FRAME = 4 };
    firn_vec3 *snow[2];
    size_t count[2];
    firn_graph *graph = load("walking_character.firn");
    assert_int_equal(firn_graph_set_text(graph, "solver.cell_size=0.08", NULL), FIRN_OK);
    snow[0] = cook_positions(graph, FRAME, &count[0]);
    char here[FIRN_PATH_SIZE], folder[64], words[3 * FIRN_PATH_SIZE], file[2 * FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    snprintf(words, sizeof words,
             FIRN_PROGRAM " collider " FIRN_SCENES "/walking_character.firn character "
                          "--frames 1-4 -o '%s/walker.$F4.vdb' > /dev/null",
             folder);
    assert_int_equal(system(words), 0);
    assert_non_null(getcwd(here, sizeof here));
    snprintf(file, sizeof file, "character.file=%s/%s/walker.$F4.vdb", here, folder);
    assert_int_equal(firn_graph_set_text(graph, "character.shape=level_set", NULL), FIRN_OK);
    assert_int_equal(firn_graph_set_text(graph, file, NULL), FIRN_OK);
    assert_int_equal(firn_graph_set_text(graph, "last=4", NULL), FIRN_OK);
    snow[1] = cook_positions(graph, FRAME, &count[1]);
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(snow[0], snow[1], count[0] * sizeof(firn_vec3));
    for (int i = 0; i < 2; i++)
        firn_free(snow[i]);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void the_character_is_what_its_program_writes(void **state)
{
    (void)state;
    void *bytes[2] = {NULL, NULL};
    size_t size[2];
    char folder[64], path[128], words[FIRN_PATH_SIZE + 128];
    fixture_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/walker.abc", folder);
    snprintf(words, sizeof words, FIRN_MAKE_WALKER " %s", path);
    assert_int_equal(system(words), 0);
    assert_int_equal(firn_file_read(path, 1 << 20, &bytes[0], &size[0], NULL), FIRN_OK);
    assert_int_equal(firn_file_read(FIRN_SCENES "/walker.abc", 1 << 20, &bytes[1], &size[1], NULL),
                     FIRN_OK);
    // Sines differ in the last bits between machines, the layout does not.
    assert_int_equal(size[0], size[1]);
    firn_free(bytes[0]);
    firn_free(bytes[1]);
    fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_is_valid_and_says_what_it_is),
        cmocka_unit_test(every_example_cooks_its_first_frames),
        cmocka_unit_test(the_character_leaves_the_same_snow_as_mesh_and_as_level_sets),
        cmocka_unit_test(the_character_is_what_its_program_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
