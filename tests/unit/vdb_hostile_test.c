// Damaged, foreign and hostile files: every one is an answer, none is a crash.
#define _GNU_SOURCE
#include "unit/vdb_support.h"

#include "firn/file.h"
#include "firn/vdb_points.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const float VOXEL = 0.05f;

typedef struct fixture {
    char folder[64];
    char path[256];
    scene_field *field;
    firn_vdb_reader *reader;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    scene_folder_create(f->folder);
    scene_path(f->path, f->folder, "foreign.vdb");
    f->field = scene_field_create(VOXEL);
    f->reader = scene_reader();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    firn_vdb_reader_destroy(f->reader);
    scene_folder_destroy(f->folder);
    free(f->field);
    free(f);
    return 0;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/// The bytes of a file with density, velocity, compaction and a surface.
static unsigned char *make_seed(fixture *f, int compression, bool half, size_t *size)
{
    firn_error error;
    firn_transform map = firn_transform_identity();
    map.scale = VOXEL;
    scene_ball *ball = scene_ball_create(map, 0.5f);
    firn_vdb_write_def def = firn_vdb_write_def_default();
    def.compression = compression;
    def.half = half;
    firn_vdb_content content = {.field = &f->field->view, .surface = &ball->view};
    assert_ok(firn_vdb_write(f->path, &def, &content, NULL, &error));
    void *bytes = NULL;
    assert_ok(firn_file_read(f->path, 1 << 24, &bytes, size, &error));
    scene_ball_destroy(ball);
    return bytes;
}

/// The bytes of a file of particles.
static unsigned char *make_point_seed(fixture *f, size_t *size)
{
    firn_error error;
    firn_vec3 position[300];
    int32_t id[300];
    for (int i = 0; i < 300; i++) {
        position[i] = firn_vec(0.01f * (float)(i % 10), 0.02f * (float)(i / 10), 0.3f);
        id[i] = i;
    }
    firn_vdb_attribute attribute = {"id", FIRN_VDB_ATTRIBUTE_INT, id};
    firn_vdb_points points = {300, position, 1, &attribute};
    firn_vdb_points_def def = firn_vdb_points_def_default();
    assert_ok(firn_vdb_write_points(f->path, &def, &points, NULL, &error));
    void *bytes = NULL;
    assert_ok(firn_file_read(f->path, 1 << 24, &bytes, size, &error));
    return bytes;
}

static firn_result read_everything(fixture *f, firn_error *error)
{
    firn_vdb_shape_def def = firn_vdb_shape_def_default();
    firn_vdb_shape *shape = NULL;
    firn_result result = firn_vdb_read_shape(f->reader, f->path, NULL, &def, &shape, error);
    firn_vdb_shape_destroy(shape);
    return result;
}

static void every_truncation_is_found_without_reading_voxels(void **state)
{
    fixture *f = *state;
    firn_error error;
    for (int compression = 0; compression < 3; compression++) {
        size_t size;
        unsigned char *bytes = make_seed(f, compression, true, &size);
        assert_ok(firn_vdb_check(f->path, &error));
        for (size_t cut = 0; cut < size; cut += cut < 300 ? 1 : size / 97) {
            write_bytes(f->path, bytes, cut);
            assert_int_equal(firn_vdb_check(f->path, &error), FIRN_ERR_FORMAT);
            char found[40];
            snprintf(found, sizeof found, "%zu bytes", cut);
            if (cut >= 300) {
                assert_non_null(strstr(error.message, f->path));
                snprintf(found, sizeof found, "%zu", cut);
                assert_non_null(strstr(error.message, found));
            }
        }
        unsigned char *longer = calloc(1, size + 10);
        memcpy(longer, bytes, size);
        write_bytes(f->path, longer, size + 10);
        assert_int_equal(firn_vdb_check(f->path, &error), FIRN_ERR_FORMAT);
        char sizes[2][32];
        snprintf(sizes[0], sizeof sizes[0], "%zu bytes expected", size);
        snprintf(sizes[1], sizeof sizes[1], "%zu found", size + 10);
        assert_non_null(strstr(error.message, sizes[0]));
        assert_non_null(strstr(error.message, sizes[1]));
        free(longer);
        firn_free(bytes);
    }
}

static void things_that_are_no_vdb_files_are_refused(void **state)
{
    fixture *f = *state;
    firn_error error;
    assert_int_equal(read_everything(f, &error), FIRN_ERR_NOT_FOUND);
    write_bytes(f->path, "", 0);
    assert_int_equal(read_everything(f, &error), FIRN_ERR_FORMAT);
    write_bytes(f->path, "<html>not found</html>", 22);
    assert_int_equal(read_everything(f, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "not an OpenVDB file"));
    unlink(f->path);
    assert_int_equal(mkfifo(f->path, 0600), 0); // would block a naive open
    assert_int_equal(read_everything(f, &error), FIRN_ERR_IO);
    unlink(f->path);
    assert_int_equal(mkdir(f->path, 0700), 0);
    assert_int_equal(read_everything(f, &error), FIRN_ERR_IO);
    rmdir(f->path);
}

static void a_file_written_as_a_stream_is_refused_with_advice(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_shape_def def = firn_vdb_shape_def_default();
    firn_vdb_shape *shape = NULL;
    assert_int_equal(
        firn_vdb_read_shape(f->reader, FIRN_FIXTURES "/vdb/stream.vdb", NULL, &def, &shape, &error),
        FIRN_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "vdb_tool"));
}

