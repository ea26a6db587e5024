#define _POSIX_C_SOURCE 200809L
#include "firn/bgeo.h"

#include "bgeo_tables.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const names[] = {"trip.bgeo",   "trip.bgeo.gz",   "trip.geo",
                                    "trip.geo.gz", "trip.bhclassic", "trip.bhclassic.gz"};

static void write_file(const char *path, const firn_points *points)
{
    firn_error error = {0};
    firn_bgeo_def def = firn_bgeo_def_default();
    assert_int_equal(firn_bgeo_def_from_path(&def, path, &error), FIRN_OK);
    if (firn_bgeo_write(path, points, &def, &error) != FIRN_OK)
        fail_msg("%s", error.message);
}

static firn_bgeo *read_file(const char *path)
{
    firn_error error = {0};
    firn_bgeo *geometry = NULL;
    if (firn_bgeo_read(path, NULL, &geometry, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return geometry;
}

static firn_bgeo *read_text(const char *text)
{
    firn_error error = {0};
    firn_bgeo *geometry = NULL;
    if (firn_bgeo_read_memory(text, strlen(text), "text", NULL, &geometry, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return geometry;
}

static void what_is_written_comes_back(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 1023, 1025, 5000};
    uint64_t seed = 7;
    for (size_t c = 0; c < FIRN_COUNT(counts); c++) {
        for (size_t n = 0; n < FIRN_COUNT(names); n++) {
            for (int repeat = 0; repeat < 4; repeat++) {
                size_t attributes = 1 + random_next(&seed) % 12;
                random_table *table = table_create(counts[c], attributes, random_next(&seed) % 5,
                                                   random_next(&seed), n >= 4);
                write_file(names[n], &table->points);
                firn_bgeo *geometry = read_file(names[n]);
                assert_same_points(&table->points, firn_bgeo_points(geometry));
                assert_int_equal(firn_bgeo_describe(geometry)->format, n / 2);
                assert_int_equal(firn_bgeo_describe(geometry)->gzip, n % 2);
                assert_int_equal(firn_bgeo_describe(geometry)->skipped_count, 0);
                firn_bgeo_destroy(geometry);
                table_destroy(table);
            }
        }
    }
    for (size_t n = 0; n < FIRN_COUNT(names); n++)
        unlink(names[n]);
}

static void storage_and_type_info_survive_in_modern_files(void **state)
{
    (void)state;
    static const char *const modern[] = {"kind.bgeo", "kind.geo"};
    for (size_t n = 0; n < FIRN_COUNT(modern); n++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            random_table *table = table_create(3, 8, 3, seed, false);
            write_file(modern[n], &table->points);
            firn_bgeo *geometry = read_file(modern[n]);
            for (size_t i = 0; i < 8; i++) {
                const firn_attribute *before = &table->attributes[i];
                const firn_attribute *after = &firn_bgeo_points(geometry)->attributes[i];
                bool widened = before->storage == FIRN_STORAGE_UINT32 ||
                               before->storage == FIRN_STORAGE_UINT64;
                assert_string_equal(before->name, after->name);
                assert_int_equal(before->type_info, after->type_info);
                assert_int_equal(widened ? FIRN_STORAGE_INT64 : before->storage, after->storage);
            }
            firn_bgeo_destroy(geometry);
            table_destroy(table);
        }
        unlink(modern[n]);
    }
}

static void equal_points_give_equal_files(void **state)
{
    (void)state;
    random_table *table = table_create(3000, 6, 2, 11, true);
    for (size_t n = 0; n < FIRN_COUNT(names); n++) {
        size_t first_size, second_size;
        write_file(names[n], &table->points);
        unsigned char *first = slurp(names[n], &first_size);
        sleep(n == 1 ? 1 : 0); // a time in the gzip header would show
        write_file(names[n], &table->points);
        unsigned char *second = slurp(names[n], &second_size);
        assert_int_equal(first_size, second_size);
        assert_memory_equal(first, second, first_size);
        firn_free(first);
        firn_free(second);
        unlink(names[n]);
    }
    table_destroy(table);
}

/// Expected bytes, put together by hand.
typedef struct bytes {
    unsigned char at[4096];
    size_t size;
} bytes;

static void add(bytes *b, const void *more, size_t size)
{
    memcpy(b->at + b->size, more, size);
    b->size += size;
}

static void add_string(bytes *b, const char *text)
{
    unsigned char head[2] = {0x27, (unsigned char)strlen(text)};
    add(b, head, 2);
    add(b, text, strlen(text));
}

static void add_small(bytes *b, int value)
{
    unsigned char head[2] = {0x11, (unsigned char)value};
    add(b, head, 2);
}

static void add_double(bytes *b, double value)
{
    add(b, "\x1A", 1);
    add(b, &value, 8);
}

static void assert_file_is(const char *path, const bytes *expected)
{
    size_t size;
    unsigned char *found = slurp(path, &size);
    assert_int_equal(size, expected->size);
    assert_memory_equal(found, expected->at, size);
    firn_free(found);
    unlink(path);
}

// What the format puts around the attributes of a file with one point.
static void add_opening(bytes *b, const float position[3])
{
    add(b, "\x7F\x4E\x53\x4A\x62[", 6);
    add_string(b, "fileversion");
    add_string(b, "18.5.408");
    add_string(b, "hasindex");
    add(b, "\x30", 1);
    add_string(b, "pointcount");
    add_small(b, 1);
    add_string(b, "vertexcount");
    add_small(b, 0);
    add_string(b, "primitivecount");
    add_small(b, 0);
    add_string(b, "info");
    add(b, "{", 1);
    add_string(b, "software");
    add_string(b, "firn " FIRN_VERSION);
    add_string(b, "bounds");
    add(b, "[", 1);
    for (int i = 0; i < 3; i++) {
        add_double(b, position[i]);
        add_double(b, position[i]);
    }
    add(b, "]}", 2);
    add_string(b, "topology");
    add(b, "[", 1);
    add_string(b, "pointref");
    add(b, "[", 1);
    add_string(b, "indices");
    add(b, "[]]]", 4);
}

static void a_modern_file_has_the_bytes_of_the_format(void **state)
{
    (void)state;
    const float position[3] = {1.0f, -2.0f, 0.5f};
    firn_attribute p = {.name = "P",
                        .storage = FIRN_STORAGE_FLOAT32,
                        .tuple_size = 3,
                        .type_info = FIRN_TYPE_POINT,
                        .data = position};
    firn_points points = {.count = 1, .attributes = &p, .attribute_count = 1};
    write_file("bytes.bgeo", &points);

    bytes b = {.size = 0};
    add_opening(&b, position);
    add_string(&b, "attributes");
    add(&b, "[", 1);
    add_string(&b, "pointattributes");
    add(&b, "[[[", 3);
    add_string(&b, "scope");
    add_string(&b, "public");
    add_string(&b, "type");
    add_string(&b, "numeric");
    add_string(&b, "name");
    add_string(&b, "P");
    add_string(&b, "options");
    add(&b, "{", 1);
    add_string(&b, "type");
    add(&b, "{", 1);
    add_string(&b, "type");
    add_string(&b, "string");
    add_string(&b, "value");
    add_string(&b, "point");
    add(&b, "}}][", 4);
    add_string(&b, "size");
    add_small(&b, 3);
    add_string(&b, "storage");
    add_string(&b, "fpreal32");
    add_string(&b, "defaults");
    add(&b, "[", 1);
    add_string(&b, "size");
    add_small(&b, 1);
    add_string(&b, "storage");
    add_string(&b, "fpreal64");
    add_string(&b, "values");
    add(&b, "[", 1);
    add_double(&b, 0.0);
    add(&b, "]]", 2);
    add_string(&b, "values");
    add(&b, "[", 1);
    add_string(&b, "size");
    add_small(&b, 3);
    add_string(&b, "storage");
    add_string(&b, "fpreal32");
    add_string(&b, "pagesize");
    add(&b, "\x12\x00\x04", 3);
    add_string(&b, "rawpagedata");
    add(&b, "\x40\x19\x03", 3);
    add(&b, position, 12);
    add(&b, "]]]]]", 5);
    add_string(&b, "primitives");
    add(&b, "[]]", 3);
    assert_file_is("bytes.bgeo", &b);
}

static void a_classic_file_has_the_bytes_of_the_format(void **state)
{
    (void)state;
    const float position[6] = {1.0f, 2.0f, 0.5f, -1.0f, 0.0f, 4.0f};
    const float velocity[6] = {1.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f};
    const uint32_t id[2] = {7, 258};
    const int32_t frame = 1001, names_index[2] = {0, -1};
    const char *const strings[] = {"ab"};
    firn_attribute attributes[] = {
        {.name = "v",
         .storage = FIRN_STORAGE_FLOAT32,
         .tuple_size = 3,
         .type_info = FIRN_TYPE_VECTOR,
         .data = velocity},
        {.name = "P", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 3, .data = position},
        {.name = "id", .storage = FIRN_STORAGE_UINT32, .tuple_size = 1, .data = id},
        {.name = "s",
         .storage = FIRN_STORAGE_STRING,
         .tuple_size = 1,
         .data = names_index,
         .strings = strings,
         .string_count = 1}};
    firn_attribute detail = {
        .name = "f", .storage = FIRN_STORAGE_INT32, .tuple_size = 1, .data = &frame};
    firn_points points = {.count = 2,
                          .attributes = attributes,
                          .attribute_count = 4,
                          .details = &detail,
                          .detail_count = 1};
    write_file("bytes.bhclassic", &points);
    static const char expected[] =
        "BgeoV\0\0\0\5\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\1"
        "\0\1v\0\3\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\2id\0\1\0\0\0\1\0\0\0\0"
        "\0\1s\0\1\0\0\0\4\0\0\0\1\0\2ab"
        "\x3F\x80\0\0\x40\0\0\0\x3F\0\0\0\x3F\x80\0\0"
        "\x3F\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\7\0\0\0\0"
        "\xBF\x80\0\0\0\0\0\0\x40\x80\0\0\x3F\x80\0\0"
        "\0\0\0\0\x3F\x80\0\0\0\0\0\0\0\0\1\2\xFF\xFF\xFF\xFF"
        "\0\1f\0\1\0\0\0\1\0\0\0\0\0\0\3\xE9"
        "\0\xFF";
    bytes b = {.size = 0};
    add(&b, expected, sizeof expected - 1);
    assert_file_is("bytes.bhclassic", &b);
}

static void lengths_take_one_three_five_bytes(void **state)
{
    (void)state;
    static const size_t counts[] = {240, 241, 65535, 65536};
    static const unsigned char heads[][5] = {
        {0xF0}, {0xF2, 0xF1, 0x00}, {0xF2, 0xFF, 0xFF}, {0xF4, 0x00, 0x00, 0x01, 0x00}};
    static const size_t head_sizes[] = {1, 3, 3, 5};
    for (size_t i = 0; i < FIRN_COUNT(counts); i++) {
        float *position = calloc(counts[i], 3 * sizeof *position);
        uint8_t *flag = malloc(counts[i]);
        memset(flag, 0xA5, counts[i]);
        firn_attribute attributes[] = {
            {.name = "P", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 3, .data = position},
            {.name = "flag", .storage = FIRN_STORAGE_UINT8, .tuple_size = 1, .data = flag}};
        firn_points points = {.count = counts[i], .attributes = attributes, .attribute_count = 2};
        write_file("length.bgeo", &points);
        size_t size;
        unsigned char *found = slurp("length.bgeo", &size);
        const unsigned char *at = found + size - 3 - 12 - 5 - counts[i] - head_sizes[i] - 2;
        assert_int_equal(at[0], 0x40);
        assert_int_equal(at[1], 0x21);
        assert_memory_equal(at + 2, heads[i], head_sizes[i]);
        assert_int_equal(at[2 + head_sizes[i]], 0xA5);
        firn_bgeo *geometry = read_file("length.bgeo");
        assert_same_points(&points, firn_bgeo_points(geometry));
        firn_bgeo_destroy(geometry);
        firn_free(found);
        free(position);
        free(flag);
    }
    unlink("length.bgeo");
}

#define HEAD(count)                                                                                \
    "[\"fileversion\",\"19.0\",\"pointcount\"," count ",\"attributes\",[\"pointattributes\",["
#define P_OF(values)                                                                               \
    "[[\"type\",\"numeric\",\"name\",\"P\"],[\"values\",[\"size\",3,\"storage\","                  \
    "\"fpreal32\"," values "]]]"
#define TAIL "]],\"primitives\",[[1,2,{\"x\":[]}]]]"

static void pages_slices_and_constants_are_unpacked(void **state)
{
    (void)state;
    firn_bgeo *geometry = read_text(HEAD("5") P_OF(
        "\"packing\",[1,2],\"pagesize\",2,\"constantpageflags\",[[true,false,true],[]],"
        "\"rawpagedata\",[10,20,30,21,31, 11,12,22,32,23,33, 13,24,34]") TAIL);
    static const float expected[] = {10, 20, 30, 10, 21, 31, 11, 22, 32, 12, 23, 33, 13, 24, 34};
    const firn_points *points = firn_bgeo_points(geometry);
    assert_memory_equal(points->attributes[0].data, expected, sizeof expected);
    firn_vec3 lower, upper;
    assert_true(firn_points_bounds(points, &lower, &upper));
    assert_true(lower.x == 10 && lower.y == 20 && lower.z == 30);
    assert_true(upper.x == 13 && upper.y == 24 && upper.z == 34);
    firn_bgeo_destroy(geometry);
}

static void string_indices_out_of_range_mean_no_string(void **state)
{
    (void)state;
    static const char classic[] =
        "BgeoV\0\0\0\5\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\1s\0\1\0\0\0\4\0\0\0\1\0\2ab"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7\0\xFF";
    firn_bgeo *geometries[2] = {NULL, NULL};
    assert_int_equal(
        firn_bgeo_read_memory(classic, sizeof classic - 1, "classic", NULL, &geometries[0], NULL),
        FIRN_OK);
    geometries[1] = read_text(
        HEAD("2") P_OF("\"tuples\",[[0,0,0],[1,1,1]]") ",[[\"type\",\"string\",\"name\",\"s\"],"
                                                       "[\"strings\",[\"ab\"],\"indices\",["
                                                       "\"arrays\",[[0,7]]]]]" TAIL);
    for (int i = 0; i < 2; i++) {
        const firn_attribute *s = firn_points_find(firn_bgeo_points(geometries[i]), "s");
        assert_string_equal(firn_attribute_string(s, 0), "ab");
        assert_int_equal(((const int32_t *)s->data)[1], -1);
        firn_bgeo_destroy(geometries[i]);
    }
}

static void old_positions_lose_their_w(void **state)
{
    (void)state;
    firn_bgeo *geometry = read_text(
        HEAD("2") "[[\"type\",\"numeric\",\"name\",\"P\"],[\"values\",[\"size\",4,\"storage\","
                  "\"fpreal32\",\"packing\",[3,1],\"pagesize\",1024,\"constantpageflags\","
                  "[[],[true]],\"rawpagedata\",[1,2,3,4,5,6,1]]]]" TAIL);
    static const float expected[] = {1, 2, 3, 4, 5, 6};
    const firn_attribute *p = firn_points_find(firn_bgeo_points(geometry), "P");
    assert_int_equal(p->tuple_size, 3);
    assert_memory_equal(p->data, expected, sizeof expected);
    firn_bgeo_destroy(geometry);
}

static void unknown_kinds_are_named_and_passed_over(void **state)
{
    (void)state;
    firn_bgeo *geometry = read_text(
        HEAD("1") "[[\"type\",\"dict\",\"name\",\"settings\"],[\"size\",1,\"dicts\",[{\"a\":{}}]]],"
                  "[[\"type\",\"numeric\",\"name\",\"odd\"],[\"values\",[\"size\",1,\"storage\","
                  "\"uint17\",\"arrays\",[[5]]]]]," P_OF("\"tuples\",[[1e0,-2.5,3]]") TAIL);
    const firn_bgeo_info *info = firn_bgeo_describe(geometry);
    assert_int_equal(firn_bgeo_points(geometry)->attribute_count, 1);
    assert_int_equal(info->skipped_count, 2);
    assert_string_equal(info->skipped[0], "settings");
    assert_string_equal(info->skipped[1], "odd");
    assert_string_equal(info->file_version, "19.0");
    firn_bgeo_destroy(geometry);
}

// The same tree in the byte order of the other half of the world, with shared strings, tagged
// numbers, packed bools and a uniform array.
static void files_of_the_other_byte_order_are_read(void **state)
{
    (void)state;
    static const char text[] =
        "\x7F\x62\x4A\x53\x4E["
        "\x2B\x00\x0Apointcount\x26\x00\x13\x00\x00\x00\x04"
        "\x27\x0A"
        "attributes["
        "\x27\x0Fpointattributes[[["
        "\x2B\x01\x04type\x26\x01\x27\x07numeric"
        "\x27\x04name\x27\x01P]["
        "\x2B\x02\x06values\x26\x02["
        "\x27\x04size\x11\x03\x27\x08pagesize\x12\x00\x02"
        "\x27\x11"
        "constantpageflags[\x40\x10\x02\x00\x00\x00\x01]"
        "\x27\x0Brawpagedata\x40\x19\x09\x3F\x80\x00\x00\x40\x00\x00\x00\x40\x40\x00\x00"
        "\xBF\x80\x00\x00\xC0\x00\x00\x00\xC0\x40\x00\x00"
        "\x00\x00\x00\x00\x3F\x80\x00\x00\x3F\x00\x00\x00]]]]]]";
    firn_error error = {0};
    firn_bgeo *geometry = NULL;
    if (firn_bgeo_read_memory(text, sizeof text - 1, "swapped", NULL, &geometry, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    static const float expected[] = {1, 2, 3, 1, 2, 3, -1, -2, -3, 0, 1, 0.5f};
    assert_memory_equal(firn_points_find(firn_bgeo_points(geometry), "P")->data, expected,
                        sizeof expected);
    firn_bgeo_destroy(geometry);
}

static void values_that_are_not_finite_survive_and_are_counted(void **state)
{
    (void)state;
    const float position[6] = {NAN, 1.0f, -INFINITY, 2.0f, INFINITY, 3.0f};
    firn_attribute p = {
        .name = "P", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 3, .data = position};
    firn_points points = {.count = 2, .attributes = &p, .attribute_count = 1};
    for (size_t n = 0; n < FIRN_COUNT(names); n++) {
        write_file(names[n], &points);
        firn_bgeo *geometry = read_file(names[n]);
        const float *found = firn_points_find(firn_bgeo_points(geometry), "P")->data;
        for (int i = 0; i < 6; i++)
            assert_true(isnan(position[i]) ? isnan(found[i]) : position[i] == found[i]);
        firn_bgeo_destroy(geometry);
        unlink(names[n]);
    }
    firn_range range = firn_attribute_range(&p, 2, 0);
    assert_true(range.lower == 2.0 && range.upper == 2.0 && range.not_finite == 1);
}

static void tables_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    const float position[3] = {0};
    const int32_t index[1] = {4};
    const uint64_t huge[1] = {UINT64_MAX};
    const firn_attribute p = {
        .name = "P", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 3, .data = position};
    const struct {
        firn_attribute attribute;
        firn_result result;
    } cases[] = {
        {{.name = "P", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 3, .data = position},
         FIRN_ERR_ARGUMENT},
        {{.name = "", .tuple_size = 1, .data = position}, FIRN_ERR_ARGUMENT},
        {{.name = "a", .tuple_size = 0, .data = position}, FIRN_ERR_ARGUMENT},
        {{.name = "a", .tuple_size = 1000, .data = position}, FIRN_ERR_ARGUMENT},
        {{.name = "a", .tuple_size = 1, .data = NULL}, FIRN_ERR_ARGUMENT},
        {{.name = "a", .tuple_size = 1, .storage = FIRN_STORAGE_COUNT, .data = position},
         FIRN_ERR_ARGUMENT},
        {{.name = "a", .tuple_size = 1, .storage = FIRN_STORAGE_STRING, .data = index},
         FIRN_ERR_ARGUMENT},
        {{.name = "a", .tuple_size = 1, .storage = FIRN_STORAGE_UINT64, .data = huge},
         FIRN_ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_attribute attributes[2] = {p, cases[i].attribute};
        firn_points points = {.count = 1, .attributes = attributes, .attribute_count = 2};
        firn_bgeo_def def = firn_bgeo_def_default();
        assert_int_equal(firn_bgeo_write("no.bgeo", &points, &def, NULL), cases[i].result);
        assert_int_not_equal(access("no.bgeo", F_OK), 0);
    }
    firn_points none = {0};
    firn_bgeo_def def = firn_bgeo_def_default();
    assert_int_equal(firn_bgeo_write("no.bgeo", &none, &def, NULL), FIRN_ERR_ARGUMENT);
    firn_points one = {.count = 1, .attributes = &p, .attribute_count = 1};
    firn_bgeo_def zero;
    memset(&zero, 0, sizeof zero);
    assert_int_equal(firn_bgeo_write("no.bgeo", &one, &zero, NULL), FIRN_ERR_ARGUMENT);
}

static void integers_too_wide_for_classic_files_are_refused(void **state)
{
    (void)state;
    const float position[3] = {0};
    const int64_t id[1] = {INT64_C(1) << 31};
    firn_attribute attributes[] = {
        {.name = "P", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 3, .data = position},
        {.name = "id", .storage = FIRN_STORAGE_INT64, .tuple_size = 1, .data = id}};
    firn_points points = {.count = 1, .attributes = attributes, .attribute_count = 2};
    firn_bgeo_def def = firn_bgeo_def_default();
    def.format = FIRN_BGEO_CLASSIC;
    firn_error error;
    assert_int_equal(firn_bgeo_write("wide.bgeo", &points, &def, &error), FIRN_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "'id' has the value 2147483648"));
}

static void foreign_files_get_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *content;
        firn_result result;
        const char *words;
    } cases[] = {
        {"scf1....", FIRN_ERR_UNSUPPORTED, ".bgeo.gz"},
        {"PGEOMETRY V5\n", FIRN_ERR_UNSUPPORTED, "Houdini 11"},
        {"hello", FIRN_ERR_FORMAT, "no number"},
        {"[]", FIRN_ERR_FORMAT, "not Houdini geometry"},
        {"", FIRN_ERR_FORMAT, "empty"},
        {"[\"pointcount\",1]", FIRN_ERR_FORMAT, "no positions"},
        {"[\"pointcount\",-1]", FIRN_ERR_FORMAT, "count"},
        {"[\"attributes\",[],\"pointcount\",1]", FIRN_ERR_FORMAT, "before their count"},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_error error = {0};
        firn_bgeo *geometry = NULL;
        assert_int_equal(firn_bgeo_read_memory(cases[i].content, strlen(cases[i].content), "x",
                                               NULL, &geometry, &error),
                         cases[i].result);
        assert_null(geometry);
        if (strstr(error.message, cases[i].words) == NULL)
            fail_msg("'%s' lacks '%s'", error.message, cases[i].words);
    }
    firn_bgeo *geometry = NULL;
    assert_int_equal(firn_bgeo_read("absent.bgeo", NULL, &geometry, NULL), FIRN_ERR_NOT_FOUND);
    firn_bgeo_def def = firn_bgeo_def_default();
    assert_int_equal(firn_bgeo_def_from_path(&def, "a.bgeo.sc", NULL), FIRN_ERR_UNSUPPORTED);
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    static const char *const candidates[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    random_table *table = table_create(50, 6, 1, 3, false);
    write_file("locale.geo", &table->points);
    size_t size, other_size;
    unsigned char *plain = slurp("locale.geo", &size);
    bool found = false;
    for (size_t i = 0; i < FIRN_COUNT(candidates) && !found; i++)
        found = setlocale(LC_ALL, candidates[i]) != NULL;
    write_file("locale.geo", &table->points);
    firn_bgeo *geometry = read_file("locale.geo");
    setlocale(LC_ALL, "C");
    unsigned char *other = slurp("locale.geo", &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(plain, other, size);
    assert_same_points(&table->points, firn_bgeo_points(geometry));
    firn_bgeo_destroy(geometry);
    firn_free(plain);
    firn_free(other);
    table_destroy(table);
    unlink("locale.geo");
    if (!found)
        print_message("no locale with a decimal comma is installed\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),
        cmocka_unit_test(storage_and_type_info_survive_in_modern_files),
        cmocka_unit_test(equal_points_give_equal_files),
        cmocka_unit_test(a_modern_file_has_the_bytes_of_the_format),
        cmocka_unit_test(a_classic_file_has_the_bytes_of_the_format),
        cmocka_unit_test(lengths_take_one_three_five_bytes),
        cmocka_unit_test(pages_slices_and_constants_are_unpacked),
        cmocka_unit_test(string_indices_out_of_range_mean_no_string),
        cmocka_unit_test(old_positions_lose_their_w),
        cmocka_unit_test(unknown_kinds_are_named_and_passed_over),
        cmocka_unit_test(files_of_the_other_byte_order_are_read),
        cmocka_unit_test(values_that_are_not_finite_survive_and_are_counted),
        cmocka_unit_test(tables_that_make_no_sense_are_refused),
        cmocka_unit_test(integers_too_wide_for_classic_files_are_refused),
        cmocka_unit_test(foreign_files_get_a_sentence),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
