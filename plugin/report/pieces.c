#include "pieces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Bonds reach this many spacings, the edge of the mean cube of a particle: some ten neighbors.
/// Particles that a jitter has put nearer than the least have no bond: a hair would break it.
#define REACH 1.5
#define LEAST 0.5

/// A particle joins what is around it when at least this share of its bonds is whole: a single bond
/// that has come to its old length by chance joins nothing. Particles on the edges of a piece have
/// lost more than that; they belong to it when they have a whole bond with one that joins.
#define CORE_SHARE 0.4

firn_pieces_def firn_pieces_def_default(void)
{
    return (firn_pieces_def){.tolerance = 0.25, .piece = 20e-6, .dust = 5e-6};
}

/// A particle and the cell of the search that it is in.
typedef struct homed {
    uint64_t cell;
    uint32_t particle;
} homed;

typedef struct search {
    const firn_pieces_input *in;
    const firn_pieces_def *def;
    double reach; // m
    double lower[3];
    homed *order;             // by cell
    uint32_t *bonds, *wholes; // of each particle
    uint32_t *parent;         // of the forest of components
    double strength_sum, whole_count;
} search;

enum { CELL_BITS = 21, CELL_MAX = (1 << CELL_BITS) - 1 };

static uint64_t cell_at(const int64_t index[3])
{
    return ((uint64_t)index[0] << (2 * CELL_BITS)) | ((uint64_t)index[1] << CELL_BITS) |
           (uint64_t)index[2];
}

static void cell_of(const search *s, firn_vec3 x, int64_t index[3])
{
    const double at[3] = {(double)x.x, (double)x.y, (double)x.z};
    for (int axis = 0; axis < 3; axis++) {
        double cell = floor((at[axis] - s->lower[axis]) / s->reach);
        index[axis] = cell < CELL_MAX - 1 ? (int64_t)cell + 1 : CELL_MAX;
    }
}

static int compare_homes(const void *a, const void *b)
{
    const homed *x = a, *y = b;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    return x->particle < y->particle ? -1 : x->particle > y->particle;
}