// Files of OpenVDB 13: half a meter of ball at (0.1, 0.5, 0), in voxels of 5 cm.
static void files_of_format_225_are_read(void **state)
{
    fixture *f = *state;
    static const char *const files[] = {"half_225.vdb", "shared_225.vdb"};
    for (size_t i = 0; i < FIRN_COUNT(files); i++) {
        char path[400];
        snprintf(path, sizeof path, FIRN_FIXTURES "/vdb/%s", files[i]);
        firn_error error = {0};
        firn_vdb_shape_def def = firn_vdb_shape_def_default();
        firn_vdb_shape *shape = NULL;
        firn_result result = firn_vdb_read_shape(f->reader, path, NULL, &def, &shape, &error);
        if (result != FIRN_OK)
            print_error("%s\n", error.message);
        assert_int_equal(result, FIRN_OK);
        const firn_level_set *set = firn_vdb_shape_level_set(shape);
        double worst = 0.0;
        size_t count = 0;
        for (size_t k = 0; k < set->leaf_count * FIRN_LEAF_VOXELS; k++) {
            firn_coord o = set->leaf_origin[k / FIRN_LEAF_VOXELS];
            int n = (int)(k % FIRN_LEAF_VOXELS);
            firn_vec3 p = firn_transform_point(
                set->map,
                firn_vec((float)(o.x + n / 64), (float)(o.y + n / 8 % 8), (float)(o.z + n % 8)));
            float exact = firn_length(firn_sub(p, firn_vec(0.1f, 0.5f, 0.0f))) - 0.3f;
            if (fabsf(exact) > 0.1f)
                continue;
            worst = fmax(worst, fabs((double)(exact - set->values[k])));
            count++;
        }
        assert_true(count > 500 && worst < 2e-4); // a half has 11 bits
        assert_true((firn_vdb_shape_velocity(shape) != NULL) == (i == 1));
        firn_vdb_shape_destroy(shape);
    }
}

// Two grids of one tree: the second has no voxels of its own in the file.
static void a_grid_that_shares_its_tree_is_read(void **state)
{
    fixture *f = *state;
    firn_vdb_shape_def def = firn_vdb_shape_def_default();
    firn_vdb_shape *shapes[2] = {NULL, NULL};
    firn_error error;
    static const char *const names[] = {"surface", "twin"};
    for (int i = 0; i < 2; i++) {
        def.grid = names[i];
        assert_ok(firn_vdb_read_shape(f->reader, FIRN_FIXTURES "/vdb/shared_225.vdb", NULL, &def,
                                      &shapes[i], &error));
    }
    const firn_level_set *a = firn_vdb_shape_level_set(shapes[0]);
    const firn_level_set *b = firn_vdb_shape_level_set(shapes[1]);
    assert_int_equal(a->leaf_count, b->leaf_count);
    assert_memory_equal(a->values, b->values, a->leaf_count * FIRN_LEAF_VOXELS * sizeof(float));
    firn_vdb_shape_destroy(shapes[0]);
    firn_vdb_shape_destroy(shapes[1]);
}

