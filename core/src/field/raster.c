#include "raster.h"

#include "space/leaf_index.h"

#include <math.h>
#include <string.h>

enum {
    LEAF = FIRN_LEAF_EDGE,
    ROWS = LEAF * LEAF,
    MOST_LEAVES = 9 * 9 * 9,               // that a particle reaches when the kernel is widest
    MOST_CHANNELS = 1 + FIRN_RASTER_ITEMS, // mass, and as a rule three of momentum and one value
    CHUNK_PARTICLES = 8192,                // that a thread takes at a time, or more
    CHUNK_MAX = 64,
};

// The spline is cut where its weight is below a millionth, so that products of weights stay far
// from the smallest float. Weights are normalized afterwards: no mass is lost.
static const double cut = 0.999;

typedef float four __attribute__((vector_size(16)));
typedef int32_t four_mask __attribute__((vector_size(16)));

// The voxels that a particle reaches, or the leaves.
typedef struct box {
    int32_t lower[3], upper[3]; // both included
} box;

firn_result firn_raster_claim(size_t count, size_t element, void *memory, firn_error *error)
{
    void *bytes = count <= SIZE_MAX / 2 / element ? firn_alloc(count * element) : NULL;
    if (bytes == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "out of memory: the field needs %.1f MB more; use larger voxels",
                         1e-6 * (double)count * (double)element);
    memcpy(memory, &bytes, sizeof bytes);
    return FIRN_OK;
}

double firn_raster_radius(const firn_raster *r)
{
    if (r->footprint == NULL)
        return cut * (r->cubic ? 2.0 : 1.5);
    return r->cubic ? 1.91485422 : 1.65831239; // sqrt(11/3), sqrt(11/4)
}

// Position of a particle in voxels, with voxel centers at whole numbers.
static void position_in_voxels(const firn_raster *r, size_t particle, double position[3])
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

// A particle on its way into the leaves.
typedef struct reach {
    double position[3]; // voxels
    box voxels;
    const float *to_unit; // of its footprint; NULL: round
} reach;

static inline reach reach_of(const firn_raster *r, size_t particle)
{
    reach at;
    position_in_voxels(r, particle, at.position);
    const firn_footprint *own = r->footprint != NULL ? &r->footprint[particle] : NULL;
    at.to_unit = own != NULL ? own->to_unit : NULL;
    double round = firn_raster_radius(r) * r->width;
    for (int axis = 0; axis < 3; axis++) {
        double extent = own != NULL ? (double)own->extent[axis] : round;
        at.voxels.lower[axis] = -floor_int(extent - at.position[axis]);
        at.voxels.upper[axis] = floor_int(at.position[axis] + extent);
    }
    return at;
}

// Leaf of a voxel: the shift rounds down, also below zero.
static int32_t leaf_of(int32_t voxel) { return voxel >> 3; }

