#include "abc_write_support.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "abc_failure"
#define PATH DIRECTORY "/scene.abc"

enum { FRAMES = 6 };

static int clean_directory(void **state)
{
    (void)state;
    mkdir(DIRECTORY, 0777);
    DIR *directory = opendir(DIRECTORY);
    assert_non_null(directory);
    for (struct dirent *file = readdir(directory); file != NULL; file = readdir(directory)) {
        char path[FIRN_PATH_SIZE];
        snprintf(path, sizeof path, DIRECTORY "/%s", file->d_name);
        if (file->d_name[0] != '.')
            remove(path);
    }
    closedir(directory);
    return 0;
}

static int count_files(void)
{
    DIR *directory = opendir(DIRECTORY);
    assert_non_null(directory);
    int count = 0;
    for (struct dirent *file = readdir(directory); file != NULL; file = readdir(directory))
        count += file->d_name[0] != '.';
    closedir(directory);
    return count;
}

// Allocations are counted; number `failing` fails.
typedef struct counter {
    long made, live, failing;
    size_t bytes, peak;
} counter;

enum { HEAD = 64 };

static void *count_allocate(size_t bytes, size_t alignment, void *user)
{
    counter *c = user;
    if (c->made++ == c->failing)
        return NULL;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, bytes + HEAD) != 0)
        return NULL;
    memcpy(memory, &bytes, sizeof bytes);
    c->live++;
    c->bytes += bytes;
    c->peak = c->bytes > c->peak ? c->bytes : c->peak;
    return (unsigned char *)memory + HEAD;
}

static void count_release(void *memory, void *user)
{
    counter *c = user;
    unsigned char *start = (unsigned char *)memory - HEAD;
    size_t bytes;
    memcpy(&bytes, start, sizeof bytes);
    c->bytes -= bytes;
    c->live--;
    free(start);
}

static firn_result write_counted(counter *c, bool resumable, uint32_t frames)
{
    const firn_allocator allocator = {count_allocate, count_release, c};
    firn_set_allocator(&allocator);
    firn_result result = scene_write(PATH, resumable, frames, frames, NULL);
    firn_set_allocator(NULL);
    return result;
}

static void any_failing_allocation_leaves_no_memory_and_no_file(void **state)
{
    (void)state;
    long failing = 0;
    for (;; failing++) {
        counter c = {.failing = failing};
        firn_result result = write_counted(&c, false, FRAMES);
        assert_int_equal(c.live, 0);
        if (result == FIRN_OK)
            break;
        assert_int_equal(result, FIRN_ERR_MEMORY);
        assert_int_equal(count_files(), 0);
    }
    assert_true(failing > 50);
}

static void any_failing_allocation_of_a_resumable_archive_can_be_continued(void **state)
{
    (void)state;
    ASSERT_OK(scene_write(DIRECTORY "/whole.abc", false, FRAMES, FRAMES, error));
    for (long failing = 0;; failing += 7) {
        counter c = {.failing = failing};
        firn_result result = write_counted(&c, true, FRAMES);
        assert_int_equal(c.live, 0);
        if (result == FIRN_OK)
            break;
        assert_int_equal(result, FIRN_ERR_MEMORY);
        assert_false(file_exists(PATH));
        ASSERT_OK(scene_write(PATH, true, FRAMES, FRAMES, error));
        assert_same_files(PATH, DIRECTORY "/whole.abc");
        remove(PATH);
    }
}

static void memory_does_not_grow_with_the_data(void **state)
{
    (void)state;
    enum { SHORT_RUN = 30, LONG_RUN = 300 };
    counter few = {.failing = -1}, many = {.failing = -1};
    assert_int_equal(write_counted(&few, false, SHORT_RUN), FIRN_OK);
    assert_int_equal(write_counted(&many, false, LONG_RUN), FIRN_OK);
    size_t growth = many.peak - few.peak;
    // About 25 properties with some tens of bytes per sample.
    assert_true(growth < (size_t)25 * (LONG_RUN - SHORT_RUN) * 120);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void full_disk_is_an_error_and_the_old_file_stays(void **state)
{
    (void)state;
    ASSERT_OK(scene_write(PATH, false, 2, 2, error));
    ASSERT_OK(scene_write(DIRECTORY "/old.abc", false, 2, 2, error));
    ASSERT_OK(scene_write(DIRECTORY "/whole.abc", false, FRAMES, FRAMES, error));
    file_bytes whole = read_whole(DIRECTORY "/whole.abc");
    for (rlim_t limit = 0; limit < whole.size; limit += whole.size / 9 + 1) {
        firn_error error = {0};
        limit_file_size(limit);
        firn_result result = scene_write(PATH, false, FRAMES, FRAMES, &error);
        limit_file_size(RLIM_INFINITY);
        assert_true(result == FIRN_ERR_DISK_FULL || result == FIRN_ERR_IO);
        assert_non_null(strstr(error.message, PATH));
        assert_int_equal(count_files(), 3);
        assert_same_files(PATH, DIRECTORY "/old.abc");
    }
    firn_free(whole.bytes);
}

static void archive_that_met_a_full_disk_is_continued_when_there_is_room(void **state)
{
    (void)state;
    ASSERT_OK(scene_write(DIRECTORY "/whole.abc", false, FRAMES, FRAMES, error));
    file_bytes whole = read_whole(DIRECTORY "/whole.abc");
    for (rlim_t limit = 0; limit < whole.size; limit += whole.size / 9 + 1) {
        limit_file_size(limit);
        firn_result result = scene_write(PATH, true, FRAMES, FRAMES, NULL);
        limit_file_size(RLIM_INFINITY);
        assert_true(result == FIRN_ERR_DISK_FULL || result == FIRN_ERR_IO);
        assert_false(file_exists(PATH));
        assert_true(file_exists(PATH ".partial"));
        ASSERT_OK(scene_write(PATH, true, FRAMES, FRAMES, error));
        assert_same_files(PATH, DIRECTORY "/whole.abc");
        assert_int_equal(count_files(), 2);
        remove(PATH);
    }
    firn_free(whole.bytes);
}

static void missing_directory_is_reported_by_begin(void **state)
{
    (void)state;
    firn_error error = {0};
    assert_int_equal(scene_write(DIRECTORY "/none/scene.abc", false, 1, 1, &error),
                     FIRN_ERR_NOT_FOUND);
    assert_int_equal(scene_write(DIRECTORY "/none/scene.abc", true, 1, 1, &error),
                     FIRN_ERR_NOT_FOUND);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(any_failing_allocation_leaves_no_memory_and_no_file,
                               clean_directory),
        cmocka_unit_test_setup(any_failing_allocation_of_a_resumable_archive_can_be_continued,
                               clean_directory),
        cmocka_unit_test_setup(memory_does_not_grow_with_the_data, clean_directory),
        cmocka_unit_test_setup(full_disk_is_an_error_and_the_old_file_stays, clean_directory),
        cmocka_unit_test_setup(archive_that_met_a_full_disk_is_continued_when_there_is_room,
                               clean_directory),
        cmocka_unit_test_setup(missing_directory_is_reported_by_begin, clean_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
