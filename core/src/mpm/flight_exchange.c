/// Who flies outside the grid and who does not, method.md section 11: found anew before each sort,
/// from the state alone.
///
/// To the grid comes a grain that may meet a body of snow before the next look around, one of three
/// that lie in a cell, and one that lies where awake snow or a moving collider comes near. What
/// others on the grid are no body of snow, such as flakes in the air, it flies past: or one would
/// draw all of a cloud to the grid. From the grid goes a particle that has no other within a cell,
/// twice the distance of particles in packed snow, and that has left all bodies of snow and all
/// colliders behind, farther than what brings it back: 2 cells and 3 for the quadratic kernel.
///
/// Cells with bodies of snow are marked in a word of 64 bits for each block, beside the keys of the
/// blocks, which rise: grains look them up. An exchange is prepared before the sort, with all
/// memory that it needs: grains that come are copied behind the particles, as new ones; particles
/// that go are copied behind the grains, and put where the sort takes them for lost. If the sort
/// fails both are undone.
#include "contact/collider_state.h"
#include "sim_state.h"

#include <math.h>
#include <string.h>

enum {
    PACK = 3,       // grains in a cell that are snow
    LONE = 8,       // particles of a block, at most, that may go
    STRIDE = 8,     // cells of a way that are looked around at once
    TABLE_SPARE = 2 // entries for each grain that lies
};

// Share of a cell that is filled by a body of snow.
static const float BODY = 0.3f;

// How the time from look to look is found: as long as the last one, and a little more, s.
static const double FIRST_PROMISE = 5e-3, LONGER = 1.25, LONGEST = 0.1;

/// The cells of a block that hold a body of snow.
typedef struct cell_bits {
    uint64_t heavy;
    bool awake;
} cell_bits;

/// What everybody looks at.
typedef struct outlook {
    firn_sim *sim;
    firn_store *store;
    const uint64_t *keys; // of the blocks
    const cell_bits *cells;
    size_t block_count;
    firn_coord low, high; // blocks, around all
    float ahead;          // s, until the next look
    bool bodies;          // there are some
    int reach;            // cells: particles closer than this share nodes
    uint64_t *table;      // of what lies in the cells, by their hashes
    size_t mask;
} outlook;

// --- Cells with bodies of snow
// ------------------------------------------------------------------------

static int cell_along(float u) { return u >= 3.0f ? 3 : u >= 1.0f ? (u >= 2.0f ? 2 : 1) : 0; }

static int cell_of(float x, float y, float z)
{
    return cell_along(x) << 4 | cell_along(y) << 2 | cell_along(z);
}

static cell_bits bits_of(const firn_sim *sim, const firn_block *block)
{
    const firn_particles *p = &sim->particles;
    const float *x = firn_channel_of(p, FIRN_U), *y = firn_channel_of(p, FIRN_U + 1),
                *z = firn_channel_of(p, FIRN_U + 2);
    const float *mass = firn_channel_of(p, FIRN_MASS);
    const uint8_t *material = p->material.data;
    float fill[FIRN_BLOCK_NODES] = {0.0f}, h = sim->def.cell_size, body = BODY * h * h * h;
    cell_bits bits = {0, !firn_sim_may_sleep(sim) || block->rest < sim->def.sleep_time};
    for (size_t i = block->begin; i < block->end; i++) {
        int cell = cell_of(x[i], y[i], z[i]);
        fill[cell] += mass[i] / sim->materials.density[material[i]];
        bits.heavy |= (uint64_t)(fill[cell] >= body) << cell;
    }
    return bits;
}

static firn_result look_around(outlook *o, firn_error *error)
{
    firn_sim *sim = o->sim;
    firn_store *s = o->store;
    size_t count = sim->grid.block_count;
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    FIRN_TRY(firn_array_claim(&sim->budget, &s->keys, count + 1, sizeof(uint64_t), error));
    FIRN_TRY(firn_array_claim(&sim->budget, &s->cells, count + 1, sizeof(cell_bits), error));
    uint64_t *keys = s->keys.data;
    cell_bits *cells = s->cells.data;
#pragma omp parallel for schedule(static) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        keys[b] = firn_block_key(blocks[b].coord);
        cells[b] = bits_of(sim, &blocks[b]);
    }
    o->keys = keys;
    o->cells = cells;
    o->block_count = count;
    o->low = (firn_coord){INT32_MAX, INT32_MAX, INT32_MAX};
    o->high = (firn_coord){INT32_MIN, INT32_MIN, INT32_MIN};
    for (size_t b = 0; b < count; b++) {
        firn_coord c = blocks[b].coord;
        o->low.x = c.x < o->low.x ? c.x : o->low.x;
        o->low.y = c.y < o->low.y ? c.y : o->low.y;
        o->low.z = c.z < o->low.z ? c.z : o->low.z;
        o->high.x = c.x > o->high.x ? c.x : o->high.x;
        o->high.y = c.y > o->high.y ? c.y : o->high.y;
        o->high.z = c.z > o->high.z ? c.z : o->high.z;
    }
    return FIRN_OK;
}