static box leaves_of(box voxels)
{
    for (int axis = 0; axis < 3; axis++) {
        voxels.lower[axis] = leaf_of(voxels.lower[axis]);
        voxels.upper[axis] = leaf_of(voxels.upper[axis]);
    }
    return voxels;
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

// The part of a leaf that a particle reaches, and what its weights are made of.
typedef struct window {
    int begin[3], end[3];
    float along[3][LEAF]; // round: weights by axis; else distances in voxels
    float per_radius[6];  // not round: matrix from voxels to radii of the kernel
} window;

static inline window window_of(const firn_raster *r, const reach *at, firn_coord origin)
{
    window w;
    const int32_t first[3] = {origin.x, origin.y, origin.z};
    const float per_unit = (float)(1.0 / r->width);
    for (int axis = 0; axis < 3; axis++) {
        int32_t lower = at->voxels.lower[axis] - first[axis];
        int32_t upper = at->voxels.upper[axis] - first[axis];
        float offset = (float)((double)first[axis] - at->position[axis]);
        w.begin[axis] = lower > 0 ? lower : 0;
        w.end[axis] = upper < LEAF ? upper + 1 : LEAF;
        for (int32_t i = 0; i < LEAF; i++) {
            float weight = spline(r->cubic, ((float)i + offset) * per_unit);
            weight = i >= lower && i <= upper ? weight : 0.0f;
            w.along[axis][i] = at->to_unit != NULL ? (float)i + offset : weight;
        }
    }
    float per_radius = 1.0f / (float)firn_raster_radius(r);
    for (int i = 0; i < 6; i++)
        w.per_radius[i] = at->to_unit != NULL ? at->to_unit[i] * per_radius : 0.0f;
    return w;
}

// (1 - q^2)^3 at four voxels in a row; q is the distance in radii of the ellipsoid. Cut where it is
// below a millionth.
static inline four bell(const float m[6], float x, float y, four z)
{
    four a = m[0] * x + m[1] * y + m[2] * z;
    four b = m[1] * x + m[3] * y + m[4] * z;
    four c = m[2] * x + m[4] * y + m[5] * z;
    four rest = 1.0f - (a * a + b * b + c * c);
    rest = (four)((four_mask)rest & (rest > 0.01f));
    return rest * rest * rest;
}

// Weights of the row of voxels (x, y, 0..7) of a leaf.
static inline void weigh_row(const window *w, bool is_round, int x, int y, four weights[2])
{
    four z[2];
    memcpy(z, w->along[2], sizeof z);
    if (is_round) {
        float across = w->along[0][x] * w->along[1][y];
        weights[0] = across * z[0];
        weights[1] = across * z[1];
    } else {
        weights[0] = bell(w->per_radius, w->along[0][x], w->along[1][y], z[0]);
        weights[1] = bell(w->per_radius, w->along[0][x], w->along[1][y], z[1]);
    }
}

static double sum_of_leaf(const firn_raster *r, const reach *at, firn_coord origin,
                          const float *values)
{
    window w = window_of(r, at, origin);
    double sum = 0.0;
    for (int x = w.begin[0]; x < w.end[0]; x++) {
        four line = {0};
        for (int y = w.begin[1]; y < w.end[1]; y++) {
            four weights[2], value[2] = {1.0f - (four){0}, 1.0f - (four){0}};
            weigh_row(&w, at->to_unit == NULL, x, y, weights);
            if (values != NULL)
                memcpy(value, &values[(x * LEAF + y) * LEAF], sizeof value);
            line += weights[0] * value[0] + weights[1] * value[1];
        }
        sum += (double)line[0] + (double)line[1] + (double)line[2] + (double)line[3];
    }
    return sum;
}

double firn_raster_gather(const firn_raster *r, size_t particle, const float *values)
{
    reach at = reach_of(r, particle);
    box leaves = leaves_of(at.voxels);
    double sum = 0.0;
    firn_coord coord;
    for (coord.x = leaves.lower[0]; coord.x <= leaves.upper[0]; coord.x++)
        for (coord.y = leaves.lower[1]; coord.y <= leaves.upper[1]; coord.y++)
            for (coord.z = leaves.lower[2]; coord.z <= leaves.upper[2]; coord.z++) {
                firn_coord origin = {coord.x * LEAF, coord.y * LEAF, coord.z * LEAF};
                const float *own = NULL;
                if (values != NULL)
                    own = &values[firn_coord_table_find(&r->leaves, coord) *
                                  (size_t)FIRN_LEAF_VOXELS];
                sum += sum_of_leaf(r, &at, origin, own);
            }
    return sum;
}

// The sum of weights of a round kernel is a product of sums by axis.
static double round_sum(const firn_raster *r, size_t particle)
{
    reach at = reach_of(r, particle);
    float per_unit = (float)(1.0 / r->width);
    double product = 1.0;
    for (int axis = 0; axis < 3; axis++) {
        double sum = 0.0;
        int32_t lower = at.voxels.lower[axis], upper = at.voxels.upper[axis];
        for (int32_t first = leaf_of(lower) * LEAF; first <= upper; first += LEAF) {
            float offset = (float)((double)first - at.position[axis]);
            for (int32_t i = 0; i < LEAF; i++) {
                float weight = spline(r->cubic, ((float)i + offset) * per_unit);
                sum += first + i >= lower && first + i <= upper ? (double)weight : 0.0;
            }
        }
        product *= sum;
    }
    return product;
}

// A particle that hardly touches what is covered keeps part of its own kernel: its mass stays
// where it is, and nothing jumps as it comes nearer.
static double covered_sum(const firn_raster *r, size_t particle, double whole)
{
    const double enough = 0.05;
    double covered = firn_raster_gather(r, particle, r->coverage);
    double loose = covered < enough * whole ? 1.0 - covered / (enough * whole) : 0.0;
    r->loose[particle] = (float)loose;
    loose = (double)r->loose[particle];
    return (1.0 - loose) * covered + loose * whole;
}

void firn_raster_normalize(firn_raster *r)
{
    const double density = r->per_voxel * r->per_voxel * r->per_voxel;
    const float *mass = r->points->mass;
#pragma omp parallel for schedule(dynamic, 256) num_threads(r->thread_count)
    for (size_t i = 0; i < r->points->count; i++) {
        double sum = r->footprint == NULL ? round_sum(r, i) : firn_raster_gather(r, i, NULL);
        if (r->coverage != NULL)
            sum = covered_sum(r, i, sum);
        r->share[i] = (float)((double)mass[i] * density / sum);
    }
}

// The leaves that the last particle reached: particles that follow each other are mostly neighbors.
typedef struct recent {
    box leaves;
    size_t count;
    uint32_t number[MOST_LEAVES];
} recent;

static firn_result find_leaves(const firn_raster *r, firn_coord_table *table, size_t particle,
                               recent *last)
{
    box leaves = leaves_of(reach_of(r, particle).voxels);
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
                FIRN_TRY(firn_coord_table_add(table, coord, &last->number[count++], NULL));
    last->count = count;
    return FIRN_OK;
}

/// Particles in a row, and the leaves that they reach.
typedef struct chunk {
    size_t begin, end;
    firn_coord_table leaves; // count: members in this chunk; then the place of the next one
    firn_result result;
} chunk;

static firn_result count_members(const firn_raster *r, chunk *c)
{
    recent last = {.count = 0};
    for (size_t i = c->begin; i < c->end; i++) {
        FIRN_TRY(find_leaves(r, &c->leaves, i, &last));
        for (size_t k = 0; k < last.count; k++)
            c->leaves.entries[last.number[k]].count++;
    }
    return FIRN_OK;
}

// All leaves are there by now, so that this cannot fail.
static void list_members(const firn_raster *r, chunk *c)
{
    recent last = {.count = 0};
    for (size_t i = c->begin; i < c->end; i++) {
        (void)find_leaves(r, &c->leaves, i, &last);
        for (size_t k = 0; k < last.count; k++)
            r->members[c->leaves.entries[last.number[k]].count++] = (uint32_t)i;
    }
}

static firn_result add_leaves(firn_raster *r, const chunk *c, firn_error *error)
{
    if (c->result != FIRN_OK)
        return firn_fail(error, c->result,
                         "out of memory for the leaves of a field; use larger voxels");
    for (size_t i = 0; i < c->leaves.count; i++) {
        uint32_t number;
        FIRN_TRY(firn_coord_table_add(&r->leaves, c->leaves.entries[i].coord, &number, error));
        r->leaves.entries[number].count += c->leaves.entries[i].count;
    }
    return FIRN_OK;
}

// Gives the members of a chunk their places behind those of the chunks before.
static void place_members(const firn_raster *r, chunk *c)
{
    for (size_t i = 0; i < c->leaves.count; i++) {
        firn_coord_entry *entry = &c->leaves.entries[i];
        size_t *next = &r->next[firn_coord_table_find(&r->leaves, entry->coord)];
        size_t count = entry->count;
        entry->count = *next;
        *next += count;
    }
}

static firn_result lay_out(firn_raster *r, chunk *chunks, int count, firn_error *error)
{
    int threads = count > 1 ? r->thread_count : 1;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int c = 0; c < count; c++)
        chunks[c].result = count_members(r, &chunks[c]);
    for (int c = 0; c < count; c++)
        FIRN_TRY(add_leaves(r, &chunks[c], error));
    firn_coord_table_sort(&r->leaves);
    FIRN_TRY(firn_raster_claim(r->leaves.count + 1, sizeof *r->next, &r->next, error));
    size_t members = 0;
    for (size_t i = 0; i < r->leaves.count; i++) {
        r->next[i] = members;
        members += r->leaves.entries[i].count;
    }
    FIRN_TRY(firn_raster_claim(members, sizeof *r->members, &r->members, error));
    FIRN_TRY(firn_raster_claim(r->points->count, sizeof *r->share, &r->share, error));
    for (int c = 0; c < count; c++)
        place_members(r, &chunks[c]);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int c = 0; c < count; c++)
        list_members(r, &chunks[c]);
    return FIRN_OK;
}

