#define _DEFAULT_SOURCE
#include "firn/cache.h"

#include "graph_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// The linker sends the library's writes here: a disk that can become full.
static int64_t bytes_left = INT64_MAX;
ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);

ssize_t __wrap_write(int file, const void *bytes, size_t size)
{
    if ((int64_t)size > bytes_left) {
        errno = ENOSPC;
        return -1;
    }
    bytes_left -= (int64_t)size;
    return __real_write(file, bytes, size);
}

// Every kind of output at once, so that all of it is resumed.
static const char outputs[] =
    "\"points\": {\"type\": \"write_particles\", \"params\": {\"format\": \"bgeo\"},\n"
    " \"inputs\": {\"particles\": \"solver\"}},\n"
    "\"archive\": {\"type\": \"write_particles\", \"inputs\": {\"particles\": \"solver\"}},\n"
    "\"volume\": {\"type\": \"rasterize\", \"params\": {\"voxel_size\": 0.05, \"thread_count\": "
    "1},\n"
    " \"inputs\": {\"particles\": \"solver\"}},\n"
    "\"vdb\": {\"type\": \"write_volume\", \"inputs\": {\"volume\": \"volume\"}},\n"
    "\"old\": {";

static char *rich_scene(void) { return fixture_scene_with("\"points\": {", outputs); }

/// The scene with all outputs; the node "old" of the plain scene gets another name for its files.
static firn_graph *load_rich(const char *folder)
{
    char *text = rich_scene();
    firn_graph *graph = fixture_load(text, folder);
    firn_free(text);
    assert_int_equal(firn_graph_set_text(graph, "old.name=other", NULL), FIRN_OK);
    return graph;
}

static firn_result bake(firn_graph *graph, bool resume, firn_error *error)
{
    firn_bake_def def = firn_bake_def_default();
    def.resume = resume;
    def.overwrite = !resume;
    return firn_graph_bake(graph, &def, error);
}

static void bake_or_fail(firn_graph *graph, bool resume)
{
    firn_error error = {0};
    if (bake(graph, resume, &error) != FIRN_OK)
        fail_msg("%s", error.message);
}

typedef struct tally {
    int cooked, skipped;
} tally;

static void count_frames(int frame, bool skipped, const firn_stat *stats, size_t count, void *user)
{
    (void)frame;
    tally *t = user;
    assert_true(count > 0);
    assert_string_equal(stats[0].name, "particles");
    t->cooked += !skipped;
    t->skipped += skipped;
}

