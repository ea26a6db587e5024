#define _GNU_SOURCE // unshare, for a small disk of our own
#include "firn/file.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { WHOLE_SIZE = 3000000 };

typedef struct folder {
    char name[64];
    char path[128]; // of the file that tests write
} folder;

static int make_folder(void **state)
{
    folder *f = calloc(1, sizeof *f);
    snprintf(f->name, sizeof f->name, "file_test.XXXXXX");
    if (mkdtemp(f->name) == NULL)
        return -1;
    snprintf(f->path, sizeof f->path, "%s/result.bin", f->name);
    *state = f;
    return 0;
}

/// Files in the folder; optionally removes them.
static int count_files(const folder *f, bool clear)
{
    int count = 0;
    DIR *directory = opendir(f->name);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char path[sizeof f->name + sizeof entry->d_name];
        if (entry->d_name[0] == '.')
            continue;
        count++;
        snprintf(path, sizeof path, "%s/%s", f->name, entry->d_name);
        if (clear)
            remove(path);
    }
    if (directory != NULL)
        closedir(directory);
    return count;
}

static int remove_folder(void **state)
{
    folder *f = *state;
    count_files(f, true);
    int result = rmdir(f->name);
    free(f);
    return result;
}

/// Writes size bytes of one value in pieces of odd sizes.
static firn_result write_filled(const char *path, unsigned char value, size_t size,
                                firn_error *error)
{
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_create(path, &file, error));
    unsigned char piece[7919];
    memset(piece, value, sizeof piece);
    for (size_t done = 0; done < size; done += sizeof piece)
        firn_file_write(file, piece, size - done < sizeof piece ? size - done : sizeof piece);
    return firn_file_commit(file, error);
}

/// Fails the test unless the file has size bytes of one value; returns that value.
static unsigned char assert_whole(const char *path, size_t size)
{
    void *bytes = NULL;
    size_t got = 0;
    assert_int_equal(firn_file_read(path, SIZE_MAX, &bytes, &got, NULL), FIRN_OK);
    assert_int_equal(got, size);
    const unsigned char *at = bytes;
    unsigned char value = at[0];
    assert_int_equal(memcmp(at, at + 1, size - 1), 0);
    firn_free(bytes);
    return value;
}

static void what_is_written_is_what_is_read(void **state)
{
    const folder *f = *state;
    static unsigned char bytes[600000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    firn_file_writer *file = NULL;
    assert_int_equal(firn_file_create(f->path, &file, NULL), FIRN_OK);
    // Pieces smaller than, equal to and larger than the buffer.
    const size_t pieces[] = {0, 1, 1000, 262144, 300000, 36855};
    size_t done = 0;
    for (size_t i = 0; i < FIRN_COUNT(pieces); done += pieces[i], i++)
        firn_file_write(file, bytes + done, pieces[i]);
    assert_int_equal(done, sizeof bytes);
    assert_int_equal(firn_file_size(file), sizeof bytes);
    bytes[0] = 100;
    bytes[5] = 200;
    memset(bytes + 599990, 99, 10);
    firn_file_patch(file, 0, bytes, 1);
    firn_file_patch(file, 5, bytes + 5, 1);
    firn_file_patch(file, 599990, bytes + 599990, 10);
    firn_file_write(file, bytes, 3);
    assert_int_equal(firn_file_commit(file, NULL), FIRN_OK);
    void *back = NULL;
    size_t size = 0;
    assert_int_equal(firn_file_read(f->path, sizeof bytes + 3, &back, &size, NULL), FIRN_OK);
    assert_int_equal(size, sizeof bytes + 3);
    assert_memory_equal(back, bytes, sizeof bytes);
    assert_memory_equal((char *)back + sizeof bytes, bytes, 3);
    firn_free(back);
    assert_int_equal(count_files(f, false), 1);
}

static void the_name_appears_only_with_commit(void **state)
{
    const folder *f = *state;
    firn_file_writer *file = NULL;
    assert_int_equal(firn_file_create(f->path, &file, NULL), FIRN_OK);
    firn_file_write(file, "abc", 3);
    assert_int_not_equal(access(f->path, F_OK), 0);
    assert_int_equal(access(firn_file_temporary_path(file), F_OK), 0);
    assert_int_equal(firn_file_commit(file, NULL), FIRN_OK);
    assert_int_equal(access(f->path, F_OK), 0);
}

static void discard_leaves_nothing_and_accepts_null(void **state)
{
    const folder *f = *state;
    firn_file_writer *file = NULL;
    assert_int_equal(firn_file_create(f->path, &file, NULL), FIRN_OK);
    firn_file_write(file, "abc", 3);
    firn_file_discard(file);
    firn_file_discard(NULL);
    assert_int_equal(count_files(f, false), 0);
}

static void an_empty_file_is_a_file(void **state)
{
    const folder *f = *state;
    assert_int_equal(write_filled(f->path, 0, 0, NULL), FIRN_OK);
    void *bytes = NULL;
    size_t size = 1;
    assert_int_equal(firn_file_read(f->path, 0, &bytes, &size, NULL), FIRN_OK);
    assert_int_equal(size, 0);
    firn_free(bytes);
}

static void a_killed_writer_leaves_a_whole_file_or_none(void **state)
{
    const folder *f = *state;
    int appeared = 0;
    for (int round = 0; round < 50; round++) {
        remove(f->path);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            for (unsigned char value = 0;; value++)
                write_filled(f->path, value, WHOLE_SIZE, NULL);
        struct timespec wait = {0, 400000L * round};
        nanosleep(&wait, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        if (access(f->path, F_OK) == 0) {
            appeared++;
            assert_whole(f->path, WHOLE_SIZE);
        }
    }
    // Both cases must have been met for the test to mean anything.
    assert_in_range(appeared, 1, 49);
}

static void *write_many(void *user)
{
    const folder *f = user;
    for (unsigned char value = 0; value < 20; value++)
        if (write_filled(f->path, value, WHOLE_SIZE / 10, NULL) != FIRN_OK)
            return user;
    return NULL;
}

static void two_writers_of_one_name_never_mix(void **state)
{
    folder *f = *state;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, f), 0);
    for (int i = 0; i < 2; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_whole(f->path, WHOLE_SIZE / 10);
    assert_int_equal(count_files(f, false), 1);
}

/// Makes writing more than 64 kB in the folder fail. Returns what a full disk then looks like.
static firn_result shrink_disk(const folder *f)
{
    if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("tmpfs", f->name, "tmpfs", 0, "size=64k") == 0)
        return FIRN_ERR_DISK_FULL;
    struct rlimit limit = {65536, 65536};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    return FIRN_ERR_IO;
}

