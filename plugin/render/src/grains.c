#include "grains.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRAY_SHARE 0.004 // of the grains, cut off at either end of an axis when a view is framed
#define DEEP 0.5f         // of the reference density: what is this dense hides a grain
enum { BITS = 20, SAMPLE_MAX = 1 << 16 };

static firn_result out_of_memory(firn_error *error)
{
    return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot hold the grains");
}

// --- Order ---------------------------------------------------------------------------------------

/// A grain's place on the curve.
typedef struct rank {
    uint64_t place;
    uint32_t index;
} rank;

// The index along a Hilbert curve of three numbers of BITS bits, after Skilling 2004.
static uint64_t hilbert(uint32_t x[3])
{
    for (uint32_t q = (uint32_t)1 << (BITS - 1); q > 1; q >>= 1) {
        uint32_t below = q - 1;
        for (int i = 0; i < 3; i++) {
            if ((x[i] & q) != 0) {
                x[0] ^= below;
            } else {
                uint32_t swap = (x[0] ^ x[i]) & below;
                x[0] ^= swap;
                x[i] ^= swap;
            }
        }
    }
    x[1] ^= x[0];
    x[2] ^= x[1];
    uint32_t last = 0;
    for (uint32_t q = (uint32_t)1 << (BITS - 1); q > 1; q >>= 1)
        if ((x[2] & q) != 0)
            last ^= q - 1;
    uint64_t place = 0;
    for (int bit = BITS - 1; bit >= 0; bit--)
        for (int i = 0; i < 3; i++)
            place = place << 1 | ((x[i] ^ last) >> bit & 1);
    return place;
}

static int compare_ranks(const void *a, const void *b)
{
    const rank *p = a, *q = b;
    if (p->place != q->place)
        return p->place < q->place ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

static int compare_floats(const void *a, const void *b)
{
    float p = *(const float *)a, q = *(const float *)b;
    return (p > q) - (p < q);
}

// --- What is there -------------------------------------------------------------------------------

static firn_vec3 point_of(const firn_grain_def *def, size_t i)
{
    const float *p = def->grains->position + 3 * i;
    return firn_scale(1.0f / def->voxel_size, firn_sub(firn_vec(p[0], p[1], p[2]), def->origin));
}

static float radius_of(const firn_grain_def *def, size_t i)
{
    return fminf(def->scale * def->grains->radius[i], def->limit) / def->voxel_size;
}

// A grain with dense snow on all sides is not seen; the volume stands for it.
static bool is_hidden(const firn_density_grid *grid, firn_vec3 p)
{
    if (grid == NULL || grid->value_count == 0)
        return false;
    const int32_t at[3] = {(int32_t)floorf(p.x + 0.5f), (int32_t)floorf(p.y + 0.5f),
                           (int32_t)floorf(p.z + 0.5f)};
    for (int axis = 0; axis < 3; axis++)
        for (int side = -2; side <= 2; side += 4) {
            int32_t v[3] = {at[0], at[1], at[2]};
            v[axis] += side;
            if (firn_density_voxel(grid, v[0], v[1], v[2]) < DEEP)
                return false;
        }
    return true;
}

static firn_result check_grain(const firn_grain_def *def, size_t i, firn_error *error)
{
    const firn_grains *g = def->grains;
    bool finite = isfinite(g->radius[i]);
    for (size_t c = 0; c < 3; c++)
        finite = finite && fabsf(g->position[3 * i + c]) < 1e9f &&
                 (g->velocity == NULL || fabsf(g->velocity[3 * i + c]) < 1e9f);
    return finite ? FIRN_OK
                  : firn_fail(error, FIRN_ERR_FORMAT,
                              "position, velocity or radius of particle %zu is not a finite number",
                              i);
}

// The grains that can be seen, in the order of the curve.
static firn_result list_grains(const firn_grain_def *def, rank *ranks, size_t *count,
                               firn_error *error)
{
    size_t all = def->grains->count;
    firn_vec3 lower = {INFINITY, INFINITY, INFINITY}, upper = {-INFINITY, -INFINITY, -INFINITY};
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        FIRN_TRY(check_grain(def, i, error));
        firn_vec3 p = point_of(def, i);
        if (!(radius_of(def, i) > 0.0f) || is_hidden(def->volume, p))
            continue;
        ranks[(*count)++].index = (uint32_t)i;
        lower = firn_vec(fminf(lower.x, p.x), fminf(lower.y, p.y), fminf(lower.z, p.z));
        upper = firn_vec(fmaxf(upper.x, p.x), fmaxf(upper.y, p.y), fmaxf(upper.z, p.z));
    }
    firn_vec3 size = firn_sub(upper, lower);
    float scale = (float)((1 << BITS) - 1) / fmaxf(fmaxf(size.x, size.y), fmaxf(size.z, 1e-6f));
#pragma omp parallel for schedule(static)
    for (size_t n = 0; n < *count; n++) {
        firn_vec3 p = firn_scale(scale, firn_sub(point_of(def, ranks[n].index), lower));
        uint32_t x[3] = {(uint32_t)p.x, (uint32_t)p.y, (uint32_t)p.z};
        ranks[n].place = hilbert(x);
    }
    qsort(ranks, *count, sizeof *ranks, compare_ranks);
    return FIRN_OK;
}

