// Passes over particles. For each leaf: the box that its particles reach is the tile; what they
// gather is copied to it, each particle gathers and scatters there, and the sums go to the leaves.
#include "raster.h"

#include "space/leaf_index.h"

#include <math.h>
#include <string.h>

enum {
    LEAF = FIRN_LEAF_EDGE,
    WIDEST = 80, // voxels of a kernel along an axis, with those that fill up four lanes
    USUAL = 5,   // channels: density, velocity and compaction
};

typedef float four __attribute__((vector_size(16)));
typedef int32_t four_mask __attribute__((vector_size(16)));

static inline four load_four(const float *from)
{
    four value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline void add_four(float *to, four value)
{
    value += load_four(to);
    memcpy(to, &value, sizeof value);
}

// --- Weights -------------------------------------------------------------------------------------

static inline four positive(four x) { return (four)((four_mask)x & (x > 0.0f)); }

// B-splines as sums of truncated powers, without branches.
static inline four spline(bool cubic, four distance)
{
    four d = (four)((four_mask)distance & 0x7FFFFFFF);
    four a = (cubic ? 2.0f : 1.5f) - d, b = positive(a - 1.0f);
    a = positive(a);
    return cubic ? (a * a * a - 4.0f * b * b * b) * (1.0f / 6.0f) : 0.5f * a * a - 1.5f * b * b;
}

/// The voxels that a particle reaches, and what its weights are made of.
typedef struct kernel {
    firn_raster_box box;
    int count[3]; // voxels by axis
    int fours;    // along z
    bool round;
    float along[3][WIDEST]; // round: weights by axis; else distances in voxels
    float per_radius[6];    // not round: matrix from voxels to radii of the kernel
} kernel;

static inline void kernel_of(const firn_raster *r, size_t particle, kernel *k)
{
    double position[3];
    const float per_unit = r->per_unit;
    k->box = firn_raster_reach(r, particle, position);
    k->round = r->footprint == NULL;
    for (int axis = 0; axis < 3; axis++) {
        k->count[axis] = k->box.upper[axis] - k->box.lower[axis] + 1;
        float offset = (float)((double)k->box.lower[axis] - position[axis]);
        for (int i = 0; i < k->count[axis]; i += 4) {
            const four lanes = {0.0f, 1.0f, 2.0f, 3.0f};
            four distance = (float)i + lanes + offset;
            four inside = (four)(lanes < (float)(k->count[axis] - i));
            four weight = spline(r->cubic, distance * per_unit);
            weight = (four)((four_mask)weight & (four_mask)inside);
            distance = k->round ? weight : distance;
            memcpy(&k->along[axis][i], &distance, sizeof distance);
        }
    }
    k->fours = (k->count[2] + 3) / 4;
    if (k->round)
        return;
    float per_radius = 1.0f / (float)firn_raster_radius(r);
    for (int i = 0; i < 6; i++)
        k->per_radius[i] = r->footprint[particle].to_unit[i] * per_radius;
}

static inline double sum_of_four(four f)
{
    return ((double)f[0] + (double)f[1]) + ((double)f[2] + (double)f[3]);
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

// Weights of four voxels of the row (x, y).
static inline four weigh(const kernel *k, bool is_round, int x, int y, int f)
{
    four z = load_four(&k->along[2][4 * f]);
    return is_round ? k->along[0][x] * k->along[1][y] * z
                    : bell(k->per_radius, k->along[0][x], k->along[1][y], z);
}

static double sum_of_weights(const kernel *k)
{
    double product = 1.0, sum = 0.0;
    for (int axis = 0; axis < 3 && k->round; axis++) {
        four line = {0};
        for (int i = 0; i < k->count[axis]; i += 4)
            line += load_four(&k->along[axis][i]);
        product *= sum_of_four(line);
    }
    if (k->round)
        return product;
    for (int x = 0; x < k->count[0]; x++) {
        four line = {0};
        for (int y = 0; y < k->count[1]; y++)
            for (int f = 0; f < k->fours; f++)
                line += weigh(k, false, x, y, f);
        sum += sum_of_four(line);
    }
    return sum;
}

// --- Tiles ---------------------------------------------------------------------------------------

typedef struct tile {
    firn_raster_box box; // voxels
    size_t row;          // floats of a row of one channel
    size_t line;  // floats of a row of all channels, side by side: sums, then what is gathered
    size_t lines; // rows
    float *data;
} tile;

static tile tile_of(const firn_raster *r, size_t leaf, int channels, float *data)
{
    tile t = {.box = r->reached[leaf], .row = r->row, .data = data};
    t.line = (size_t)channels * t.row;
    t.lines = (size_t)(t.box.upper[0] - t.box.lower[0] + 1) *
              (size_t)(t.box.upper[1] - t.box.lower[1] + 1);
    return t;
}

static inline float *tile_at(const tile *t, int32_t x, int32_t y, int32_t z)
{
    size_t line = (size_t)(x - t->box.lower[0]) * (size_t)(t->box.upper[1] - t->box.lower[1] + 1) +
                  (size_t)(y - t->box.lower[1]);
    return t->data + line * t->line + (size_t)(z - t->box.lower[2]);
}

/// The part of a tile that lies in a leaf.
typedef struct part {
    size_t leaf;
    firn_coord origin; // of the leaf, voxels
    firn_raster_box box;
} part;

// Calls for each leaf that a tile touches and that is there.
static void for_parts(const firn_raster *r, const tile *t, void (*visit)(const part *, void *),
                      void *user)
{
    firn_coord c;
    for (c.x = t->box.lower[0] >> 3; c.x <= t->box.upper[0] >> 3; c.x++)
        for (c.y = t->box.lower[1] >> 3; c.y <= t->box.upper[1] >> 3; c.y++)
            for (c.z = t->box.lower[2] >> 3; c.z <= t->box.upper[2] >> 3; c.z++) {
                part p = {.leaf = firn_coord_table_find(&r->leaves, c),
                          .origin = {c.x * LEAF, c.y * LEAF, c.z * LEAF}};
                const int32_t first[3] = {p.origin.x, p.origin.y, p.origin.z};
                if (p.leaf == r->leaves.count)
                    continue;
                for (int axis = 0; axis < 3; axis++) {
                    int32_t low = t->box.lower[axis], high = t->box.upper[axis];
                    p.box.lower[axis] = low > first[axis] ? low : first[axis];
                    p.box.upper[axis] =
                        high < first[axis] + LEAF - 1 ? high : first[axis] + LEAF - 1;
                }
                visit(&p, user);
            }
}

static inline size_t voxel_of(const part *p, int32_t x, int32_t y)
{
    return p->leaf * FIRN_LEAF_VOXELS +
           (size_t)(((x - p->origin.x) * LEAF + y - p->origin.y) * LEAF + p->box.lower[2] -
                    p->origin.z);
}

/// Values of voxels on their way to a tile, or sums on their way back.
typedef struct traffic {
    const tile *tile;
    const float *from;
    float *to;
    int stride;
    size_t channel; // floats before it in a line
} traffic;

static void load_part(const part *p, void *user)
{
    const traffic *way = user;
    size_t bytes = (size_t)(p->box.upper[2] - p->box.lower[2] + 1) * sizeof(float);
    for (int32_t x = p->box.lower[0]; x <= p->box.upper[0]; x++)
        for (int32_t y = p->box.lower[1]; y <= p->box.upper[1]; y++)
            memcpy(tile_at(way->tile, x, y, p->box.lower[2]) + way->channel,
                   &way->from[voxel_of(p, x, y)], bytes);
}

static void store_part(const part *p, void *user)
{
    const traffic *way = user;
    int count = p->box.upper[2] - p->box.lower[2] + 1;
    for (int32_t x = p->box.lower[0]; x <= p->box.upper[0]; x++)
        for (int32_t y = p->box.lower[1]; y <= p->box.upper[1]; y++) {
            const float *from = tile_at(way->tile, x, y, p->box.lower[2]) + way->channel;
            float *to = &way->to[voxel_of(p, x, y) * (size_t)way->stride];
            for (int z = 0; z < count; z++)
                to[z * way->stride] += from[z];
        }
}

// --- Particles -----------------------------------------------------------------------------------

/// What the particles of a pass share.
typedef struct run {
    const firn_raster *raster;
    const firn_raster_pass *pass;
    const float *gather;            // voxels: coverage or density; NULL: nothing
    bool covered;                   // it is coverage, and weights are multiplied by it
    int channels;                   // of a tile
    float base[FIRN_TILE_CHANNELS]; // of means: what is added up is the difference from it, so
                                    // that a constant stays what it is
    firn_raster_item item[FIRN_TILE_CHANNELS]; // of each channel; density first
} run;

static double gather(const kernel *k, const tile *t, size_t channel, bool is_round)
{
    double sum = 0.0;
    for (int x = 0; x < k->count[0]; x++) {
        four line = {0};
        for (int y = 0; y < k->count[1]; y++) {
            const float *from =
                tile_at(t, k->box.lower[0] + x, k->box.lower[1] + y, k->box.lower[2]) + channel;
            for (int f = 0; f < k->fours; f++)
                line += weigh(k, is_round, x, y, f) * load_four(&from[4 * f]);
        }
        sum += sum_of_four(line);
    }
    return sum;
}

// A particle that hardly touches what is covered keeps part of its own kernel: its mass stays
// where it is, and nothing jumps as it comes nearer.
static double covered_sum(const firn_raster *r, size_t particle, double covered, double whole)
{
    const double enough = 0.05;
    double loose = covered < enough * whole ? 1.0 - covered / (enough * whole) : 0.0;
    if (r->body != NULL) // powder has no edge
        loose = fmax(loose, 1.0 - (double)r->body[particle]);
    r->loose[particle] = (float)loose;
    loose = (double)r->loose[particle];
    return (1.0 - loose) * covered + loose * whole;
}

static inline void scatter(const kernel *k, const tile *t, const float *values, int channels,
                           bool is_round, bool covered, float share, float loose)
{
    for (int x = 0; x < k->count[0]; x++)
        for (int y = 0; y < k->count[1]; y++) {
            float *to = tile_at(t, k->box.lower[0] + x, k->box.lower[1] + y, k->box.lower[2]);
            for (int f = 0; f < k->fours; f++) {
                four mass = share * weigh(k, is_round, x, y, f);
                if (covered)
                    mass *= (1.0f - loose) * load_four(&to[(size_t)channels * t->row]) + loose;
#pragma GCC unroll 5
                for (int c = 0; c < channels; c++)
                    add_four(&to[(size_t)c * t->row], mass * values[c]);
                to += 4;
            }
        }
}

static inline void read_values(const run *u, size_t particle, float values[FIRN_TILE_CHANNELS])
{
    for (int c = 0; c < u->channels; c++) {
        const firn_raster_item *item = &u->item[c];
        float value = item->from != NULL ? item->from[particle * (size_t)item->stride] : 1.0f;
        values[c] = (item->inverse ? 1.0f / value : value) - u->base[c];
    }
}

static void visit_particle(const run *u, const tile *t, size_t particle)
{
    const firn_raster *r = u->raster;
    const firn_raster_pass *pass = u->pass;
    kernel k;
    kernel_of(r, particle, &k);
    double gathered = 0.0;
    if (pass->gather != NULL || (u->covered && pass->normalize))
        gathered = gather(&k, t, (size_t)u->channels * t->row, k.round);
    const double density = r->per_voxel * r->per_voxel * r->per_voxel;
    const double mass = (double)r->points->mass[particle];
    if (pass->normalize) {
        double sum = sum_of_weights(&k);
        if (u->covered)
            sum = covered_sum(r, particle, gathered, sum);
        r->share[particle] = (float)(mass * density / sum);
    }
    if (pass->gather != NULL)
        pass->seen[particle] = (float)(gathered * (double)r->share[particle] / (mass * density));
    if (u->channels == 0)
        return;
    float values[FIRN_TILE_CHANNELS], loose = u->covered ? r->loose[particle] : 0.0f;
    read_values(u, particle, values);
    const float share = r->share[particle];
    // The common cases, which the compiler unrolls.
    if (k.round && u->channels == USUAL && u->covered)
        scatter(&k, t, values, USUAL, true, true, share, loose);
    else if (k.round && u->channels == USUAL)
        scatter(&k, t, values, USUAL, true, false, share, loose);
    else if (k.round && u->channels == 1 && !u->covered)
        scatter(&k, t, values, 1, true, false, share, loose);
    else
        scatter(&k, t, values, u->channels, k.round, u->covered, share, loose);
}

static void visit_leaf(const run *u, size_t leaf, float *memory)
{
    const firn_raster *r = u->raster;
    size_t end = r->next[leaf], begin = end - r->leaves.entries[leaf].count;
    tile t = tile_of(r, leaf, u->channels + (u->gather != NULL), memory);
    memset(t.data, 0, t.lines * t.line * sizeof(float));
    traffic way = {.tile = &t, .from = u->gather, .channel = (size_t)u->channels * t.row};
    if (u->gather != NULL)
        for_parts(r, &t, load_part, &way);
    for (size_t i = begin; i < end; i++)
        visit_particle(u, &t, r->members[i]);
    for (int c = 0; c < u->channels; c++) {
        way.to = u->item[c].to;
        way.stride = u->item[c].stride;
        way.channel = (size_t)c * t.row;
        for_parts(r, &t, store_part, &way);
    }
}

// Sums become means.
static void finish_leaf(const run *u, size_t leaf)
{
    for (size_t i = leaf * FIRN_LEAF_VOXELS; i < (leaf + 1) * FIRN_LEAF_VOXELS; i++) {
        float density = u->pass->density_out[i];
        for (int c = 1; c < u->channels; c++) {
            float *to = &u->item[c].to[i * (size_t)u->item[c].stride];
            *to = density > 0.0f ? u->base[c] + *to / density : 0.0f;
        }
    }
}

static void clear_leaf(const run *u, size_t leaf)
{
    for (int c = 0; c < u->channels; c++)
        for (size_t i = leaf * FIRN_LEAF_VOXELS; i < (leaf + 1) * FIRN_LEAF_VOXELS; i++)
            u->item[c].to[i * (size_t)u->item[c].stride] = 0.0f;
}

static run run_of(const firn_raster *r, const firn_raster_pass *pass)
{
    run u = {.raster = r, .pass = pass, .gather = pass->gather};
    u.covered = r->coverage != NULL;
    if (u.covered)
        u.gather = r->coverage;
    FIRN_ASSERT(pass->gather == NULL || !u.covered); // a tile has room for one of them
    if (pass->density_out != NULL)
        u.item[u.channels++] = (firn_raster_item){NULL, pass->density_out, 1, false};
    for (int i = 0; i < pass->item_count; i++) {
        const firn_raster_item *item = &pass->item[i];
        if (pass->density_out != NULL && r->points->count > 0)
            u.base[u.channels] = item->inverse ? 1.0f / item->from[0] : item->from[0];
        u.item[u.channels++] = *item;
    }
    return u;
}

void firn_raster_run(const firn_raster *r, const firn_raster_pass *pass)
{
    const run u = run_of(r, pass);
    const size_t size = firn_raster_tile_size(r);
    int tile_count = 0;
#pragma omp parallel num_threads(r->thread_count)
    {
        int own;
#pragma omp atomic capture
        own = tile_count++;
#pragma omp for schedule(static)
        for (size_t leaf = 0; leaf < r->leaves.count; leaf++)
            clear_leaf(&u, leaf);
        for (int color = 0; color < r->color_count; color++) {
            size_t begin = color > 0 ? r->color_end[color - 1] : 0;
#pragma omp for schedule(dynamic, 1)
            for (size_t i = begin; i < r->color_end[color]; i++)
                visit_leaf(&u, r->by_color[i], r->tiles + (size_t)own * size);
        }
        if (pass->density_out != NULL && u.channels > 1) {
#pragma omp for schedule(static)
            for (size_t leaf = 0; leaf < r->leaves.count; leaf++)
                finish_leaf(&u, leaf);
        }
    }
}