// The first block whose key is not below this one.
static size_t first_from(const outlook *o, uint64_t key)
{
    size_t low = 0, high = o->block_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/// A box of cells, counted from the world's origin, both ends in it.
typedef struct cell_box {
    int64_t low[3], high[3];
} cell_box;

static int64_t block_at(int64_t cell) { return cell >= 0 ? cell / 4 : -((3 - cell) / 4); }

// The bits of those cells of a block that lie in the box.
static uint64_t part_of(const cell_box *box, firn_coord c)
{
    const int64_t corner[3] = {4 * (int64_t)c.x, 4 * (int64_t)c.y, 4 * (int64_t)c.z};
    uint64_t along[3];
    for (int axis = 0; axis < 3; axis++) {
        along[axis] = 0;
        for (int k = 0; k < 4; k++)
            along[axis] |= (uint64_t)(corner[axis] + k >= box->low[axis] &&
                                      corner[axis] + k <= box->high[axis])
                           << k;
    }
    uint64_t bits = 0;
    for (int x = 0; x < 4; x++)
        for (int y = 0; y < 4; y++)
            if ((along[0] >> x & 1) != 0 && (along[1] >> y & 1) != 0)
                bits |= along[2] << (16 * x + 4 * y);
    return bits;
}

static int32_t most32(int64_t a, int32_t b) { return a > b ? (int32_t)a : b; }
static int32_t least32(int64_t a, int32_t b) { return a < b ? (int32_t)a : b; }

/// The blocks that a box of cells meets, one after the other.
typedef struct walk {
    firn_coord low, high;
    int32_t x, y;
    size_t next;   // block, of the column at work
    uint64_t last; // key, of the column
} walk;

static void begin_column(const outlook *o, walk *w)
{
    // Blocks along z follow each other.
    w->next = first_from(o, firn_block_key((firn_coord){w->x, w->y, w->low.z}));
    w->last = firn_block_key((firn_coord){w->x, w->y, w->high.z});
}

static walk begin_walk(const outlook *o, const cell_box *box)
{
    walk w = {.low = {most32(block_at(box->low[0]), o->low.x),
                      most32(block_at(box->low[1]), o->low.y),
                      most32(block_at(box->low[2]), o->low.z)},
              .high = {least32(block_at(box->high[0]), o->high.x),
                       least32(block_at(box->high[1]), o->high.y),
                       least32(block_at(box->high[2]), o->high.z)}};
    w.x = w.low.x;
    w.y = w.low.y;
    if (w.low.y > w.high.y || w.low.z > w.high.z)
        w.x = w.high.x + 1; // there are none
    if (w.x <= w.high.x)
        begin_column(o, &w);
    return w;
}

static bool next_block(const outlook *o, walk *w, size_t *b)
{
    while (w->x <= w->high.x) {
        if (w->next < o->block_count && o->keys[w->next] <= w->last) {
            *b = w->next++;
            return true;
        }
        if (w->y < w->high.y) {
            w->y++;
        } else {
            w->y = w->low.y;
            w->x++;
        }
        if (w->x <= w->high.x)
            begin_column(o, w);
    }
    return false;
}

// Whether a cell of the box holds a body of snow, or one that is awake.
static bool meets_body(const outlook *o, const cell_box *box, bool awake)
{
    size_t b;
    for (walk w = begin_walk(o, box); next_block(o, &w, &b);)
        if (o->cells[b].heavy != 0 && (!awake || o->cells[b].awake) &&
            (o->cells[b].heavy & part_of(box, firn_block_coord(o->keys[b]))) != 0)
            return true;
    return false;
}

// The cells around those of a way, as far as reach on all sides.
static cell_box box_around(const double from[3], const double to[3], int reach)
{
    cell_box box;
    for (int axis = 0; axis < 3; axis++) {
        double least = fmin(from[axis], to[axis]), most = fmax(from[axis], to[axis]);
        box.low[axis] = (int64_t)floor(least) - reach;
        box.high[axis] = (int64_t)floor(most) + reach;
    }
    return box;
}

// A position in cells from the world's origin.
static void cells_of(firn_coord c, const float u[3], double at[3])
{
    const int32_t corner[3] = {c.x, c.y, c.z};
    for (int axis = 0; axis < 3; axis++)
        at[axis] = 4.0 * corner[axis] + (double)u[axis];
}

static firn_vec3 world_of(const firn_sim *sim, const double at[3])
{
    double h = sim->def.cell_size, shift = firn_grid_shift(&sim->grid);
    return firn_vec((float)(h * (at[0] + shift)), (float)(h * (at[1] + shift)),
                    (float)(h * (at[2] + shift)));
}

// --- Who comes -----------------------------------------------------------------------------------

static uint64_t hash_of_cell(const firn_store *s, size_t i)
{
    const float *u[3] = {firn_store_at(s, FIRN_STORE_U), firn_store_at(s, FIRN_STORE_U + 1),
                         firn_store_at(s, FIRN_STORE_U + 2)};
    const uint64_t name[2] = {((const uint64_t *)s->key.data)[i],
                              (uint64_t)cell_of(u[0][i], u[1][i], u[2][i])};
    return firn_hash64(name, sizeof name, 0) | 4; // never 0 where the count is not
}

// The entry of a cell; its last two bits count what lies there, up to PACK.
static uint64_t *entry_of(const outlook *o, uint64_t hash)
{
    uint64_t name = hash & ~(uint64_t)3;
    size_t at = (size_t)(hash >> 2) & o->mask;
    while (o->table[at] != 0 && (o->table[at] & ~(uint64_t)3) != name)
        at = (at + 1) & o->mask;
    return &o->table[at];
}

static firn_result count_in_cells(outlook *o, firn_error *error)
{
    firn_store *s = o->store;
    const uint16_t *seat = s->seat.data;
    o->table = NULL;
    if (!s->crowded)
        return FIRN_OK;
    size_t lying = 0, size = 64;
    for (size_t i = 0; i < s->count; i++)
        lying += seat[i] != 0;
    while (size < TABLE_SPARE * lying + 1)
        size *= 2;
    FIRN_TRY(firn_array_claim(&o->sim->budget, &s->lanes, size, sizeof(uint64_t), error));
    o->table = s->lanes.data;
    o->mask = size - 1;
    memset(o->table, 0, size * sizeof(uint64_t));
    for (size_t i = 0; i < s->count; i++) {
        if (seat[i] == 0)
            continue;
        uint64_t hash = hash_of_cell(s, i), *entry = entry_of(o, hash);
        if (*entry == 0)
            *entry = hash & ~(uint64_t)3;
        if ((*entry & 3) < PACK)
            ++*entry;
    }
    return FIRN_OK;
}

// Whether a collider that moves, other than its own, comes near what lies.
static bool is_passed(const outlook *o, size_t i, firn_vec3 x)
{
    const firn_colliders *colliders = &o->sim->colliders;
    int own = ((const uint16_t *)o->store->seat.data)[i] - 1;
    float radius = (float)o->reach * o->sim->def.cell_size;
    for (int slot = 0; slot < colliders->slot_count; slot++)
        if (slot != own && firn_collider_comes_near(colliders, slot, x, radius))
            return true;
    return false;
}

static bool lies_no_longer(const outlook *o, size_t i, const double at[3], bool moving)
{
    const cell_box box = box_around(at, at, o->reach);
    if (o->table != NULL && (*entry_of(o, hash_of_cell(o->store, i)) & 3) == PACK)
        return true;
    return meets_body(o, &box, true) || (moving && is_passed(o, i, world_of(o->sim, at)));
}

// Whether a grain in the air may come close to snow before the next look.
static bool meets_snow(const outlook *o, size_t i, const double at[3])
{
    const firn_store *s = o->store;
    double way[3], longest = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        way[axis] =
            (double)(o->ahead * firn_store_at(s, FIRN_STORE_V + axis)[i] / o->sim->def.cell_size);
        longest = fmax(longest, fabs(way[axis]));
    }
    // What a grain gives a body, the body must feel: on the grid it does.
    float reach = o->sim->def.cell_size * ((float)o->reach + 1.75f * (float)longest);
    if (o->bodies && firn_colliders_bodies_near(&o->sim->colliders, world_of(o->sim, at), reach))
        return true;
    int pieces = longest < 1e4 ? 1 + (int)(longest / STRIDE) : 1;
    for (int k = 0; k < pieces; k++) {
        double from[3], to[3];
        for (int axis = 0; axis < 3; axis++) {
            from[axis] = at[axis] + way[axis] * k / pieces;
            to[axis] = at[axis] + way[axis] * (k + 1) / pieces;
        }
        const cell_box box = box_around(from, to, o->reach);
        if (meets_body(o, &box, false))
            return true;
    }
    return false;
}

