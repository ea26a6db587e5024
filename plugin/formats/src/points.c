#include "firn/points.h"

#include "firn/number.h"

#include <math.h>
#include <string.h>

typedef struct storage_row {
    const char *name;
    size_t size;
} storage_row;

static const storage_row storages[FIRN_STORAGE_COUNT] = {
    [FIRN_STORAGE_FLOAT16] = {"fpreal16", 2}, [FIRN_STORAGE_FLOAT32] = {"fpreal32", 4},
    [FIRN_STORAGE_FLOAT64] = {"fpreal64", 8}, [FIRN_STORAGE_INT8] = {"int8", 1},
    [FIRN_STORAGE_INT16] = {"int16", 2},      [FIRN_STORAGE_INT32] = {"int32", 4},
    [FIRN_STORAGE_INT64] = {"int64", 8},      [FIRN_STORAGE_UINT8] = {"uint8", 1},
    [FIRN_STORAGE_UINT32] = {"uint32", 4},    [FIRN_STORAGE_UINT64] = {"uint64", 8},
    [FIRN_STORAGE_STRING] = {"string", 4},
};

static const char *const type_infos[FIRN_TYPE_INFO_COUNT] = {
    [FIRN_TYPE_NONE] = "none",
    [FIRN_TYPE_POINT] = "point",
    [FIRN_TYPE_HPOINT] = "hpoint",
    [FIRN_TYPE_VECTOR] = "vector",
    [FIRN_TYPE_NORMAL] = "normal",
    [FIRN_TYPE_COLOR] = "color",
    [FIRN_TYPE_MATRIX] = "matrix",
    [FIRN_TYPE_QUATERNION] = "quaternion",
    [FIRN_TYPE_INDEXPAIR] = "indexpair",
    [FIRN_TYPE_INTEGER] = "integer",
    [FIRN_TYPE_INTEGER_BLEND] = "integer-blend",
    [FIRN_TYPE_TEXTURECOORD] = "texturecoord",
};

size_t firn_storage_size(firn_storage storage)
{
    FIRN_ASSERT((size_t)storage < FIRN_STORAGE_COUNT);
    return storages[storage].size;
}

const char *firn_storage_name(firn_storage storage)
{
    return (size_t)storage < FIRN_STORAGE_COUNT ? storages[storage].name : "unknown";
}

const char *firn_type_info_name(firn_type_info type_info)
{
    return (size_t)type_info < FIRN_TYPE_INFO_COUNT ? type_infos[type_info] : "unknown";
}

static const firn_attribute *find(const firn_attribute *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

const firn_attribute *firn_points_find(const firn_points *points, const char *name)
{
    return find(points->attributes, points->attribute_count, name);
}

const firn_attribute *firn_points_find_detail(const firn_points *points, const char *name)
{
    return find(points->details, points->detail_count, name);
}

static firn_result check_strings(const firn_attribute *attribute, size_t components,
                                 firn_error *error)
{
    for (size_t i = 0; i < attribute->string_count; i++)
        if (attribute->strings == NULL || attribute->strings[i] == NULL)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "attribute '%s' lacks string %zu",
                             attribute->name, i);
    const int32_t *index = attribute->data;
    for (size_t i = 0; i < components; i++)
        if (index[i] < -1 || (index[i] >= 0 && (size_t)index[i] >= attribute->string_count))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "attribute '%s' uses string %d, but has only %zu", attribute->name,
                             (int)index[i], attribute->string_count);
    return FIRN_OK;
}

static firn_result check_table(const firn_attribute *table, size_t table_count, size_t count,
                               firn_error *error)
{
    for (size_t i = 0; i < table_count; i++) {
        const firn_attribute *attribute = &table[i];
        if (attribute->name == NULL || attribute->name[0] == '\0')
            return firn_fail(error, FIRN_ERR_ARGUMENT, "attribute %zu has no name", i);
        if (find(table, i, attribute->name) != NULL)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "there are two attributes named '%s'",
                             attribute->name);
        if ((size_t)attribute->storage >= FIRN_STORAGE_COUNT ||
            (size_t)attribute->type_info >= FIRN_TYPE_INFO_COUNT)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "attribute '%s' has no valid type",
                             attribute->name);
        if (attribute->tuple_size < 1 || attribute->tuple_size > FIRN_TUPLE_MAX)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "attribute '%s' has %d components; 1 to %d are possible",
                             attribute->name, attribute->tuple_size, FIRN_TUPLE_MAX);
        if (attribute->data == NULL && count > 0)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "attribute '%s' has no data",
                             attribute->name);
        if (attribute->storage == FIRN_STORAGE_STRING)
            FIRN_TRY(check_strings(attribute, count * (size_t)attribute->tuple_size, error));
    }
    return FIRN_OK;
}