static int compare_sizes(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// First entry of a cell, or where it would be.
static size_t first_in(const search *s, uint64_t cell)
{
    size_t low = 0, high = s->in->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->order[middle].cell < cell)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double distance(firn_vec3 a, firn_vec3 b)
{
    double x = (double)a.x - (double)b.x, y = (double)a.y - (double)b.y,
           z = (double)a.z - (double)b.z;
    return sqrt(x * x + y * y + z * z);
}

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

typedef void on_bond(search *s, uint32_t a, uint32_t b, bool whole);

static void count_bond(search *s, uint32_t a, uint32_t b, bool whole)
{
    s->bonds[a]++;
    s->bonds[b]++;
    if (!whole)
        return;
    s->wholes[a]++;
    s->wholes[b]++;
    s->whole_count += 1.0;
    if (s->in->strength != NULL)
        s->strength_sum += fmin((double)s->in->strength[a], (double)s->in->strength[b]);
}

static bool is_core(const search *s, uint32_t i)
{
    return s->bonds[i] > 0 && (double)s->wholes[i] >= CORE_SHARE * (double)s->bonds[i];
}

static void join_bond(search *s, uint32_t a, uint32_t b, bool whole)
{
    if (!whole || !is_core(s, a) || !is_core(s, b))
        return;
    uint32_t i = root_of(s->parent, a), k = root_of(s->parent, b);
    if (i < k)
        s->parent[k] = i;
    else
        s->parent[i] = k;
}

static void attach_bond(search *s, uint32_t a, uint32_t b, bool whole)
{
    if (!whole || is_core(s, a) == is_core(s, b))
        return;
    uint32_t core = is_core(s, a) ? a : b, edge = core == a ? b : a;
    if (s->parent[edge] == edge)
        s->parent[edge] = root_of(s->parent, core);
}

static void try_bond(search *s, uint32_t a, uint32_t b, on_bond *body)
{
    double before = distance(s->in->before[a], s->in->before[b]);
    if (before > s->reach || before < s->reach * (LEAST / REACH))
        return;
    double after = distance(s->in->after[a], s->in->after[b]);
    body(s, a, b, fabs(after - before) < s->def->tolerance * before);
}

// Every bond once: with particles of the own cell behind it, and of the cells that come later.
static void for_bonds(search *s, on_bond *body)
{
    for (size_t i = 0; i < s->in->count; i++) {
        uint32_t a = s->order[i].particle;
        int64_t home[3];
        cell_of(s, s->in->before[a], home);
        for (int n = 0; n < 9; n++) {
            int64_t row[3] = {home[0] + n / 3 - 1, home[1] + n % 3 - 1, home[2] - 1};
            uint64_t low = cell_at(row), high = low + 2;
            if (high < s->order[i].cell)
                continue;
            size_t k = low <= s->order[i].cell ? i + 1 : first_in(s, low);
            for (; k < s->in->count && s->order[k].cell <= high; k++)
                try_bond(s, a, s->order[k].particle, body);
        }
    }
}

static double spacing_of(const firn_pieces_input *in)
{
    double volume = 0.0;
    for (size_t i = 0; i < in->count; i++)
        volume += (double)in->volume[i];
    return cbrt(volume / (double)in->count);
}

static void put_in_order(search *s)
{
    for (int axis = 0; axis < 3; axis++)
        s->lower[axis] = INFINITY;
    for (size_t i = 0; i < s->in->count; i++) {
        firn_vec3 x = s->in->before[i];
        s->lower[0] = fmin(s->lower[0], (double)x.x);
        s->lower[1] = fmin(s->lower[1], (double)x.y);
        s->lower[2] = fmin(s->lower[2], (double)x.z);
    }
    for (size_t i = 0; i < s->in->count; i++) {
        int64_t home[3];
        cell_of(s, s->in->before[i], home);
        s->order[i] = (homed){cell_at(home), (uint32_t)i};
    }
    qsort(s->order, s->in->count, sizeof *s->order, compare_homes);
}

// Volumes of the components, shares and sizes.
static firn_result add_up(search *s, firn_pieces *pieces, firn_error *error)
{
    size_t count = s->in->count;
    double *size = firn_alloc_zero(count * sizeof *size), all = 0.0;
    if (size == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot size %zu pieces", count);
    for (size_t i = 0; i < count; i++) {
        size[root_of(s->parent, (uint32_t)i)] += (double)s->in->volume[i];
        all += (double)s->in->volume[i];
    }
    size_t kept = 0;
    double most = 0.0;
    for (size_t i = 0; i < count; i++) {
        double own = size[i];
        most = fmax(most, own);
        if (own > s->def->piece) {
            pieces->pieces += own / all;
            size[kept++] = own;
        } else if (own >= s->def->dust) {
            pieces->crumbs += own / all;
        } else {
            pieces->dust += own / all;
        }
    }
    qsort(size, kept, sizeof *size, compare_sizes);
    pieces->largest = most / all;
    pieces->piece_count = kept;
    pieces->sizes = size;
    return FIRN_OK;
}

static firn_result find(search *s, firn_pieces *pieces, firn_error *error)
{
    size_t count = s->in->count, all = 0;
    put_in_order(s);
    for (size_t i = 0; i < count; i++)
        s->parent[i] = (uint32_t)i;
    for_bonds(s, count_bond);
    for_bonds(s, join_bond);
    for_bonds(s, attach_bond);
    for (size_t i = 0; i < count; i++)
        all += s->bonds[i];
    pieces->bonds = all / 2;
    pieces->whole = all > 0 ? 2.0 * s->whole_count / (double)all : 0.0;
    pieces->strength = s->in->strength != NULL && s->whole_count > 0.0
                           ? s->strength_sum / s->whole_count
                           : (double)NAN;
    return add_up(s, pieces, error);
}

firn_result firn_pieces_find(const firn_pieces_input *input, const firn_pieces_def *def,
                             firn_pieces *pieces, firn_error *error)
{
    size_t count = input->count;
    *pieces = (firn_pieces){.strength = (double)NAN};
    if (count == 0)
        return FIRN_OK;
    if (count > UINT32_MAX)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%zu particles are too many to look for pieces in; measure a part of them",
                         count);
    search s = {.in = input, .def = def, .reach = REACH * spacing_of(input)};
    if (!(s.reach > 0.0 && isfinite(s.reach)))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the particles have no volume, so that nobody knows which are neighbors");
    s.order = firn_alloc(count * sizeof *s.order);
    s.bonds = firn_alloc_zero(count * sizeof *s.bonds);
    s.wholes = firn_alloc_zero(count * sizeof *s.wholes);
    s.parent = firn_alloc(count * sizeof *s.parent);
    firn_result result =
        s.order != NULL && s.bonds != NULL && s.wholes != NULL && s.parent != NULL
            ? find(&s, pieces, error)
            : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot find bonds of %zu particles",
                        count);
    firn_free(s.order);
    firn_free(s.bonds);
    firn_free(s.wholes);
    firn_free(s.parent);
    return result;
}

void firn_pieces_free(firn_pieces *pieces)
{
    firn_free(pieces->sizes);
    *pieces = (firn_pieces){.strength = (double)NAN};
}

double firn_pieces_quantile(const firn_pieces *pieces, double share)
{
    double all = 0.0, sum = 0.0;
    for (size_t i = 0; i < pieces->piece_count; i++)
        all += pieces->sizes[i];
    for (size_t i = 0; i < pieces->piece_count; i++) {
        sum += pieces->sizes[i];
        if (sum >= share * all)
            return pieces->sizes[i];
    }
    return 0.0;
}
