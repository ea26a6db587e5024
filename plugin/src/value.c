#include "graph_state.h"

#include <string.h>

firn_value *firn_values_find(const firn_values *values, const firn_param *param)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i].param == param)
            return &values->items[i];
    return NULL;
}

void firn_value_free(firn_value *value)
{
    firn_free(value->text);
    firn_free(value->keys);
    memset(value, 0, sizeof *value);
}

// Takes over what the value owns; on failure the caller still does.
firn_result firn_values_put(firn_values *values, const firn_value *value, firn_error *error)
{
    firn_value *place = firn_values_find(values, value->param);
    if (place == NULL) {
        FIRN_TRY(firn_grow(&values->items, &values->capacity, values->count, sizeof *place, error));
        place = &values->items[values->count++];
    } else {
        firn_value_free(place);
    }
    *place = *value;
    return FIRN_OK;
}

void firn_values_erase(firn_values *values, const firn_param *param)
{
    firn_value *value = firn_values_find(values, param);
    if (value == NULL)
        return;
    firn_value_free(value);
    size_t index = (size_t)(value - values->items);
    memmove(value, value + 1, (values->count - index - 1) * sizeof *value);
    values->count--;
}

void firn_values_clear(firn_values *values)
{
    for (size_t i = 0; i < values->count; i++)
        firn_value_free(&values->items[i]);
    firn_free(values->items);
    memset(values, 0, sizeof *values);
}

firn_result firn_value_from_text(const firn_type *type, const firn_param *param, const char *text,
                                 firn_value *value, firn_error *error)
{
    memset(value, 0, sizeof *value);
    value->param = param;
    void *settings = firn_alloc_zero(type->node->settings_size);
    if (settings == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot set %s", param->name);
    firn_result result = firn_param_parse(param, settings, text, error);
    if (result == FIRN_OK)
        firn_param_get(param, settings, value->number);
    firn_free(settings);
    if (result == FIRN_OK && firn_param_is_text(param)) {
        value->text = firn_text_copy(text);
        if (value->text == NULL)
            return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot set %s", param->name);
    }
    return result;
}

// Slope of one component at a key: none at the ends and at extremes, so that nothing overshoots,
// else the weighted harmonic mean of the slopes on both sides (Fritsch and Carlson 1980).
static double slope_at(const firn_value *value, size_t k, int c)
{
    const firn_key *keys = value->keys;
    if (k == 0 || k + 1 == value->key_count)
        return 0.0;
    double h0 = keys[k].frame - keys[k - 1].frame, h1 = keys[k + 1].frame - keys[k].frame;
    double s0 = (keys[k].value[c] - keys[k - 1].value[c]) / h0;
    double s1 = (keys[k + 1].value[c] - keys[k].value[c]) / h1;
    if (s0 * s1 <= 0.0)
        return 0.0;
    double w0 = 2.0 * h1 + h0, w1 = h1 + 2.0 * h0;
    return (w0 + w1) / (w0 / s0 + w1 / s1);
}

static double smooth_between(const firn_value *value, size_t k, int c, double t)
{
    const firn_key *a = &value->keys[k], *b = &value->keys[k + 1];
    double h = b->frame - a->frame, rest = 1.0 - t;
    double from = slope_at(value, k, c), to = slope_at(value, k + 1, c);
    return rest * rest * (1.0 + 2.0 * t) * a->value[c] + t * t * (3.0 - 2.0 * t) * b->value[c] +
           h * t * rest * (rest * from - t * to);
}

void firn_value_at(const firn_value *value, double frame, double out[3])
{
    if (value->keys == NULL) {
        memcpy(out, value->number, sizeof value->number);
        return;
    }
    const firn_key *keys = value->keys;
    size_t last = value->key_count - 1, k = 0;
    while (k < last && frame >= keys[k + 1].frame)
        k++;
    double span = k < last ? keys[k + 1].frame - keys[k].frame : 1.0;
    double t = (frame - keys[k].frame) / span;
    bool holds = value->interpolation == FIRN_INTERPOLATION_CONSTANT ||
                 value->param->type == FIRN_BOOL || value->param->type == FIRN_CHOICE;
    for (int c = 0; c < 3; c++) {
        double from = keys[k].value[c];
        if (t <= 0.0 || k == last || holds)
            out[c] = from;
        else if (value->interpolation == FIRN_INTERPOLATION_SMOOTH)
            out[c] = smooth_between(value, k, c, t);
        else
            out[c] = from + t * (keys[k + 1].value[c] - from);
        if (value->param->type == FIRN_INT)
            out[c] = (double)(int64_t)(out[c] + (out[c] < 0.0 ? -0.5 : 0.5));
    }
}
