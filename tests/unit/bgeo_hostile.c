// Damaged files, missing memory, a full disk: errors, never harm.
#define _POSIX_C_SOURCE 200809L
#include "firn/bgeo.h"

#include "bgeo_tables.h"

#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

static const char *const names[] = {"hostile.bgeo", "hostile.bgeo.gz", "hostile.geo",
                                    "hostile.bhclassic"};

static size_t memory_now, memory_peak, allocations, failing_allocation;

static void *counted_allocate(size_t size, size_t alignment, void *user)
{
    (void)user;
    void *memory = NULL;
    if (++allocations == failing_allocation ||
        posix_memalign(&memory, alignment, size + alignment) != 0)
        return NULL;
    *(size_t *)memory = size;
    memory_now += size;
    memory_peak = memory_now > memory_peak ? memory_now : memory_peak;
    return (char *)memory + 64;
}

static void counted_release(void *memory, void *user)
{
    (void)user;
    if (memory == NULL)
        return;
    char *block = (char *)memory - 64;
    memory_now -= *(size_t *)block;
    free(block);
}

static void count_memory(size_t fail_at)
{
    static const firn_allocator counting = {counted_allocate, counted_release, NULL};
    memory_now = memory_peak = allocations = 0;
    failing_allocation = fail_at;
    firn_set_allocator(&counting);
}

static size_t disk_room = SIZE_MAX;

ssize_t __real_write(int descriptor, const void *bytes, size_t size);
ssize_t __wrap_write(int descriptor, const void *bytes, size_t size);

ssize_t __wrap_write(int descriptor, const void *bytes, size_t size)
{
    if (size > disk_room) {
        errno = ENOSPC;
        return -1;
    }
    disk_room -= disk_room == SIZE_MAX ? 0 : size;
    return __real_write(descriptor, bytes, size);
}

static firn_result write_file(const char *path, const firn_points *points, firn_error *error)
{
    firn_bgeo_def def = firn_bgeo_def_default();
    firn_result result = firn_bgeo_def_from_path(&def, path, error);
    return result != FIRN_OK ? result : firn_bgeo_write(path, points, &def, error);
}

// Every kind of storage in a small file.
static random_table *small_table(void) { return table_create(7, 9, 3, 2024, true); }

static unsigned char *small_file(const char *path, size_t *size)
{
    random_table *table = small_table();
    assert_int_equal(write_file(path, &table->points, NULL), FIRN_OK);
    table_destroy(table);
    unsigned char *bytes = slurp(path, size);
    unlink(path);
    return bytes;
}

// Whoever uses the result must find all of it.
static void touch_all(const firn_points *points)
{
    for (size_t i = 0; i < points->attribute_count; i++) {
        const firn_attribute *attribute = &points->attributes[i];
        if (attribute->storage != FIRN_STORAGE_STRING)
            firn_attribute_range(attribute, points->count, attribute->tuple_size - 1);
        for (size_t k = 0; attribute->storage == FIRN_STORAGE_STRING && k < points->count; k++)
            assert_non_null(firn_attribute_string(attribute, k));
    }
}

// Reading must end in success or a clear error; what a file may claim is bounded.
static firn_result try_reading(const unsigned char *bytes, size_t size)
{
    const firn_bgeo_limits limits = {.max_unpacked = 1 << 20, .max_bytes = 1 << 20};
    // An exact copy lets the sanitizer see a read beyond the end.
    unsigned char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, bytes, size);
    firn_error error = {0};
    firn_bgeo *geometry = NULL;
    count_memory(0);
    firn_result result = firn_bgeo_read_memory(copy, size, "hostile", &limits, &geometry, &error);
    if (result == FIRN_OK) {
        touch_all(firn_bgeo_points(geometry));
        firn_bgeo_destroy(geometry);
    } else {
        assert_null(geometry);
        assert_true(error.message[0] != '\0' && error.code == result);
    }
    assert_int_equal(memory_now, 0);
    assert_true(memory_peak < 3u << 20);
    firn_set_allocator(NULL);
    free(copy);
    return result;
}

