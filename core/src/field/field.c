#include "firn/field.h"

#include "base/threads.h"
#include "firn/defs.h"
#include "motion_blur.h"
#include "raster.h"

#include "firn/channel.h"
#include "firn/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW(field) FIRN_PARAM(firn_field_def, field)

// clang-format off
static const firn_param field_params[] = {
    {ROW(voxel_size), FIRN_FLOAT, {0.02}, 1e-5, 100, "m", "Edge of a voxel of the volume"},
    {ROW(kernel), FIRN_CHOICE, {FIRN_KERNEL_QUADRATIC}, 0, 1, "",
     "B-spline that spreads a particle", .choices = "quadratic|cubic"},
    {ROW(filter_width), FIRN_FLOAT, {0}, 0, 1000, "m",
     "One unit of the kernel, a voxel at least; 0 takes the larger of voxel and cell"},
    {ROW(anisotropy), FIRN_FLOAT, {1}, 1, 16, "",
     "Kernels get flat along surfaces: longest axis over shortest. 1: all are round"},
    {ROW(edge), FIRN_FLOAT, {1}, 0, 8, "voxels",
     "Width of the boundary of the snow; 0 leaves it as wide as the kernel"},
    {ROW(clip), FIRN_FLOAT, {0}, 0, 1000, "kg/m^3", "Thinner voxels are left out, with their mass"},
    {ROW(velocity), FIRN_BOOL, {1}, 0, 1, "", "Also make the velocity"},
    {ROW(shutter), FIRN_FLOAT, {0}, 0, 10, "s",
     "Velocity also where the snow comes from and goes to in this time, for motion blur"},
    {ROW(dilation), FIRN_INT, {0}, 0, 64, "voxels", "Velocity also this far around all that"},
    {ROW(compaction), FIRN_BOOL, {1}, 0, 1, "", "Also make the compaction"},
    {ROW(thread_count), FIRN_INT, {0}, 0, 1024, "", "Number of threads; 0 uses every core"},
    {ROW(layers), FIRN_BOOL, {0}, 0, 1, "",
     "Also make the layers of the density apart: body, packed snow with its edge, and powder, a "
     "fog of loose snow without one", .added = true},
    {ROW(powder_density), FIRN_FLOAT, {100}, 1, 1000, "kg/m^3",
     "Particles with thinner snow around them are powder; below half of it all of their mass is",
     .visible_when = "layers==true", .added = true},
};
// clang-format on

struct firn_field {
    float voxel_size; // m
    size_t leaf_count;
    firn_coord *leaf_origin;
    uint64_t *mask;
    float *density;
    uint64_t *velocity_mask; // NULL: mask
    size_t grid_count;       // velocity and compaction first, as far as they are made
    firn_field_grid *grids;
    float **values; // of each grid
    char *names;    // FIRN_CHANNEL_NAME bytes of each
};

enum {
    LEAF = FIRN_LEAF_EDGE,
    WIDEST = 16,             // voxels in one unit of the kernel
    FARTHEST_VOXEL = 1 << 26 // from the world's origin
};

firn_param_table firn_field_params(void)
{
    firn_param_table table = {field_params, FIRN_COUNT(field_params)};
    return table;
}

void firn_field_def_reset(firn_field_def *def, size_t size)
{
    firn_field_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_field_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

static bool is_taken(const firn_field_points *points, size_t index)
{
    static const char *const own[] = {"density", "vel", "compaction", "surface", "body", "powder"};
    const char *name = points->values[index].name;
    for (size_t i = 0; i < FIRN_COUNT(own); i++)
        if (strcmp(own[i], name) == 0)
            return true;
    for (size_t i = 0; i < index; i++)
        if (strcmp(points->values[i].name, name) == 0)
            return true;
    return false;
}

static firn_result check_values(const firn_field_points *points, size_t index, firn_error *error)
{
    const firn_field_values *v = &points->values[index];
    bool sound = v->name != NULL && v->name[0] != '\0' && strlen(v->name) < FIRN_CHANNEL_NAME &&
                 (v->components == 1 || v->components == 3) && isfinite(v->background) &&
                 (v->values != NULL || points->count == 0);
    if (!sound)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "grid %zu of a field needs a name, values of 1 or 3 components and a "
                         "finite background",
                         index);
    if (is_taken(points, index))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a field cannot have two grids called %s",
                         v->name);
    const size_t width = (size_t)v->components;
    for (size_t i = 0; i < points->count * width; i++)
        if (!isfinite(v->values[i]) || (v->inverse && !(v->values[i] > 0.0f)))
            return firn_fail(error, FIRN_ERR_ARGUMENT, "particle %zu has a %s of %g; it must be %s",
                             i / width, v->name, (double)v->values[i],
                             v->inverse ? "above 0" : "finite");
    return FIRN_OK;
}

