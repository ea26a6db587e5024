// Grains of particles, one frame at a time, in three steps:
//
//  1. pattern   where the grains of any particle are in its cell, how heavy each is, how the air
//               holds it; centered, so that mass and momentum of a particle stay what they are
//  2. density   of the snow on a grid of two particle spacings, to tell dense from loose
//  3. scatter   each particle turns the pattern at random by its id, deforms it and lets it fly
//
// Nothing depends on another frame or on the order of particles.
#include "firn/fine.h"

#include "fine_pattern.h"

#include "base/coord_table.h"
#include "base/noise.h"
#include "base/threads.h"
#include "space/leaf_index.h"

#include "firn/defs.h"

#include <math.h>
#include <string.h>

#define ROW(field) FIRN_PARAM(firn_fine_def, field)

// clang-format off
static const firn_param fine_params[] = {
    {ROW(children), FIRN_INT, {32}, 8, FIRN_FINE_MOST, "", "Grains of each particle"},
    {ROW(size_variation), FIRN_FLOAT, {0.3}, 0, 0.9, "",
     "How much their radii differ: 0.3 is from 0.7 to 1.3 of the middle"},
    {ROW(loose), FIRN_FLOAT, {0.4}, 0, 1, "",
     "Snow that is thinner than this share of its density at rest lets its grains go"},
    {ROW(spread), FIRN_FLOAT, {2}, 1, 8, "",
     "Cells of loose snow grow into the space around, up to this factor"},
    {ROW(scatter), FIRN_FLOAT, {0}, 0, 10, "m",
     "How far around it the grains of a particle are that is alone in the air: a flake of a coarse "
     "simulation stands for many"},
    {ROW(flight), FIRN_FLOAT, {0.05}, 0, 1, "s",
     "Time that loose grains have been on their own: small ones lag, large ones go ahead"},
    {ROW(fall_speed), FIRN_FLOAT, {1}, 0.05, 20, "m/s",
     "How fast a middling grain falls in still air; slower ones are held more by air"},
    {ROW(wind), FIRN_VEC3, {0, 0, 0}, -100, 100, "m/s", "Air that takes loose grains along"},
    {ROW(seed), FIRN_INT, {0}, 0, 2147483647, "", "Another number places all grains anew"},
    {ROW(thread_count), FIRN_INT, {0}, 0, 1024, "", "Number of threads; 0 uses every core"},
};
// clang-format on

firn_param_table firn_fine_params(void)
{
    firn_param_table table = {fine_params, FIRN_COUNT(fine_params)};
    return table;
}