static void a_bake_leaves_files_manifest_and_graph(void **state)
{
    (void)state;
    char folder[64], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = load_rich(folder);
    firn_cache_state known;
    assert_int_equal(firn_graph_cache_state(graph, &known, NULL), FIRN_OK);
    assert_int_equal(known, FIRN_CACHE_NONE);
    bake_or_fail(graph, false);
    static const char *const names[] = {
        "drop_v1.0001.bgeo",          "drop_v1.0006.vdb", "drop_v1.abc",
        "other_v1.0003.bgeo",         "manifest.json",    "resolved.firn",
        "checkpoints/solver.0005.chk"};
    for (size_t i = 0; i < FIRN_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/cache/drop/v1/%s", folder, names[i]);
        assert_int_equal(access(path, R_OK), 0);
    }
    snprintf(path, sizeof path, "%s/cache/drop/v1/.lock", folder);
    assert_int_not_equal(access(path, R_OK), 0);

    snprintf(path, sizeof path, "%s/cache/drop/v1", folder);
    firn_manifest *manifest = NULL;
    assert_int_equal(firn_manifest_read(path, &manifest, NULL), FIRN_OK);
    firn_manifest_view view = firn_manifest_look(manifest);
    assert_int_equal(view.frame_count, 6);
    assert_int_equal(view.file_count, 1);
    assert_int_equal(view.frames[3].file_count, 3);
    assert_true(view.hash == firn_graph_hash(graph, NULL));
    firn_manifest_destroy(manifest);

    // The resolved graph cooks the same from anywhere.
    firn_graph *again = NULL;
    snprintf(path, sizeof path, "%s/cache/drop/v1/resolved.firn", folder);
    assert_int_equal(firn_graph_load(path, &again, NULL), FIRN_OK);
    assert_true(firn_graph_hash(again, NULL) == firn_graph_hash(graph, NULL));
    firn_graph_destroy(again);

    assert_int_equal(firn_graph_cache_state(graph, &known, NULL), FIRN_OK);
    assert_int_equal(known, FIRN_CACHE_COMPLETE);
    assert_int_equal(firn_graph_set_text(graph, "snow.density=300", NULL), FIRN_OK);
    assert_int_equal(firn_graph_cache_state(graph, &known, NULL), FIRN_OK);
    assert_int_equal(known, FIRN_CACHE_STALE);
    firn_error error;
    assert_int_equal(bake(graph, true, &error), FIRN_ERR_STALE);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void threads_do_not_change_files(void **state)
{
    (void)state;
    uint64_t hash[2];
    for (int i = 0; i < 2; i++) {
        char folder[64];
        fixture_folder(folder, sizeof folder);
        firn_graph *graph = load_rich(folder);
        firn_graph_set_text(graph, i == 0 ? "solver.thread_count=1" : "solver.thread_count=2",
                            NULL);
        bake_or_fail(graph, false);
        hash[i] = fixture_hash_files(folder);
        firn_graph_destroy(graph);
        fixture_remove(folder);
    }
    assert_true(hash[0] == hash[1]);
}

static firn_answer stop_in_frame(const firn_report *report, void *user)
{
    return report->frame == *(const int *)user && report->fraction > 0.3 ? FIRN_STOP
                                                                         : FIRN_CONTINUE;
}

static uint64_t hash_of_whole_bake(void)
{
    char folder[64];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = load_rich(folder);
    bake_or_fail(graph, false);
    uint64_t hash = fixture_hash_files(folder);
    firn_graph_destroy(graph);
    fixture_remove(folder);
    return hash;
}

static void a_stopped_bake_resumes_where_it_was_to_the_same_bits(void **state)
{
    (void)state;
    char folder[64];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = load_rich(folder);
    int frame = 5;
    firn_host host = {.progress = stop_in_frame, .user = &frame};
    firn_graph_set_host(graph, &host);
    firn_error error;
    assert_int_equal(bake(graph, false, &error), FIRN_ERR_CANCELLED);
    firn_graph_destroy(graph);

    graph = load_rich(folder);
    tally t = {0, 0};
    firn_host counting = {.frame_done = count_frames, .user = &t};
    firn_graph_set_host(graph, &counting);
    bake_or_fail(graph, true);
    assert_int_equal(t.skipped, 4);
    assert_int_equal(t.cooked, 2);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 3); // the checkpoint and two frames
    assert_true(fixture_hash_files(folder) == hash_of_whole_bake());

    // Once more: nothing is left to do.
    bake_or_fail(graph, true);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 3);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void bake_in_child(const char *folder)
{
    firn_graph *graph = load_rich(folder);
    firn_error error;
    firn_result result = bake(graph, true, &error);
    _exit(result == FIRN_OK ? 0 : 1);
}

static void a_killed_bake_resumes_to_the_same_bits(void **state)
{
    (void)state;
    char folder[64];
    fixture_folder(folder, sizeof folder);
    unsigned random = 12345;
    bool done = false;
    for (int kill_count = 0; !done && kill_count < 30; kill_count++) {
        pid_t child = fork();
        if (child == 0)
            bake_in_child(folder);
        random = random * 1664525u + 1013904223u;
        usleep(5000 + (random >> 8) % 80000);
        int status = 0;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        done = WIFEXITED(status);
        if (done)
            assert_int_equal(WEXITSTATUS(status), 0);
    }
    firn_graph *graph = load_rich(folder);
    bake_or_fail(graph, true);
    firn_graph_destroy(graph);
    assert_true(fixture_hash_files(folder) == hash_of_whole_bake());
    fixture_remove(folder);
}