static bool has_positions(const firn_attribute *position)
{
    return position != NULL && position->tuple_size == 3 &&
           position->storage <= FIRN_STORAGE_FLOAT64;
}

firn_result firn_points_check(const firn_points *points, firn_error *error)
{
    FIRN_TRY(check_table(points->attributes, points->attribute_count, points->count, error));
    FIRN_TRY(check_table(points->details, points->detail_count, 1, error));
    if (!has_positions(firn_points_find(points, "P")))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "points need an attribute 'P' with three floats");
    return FIRN_OK;
}

static int64_t nearest_integer(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 0x1p63)
        return INT64_MAX;
    return value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

// One loop per storage; the compiler turns each into a plain conversion.
#define CONVERT(type, target, expression)                                                          \
    do {                                                                                           \
        const type *from = (const type *)attribute->data + first;                                  \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i] = (target)(expression);                                                      \
    } while (0)

void firn_attribute_doubles(const firn_attribute *attribute, size_t first, size_t count,
                            double *values)
{
    switch (attribute->storage) {
    case FIRN_STORAGE_FLOAT16:
        CONVERT(uint16_t, double, firn_half_to_float(from[i]));
        break;
    case FIRN_STORAGE_FLOAT32:
        CONVERT(float, double, from[i]);
        break;
    case FIRN_STORAGE_FLOAT64:
        CONVERT(double, double, from[i]);
        break;
    case FIRN_STORAGE_INT8:
        CONVERT(int8_t, double, from[i]);
        break;
    case FIRN_STORAGE_INT16:
        CONVERT(int16_t, double, from[i]);
        break;
    case FIRN_STORAGE_INT32:
        CONVERT(int32_t, double, from[i]);
        break;
    case FIRN_STORAGE_INT64:
        CONVERT(int64_t, double, from[i]);
        break;
    case FIRN_STORAGE_UINT8:
        CONVERT(uint8_t, double, from[i]);
        break;
    case FIRN_STORAGE_UINT32:
        CONVERT(uint32_t, double, from[i]);
        break;
    case FIRN_STORAGE_UINT64:
        CONVERT(uint64_t, double, from[i]);
        break;
    case FIRN_STORAGE_STRING:
    case FIRN_STORAGE_COUNT:
        FIRN_ASSERT(false); // callers ask for numeric attributes only
    }
}

void firn_attribute_floats(const firn_attribute *attribute, size_t first, size_t count,
                           float *values)
{
    enum { CHUNK = 256 };
    if (attribute->storage == FIRN_STORAGE_FLOAT32) {
        memcpy(values, (const float *)attribute->data + first, count * sizeof *values);
        return;
    }
    double wide[CHUNK];
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t piece = count - done < CHUNK ? count - done : CHUNK;
        firn_attribute_doubles(attribute, first + done, piece, wide);
        for (size_t i = 0; i < piece; i++)
            values[done + i] = (float)wide[i];
    }
}

void firn_attribute_integers(const firn_attribute *attribute, size_t first, size_t count,
                             int64_t *values)
{
    switch (attribute->storage) {
    case FIRN_STORAGE_FLOAT16:
        CONVERT(uint16_t, int64_t, nearest_integer(firn_half_to_float(from[i])));
        break;
    case FIRN_STORAGE_FLOAT32:
        CONVERT(float, int64_t, nearest_integer(from[i]));
        break;
    case FIRN_STORAGE_FLOAT64:
        CONVERT(double, int64_t, nearest_integer(from[i]));
        break;
    case FIRN_STORAGE_INT8:
        CONVERT(int8_t, int64_t, from[i]);
        break;
    case FIRN_STORAGE_INT16:
        CONVERT(int16_t, int64_t, from[i]);
        break;
    case FIRN_STORAGE_INT32:
    case FIRN_STORAGE_STRING:
        CONVERT(int32_t, int64_t, from[i]);
        break;
    case FIRN_STORAGE_INT64:
        CONVERT(int64_t, int64_t, from[i]);
        break;
    case FIRN_STORAGE_UINT8:
        CONVERT(uint8_t, int64_t, from[i]);
        break;
    case FIRN_STORAGE_UINT32:
        CONVERT(uint32_t, int64_t, from[i]);
        break;
    case FIRN_STORAGE_UINT64:
        CONVERT(uint64_t, int64_t, from[i] > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)from[i]);
        break;
    case FIRN_STORAGE_COUNT:
        FIRN_ASSERT(false); // not a storage
    }
}

