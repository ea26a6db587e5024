#include "bgeo_tables.h"

#include "firn/file.h"
#include "firn/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const words[] = {"", "snow", "crust \"hard\"", "tab\tline\nend", "\xC3\xA4\\"};

uint64_t random_next(uint64_t *seed)
{
    *seed += 0x9E3779B97F4A7C15u;
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static void *own(random_table *table, size_t bytes)
{
    assert_true(table->owned_count < FIRN_COUNT(table->owned));
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    assert_non_null(memory);
    table->owned[table->owned_count++] = memory;
    return memory;
}

static void fill(firn_attribute *attribute, void *data, size_t components, uint64_t *seed,
                 bool narrow)
{
    for (size_t i = 0; i < components; i++) {
        uint64_t bits = random_next(seed);
        float real = (float)((double)(int64_t)bits * 1e-15);
        switch (attribute->storage) {
        case FIRN_STORAGE_FLOAT16:
            ((uint16_t *)data)[i] = firn_half_from_double(real);
            break;
        case FIRN_STORAGE_FLOAT32:
            ((float *)data)[i] = bits % 17 == 0 ? -0.0f : real;
            break;
        case FIRN_STORAGE_FLOAT64:
            ((double *)data)[i] = narrow ? real : (double)(int64_t)bits / 3.0;
            break;
        case FIRN_STORAGE_STRING:
            ((int32_t *)data)[i] = (int32_t)(bits % 6) - 1;
            break;
        case FIRN_STORAGE_INT64:
            ((int64_t *)data)[i] = narrow ? (int32_t)bits : (int64_t)bits;
            break;
        case FIRN_STORAGE_UINT32:
            ((uint32_t *)data)[i] = (uint32_t)bits >> (narrow ? 1 : 0);
            break;
        case FIRN_STORAGE_UINT64:
            ((uint64_t *)data)[i] = bits >> (narrow ? 33 : 1);
            break;
        default:
            memcpy((char *)data + i * firn_storage_size(attribute->storage), &bits,
                   firn_storage_size(attribute->storage));
        }
    }
}

static firn_attribute column(random_table *table, size_t count, const char *prefix, size_t number,
                             uint64_t *seed, bool narrow)
{
    static const int sizes[] = {1, 1, 2, 3, 4, 9, 16};
    char *name = own(table, 32);
    snprintf(name, 32, "%s%zu", prefix, number);
    firn_attribute attribute = {.name = name};
    attribute.storage = (firn_storage)(random_next(seed) % FIRN_STORAGE_COUNT);
    attribute.type_info = (firn_type_info)(random_next(seed) % FIRN_TYPE_INFO_COUNT);
    attribute.tuple_size = sizes[random_next(seed) % FIRN_COUNT(sizes)];
    if (attribute.storage == FIRN_STORAGE_STRING) {
        attribute.strings = words;
        attribute.string_count = FIRN_COUNT(words);
    }
    size_t components = count * (size_t)attribute.tuple_size;
    void *data = own(table, components * firn_storage_size(attribute.storage));
    fill(&attribute, data, components, seed, narrow);
    attribute.data = data;
    return attribute;
}

random_table *table_create(size_t count, size_t attribute_count, size_t detail_count, uint64_t seed,
                           bool narrow)
{
    random_table *table = calloc(1, sizeof *table);
    assert_non_null(table);
    assert_true(attribute_count >= 1 && attribute_count <= FIRN_COUNT(table->attributes));
    assert_true(detail_count <= FIRN_COUNT(table->details));
    size_t p = random_next(&seed) % attribute_count; // P may stand anywhere
    for (size_t i = 0; i < attribute_count; i++) {
        if (i != p) {
            table->attributes[i] = column(table, count, "a", i, &seed, narrow);
            continue;
        }
        float *position = own(table, 3 * count * sizeof *position);
        table->attributes[i] = (firn_attribute){.name = "P",
                                                .storage = FIRN_STORAGE_FLOAT32,
                                                .tuple_size = 3,
                                                .type_info = FIRN_TYPE_POINT,
                                                .data = position};
        fill(&table->attributes[i], position, 3 * count, &seed, narrow);
    }
    for (size_t i = 0; i < detail_count; i++)
        table->details[i] = column(table, 1, "d", i, &seed, narrow);
    table->points = (firn_points){.count = count,
                                  .attributes = table->attributes,
                                  .attribute_count = attribute_count,
                                  .details = table->details,
                                  .detail_count = detail_count};
    return table;
}

void table_destroy(random_table *table)
{
    for (size_t i = 0; i < table->owned_count; i++)
        free(table->owned[i]);
    free(table);
}

static void assert_same_column(const firn_attribute *expected, const firn_attribute *found,
                               size_t count)
{
    assert_non_null(found);
    assert_int_equal(expected->tuple_size, found->tuple_size);
    bool is_string = expected->storage == FIRN_STORAGE_STRING;
    assert_int_equal(is_string, found->storage == FIRN_STORAGE_STRING);
    for (size_t i = 0; i < count * (size_t)expected->tuple_size; i++) {
        if (is_string) {
            assert_string_equal(firn_attribute_string(expected, i),
                                firn_attribute_string(found, i));
            continue;
        }
        double a, b;
        int64_t c, d;
        firn_attribute_doubles(expected, i, 1, &a);
        firn_attribute_doubles(found, i, 1, &b);
        firn_attribute_integers(expected, i, 1, &c);
        firn_attribute_integers(found, i, 1, &d);
        assert_memory_equal(&a, &b, sizeof a);
        assert_true(c == d);
    }
}

void assert_same_points(const firn_points *expected, const firn_points *found)
{
    assert_int_equal(expected->count, found->count);
    assert_int_equal(expected->attribute_count, found->attribute_count);
    assert_int_equal(expected->detail_count, found->detail_count);
    for (size_t i = 0; i < expected->attribute_count; i++)
        assert_same_column(&expected->attributes[i],
                           firn_points_find(found, expected->attributes[i].name), expected->count);
    for (size_t i = 0; i < expected->detail_count; i++)
        assert_same_column(&expected->details[i],
                           firn_points_find_detail(found, expected->details[i].name), 1);
}

unsigned char *slurp(const char *path, size_t *size)
{
    void *bytes = NULL;
    assert_int_equal(firn_file_read(path, SIZE_MAX, &bytes, size, NULL), FIRN_OK);
    return bytes;
}
