// Which leaves particles reach, who is in which leaf, and which leaves may be worked on together.
#include "raster.h"

#include "space/leaf_index.h"

#include <math.h>
#include <string.h>

enum {
    LEAF = FIRN_LEAF_EDGE,
    MOST_LEAVES = 9 * 9 * 9, // that a particle reaches when the kernel is widest
    CHUNK_PARTICLES = 8192,  // that a thread takes at a time, or more
    CHUNK_MAX = 64,
};

// The spline is cut where its weight is below a millionth, so that products of weights stay far
// from the smallest float. Weights are normalized afterwards: no mass is lost.
static const double cut = 0.999;

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

// Leaf of a voxel: the shift rounds down, also below zero.
static int32_t leaf_of(int32_t voxel) { return voxel >> 3; }

// --- Lists ---------------------------------------------------------------------------------------

// The leaves that the last particle reached: particles that follow each other are mostly neighbors.
typedef struct recent {
    firn_raster_box leaves;
    size_t count;
    uint32_t number[MOST_LEAVES];
} recent;

// Finds the leaves that a particle reaches; *home is the number of the one that it is in.
static firn_result find_leaves(const firn_raster *r, firn_coord_table *table, size_t particle,
                               recent *last, uint32_t *home)
{
    double position[3];
    firn_raster_box leaves = firn_raster_reach(r, particle, position);
    int32_t changed = last->count == 0;
    size_t at = 0;
    for (int axis = 0; axis < 3; axis++) {
        leaves.lower[axis] = leaf_of(leaves.lower[axis]);
        leaves.upper[axis] = leaf_of(leaves.upper[axis]);
        changed |= (leaves.lower[axis] ^ last->leaves.lower[axis]) |
                   (leaves.upper[axis] ^ last->leaves.upper[axis]);
        int32_t within = leaf_of(firn_floor_of(position[axis] + 0.5)) - leaves.lower[axis];
        at = at * (size_t)(leaves.upper[axis] - leaves.lower[axis] + 1) + (size_t)within;
    }
    if (changed) {
        last->leaves = leaves;
        last->count = 0;
        size_t count = 0;
        firn_coord coord;
        for (coord.x = leaves.lower[0]; coord.x <= leaves.upper[0]; coord.x++)
            for (coord.y = leaves.lower[1]; coord.y <= leaves.upper[1]; coord.y++)
                for (coord.z = leaves.lower[2]; coord.z <= leaves.upper[2]; coord.z++)
                    FIRN_TRY(firn_coord_table_add(table, coord, &last->number[count++], NULL));
        last->count = count;
    }
    *home = last->number[at];
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
    uint32_t home;
    for (size_t i = c->begin; i < c->end; i++) {
        FIRN_TRY(find_leaves(r, &c->leaves, i, &last, &home));
        c->leaves.entries[home].count++;
    }
    return FIRN_OK;
}

// All leaves are there by now, so that this cannot fail.
static void list_members(const firn_raster *r, chunk *c)
{
    recent last = {.count = 0};
    uint32_t home = 0;
    for (size_t i = c->begin; i < c->end; i++) {
        (void)find_leaves(r, &c->leaves, i, &last, &home);
        r->members[c->leaves.entries[home].count++] = (uint32_t)i;
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

static void find_reach(const firn_raster *r, size_t leaf)
{
    firn_raster_box all = {{0}, {0}};
    size_t end = r->next[leaf], begin = end - r->leaves.entries[leaf].count;
    for (size_t i = begin; i < end; i++) {
        double position[3];
        firn_raster_box own = firn_raster_reach(r, r->members[i], position);
        for (int axis = 0; axis < 3; axis++) {
            if (i == begin || own.lower[axis] < all.lower[axis])
                all.lower[axis] = own.lower[axis];
            if (i == begin || own.upper[axis] > all.upper[axis])
                all.upper[axis] = own.upper[axis];
        }
    }
    r->reached[leaf] = all;
}

static firn_result list_all(firn_raster *r, chunk *chunks, int count, firn_error *error)
{
    int threads = count > 1 ? r->thread_count : 1;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int c = 0; c < count; c++)
        chunks[c].result = count_members(r, &chunks[c]);
    for (int c = 0; c < count; c++)
        FIRN_TRY(add_leaves(r, &chunks[c], error));
    firn_coord_table_sort(&r->leaves);
    FIRN_TRY(firn_raster_claim(r->leaves.count + 1, sizeof *r->next, &r->next, error));
    FIRN_TRY(firn_raster_claim(r->leaves.count + 1, sizeof *r->reached, &r->reached, error));
    FIRN_TRY(firn_raster_claim(r->points->count, sizeof *r->members, &r->members, error));
    FIRN_TRY(firn_raster_claim(r->points->count, sizeof *r->share, &r->share, error));
    size_t members = 0;
    for (size_t i = 0; i < r->leaves.count; i++) {
        r->next[i] = members;
        members += r->leaves.entries[i].count;
    }
    for (int c = 0; c < count; c++)
        place_members(r, &chunks[c]);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int c = 0; c < count; c++)
        list_members(r, &chunks[c]);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t leaf = 0; leaf < r->leaves.count; leaf++)
        find_reach(r, leaf);
    return FIRN_OK;
}