const char *firn_attribute_string(const firn_attribute *attribute, size_t component)
{
    FIRN_ASSERT(attribute->storage == FIRN_STORAGE_STRING);
    int32_t index = ((const int32_t *)attribute->data)[component];
    return index < 0 ? "" : attribute->strings[index];
}

// Ranges of the components first .. first + range_count - 1, in one pass.
static void find_ranges(const firn_attribute *attribute, size_t count, size_t first,
                        size_t range_count, firn_range *ranges)
{
    enum { CHUNK = 1024 };
    double values[CHUNK];
    size_t width = (size_t)attribute->tuple_size;
    size_t at_once = CHUNK / width;
    for (size_t k = 0; k < range_count; k++)
        ranges[k] = (firn_range){INFINITY, -INFINITY, 0};
    for (size_t done = 0; done < count; done += at_once) {
        size_t tuples = count - done < at_once ? count - done : at_once;
        firn_attribute_doubles(attribute, done * width, tuples * width, values);
        for (size_t k = 0; k < range_count; k++) {
            firn_range range = ranges[k];
            for (size_t i = first + k; i < tuples * width; i += width) {
                double value = values[i];
                bool finite = isfinite(value);
                range.not_finite += !finite;
                range.lower = finite && value < range.lower ? value : range.lower;
                range.upper = finite && value > range.upper ? value : range.upper;
            }
            ranges[k] = range;
        }
    }
}

firn_range firn_attribute_range(const firn_attribute *attribute, size_t count, int component)
{
    FIRN_ASSERT(component >= 0 && component < attribute->tuple_size);
    firn_range range;
    find_ranges(attribute, count, (size_t)component, 1, &range);
    return range;
}

bool firn_points_bounds(const firn_points *points, firn_vec3 *lower, firn_vec3 *upper)
{
    const firn_attribute *position = firn_points_find(points, "P");
    if (!has_positions(position))
        return false;
    firn_range range[3];
    find_ranges(position, points->count, 0, 3, range);
    *lower = firn_vec((float)range[0].lower, (float)range[1].lower, (float)range[2].lower);
    *upper = firn_vec((float)range[0].upper, (float)range[1].upper, (float)range[2].upper);
    return range[0].lower <= range[0].upper && range[1].lower <= range[1].upper &&
           range[2].lower <= range[2].upper;
}

// A column of numbers with so many components, or NULL.
static const firn_attribute *find_numbers(const firn_points *points, const char *name,
                                          int tuple_size)
{
    const firn_attribute *column = firn_points_find(points, name);
    bool fits = column != NULL && column->storage != FIRN_STORAGE_STRING &&
                column->tuple_size == tuple_size;
    return fits ? column : NULL;
}

firn_result firn_points_floats(const firn_points *points, const char *name, int tuple_size,
                               float **values, firn_error *error)
{
    *values = NULL;
    const firn_attribute *column = find_numbers(points, name, tuple_size);
    if (column == NULL)
        return FIRN_OK;
    size_t count = points->count * (size_t)tuple_size;
    *values = firn_alloc((count + 1) * sizeof **values);
    if (*values == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read %s", name);
    if (count > 0)
        firn_attribute_floats(column, 0, count, *values);
    return FIRN_OK;
}

firn_result firn_points_borrow(const firn_points *points, const char *name, int tuple_size,
                               const float **values, float **copy, firn_error *error)
{
    const firn_attribute *column = find_numbers(points, name, tuple_size);
    *copy = NULL;
    *values = column != NULL && column->storage == FIRN_STORAGE_FLOAT32 ? column->data : NULL;
    if (*values != NULL)
        return FIRN_OK;
    FIRN_TRY(firn_points_floats(points, name, tuple_size, copy, error));
    *values = *copy;
    return FIRN_OK;
}
