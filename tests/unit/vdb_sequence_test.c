// Numbered files as a moving surface: patterns, gaps, reading ahead.
#define _GNU_SOURCE
#include "unit/vdb_support.h"

#include "firn/file.h"
#include "firn/vdb_sequence.h"

enum { FIRST = 3, LAST = 12 };

static const float VOXEL = 0.05f;

typedef struct fixture {
    char folder[64];
    char pattern[256];
    firn_vdb_stamp stamps[LAST + 1];
    int stamped; // calls of find_stamp
} fixture;

/// The ball of frame f stands at x = f meters, so a level set tells which file it came from.
static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    scene_folder_create(f->folder);
    scene_path(f->pattern, f->folder, "walk.$F4.vdb");
    firn_error error;
    for (int frame = FIRST; frame <= LAST; frame++) {
        firn_transform map = {{(float)frame, 0.0f, 0.0f}, firn_quat_identity(), VOXEL};
        scene_ball *ball = scene_ball_create(map, 0.3f);
        firn_vec3 values[512];
        for (int n = 0; n < 512; n++)
            values[n] = firn_vec(24.0f, 0.0f, 0.0f);
        firn_velocity_grid velocity = {map, 1, ball->origin, values};
        firn_vdb_write_def def = firn_vdb_write_def_default();
        firn_vdb_content content = {.surface = &ball->view, .velocity = &velocity};
        char path[256];
        assert_ok(firn_path_of_frame(f->pattern, frame, path, sizeof path, &error));
        assert_ok(firn_vdb_write(path, &def, &content, &f->stamps[frame], &error));
        scene_ball_destroy(ball);
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    scene_folder_destroy(f->folder);
    free(f);
    return 0;
}

static bool find_stamp(int frame, firn_vdb_stamp *stamp, void *user)
{
    fixture *f = user;
    *stamp = f->stamps[frame];
    f->stamped++;
    return true;
}

static firn_vdb_sequence_def make_def(fixture *f)
{
    firn_vdb_sequence_def def = firn_vdb_sequence_def_default();
    def.pattern = f->pattern;
    def.first = FIRST;
    def.last = LAST;
    def.stamp = find_stamp;
    def.user = f;
    return def;
}

static void remove_frame(fixture *f, int frame)
{
    char path[256];
    assert_int_equal(firn_path_of_frame(f->pattern, frame, path, sizeof path, NULL), FIRN_OK);
    assert_int_equal(unlink(path), 0);
}

static void cut_frame(fixture *f, int frame)
{
    char path[256];
    assert_int_equal(firn_path_of_frame(f->pattern, frame, path, sizeof path, NULL), FIRN_OK);
    assert_int_equal(truncate(path, (off_t)f->stamps[frame].size - 100), 0);
}

static void assert_interval(firn_vdb_sequence *sequence, int frame, const double frames[2],
                            const int files[2], bool moving)
{
    firn_error error;
    firn_vdb_key keys[2];
    assert_ok(firn_vdb_sequence_interval(sequence, frame, frame + 1, keys, &error));
    for (int side = 0; side < 2; side++) {
        assert_true(keys[side].frame == frames[side]);
        assert_int_equal((int)keys[side].level_set->map.translation.x, files[side]);
        assert_int_equal(keys[side].velocity != NULL, moving);
    }
}

static void every_interval_has_the_files_of_its_ends(void **state)
{
    fixture *f = *state;
    firn_error error;
    for (int look_ahead = 0; look_ahead <= 3; look_ahead++) {
        firn_vdb_sequence_def def = make_def(f);
        def.look_ahead = look_ahead;
        firn_vdb_sequence *sequence = NULL;
        assert_ok(firn_vdb_sequence_open(&def, &sequence, &error));
        for (int frame = FIRST; frame < LAST; frame++)
            assert_interval(sequence, frame, (double[]){frame, frame + 1},
                            (int[]){frame, frame + 1}, true);
        // Outside of the range the surface rests; any order of frames is served.
        assert_interval(sequence, LAST, (double[]){LAST, LAST + 1}, (int[]){LAST, LAST}, false);
        assert_interval(sequence, LAST + 5, (double[]){LAST + 5, LAST + 6}, (int[]){LAST, LAST},
                        false);
        assert_interval(sequence, 0, (double[]){0, 1}, (int[]){FIRST, FIRST}, false);
        assert_interval(sequence, 7, (double[]){7, 8}, (int[]){7, 8}, true);
        firn_vdb_sequence_close(sequence);
    }
}

static void files_are_read_ahead_and_each_only_once(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_sequence_def def = make_def(f);
    def.look_ahead = 2;
    firn_vdb_sequence *sequence = NULL;
    assert_ok(firn_vdb_sequence_open(&def, &sequence, &error));
    firn_vdb_key keys[2];
    assert_ok(firn_vdb_sequence_interval(sequence, FIRST, FIRST + 1, keys, &error));
    // While the solver would work, the next two files arrive, and no more than those.
    for (int i = 0; i < 200 && f->stamped < 4; i++)
        usleep(10000);
    usleep(50000);
    assert_int_equal(f->stamped, 4);
    for (int frame = FIRST; frame < LAST; frame++)
        assert_ok(firn_vdb_sequence_interval(sequence, frame, frame + 1, keys, &error));
    firn_vdb_sequence_close(sequence);
    assert_int_equal(f->stamped, LAST - FIRST + 1);
}

