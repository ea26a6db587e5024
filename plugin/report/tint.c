#include "tint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHADES = 32, CLOUDS = 128 };

/// Arrays are owned.
struct firn_tint {
    firn_vec3 *position; // of all points, those of a shade together
    float *radius;
    size_t begin[SHADES + 1];
    firn_picture_cloud clouds[CLOUDS];
    firn_picture_scene scene;
};

void firn_tint_free(firn_tint *tint)
{
    if (tint == NULL)
        return;
    firn_free(tint->position);
    firn_free(tint->radius);
    firn_free(tint);
}

const firn_picture_scene *firn_tint_scene(const firn_tint *tint) { return &tint->scene; }

static double value_at(const firn_attribute *column, size_t i)
{
    switch (column->storage) {
    case FIRN_STORAGE_FLOAT32:
        return (double)((const float *)column->data)[i];
    case FIRN_STORAGE_INT32:
        return (double)((const int32_t *)column->data)[i];
    case FIRN_STORAGE_UINT8:
        return (double)((const uint8_t *)column->data)[i];
    default:
        return (double)((const uint32_t *)column->data)[i];
    }
}

static bool is_read(firn_storage storage)
{
    return storage == FIRN_STORAGE_FLOAT32 || storage == FIRN_STORAGE_INT32 ||
           storage == FIRN_STORAGE_UINT8 || storage == FIRN_STORAGE_UINT32;
}

/// A column and how its values become shades.
typedef struct scale {
    const firn_attribute *column;
    bool whole; // a color for each number
    double low, high;
} scale;

static size_t shade_of(const scale *s, size_t i)
{
    double value = value_at(s->column, i);
    if (s->whole)
        return value > 0.0 ? (size_t)fmod(value, SHADES) : 0;
    double share = s->high > s->low ? (value - s->low) / (s->high - s->low) : 0.5;
    return share > 0.0 ? (size_t)fmin(SHADES - 1.0, share * SHADES) : 0;
}

static firn_vec3 color_of(const scale *s, size_t shade)
{
    // Snow, then what is told apart from it and from each other.
    static const firn_vec3 apart[] = {
        {0.93f, 0.95f, 0.98f}, {0.90f, 0.93f, 0.98f}, {0.10f, 0.30f, 0.62f}, {0.24f, 0.10f, 0.04f},
        {0.75f, 0.45f, 0.10f}, {0.20f, 0.50f, 0.25f}, {0.55f, 0.12f, 0.12f}, {0.45f, 0.35f, 0.60f}};
    if (s->whole)
        return apart[shade % FIRN_COUNT(apart)];
    const firn_vec3 cold = {0.03f, 0.12f, 0.65f}, middle = {0.90f, 0.90f, 0.86f},
                    hot = {0.75f, 0.04f, 0.02f};
    float at = 2.0f * ((float)shade + 0.5f) / SHADES;
    return at < 1.0f ? firn_lerp(cold, middle, at) : firn_lerp(middle, hot, at - 1.0f);
}

static firn_result read_scale(const firn_points *points, const char *what, scale *s,
                              firn_error *error)
{
    char name[64];
    size_t length = strcspn(what, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, what);
    s->column = firn_points_find(points, name);
    if (s->column == NULL || s->column->tuple_size != 1 || !is_read(s->column->storage))
        return firn_fail(error, FIRN_ERR_NOT_FOUND,
                         "the particles have no column '%s' of single numbers; name one of those "
                         "that `firn info` lists, and write it with attributes of write_particles",
                         name);
    s->whole = s->column->storage != FIRN_STORAGE_FLOAT32 && what[length] == '\0';
    s->low = INFINITY;
    s->high = -INFINITY;
    for (size_t i = 0; i < points->count; i++) {
        s->low = fmin(s->low, value_at(s->column, i));
        s->high = fmax(s->high, value_at(s->column, i));
    }
    char rest;
    if (what[length] == '=' &&
        (sscanf(what + length + 1, "%lf,%lf%c", &s->low, &s->high, &rest) != 2 ||
         !(s->low < s->high)))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "'%.100s' must be like temperature=263,283, the lower end first", what);
    return FIRN_OK;
}

static firn_result claim(firn_tint *tint, size_t count, firn_error *error)
{
    tint->position = firn_alloc((count + 1) * sizeof *tint->position);
    tint->radius = firn_alloc((count + 1) * sizeof *tint->radius);
    return tint->position != NULL && tint->radius != NULL
               ? FIRN_OK
               : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot color the particles");
}

// Counts, then fills: those of a shade lie together.
static void sort_points(firn_tint *tint, const firn_picture_cloud *all, const scale *s)
{
    size_t at[SHADES] = {0};
    for (size_t i = 0; i < all->count; i++)
        tint->begin[shade_of(s, i) + 1]++;
    for (int k = 0; k < SHADES; k++) {
        tint->begin[k + 1] += tint->begin[k];
        at[k] = tint->begin[k];
    }
    for (size_t i = 0; i < all->count; i++) {
        size_t to = at[shade_of(s, i)]++;
        tint->position[to] = all->position[i];
        tint->radius[to] = all->radius[i];
    }
}

static void make_clouds(firn_tint *tint, const firn_picture_scene *scene, const scale *s)
{
    for (size_t k = 0; k < SHADES; k++) {
        size_t begin = tint->begin[k], count = tint->begin[k + 1] - begin;
        if (count > 0)
            tint->clouds[tint->scene.cloud_count++] =
                (firn_picture_cloud){.count = count,
                                     .position = tint->position + begin,
                                     .radius = tint->radius + begin,
                                     .albedo = color_of(s, k),
                                     .framed = scene->clouds[0].framed};
    }
    for (size_t k = 1; k < scene->cloud_count && tint->scene.cloud_count < CLOUDS; k++)
        tint->clouds[tint->scene.cloud_count++] = scene->clouds[k];
}

firn_result firn_tint_make(const firn_picture_scene *scene, const firn_points *points,
                           const char *what, firn_tint **tint, firn_error *error)
{
    scale s = {.column = NULL};
    *tint = NULL;
    FIRN_TRY(read_scale(points, what, &s, error));
    firn_tint *t = firn_alloc_zero(sizeof *t);
    if (t == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot color the particles");
    firn_result result = claim(t, points->count, error);
    if (result != FIRN_OK) {
        firn_tint_free(t);
        return result;
    }
    t->scene = (firn_picture_scene){
        .clouds = t->clouds, .solid_count = scene->solid_count, .solids = scene->solids};
    sort_points(t, &scene->clouds[0], &s);
    make_clouds(t, scene, &s);
    *tint = t;
    return FIRN_OK;
}
