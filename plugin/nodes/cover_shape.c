#include "cover_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Surfaces one above the other that a column may have, such as a table and the floor.
enum { LAYERS = 4, RING = 6 };
static const double DEGREE = 0.017453292519943295;

typedef struct layer {
    float ground, height; // m: where it lies, and how much
} layer;

typedef struct column {
    int count;
    layer layer[LAYERS]; // from the top
} column;

typedef struct field {
    const firn_cover_def *def;
    const firn_cover_relief *relief;
    const firn_solid_set *solids;
    const float *frictions;
    int nx, nz;
    firn_vec3 corner; // m, of the first column, at the bottom of the box
    column *columns;
    double seen; // columns, by share of the sky
} field;

static firn_vec3 place_of(const field *f, int i, int k, float y)
{
    float h = f->def->voxel_size;
    return firn_vec(f->corner.x + h * (float)i, y, f->corner.z + h * (float)k);
}

// Whether a ray from an outside place reaches the top of the box, or its sides.
static bool sees_sky(const field *f, firn_vec3 from, firn_vec3 direction)
{
    const firn_cover_def *def = f->def;
    firn_vec3 p = from;
    for (int step = 0; step < 1000; step++) {
        firn_vec3 r = firn_sub(p, def->center);
        if (r.y > def->half_size.y || fabsf(r.x) > def->half_size.x ||
            fabsf(r.z) > def->half_size.z)
            return true;
        float d = firn_solid_set_distance(f->solids, p).value;
        if (d < 0.02f * def->voxel_size)
            return false;
        p = firn_add_scaled(p, fmaxf(0.7f * d, 0.1f * def->voxel_size), direction);
    }
    return false;
}

// The share of the sky that a place sees: the top, and rings around it, as far as flakes drift.
static float sky_at(const field *f, firn_vec3 place, firn_vec3 normal)
{
    firn_vec3 from = firn_add_scaled(place, 0.25f * f->def->voxel_size, normal);
    int seen = 0;
    for (int i = 0; i < f->def->rays; i++) {
        int ring = i == 0 ? 0 : 1 + (i - 1) / RING, rings = 1 + (f->def->rays - 2) / RING;
        float tilt = i == 0 ? 0.0f : (float)(15.0 * DEGREE * ring / (rings > 0 ? rings : 1));
        float turn = (float)(360.0 * DEGREE * ((i - 1) % RING + 0.5 * (ring % 2)) / RING);
        seen += sees_sky(f, from,
                         firn_vec(sinf(tilt) * cosf(turn), cosf(tilt), sinf(tilt) * sinf(turn)));
    }
    return (float)seen / (float)f->def->rays;
}

// How much of the depth stays on a slope: all of it until shortly before the limit.
static float held_on(const field *f, firn_solid_distance d)
{
    double limit = f->def->slope_limit > 0.0f ? f->def->slope_limit * DEGREE
                                              : atan((double)f->frictions[d.nearest]);
    double slope = acos(fmin(fmax((double)d.normal.y, -1.0), 1.0));
    double share = (limit - slope) / fmax(0.15 * limit, 1e-6);
    return (float)fmin(fmax(share, 0.0), 1.0);
}

static void add_layer(field *f, column *c, firn_vec3 at)
{
    firn_solid_distance d = firn_solid_set_distance(f->solids, at);
    float held = d.nearest >= 0 ? held_on(f, d) : 0.0f;
    float sky = held > 0.0f ? sky_at(f, at, d.normal) : 0.0f;
    float height = held * sky * firn_cover_depth(f->relief, at.x, at.z);
    c->layer[c->count++] = (layer){at.y, height};
}

// Goes down a column and notes every place where it enters something solid.
static void look_down(field *f, int i, int k)
{
    column *c = &f->columns[(size_t)i * (size_t)f->nz + (size_t)k];
    const firn_cover_def *def = f->def;
    float top = def->center.y + def->half_size.y, step = 0.5f * def->voxel_size, y = top;
    float before = firn_solid_set_distance(f->solids, place_of(f, i, k, y)).value;
    while (y > f->corner.y && c->count < LAYERS) {
        float next = y - fmaxf(before > 0.0f ? 0.7f * before : 0.0f, step);
        float after = firn_solid_set_distance(f->solids, place_of(f, i, k, next)).value;
        if (before > 0.0f && after <= 0.0f) {
            float high = y, low = next;
            for (int n = 0; n < 20; n++) {
                float middle = 0.5f * (high + low);
                bool out =
                    firn_solid_set_distance(f->solids, place_of(f, i, k, middle)).value > 0.0f;
                high = out ? middle : high;
                low = out ? low : middle;
            }
            if (low >= f->corner.y)
                add_layer(f, c, place_of(f, i, k, high));
        }
        y = next;
        before = after;
    }
}

