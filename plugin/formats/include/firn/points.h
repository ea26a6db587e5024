/// Points as a table of named, typed columns: what geometry files hold and programs exchange.
///
/// A column (firn_attribute) says what its values are and points at them; nothing is copied:
///
///     firn_attribute columns[] = {
///         {.name = "P", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 3,
///          .type_info = FIRN_TYPE_POINT, .data = position},
///         {.name = "id", .storage = FIRN_STORAGE_UINT32, .tuple_size = 1, .data = id},
///     };
///     firn_points points = {.count = n, .attributes = columns, .attribute_count = 2};
#ifndef FIRN_POINTS_H
#define FIRN_POINTS_H

#include "firn/base.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How one component of a value lies in memory.
typedef enum firn_storage {
    FIRN_STORAGE_FLOAT16,
    FIRN_STORAGE_FLOAT32,
    FIRN_STORAGE_FLOAT64,
    FIRN_STORAGE_INT8,
    FIRN_STORAGE_INT16,
    FIRN_STORAGE_INT32,
    FIRN_STORAGE_INT64,
    FIRN_STORAGE_UINT8,
    FIRN_STORAGE_UINT32, // Houdini has none: geometry files hold it as int64
    FIRN_STORAGE_UINT64, // the same; values beyond int64 are refused
    FIRN_STORAGE_STRING, // data holds int32 indices into strings; -1 is the empty string
    FIRN_STORAGE_COUNT
} firn_storage;

/// How a value moves when its geometry is transformed; Houdini's names.
typedef enum firn_type_info {
    FIRN_TYPE_NONE,
    FIRN_TYPE_POINT,
    FIRN_TYPE_HPOINT,
    FIRN_TYPE_VECTOR,
    FIRN_TYPE_NORMAL,
    FIRN_TYPE_COLOR,
    FIRN_TYPE_MATRIX,
    FIRN_TYPE_QUATERNION,
    FIRN_TYPE_INDEXPAIR,
    FIRN_TYPE_INTEGER,
    FIRN_TYPE_INTEGER_BLEND,
    FIRN_TYPE_TEXTURECOORD,
    FIRN_TYPE_INFO_COUNT
} firn_type_info;

enum { FIRN_TUPLE_MAX = 256 };

/// One column. data holds count * tuple_size components, tuple after tuple.
typedef struct firn_attribute {
    const char *name;
    firn_storage storage;
    firn_type_info type_info;
    int tuple_size; // 1 .. FIRN_TUPLE_MAX
    const void *data;
    const char *const *strings; // FIRN_STORAGE_STRING only
    size_t string_count;
} firn_attribute;

/// The table: attributes have a value per point, details one value for all.
typedef struct firn_points {
    size_t count;
    const firn_attribute *attributes;
    size_t attribute_count;
    const firn_attribute *details;
    size_t detail_count;
} firn_points;

/// Smallest and largest value of one component. Values that are not finite are only counted.
typedef struct firn_range {
    double lower, upper; // lower > upper when there is no finite value
    size_t not_finite;
} firn_range;

/// Bytes of one component in memory.
FIRN_API size_t firn_storage_size(firn_storage storage);

/// "fpreal32", "int64", "string", ...
FIRN_API const char *firn_storage_name(firn_storage storage);

/// "none", "point", "vector", ...
FIRN_API const char *firn_type_info_name(firn_type_info type_info);

/// The point attribute (or detail) of that name, or NULL.
FIRN_API const firn_attribute *firn_points_find(const firn_points *points, const char *name);
FIRN_API const firn_attribute *firn_points_find_detail(const firn_points *points, const char *name);

/// FIRN_OK when the table can be written: named columns without twins, data wherever there are
/// points, string indices in range, and a P of three floats.
FIRN_API firn_result firn_points_check(const firn_points *points, firn_error *error);

/// Copies components first .. first + count - 1 of a numeric column, converted.
FIRN_API void firn_attribute_floats(const firn_attribute *attribute, size_t first, size_t count,
                                    float *values);
FIRN_API void firn_attribute_doubles(const firn_attribute *attribute, size_t first, size_t count,
                                     double *values);
/// All values of a point attribute as floats, tuple_size for each point; NULL in *values when there
/// is no such column of numbers. Released with firn_free.
FIRN_API firn_result firn_points_floats(const firn_points *points, const char *name, int tuple_size,
                                        float **values, firn_error *error);

/// Fractions are cut off; values out of range become the nearest int64.
FIRN_API void firn_attribute_integers(const firn_attribute *attribute, size_t first, size_t count,
                                      int64_t *values);

/// The string of one component, "" for index -1.
FIRN_API const char *firn_attribute_string(const firn_attribute *attribute, size_t component);

/// Range of a component (0 .. tuple_size - 1) over count tuples of a numeric column.
FIRN_API firn_range firn_attribute_range(const firn_attribute *attribute, size_t count,
                                         int component);

/// Box around the finite positions; false when there is none.
FIRN_API bool firn_points_bounds(const firn_points *points, firn_vec3 *lower, firn_vec3 *upper);

#ifdef __cplusplus
}
#endif

#endif