static void mark_those_that_come(const outlook *o, bool moving)
{
    const firn_store *s = o->store;
    uint8_t *marks = s->marks.data;
    const uint64_t *keys = s->key.data;
    const uint16_t *seat = s->seat.data;
    const float *u[3] = {firn_store_at(s, FIRN_STORE_U), firn_store_at(s, FIRN_STORE_U + 1),
                         firn_store_at(s, FIRN_STORE_U + 2)};
#pragma omp parallel for schedule(static) num_threads(o->sim->thread_count)
    for (size_t i = 0; i < s->count; i++) {
        double at[3];
        cells_of(firn_block_coord(keys[i]), (const float[3]){u[0][i], u[1][i], u[2][i]}, at);
        bool comes = seat[i] != 0 ? lies_no_longer(o, i, at, moving) : meets_snow(o, i, at);
        marks[i] = comes ? FIRN_GRAIN_GOES : FIRN_GRAIN_STAYS;
    }
}

// Snow that comes down loose, where the shot has such snow.
static uint8_t landing_material(const firn_sim *sim, uint8_t material)
{
    for (int i = 0; i < sim->materials.count; i++)
        if (sim->bonds[i].loose && sim->bonds[i].of == material)
            return (uint8_t)i;
    return material;
}

// Column c of the grains that come, behind the particles.
static void bring_column(firn_sim *sim, int row, int k)
{
    const firn_channel_set *set = &sim->particles.channels;
    const firn_store *s = &sim->store;
    int column = set->column[row] + k, own = firn_store_column_of(set, column);
    float *to = firn_channel_of(&sim->particles, column) + sim->particles.count;
    float initial = firn_channel_initial(firn_channel_set_row(set, row), k);
    const uint8_t *marks = s->marks.data;
    size_t at = 0;
    for (size_t i = 0; i < s->count; i++)
        if (marks[i] == FIRN_GRAIN_GOES)
            memcpy(&to[at++], own >= 0 ? &firn_store_at(s, own)[i] : &initial, sizeof(float));
}

