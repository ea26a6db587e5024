#include "abc_write_support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATH "abc_resume.abc"
#define DATA PATH ".partial"
#define JOURNAL PATH ".journal.partial"
#define WHOLE "abc_resume_whole.abc"

enum { FRAMES = 14, STOP = 10 };

static int write_whole(void **state)
{
    (void)state;
    ASSERT_OK(scene_write(WHOLE, false, FRAMES, FRAMES, error));
    return 0;
}

static int forget(void **state)
{
    (void)state;
    ASSERT_OK(firn_abc_writer_forget(PATH, error));
    assert_false(file_exists(DATA));
    assert_false(file_exists(JOURNAL));
    remove(PATH);
    return 0;
}

static void write_bytes(const char *path, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static uint32_t frames_kept(void)
{
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.resumable = true;
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create(PATH, &def, &writer, error));
    scene s;
    ASSERT_OK(scene_declare(writer, &s, error));
    uint32_t frame = 0;
    ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
    firn_abc_writer_destroy(writer);
    return frame;
}

static void finish_and_compare(void)
{
    ASSERT_OK(scene_write(PATH, true, FRAMES, FRAMES, error));
    assert_same_files(PATH, WHOLE);
    assert_false(file_exists(DATA));
    assert_false(file_exists(JOURNAL));
}

static void resumable_file_has_the_bytes_of_a_plain_one(void **state)
{
    (void)state;
    finish_and_compare();
}

static void interruption_after_any_frame_does_not_change_the_bytes(void **state)
{
    (void)state;
    for (uint32_t stop = 0; stop <= FRAMES; stop += 3) {
        ASSERT_OK(scene_write(PATH, true, stop, FRAMES + 1, error));
        assert_true(file_exists(DATA));
        assert_int_equal(frames_kept(), stop);
        finish_and_compare();
        remove(PATH);
    }
}

typedef struct remains {
    file_bytes data, journal;
} remains;

static remains interrupt(void)
{
    ASSERT_OK(scene_write(PATH, true, STOP, FRAMES, error));
    return (remains){read_whole(DATA), read_whole(JOURNAL)};
}

static void restore(const remains *r, size_t data_size, size_t journal_size)
{
    write_bytes(DATA, r->data.bytes, data_size);
    write_bytes(JOURNAL, r->journal.bytes, journal_size);
}

static void forget_remains(remains *r)
{
    firn_free(r->data.bytes);
    firn_free(r->journal.bytes);
}

static void journal_cut_at_any_byte_is_continued(void **state)
{
    (void)state;
    remains r = interrupt();
    uint32_t least = FRAMES, most = 0;
    for (size_t cut = 0; cut <= r.journal.size; cut += r.journal.size / 23) {
        restore(&r, r.data.size, cut);
        uint32_t kept = frames_kept();
        least = kept < least ? kept : least;
        most = kept > most ? kept : most;
        finish_and_compare();
    }
    assert_int_equal(least, 0);
    assert_true(most >= STOP - 1);
    forget_remains(&r);
}

static void archive_cut_at_any_byte_is_continued(void **state)
{
    (void)state;
    remains r = interrupt();
    for (size_t cut = 0; cut <= r.data.size; cut += r.data.size / 23) {
        restore(&r, cut, r.journal.size);
        finish_and_compare();
    }
    forget_remains(&r);
}

static void frames_after_a_damaged_byte_are_written_again(void **state)
{
    (void)state;
    remains r = interrupt();
    for (size_t at = 48; at < r.data.size; at += r.data.size / 17) {
        restore(&r, r.data.size, r.journal.size);
        r.data.bytes[at] ^= 0x10;
        write_bytes(DATA, r.data.bytes, r.data.size);
        r.data.bytes[at] ^= 0x10;
        assert_true(frames_kept() < STOP);
        finish_and_compare();
    }
    for (size_t at = 0; at < r.journal.size; at += r.journal.size / 17) {
        r.journal.bytes[at] ^= 0x10;
        restore(&r, r.data.size, r.journal.size);
        r.journal.bytes[at] ^= 0x10;
        finish_and_compare();
    }
    forget_remains(&r);
}

static void frozen_but_not_renamed_archive_is_continued(void **state)
{
    (void)state;
    ASSERT_OK(scene_write(PATH, true, FRAMES, FRAMES + 1, error));
    file_bytes whole = read_whole(WHOLE);
    write_bytes(DATA, whole.bytes, whole.size); // killed just before the rename
    firn_free(whole.bytes);
    assert_int_equal(frames_kept(), FRAMES);
    file_bytes continued = read_whole(DATA);
    assert_int_equal(continued.bytes[5], 0); // no reader takes it for finished
    firn_free(continued.bytes);
    finish_and_compare();
}

