// Damaged archives give a clear error; none crashes, hangs or takes memory beyond its size.
#define _POSIX_C_SOURCE 200809L
#include "fuzz/abc_walk.h"
#include "unit/abc_builder.h"

#include "firn/file.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct meter {
    size_t live, peak;
    long allocations, fail_at; // fails the fail_at-th, or from it on; 0 never
    bool once;
} meter;

enum { METER_HEAD = 64 };

static void *metered_allocate(size_t bytes, size_t alignment, void *user)
{
    meter *m = user;
    m->allocations++;
    bool fails = m->once ? m->allocations == m->fail_at : m->allocations >= m->fail_at;
    if (m->fail_at > 0 && fails)
        return NULL;
    void *memory = NULL;
    if (bytes > SIZE_MAX / 2 || posix_memalign(&memory, alignment, bytes + METER_HEAD) != 0)
        return NULL;
    *(size_t *)memory = bytes;
    m->live += bytes;
    m->peak = m->live > m->peak ? m->live : m->peak;
    return (char *)memory + METER_HEAD;
}

static void metered_release(void *memory, void *user)
{
    if (memory == NULL)
        return;
    meter *m = user;
    void *start = (char *)memory - METER_HEAD;
    m->live -= *(size_t *)start;
    free(start);
}

static void start_meter(meter *m, long fail_at)
{
    *m = (meter){.fail_at = fail_at};
    const firn_allocator allocator = {metered_allocate, metered_release, m};
    firn_set_allocator(&allocator);
}

static size_t stop_meter(meter *m)
{
    firn_set_allocator(NULL);
    assert_int_equal(m->live, 0);
    return m->peak;
}

