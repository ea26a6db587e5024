#include "followed.h"

#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// One frame, in the order of the ids.
typedef struct snapshot {
    size_t count;
    int64_t *id;
    firn_vec3 *position;
    float *radius, *density, *strength; // NULL: the file has none
} snapshot;

static void snapshot_free(snapshot *s)
{
    firn_free(s->id);
    firn_free(s->position);
    firn_free(s->radius);
    firn_free(s->density);
    firn_free(s->strength);
    memset(s, 0, sizeof *s);
}

// Radii are those of spheres with the initial volume.
static float ball_volume(float radius)
{
    return 4.18879020f * radius * radius * radius; // 4/3 pi r^3
}

/// A particle and where it stands in the file.
typedef struct entry {
    int64_t id;
    size_t place;
} entry;

static int compare_ids(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static firn_result no_memory(firn_error *error)
{
    return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot follow the particles");
}

// A column of floats in the order of the entries; NULL when the file has no such column.
static firn_result take(const firn_points *points, const char *name, int size, const entry *order,
                        float **values, firn_error *error)
{
    const firn_attribute *column = firn_points_find(points, name);
    *values = NULL;
    if (column == NULL || column->storage == FIRN_STORAGE_STRING || column->tuple_size != size)
        return FIRN_OK;
    *values = firn_alloc((points->count + 1) * (size_t)size * sizeof(float));
    if (*values == NULL)
        return no_memory(error);
    for (size_t i = 0; i < points->count; i++)
        firn_attribute_floats(column, order[i].place * (size_t)size, (size_t)size,
                              *values + i * (size_t)size);
    return FIRN_OK;
}

// Where a file has no densities, mass over the volume that plastic flow has left.
static firn_result make_density(const firn_points *points, const entry *order, snapshot *s,
                                firn_error *error)
{
    float *mass = NULL, *jp = NULL;
    firn_result result = take(points, "mass", 1, order, &mass, error);
    if (result == FIRN_OK)
        result = take(points, "Jp", 1, order, &jp, error);
    if (result == FIRN_OK && mass != NULL && jp != NULL && s->radius != NULL) {
        s->density = mass;
        mass = NULL;
        for (size_t i = 0; i < s->count; i++)
            s->density[i] /= ball_volume(s->radius[i]) * fmaxf(jp[i], 1e-6f);
    }
    firn_free(mass);
    firn_free(jp);
    return result;
}

static firn_result take_all(const firn_points *points, const entry *order, snapshot *s,
                            firn_error *error)
{
    float *position = NULL;
    s->count = points->count;
    s->id = firn_alloc((points->count + 1) * sizeof *s->id);
    if (s->id == NULL)
        return no_memory(error);
    for (size_t i = 0; i < points->count; i++)
        s->id[i] = order[i].id;
    FIRN_TRY(take(points, "P", 3, order, &position, error));
    s->position = (firn_vec3 *)position;
    FIRN_TRY(take(points, "pscale", 1, order, &s->radius, error));
    FIRN_TRY(take(points, "density", 1, order, &s->density, error));
    if (s->density == NULL)
        FIRN_TRY(make_density(points, order, s, error));
    return take(points, "stiffness", 1, order, &s->strength, error);
}

static firn_result snapshot_take(firn_view *view, int frame, const char *cache, snapshot *s,
                                 firn_error *error)
{
    FIRN_TRY(firn_view_load(view, frame, error));
    const firn_points *points = firn_view_points(view);
    const firn_attribute *id = firn_points_find(points, "id");
    if (id == NULL || id->storage == FIRN_STORAGE_STRING || id->tuple_size != 1 ||
        firn_points_find(points, "pscale") == NULL)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "the particles of '%s' have no id or no pscale, so that they cannot be "
                         "followed; write them with Firn",
                         cache);
    entry *order = firn_alloc((points->count + 1) * sizeof *order);
    if (order == NULL)
        return no_memory(error);
    for (size_t i = 0; i < points->count; i++) {
        firn_attribute_integers(id, i, 1, &order[i].id);
        order[i].place = i;
    }
    qsort(order, points->count, sizeof *order, compare_ids);
    firn_result result = take_all(points, order, s, error);
    firn_free(order);
    return result;
}

static firn_result claim(firn_followed *f, const snapshot *a, const snapshot *b, firn_error *error)
{
    size_t room = a->count + 1;
    f->before = firn_alloc(room * sizeof *f->before);
    f->after = firn_alloc(room * sizeof *f->after);
    f->volume = firn_alloc(room * sizeof *f->volume);
    bool dense = a->density != NULL && b->density != NULL;
    bool strong = a->strength != NULL && b->strength != NULL;
    f->density_before = dense ? firn_alloc(room * sizeof(float)) : NULL;
    f->density_after = dense ? firn_alloc(room * sizeof(float)) : NULL;
    f->strength = strong ? firn_alloc(room * sizeof(float)) : NULL;
    bool all = f->before != NULL && f->after != NULL && f->volume != NULL &&
               (!dense || (f->density_before != NULL && f->density_after != NULL)) &&
               (!strong || f->strength != NULL);
    return all ? FIRN_OK : no_memory(error);
}

static void match(firn_followed *f, const snapshot *a, const snapshot *b)
{
    for (size_t i = 0, k = 0; i < a->count; i++) {
        while (k < b->count && b->id[k] < a->id[i])
            k++;
        if (k == b->count || b->id[k] != a->id[i]) {
            f->lost++;
            continue;
        }
        size_t n = f->count++;
        f->before[n] = a->position[i];
        f->after[n] = b->position[k];
        f->volume[n] = ball_volume(a->radius[i]);
        if (f->density_before != NULL) {
            f->density_before[n] = a->density[i];
            f->density_after[n] = b->density[k];
        }
        if (f->strength != NULL)
            f->strength[n] = a->strength[i] > 0.0f ? b->strength[k] / a->strength[i] : 1.0f;
    }
}

firn_result firn_followed_read(const char *cache, int from, int to, firn_followed *followed,
                               firn_error *error)
{
    memset(followed, 0, sizeof *followed);
    firn_view *view = NULL;
    snapshot a = {0}, b = {0};
    firn_result result = firn_view_open(cache, &view, error);
    if (result == FIRN_OK) {
        followed->from = from != FIRN_FOLLOW_END ? from : firn_view_first(view);
        followed->to = to != FIRN_FOLLOW_END ? to : firn_view_last(view);
        result = snapshot_take(view, followed->from, cache, &a, error);
    }
    if (result == FIRN_OK)
        result = snapshot_take(view, followed->to, cache, &b, error);
    if (result == FIRN_OK)
        result = claim(followed, &a, &b, error);
    if (result == FIRN_OK)
        match(followed, &a, &b);
    else
        firn_followed_free(followed);
    snapshot_free(&a);
    snapshot_free(&b);
    firn_view_close(view);
    return result;
}

void firn_followed_free(firn_followed *f)
{
    firn_free(f->before);
    firn_free(f->after);
    firn_free(f->volume);
    firn_free(f->density_before);
    firn_free(f->density_after);
    firn_free(f->strength);
    memset(f, 0, sizeof *f);
}

firn_pieces_input firn_followed_pieces(const firn_followed *f)
{
    return (firn_pieces_input){f->count, f->before, f->after, f->volume, f->strength};
}

firn_packing_input firn_followed_packing(const firn_followed *f)
{
    return (firn_packing_input){f->count,  f->before,         f->after,
                                f->volume, f->density_before, f->density_after};
}