// A grid of a type that nobody knows is listed by that type, and the others are read.
static void a_grid_of_an_unknown_type_is_passed_over_and_named(void **state)
{
    fixture *f = *state;
    FILE *file = fopen(FIRN_FIXTURES "/vdb/shared_225.vdb", "rb");
    assert_non_null(file);
    static char bytes[200000];
    firn_error error;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    // The velocity becomes a tree of quats.
    char *type = memmem(bytes, size, "Tree_vec3s_5_4_3", 16);
    assert_non_null(type);
    memcpy(type, "Tree_quats_5_4_3", 16);
    write_bytes(f->path, bytes, size);
    firn_vdb_listing *listing = NULL;
    assert_ok(firn_vdb_list(f->reader, f->path, NULL, &listing, &error));
    firn_vdb_listing_view view = firn_vdb_listing_read(listing);
    bool named = false;
    for (size_t i = 0; i < view.grid_count; i++)
        named = named || (strcmp(view.grids[i].name, "vel") == 0 &&
                          strcmp(view.grids[i].type, "Tree_quats_5_4_3") == 0);
    assert_true(named);
    firn_vdb_listing_destroy(listing);
    firn_vdb_shape_def def = firn_vdb_shape_def_default();
    firn_vdb_shape *shape = NULL;
    assert_ok(firn_vdb_read_shape(f->reader, f->path, NULL, &def, &shape, &error));
    assert_null(firn_vdb_shape_velocity(shape));
    firn_vdb_shape_destroy(shape);
}

static void one_changed_byte_of_an_own_frame_is_found(void **state)
{
    fixture *f = *state;
    firn_error error;
    size_t size;
    unsigned char *bytes = make_seed(f, FIRN_VDB_NONE, false, &size);
    firn_vdb_stamp stamp;
    assert_ok(firn_vdb_stamp_file(f->path, &stamp, &error));
    assert_int_equal(stamp.size, size);
    for (size_t at = size - 1; at > 300; at -= size / 50 < at ? size / 50 : at) {
        bytes[at] ^= 1;
        write_bytes(f->path, bytes, size);
        bytes[at] ^= 1;
        firn_vdb_volume *volume = NULL;
        assert_int_equal(firn_vdb_read_volume(f->reader, f->path, &stamp, NULL, &volume, &error),
                         FIRN_ERR_FORMAT);
        assert_null(volume);
        assert_non_null(strstr(error.message, f->path));
    }
    firn_free(bytes);
}

static void reading_longer_than_allowed_is_a_timeout(void **state)
{
    fixture *f = *state;
    firn_error error;
    size_t size;
    firn_free(make_seed(f, FIRN_VDB_BLOSC, true, &size));
    firn_vdb_reader_def def = firn_vdb_reader_def_default();
    def.timeout = 0.01f;
    // A helper that never answers.
    def.helper = FIRN_FIXTURES "/vdb/silent_helper";
    firn_vdb_reader *reader = NULL;
    assert_ok(firn_vdb_reader_create(&def, &reader, &error));
    firn_vdb_listing *listing = NULL;
    double start = firn_seconds();
    assert_int_equal(firn_vdb_list(reader, f->path, NULL, &listing, &error), FIRN_ERR_TIMEOUT);
    assert_true(firn_seconds() - start < 2.0);
    assert_non_null(strstr(error.message, f->path));
    firn_vdb_reader_destroy(reader);
}

static void a_helper_that_dies_or_lies_or_is_missing_is_an_error(void **state)
{
    fixture *f = *state;
    firn_error error;
    size_t size;
    firn_free(make_seed(f, FIRN_VDB_BLOSC, true, &size));
    const struct {
        const char *program;
        firn_result result;
    } cases[] = {
        {FIRN_FIXTURES "/vdb/dying_helper", FIRN_ERR_FORMAT},
        {FIRN_FIXTURES "/vdb/lying_helper", FIRN_ERR_FORMAT},
        {FIRN_FIXTURES "/vdb/no_such_helper", FIRN_ERR_IO},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_vdb_reader_def def = firn_vdb_reader_def_default();
        def.helper = cases[i].program;
        def.memory_limit = 100.0;
        firn_vdb_reader *reader = NULL;
        assert_ok(firn_vdb_reader_create(&def, &reader, &error));
        firn_vdb_shape_def wanted = firn_vdb_shape_def_default();
        firn_vdb_shape *shape = NULL;
        assert_int_equal(firn_vdb_read_shape(reader, f->path, NULL, &wanted, &shape, &error),
                         cases[i].result);
        assert_null(shape);
        firn_vdb_reader_destroy(reader);
    }
}