static void every_truncation_is_an_error(void **state)
{
    (void)state;
    for (size_t n = 0; n < FIRN_COUNT(names); n++) {
        size_t size;
        unsigned char *bytes = small_file(names[n], &size);
        size_t needed = n == 2 ? size - 1 : size; // the last line end of a text may be missing
        for (size_t cut = 0; cut < needed; cut++)
            assert_int_equal(try_reading(bytes, cut), FIRN_ERR_FORMAT);
        assert_int_equal(try_reading(bytes, size), FIRN_OK);
        firn_free(bytes);
    }
}

static void mutations_do_no_harm(void **state)
{
    (void)state;
    uint64_t seed = 99;
    for (size_t n = 0; n < FIRN_COUNT(names); n++) {
        size_t size;
        unsigned char *bytes = small_file(names[n], &size);
        unsigned char *broken = malloc(size);
        for (int i = 0; i < 5000; i++) {
            memcpy(broken, bytes, size);
            for (uint64_t k = 1 + random_next(&seed) % 3; k > 0; k--) {
                uint64_t bits = random_next(&seed);
                static const unsigned char nasty[] = {0x00, 0x40, 0x5B, 0x7F,
                                                      0x80, 0xF4, 0xF8, 0xFF};
                broken[bits % size] =
                    bits >> 60 < 8 ? nasty[bits >> 60] : (unsigned char)(bits >> 32);
            }
            try_reading(broken, size);
        }
        free(broken);
        firn_free(bytes);
    }
}

static void a_gzip_bomb_is_stopped(void **state)
{
    (void)state;
    float *position = calloc(1u << 20, 3 * sizeof *position);
    firn_attribute p = {
        .name = "P", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 3, .data = position};
    firn_points points = {.count = 1u << 20, .attributes = &p, .attribute_count = 1};
    assert_int_equal(write_file("bomb.bgeo.gz", &points, NULL), FIRN_OK);
    free(position);
    size_t size;
    unsigned char *bytes = slurp("bomb.bgeo.gz", &size);
    assert_true(size < 1u << 20);
    assert_int_equal(try_reading(bytes, size), FIRN_ERR_FORMAT);
    firn_free(bytes);
    unlink("bomb.bgeo.gz");
}

// Blanks ask for no memory: the stream itself must be cut off.
static void a_gzip_bomb_of_blanks_is_stopped(void **state)
{
    (void)state;
    const firn_bgeo_limits tight = {.max_unpacked = 1 << 20, .max_bytes = 1 << 20};
    const firn_bgeo_limits enough = {.max_unpacked = 1 << 22, .max_bytes = 1 << 20};
    char *blanks = malloc(1 << 21);
    memset(blanks, ' ', 1 << 21);
    gzFile file = gzopen("blanks.geo.gz", "wb");
    assert_non_null(file);
    gzputs(file, "[\"pointcount\",0");
    gzwrite(file, blanks, 1 << 21);
    gzputs(file, "]");
    gzclose(file);
    free(blanks);
    firn_bgeo *geometry = NULL;
    firn_error error = {0};
    assert_int_equal(firn_bgeo_read("blanks.geo.gz", &tight, &geometry, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "limit"));
    assert_int_equal(firn_bgeo_read("blanks.geo.gz", &enough, &geometry, NULL), FIRN_OK);
    firn_bgeo_destroy(geometry);
    unlink("blanks.geo.gz");
}

#define CONSTANT_PAGE(count)                                                                       \
    "[\"pointcount\"," count ",\"attributes\",[\"pointattributes\",[[[\"type\",\"numeric\","       \
    "\"name\",\"P\"],[\"values\",[\"size\",3,\"pagesize\"," count                                  \
    ",\"constantpageflags\",[[true]],"                                                             \
    "\"rawpagedata\",[1,2,3]]]]]]]"

