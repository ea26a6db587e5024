#include "firn/field.h"

#include "coord_table.h"
#include "firn/defs.h"
#include "threads.h"

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
    {ROW(velocity), FIRN_BOOL, {1}, 0, 1, "", "Also make the velocity"},
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
    float *compaction;
};

enum {
    LEAF = FIRN_LEAF_EDGE,
    WIDEST = 16,             // voxels in one unit of the kernel
    MOST_LEAVES = 9 * 9 * 9, // that a particle reaches at that width
    MOST_CHANNELS = 5,       // mass, three of momentum, compaction
    FARTHEST_VOXEL = 1 << 26 // from the world's origin
};

// The spline is cut where its weight is below a millionth, so that products of weights stay far
// from the smallest float. Weights are normalized afterwards: no mass is lost.
static const double cut = 0.999;

// A field in the making.
typedef struct raster {
    const firn_field_points *points;
    firn_field *field;
    double per_voxel; // voxels per m
    float per_unit;   // units of the kernel per voxel
    double reach;     // voxels
    bool cubic;
    int channels; // mass, then momentum if wanted, then compaction if wanted
    int thread_count;
    firn_coord_table leaves;
    uint32_t *members; // particles by leaf, in order
    size_t *next;      // where the next member of each leaf goes; in the end behind the last
    float *share;      // kg/m^3 of each particle where the product of weights is 1
} raster;

// The voxels that a particle reaches, or the leaves.
typedef struct box {
    int32_t lower[3], upper[3]; // both included
} box;

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

// Position of a particle in voxels, with voxel centers at whole numbers.
static void position_in_voxels(const raster *r, size_t particle, double position[3])
{
    firn_vec3 x = r->points->position[particle];
    position[0] = (double)x.x * r->per_voxel - 0.5;
    position[1] = (double)x.y * r->per_voxel - 0.5;
    position[2] = (double)x.z * r->per_voxel - 0.5;
}

// floor() of a number whose floor fits; the baseline instruction set has none and would call libm.
static inline int32_t floor_int(double value)
{
    int32_t whole = (int32_t)value;
    return whole - (value < (double)whole);
}

static inline box reached_voxels(const raster *r, const double position[3])
{
    box voxels;
    for (int axis = 0; axis < 3; axis++) {
        voxels.lower[axis] = -floor_int(r->reach - position[axis]);
        voxels.upper[axis] = floor_int(position[axis] + r->reach);
    }
    return voxels;
}

// Leaf of a voxel: the shift rounds down, also below zero.
static int32_t leaf_of(int32_t voxel) { return voxel >> 3; }

static box reached_leaves(const raster *r, size_t particle)
{
    double position[3];
    position_in_voxels(r, particle, position);
    box leaves = reached_voxels(r, position);
    for (int axis = 0; axis < 3; axis++) {
        leaves.lower[axis] = leaf_of(leaves.lower[axis]);
        leaves.upper[axis] = leaf_of(leaves.upper[axis]);
    }
    return leaves;
}

// B-splines as sums of truncated powers: branch-free, so that rows of weights vectorize.
static inline float spline(bool cubic, float distance)
{
    float d = fabsf(distance);
    float a = cubic ? 2.0f - d : 1.5f - d;
    float b = a - 1.0f;
    a = a > 0.0f ? a : 0.0f;
    b = b > 0.0f ? b : 0.0f;
    return cubic ? (a * a * a - 4.0f * b * b * b) * (1.0f / 6.0f) : 0.5f * a * a - 1.5f * b * b;
}

// Weights of the voxels first, first + 1, ... of one axis, zero outside of [lower, upper].
static inline void weigh_row(const raster *r, bool cubic, double position, int32_t first,
                             const int32_t range[2], float weights[LEAF])
{
    float offset = (float)((double)first - position);
    int32_t lower = range[0] - first, upper = range[1] - first;
    for (int32_t i = 0; i < LEAF; i++) {
        float weight = spline(cubic, ((float)i + offset) * r->per_unit);
        weights[i] = i >= lower && i <= upper ? weight : 0.0f;
    }
}