static void foreign_files_and_an_offset_work(void **state)
{
    fixture *f = *state;
    firn_error error;
    scene_path(f->pattern, f->folder, "walk.####.vdb");
    firn_vdb_sequence_def def = make_def(f);
    def.stamp = NULL;
    def.offset = -998;
    def.first = 1001;
    def.last = 1010;
    firn_vdb_sequence *sequence = NULL;
    assert_ok(firn_vdb_sequence_open(&def, &sequence, &error));
    assert_interval(sequence, 1001, (double[]){1001, 1002}, (int[]){3, 4}, true);
    assert_interval(sequence, 1009, (double[]){1009, 1010}, (int[]){11, 12}, true);
    firn_vdb_sequence_close(sequence);
}

static void all_gaps_are_named_at_once(void **state)
{
    fixture *f = *state;
    firn_error error;
    const int removed[] = {5, 6, 9}, cut[] = {3, 7, 11};
    for (int i = 0; i < 3; i++) {
        remove_frame(f, removed[i]);
        cut_frame(f, cut[i]);
    }
    firn_vdb_sequence_def def = make_def(f);
    firn_vdb_sequence *sequence = NULL;
    assert_int_equal(firn_vdb_sequence_open(&def, &sequence, &error), FIRN_ERR_FORMAT);
    assert_null(sequence);
    assert_non_null(strstr(error.message, "6 of the 10 files"));
    assert_non_null(strstr(error.message, "frames 3, 5-7, 9, 11"));
    char size[40];
    snprintf(size, sizeof size, "%llu found", (unsigned long long)f->stamps[3].size - 100);
    assert_non_null(strstr(error.message, size));
    assert_non_null(strstr(error.message, "walk.0003.vdb"));

    def.missing = FIRN_VDB_MISSING_HOLD;
    assert_ok(firn_vdb_sequence_open(&def, &sequence, &error));
    size_t count;
    const firn_vdb_gap *gaps = firn_vdb_sequence_gaps(sequence, &count);
    const int frames[] = {3, 5, 6, 7, 9, 11};
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        bool damaged = frames[i] == 3 || frames[i] == 7 || frames[i] == 11;
        assert_int_equal(gaps[i].frame, frames[i]);
        assert_int_equal(gaps[i].reason, damaged ? FIRN_ERR_FORMAT : FIRN_ERR_NOT_FOUND);
    }
    firn_vdb_sequence_close(sequence);
}

static void held_gaps_stand_still(void **state)
{
    fixture *f = *state;
    firn_error error;
    remove_frame(f, 6);
    cut_frame(f, 7);
    firn_vdb_sequence_def def = make_def(f);
    def.missing = FIRN_VDB_MISSING_HOLD;
    firn_vdb_sequence *sequence = NULL;
    assert_ok(firn_vdb_sequence_open(&def, &sequence, &error));
    assert_interval(sequence, 4, (double[]){4, 5}, (int[]){4, 5}, true);
    assert_interval(sequence, 5, (double[]){5, 6}, (int[]){5, 5}, false);
    assert_interval(sequence, 6, (double[]){6, 7}, (int[]){5, 5}, false);
    firn_vdb_key keys[2];
    assert_ok(firn_vdb_sequence_interval(sequence, 7, 8, keys, &error));
    assert_int_equal((int)keys[0].level_set->map.translation.x, 5);
    assert_int_equal((int)keys[1].level_set->map.translation.x, 8);
    assert_interval(sequence, 8, (double[]){8, 9}, (int[]){8, 9}, true);
    firn_vdb_sequence_close(sequence);
}

static void interpolated_gaps_span_from_file_to_file(void **state)
{
    fixture *f = *state;
    firn_error error;
    remove_frame(f, 6);
    cut_frame(f, 7);
    remove_frame(f, LAST);
    firn_vdb_sequence_def def = make_def(f);
    def.missing = FIRN_VDB_MISSING_INTERPOLATE;
    firn_vdb_sequence *sequence = NULL;
    assert_ok(firn_vdb_sequence_open(&def, &sequence, &error));
    for (int frame = 5; frame < 8; frame++)
        assert_interval(sequence, frame, (double[]){5, 8}, (int[]){5, 8}, true);
    // Nothing follows the last gap, so the surface rests there.
    assert_interval(sequence, LAST - 1, (double[]){LAST - 1, LAST}, (int[]){LAST - 1, LAST - 1},
                    false);
    firn_vdb_sequence_close(sequence);
}

