#include "packing.h"

#include <math.h>
#include <stdlib.h>

/// Columns are this many spacings wide, the edge of the mean cube of a particle, and a surface that
/// moved by less than this many has not moved: tops of columns differ by so much by chance.
#define WIDTH 2.0
#define NOISE 0.5

/// A field of columns over all snow, before and after.
typedef struct columns {
    const firn_packing_input *in;
    double width; // m
    double lower[2];
    size_t count[2];
    float *top_before, *top_after; // m; -INFINITY: no snow
} columns;

typedef struct box {
    double lower[3], upper[3];
} box;

static box box_of(const firn_vec3 *points, size_t count)
{
    box b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (size_t i = 0; i < count; i++) {
        const double at[3] = {(double)points[i].x, (double)points[i].y, (double)points[i].z};
        for (int axis = 0; axis < 3; axis++) {
            b.lower[axis] = fmin(b.lower[axis], at[axis]);
            b.upper[axis] = fmax(b.upper[axis], at[axis]);
        }
    }
    return b;
}

static size_t column_of(const columns *c, firn_vec3 at)
{
    size_t x = (size_t)(((double)at.x - c->lower[0]) / c->width);
    size_t z = (size_t)(((double)at.z - c->lower[1]) / c->width);
    return x * c->count[1] + z;
}

static void find_tops(const columns *c, const firn_vec3 *points, float *tops)
{
    for (size_t i = 0; i < c->count[0] * c->count[1]; i++)
        tops[i] = -INFINITY;
    for (size_t i = 0; i < c->in->count; i++) {
        size_t column = column_of(c, points[i]);
        tops[column] = fmaxf(tops[column], points[i].y);
    }
}

static int compare_falling(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// How far a column sank, below zero: it rose. Snow where there was none rose from the floor.
static double sunk(const columns *c, size_t i, double floor)
{
    double before = isfinite(c->top_before[i]) ? (double)c->top_before[i] : floor;
    double after = isfinite(c->top_after[i]) ? (double)c->top_after[i] : floor;
    return fabs(before - after) > NOISE * c->width / WIDTH ? before - after : 0.0;
}

static double mean_density(const firn_packing_input *in, const float *density, const bool *counts)
{
    // Of the mass over the volume: 1 / density is averaged by mass.
    double mass = 0.0, volume = 0.0;
    for (size_t i = 0; density != NULL && i < in->count; i++) {
        if (counts != NULL && !counts[i])
            continue;
        double own = in->density_before != NULL
                         ? (double)in->density_before[i] * (double)in->volume[i]
                         : (double)in->volume[i];
        mass += own;
        volume += own / fmax((double)density[i], 1e-9);
    }
    return volume > 0.0 ? mass / volume : (double)NAN;
}

static firn_result add_up(const columns *c, double floor, firn_packing *packing, firn_error *error)
{
    size_t count = c->count[0] * c->count[1], sinking = 0;
    double area = c->width * c->width;
    float *depths = firn_alloc((count + 1) * sizeof *depths);
    bool *below = firn_alloc_zero((c->in->count + 1) * sizeof *below);
    if (depths == NULL || below == NULL) {
        firn_free(depths);
        firn_free(below);
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot measure %zu columns",
                         count);
    }
    for (size_t i = 0; i < count; i++) {
        double by = sunk(c, i, floor);
        packing->imprint += area * fmax(by, 0.0);
        packing->rim += area * fmax(-by, 0.0);
        if (by > 0.0)
            depths[sinking++] = (float)by;
    }
    qsort(depths, sinking, sizeof *depths, compare_falling);
    packing->depth = sinking > 0 ? (double)depths[sinking / 10] : 0.0;
    for (size_t i = 0; sinking > 0 && i < c->in->count; i++) {
        size_t column = column_of(c, c->in->after[i]);
        below[i] = sunk(c, column, floor) > 0.5 * packing->depth &&
                   (double)c->in->after[i].y > (double)c->top_after[column] - packing->depth;
    }
    packing->density_before = mean_density(c->in, c->in->density_before, NULL);
    packing->density_after = mean_density(c->in, c->in->density_after, NULL);
    packing->density_below = mean_density(c->in, c->in->density_after, below);
    firn_free(depths);
    firn_free(below);
    return FIRN_OK;
}

firn_result firn_packing_find(const firn_packing_input *input, firn_packing *packing,
                              firn_error *error)
{
    *packing = (firn_packing){
        .density_before = (double)NAN, .density_after = (double)NAN, .density_below = (double)NAN};
    if (input->count == 0)
        return FIRN_OK;
    double volume = 0.0;
    for (size_t i = 0; i < input->count; i++)
        volume += (double)input->volume[i];
    columns c = {.in = input, .width = WIDTH * cbrt(volume / (double)input->count)};
    box before = box_of(input->before, input->count), after = box_of(input->after, input->count);
    double cells = 1.0;
    for (int k = 0; k < 2; k++) {
        int axis = 2 * k;
        c.lower[k] = fmin(before.lower[axis], after.lower[axis]);
        double upper = fmax(before.upper[axis], after.upper[axis]);
        double span = floor((upper - c.lower[k]) / c.width) + 1.0;
        cells *= span;
        c.count[k] = span < 1e6 ? (size_t)span : 1000000;
    }
    if (!(c.width > 0.0 && cells < 1e8))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the snow is spread too far to measure its surface; measure an earlier "
                         "frame");
    packing->height_before = before.upper[1] - before.lower[1];
    packing->height_after = after.upper[1] - after.lower[1];
    size_t count = c.count[0] * c.count[1];
    c.top_before = firn_alloc(count * sizeof(float));
    c.top_after = firn_alloc(count * sizeof(float));
    firn_result result = FIRN_ERR_MEMORY;
    if (c.top_before == NULL || c.top_after == NULL) {
        firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot measure %zu columns", count);
    } else {
        find_tops(&c, input->before, c.top_before);
        find_tops(&c, input->after, c.top_after);
        result = add_up(&c, before.lower[1], packing, error);
    }
    firn_free(c.top_before);
    firn_free(c.top_after);
    return result;
}