static double sum_of_weights(const raster *r, double position, int32_t lower, int32_t upper)
{
    const int32_t range[2] = {lower, upper};
    double sum = 0.0;
    for (int32_t first = leaf_of(lower) * LEAF; first <= upper; first += LEAF) {
        float weights[LEAF];
        weigh_row(r, r->cubic, position, first, range, weights);
        for (int i = 0; i < LEAF; i++)
            sum += (double)weights[i];
    }
    return sum;
}

static void normalize_particles(raster *r)
{
    const double density = r->per_voxel * r->per_voxel * r->per_voxel;
    const float *mass = r->points->mass;
#pragma omp parallel for schedule(static) num_threads(r->thread_count)
    for (size_t i = 0; i < r->points->count; i++) {
        double position[3], sum = 1.0;
        position_in_voxels(r, i, position);
        box voxels = reached_voxels(r, position);
        for (int axis = 0; axis < 3; axis++)
            sum *= sum_of_weights(r, position[axis], voxels.lower[axis], voxels.upper[axis]);
        r->share[i] = (float)((double)mass[i] * density / sum);
    }
}

// The leaves that the last particle reached: particles that follow each other are mostly neighbors.
typedef struct recent {
    box leaves;
    size_t count;
    uint32_t number[MOST_LEAVES];
} recent;

static firn_result find_leaves(raster *r, size_t particle, recent *last, firn_error *error)
{
    box leaves = reached_leaves(r, particle);
    int32_t changed = last->count == 0;
    for (int axis = 0; axis < 3; axis++)
        changed |= (leaves.lower[axis] ^ last->leaves.lower[axis]) |
                   (leaves.upper[axis] ^ last->leaves.upper[axis]);
    if (!changed)
        return FIRN_OK;
    last->leaves = leaves;
    last->count = 0;
    size_t count = 0;
    firn_coord coord;
    for (coord.x = leaves.lower[0]; coord.x <= leaves.upper[0]; coord.x++)
        for (coord.y = leaves.lower[1]; coord.y <= leaves.upper[1]; coord.y++)
            for (coord.z = leaves.lower[2]; coord.z <= leaves.upper[2]; coord.z++)
                FIRN_TRY(firn_coord_table_add(&r->leaves, coord, &last->number[count++], error));
    last->count = count;
    return FIRN_OK;
}

static firn_result out_of_memory(firn_error *error, size_t bytes)
{
    return firn_fail(error, FIRN_ERR_MEMORY,
                     "out of memory: the field needs %.1f MB more; use larger voxels",
                     1e-6 * (double)bytes);
}

static firn_result allocate(size_t count, size_t element, void *memory, firn_error *error)
{
    void *bytes = count <= SIZE_MAX / 2 / element ? firn_alloc(count * element) : NULL;
    if (bytes == NULL)
        return out_of_memory(error, count * element);
    memcpy(memory, &bytes, sizeof bytes);
    return FIRN_OK;
}

// Lists the leaves in their order and, for each, the particles that reach it.
static firn_result list_members(raster *r, firn_error *error)
{
    recent last = {.count = 0};
    for (size_t i = 0; i < r->points->count; i++) {
        FIRN_TRY(find_leaves(r, i, &last, error));
        for (size_t k = 0; k < last.count; k++)
            r->leaves.entries[last.number[k]].count++;
    }
    firn_coord_table_sort(&r->leaves);

    FIRN_TRY(allocate(r->leaves.count + 1, sizeof *r->next, &r->next, error));
    size_t members = 0;
    for (size_t i = 0; i < r->leaves.count; i++) {
        r->next[i] = members;
        members += r->leaves.entries[i].count;
    }
    FIRN_TRY(allocate(members, sizeof *r->members, &r->members, error));
    last.count = 0;
    for (size_t i = 0; i < r->points->count; i++) {
        FIRN_TRY(find_leaves(r, i, &last, error));
        for (size_t k = 0; k < last.count; k++)
            r->members[r->next[last.number[k]]++] = (uint32_t)i;
    }
    return FIRN_OK;
}