static void journal_left_after_the_rename_is_harmless(void **state)
{
    (void)state;
    ASSERT_OK(scene_write(PATH, true, FRAMES, FRAMES + 1, error));
    assert_int_equal(rename(DATA, PATH), 0); // killed between rename and removal
    assert_int_equal(frames_kept(), 0);
    finish_and_compare();
}

static void other_declarations_are_refused_and_the_work_is_kept(void **state)
{
    (void)state;
    ASSERT_OK(scene_write(PATH, true, STOP, FRAMES, error));
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.resumable = true;
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create(PATH, &def, &writer, error));
    uint32_t frame = 0;
    firn_error refusal;
    assert_int_equal(firn_abc_writer_begin(writer, &frame, &refusal), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(refusal.message, "other objects or settings"));
    firn_abc_writer_destroy(writer);
    assert_int_equal(frames_kept(), STOP);
    finish_and_compare();
}

static void second_writer_of_the_same_archive_is_refused(void **state)
{
    (void)state;
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.resumable = true;
    firn_abc_writer *first = NULL, *second = NULL;
    ASSERT_OK(firn_abc_writer_create(PATH, &def, &first, error));
    ASSERT_OK(firn_abc_writer_create(PATH, &def, &second, error));
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(first, &frame, error));
    firn_error refusal;
    assert_int_equal(firn_abc_writer_begin(second, &frame, &refusal), FIRN_ERR_IO);
    assert_non_null(strstr(refusal.message, "another process"));
    firn_abc_writer_destroy(second);
    ASSERT_OK(firn_abc_writer_finish(first, error));
}

static void sleep_microseconds(long microseconds)
{
    const struct timespec pause = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

static pid_t start_writing(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(scene_write(PATH, true, FRAMES, FRAMES, NULL) == FIRN_OK ? 0 : 1);
    assert_true(child > 0);
    return child;
}

// The time an undisturbed run takes, to spread the kills over it.
static long run_microseconds(void)
{
    double start = firn_seconds();
    int status = 0;
    waitpid(start_writing(), &status, 0);
    assert_int_equal(status, 0);
    assert_same_files(PATH, WHOLE);
    remove(PATH);
    return (long)(1e6 * (firn_seconds() - start)) + 100;
}

static void killed_at_random_moments_the_archive_is_whole_or_absent(void **state)
{
    (void)state;
    enum { KILLS = 20, RUNS_MAX = 400 };
    uint64_t random = 20130701;
    long longest = run_microseconds();
    int kills = 0;
    for (int run = 0; run < RUNS_MAX && kills < KILLS; run++) {
        pid_t child = start_writing();
        random = random * 6364136223846793005u + 1442695040888963407u;
        sleep_microseconds((long)((random >> 33) % (uint64_t)longest));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        kills += WIFSIGNALED(status);
        if (!WIFSIGNALED(status)) // it was faster than the first run: aim earlier
            longest -= longest / 4;
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        if (file_exists(PATH)) {
            assert_same_files(PATH, WHOLE);
            remove(PATH);
        }
    }
    assert_int_equal(kills, KILLS);
    finish_and_compare();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(resumable_file_has_the_bytes_of_a_plain_one, forget),
        cmocka_unit_test_teardown(interruption_after_any_frame_does_not_change_the_bytes, forget),
        cmocka_unit_test_teardown(journal_cut_at_any_byte_is_continued, forget),
        cmocka_unit_test_teardown(archive_cut_at_any_byte_is_continued, forget),
        cmocka_unit_test_teardown(frames_after_a_damaged_byte_are_written_again, forget),
        cmocka_unit_test_teardown(frozen_but_not_renamed_archive_is_continued, forget),
        cmocka_unit_test_teardown(journal_left_after_the_rename_is_harmless, forget),
        cmocka_unit_test_teardown(other_declarations_are_refused_and_the_work_is_kept, forget),
        cmocka_unit_test_teardown(second_writer_of_the_same_archive_is_refused, forget),
        cmocka_unit_test_teardown(killed_at_random_moments_the_archive_is_whole_or_absent, forget),
    };
    return cmocka_run_group_tests(tests, write_whole, NULL);
}