void firn_fine_def_reset(firn_fine_def *def, size_t size)
{
    firn_fine_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_fine_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

// --- Dense and loose -----------------------------------------------------------------------------

/// Density of the snow as its particles see it, on nodes between which it is linear. Leaves of
/// nodes are where particles are, as a rule many of one leaf in a row.
typedef struct seen {
    double per_node; // nodes in a meter
    firn_coord_table leaves;
    float *mass; // kg, of each node
} seen;

static void seen_free(seen *s)
{
    firn_coord_table_free(&s->leaves);
    firn_free(s->mass);
}

/// Where a point is among the nodes: the lowest of the eight around it, and how far beyond.
typedef struct place {
    firn_coord low;
    float t[3];
} place;

static place place_of(const seen *s, firn_vec3 world)
{
    const double x = (double)world.x * s->per_node, y = (double)world.y * s->per_node,
                 z = (double)world.z * s->per_node;
    const double fx = floor(x), fy = floor(y), fz = floor(z);
    place p = {{(int32_t)fx, (int32_t)fy, (int32_t)fz},
               {(float)(x - fx), (float)(y - fy), (float)(z - fz)}};
    return p;
}

static firn_coord corner_of(const place *p, int i)
{
    return (firn_coord){p->low.x + (i >> 2), p->low.y + (i >> 1 & 1), p->low.z + (i & 1)};
}

static float weight_of(const place *p, int i)
{
    return (i & 4 ? p->t[0] : 1.0f - p->t[0]) * (i & 2 ? p->t[1] : 1.0f - p->t[1]) *
           (i & 1 ? p->t[2] : 1.0f - p->t[2]);
}

// Where the masses of the eight nodes are; *leaf is the leaf of the point before, or any.
static void find_nodes(const seen *s, const place *p, size_t *leaf, float *nodes[8])
{
    for (int i = 0; i < 8; i++) {
        firn_coord node = corner_of(p, i), cell = firn_cell_of(node, 0);
        if (!firn_same_cell(s->leaves.entries[*leaf].coord, cell))
            *leaf = firn_coord_table_find(&s->leaves, cell);
        FIRN_ASSERT(*leaf < s->leaves.count);
        nodes[i] = &s->mass[*leaf * FIRN_LEAF_VOXELS + (size_t)firn_leaf_offset(node)];
    }
}

static firn_result add_leaves(seen *s, const firn_fine_parents *parents, firn_error *error)
{
    firn_coord last[2] = {{0, 0, 0}, {0, 0, 0}};
    for (size_t i = 0; i < parents->count; i++) {
        place p = place_of(s, parents->position[i]);
        const firn_coord ends[2] = {firn_cell_of(p.low, 0), firn_cell_of(corner_of(&p, 7), 0)};
        if (i > 0 && memcmp(last, ends, sizeof ends) == 0)
            continue;
        memcpy(last, ends, sizeof ends);
        uint32_t number;
        for (int k = 0; k < 8; k++)
            FIRN_TRY(firn_coord_table_add(&s->leaves, firn_cell_of(corner_of(&p, k), 0), &number,
                                          error));
    }
    return FIRN_OK;
}

// In the order of the particles, which makes the bits.
static firn_result seen_make(const firn_fine_parents *parents, double spacing, seen *s,
                             firn_error *error)
{
    s->per_node = 1.0 / spacing;
    FIRN_TRY(add_leaves(s, parents, error));
    s->mass = firn_alloc_zero(s->leaves.count * FIRN_LEAF_VOXELS * sizeof *s->mass);
    if (s->mass == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "out of memory: cannot see how dense %zu particles are", parents->count);
    size_t leaf = 0;
    for (size_t i = 0; i < parents->count; i++) {
        place p = place_of(s, parents->position[i]);
        float *nodes[8];
        find_nodes(s, &p, &leaf, nodes);
        for (int k = 0; k < 8; k++)
            *nodes[k] += weight_of(&p, k) * parents->mass[i];
    }
    return FIRN_OK;
}

/// kg/m^3 where a particle is, and what others have there.
typedef struct around {
    float all, others;
} around;

static around density_at(const seen *s, firn_vec3 world, float mass, size_t *leaf)
{
    place p = place_of(s, world);
    float *nodes[8], sum = 0.0f, own = 0.0f;
    find_nodes(s, &p, leaf, nodes);
    for (int k = 0; k < 8; k++) {
        float weight = weight_of(&p, k);
        sum += weight * *nodes[k];
        own += weight * weight * mass;
    }
    float per_volume = (float)(s->per_node * s->per_node * s->per_node);
    return (around){sum * per_volume, (sum - own) * per_volume};
}

// --- Grains --------------------------------------------------------------------------------------

/// What the particles of one frame share.
typedef struct frame {
    const firn_fine_def *def;
    const firn_fine_parents *parents;
    const firn_fine_grains *grains;
    firn_fine_pattern pattern;
    seen seen;
    double typical; // m^3, volume at rest of particles that do not know theirs
} frame;

/// What is random about a particle, by its id alone.
typedef struct chance {
    firn_mat3 turn;
    int way;       // in which its cell comes apart
    float brittle; // how far it does, 1 in the mean: some clumps hold, a few are powder
} chance;

static firn_mat3 turn_of(const double a[3], double w)
{
    double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + w * w);
    float s = (float)(1.0 / fmax(length, 1e-9));
    firn_quat q = {s * (float)a[0], s * (float)a[1], s * (float)a[2], s * (float)w};
    firn_vec3 x = firn_rotate(q, firn_vec(1.0f, 0.0f, 0.0f));
    firn_vec3 y = firn_rotate(q, firn_vec(0.0f, 1.0f, 0.0f));
    firn_vec3 z = firn_cross(x, y);
    firn_mat3 turn = {{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}};
    return turn;
}