// --- Colors --------------------------------------------------------------------------------------

// Voxels that a particle reaches beyond its leaf, at most.
static int margin_of(const firn_raster *r) { return (int)(r->extent * (1.0 + 1e-4) + 0.5); }

// Counted from the lowest leaf, so that snow that moves by whole leaves keeps its bits.
static firn_coord lowest_leaf(const firn_raster *r)
{
    firn_coord low = r->leaves.count > 0 ? r->leaves.entries[0].coord : (firn_coord){0, 0, 0};
    for (size_t i = 0; i < r->leaves.count; i++) {
        firn_coord c = r->leaves.entries[i].coord;
        low.x = c.x < low.x ? c.x : low.x;
        low.y = c.y < low.y ? c.y : low.y;
        low.z = c.z < low.z ? c.z : low.z;
    }
    return low;
}

static int color_of(firn_coord c, firn_coord low, int step)
{
    return ((c.x - low.x) % step * step + (c.y - low.y) % step) * step + (c.z - low.z) % step;
}

// Tiles of leaves that are so many leaves apart do not meet.
static firn_result color_leaves(firn_raster *r, firn_error *error)
{
    const int step = 1 + (2 * margin_of(r) + LEAF - 1) / LEAF;
    const firn_coord low = lowest_leaf(r);
    r->color_count = step * step * step;
    FIRN_TRY(firn_raster_claim((size_t)r->color_count, sizeof *r->color_end, &r->color_end, error));
    FIRN_TRY(firn_raster_claim(r->leaves.count + 1, sizeof *r->by_color, &r->by_color, error));
    memset(r->color_end, 0, (size_t)r->color_count * sizeof *r->color_end);
    for (size_t i = 0; i < r->leaves.count; i++)
        if (r->leaves.entries[i].count > 0)
            r->color_end[color_of(r->leaves.entries[i].coord, low, step)]++;
    size_t sum = 0;
    for (int color = 0; color < r->color_count; color++) {
        size_t count = r->color_end[color];
        r->color_end[color] = sum;
        sum += count;
    }
    for (size_t i = 0; i < r->leaves.count; i++)
        if (r->leaves.entries[i].count > 0)
            r->by_color[r->color_end[color_of(r->leaves.entries[i].coord, low, step)]++] =
                (uint32_t)i;
    return FIRN_OK;
}

size_t firn_raster_tile_size(const firn_raster *r)
{
    size_t edge = (size_t)(LEAF + 2 * margin_of(r));
    return (FIRN_TILE_CHANNELS + 1) * edge * edge * r->row;
}

firn_result firn_raster_lay_out(firn_raster *r, firn_error *error)
{
    chunk chunks[CHUNK_MAX];
    r->extent = firn_raster_radius(r) * r->width;
    r->per_unit = (float)(1.0 / r->width);
    size_t particles = r->points->count, count = particles / CHUNK_PARTICLES + 1;
    count = count < CHUNK_MAX ? count : CHUNK_MAX;
    for (size_t c = 0; c < count; c++)
        chunks[c] = (chunk){.begin = particles * c / count, .end = particles * (c + 1) / count};
    firn_result result = list_all(r, chunks, (int)count, error);
    for (size_t c = 0; c < count; c++)
        firn_coord_table_free(&chunks[c].leaves);
    FIRN_TRY(result);
    FIRN_TRY(color_leaves(r, error));
    // Four lanes may stand over the end of a row.
    r->row = ((size_t)(LEAF + 2 * margin_of(r)) + 3) / 4 * 4 + 4;
    return firn_raster_claim((size_t)r->thread_count, firn_raster_tile_size(r) * sizeof(float),
                             &r->tiles, error);
}

void firn_raster_free(firn_raster *r)
{
    firn_coord_table_free(&r->leaves);
    firn_free(r->footprint);
    firn_free(r->next);
    firn_free(r->members);
    firn_free(r->reached);
    firn_free(r->by_color);
    firn_free(r->color_end);
    firn_free(r->tiles);
    firn_free(r->share);
    firn_free(r->coverage);
    firn_free(r->loose);
    firn_free(r->seen);
    firn_free(r->density);
    firn_free(r->expected);
    firn_free(r->body);
}
