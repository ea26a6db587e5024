#include "xform.h"

#include "matrix.h"

#include <math.h>
#include <string.h>

enum { MAX_OPS = 4096 }; // far beyond any writer; the extent of a scalar allows 255

static const int op_channels[OGAWA_OP_COUNT] = {
    [OGAWA_OP_SCALE] = 3,    [OGAWA_OP_TRANSLATE] = 3, [OGAWA_OP_ROTATE] = 4,
    [OGAWA_OP_MATRIX] = 16,  [OGAWA_OP_ROTATE_X] = 1,  [OGAWA_OP_ROTATE_Y] = 1,
    [OGAWA_OP_ROTATE_Z] = 1,
};

// The ops of a transform and their channels in the samples around a time.
typedef struct xform {
    firn_abc_array ops;
    firn_abc_array before, after; // channels; after has none when only one sample matters
    firn_abc_bracket bracket;
} xform;

static void xform_free(xform *x)
{
    firn_abc_array_free(&x->ops);
    firn_abc_array_free(&x->before);
    firn_abc_array_free(&x->after);
}

// A scalar holds its numbers in one value, an array one in each.
static size_t number_count(const firn_abc_array *array)
{
    return array->count * (size_t)array->extent;
}

static firn_result check_channels(const firn_abc_place *place, const xform *x)
{
    const uint8_t *ops = x->ops.values;
    size_t count = number_count(&x->ops), channels = 0;
    if (count > MAX_OPS)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the transform has %zu operations", count);
    for (size_t i = 0; i < count; i++) {
        if (ops[i] >> 4 >= OGAWA_OP_COUNT)
            return firn_abc_fail(place, FIRN_ERR_FORMAT, "operation %d of the transform is unknown",
                                 ops[i] >> 4);
        channels += (size_t)op_channels[ops[i] >> 4];
    }
    if (number_count(&x->before) != channels)
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "the transform has %zu channels, its operations need %zu",
                             number_count(&x->before), channels);
    const double *value = x->before.values, *next = x->after.values;
    for (size_t i = 0; i < channels; i++)
        if (!isfinite(value[i]) || (next != NULL && !isfinite(next[i])))
            return firn_abc_fail(place, FIRN_ERR_FORMAT,
                                 "channel %zu of the transform is not finite", i);
    return FIRN_OK;
}

static firn_result read_parts(const firn_abc *archive, const firn_abc_place *place, int ops,
                              int channels, double time, xform *x)
{
    firn_error *error = place->error;
    const firn_abc_property *info = &archive->properties[channels].info;
    const firn_abc_property *ops_info = &archive->properties[ops].info;
    if (info->kind == FIRN_ABC_PROPERTY_COMPOUND || info->pod != FIRN_ABC_POD_FLOAT64 ||
        ops_info->kind == FIRN_ABC_PROPERTY_COMPOUND || ops_info->pod != FIRN_ABC_POD_UINT8)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the transform has values of a wrong type");
    x->bracket = firn_abc_bracket_at(archive, channels, time);
    FIRN_TRY(firn_abc_read(archive, ops, x->bracket.before, &x->ops, error));
    FIRN_TRY(firn_abc_read(archive, channels, x->bracket.before, &x->before, error));
    bool same_channels = true, same_ops = true;
    FIRN_TRY(firn_abc_same_sample(archive, channels, x->bracket.before, x->bracket.after,
                                  &same_channels, error));
    FIRN_TRY(
        firn_abc_same_sample(archive, ops, x->bracket.before, x->bracket.after, &same_ops, error));
    if (!same_channels && same_ops) {
        FIRN_TRY(firn_abc_read(archive, channels, x->bracket.after, &x->after, error));
        if (x->after.bytes != x->before.bytes)
            firn_abc_array_free(&x->after);
    }
    return check_channels(place, x);
}

