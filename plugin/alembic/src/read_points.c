#include "matrix.h"
#include "motion.h"
#include "param.h"

#include <math.h>
#include <string.h>

static firn_result same_ids(const firn_abc *archive, int ids, double a, double b, bool *same,
                            firn_error *error)
{
    *same = true; // without ids the order of the points is all there is
    if (ids < 0)
        return FIRN_OK;
    return firn_abc_same_values(archive, ids, a, b, same, error);
}

static firn_result link_samples(const firn_abc *archive, int ids, firn_abc_motion *motion,
                                firn_error *error)
{
    const firn_abc_bracket *bracket = &motion->bracket;
    size_t count = 0, other = 0;
    FIRN_TRY(firn_abc_sample_size(archive, motion->positions, bracket->before, &count, error));
    if (firn_abc_motion_wants_next(motion)) {
        FIRN_TRY(firn_abc_sample_size(archive, motion->positions, bracket->after, &other, error));
        if (other == count)
            FIRN_TRY(same_ids(archive, ids, bracket->before_time, bracket->after_time,
                              &motion->has_next, error));
    }
    if (firn_abc_motion_wants_previous(motion)) {
        FIRN_TRY(
            firn_abc_sample_size(archive, motion->positions, bracket->before - 1, &other, error));
        if (other == count)
            FIRN_TRY(same_ids(archive, ids, firn_abc_motion_previous_time(archive, motion),
                              bracket->before_time, &motion->has_previous, error));
    }
    return FIRN_OK;
}

static const char *scope_of(const firn_abc_property *property)
{
    static const char *const scopes[] = {"uni", "var", "vtx", "fvr"};
    char scope[8];
    firn_abc_metadata_value(property->metadata, "geoScope", scope, sizeof scope);
    for (size_t i = 0; i < FIRN_COUNT(scopes); i++)
        if (strcmp(scope, scopes[i]) == 0)
            return scopes[i];
    return "con";
}

static void mix_floats(firn_abc_array *array, const firn_abc_array *next, double mix)
{
    size_t count = array->count * (size_t)array->extent;
    if (array->pod == FIRN_ABC_POD_FLOAT32) {
        float *a = array->values;
        const float *b = next->values;
        for (size_t i = 0; i < count; i++)
            a[i] += (float)mix * (b[i] - a[i]);
    } else if (array->pod == FIRN_ABC_POD_FLOAT64) {
        double *a = array->values;
        const double *b = next->values;
        for (size_t i = 0; i < count; i++)
            a[i] += mix * (b[i] - a[i]);
    }
}

// A parameter at the time of the motion: floats are interpolated when the points stay the same.
static firn_result read_param(const firn_abc *archive, int property, const firn_abc_motion *motion,
                              firn_abc_array *array, firn_error *error)
{
    const firn_abc_bracket *bracket = &motion->bracket;
    FIRN_TRY(firn_abc_param_at(archive, property, bracket->before_time, array, error));
    bool is_float = array->pod == FIRN_ABC_POD_FLOAT32 || array->pod == FIRN_ABC_POD_FLOAT64;
    if (!is_float || !(bracket->mix > 0.0) || !motion->has_next)
        return FIRN_OK;
    firn_abc_array next;
    firn_result result = firn_abc_param_at(archive, property, bracket->after_time, &next, error);
    if (result != FIRN_OK) {
        firn_abc_array_free(array);
        return result;
    }
    if (next.count == array->count)
        mix_floats(array, &next, bracket->mix);
    firn_abc_array_free(&next);
    return FIRN_OK;
}

static firn_result fail_count(const firn_abc *archive, int property, size_t found, size_t points,
                              firn_error *error)
{
    firn_abc_place place =
        firn_abc_place_of(archive, archive->properties[property].info.object, property, error);
    return firn_abc_fail(&place, FIRN_ERR_FORMAT, "it has %zu values for %zu points", found,
                         points);
}

static firn_result read_ids(const firn_abc *archive, int ids, const firn_abc_motion *motion,
                            firn_abc_points *points, firn_error *error)
{
    if (ids < 0)
        return FIRN_OK;
    firn_abc_array array;
    uint32_t index = firn_abc_index_at(archive, ids, motion->bracket.before_time);
    FIRN_TRY(firn_abc_read_typed(archive, ids, index, FIRN_ABC_POD_UINT64, 1, &array, error));
    points->id = array.values;
    if (array.count != points->count && array.count != 0)
        return fail_count(archive, ids, array.count, points->count, error);
    return FIRN_OK;
}

// Repeats the only value of an array of floats.
static firn_result spread(const firn_abc *archive, int property, size_t count,
                          firn_abc_array *array, firn_error *error)
{
    float *all = firn_abc_alloc_array(count, sizeof *all);
    for (size_t i = 0; i < count && all != NULL; i++)
        all[i] = *(const float *)array->values;
    firn_abc_array_free(array);
    array->values = all;
    firn_abc_place place =
        firn_abc_place_of(archive, archive->properties[property].info.object, property, error);
    return all != NULL ? FIRN_OK : firn_abc_fail_memory(&place, count * sizeof *all);
}