static void too_little_memory_in_the_helper_is_an_error(void **state)
{
    fixture *f = *state;
    firn_error error;
    size_t size;
    firn_free(make_seed(f, FIRN_VDB_BLOSC, true, &size));
    for (double limit = 1.0; limit < 200.0; limit *= 3.0) {
        firn_vdb_reader_def def = firn_vdb_reader_def_default();
        def.memory_limit = limit;
        firn_vdb_reader *reader = NULL;
        assert_ok(firn_vdb_reader_create(&def, &reader, &error));
        firn_vdb_volume *volume = NULL;
        firn_result result = firn_vdb_read_volume(reader, f->path, NULL, NULL, &volume, &error);
        if (limit < 2.0)
            assert_true(result == FIRN_ERR_FORMAT || result == FIRN_ERR_MEMORY);
        firn_vdb_volume_destroy(volume);
        firn_vdb_reader_destroy(reader);
    }
}

// ---- mutations
// -----------------------------------------------------------------------------------

static uint64_t random_state;

static size_t random_below(size_t limit)
{
    random_state = firn_hash64(&random_state, sizeof random_state, 77);
    return (size_t)(random_state % limit);
}

static size_t mutate(unsigned char *bytes, size_t size)
{
    size_t at = random_below(size), other = random_below(size), length = 1 + random_below(64);
    switch (random_below(7)) {
    case 0: // one byte
        bytes[at] = (unsigned char)random_below(256);
        break;
    case 1: // some bits
        for (size_t i = 0; i <= random_below(8); i++)
            bytes[random_below(size)] ^= (unsigned char)(1u << random_below(8));
        break;
    case 2: { // a number
        static const uint32_t numbers[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000};
        uint32_t number = numbers[random_below(FIRN_COUNT(numbers))];
        if (at + sizeof number <= size)
            memcpy(bytes + at, &number, sizeof number);
        break;
    }
    case 3: // cut
        return at;
    case 4: // the head, where the structure is
        bytes[random_below(size < 1500 ? size : 1500)] ^= (unsigned char)(1 + random_below(255));
        break;
    case 5: // zeros
        for (size_t i = at; i < at + length && i < size; i++)
            bytes[i] = 0;
        break;
    default: // two parts swapped
        for (size_t i = 0; i < length && at + i < size && other + i < size; i++) {
            unsigned char byte = bytes[at + i];
            bytes[at + i] = bytes[other + i];
            bytes[other + i] = byte;
        }
    }
    return size;
}

/// Reads by the kind of seed; tallies what came of it.
static void read_mutation(fixture *f, int seed, int tally[16], int *crashes)
{
    firn_error error;
    firn_vdb_cloud *cloud = NULL;
    firn_vdb_volume *volume = NULL;
    firn_vdb_shape *shape = NULL;
    firn_vdb_listing *listing = NULL;
    firn_vdb_shape_def def = firn_vdb_shape_def_default();
    firn_result result;
    if (seed == 6)
        result = firn_vdb_read_points(f->reader, f->path, NULL, NULL, &cloud, &error);
    else if (seed % 3 == 0)
        result = firn_vdb_read_volume(f->reader, f->path, NULL, NULL, &volume, &error);
    else if (seed % 3 == 1)
        result = firn_vdb_read_shape(f->reader, f->path, NULL, &def, &shape, &error);
    else
        result = firn_vdb_list(f->reader, f->path, NULL, &listing, &error);
    if (result != FIRN_OK)
        assert_true(error.message[0] != '\0' && error.code == result);
    *crashes += result != FIRN_OK && strstr(error.message, "signal") != NULL;
    tally[result]++;
    firn_vdb_cloud_destroy(cloud);
    firn_vdb_volume_destroy(volume);
    firn_vdb_shape_destroy(shape);
    firn_vdb_listing_destroy(listing);
}

