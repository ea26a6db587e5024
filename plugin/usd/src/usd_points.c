#include "firn/usd.h"

#include "crate_write.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 256, COLUMN_MAX = 128, DEPTH_MAX = 16 };

/// What a value of USD is made of.
typedef struct value_type {
    const char *name;
    firn_crate_type type;
    size_t item_size;
} value_type;

static const value_type point3f = {"point3f[]", FIRN_CRATE_VEC3F, 12};
static const value_type vector3f = {"vector3f[]", FIRN_CRATE_VEC3F, 12};
static const value_type color3f = {"color3f[]", FIRN_CRATE_VEC3F, 12};
static const value_type float3 = {"float3[]", FIRN_CRATE_VEC3F, 12};
static const value_type float1 = {"float[]", FIRN_CRATE_FLOAT, 4};
static const value_type int1 = {"int[]", FIRN_CRATE_INT, 4};
static const value_type int64 = {"int64[]", FIRN_CRATE_INT64, 8};

/// Columns that USD has names of its own for; all others become primvars.
static const struct {
    const char *column, *name;
    const value_type *type;
    int tuple_size;
    float factor; // widths are diameters, pscale is a radius
} known[] = {
    {"P", "points", &point3f, 3, 1.0f},
    {"v", "velocities", &vector3f, 3, 1.0f},
    {"pscale", "widths", &float1, 1, 2.0f},
    {"id", "ids", &int64, 1, 1.0f},
};

static bool is_float(firn_storage storage) { return storage <= FIRN_STORAGE_FLOAT64; }

static const value_type *type_of(const firn_attribute *column)
{
    if (column->storage == FIRN_STORAGE_STRING)
        return NULL;
    if (column->tuple_size == 3 && is_float(column->storage))
        return column->type_info == FIRN_TYPE_COLOR    ? &color3f
               : column->type_info == FIRN_TYPE_VECTOR ? &vector3f
                                                       : &float3;
    return is_float(column->storage) ? &float1 : &int1;
}

static const value_type *describe(const firn_attribute *column, char *name, size_t size,
                                  float *factor)
{
    *factor = 1.0f;
    for (size_t i = 0; i < FIRN_COUNT(known); i++)
        if (strcmp(column->name, known[i].column) == 0 &&
            column->tuple_size == known[i].tuple_size) {
            *factor = known[i].factor;
            snprintf(name, size, "%s", known[i].name);
            return known[i].type;
        }
    const value_type *type = type_of(column);
    int length = snprintf(name, size, "primvars:%s", column->name);
    if (length < 0 || (size_t)length >= size)
        return NULL;
    for (char *at = name + strlen("primvars:"); *at != '\0'; at++)
        if (!isalnum((unsigned char)*at))
            *at = '_';
    return type;
}

bool firn_usd_attribute(const firn_attribute *column, char *name, size_t size, const char **type)
{
    float factor;
    const value_type *found = describe(column, name, size, &factor);
    if (found != NULL)
        *type = found->name;
    return found != NULL;
}

// --- Values --------------------------------------------------------------------------------------

// The column in the type of USD; NULL: out of memory.
static void *convert(const firn_attribute *column, size_t count, const value_type *type,
                     float factor)
{
    size_t total = count * (size_t)column->tuple_size;
    size_t size = type->type == FIRN_CRATE_INT64 ? sizeof(int64_t) : sizeof(float);
    void *values = firn_alloc(total * size + 1);
    if (values == NULL)
        return NULL;
    if (type->type == FIRN_CRATE_INT64) {
        firn_attribute_integers(column, 0, total, values);
    } else if (type->type == FIRN_CRATE_INT) {
        int32_t *narrow = values;
        for (size_t i = 0; i < total; i++) {
            int64_t wide;
            firn_attribute_integers(column, i, 1, &wide);
            narrow[i] = wide < INT32_MIN ? INT32_MIN : wide > INT32_MAX ? INT32_MAX : (int32_t)wide;
        }
    } else {
        float *numbers = values;
        firn_attribute_floats(column, 0, total, numbers);
        for (size_t i = 0; i < total && factor != 1.0f; i++)
            numbers[i] *= factor;
    }
    return values;
}

typedef struct layer {
    firn_crate_writer *crate;
    const firn_usd_points_def *def;
    int prim; // its path
} layer;

static void add_attribute(layer *to, const char *name, const value_type *type,
                          firn_crate_value value, int element_size)
{
    firn_crate_writer *crate = to->crate;
    int path = firn_crate_add_path(crate, to->prim, name, true);
    firn_crate_begin_spec(crate, path, FIRN_SPEC_ATTRIBUTE);
    firn_crate_add_field(crate, "typeName", firn_crate_token(crate, type->name));
    if (strcmp(name, "extent") != 0 && strcmp(name, "points") != 0 && strcmp(name, "ids") != 0 &&
        strcmp(name, "velocities") != 0)
        firn_crate_add_field(crate, "interpolation", firn_crate_token(crate, "vertex"));
    if (element_size > 1)
        firn_crate_add_field(crate, "elementSize",
                             firn_crate_inlined(FIRN_CRATE_INT, (uint32_t)element_size));
    firn_crate_add_field(crate, "timeSamples",
                         firn_crate_samples(crate, &to->def->frame, &value, 1));
    firn_crate_end_spec(crate);
}