static firn_result check_points(const firn_field_def *def, const firn_field_points *points,
                                firn_error *error)
{
    const double limit = (double)FARTHEST_VOXEL * (double)def->voxel_size;
    if (points->count > UINT32_MAX)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "%zu particles are too many for one field",
                         points->count);
    if (!(isfinite(points->cell_size) && points->cell_size >= 0.0f))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the cell size of the particles is %g m",
                         (double)points->cell_size);
    if (points->count > 0 &&
        (points->position == NULL || points->mass == NULL ||
         (def->velocity && points->velocity == NULL) || (def->compaction && points->jp == NULL)))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a field needs position and mass, for velocity also velocity, for "
                         "compaction also the plastic volume ratio of its particles");
    for (size_t i = 0; i < points->value_count; i++)
        FIRN_TRY(check_values(points, i, error));
    for (size_t i = 0; i < points->count; i++) {
        firn_vec3 x = points->position[i];
        double far = fmax(fabs((double)x.x), fmax(fabs((double)x.y), fabs((double)x.z)));
        if (!firn_vec_is_finite(x) || !(far < limit))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "particle %zu is at (%g, %g, %g) m; a field with voxels of %g m ends "
                             "at %g m",
                             i, (double)x.x, (double)x.y, (double)x.z, (double)def->voxel_size,
                             limit);
        if (!(isfinite(points->mass[i]) && points->mass[i] > 0.0f))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "particle %zu has a mass of %g kg; it must be above 0", i,
                             (double)points->mass[i]);
        if (def->velocity && !firn_vec_is_finite(points->velocity[i]))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "particle %zu has a velocity that is not finite", i);
        if (def->compaction && !(isfinite(points->jp[i]) && points->jp[i] > 0.0f))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "particle %zu has a plastic volume ratio of %g; it must be above 0", i,
                             (double)points->jp[i]);
    }
    return FIRN_OK;
}

static firn_result choose_kernel(firn_raster *r, const firn_field_def *def, firn_error *error)
{
    float width = def->filter_width > 0.0f ? def->filter_width : r->points->cell_size;
    r->width = fmax((double)width / (double)def->voxel_size, 1.0);
    if (r->width > WIDEST)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the filter is %g m wide, more than %d voxels of %g m; use larger voxels "
                         "or a smaller filter_width",
                         (double)width, WIDEST, (double)def->voxel_size);
    r->cubic = def->kernel == FIRN_KERNEL_CUBIC;
    r->per_voxel = 1.0 / (double)def->voxel_size;
    return FIRN_OK;
}

// Number of a grid that the definition asks for by itself, or -1.
static int velocity_of(const firn_field_def *def) { return def->velocity ? 0 : -1; }

static int compaction_of(const firn_field_def *def)
{
    return def->compaction ? (def->velocity ? 1 : 0) : -1;
}

// Number of the grid of the body, behind all others but powder; -1: no layers.
static int body_of(const firn_field_def *def, const firn_field_points *points)
{
    return def->layers ? (int)points->value_count + def->velocity + def->compaction : -1;
}

// Values number i of all that become grids, but for layers.
static firn_field_values values_at(const firn_field_def *def, const firn_field_points *points,
                                   size_t i)
{
    if ((int)i == velocity_of(def))
        return (firn_field_values){"vel", 3, false, 0.0f, (const float *)points->velocity};
    if ((int)i == compaction_of(def))
        return (firn_field_values){"compaction", 1, true, 1.0f, points->jp};
    return points->values[i - def->velocity - def->compaction];
}