static firn_abc_matrix op_matrix(int op, const double *channel)
{
    switch (op) {
    case OGAWA_OP_SCALE:
        return firn_abc_matrix_scale(channel);
    case OGAWA_OP_TRANSLATE:
        return firn_abc_matrix_translate(channel);
    case OGAWA_OP_ROTATE:
        return firn_abc_matrix_rotate(channel, channel[3]);
    case OGAWA_OP_MATRIX: {
        firn_abc_matrix matrix;
        memcpy(matrix.m, channel, sizeof matrix.m);
        return matrix;
    }
    default: {
        double axis[3] = {op == OGAWA_OP_ROTATE_X, op == OGAWA_OP_ROTATE_Y,
                          op == OGAWA_OP_ROTATE_Z};
        return firn_abc_matrix_rotate(axis, channel[0]);
    }
    }
}

static firn_abc_matrix evaluate(const xform *x, double mix)
{
    const uint8_t *ops = x->ops.values;
    const double *before = x->before.values, *after = x->after.values;
    firn_abc_matrix matrix = firn_abc_matrix_identity();
    for (size_t i = 0; i < number_count(&x->ops); i++) {
        int op = ops[i] >> 4, channels = op_channels[op];
        firn_abc_matrix step;
        if (after == NULL) {
            step = op_matrix(op, before);
        } else if (op == OGAWA_OP_MATRIX) {
            firn_abc_matrix a = op_matrix(op, before), b = op_matrix(op, after);
            step = firn_abc_matrix_mix(&a, &b, mix);
        } else {
            double channel[16];
            for (int c = 0; c < channels; c++)
                channel[c] = before[c] + mix * (after[c] - before[c]);
            step = op_matrix(op, channel);
        }
        matrix = firn_abc_matrix_mul(&step, &matrix);
        before += channels;
        after = after != NULL ? after + channels : NULL;
    }
    return matrix;
}

// The change per second of the interpolated motion, by a difference well inside the interval.
static firn_abc_matrix interval_rate(const xform *x)
{
    double interval = x->bracket.after_time - x->bracket.before_time;
    if (x->after.values == NULL || !(interval > 0.0) || !isfinite(interval))
        return (firn_abc_matrix){{0}};
    double reach = 1e-3;
    double low = fmax(x->bracket.mix - reach, 0.0), high = fmin(x->bracket.mix + reach, 1.0);
    firn_abc_matrix a = evaluate(x, low), b = evaluate(x, high);
    return firn_abc_matrix_difference(&b, &a, 1.0 / ((high - low) * interval));
}

// At a sample time the rates on both sides are averaged, as far as there are samples.
static firn_result rate_at(const firn_abc *archive, const firn_abc_place *place, int ops,
                           int channels, const xform *x, firn_abc_matrix *rate)
{
    bool has_next = x->bracket.after != x->bracket.before;
    *rate = interval_rate(x);
    if (x->bracket.mix > 0.0 || x->bracket.before == 0)
        return FIRN_OK;
    const firn_abc_property *info = &archive->properties[channels].info;
    const firn_abc_time_sampling *sampling = &archive->samplings[info->time_sampling];
    xform previous = {0};
    double earlier = firn_abc_sample_time(sampling, x->bracket.before - 1);
    firn_result result = read_parts(archive, place, ops, channels, earlier, &previous);
    if (result == FIRN_OK) {
        previous.bracket.mix = 1.0;
        firn_abc_matrix before = interval_rate(&previous);
        for (int i = 0; i < 16; i++)
            rate->m[i] = has_next ? 0.5 * (rate->m[i] + before.m[i]) : before.m[i];
    }
    xform_free(&previous);
    return result;
}