// Widths grow with the space that the points are in; one width may stand for all points.
static firn_result read_widths(const firn_abc *archive, const firn_abc_motion *motion,
                               double world_scale, firn_abc_points *points, firn_error *error)
{
    int widths = firn_abc_property_find(archive, motion->object, ".geom/.widths");
    if (widths < 0)
        return FIRN_OK;
    firn_abc_array array;
    FIRN_TRY(read_param(archive, widths, motion, &array, error));
    firn_result result = FIRN_OK;
    if (array.count == 0 || points->count == 0) {
        firn_abc_array_free(&array);
        return FIRN_OK;
    }
    if (array.pod != FIRN_ABC_POD_FLOAT32 || array.extent != 1 ||
        (array.count != points->count && array.count != 1)) {
        result = fail_count(archive, widths, array.count, points->count, error);
        firn_abc_array_free(&array);
        return result;
    }
    if (array.count == 1)
        result = spread(archive, widths, points->count, &array, error);
    points->width = array.values;
    for (size_t i = 0; i < points->count && result == FIRN_OK && world_scale != 1.0; i++)
        points->width[i] *= (float)world_scale;
    return result;
}

static firn_result read_attribute(const firn_abc *archive, int property,
                                  const firn_abc_motion *motion, firn_abc_points *points,
                                  firn_error *error)
{
    const firn_abc_property *info = &archive->properties[property].info;
    firn_abc_attribute *attribute = &points->attributes[points->attribute_count];
    *attribute = (firn_abc_attribute){.name = info->name, .scope = scope_of(info)};
    FIRN_TRY(read_param(archive, property, motion, &attribute->array, error));
    points->attribute_count++;
    bool per_point = attribute->scope[0] == 'v';
    if (per_point && attribute->array.count != points->count && attribute->array.count != 0)
        return fail_count(archive, property, attribute->array.count, points->count, error);
    return FIRN_OK;
}

static firn_result read_attributes(const firn_abc *archive, const firn_abc_motion *motion,
                                   firn_abc_points *points, firn_error *error)
{
    int compound = firn_abc_property_find(archive, motion->object, ".geom/.arbGeomParams");
    if (compound < 0)
        return FIRN_OK;
    const firn_abc_object *object = &archive->objects[motion->object].info;
    int end = object->first_property + object->property_count;
    size_t count = 0;
    for (int i = compound + 1; i < end; i++)
        count += archive->properties[i].info.parent == compound ? 1 : 0;
    points->attributes = firn_abc_alloc_array(count, sizeof *points->attributes);
    if (points->attributes == NULL) {
        firn_abc_place place = firn_abc_place_of(archive, motion->object, compound, error);
        return firn_abc_fail_memory(&place, count * sizeof *points->attributes);
    }
    for (int i = compound + 1; i < end; i++) {
        const firn_abc_property *info = &archive->properties[i].info;
        bool is_param =
            info->kind != FIRN_ABC_PROPERTY_COMPOUND || firn_abc_is_indexed_param(archive, i);
        if (info->parent == compound && is_param)
            FIRN_TRY(read_attribute(archive, i, motion, points, error));
    }
    return FIRN_OK;
}

static firn_result read_all(const firn_abc *archive, firn_abc_motion *motion, double time,
                            firn_abc_points *points, firn_error *error)
{
    int ids = firn_abc_property_find(archive, motion->object, ".geom/.pointIds");
    firn_abc_matrix matrix, rate;
    FIRN_TRY(link_samples(archive, ids, motion, error));
    FIRN_TRY(firn_abc_motion_read(archive, motion, &points->position, &points->velocity,
                                  &points->count, error));
    FIRN_TRY(read_ids(archive, ids, motion, points, error));
    FIRN_TRY(firn_abc_world_matrix(archive, motion->object, time, &matrix, &rate, error));
    firn_abc_to_world(&matrix, &rate, points->count, points->position, points->velocity);
    firn_abc_place place = firn_abc_place_of(archive, motion->object, -1, error);
    if (!firn_abc_is_at_rest(&matrix, &rate))
        FIRN_TRY(firn_abc_check_finite(&place, points->position, points->count));
    double world_scale = cbrt(fabs(firn_abc_matrix_det(&matrix)));
    FIRN_TRY(read_widths(archive, motion, world_scale, points, error));
    return read_attributes(archive, motion, points, error);
}

firn_result firn_abc_read_points(const firn_abc *archive, int object, double time,
                                 firn_abc_points *points, firn_error *error)
{
    *points = (firn_abc_points){0};
    bool is_points = firn_abc_object_at(archive, object)->kind == FIRN_ABC_KIND_POINTS;
    FIRN_TRY(firn_abc_check_query(archive, object, is_points, "Points object", time, error));
    firn_abc_motion motion;
    FIRN_TRY(firn_abc_motion_find(archive, object, time, &motion, error));
    firn_result result = read_all(archive, &motion, time, points, error);
    if (result != FIRN_OK)
        firn_abc_points_free(points);
    return result;
}

void firn_abc_points_free(firn_abc_points *points)
{
    firn_free(points->position);
    firn_free(points->velocity);
    firn_free(points->id);
    firn_free(points->width);
    for (int i = 0; i < points->attribute_count; i++)
        firn_abc_array_free(&points->attributes[i].array);
    firn_free(points->attributes);
    *points = (firn_abc_points){0};
}