// What is summed up in a leaf, voxel by voxel: mass, then mass times the difference of each other
// quantity from its base, which is that of the leaf's first particle. So a constant stays exactly
// what it is, and others lose the fewest digits.
typedef float four __attribute__((vector_size(16)));
enum { ROWS = LEAF * LEAF };
typedef struct leaf_sums {
    float base[MOST_CHANNELS];
    four sum[ROWS][MOST_CHANNELS][2];
} leaf_sums;

static inline void read_quantities(const raster *r, size_t particle, float values[MOST_CHANNELS])
{
    int channel = 1;
    if (r->field->velocity != NULL) {
        firn_vec3 v = r->points->velocity[particle];
        values[channel++] = v.x;
        values[channel++] = v.y;
        values[channel++] = v.z;
    }
    if (r->field->compaction != NULL)
        values[channel] = 1.0f / r->points->jp[particle];
}

static inline void add_particle(const raster *r, size_t particle, firn_coord origin, int channels,
                                leaf_sums *sums)
{
    const int32_t first[3] = {origin.x, origin.y, origin.z};
    double position[3];
    float weights[3][LEAF];
    int begin[3], end[3];
    position_in_voxels(r, particle, position);
    box voxels = reached_voxels(r, position);
    for (int axis = 0; axis < 3; axis++) {
        const int32_t range[2] = {voxels.lower[axis], voxels.upper[axis]};
        weigh_row(r, r->cubic, position[axis], first[axis], range, weights[axis]);
        begin[axis] = range[0] > first[axis] ? range[0] - first[axis] : 0;
        end[axis] = range[1] < first[axis] + LEAF ? range[1] - first[axis] + 1 : LEAF;
    }
    float values[MOST_CHANNELS];
    read_quantities(r, particle, values);
    for (int c = 1; c < channels; c++)
        values[c] -= sums->base[c];
    four along_z[2];
    memcpy(along_z, weights[2], sizeof along_z);
    along_z[0] *= r->share[particle];
    along_z[1] *= r->share[particle];
    for (int x = begin[0]; x < end[0]; x++)
        for (int y = begin[1]; y < end[1]; y++) {
            four(*sum)[2] = sums->sum[x * LEAF + y];
            float weight = weights[0][x] * weights[1][y];
            four mass[2] = {weight * along_z[0], weight * along_z[1]};
            sum[0][0] += mass[0];
            sum[0][1] += mass[1];
            for (int c = 1; c < channels; c++) {
                sum[c][0] += mass[0] * values[c];
                sum[c][1] += mass[1] * values[c];
            }
        }
}

static void store_leaf(const raster *r, size_t leaf, const leaf_sums *sums)
{
    firn_field *field = r->field;
    uint64_t *mask = &field->mask[leaf * LEAF];
    memset(mask, 0, LEAF * sizeof *mask);
    float *density = &field->density[leaf * FIRN_LEAF_VOXELS];
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        const four(*sum)[2] = sums->sum[i / LEAF];
        int half = i / 4 % 2, lane = i % 4;
        density[i] = sum[0][half][lane];
        bool active = density[i] > 0.0f;
        mask[i / 64] |= (uint64_t)active << (i % 64);
        float means[MOST_CHANNELS];
        for (int c = 1; c < r->channels; c++)
            means[c] = active ? sums->base[c] + sum[c][half][lane] / density[i] : 0.0f;
        size_t voxel = leaf * FIRN_LEAF_VOXELS + (size_t)i;
        if (field->velocity != NULL)
            field->velocity[voxel] = firn_vec(means[1], means[2], means[3]);
        if (field->compaction != NULL)
            field->compaction[voxel] = means[r->channels - 1];
    }
}