static void a_frame_damaged_inside_is_an_error_when_it_is_reached(void **state)
{
    fixture *f = *state;
    firn_error error;
    f->stamps[5].checksum ^= 1;
    firn_vdb_sequence_def def = make_def(f);
    firn_vdb_sequence *sequence = NULL;
    assert_ok(firn_vdb_sequence_open(&def, &sequence, &error));
    firn_vdb_key keys[2];
    assert_ok(firn_vdb_sequence_interval(sequence, 3, 4, keys, &error));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(firn_vdb_sequence_interval(sequence, 4, 5, keys, &error), FIRN_ERR_FORMAT);
        assert_non_null(strstr(error.message, "walk.0005.vdb"));
        assert_non_null(strstr(error.message, "it is frame 5"));
        assert_non_null(strstr(error.message, "hold or interpolate"));
    }
    f->stamps[5].checksum ^= 1;
    assert_ok(firn_vdb_sequence_interval(sequence, 4, 5, keys, &error));
    firn_vdb_sequence_close(sequence);
}

// A file damaged inside gives the very intervals of one that is missing, from wherever it is asked.
static void a_frame_damaged_inside_is_like_a_missing_one(void **state)
{
    fixture *f = *state;
    firn_error error;
    const int damaged[] = {FIRST, 6, 7, LAST};
    for (int i = 0; i < 4; i++)
        f->stamps[damaged[i]].checksum ^= 1;
    for (int missing = FIRN_VDB_MISSING_HOLD; missing <= FIRN_VDB_MISSING_INTERPOLATE; missing++) {
        bool holds = missing == FIRN_VDB_MISSING_HOLD;
        for (int start = FIRST; start < LAST; start++) {
            firn_vdb_sequence_def def = make_def(f);
            def.missing = missing;
            firn_vdb_sequence *sequence = NULL;
            assert_ok(firn_vdb_sequence_open(&def, &sequence, &error));
            for (int frame = start; frame < LAST; frame++) {
                bool gap = frame >= 5 && frame < 8, ends = frame == FIRST || frame == LAST - 1;
                int before = gap ? 5 : frame == FIRST ? FIRST + 1 : frame;
                int after = gap ? (holds && frame < 7 ? 5 : 8) : ends ? before : frame + 1;
                bool spans = gap && !holds;
                firn_vdb_key keys[2];
                assert_ok(firn_vdb_sequence_interval(sequence, frame, frame + 1, keys, &error));
                assert_int_equal((int)keys[0].level_set->map.translation.x, before);
                assert_int_equal((int)keys[1].level_set->map.translation.x, after);
                assert_true(keys[0].frame == (spans ? 5 : frame));
                assert_true(keys[1].frame == (spans ? 8 : frame + 1));
            }
            size_t count;
            const firn_vdb_gap *gaps = firn_vdb_sequence_gaps(sequence, &count);
            assert_int_equal(gaps[count - 1].frame, LAST);
            assert_int_equal(gaps[count - 1].reason, FIRN_ERR_FORMAT);
            assert_int_equal(count, start == FIRST ? 4 : start <= 6 ? 3 : start == 7 ? 3 : 1);
            firn_vdb_sequence_close(sequence);
        }
    }
}

static void where_every_frame_is_damaged_there_is_nothing_to_hold(void **state)
{
    fixture *f = *state;
    firn_error error;
    for (int frame = FIRST; frame <= LAST; frame++)
        f->stamps[frame].checksum ^= 1;
    firn_vdb_sequence_def def = make_def(f);
    def.missing = FIRN_VDB_MISSING_HOLD;
    firn_vdb_sequence *sequence = NULL;
    assert_ok(firn_vdb_sequence_open(&def, &sequence, &error));
    firn_vdb_key keys[2];
    assert_int_equal(firn_vdb_sequence_interval(sequence, 4, 5, keys, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "no other can be used"));
    firn_vdb_sequence_close(sequence);
}

static void impossible_sequences_are_refused(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_sequence *sequence = NULL;
    firn_vdb_sequence_def def = make_def(f);
    def.last = FIRST - 1;
    assert_int_equal(firn_vdb_sequence_open(&def, &sequence, &error), FIRN_ERR_ARGUMENT);
    def = make_def(f);
    def.pattern = "walk.vdb";
    assert_int_equal(firn_vdb_sequence_open(&def, &sequence, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "$F4"));
    def = make_def(f);
    def.offset = 100;
    def.missing = FIRN_VDB_MISSING_HOLD; // there is nothing to hold
    assert_int_equal(firn_vdb_sequence_open(&def, &sequence, &error), FIRN_ERR_NOT_FOUND);
    assert_null(sequence);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_interval_has_the_files_of_its_ends),
        TEST(files_are_read_ahead_and_each_only_once),
        TEST(foreign_files_and_an_offset_work),
        TEST(all_gaps_are_named_at_once),
        TEST(held_gaps_stand_still),
        TEST(interpolated_gaps_span_from_file_to_file),
        TEST(a_frame_damaged_inside_is_an_error_when_it_is_reached),
        TEST(a_frame_damaged_inside_is_like_a_missing_one),
        TEST(where_every_frame_is_damaged_there_is_nothing_to_hold),
        TEST(impossible_sequences_are_refused),
    };
    return cmocka_run_group_tests_name("vdb_sequence", tests, NULL, NULL);
}