static chance chance_of(uint32_t id, int seed)
{
    const int64_t key[3] = {id, 0, 0};
    double a[3], b[3];
    uint64_t hash = firn_lattice_hash(key, (uint64_t)seed);
    firn_hash_offsets(hash, a);
    firn_hash_offsets(hash * 0x9E3779B97F4A7C15u >> 1, b);
    float t = (float)b[1] + 0.5f;
    return (chance){turn_of(a, b[0]), (int)((b[2] + 0.5) * FIRN_FINE_WAYS), 0.2f + 2.4f * t * t};
}

static float sparkle_of(uint32_t id)
{
    uint32_t h = id ^ id >> 16;
    h *= 0x7FEB352Du;
    h ^= h >> 15;
    h *= 0x846CA68Bu;
    h ^= h >> 16;
    return (float)(h >> 8) * (1.0f / 16777216.0f);
}

static double volume_at_rest(const frame *f, size_t i)
{
    double r = (double)f->parents->radius[i];
    return r > 0.0 ? 4.18879020478639098 * r * r * r : f->typical; // 4/3 pi
}

/// The cell of a particle and the snow around it.
typedef struct cell {
    firn_mat3 matrix; // from the pattern to the world
    int way;          // of the pattern to come apart
    float looseness;  // 0: dense, 1: alone
    float growth;     // of the cell, beyond its own size
    float scatter;    // of a particle that is alone, in the same unit
    float density;    // kg/m^3, of the particle itself
} cell;

// Share of what makes snow dense that others may have where a particle counts as alone.
static const float company = 0.1f;

static cell cell_of(const frame *f, size_t i, size_t *leaf)
{
    const firn_fine_parents *from = f->parents;
    double rest = volume_at_rest(f, i), now = rest * (double)from->jp[i];
    chance random = chance_of(from->id[i], f->def->seed);
    cell c = {.matrix = random.turn, .way = random.way};
    float edge = cbrtf((float)now);
    if (from->deformation != NULL) {
        c.matrix = firn_mat_mul(from->deformation[i], c.matrix);
        now *= fmax((double)firn_mat_det(from->deformation[i]), 1e-3);
    }
    for (int k = 0; k < 9; k++)
        c.matrix.m[k] *= edge;
    c.density = from->mass[i] / (float)now;
    around snow = density_at(&f->seen, from->position[i], from->mass[i], leaf);
    float limit = f->def->loose * from->mass[i] / (float)rest;
    if (snow.all < limit) {
        float space = cbrtf(c.density / fmaxf(snow.all, 1e-6f * c.density));
        float alone = fmaxf(0.0f, 1.0f - snow.others / (company * limit));
        c.looseness = 1.0f - snow.all / limit;
        c.growth =
            random.brittle * c.looseness * (fmaxf(fminf(space, f->def->spread), 1.0f) - 1.0f);
        c.scatter = alone * f->def->scatter / ((float)FIRN_FINE_REACH * edge);
    }
    return c;
}

static void scatter(const frame *f, size_t i, size_t *leaf)
{
    const firn_fine_parents *from = f->parents;
    const firn_fine_grains *to = f->grains;
    const firn_fine_pattern *p = &f->pattern;
    const int count = f->def->children;
    const cell c = cell_of(f, i, leaf);
    firn_vec3 x = from->position[i], v = from->velocity[i];
    // v = a u + (1 - a)(u + f dt / m), with the drag of air integrated exactly for f dt / m.
    firn_vec3 air = firn_scale(c.looseness, firn_sub(f->def->wind, v));
    size_t first = i * (size_t)count;
    for (int k = 0; k < count; k++) {
        const float *in = p->offset[k], *apart = p->apart[c.way][k];
        const float own = 1.0f + c.scatter;
        firn_vec3 offset =
            firn_vec(own * in[0] + c.growth * apart[0], own * in[1] + c.growth * apart[1],
                     own * in[2] + c.growth * apart[2]);
        firn_vec3 at = firn_add(x, firn_mul(c.matrix, offset));
        to->position[first + (size_t)k] = firn_add_scaled(at, p->trail[k], air);
        to->velocity[first + (size_t)k] = firn_add_scaled(v, p->lag[k], air);
    }
    for (int k = 0; k < count; k++) {
        uint32_t id = from->id[i] * (uint32_t)count + (uint32_t)k;
        to->mass[first + (size_t)k] = from->mass[i] * p->share[k];
        to->radius[first + (size_t)k] = from->radius[i] * p->radius[k];
        to->density[first + (size_t)k] = c.density;
        to->id[first + (size_t)k] = id;
        to->sparkle[first + (size_t)k] = sparkle_of(id);
    }
}