// --- The tree ------------------------------------------------------------------------------------

static firn_result allocate(firn_grain_set *set, const firn_grain_def *def, firn_error *error)
{
    size_t packs = (set->count + 3) / 4, nodes = 0, below = packs;
    do {
        below = (below + 3) / 4;
        set->first[set->levels++] = nodes;
        nodes += below;
    } while (below > 1);
    bool moves = def->grains->velocity != NULL && def->shutter > 0.0f;
    set->packs = firn_alloc_zero(packs * sizeof *set->packs);
    set->key = firn_alloc_zero(4 * packs * sizeof *set->key);
    set->nodes = firn_alloc(nodes * sizeof *set->nodes);
    bool fine = set->packs != NULL && set->key != NULL && set->nodes != NULL;
    if (moves) {
        set->motion = firn_alloc_zero(packs * sizeof *set->motion);
        set->late = firn_alloc(nodes * sizeof *set->late);
        fine = fine && set->motion != NULL && set->late != NULL;
    }
    if (def->grains->color != NULL) {
        set->color = firn_alloc_zero(4 * packs * sizeof *set->color);
        fine = fine && set->color != NULL;
    }
    return fine ? FIRN_OK : out_of_memory(error);
}

static void fill(firn_grain_set *set, const firn_grain_def *def, const rank *ranks)
{
    const firn_grains *g = def->grains;
    float step = def->shutter / def->voxel_size;
    for (size_t n = 0; n < set->count; n++) {
        size_t i = ranks[n].index, pack = n / 4, slot = n % 4;
        firn_vec3 p = point_of(def, i);
        set->packs[pack].at[0][slot] = p.x;
        set->packs[pack].at[1][slot] = p.y;
        set->packs[pack].at[2][slot] = p.z;
        set->packs[pack].radius[slot] = radius_of(def, i);
        set->key[n] = g->id != NULL ? g->id[i] : (uint32_t)i;
        for (int c = 0; c < 3 && set->motion != NULL; c++)
            set->motion[pack].step[c][slot] = step * g->velocity[3 * i + (size_t)c];
        if (set->color != NULL)
            set->color[n] = firn_vec(g->color[3 * i], g->color[3 * i + 1], g->color[3 * i + 2]);
    }
}

// The box of a pack when a share of the shutter (-0.5 to 0.5) has passed.
static void bound_pack(const firn_grain_set *set, size_t pack, float time, float box[2][3])
{
    const firn_grain_pack *g = &set->packs[pack];
    for (int axis = 0; axis < 3; axis++) {
        box[0][axis] = INFINITY;
        box[1][axis] = -INFINITY;
        for (int i = 0; i < 4; i++) {
            if (!(g->radius[i] > 0.0f))
                continue;
            float at = g->at[axis][i];
            if (set->motion != NULL)
                at += time * set->motion[pack].step[axis][i];
            // A little more: rounding must not cut a grain.
            float reach = 1.0001f * g->radius[i] + 1e-6f * fabsf(at);
            box[0][axis] = fminf(box[0][axis], at - reach);
            box[1][axis] = fmaxf(box[1][axis], at + reach);
        }
    }
}

static void bound_node(const firn_grain_node *node, float box[2][3])
{
    for (int axis = 0; axis < 3; axis++) {
        box[0][axis] = INFINITY;
        box[1][axis] = -INFINITY;
        for (int i = 0; i < 4; i++) {
            box[0][axis] = fminf(box[0][axis], node->side[0][axis][i]);
            box[1][axis] = fmaxf(box[1][axis], node->side[1][axis][i]);
        }
    }
}