static int overfill(const folder *f)
{
    firn_result expected = shrink_disk(f);
    firn_error error;
    if (write_filled(f->path, 7, 40000, NULL) != FIRN_OK)
        return 1;
    if (write_filled(f->path, 8, WHOLE_SIZE, &error) != expected)
        return 2;
    if (strstr(error.message, f->path) == NULL)
        return 3;
    if (count_files(f, false) != 1)
        return 4;
    return assert_whole(f->path, 40000) == 7 ? 0 : 5;
}

static int in_child(int (*body)(const folder *), const folder *f)
{
    pid_t child = fork();
    if (child == 0)
        _exit(body(f));
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_full_disk_keeps_the_old_file_and_leaves_nothing_else(void **state)
{
    assert_int_equal(in_child(overfill, *state), 0);
}

static int write_without_permission(const folder *f)
{
    enum { NOBODY = 65534 };
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 1;
    firn_error error;
    if (write_filled(f->path, 7, 10, &error) != FIRN_ERR_IO)
        return 2;
    return strstr(error.message, f->path) != NULL ? 0 : 3;
}

static void a_folder_without_permission_is_refused(void **state)
{
    const folder *f = *state;
    assert_int_equal(chmod(f->name, 0555), 0);
    assert_int_equal(in_child(write_without_permission, f), 0);
    chmod(f->name, 0755);
    assert_int_equal(count_files(f, false), 0);
}

static void names_that_cannot_be_written_are_refused(void **state)
{
    const folder *f = *state;
    firn_error error;
    char path[FIRN_PATH_SIZE + 10];
    snprintf(path, sizeof path, "%s/missing/result.bin", f->name);
    assert_int_equal(write_filled(path, 7, 10, &error), FIRN_ERR_NOT_FOUND);
    assert_int_equal(write_filled("", 7, 10, &error), FIRN_ERR_ARGUMENT);
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_int_equal(write_filled(path, 7, 10, &error), FIRN_ERR_ARGUMENT);
    assert_int_equal(mkdir(f->path, 0777), 0);
    assert_int_equal(write_filled(f->path, 7, 10, &error), FIRN_ERR_IO);
    assert_int_equal(count_files(f, false), 1);
}

static void files_that_cannot_be_read_are_refused(void **state)
{
    const folder *f = *state;
    void *bytes = &bytes;
    size_t size = 1;
    firn_error error;
    assert_int_equal(firn_file_read(f->path, 100, &bytes, &size, &error), FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, f->path));
    assert_null(bytes);
    assert_int_equal(firn_file_read(f->name, 100, &bytes, &size, &error), FIRN_ERR_IO);
    assert_int_equal(write_filled(f->path, 7, 101, NULL), FIRN_OK);
    assert_int_equal(firn_file_read(f->path, 100, &bytes, &size, &error), FIRN_ERR_FORMAT);
    assert_null(bytes);
}

static void *no_memory(size_t bytes, size_t alignment, void *user)
{
    (void)bytes;
    (void)alignment;
    (void)user;
    return NULL;
}

static void no_release(void *memory, void *user)
{
    (void)memory;
    (void)user;
}

static void running_out_of_memory_leaves_nothing(void **state)
{
    const folder *f = *state;
    firn_allocator nothing = {no_memory, no_release, NULL};
    void *bytes = NULL;
    size_t size = 0;
    firn_set_allocator(&nothing);
    assert_int_equal(write_filled(f->path, 7, 10, NULL), FIRN_ERR_MEMORY);
    firn_set_allocator(NULL);
    assert_int_equal(count_files(f, false), 0);
    assert_int_equal(write_filled(f->path, 7, 10, NULL), FIRN_OK);
    firn_set_allocator(&nothing);
    assert_int_equal(firn_file_read(f->path, 10, &bytes, &size, NULL), FIRN_ERR_MEMORY);
    firn_set_allocator(NULL);
    assert_null(bytes);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_is_written_is_what_is_read),
        IN_FOLDER(the_name_appears_only_with_commit),
        IN_FOLDER(discard_leaves_nothing_and_accepts_null),
        IN_FOLDER(an_empty_file_is_a_file),
        IN_FOLDER(a_killed_writer_leaves_a_whole_file_or_none),
        IN_FOLDER(two_writers_of_one_name_never_mix),
        IN_FOLDER(a_full_disk_keeps_the_old_file_and_leaves_nothing_else),
        IN_FOLDER(a_folder_without_permission_is_refused),
        IN_FOLDER(names_that_cannot_be_written_are_refused),
        IN_FOLDER(files_that_cannot_be_read_are_refused),
        IN_FOLDER(running_out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