static void a_damaged_frame_is_cooked_again(void **state)
{
    (void)state;
    char folder[64], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = load_rich(folder);
    bake_or_fail(graph, false);
    uint64_t whole = fixture_hash_files(folder);
    snprintf(path, sizeof path, "%s/cache/drop/v1/drop_v1.0004.bgeo", folder);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 1000, SEEK_SET);
    fputs("damage", file);
    fclose(file);
    assert_false(fixture_hash_files(folder) == whole);
    bake_or_fail(graph, true);
    assert_true(fixture_hash_files(folder) == whole);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void put_file(const char *path, void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    firn_free(bytes);
}

static void a_damaged_checkpoint_is_passed_over(void **state)
{
    (void)state;
    char folder[64], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = fixture_load(fixture_scene, folder);
    bake_or_fail(graph, false);
    uint64_t whole = fixture_hash_files(folder);
    void *checkpoint = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/cache/drop/v1/drop_v1.0006.bgeo", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/cache/drop/v1/checkpoints/solver.0005.chk", folder);
    assert_int_equal(firn_file_read(path, 1u << 30, &checkpoint, &size, NULL), FIRN_OK);
    assert_int_equal(truncate(path, 5000), 0);
    firn_graph_destroy(graph);
    graph = fixture_load(fixture_scene, folder);
    bake_or_fail(graph, true);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 5); // 5, then 3 and up to 6
    assert_int_not_equal(access(path, F_OK), 0);
    put_file(path, checkpoint, size);
    assert_true(fixture_hash_files(folder) == whole);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