static void rasterize_leaf(const raster *r, size_t leaf)
{
    firn_coord coord = r->leaves.entries[leaf].coord;
    firn_coord origin = {coord.x * LEAF, coord.y * LEAF, coord.z * LEAF};
    r->field->leaf_origin[leaf] = origin;
    leaf_sums sums;
    memset(&sums, 0, sizeof sums);
    size_t end = r->next[leaf], begin = end - r->leaves.entries[leaf].count;
    read_quantities(r, r->members[begin], sums.base);
    // All channels is the common case, and the compiler unrolls it.
    if (r->channels == MOST_CHANNELS)
        for (size_t i = begin; i < end; i++)
            add_particle(r, r->members[i], origin, MOST_CHANNELS, &sums);
    else
        for (size_t i = begin; i < end; i++)
            add_particle(r, r->members[i], origin, r->channels, &sums);
    store_leaf(r, leaf, &sums);
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

static firn_result choose_kernel(raster *r, const firn_field_def *def, firn_error *error)
{
    float width = def->filter_width > 0.0f ? def->filter_width : r->points->cell_size;
    double voxels = fmax((double)width / (double)def->voxel_size, 1.0);
    if (voxels > WIDEST)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the filter is %g m wide, more than %d voxels of %g m; use larger voxels "
                         "or a smaller filter_width",
                         (double)width, WIDEST, (double)def->voxel_size);
    r->cubic = def->kernel == FIRN_KERNEL_CUBIC;
    r->per_voxel = 1.0 / (double)def->voxel_size;
    r->per_unit = (float)(1.0 / voxels);
    r->reach = cut * voxels * (r->cubic ? 2.0 : 1.5);
    return FIRN_OK;
}

static firn_result allocate_field(firn_field *field, const firn_field_def *def, size_t leaf_count,
                                  firn_error *error)
{
    size_t voxels = leaf_count * FIRN_LEAF_VOXELS;
    FIRN_TRY(allocate(leaf_count, sizeof *field->leaf_origin, &field->leaf_origin, error));
    FIRN_TRY(allocate(leaf_count * LEAF, sizeof *field->mask, &field->mask, error));
    FIRN_TRY(allocate(voxels, sizeof *field->density, &field->density, error));
    if (def->velocity)
        FIRN_TRY(allocate(voxels, sizeof *field->velocity, &field->velocity, error));
    if (def->compaction)
        FIRN_TRY(allocate(voxels, sizeof *field->compaction, &field->compaction, error));
    field->leaf_count = leaf_count;
    return FIRN_OK;
}

static firn_result rasterize(raster *r, const firn_field_def *def, firn_error *error)
{
    FIRN_TRY(choose_kernel(r, def, error));
    FIRN_TRY(list_members(r, error));
    FIRN_TRY(allocate(r->points->count, sizeof *r->share, &r->share, error));
    FIRN_TRY(allocate_field(r->field, def, r->leaves.count, error));
    normalize_particles(r);
#pragma omp parallel for schedule(dynamic, 4) num_threads(r->thread_count)
    for (size_t leaf = 0; leaf < r->leaves.count; leaf++)
        rasterize_leaf(r, leaf);
    return FIRN_OK;
}

firn_result firn_field_create(const firn_field_def *def, const firn_field_points *points,
                              firn_field **field, firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_field_params(), def, "field", error));
    FIRN_TRY(check_points(def, points, error));
    firn_field *made = firn_alloc_zero(sizeof *made);
    if (made == NULL)
        return out_of_memory(error, sizeof *made);
    made->voxel_size = def->voxel_size;
    raster r = {
        .points = points,
        .field = made,
        .channels = 1 + (def->velocity ? 3 : 0) + (def->compaction ? 1 : 0),
        .thread_count = firn_thread_count(def->thread_count),
    };
    firn_result result = rasterize(&r, def, error);
    firn_coord_table_free(&r.leaves);
    firn_free(r.next);
    firn_free(r.members);
    firn_free(r.share);
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
    firn_free(field->leaf_origin);
    firn_free(field->mask);
    firn_free(field->density);
    firn_free(field->velocity);
    firn_free(field->compaction);
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
        .compaction = field->compaction,
    };
    return view;
}