// Empty places have boxes that are inside out: large, but finite, so that they can be mixed.
static void build_boxes(const firn_grain_set *set, firn_grain_node *nodes, float time)
{
    size_t below = (set->count + 3) / 4;
    for (int level = 0; level < set->levels; level++) {
        size_t own = (below + 3) / 4;
#pragma omp parallel for schedule(static)
        for (size_t n = 0; n < own; n++)
            for (size_t i = 0; i < 4; i++) {
                float box[2][3] = {{1e30f, 1e30f, 1e30f}, {-1e30f, -1e30f, -1e30f}};
                size_t child = 4 * n + i;
                if (child < below && level == 0)
                    bound_pack(set, child, time, box);
                else if (child < below)
                    bound_node(&nodes[set->first[level - 1] + child], box);
                for (int axis = 0; axis < 3; axis++) {
                    nodes[set->first[level] + n].side[0][axis][i] = box[0][axis];
                    nodes[set->first[level] + n].side[1][axis][i] = box[1][axis];
                }
            }
        below = own;
    }
}

// --- The box to be seen --------------------------------------------------------------------------

static firn_result find_bounds(firn_grain_set *set, firn_error *error)
{
    size_t step = set->count / SAMPLE_MAX + 1, count = set->count / step;
    float *values = firn_alloc((count + 1) * sizeof *values), range[3][2];
    if (values == NULL)
        return out_of_memory(error);
    for (int axis = 0; axis < 3; axis++) {
        for (size_t i = 0; i < count; i++)
            values[i] = set->packs[i * step / 4].at[axis][i * step % 4];
        qsort(values, count, sizeof *values, compare_floats);
        size_t cut = (size_t)(STRAY_SHARE * (double)count);
        range[axis][0] = values[cut];
        range[axis][1] = values[count - 1 - cut];
    }
    firn_free(values);
    for (int side = 0; side < 2; side++)
        set->bounds[side] = firn_vec(range[0][side], range[1][side], range[2][side]);
    return FIRN_OK;
}

static firn_result build(firn_grain_set *set, const firn_grain_def *def, rank *ranks,
                         firn_error *error)
{
    FIRN_TRY(list_grains(def, ranks, &set->count, error));
    if (set->count == 0)
        return FIRN_OK;
    FIRN_TRY(allocate(set, def, error));
    fill(set, def, ranks);
    build_boxes(set, set->nodes, set->late != NULL ? -0.5f : 0.0f);
    if (set->late != NULL)
        build_boxes(set, set->late, 0.5f);
    return find_bounds(set, error);
}

firn_result firn_grain_set_create(firn_grain_set *set, const firn_grain_def *def, firn_error *error)
{
    memset(set, 0, sizeof *set);
    set->shape = def->shape;
    if (def->shape == FIRN_GRAINS_NONE || def->grains == NULL || def->grains->count == 0)
        return FIRN_OK;
    if (def->grains->count > UINT32_MAX)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED, "%zu grains are too many for one picture",
                         def->grains->count);
    rank *ranks = firn_alloc(def->grains->count * sizeof *ranks);
    firn_result result = ranks != NULL ? build(set, def, ranks, error) : out_of_memory(error);
    firn_free(ranks);
    if (result != FIRN_OK)
        firn_grain_set_free(set);
    return result;
}

void firn_grain_set_free(firn_grain_set *set)
{
    firn_free(set->packs);
    firn_free(set->motion);
    firn_free(set->key);
    firn_free(set->color);
    firn_free(set->nodes);
    firn_free(set->late);
    memset(set, 0, sizeof *set);
}

size_t firn_grain_set_bytes(const firn_grain_set *set)
{
    size_t packs = (set->count + 3) / 4, nodes = 0;
    if (set->levels > 0)
        nodes = set->first[set->levels - 1] + 1;
    size_t bytes = packs * (sizeof *set->packs + 4 * sizeof *set->key) + nodes * sizeof *set->nodes;
    bytes += set->motion != NULL ? packs * sizeof *set->motion + nodes * sizeof *set->late : 0;
    return bytes + (set->color != NULL ? 4 * packs * sizeof *set->color : 0);
}