firn_result firn_raster_lay_out(firn_raster *r, firn_error *error)
{
    chunk chunks[CHUNK_MAX];
    size_t particles = r->points->count, count = particles / CHUNK_PARTICLES + 1;
    count = count < CHUNK_MAX ? count : CHUNK_MAX;
    for (size_t c = 0; c < count; c++)
        chunks[c] = (chunk){.begin = particles * c / count, .end = particles * (c + 1) / count};
    firn_result result = lay_out(r, chunks, (int)count, error);
    for (size_t c = 0; c < count; c++)
        firn_coord_table_free(&chunks[c].leaves);
    return result;
}

// What is summed up in a leaf, voxel by voxel: mass, then mass times the difference of each other
// quantity from its base, which is that of the leaf's first particle. So a constant stays exactly
// what it is, and others lose the fewest digits.
typedef struct leaf_sums {
    float base[MOST_CHANNELS];
    four sum[ROWS][MOST_CHANNELS][2];
} leaf_sums;

static inline void read_quantities(const firn_raster_job *job, size_t particle,
                                   float values[MOST_CHANNELS])
{
    for (int i = 0; i < job->item_count; i++) {
        const firn_raster_item *item = &job->item[i];
        float value = item->from[particle * (size_t)item->stride];
        values[1 + i] = item->inverse ? 1.0f / value : value;
    }
}