static bool add_column(layer *to, const firn_attribute *column, size_t count)
{
    char name[NAME_SIZE];
    float factor;
    const value_type *type = describe(column, name, sizeof name, &factor);
    if (type == NULL)
        return true; // texts stay in the other caches
    void *values = convert(column, count, type, factor);
    if (values == NULL)
        return false;
    size_t parts = type->type == FIRN_CRATE_VEC3F ? 3 : 1;
    size_t length = count * ((size_t)column->tuple_size / parts);
    firn_crate_value value =
        firn_crate_array(to->crate, type->type, values, length, type->item_size);
    add_attribute(to, name, type, value, column->tuple_size / (int)parts);
    firn_free(values);
    return true;
}

// The box around the particles, each as large as it is.
static void add_extent(layer *to, const firn_points *points)
{
    firn_vec3 box[2] = {{0}};
    const firn_attribute *radius = firn_points_find(points, "pscale");
    if (firn_points_bounds(points, &box[0], &box[1]) && radius != NULL) {
        firn_range range = firn_attribute_range(radius, points->count, 0);
        float r = range.upper > 0.0 && range.upper < HUGE_VAL ? (float)range.upper : 0.0f;
        box[0] = firn_sub(box[0], (firn_vec3){r, r, r});
        box[1] = firn_add(box[1], (firn_vec3){r, r, r});
    }
    add_attribute(to, "extent", &float3,
                  firn_crate_array(to->crate, FIRN_CRATE_VEC3F, box, 2, sizeof box[0]), 1);
}

// --- Structure -----------------------------------------------------------------------------------

// A prim with its children; the last one, which has properties, is a Points.
static void add_prim(firn_crate_writer *crate, int path, const char *child,
                     const char *const *properties, size_t property_count)
{
    firn_crate_begin_spec(crate, path, FIRN_SPEC_PRIM);
    // The stage defines them; this layer only has opinions about their values.
    firn_crate_add_field(crate, "specifier", firn_crate_inlined(FIRN_CRATE_SPECIFIER, 1));
    if (child != NULL)
        firn_crate_add_field(crate, "primChildren", firn_crate_tokens(crate, &child, 1));
    if (property_count > 0)
        firn_crate_add_field(crate, "properties",
                             firn_crate_tokens(crate, properties, property_count));
    firn_crate_end_spec(crate);
}

typedef struct prim_names {
    char text[DEPTH_MAX][NAME_SIZE];
    size_t count;
} prim_names;

static bool split(const char *path, prim_names *names)
{
    for (names->count = 0; *path == '/'; names->count++) {
        size_t length = strcspn(path + 1, "/");
        if (length == 0 || length >= NAME_SIZE || names->count == DEPTH_MAX)
            return false;
        memcpy(names->text[names->count], path + 1, length);
        names->text[names->count][length] = '\0';
        path += 1 + length;
    }
    return *path == '\0' && names->count > 0;
}

static bool write_layer(layer *to, const prim_names *names, const firn_points *points)
{
    static const char extent[] = "extent";
    const char *properties[COLUMN_MAX + 1];
    char text[COLUMN_MAX][NAME_SIZE];
    size_t count = 0;
    for (size_t i = 0; i < points->attribute_count && count < COLUMN_MAX; i++) {
        float factor;
        if (describe(&points->attributes[i], text[count], NAME_SIZE, &factor) != NULL) {
            properties[count] = text[count];
            count++;
        }
    }
    properties[count++] = extent;
    firn_crate_writer *crate = to->crate;
    to->prim = firn_crate_add_path(crate, -1, "", false);
    const char *first = names->text[0];
    firn_crate_begin_spec(crate, to->prim, FIRN_SPEC_ROOT);
    firn_crate_add_field(crate, "defaultPrim", firn_crate_token(crate, first));
    firn_crate_add_field(crate, "metersPerUnit", firn_crate_double(crate, 1.0));
    firn_crate_add_field(crate, "upAxis", firn_crate_token(crate, "Y"));
    firn_crate_add_field(crate, "startTimeCode", firn_crate_double(crate, to->def->frame));
    firn_crate_add_field(crate, "endTimeCode", firn_crate_double(crate, to->def->frame));
    firn_crate_add_field(crate, "primChildren", firn_crate_tokens(crate, &first, 1));
    firn_crate_end_spec(crate);
    for (size_t i = 0; i < names->count; i++) {
        bool last = i + 1 == names->count;
        to->prim = firn_crate_add_path(crate, to->prim, names->text[i], false);
        add_prim(crate, to->prim, last ? NULL : names->text[i + 1], properties, last ? count : 0);
    }
    for (size_t i = 0; i < points->attribute_count; i++)
        if (!add_column(to, &points->attributes[i], points->count))
            return false;
    add_extent(to, points);
    return true;
}

firn_result firn_usd_write_points(const char *path, const firn_points *points,
                                  const firn_usd_points_def *def, firn_error *error)
{
    FIRN_TRY(firn_points_check(points, error));
    prim_names *names = firn_alloc(sizeof *names);
    if (names == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", path);
    firn_result result = FIRN_OK;
    if (!split(def->prim, names) || points->attribute_count > COLUMN_MAX)
        result = firn_fail(error, FIRN_ERR_ARGUMENT,
                           "cannot write '%s': '%s' is no path of a prim, or there are more than "
                           "%d columns",
                           path, def->prim, COLUMN_MAX);
    layer to = {.def = def};
    if (result == FIRN_OK)
        result = firn_crate_create(path, &to.crate, error);
    if (result == FIRN_OK) {
        bool whole = write_layer(&to, names, points);
        result = whole ? firn_crate_finish(to.crate, error) : firn_crate_abandon(to.crate, error);
    }
    firn_free(names);
    return result;
}