static void claims_beyond_the_file_are_refused(void **state)
{
    (void)state;
    static const char *const claims[] = {
        "\x7F\x4E\x53\x4A\x62\x40\x14\xF8\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F",
        "\x7F\x4E\x53\x4A\x62[\x27\xF8\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
        "\x7F\x4E\x53\x4A\x62[\x2B\xF4\xFF\xFF\xFF\x0F\x01x",
        "BgeoV\0\0\0\5\x7F\xFF\xFF\xFF\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        // far too many points in one constant page, and some too many for these limits
        CONSTANT_PAGE("1000000000000"),
        CONSTANT_PAGE("1000000"),
    };
    static const size_t sizes[] = {16, 16, 14, 41, 0, 0};
    for (size_t i = 0; i < FIRN_COUNT(claims); i++)
        assert_int_equal(try_reading((const unsigned char *)claims[i],
                                     sizes[i] > 0 ? sizes[i] : strlen(claims[i])),
                         FIRN_ERR_FORMAT);
    char deep[100000];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "[\"x\",", 5);
    assert_int_equal(try_reading((const unsigned char *)deep, sizeof deep), FIRN_ERR_FORMAT);
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    random_table *table = small_table();
    for (size_t n = 0; n < FIRN_COUNT(names); n++) {
        firn_result result = FIRN_ERR_MEMORY;
        for (size_t fail_at = 1; result != FIRN_OK; fail_at++) {
            firn_error error = {0};
            count_memory(fail_at);
            result = write_file(names[n], &table->points, &error);
            assert_int_equal(memory_now, 0);
            assert_true(result == FIRN_OK || error.code == FIRN_ERR_MEMORY);
            assert_true(fail_at < 1000);
        }
        result = FIRN_ERR_MEMORY;
        for (size_t fail_at = 1; result != FIRN_OK; fail_at++) {
            firn_error error = {0};
            firn_bgeo *geometry = NULL;
            count_memory(fail_at);
            result = firn_bgeo_read(names[n], NULL, &geometry, &error);
            assert_true(result == FIRN_OK || error.code == FIRN_ERR_MEMORY);
            firn_bgeo_destroy(geometry);
            assert_int_equal(memory_now, 0);
            assert_true(fail_at < 1000);
        }
        unlink(names[n]);
    }
    firn_set_allocator(NULL);
    table_destroy(table);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    random_table *old = table_create(2, 2, 0, 5, true);
    random_table *big = table_create(40000, 6, 1, 6, true);
    for (size_t n = 0; n < FIRN_COUNT(names); n++) {
        assert_int_equal(write_file(names[n], &old->points, NULL), FIRN_OK);
        for (size_t room = 0; room < 600000; room += 250000) {
            firn_error error = {0};
            disk_room = room;
            firn_result result = write_file(names[n], &big->points, &error);
            disk_room = SIZE_MAX;
            assert_int_equal(result, FIRN_ERR_DISK_FULL);
            firn_bgeo *geometry = NULL;
            assert_int_equal(firn_bgeo_read(names[n], NULL, &geometry, NULL), FIRN_OK);
            assert_same_points(&old->points, firn_bgeo_points(geometry));
            firn_bgeo_destroy(geometry);
        }
        unlink(names[n]);
    }
    glob_t found;
    assert_int_equal(glob("hostile*.tmp.*", 0, NULL, &found), GLOB_NOMATCH);
    table_destroy(old);
    table_destroy(big);
}

static void writing_needs_little_memory(void **state)
{
    (void)state;
    random_table *big = table_create(100000, 8, 1, 12, true);
    for (size_t n = 0; n < FIRN_COUNT(names); n++) {
        count_memory(0);
        assert_int_equal(write_file(names[n], &big->points, NULL), FIRN_OK);
        assert_true(memory_peak < 1u << 20);
        firn_set_allocator(NULL);
        unlink(names[n]);
    }
    table_destroy(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_is_an_error),
        cmocka_unit_test(mutations_do_no_harm),
        cmocka_unit_test(a_gzip_bomb_is_stopped),
        cmocka_unit_test(a_gzip_bomb_of_blanks_is_stopped),
        cmocka_unit_test(claims_beyond_the_file_are_refused),
        cmocka_unit_test(running_out_of_memory_is_reported),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(writing_needs_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