// Its settings fit and its checksum is right: it is of other snow, and nothing else tells.
static void a_checkpoint_of_other_snow_is_passed_over(void **state)
{
    (void)state;
    char folder[64], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = fixture_load(fixture_scene, folder);
    assert_int_equal(firn_graph_set_text(graph, "ball.velocity=1 2 0", NULL), FIRN_OK);
    bake_or_fail(graph, false);
    firn_graph_destroy(graph);
    void *foreign = NULL, *own = NULL;
    size_t size = 0, own_size = 0;
    snprintf(path, sizeof path, "%s/cache/drop/v1/checkpoints/solver.0005.chk", folder);
    assert_int_equal(firn_file_read(path, 1u << 30, &foreign, &size, NULL), FIRN_OK);
    graph = fixture_load(fixture_scene, folder);
    bake_or_fail(graph, false);
    firn_graph_destroy(graph);
    uint64_t whole = fixture_hash_files(folder);
    char frame[FIRN_PATH_SIZE];
    snprintf(frame, sizeof frame, "%s/cache/drop/v1/drop_v1.0006.bgeo", folder);
    assert_int_equal(unlink(frame), 0);
    assert_int_equal(firn_file_read(path, 1u << 30, &own, &own_size, NULL), FIRN_OK);
    put_file(path, foreign, size);
    graph = fixture_load(fixture_scene, folder);
    bake_or_fail(graph, true);
    assert_int_equal(firn_graph_cook_count(graph, "solver"), 5); // 5, then 3 and up to 6
    put_file(path, own, own_size);
    assert_true(fixture_hash_files(folder) == whole);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void a_second_writer_is_refused(void **state)
{
    (void)state;
    char folder[64], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = fixture_load(fixture_scene, folder);
    bake_or_fail(graph, false);
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        firn_graph *other = fixture_load(fixture_scene, folder);
        firn_graph_set_text(other, "last=100000", NULL);
        tally t = {0, 0};
        firn_host host = {.frame_done = count_frames, .user = &t};
        firn_graph_set_host(other, &host);
        ssize_t told = write(ready[1], "x", 1);
        while (bake(other, false, NULL) == FIRN_ERR_LOCKED) // by what the test does meanwhile
            ;
        _exit(told == 1 ? 0 : 1);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    firn_error error = {0};
    firn_result result = FIRN_OK;
    for (int i = 0; i < 3000 && result == FIRN_OK; i++) {
        usleep(10000);
        result = bake(graph, true, &error);
    }
    char process[32];
    snprintf(process, sizeof process, "process %ld on ", (long)child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(result, FIRN_ERR_LOCKED);
    assert_non_null(strstr(error.message, process));
    snprintf(path, sizeof path, "%s/cache/drop/v1/.lock", folder);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(bake(graph, false, &error), FIRN_OK); // the dead process's lock is taken over
    close(ready[0]);
    close(ready[1]);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void a_lock_of_another_host_stands(void **state)
{
    (void)state;
    char folder[64], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = fixture_load(fixture_scene, folder);
    bake_or_fail(graph, false);
    snprintf(path, sizeof path, "%s/cache/drop/v1/.lock", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("elsewhere 4711\n", file);
    fclose(file);
    firn_error error;
    assert_int_equal(bake(graph, true, &error), FIRN_ERR_LOCKED);
    assert_non_null(strstr(error.message, "process 4711 on elsewhere"));
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void cached_particles_feed_the_next_graph(void **state)
{
    (void)state;
    char folder[64];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = load_rich(folder);
    bake_or_fail(graph, false);
    const firn_data *data = NULL;
    assert_int_equal(firn_graph_cook(graph, "solver", 4, &data, NULL), FIRN_OK);
    size_t count = data->particles->points.count;
    static const char *const files[] = {"cache/drop/v1/drop_v1.$F4.bgeo",
                                        "cache/drop/v1/drop_v1.abc"};
    for (size_t i = 0; i < FIRN_COUNT(files); i++) {
        firn_error error = {0};
        firn_graph *next = NULL;
        assert_int_equal(firn_graph_create(&next, NULL), FIRN_OK);
        firn_graph_set_folder(next, folder, NULL);
        firn_graph_add(next, "read_particles", "read", NULL);
        firn_graph_add(next, "rasterize", "volume", NULL);
        firn_graph_set_param(next, "read", "file", files[i], FIRN_LAYER_ALWAYS, NULL);
        firn_graph_set_text(next, "volume.voxel_size=0.05", NULL);
        firn_graph_link(next, "read", "volume", NULL, NULL);
        if (firn_graph_cook(next, "volume", 4, &data, &error) != FIRN_OK)
            fail_msg("%s", error.message);
        assert_true(data->volume->field->leaf_count > 0);
        assert_int_equal(firn_graph_cook(next, "read", 4, &data, NULL), FIRN_OK);
        assert_int_equal(data->particles->points.count, count);
        assert_int_equal(firn_graph_cook_count(next, "read"), 1);
        firn_graph_destroy(next);
    }
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void a_full_disk_is_reported_and_the_bake_can_go_on(void **state)
{
    (void)state;
    char folder[64], path[FIRN_PATH_SIZE];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = load_rich(folder);
    firn_error error = {0};
    bytes_left = 300000;
    firn_result result = bake(graph, false, &error);
    bytes_left = INT64_MAX;
    firn_graph_destroy(graph);
    assert_int_equal(result, FIRN_ERR_DISK_FULL);
    assert_non_null(strstr(error.message, folder));
    snprintf(path, sizeof path, "%s/cache/drop/v1/drop_v1.abc", folder);
    assert_int_not_equal(access(path, R_OK), 0);
    graph = load_rich(folder);
    bake_or_fail(graph, true);
    firn_graph_destroy(graph);
    assert_true(fixture_hash_files(folder) == hash_of_whole_bake());
    fixture_remove(folder);
}

static void two_writers_of_one_file_are_a_mistake(void **state)
{
    (void)state;
    char folder[64];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = load_rich(folder);
    firn_graph_reset(graph, "old", "name", NULL);
    firn_error error = {0};
    assert_int_equal(bake(graph, false, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "points and old write the same file"));
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bake_leaves_files_manifest_and_graph),
        cmocka_unit_test(threads_do_not_change_files),
        cmocka_unit_test(a_stopped_bake_resumes_where_it_was_to_the_same_bits),
        cmocka_unit_test(a_killed_bake_resumes_to_the_same_bits),
        cmocka_unit_test(a_damaged_frame_is_cooked_again),
        cmocka_unit_test(a_damaged_checkpoint_is_passed_over),
        cmocka_unit_test(a_checkpoint_of_other_snow_is_passed_over),
        cmocka_unit_test(a_second_writer_is_refused),
        cmocka_unit_test(a_lock_of_another_host_stands),
        cmocka_unit_test(cached_particles_feed_the_next_graph),
        cmocka_unit_test(a_full_disk_is_reported_and_the_bake_can_go_on),
        cmocka_unit_test(two_writers_of_one_file_are_a_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