// The snow of a layer is no higher above what is beside it than the slope of edges allows.
static bool settle(field *f, layer *own, int i, int k, float rise)
{
    const column *beside = NULL;
    if (i >= 0 && i < f->nx && k >= 0 && k < f->nz)
        beside = &f->columns[(size_t)i * (size_t)f->nz + (size_t)k];
    float most = beside == NULL ? own->ground : -1e9f;
    for (int n = 0; beside != NULL && n < beside->count; n++) {
        // Ground beside it goes on below; what is far above it is another floor.
        float top = beside->layer[n].ground + beside->layer[n].height;
        bool above = beside->layer[n].ground > own->ground + own->height + 4.0f * rise;
        most = above ? most : fmaxf(most, top);
    }
    float height = fmaxf(most + rise - own->ground, 0.0f);
    bool less = height < own->height;
    own->height = less ? height : own->height;
    return less;
}

static void soften(field *f)
{
    if (f->def->edge >= 90.0f)
        return;
    float rise = f->def->voxel_size * (float)tan(f->def->edge * DEGREE);
    bool changed = true;
    for (int sweep = 0; changed && sweep < 400; sweep++) {
        changed = false;
        for (int n = 0; n < f->nx * f->nz; n++) {
            int at = sweep % 2 == 0 ? n : f->nx * f->nz - 1 - n, i = at / f->nz, k = at % f->nz;
            column *c = &f->columns[at];
            for (int l = 0; l < c->count; l++) {
                layer *own = &c->layer[l];
                if (!(own->height > 0.0f))
                    continue;
                changed |= settle(f, own, i - 1, k, rise);
                changed |= settle(f, own, i + 1, k, rise);
                changed |= settle(f, own, i, k - 1, rise);
                changed |= settle(f, own, i, k + 1, rise);
            }
        }
    }
}

// --- The level set ------------------------------------------------------------------------------

static float value_at(const field *f, const column *c, firn_vec3 p)
{
    float h = f->def->voxel_size, nearest = 3.0f * h;
    for (int n = 0; n < c->count; n++) {
        float above = p.y - c->layer[n].ground - c->layer[n].height;
        float below = c->layer[n].ground - 2.0f * h - p.y;
        // Where nothing lies there is no surface that could be rounded up to snow.
        if (c->layer[n].height <= 0.0f)
            above = fmaxf(p.y - c->layer[n].ground, 0.0f) + 0.5f * h;
        nearest = fminf(nearest, fmaxf(above, below));
    }
    if (nearest < 0.0f)
        nearest = fmaxf(nearest, -firn_solid_set_distance(f->solids, p).value);
    return fmaxf(nearest, -3.0f * h);
}

typedef struct leaves {
    size_t count, room;
    firn_coord *origin;
    float *values;
} leaves;

static firn_result add_leaf(leaves *all, firn_coord origin, firn_error *error)
{
    if (all->count == all->room) {
        size_t room = 2 * all->room + 64;
        firn_coord *origins = firn_alloc(room * sizeof *origins);
        float *values = firn_alloc(room * FIRN_LEAF_VOXELS * sizeof *values);
        if (origins == NULL || values == NULL) {
            firn_free(origins);
            firn_free(values);
            return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make a cover of snow");
        }
        if (all->count > 0) {
            memcpy(origins, all->origin, all->count * sizeof *origins);
            memcpy(values, all->values, all->count * FIRN_LEAF_VOXELS * sizeof *values);
        }
        firn_free(all->origin);
        firn_free(all->values);
        *all = (leaves){all->count, room, origins, values};
    }
    all->origin[all->count++] = origin;
    return FIRN_OK;
}

static void fill_leaf(const field *f, firn_coord origin, float *values)
{
    static const column none = {0};
    float h = f->def->voxel_size;
    for (int n = 0; n < FIRN_LEAF_VOXELS; n++) {
        int i = origin.x + n / 64, k = origin.z + n % 8;
        bool within = i >= 0 && i < f->nx && k >= 0 && k < f->nz;
        const column *c = within ? &f->columns[i * f->nz + k] : &none;
        values[n] =
            value_at(f, c, place_of(f, i, k, f->corner.y + h * (float)(origin.y + n / 8 % 8)));
    }
}