// --- Bad input -----------------------------------------------------------------------------------

static firn_result check_parent(const firn_fine_def *def, const firn_fine_parents *from, size_t i,
                                firn_error *error)
{
    firn_vec3 x = from->position[i];
    const float limit = 1e5f;
    if (!(fabsf(x.x) < limit && fabsf(x.y) < limit && fabsf(x.z) < limit))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "particle %zu is at (%g, %g, %g) m; it must be within %g m of the origin",
                         i, (double)x.x, (double)x.y, (double)x.z, (double)limit);
    if (!(isfinite(from->mass[i]) && from->mass[i] > 0.0f))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "particle %zu has a mass of %g kg; it must be above 0", i,
                         (double)from->mass[i]);
    if (!firn_vec_is_finite(from->velocity[i]))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "particle %zu has a velocity that is not finite",
                         i);
    if (!(isfinite(from->jp[i]) && from->jp[i] > 0.0f))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "particle %zu has a plastic volume ratio of %g; it must be above 0", i,
                         (double)from->jp[i]);
    if (!(isfinite(from->radius[i]) && from->radius[i] >= 0.0f && from->radius[i] < 1e3f))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "particle %zu has a radius of %g m; it must be 0 to 1000", i,
                         (double)from->radius[i]);
    if (from->id[i] > UINT32_MAX / (uint32_t)def->children - 1u)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "particle %zu has the id %u; with %d children of each, ids end at %u; use "
                         "fewer children",
                         i, from->id[i], def->children, UINT32_MAX / (uint32_t)def->children - 1u);
    for (int k = 0; from->deformation != NULL && k < 9; k++)
        if (!isfinite(from->deformation[i].m[k]))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "particle %zu has a deformation that is not finite", i);
    return FIRN_OK;
}

// Mean volume at rest of the particles that know theirs.
static firn_result find_typical(frame *f, firn_error *error)
{
    const firn_fine_parents *from = f->parents;
    double sum = 0.0, known = 0.0;
    for (size_t i = 0; i < from->count; i++) {
        if (from->radius[i] > 0.0f) {
            sum += volume_at_rest(f, i);
            known += 1.0;
        }
    }
    double edge = (double)from->cell_size;
    f->typical = known > 0.0 ? sum / known : 0.125 * edge * edge * edge;
    return f->typical > 0.0
               ? FIRN_OK
               : firn_fail(error, FIRN_ERR_ARGUMENT,
                           "no particle has a radius above 0, and the cell of their simulation is "
                           "not known; give its cell_size");
}

static firn_result check(const firn_fine_def *def, const firn_fine_parents *from, firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_fine_params(), def, "fine", error));
    for (size_t i = 0; i < from->count; i++)
        FIRN_TRY(check_parent(def, from, i, error));
    return FIRN_OK;
}

firn_result firn_fine_make(const firn_fine_def *def, const firn_fine_parents *parents,
                           const firn_fine_grains *grains, firn_error *error)
{
    FIRN_TRY(check(def, parents, error));
    if (parents->count == 0)
        return FIRN_OK;
    frame f = {.def = def, .parents = parents, .grains = grains};
    FIRN_TRY(find_typical(&f, error));
    firn_fine_pattern_make(def, &f.pattern);
    firn_result result = seen_make(parents, 2.0 * cbrt(f.typical), &f.seen, error);
    if (result == FIRN_OK) {
        const size_t portion = 256, portions = (parents->count + portion - 1) / portion;
#pragma omp parallel for schedule(static) num_threads(firn_thread_count(def->thread_count))
        for (size_t n = 0; n < portions; n++) {
            size_t leaf = 0, end = (n + 1) * portion;
            for (size_t i = n * portion; i < end && i < parents->count; i++)
                scatter(&f, i, &leaf);
        }
    }
    seen_free(&f.seen);
    return result;
}