static firn_result list_grids(firn_field *field, const firn_field_def *def,
                              const firn_field_points *points, firn_error *error)
{
    const int body = body_of(def, points);
    size_t count = points->value_count + def->velocity + def->compaction + (def->layers ? 2 : 0);
    FIRN_TRY(firn_raster_claim(count + 1, sizeof *field->grids, &field->grids, error));
    FIRN_TRY(firn_raster_claim(count + 1, sizeof *field->values, &field->values, error));
    FIRN_TRY(firn_raster_claim(count + 1, FIRN_CHANNEL_NAME, &field->names, error));
    for (size_t i = 0; i < count; i++) {
        static const firn_field_values layers[] = {{"body", 1}, {"powder", 1}};
        bool is_layer = body >= 0 && (int)i >= body;
        firn_field_values from = is_layer ? layers[i - (size_t)body] : values_at(def, points, i);
        char *name = field->names + i * FIRN_CHANNEL_NAME;
        snprintf(name, FIRN_CHANNEL_NAME, "%s", from.name);
        field->grids[i] =
            (firn_field_grid){name, from.components, from.background, NULL, FIRN_FIELD_OTHER};
        if (is_layer)
            field->grids[i].layer = (int)i == body ? FIRN_FIELD_BODY : FIRN_FIELD_POWDER;
        field->values[i] = NULL;
    }
    field->grid_count = count;
    return FIRN_OK;
}

// Memory for the leaves; not for a grid whose values are there.
static firn_result claim_field(firn_field *field, size_t leaf_count, firn_error *error)
{
    size_t voxels = leaf_count * FIRN_LEAF_VOXELS;
    FIRN_TRY(firn_raster_claim(leaf_count, sizeof *field->leaf_origin, &field->leaf_origin, error));
    FIRN_TRY(firn_raster_claim(leaf_count * LEAF, sizeof *field->mask, &field->mask, error));
    FIRN_TRY(firn_raster_claim(voxels, sizeof *field->density, &field->density, error));
    for (size_t i = 0; i < field->grid_count; i++) {
        size_t size = (size_t)field->grids[i].components * sizeof(float);
        if (field->values[i] == NULL)
            FIRN_TRY(firn_raster_claim(voxels, size, &field->values[i], error));
        field->grids[i].values = field->values[i];
    }
    field->leaf_count = leaf_count;
    return FIRN_OK;
}

// Moves the content of a leaf to another place in the arrays; but for grid number `but`.
static void move_leaf(firn_field *to, size_t at, const firn_field *from, size_t leaf, int but)
{
    const size_t voxels = FIRN_LEAF_VOXELS;
    to->leaf_origin[at] = from->leaf_origin[leaf];
    memmove(&to->mask[at * LEAF], &from->mask[leaf * LEAF], LEAF * sizeof *to->mask);
    memmove(&to->density[at * voxels], &from->density[leaf * voxels], voxels * sizeof(float));
    for (size_t i = 0; i < to->grid_count; i++) {
        size_t floats = voxels * (size_t)to->grids[i].components;
        if ((int)i != but)
            memmove(&to->values[i][at * floats], &from->values[i][leaf * floats],
                    floats * sizeof(float));
    }
}

// Voxels with snow are active; what is thinner than the limit is emptied.
static void activate_leaf(firn_field *field, size_t leaf, float clip)
{
    uint64_t *mask = &field->mask[leaf * LEAF];
    memset(mask, 0, LEAF * sizeof *mask);
    for (size_t i = 0; i < FIRN_LEAF_VOXELS; i++) {
        size_t voxel = leaf * FIRN_LEAF_VOXELS + i;
        bool active = field->density[voxel] > 0.0f && field->density[voxel] >= clip;
        mask[i / 64] |= (uint64_t)active << (i % 64);
        if (active)
            continue;
        field->density[voxel] = 0.0f;
        for (size_t g = 0; g < field->grid_count; g++) {
            size_t width = (size_t)field->grids[g].components;
            memset(&field->values[g][voxel * width], 0, width * sizeof(float));
        }
    }
}