// The lowest and highest snow of the columns around a leaf; false: there is none.
static bool span(const field *f, int i, int k, float *low, float *high)
{
    *low = 1e9f;
    *high = -1e9f;
    for (int n = 0; n < 100; n++) {
        int a = i + n / 10 - 1, b = k + n % 10 - 1;
        if (a < 0 || a >= f->nx || b < 0 || b >= f->nz)
            continue;
        const column *c = &f->columns[a * f->nz + b];
        for (int l = 0; l < c->count; l++)
            if (c->layer[l].height > 0.0f) {
                *low = fminf(*low, c->layer[l].ground);
                *high = fmaxf(*high, c->layer[l].ground + c->layer[l].height);
            }
    }
    return *low <= *high;
}

static firn_result make_level_set(const field *f, firn_cover *cover, firn_error *error)
{
    leaves all = {0};
    float h = f->def->voxel_size, low, high;
    firn_result result = FIRN_OK;
    for (int i = -8; i < f->nx + 8; i += 8)
        for (int k = -8; k < f->nz + 8 && result == FIRN_OK; k += 8) {
            if (!span(f, i, k, &low, &high))
                continue;
            int from = 8 * (int)floorf(((low - f->corner.y) / h - 3.0f) / 8.0f);
            int to = (int)ceilf((high - f->corner.y) / h + 3.0f);
            for (int j = from; j <= to && result == FIRN_OK; j += 8)
                result = add_leaf(&all, (firn_coord){i, j, k}, error);
        }
#pragma omp parallel for schedule(dynamic, 8)
    for (size_t n = 0; n < all.count; n++)
        fill_leaf(f, all.origin[n], all.values + FIRN_LEAF_VOXELS * n);
    cover->level_set = (firn_level_set){.map = {f->corner, firn_quat_identity(), h},
                                        .background = 3.0f * h,
                                        .leaf_count = all.count,
                                        .leaf_origin = all.origin,
                                        .values = all.values};
    return result;
}

// Columns where the snow first has its whole depth, all around: a field goes on from there.
static bool on_rim(const field *f, const firn_patch *patch, size_t n)
{
    firn_vec3 p = place_of(f, (int)(n / (size_t)f->nz), (int)(n % (size_t)f->nz), 0.0f);
    float inset = firn_patch_inset(patch, p.x, p.z);
    return patch->border > 0.0f && fabsf(inset - FIRN_PATCH_FULL) < 0.05f;
}

static void measure(const field *f, firn_cover *cover)
{
    const firn_patch patch = firn_cover_patch(f->def);
    const double square = (double)f->def->voxel_size * (double)f->def->voxel_size;
    cover->rim[0] = 1e9f;
    cover->rim[1] = -1e9f;
    for (size_t n = 0; n < (size_t)f->nx * (size_t)f->nz; n++) {
        const column *c = &f->columns[n];
        for (int l = 0; l < c->count; l++) {
            cover->volume += square * (double)c->layer[l].height;
            cover->area += c->layer[l].height > 0.0f ? square : 0.0;
        }
        if (c->count > 0 && on_rim(f, &patch, n)) {
            float top = c->layer[0].ground + c->layer[0].height;
            cover->rim[0] = fminf(cover->rim[0], top);
            cover->rim[1] = fmaxf(cover->rim[1], top);
        }
    }
}

firn_result firn_cover_make(const firn_cover_relief *relief, const firn_solid_set *solids,
                            const float *frictions, firn_cover *cover, firn_error *error)
{
    const firn_cover_def *def = relief->def;
    memset(cover, 0, sizeof *cover);
    float h = def->voxel_size;
    double nx = floor(2.0 * def->half_size.x / h + 0.5),
           nz = floor(2.0 * def->half_size.z / h + 0.5);
    if (nx * nz > 1e8)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "half_size by voxel_size makes %.3g columns; 1e8 at most", nx * nz);
    field f = {.def = def,
               .relief = relief,
               .solids = solids,
               .frictions = frictions,
               .nx = (int)nx,
               .nz = (int)nz};
    // Columns stand in the middle of squares, so that their number times a square is the area.
    f.corner = firn_sub(def->center, def->half_size);
    f.corner.x += 0.5f * h;
    f.corner.z += 0.5f * h;
    size_t count = (size_t)f.nx * (size_t)f.nz;
    f.columns = firn_alloc_zero((count + 1) * sizeof *f.columns);
    if (f.columns == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make a cover of snow");
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t n = 0; n < count; n++)
        look_down(&f, (int)(n / (size_t)f.nz), (int)(n % (size_t)f.nz));
    soften(&f);
    measure(&f, cover);
    firn_result result = make_level_set(&f, cover, error);
    firn_free(f.columns);
    if (result != FIRN_OK)
        firn_cover_free(cover);
    return result;
}

void firn_cover_free(firn_cover *cover)
{
    firn_free((void *)cover->level_set.leaf_origin);
    firn_free((void *)cover->level_set.values);
    memset(cover, 0, sizeof *cover);
}