static unsigned char *load(const char *name, size_t *size)
{
    char path[1024];
    snprintf(path, sizeof path, FIRN_FIXTURES "/alembic/%s.abc", name);
    void *bytes;
    firn_error error;
    if (firn_file_read(path, 1 << 24, &bytes, size, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return bytes;
}

// Opens and reads everything. Returns the failure of opening, or else the first of reading.
static abc_walk_report read_all(const void *bytes, size_t size, const char *name)
{
    abc_walk_report report = {.failed_object = -1};
    firn_abc *archive;
    firn_result result = firn_abc_open_memory(bytes, size, name, &archive, &report.error);
    if (result != FIRN_OK) {
        assert_null(archive);
        report.failures = 1;
        return report;
    }
    report = abc_walk(archive);
    firn_abc_close(archive);
    return report;
}

// What memory a file of a size may take: a small multiple, and a little for the smallest.
static size_t fair_memory(size_t size) { return 16 * size + 32768; }

static void sound_archives_read_without_complaint(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(abc_fixtures); i++) {
        size_t size;
        unsigned char *bytes = load(abc_fixtures[i], &size);
        meter m;
        start_meter(&m, 0);
        abc_walk_report report = read_all(bytes, size, abc_fixtures[i]);
        size_t peak = stop_meter(&m);
        if (report.failures > 0)
            fail_msg("%s", report.error.message);
        assert_true(report.values > 0);
        assert_true(peak <= fair_memory(size));
        firn_free(bytes);
    }
}

static bool key_of(const firn_abc *archive, int object, const char *path, uint32_t index,
                   uint8_t key[16])
{
    int property = firn_abc_property_find(archive, object, path);
    firn_abc_array array;
    if (property < 0 || index >= firn_abc_property_at(archive, property)->sample_count ||
        firn_abc_read(archive, property, index, &array, NULL) != FIRN_OK)
        return false;
    memcpy(key, array.key, 16);
    firn_abc_array_free(&array);
    return true;
}

// Writers store equal data once, so damage to it hits every mesh that uses it.
static bool shares_faces(const firn_abc *archive, int a, int b)
{
    static const char *const paths[] = {".geom/.faceCounts", ".geom/.faceIndices"};
    for (size_t i = 0; i < FIRN_COUNT(paths); i++) {
        uint8_t key_a[16], key_b[16];
        for (uint32_t k = 0; key_of(archive, b, paths[i], k, key_b); k++)
            if (key_of(archive, a, paths[i], 0, key_a) && memcmp(key_a, key_b, 16) == 0)
                return true;
    }
    return false;
}

// An object with a content error leaves the others readable.
static void check_content_error(const unsigned char *bytes, size_t size, const char *path)
{
    firn_abc *archive;
    assert_int_equal(firn_abc_open_memory(bytes, size, "damaged", &archive, NULL), FIRN_OK);
    int damaged = firn_abc_object_find(archive, path);
    for (int i = 0; i < firn_abc_object_count(archive); i++) {
        abc_walk_report report = {.failed_object = -1};
        abc_walk_object(archive, i, &report);
        assert_true(report.failures == 0 || shares_faces(archive, damaged, i));
        if (i == damaged) {
            assert_true(report.failures > 0);
            assert_int_equal(report.error.code, FIRN_ERR_FORMAT);
            assert_non_null(strstr(report.error.message, path));
        }
    }
    firn_abc_close(archive);
}

static void check_damaged(const json_t *entry)
{
    const char *file = json_string_value(json_object_get(entry, "file"));
    const char *expect = json_string_value(json_object_get(entry, "expect"));
    char name[256];
    snprintf(name, sizeof name, "corrupt/%.*s", (int)(strlen(file) - 4), file);
    size_t size;
    unsigned char *bytes = load(name, &size);
    abc_walk_report report = read_all(bytes, size, file);
    static const char content[] = "content error in ";
    // "reader's choice": a position that is not a number is refused.
    if (report.failures == 0)
        fail_msg("%s: no complaint, expected %s", file, expect);
    assert_true(report.error.code == FIRN_ERR_FORMAT || report.error.code == FIRN_ERR_UNSUPPORTED);
    assert_non_null(strstr(report.error.message, file));
    if (strncmp(expect, content, sizeof content - 1) == 0) {
        char path[256];
        snprintf(path, sizeof path, "%s", expect + sizeof content - 1);
        path[strcspn(path, " ")] = '\0';
        check_content_error(bytes, size, path);
    }
    firn_free(bytes);
}

static void damaged_archives_get_the_answer_of_their_list(void **state)
{
    (void)state;
    json_error_t error;
    json_t *list = json_load_file(FIRN_FIXTURES "/alembic/corrupt/manifest.json", 0, &error),
           *entry;
    assert_non_null(list);
    assert_int_equal(json_array_size(list), 49);
    size_t i;
    json_array_foreach(list, i, entry) { check_damaged(entry); }
    json_decref(list);
}

// Where several checks could speak, the one that knows the cause does.
static void damage_is_named_by_its_cause(void **state)
{
    (void)state;
    static const struct {
        const char *file, *words;
    } cases[] = {
        {"array_not_multiple", "20 bytes, but a value takes 12"},
        {"compound_cycle", "'.geom': it contains itself"},
        {"group_cycle_self", "'p' contains itself"},
        {"group_cycle_ancestor", "'static_cube' contains itself"},
        {"num_samples_huge", "4 parts of its samples are stored instead of 510"},
        {"unfrozen", "not finished"},
        {"hdf5_magic", "HDF5"},
        {"data_size_below_key", "8 bytes"},
        {"time_count_zero", "time sampling"},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        char name[128];
        size_t size;
        snprintf(name, sizeof name, "corrupt/%s", cases[i].file);
        unsigned char *bytes = load(name, &size);
        abc_walk_report report = read_all(bytes, size, name);
        if (strstr(report.error.message, cases[i].words) == NULL)
            fail_msg("%s", report.error.message);
        firn_free(bytes);
    }
}

static void truncated_archives_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(abc_fixtures); i++) {
        size_t size;
        unsigned char *bytes = load(abc_fixtures[i], &size);
        for (size_t cut = 0; cut < size; cut += 64) {
            // A copy of the exact size lets a sanitizer see a read past the end.
            unsigned char *copy = malloc(cut > 0 ? cut : 1);
            memcpy(copy, bytes, cut);
            abc_walk_report report = read_all(copy, cut, abc_fixtures[i]);
            assert_true(report.failures > 0);
            free(copy);
        }
        firn_free(bytes);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void archives_with_a_changed_byte_do_no_harm(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int refused = 0, mutations = 0;
    for (size_t i = 0; i < FIRN_COUNT(abc_fixtures); i++) {
        size_t size;
        unsigned char *bytes = load(abc_fixtures[i], &size);
        for (int k = 0; k < 720; k++, mutations++) {
            size_t at = next_random(&seed) % size;
            // Half of them near the end, where the table of contents is.
            if (k % 2 == 0 && size > 4096)
                at = size - 1 - next_random(&seed) % 4096;
            unsigned char old = bytes[at];
            bytes[at] = (unsigned char)(k % 4 < 2 ? next_random(&seed) : old ^ (1u << (k / 4 % 8)));
            meter m;
            start_meter(&m, 0);
            abc_walk_report report = read_all(bytes, size, abc_fixtures[i]);
            size_t peak = stop_meter(&m);
            if (peak > fair_memory(size))
                fail_msg("%s, byte %zu: %zu bytes of memory", abc_fixtures[i], at, peak);
            refused += report.failures > 0 ? 1 : 0;
            bytes[at] = old;
        }
        firn_free(bytes);
    }
    assert_true(mutations >= 5000);
    assert_true(refused > 500); // the damage does reach the reader
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(abc_fixtures); i++) {
        size_t size;
        unsigned char *bytes = load(abc_fixtures[i], &size);
        meter m;
        start_meter(&m, 0);
        read_all(bytes, size, abc_fixtures[i]);
        long needed = m.allocations;
        stop_meter(&m);
        // Every allocation of opening and of the first objects, then a spread of the rest.
        for (long n = 1; n <= needed; n += n < 300 ? 1 : needed / 300 + 1) {
            for (int once = 0; once < 2; once++) {
                start_meter(&m, n);
                m.once = once != 0;
                abc_walk_report report = read_all(bytes, size, abc_fixtures[i]);
                stop_meter(&m);
                assert_true(report.failures > 0);
                assert_int_equal(report.error.code, FIRN_ERR_MEMORY);
            }
        }
        firn_free(bytes);
    }
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    firn_file_writer *file;
    assert_int_equal(firn_file_create(path, &file, NULL), FIRN_OK);
    firn_file_write(file, bytes, size);
    assert_int_equal(firn_file_commit(file, NULL), FIRN_OK);
}