// Keeps the leaves that hold snow, in their order.
static void activate(firn_field *field, float clip, int thread_count)
{
    size_t kept = 0;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t leaf = 0; leaf < field->leaf_count; leaf++)
        activate_leaf(field, leaf, clip);
    for (size_t leaf = 0; leaf < field->leaf_count; leaf++) {
        uint64_t any = 0;
        for (int i = 0; i < LEAF; i++)
            any |= field->mask[leaf * LEAF + (size_t)i];
        if (any == 0)
            continue;
        if (kept != leaf)
            move_leaf(field, kept, field, leaf, -1);
        kept++;
    }
    field->leaf_count = kept;
}

static void release_arrays(firn_field *field)
{
    firn_free(field->leaf_origin);
    firn_free(field->mask);
    firn_free(field->density);
    firn_free(field->velocity_mask);
    for (size_t i = 0; i < field->grid_count; i++)
        firn_free(field->values[i]);
    firn_free(field->grids);
    firn_free(field->values);
    firn_free(field->names);
}

static void clear_leaf(firn_field *field, size_t leaf, int but)
{
    memset(&field->mask[leaf * LEAF], 0, LEAF * sizeof *field->mask);
    memset(&field->density[leaf * FIRN_LEAF_VOXELS], 0, FIRN_LEAF_VOXELS * sizeof(float));
    for (size_t i = 0; i < field->grid_count; i++) {
        size_t floats = FIRN_LEAF_VOXELS * (size_t)field->grids[i].components;
        if ((int)i != but)
            memset(&field->values[i][leaf * floats], 0, floats * sizeof(float));
    }
}

// The field with more leaves, which have velocities only.
static firn_result widen(firn_field *field, const firn_field_def *def,
                         const firn_field_points *points, firn_motion_blur *blur, firn_error *error)
{
    const int velocity = velocity_of(def);
    firn_field wide = {.voxel_size = field->voxel_size};
    firn_result result = list_grids(&wide, def, points, error);
    if (result == FIRN_OK) {
        wide.values[velocity] = (float *)blur->velocity;
        wide.velocity_mask = blur->mask;
        blur->velocity = NULL;
        blur->mask = NULL;
        result = claim_field(&wide, blur->leaves.count, error);
    }
    if (result != FIRN_OK) {
        release_arrays(&wide);
        return result;
    }
    size_t leaf = 0;
    for (size_t i = 0; i < wide.leaf_count; i++) {
        firn_coord c = blur->leaves.entries[i].coord;
        firn_coord origin = {c.x * LEAF, c.y * LEAF, c.z * LEAF};
        if (leaf < field->leaf_count &&
            memcmp(&field->leaf_origin[leaf], &origin, sizeof origin) == 0) {
            move_leaf(&wide, i, field, leaf++, velocity);
            continue;
        }
        wide.leaf_origin[i] = origin;
        clear_leaf(&wide, i, velocity);
    }
    release_arrays(field);
    *field = wide;
    return FIRN_OK;
}

static firn_result spread_velocity(firn_field *field, const firn_field_def *def,
                                   const firn_field_points *points, int thread_count,
                                   firn_error *error)
{
    if (!def->velocity || (def->shutter == 0.0f && def->dilation == 0))
        return FIRN_OK;
    firn_motion_blur_def blur_def = {def->shutter, def->dilation, thread_count};
    firn_field_view view = firn_field_read(field);
    firn_motion_blur blur;
    FIRN_TRY(firn_motion_blur_make(&view, &blur_def, &blur, error));
    firn_result result = widen(field, def, points, &blur, error);
    firn_motion_blur_free(&blur);
    return result;
}

