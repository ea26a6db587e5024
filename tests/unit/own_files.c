// Files of Firn's own caches: known again, verified, and complete in frames without snow.
#define _XOPEN_SOURCE 700
#include "graph_fixture.h"

#include "firn/bgeo.h"
#include "firn/node.h"
#include "firn/vdb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bake(const char *text, const char *folder)
{
    firn_graph *graph = fixture_load(text, folder);
    firn_bake_def def = firn_bake_def_default();
    firn_error error = {0};
    firn_result result = firn_graph_bake(graph, &def, &error);
    if (result != FIRN_OK)
        print_error("%s\n", error.message);
    assert_int_equal(result, FIRN_OK);
    firn_graph_destroy(graph);
}

static void flip_byte(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
}

static firn_result read_back(const char *folder, const char *type, const char *file,
                             firn_error *error)
{
    firn_graph *graph = NULL;
    const firn_data *data = NULL;
    assert_int_equal(firn_graph_create(&graph, NULL), FIRN_OK);
    assert_int_equal(firn_graph_add(graph, type, "in", NULL), FIRN_OK);
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.3000s/cache/drop/v1/%s", folder, file);
    assert_int_equal(firn_graph_set_param(graph, "in", "file", path, FIRN_LAYER_ALWAYS, NULL),
                     FIRN_OK);
    firn_result result = firn_graph_cook(graph, "in", 2, &data, error);
    firn_graph_destroy(graph);
    return result;
}

static const char *const formats[][3] = {
    {"bgeo", "drop_v1.$F4.bgeo", "\"format\": \"bgeo\""},
    {"bgeo", "drop_v1.$F4.bgeo", "\"format\": \"bgeo\", \"classic\": true"},
    {"vdb", "drop_v1.$F4.vdb", "\"format\": \"vdb\""},
    {"abc", "drop_v1.abc", "\"format\": \"abc\""},
};

static void a_changed_byte_in_a_frame_is_found_by_the_node(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(formats); i++) {
        char folder[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE], name[100];
        fixture_folder(folder, sizeof folder);
        char *text = fixture_scene_with("\"format\": \"bgeo\"", formats[i][2]);
        bake(text, folder);
        firn_free(text);
        firn_error error = {0};
        firn_result result = read_back(folder, "read_particles", formats[i][1], &error);
        if (result != FIRN_OK)
            print_error("%s\n", error.message);
        assert_int_equal(result, FIRN_OK);
        assert_int_equal(firn_path_of_frame(formats[i][1], 2, name, sizeof name, NULL), FIRN_OK);
        snprintf(path, sizeof path, "%.3000s/cache/drop/v1/%s", folder, name);
        uint64_t size, checksum;
        assert_true(firn_file_noted(path, &size, &checksum));
        flip_byte(path, (long)size - 100);
        assert_int_equal(read_back(folder, "read_particles", formats[i][1], &error),
                         FIRN_ERR_FORMAT);
        assert_non_null(strstr(error.message, "not as Firn wrote it"));
        assert_non_null(strstr(error.message, name));
        fixture_remove(folder);
    }
}

static void what_is_not_in_a_manifest_is_not_noted(void **state)
{
    (void)state;
    uint64_t size, checksum;
    assert_false(firn_file_noted("nowhere/a.vdb", &size, &checksum));
    assert_false(firn_file_noted("a.vdb", &size, &checksum));
    assert_false(firn_file_noted("/a.vdb", &size, &checksum));
}

static void classic_geometry_comes_out_of_a_cook(void **state)
{
    (void)state;
    char folder[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    char *text = fixture_scene_with("\"format\": \"bgeo\"", formats[1][2]);
    bake(text, folder);
    firn_free(text);
    snprintf(path, sizeof path, "%.3000s/cache/drop/v1/drop_v1.0002.bgeo", folder);
    firn_bgeo *geometry = NULL;
    assert_int_equal(firn_bgeo_read(path, NULL, &geometry, NULL), FIRN_OK);
    assert_int_equal(firn_bgeo_describe(geometry)->format, FIRN_BGEO_CLASSIC);
    const firn_points *points = firn_bgeo_points(geometry);
    assert_true(points->count > 100);
    assert_non_null(firn_points_find(points, "Jp"));
    firn_bgeo_destroy(geometry);
    fixture_remove(folder);
}

static void frames_without_snow_have_the_surface_too(void **state)
{
    (void)state;
    char folder[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    // The ball comes after the third frame.
    char *late = fixture_scene_with("\"radius\": 0.15,", "\"radius\": 0.15, \"start\": 0.1,");
    const char *old_text =
        "\"points\": {\n      \"type\": \"write_particles\",\n      \"params\": "
        "{\"format\": \"bgeo\"},\n      \"inputs\": {\"particles\": \"solver\"}\n"
        "    }";
    const char *new_text =
        "\"volume\": {\"type\": \"rasterize\", \"params\": {\"surface\": true, \"voxel_size\": "
        "0.03}, \"inputs\": {\"particles\": \"solver\"}}, \"out\": {\"type\": \"write_volume\", "
        "\"inputs\": {\"volume\": \"volume\"}}";
    char *at = strstr(late, old_text);
    assert_non_null(at);
    char text[6000];
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - late), late, new_text,
             at + strlen(old_text));
    firn_free(late);
    bake(text, folder);
    firn_vdb_reader_def settings = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    assert_int_equal(firn_vdb_reader_create(&settings, &reader, NULL), FIRN_OK);
    for (int frame = 1; frame <= 6; frame++) {
        firn_vdb_listing *listing = NULL;
        snprintf(path, sizeof path, "%.3000s/cache/drop/v1/drop_v1.%04d.vdb", folder, frame);
        assert_int_equal(firn_vdb_list(reader, path, NULL, &listing, NULL), FIRN_OK);
        firn_vdb_listing_view view = firn_vdb_listing_read(listing);
        int found = 0;
        for (size_t i = 0; i < view.grid_count; i++)
            if (strcmp(view.grids[i].name, "surface") == 0) {
                found++;
                assert_int_equal(view.grids[i].grid_class, FIRN_VDB_CLASS_LEVEL_SET);
                assert_true((view.grids[i].active_voxels > 0) == (frame > 3));
            }
        assert_int_equal(found, 1);
        firn_vdb_listing_destroy(listing);
    }
    firn_vdb_reader_destroy(reader);
    fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_byte_in_a_frame_is_found_by_the_node),
        cmocka_unit_test(what_is_not_in_a_manifest_is_not_noted),
        cmocka_unit_test(classic_geometry_comes_out_of_a_cook),
        cmocka_unit_test(frames_without_snow_have_the_surface_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