static void file_that_shrinks_while_open_is_an_error(void **state)
{
    (void)state;
    const char *path = "abc_damage_shrinking.abc";
    size_t size;
    unsigned char *bytes = load("points_anim", &size);
    write_file(path, bytes, size);
    firn_abc *archive;
    assert_int_equal(firn_abc_open(path, &archive, NULL), FIRN_OK);
    assert_int_equal(abc_walk(archive).failures, 0);
    assert_int_equal(truncate(path, (off_t)(size / 4)), 0);
    abc_walk_report report = abc_walk(archive);
    assert_true(report.failures > 0);
    assert_int_equal(report.error.code, FIRN_ERR_FORMAT);
    assert_non_null(strstr(report.error.message, "shorter"));
    firn_abc_close(archive);
    remove(path);
    firn_free(bytes);
}

static void large_file_is_read_in_place(void **state)
{
    (void)state;
    // Ten gibibytes, almost all of it a hole; the positions lie at the end.
    const char *path = "abc_damage_large.abc";
    const uint64_t far = (uint64_t)10 << 30;
    static abc_builder b;
    static const float position[] = {1, 2, 3};
    static const uint64_t id = UINT64_MAX;
    static const size_t one = 1;
    const void *ids[] = {&id};
    const uint64_t words[2] = {far | (uint64_t)1 << 63, (uint64_t)1 << 63};
    abc_list geometry = {.count = 0}, objects = {.count = 0};
    abc_builder_start(&b);
    abc_list_property(&geometry, "P", "", 2, FIRN_ABC_POD_FLOAT32, 3, 1,
                      abc_builder_group(&b, words, 2));
    abc_list_array(&b, &geometry, ".pointIds", "", FIRN_ABC_POD_UINT64, 1, ids, &one, 1);
    abc_list_schema_object(&b, &objects, "p", "AbcGeom_Points_v1", ".geom", &geometry, NULL);
    abc_builder_finish(&b, abc_builder_object(&b, 0, &objects), 1.0);
    const uint64_t size = 16 + sizeof position;
    int descriptor = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(pwrite(descriptor, b.bytes, b.size, 0) == (ssize_t)b.size);
    assert_true(pwrite(descriptor, &size, 8, (off_t)far) == 8);
    assert_true(pwrite(descriptor, position, sizeof position, (off_t)far + 24) == sizeof position);
    close(descriptor);

    meter m;
    start_meter(&m, 0);
    firn_abc *archive;
    firn_abc_points points;
    assert_int_equal(firn_abc_open(path, &archive, NULL), FIRN_OK);
    assert_int_equal(firn_abc_read_points(archive, 1, 0.0, &points, NULL), FIRN_OK);
    assert_int_equal(points.count, 1);
    assert_true(points.position[0].z == 3.0f && points.id[0] == UINT64_MAX);
    firn_abc_points_free(&points);
    firn_abc_close(archive);
    assert_true(stop_meter(&m) < 1 << 20);
    remove(path);
}

static void what_is_no_file_is_named(void **state)
{
    (void)state;
    firn_abc *archive;
    firn_error error;
    assert_int_equal(firn_abc_open("no/such/file.abc", &archive, &error), FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "no/such/file.abc"));
    assert_int_equal(firn_abc_open("/", &archive, &error), FIRN_ERR_IO);
    assert_int_equal(firn_abc_open("/dev/null", &archive, &error), FIRN_ERR_IO);
    assert_null(archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_archives_read_without_complaint),
        cmocka_unit_test(damaged_archives_get_the_answer_of_their_list),
        cmocka_unit_test(damage_is_named_by_its_cause),
        cmocka_unit_test(truncated_archives_are_refused),
        cmocka_unit_test(archives_with_a_changed_byte_do_no_harm),
        cmocka_unit_test(running_out_of_memory_is_an_error),
        cmocka_unit_test(file_that_shrinks_while_open_is_an_error),
        cmocka_unit_test(large_file_is_read_in_place),
        cmocka_unit_test(what_is_no_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