// A few components at a time: density, velocity and compaction, as a rule all there are, at once.
static void fill(const firn_raster *r, const firn_field_def *def, const firn_field *field)
{
    const int body = body_of(def, r->points);
    const size_t end = body >= 0 ? (size_t)body + 1 : field->grid_count;
    size_t next = 0;
    bool first = true;
    do {
        firn_raster_pass job = {.normalize = first, .density_out = field->density};
        for (; next < end; next++) {
            firn_field_values from = {"body", 1, false, 0.0f, r->body};
            if ((int)next != body)
                from = values_at(def, r->points, next);
            if (job.item_count + from.components > FIRN_RASTER_ITEMS)
                break;
            for (int k = 0; k < from.components; k++)
                job.item[job.item_count++] = (firn_raster_item){
                    from.values + k, field->values[next] + k, from.components, from.inverse};
        }
        firn_raster_run(r, &job);
        first = false;
    } while (next < end);
}

// The mean share of the body becomes two densities.
static void part_layers(const firn_field *field, int body, int thread_count)
{
    const size_t voxels = field->leaf_count * FIRN_LEAF_VOXELS;
    float *packed = field->values[body], *loose = field->values[body + 1];
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < voxels; i++) {
        packed[i] = field->density[i] * fminf(packed[i], 1.0f);
        loose[i] = field->density[i] - packed[i];
    }
}

static firn_result rasterize(firn_raster *r, const firn_field_def *def, firn_field *field,
                             firn_error *error)
{
    const firn_field_points *points = r->points;
    FIRN_TRY(choose_kernel(r, def, error));
    if (def->anisotropy > 1.0f)
        FIRN_TRY(firn_raster_anisotropy(r, def->anisotropy, error));
    FIRN_TRY(firn_raster_lay_out(r, error));
    FIRN_TRY(list_grids(field, def, points, error));
    FIRN_TRY(claim_field(field, r->leaves.count, error));
    if (def->edge > 0.0f || def->layers)
        FIRN_TRY(firn_raster_see(r, def->edge > 0.0f, error));
    if (def->layers)
        FIRN_TRY(firn_raster_part(r, def->powder_density, error));
    if (def->edge > 0.0f)
        FIRN_TRY(firn_raster_sharpen(r, def->edge, error));
    if (points->mask != NULL)
        FIRN_TRY(firn_raster_mask(r, points->mask, def->edge > 0.0f ? def->edge : 1.0f, error));
    for (size_t i = 0; i < r->leaves.count; i++) {
        firn_coord c = r->leaves.entries[i].coord;
        field->leaf_origin[i] = (firn_coord){c.x * LEAF, c.y * LEAF, c.z * LEAF};
    }
    fill(r, def, field);
    if (def->layers)
        part_layers(field, body_of(def, points), r->thread_count);
    activate(field, def->clip, r->thread_count);
    return spread_velocity(field, def, points, r->thread_count, error);
}

firn_result firn_field_create(const firn_field_def *def, const firn_field_points *points,
                              firn_field **field, firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_field_params(), def, "field", error));
    FIRN_TRY(check_points(def, points, error));
    firn_field *made = firn_alloc_zero(sizeof *made);
    if (made == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make a field");
    made->voxel_size = def->voxel_size;
    firn_raster raster = {.points = points, .thread_count = firn_thread_count(def->thread_count)};
    firn_result result = rasterize(&raster, def, made, error);
    firn_raster_free(&raster);
    if (result != FIRN_OK)
        firn_field_destroy(made);
    else
        *field = made;
    return result;
}

void firn_field_destroy(firn_field *field)
{
    if (field == NULL)
        return;
    release_arrays(field);
    firn_free(field);
}

firn_field_view firn_field_read(const firn_field *field)
{
    firn_field_view view = {
        .voxel_size = field->voxel_size,
        .leaf_count = field->leaf_count,
        .leaf_origin = field->leaf_origin,
        .mask = field->mask,
        .density = field->density,
        .velocity_mask = field->velocity_mask,
        .grid_count = field->grid_count,
        .grids = field->grids,
    };
    // Two have places of their own.
    if (view.grid_count > 0 && strcmp(view.grids->name, "vel") == 0) {
        view.velocity = (const firn_vec3 *)(const void *)view.grids->values;
        view.grids++;
        view.grid_count--;
    }
    if (view.grid_count > 0 && strcmp(view.grids->name, "compaction") == 0) {
        view.compaction = view.grids->values;
        view.grids++;
        view.grid_count--;
    }
    return view;
}