static void bring(firn_sim *sim)
{
    firn_particles *p = &sim->particles;
    const firn_store *s = &sim->store;
    const firn_channel_set *set = &p->channels;
    const uint8_t *marks = s->marks.data, *material = s->material.data;
    size_t at = p->count, waiting = p->count - sim->order.sorted_count;
#pragma omp parallel for schedule(dynamic) num_threads(sim->thread_count)
    for (int row = 0; row < set->row_count; row++)
        for (int k = 0; k < firn_channel_set_row(set, row)->components; k++)
            if (set->column[row] >= 0)
                bring_column(sim, row, k);
    for (size_t i = 0; i < s->count; i++) {
        if (marks[i] != FIRN_GRAIN_GOES)
            continue;
        ((uint8_t *)p->material.data)[at] = landing_material(sim, material[i]);
        ((uint64_t *)sim->emission.new_keys.data)[waiting++] = ((const uint64_t *)s->key.data)[i];
        sim->volumes_missing |= !(firn_store_at(s, FIRN_STORE_VOLUME)[i] > 0.0f);
        at++;
    }
    p->count = at;
}

// --- Who goes ------------------------------------------------------------------------------------

// Elastic matter has a shape to go back to.
static bool may_fly(const firn_sim *sim, size_t p)
{
    uint8_t material = ((const uint8_t *)sim->particles.material.data)[p];
    return sim->materials.model[material] != FIRN_MODEL_ELASTIC &&
           firn_channel_of(&sim->particles, FIRN_VOLUME)[p] > 0.0f;
}

