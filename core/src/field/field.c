#include "firn/field.h"

#include "base/threads.h"
#include "firn/defs.h"
#include "motion_blur.h"
#include "raster.h"

#include "firn/sim.h"

#include <math.h>
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
};
// clang-format on

struct firn_field {
    float voxel_size; // m
    size_t leaf_count;
    firn_coord *leaf_origin;
    uint64_t *mask;
    float *density;
    firn_vec3 *velocity;
    uint64_t *velocity_mask; // NULL: mask
    float *compaction;
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

static firn_result claim_field(firn_field *field, const firn_field_def *def, size_t leaf_count,
                               firn_error *error)
{
    size_t voxels = leaf_count * FIRN_LEAF_VOXELS;
    FIRN_TRY(firn_raster_claim(leaf_count, sizeof *field->leaf_origin, &field->leaf_origin, error));
    FIRN_TRY(firn_raster_claim(leaf_count * LEAF, sizeof *field->mask, &field->mask, error));
    FIRN_TRY(firn_raster_claim(voxels, sizeof *field->density, &field->density, error));
    if (def->velocity)
        FIRN_TRY(firn_raster_claim(voxels, sizeof *field->velocity, &field->velocity, error));
    if (def->compaction)
        FIRN_TRY(firn_raster_claim(voxels, sizeof *field->compaction, &field->compaction, error));
    field->leaf_count = leaf_count;
    return FIRN_OK;
}

// Moves the content of a leaf to another place in the arrays.
static void move_leaf(firn_field *to, size_t at, const firn_field *from, size_t leaf)
{
    const size_t voxels = FIRN_LEAF_VOXELS;
    to->leaf_origin[at] = from->leaf_origin[leaf];
    memmove(&to->mask[at * LEAF], &from->mask[leaf * LEAF], LEAF * sizeof *to->mask);
    memmove(&to->density[at * voxels], &from->density[leaf * voxels], voxels * sizeof(float));
    if (to->velocity != NULL && from->velocity != NULL)
        memmove(&to->velocity[at * voxels], &from->velocity[leaf * voxels],
                voxels * sizeof(firn_vec3));
    if (to->compaction != NULL)
        memmove(&to->compaction[at * voxels], &from->compaction[leaf * voxels],
                voxels * sizeof(float));
}

// Voxels with snow are active; what is thinner than the limit is emptied. True: any is active.
static bool activate_leaf(firn_field *field, size_t leaf, float clip)
{
    uint64_t *mask = &field->mask[leaf * LEAF], any = 0;
    memset(mask, 0, LEAF * sizeof *mask);
    for (size_t i = 0; i < FIRN_LEAF_VOXELS; i++) {
        size_t voxel = leaf * FIRN_LEAF_VOXELS + i;
        bool active = field->density[voxel] > 0.0f && field->density[voxel] >= clip;
        mask[i / 64] |= (uint64_t)active << (i % 64);
        if (active)
            continue;
        field->density[voxel] = 0.0f;
        if (field->velocity != NULL)
            field->velocity[voxel] = firn_vec(0.0f, 0.0f, 0.0f);
        if (field->compaction != NULL)
            field->compaction[voxel] = 0.0f;
    }
    for (int i = 0; i < LEAF; i++)
        any |= mask[i];
    return any != 0;
}

// Keeps the leaves that hold snow, in their order.
static void activate(firn_field *field, float clip)
{
    size_t kept = 0;
    for (size_t leaf = 0; leaf < field->leaf_count; leaf++) {
        if (!activate_leaf(field, leaf, clip))
            continue;
        if (kept != leaf)
            move_leaf(field, kept, field, leaf);
        kept++;
    }
    field->leaf_count = kept;
}

static void release_arrays(firn_field *field)
{
    firn_free(field->leaf_origin);
    firn_free(field->mask);
    firn_free(field->density);
    firn_free(field->velocity);
    firn_free(field->velocity_mask);
    firn_free(field->compaction);
}

// The field with more leaves, which have velocities only.
static firn_result widen(firn_field *field, const firn_field_def *def, firn_motion_blur *blur,
                         firn_error *error)
{
    firn_field wide = {.voxel_size = field->voxel_size};
    firn_field_def scalars = *def;
    scalars.velocity = false;
    firn_result result = claim_field(&wide, &scalars, blur->leaves.count, error);
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
            move_leaf(&wide, i, field, leaf++);
            continue;
        }
        wide.leaf_origin[i] = origin;
        memset(&wide.mask[i * LEAF], 0, LEAF * sizeof *wide.mask);
        memset(&wide.density[i * FIRN_LEAF_VOXELS], 0, FIRN_LEAF_VOXELS * sizeof(float));
        if (wide.compaction != NULL)
            memset(&wide.compaction[i * FIRN_LEAF_VOXELS], 0, FIRN_LEAF_VOXELS * sizeof(float));
    }
    wide.velocity = blur->velocity;
    wide.velocity_mask = blur->mask;
    blur->velocity = NULL;
    blur->mask = NULL;
    release_arrays(field);
    *field = wide;
    return FIRN_OK;
}

static firn_result spread_velocity(firn_field *field, const firn_field_def *def, int thread_count,
                                   firn_error *error)
{
    if (!def->velocity || (def->shutter == 0.0f && def->dilation == 0))
        return FIRN_OK;
    firn_motion_blur_def blur_def = {def->shutter, def->dilation, thread_count};
    firn_field_view view = firn_field_read(field);
    firn_motion_blur blur;
    FIRN_TRY(firn_motion_blur_make(&view, &blur_def, &blur, error));
    firn_result result = widen(field, def, &blur, error);
    firn_motion_blur_free(&blur);
    return result;
}

static firn_result rasterize(firn_raster *r, const firn_field_def *def, firn_field *field,
                             firn_error *error)
{
    const firn_field_points *points = r->points;
    FIRN_TRY(choose_kernel(r, def, error));
    if (def->anisotropy > 1.0f)
        FIRN_TRY(firn_raster_anisotropy(r, def->anisotropy, error));
    FIRN_TRY(firn_raster_lay_out(r, error));
    FIRN_TRY(claim_field(field, def, r->leaves.count, error));
    firn_raster_normalize(r);
    if (def->edge > 0.0f)
        FIRN_TRY(firn_raster_sharpen(r, def->edge, error));
    if (points->mask != NULL)
        FIRN_TRY(firn_raster_mask(r, points->mask, def->edge > 0.0f ? def->edge : 1.0f, error));
    if (r->coverage != NULL)
        firn_raster_normalize(r);
    for (size_t i = 0; i < r->leaves.count; i++) {
        firn_coord c = r->leaves.entries[i].coord;
        field->leaf_origin[i] = (firn_coord){c.x * LEAF, c.y * LEAF, c.z * LEAF};
    }
    firn_raster_fill(r, &(firn_raster_job){
                            .velocity = def->velocity ? points->velocity : NULL,
                            .value = def->compaction ? points->jp : NULL,
                            .inverse = true,
                            .density_out = field->density,
                            .velocity_out = field->velocity,
                            .value_out = field->compaction,
                        });
    activate(field, def->clip);
    return spread_velocity(field, def, r->thread_count, error);
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
        .velocity = field->velocity,
        .velocity_mask = field->velocity_mask,
        .compaction = field->compaction,
    };
    return view;
}