static firn_result local_matrix(const firn_abc *archive, int object, double time,
                                firn_abc_matrix *matrix, firn_abc_matrix *rate, firn_error *error)
{
    *matrix = firn_abc_matrix_identity();
    *rate = (firn_abc_matrix){{0}};
    int inherits = firn_abc_property_find(archive, object, ".xform/.inherits");
    int ops = firn_abc_property_find(archive, object, ".xform/.ops");
    int channels = firn_abc_property_find(archive, object, ".xform/.vals");
    if (inherits < 0 || archive->properties[inherits].info.sample_count == 0 || ops < 0 ||
        channels < 0)
        return FIRN_OK;
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    xform x = {0};
    firn_result result = read_parts(archive, &place, ops, channels, time, &x);
    if (result == FIRN_OK) {
        *matrix = evaluate(&x, x.bracket.mix);
        if (x.bracket.inside)
            result = rate_at(archive, &place, ops, channels, &x, rate);
    }
    xform_free(&x);
    return result;
}

static firn_result inherits_at(const firn_abc *archive, int object, double time, bool *inherits,
                               firn_error *error)
{
    *inherits = true;
    int property = firn_abc_property_find(archive, object, ".xform/.inherits");
    if (property < 0 || archive->properties[property].info.sample_count == 0)
        return FIRN_OK;
    firn_abc_array value;
    FIRN_TRY(firn_abc_read_typed(archive, property, firn_abc_index_at(archive, property, time),
                                 FIRN_ABC_POD_BOOL, 1, &value, error));
    *inherits = value.count == 0 || *(const uint8_t *)value.values != 0;
    firn_abc_array_free(&value);
    return FIRN_OK;
}

// Appends the matrices of the Xforms from `first` up to and with `last`, -1 for the root.
static firn_result climb(const firn_abc *archive, int first, int last, double time,
                         firn_abc_moving_matrix *moving, bool *inherits, firn_error *error)
{
    for (int i = first; i >= 0 && *inherits; i = archive->objects[i].info.parent) {
        if (archive->objects[i].info.kind == FIRN_ABC_KIND_XFORM) {
            firn_abc_matrix local, local_rate;
            FIRN_TRY(local_matrix(archive, i, time, &local, &local_rate, error));
            // (A B)' = A' B + A B'
            firn_abc_matrix carried = firn_abc_matrix_mul(&moving->rate, &local);
            firn_abc_matrix own = firn_abc_matrix_mul(&moving->matrix, &local_rate);
            for (int k = 0; k < 16; k++)
                moving->rate.m[k] = carried.m[k] + own.m[k];
            moving->matrix = firn_abc_matrix_mul(&moving->matrix, &local);
            FIRN_TRY(inherits_at(archive, i, time, inherits, error));
        }
        if (i == last)
            break;
    }
    return FIRN_OK;
}

firn_result firn_abc_world_matrix(const firn_abc *archive, int object, double time,
                                  firn_abc_matrix *matrix, firn_abc_matrix *rate, firn_error *error)
{
    FIRN_ASSERT(object >= 0 && object < archive->object_count);
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    if (!isfinite(time))
        return firn_abc_fail(&place, FIRN_ERR_ARGUMENT, "the time is not a finite number");
    firn_abc_moving_matrix moving = {.matrix = firn_abc_matrix_identity()};
    bool inherits = true;
    FIRN_TRY(climb(archive, object, -1, time, &moving, &inherits, error));
    *matrix = moving.matrix;
    if (rate != NULL)
        *rate = moving.rate;
    return FIRN_OK;
}

firn_result firn_abc_instance_matrix(const firn_abc *archive, int object, const firn_abc_use *uses,
                                     int use, double time, firn_abc_moving_matrix *moving,
                                     firn_error *error)
{
    *moving = (firn_abc_moving_matrix){.matrix = firn_abc_matrix_identity()};
    bool inherits = true;
    // Up to the source, on from the parent of the instance to the source that this is below, ...
    for (int first = object; use >= 0; use = uses[use].outer) {
        if (first >= 0)
            FIRN_TRY(climb(archive, first, uses[use].source, time, moving, &inherits, error));
        int outer = uses[use].outer, instance = uses[use].instance;
        bool is_source = outer >= 0 && uses[outer].source == instance;
        first = is_source ? -1 : archive->objects[instance].info.parent;
        if (outer < 0)
            return climb(archive, first, -1, time, moving, &inherits, error);
    }
    return FIRN_OK;
}