// Whether another particle is closer than a cell.
static bool has_company(const outlook *o, const cell_box *box, size_t p, const double at[3])
{
    const firn_block *blocks = firn_grid_blocks(&o->sim->grid);
    const float *u[3];
    for (int axis = 0; axis < 3; axis++)
        u[axis] = firn_channel_of(&o->sim->particles, FIRN_U + axis);
    size_t b;
    for (walk w = begin_walk(o, box); next_block(o, &w, &b);)
        for (size_t q = blocks[b].begin; q < blocks[b].end; q++) {
            double other[3];
            cells_of(blocks[b].coord, (const float[3]){u[0][q], u[1][q], u[2][q]}, other);
            double dx = other[0] - at[0], dy = other[1] - at[1], dz = other[2] - at[2];
            if (q != p && dx * dx + dy * dy + dz * dz < 1.0)
                return true;
        }
    return false;
}

static bool is_alone(const outlook *o, const firn_block *block, size_t p)
{
    const firn_sim *sim = o->sim;
    float u[3];
    double at[3];
    for (int axis = 0; axis < 3; axis++) {
        u[axis] = firn_channel_of(&sim->particles, FIRN_U + axis)[p];
        if (!(fabsf(u[axis]) < 64.0f)) // to be looked at by the sort
            return false;
    }
    cells_of(block->coord, u, at);
    // Particles may be a cell out of the block that they are listed in.
    const cell_box around = box_around(at, at, o->reach + 1), close = box_around(at, at, 2);
    if (!may_fly(sim, p) || meets_body(o, &around, false) || has_company(o, &close, p, at))
        return false;
    firn_near near = {.index = NULL};
    firn_colliders_near(&sim->colliders, NULL, world_of(sim, at),
                        (float)(o->reach + 1) * sim->def.cell_size, &near);
    return near.count == 0;
}

// Bit k: particle number k of the block goes.
static uint8_t lone_ones(const outlook *o, const firn_block *block)
{
    uint8_t bits = 0;
    if (block->end - block->begin > LONE || (firn_sim_may_sleep(o->sim) && block->rest > 0.0f))
        return 0;
    for (size_t p = block->begin; p < block->end; p++)
        bits = (uint8_t)(bits | is_alone(o, block, p) << (p - block->begin));
    return bits;
}

static firn_result find_those_that_go(const outlook *o, firn_error *error)
{
    firn_sim *sim = o->sim;
    size_t count = sim->grid.block_count;
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    FIRN_TRY(
        firn_array_claim(&sim->budget, &sim->store.leaving, count + 1, sizeof(uint8_t), error));
    uint8_t *bits = sim->store.leaving.data;
    size_t going = 0;
#pragma omp parallel for schedule(dynamic, 256) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        bits[b] = lone_ones(o, &blocks[b]);
    for (size_t b = 0; b < count; b++)
        for (size_t k = 0; k < LONE; k++)
            going += bits[b] >> k & 1;
    sim->store.leaving_count = going;
    return FIRN_OK;
}

/// Called with a particle that goes, its block and its place behind the grains.
typedef void leaver(firn_sim *sim, const firn_block *block, size_t p, size_t to);

static void for_leavers(firn_sim *sim, leaver *call)
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    const uint8_t *bits = sim->store.leaving.data;
    size_t to = sim->store.count;
    for (size_t b = 0; sim->store.leaving_count > 0 && b < sim->grid.block_count; b++)
        for (size_t k = 0; k < LONE; k++)
            if ((bits[b] >> k & 1) != 0)
                call(sim, &blocks[b], blocks[b].begin + k, to++);
}