// What to add where: shared by the particles of a leaf.
typedef struct leaf_job {
    const firn_raster *raster;
    const firn_raster_job *job;
    firn_coord origin;
    const float *coverage; // NULL: 1
    int channels;
} leaf_job;

static inline void add_particle(const leaf_job *leaf, size_t particle, int channels, bool is_round,
                                leaf_sums *sums)
{
    const firn_raster *r = leaf->raster;
    reach at = reach_of(r, particle);
    window w = window_of(r, &at, leaf->origin);
    float values[MOST_CHANNELS], share = r->share[particle];
    float loose = leaf->coverage != NULL ? r->loose[particle] : 0.0f;
    read_quantities(leaf->job, particle, values);
    for (int c = 1; c < channels; c++)
        values[c] -= sums->base[c];
    for (int x = w.begin[0]; x < w.end[0]; x++)
        for (int y = w.begin[1]; y < w.end[1]; y++) {
            four(*sum)[2] = sums->sum[x * LEAF + y];
            four mass[2];
            weigh_row(&w, is_round, x, y, mass);
            mass[0] *= share;
            mass[1] *= share;
            if (leaf->coverage != NULL) {
                four covered[2];
                memcpy(covered, &leaf->coverage[(x * LEAF + y) * LEAF], sizeof covered);
                mass[0] *= (1.0f - loose) * covered[0] + loose;
                mass[1] *= (1.0f - loose) * covered[1] + loose;
            }
            sum[0][0] += mass[0];
            sum[0][1] += mass[1];
            for (int c = 1; c < channels; c++) {
                sum[c][0] += mass[0] * values[c];
                sum[c][1] += mass[1] * values[c];
            }
        }
}

static void store_leaf(const leaf_job *leaf, size_t number, const leaf_sums *sums)
{
    const firn_raster_job *job = leaf->job;
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        const four(*sum)[2] = sums->sum[i / LEAF];
        int half = i / 4 % 2, lane = i % 4;
        size_t voxel = number * FIRN_LEAF_VOXELS + (size_t)i;
        float density = sum[0][half][lane];
        job->density_out[voxel] = density;
        for (int c = 1; c < leaf->channels; c++) {
            const firn_raster_item *item = &job->item[c - 1];
            item->to[voxel * (size_t)item->stride] =
                density > 0.0f ? sums->base[c] + sum[c][half][lane] / density : 0.0f;
        }
    }
}

static void fill_leaf(const firn_raster *r, const firn_raster_job *job, size_t number)
{
    firn_coord coord = r->leaves.entries[number].coord;
    leaf_job leaf = {
        .raster = r,
        .job = job,
        .origin = {coord.x * LEAF, coord.y * LEAF, coord.z * LEAF},
        .coverage = r->coverage != NULL ? &r->coverage[number * FIRN_LEAF_VOXELS] : NULL,
        .channels = 1 + job->item_count,
    };
    leaf_sums sums;
    memset(&sums, 0, sizeof sums);
    size_t end = r->next[number], begin = end - r->leaves.entries[number].count;
    read_quantities(job, r->members[begin], sums.base);
    // All channels of round kernels is the common case, and the compiler unrolls it.
    if (leaf.channels == MOST_CHANNELS && r->footprint == NULL)
        for (size_t i = begin; i < end; i++)
            add_particle(&leaf, r->members[i], MOST_CHANNELS, true, &sums);
    else
        for (size_t i = begin; i < end; i++)
            add_particle(&leaf, r->members[i], leaf.channels, r->footprint == NULL, &sums);
    store_leaf(&leaf, number, &sums);
}

void firn_raster_fill(const firn_raster *r, const firn_raster_job *job)
{
#pragma omp parallel for schedule(dynamic, 4) num_threads(r->thread_count)
    for (size_t leaf = 0; leaf < r->leaves.count; leaf++)
        fill_leaf(r, job, leaf);
}

void firn_raster_free(firn_raster *r)
{
    firn_coord_table_free(&r->leaves);
    firn_free(r->footprint);
    firn_free(r->next);
    firn_free(r->members);
    firn_free(r->share);
    firn_free(r->coverage);
    firn_free(r->loose);
}
