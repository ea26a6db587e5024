#include "firn/render.h"

#include <string.h>

static firn_result read_ids(const firn_points *points, const uint32_t **id, firn_error *error)
{
    const firn_attribute *column = firn_points_find(points, "id");
    bool whole = column != NULL && column->storage != FIRN_STORAGE_STRING;
    if (!whole)
        column = firn_points_find(points, "sparkle");
    if (column == NULL || column->storage == FIRN_STORAGE_STRING || column->tuple_size != 1)
        return FIRN_OK;
    uint32_t *made = firn_alloc((points->count + 1) * sizeof *made);
    if (made == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read id");
    for (size_t i = 0; i < points->count; i++) {
        int64_t number = 0;
        float unit = 0.0f;
        if (whole)
            firn_attribute_integers(column, i, 1, &number);
        else
            firn_attribute_floats(column, i, 1, &unit);
        memcpy(&made[i], &unit, sizeof unit);
        if (whole)
            made[i] = (uint32_t)number;
    }
    *id = made;
    return FIRN_OK;
}

// Particles without a size are as large as they may be.
static firn_result read_sizes(const firn_points *points, const float **radius, firn_error *error)
{
    float *made = NULL;
    FIRN_TRY(firn_points_floats(points, "pscale", 1, &made, error));
    if (made == NULL) {
        made = firn_alloc((points->count + 1) * sizeof *made);
        for (size_t i = 0; made != NULL && i < points->count; i++)
            made[i] = 1e6f;
    }
    *radius = made;
    return made != NULL ? FIRN_OK
                        : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read pscale");
}

static firn_result read_columns(const firn_points *points, firn_grains *grains, firn_error *error)
{
    FIRN_TRY(firn_points_floats(points, "P", 3, (float **)&grains->position, error));
    FIRN_TRY(firn_points_floats(points, "v", 3, (float **)&grains->velocity, error));
    FIRN_TRY(firn_points_floats(points, "Cd", 3, (float **)&grains->color, error));
    FIRN_TRY(read_sizes(points, &grains->radius, error));
    FIRN_TRY(read_ids(points, &grains->id, error));
    grains->count = grains->position != NULL ? points->count : 0;
    return FIRN_OK;
}

firn_result firn_grains_read(const firn_points *points, firn_grains *grains, firn_error *error)
{
    memset(grains, 0, sizeof *grains);
    firn_result result = read_columns(points, grains, error);
    if (result != FIRN_OK)
        firn_grains_free(grains);
    return result;
}

void firn_grains_free(firn_grains *grains)
{
    firn_free((void *)grains->position);
    firn_free((void *)grains->velocity);
    firn_free((void *)grains->radius);
    firn_free((void *)grains->id);
    firn_free((void *)grains->color);
    memset(grains, 0, sizeof *grains);
}