static void take_one(firn_sim *sim, const firn_block *block, size_t p, size_t to)
{
    firn_store *s = &sim->store;
    const firn_channel_set *set = &sim->particles.channels;
    for (int c = 0; c < set->column_count; c++) {
        int own = firn_store_column_of(set, c);
        if (own >= 0)
            memcpy(&firn_store_at(s, own)[to], &firn_channel_of(&sim->particles, c)[p],
                   sizeof(float));
    }
    int32_t at[3] = {block->coord.x, block->coord.y, block->coord.z};
    for (int axis = 0; axis < 3; axis++) {
        float *u = &firn_store_at(s, FIRN_STORE_U + axis)[to], blocks = floorf(0.25f * *u);
        *u -= 4.0f * blocks;
        at[axis] += (int32_t)blocks + (*u >= 4.0f); // by rounding
        *u = *u >= 4.0f ? 0.0f : *u;
    }
    ((uint64_t *)s->key.data)[to] = firn_block_key((firn_coord){at[0], at[1], at[2]});
    ((uint8_t *)s->material.data)[to] = ((const uint8_t *)sim->particles.material.data)[p];
    ((uint16_t *)s->seat.data)[to] = 0;
    ((uint8_t *)s->marks.data)[to] = FIRN_GRAIN_STAYS;
    // Nowhere, for the sort.
    ((float *)s->clearance.data)[to] = firn_channel_of(&sim->particles, FIRN_U)[p];
    firn_channel_of(&sim->particles, FIRN_U)[p] = INFINITY;
}

static void give_back(firn_sim *sim, const firn_block *block, size_t p, size_t to)
{
    (void)block;
    firn_channel_of(&sim->particles, FIRN_U)[p] = ((const float *)sim->store.clearance.data)[to];
}

// --- The exchange --------------------------------------------------------------------------------

void firn_flight_promise(firn_sim *sim)
{
    firn_store *s = &sim->store;
    double span = sim->time - s->time;
    if (span > 0.0 && (span >= s->promise || firn_order_is_old(&sim->order)))
        s->promise = fmin(LONGER * span, LONGEST);
    if (!(s->promise > 0.0))
        s->promise = FIRST_PROMISE;
}

static firn_result choose(outlook *o, firn_error *error)
{
    firn_sim *sim = o->sim;
    firn_store *s = o->store;
    bool moving;
    FIRN_TRY(look_around(o, error));
    FIRN_TRY(count_in_cells(o, error));
    if (sim->def.free_flight == FIRN_FLIGHT_ALL)
        FIRN_TRY(find_those_that_go(o, error));
    firn_colliders_acting(&sim->colliders, &moving);
    if (s->count > 0)
        mark_those_that_come(o, moving);
    const uint8_t *marks = s->marks.data;
    for (size_t i = 0; i < s->count; i++)
        s->entering_count += marks[i] == FIRN_GRAIN_GOES;
    size_t waiting = sim->particles.count - sim->order.sorted_count;
    FIRN_TRY(
        firn_particles_reserve(&sim->particles, sim->particles.count + s->entering_count, error));
    FIRN_TRY(firn_array_reserve(&sim->budget, &sim->emission.new_keys, waiting + s->entering_count,
                                sizeof(uint64_t), error));
    return firn_store_reserve(sim, s->count + s->leaving_count, error);
}

firn_result firn_flight_exchange(firn_sim *sim, double left, firn_error *error)
{
    firn_store *s = &sim->store;
    s->entering_count = s->leaving_count = 0;
    if (s->count == 0 && sim->def.free_flight != FIRN_FLIGHT_ALL)
        return FIRN_OK;
    outlook o = {.sim = sim,
                 .store = s,
                 .ahead = (float)fmin(s->promise, left),
                 .bodies = sim->bodies.slot_count > 0,
                 .reach = sim->grid.order - 1};
    // Colliders as they are going to move until then.
    double was = sim->colliders.time;
    firn_colliders_prepare(&sim->colliders, sim->time, o.ahead);
    firn_result result = choose(&o, error);
    sim->colliders.time = was;
    if (result != FIRN_OK) {
        s->entering_count = s->leaving_count = 0;
        return result;
    }
    s->crowded = false;
    if (s->leaving_count > 0)
        for_leavers(sim, take_one);
    if (s->entering_count > 0)
        bring(sim);
    return FIRN_OK;
}

void firn_flight_commit(firn_sim *sim)
{
    firn_store *s = &sim->store;
    if (s->entering_count + s->leaving_count == 0)
        return;
    for (size_t i = s->count; i < s->count + s->leaving_count; i++)
        ((float *)s->clearance.data)[i] = 0.0f;
    s->count += s->leaving_count;
    if (s->entering_count > 0)
        firn_store_compact(sim);
    s->entering_count = s->leaving_count = 0;
}

void firn_flight_undo(firn_sim *sim)
{
    firn_store *s = &sim->store;
    if (s->leaving_count > 0)
        for_leavers(sim, give_back);
    sim->particles.count -= s->entering_count;
    s->entering_count = s->leaving_count = 0;
    s->crowded = true;
}