static void no_mutated_file_crashes_or_stalls_the_caller(void **state)
{
    fixture *f = *state;
    const char *variable = getenv("FIRN_VDB_MUTATIONS");
    int count = variable != NULL ? atoi(variable) : 400;
    firn_vdb_reader_destroy(f->reader);
    firn_vdb_reader_def def = firn_vdb_reader_def_default();
    def.timeout = 10.0f;
    if (def.memory_limit > 0.0)
        def.memory_limit = 1000.0;
    firn_error error;
    assert_ok(firn_vdb_reader_create(&def, &f->reader, &error));
    unsigned char *seeds[7];
    size_t sizes[7];
    for (int i = 0; i < 6; i++)
        seeds[i] = make_seed(f, i % 3, i < 3, &sizes[i]);
    seeds[6] = make_point_seed(f, &sizes[6]);

    int tally[16] = {0}, crashes = 0;
    double slowest = 0.0;
    const char *first = getenv("FIRN_VDB_SEED");
    random_state = first != NULL ? strtoull(first, NULL, 10) : 20250101;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < count; i++) {
        int seed = (int)random_below(7);
        unsigned char *bytes = malloc(sizes[seed]);
        memcpy(bytes, seeds[seed], sizes[seed]);
        size_t size = mutate(bytes, sizes[seed]);
        write_bytes(f->path, bytes, size);
        free(bytes);
        double start = firn_seconds();
        read_mutation(f, seed, tally, &crashes);
        slowest = fmax(slowest, firn_seconds() - start);
    }
    getrusage(RUSAGE_SELF, &after);
    printf("%d mutations: slowest %.2f s, %ld KB more memory, %d helpers crashed;", count, slowest,
           after.ru_maxrss - before.ru_maxrss, crashes);
    for (int i = 0; i < 16; i++)
        if (tally[i] > 0)
            printf(" %d %s", tally[i], firn_result_name((firn_result)i));
    printf("\n");
    assert_true(slowest < 25.0);                                  // two tries of the time limit
    assert_true(after.ru_maxrss - before.ru_maxrss < 300 * 1000); // KB
    assert_true(tally[FIRN_OK] > 0 && tally[FIRN_ERR_FORMAT] > 0);
    for (int i = 0; i < 7; i++)
        firn_free(seeds[i]);

    // The reader still works.
    size_t size;
    firn_free(make_seed(f, FIRN_VDB_BLOSC, true, &size));
    assert_ok(read_everything(f, &error));
}

static void a_running_helper_follows_the_caller_to_another_folder(void **state)
{
    fixture *f = *state;
    firn_error error;
    size_t size;
    firn_free(make_seed(f, FIRN_VDB_BLOSC, true, &size));
    assert_ok(read_everything(f, &error));
    assert_int_equal(chdir(f->folder), 0);
    firn_vdb_listing *listing = NULL;
    firn_result result = firn_vdb_list(f->reader, "foreign.vdb", NULL, &listing, &error);
    assert_int_equal(chdir(".."), 0);
    assert_ok(result);
    firn_vdb_listing_destroy(listing);
}

static void no_child_process_outlives_its_reader(void **state)
{
    fixture *f = *state;
    firn_error error;
    size_t size;
    firn_free(make_seed(f, FIRN_VDB_BLOSC, true, &size));
    assert_ok(read_everything(f, &error));
    firn_vdb_reader_destroy(f->reader);
    f->reader = NULL;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_truncation_is_found_without_reading_voxels),
        TEST(things_that_are_no_vdb_files_are_refused),
        TEST(a_file_written_as_a_stream_is_refused_with_advice),
        TEST(files_of_format_225_are_read),
        TEST(a_grid_that_shares_its_tree_is_read),
        TEST(a_grid_of_an_unknown_type_is_passed_over_and_named),
        TEST(one_changed_byte_of_an_own_frame_is_found),
        TEST(reading_longer_than_allowed_is_a_timeout),
        TEST(a_helper_that_dies_or_lies_or_is_missing_is_an_error),
        TEST(too_little_memory_in_the_helper_is_an_error),
        TEST(no_mutated_file_crashes_or_stalls_the_caller),
        TEST(a_running_helper_follows_the_caller_to_another_folder),
        TEST(no_child_process_outlives_its_reader),
    };
    return cmocka_run_group_tests_name("vdb_hostile", tests, NULL, NULL);
}
