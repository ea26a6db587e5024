#include "tracking.h"

#include <math.h>

#define FAINT 0.1f  // transmittance below which ratio tracking plays roulette
#define THIN 0.5f   // 1/voxel, bound of a block that is crossed as one
#define FLAT 1e-12f // component of a direction that counts as zero

firn_result firn_tracker_open(firn_tracker *tracker, const firn_density_grid *grid,
                              firn_error *error)
{
    *tracker = (firn_tracker){.grid = grid, .strength = 1.0f, .moving_cell = {INT32_MIN, 0, 0}};
    tracker->block = firn_alloc(FIRN_ROOMS * sizeof *tracker->block);
    tracker->rooms = firn_alloc(FIRN_ROOMS * sizeof *tracker->rooms);
    if (tracker->block == NULL || tracker->rooms == NULL) {
        firn_tracker_close(tracker);
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot trace light");
    }
    for (int i = 0; i < FIRN_ROOMS; i++)
        tracker->block[i] = (firn_coord){INT32_MIN, 0, 0};
    return FIRN_OK;
}

void firn_tracker_close(firn_tracker *tracker)
{
    firn_free(tracker->block);
    firn_free(tracker->rooms);
    tracker->block = NULL;
    tracker->rooms = NULL;
}

static inline int32_t floor_int(float x)
{
    int32_t truncated = (int32_t)x;
    return truncated - (x < (float)truncated);
}

static inline float least(float a, float b) { return a < b ? a : b; }
static inline float most(float a, float b) { return a > b ? a : b; }
static inline float unit(float x) { return most(0.0f, least(x, 1.0f)); }

// --- Density -------------------------------------------------------------------------------------

static const int strides[3] = {FIRN_ROOM_EDGE * FIRN_ROOM_EDGE, FIRN_ROOM_EDGE, 1};

// The unpacked block, NULL where there is none.
static inline const firn_room *find_room(firn_tracker *k, int32_t x, int32_t y, int32_t z)
{
    // Blocks that are near each other never share a place.
    int place = (x & 15) << 8 | (y & 15) << 4 | (z & 15);
    firn_coord *block = &k->block[place];
    firn_room *room = &k->rooms[place];
    if (block->x == x && block->y == y && block->z == z)
        return room;
    if (firn_block_find(&k->grid->index, x, y, z) == FIRN_NO_BLOCK)
        return NULL;
    *block = (firn_coord){x, y, z};
    firn_density_unpack(k->grid, x, y, z, room->values);
    return room;
}

static inline const float *cell_of(const firn_room *room, const int32_t at[3])
{
    return room->values + (at[0] & 7) * strides[0] + (at[1] & 7) * strides[1] + (at[2] & 7);
}

static inline float bound_of(const float *c)
{
    float low = most(most(c[0], c[1]), most(c[9], c[10]));
    float high = most(most(c[81], c[82]), most(c[90], c[91]));
    return most(low, high);
}

static inline float density_in(const float *c, const int32_t at[3], firn_vec3 p)
{
    float u = unit(p.x - (float)at[0]), v = unit(p.y - (float)at[1]), w = unit(p.z - (float)at[2]);
    float c00 = c[0] + w * (c[1] - c[0]), c01 = c[9] + w * (c[10] - c[9]);
    float c10 = c[81] + w * (c[82] - c[81]), c11 = c[90] + w * (c[91] - c[90]);
    float low = c00 + v * (c01 - c00), high = c10 + v * (c11 - c10);
    return low + u * (high - low);
}

static firn_vec3 moved_point(firn_tracker *k, firn_vec3 p)
{
    int32_t x = floor_int(p.x), y = floor_int(p.y), z = floor_int(p.z);
    if (x != k->moving_cell[0] || y != k->moving_cell[1] || z != k->moving_cell[2]) {
        k->moving_cell[0] = x;
        k->moving_cell[1] = y;
        k->moving_cell[2] = z;
        firn_motion_cell(k->grid, x, y, z, k->moving_corner);
    }
    const firn_vec3 *c = k->moving_corner;
    float u = p.x - (float)x, v = p.y - (float)y, w = p.z - (float)z;
    firn_vec3 low = firn_lerp(firn_lerp(c[0], c[1], w), firn_lerp(c[2], c[3], w), v);
    firn_vec3 high = firn_lerp(firn_lerp(c[4], c[5], w), firn_lerp(c[6], c[7], w), v);
    return firn_add_scaled(p, -k->time, firn_lerp(low, high, u));
}

float firn_tracker_extinction(firn_tracker *tracker, firn_vec3 point)
{
    if (tracker->grid->motion != NULL)
        point = moved_point(tracker, point);
    const int32_t at[3] = {floor_int(point.x), floor_int(point.y), floor_int(point.z)};
    const firn_room *room = find_room(tracker, at[0] >> 3, at[1] >> 3, at[2] >> 3);
    if (room == NULL)
        return 0.0f;
    return tracker->strength * density_in(cell_of(room, at), at, point);
}

static inline float exponential(firn_random *random)
{
    return -logf(1.0f - firn_random_unit(random));
}

// --- The way through the grid --------------------------------------------------------------------

/// A ray on its way through blocks, and in dense blocks through cells.
typedef struct walk {
    firn_tracker *tracker;
    float from[3], direction[3], inverse[3];
    float t, end;      // voxels along the ray
    int32_t step[3];   // +1 or -1
    int32_t block[3];  // where it is
    float next[3];     // where it crosses to the next block of each axis
    bool fine;         // within a dense block
    int32_t at[3];     // the cell
    float cross[3];    // where it crosses to the next cell of each axis
    const float *cell; // its corners, in an unpacked block
} walk;

/// A point where light may collide: it does with the share extinction / bound.
typedef struct chance {
    float bound, extinction; // 1/voxel
} chance;

static inline firn_vec3 point_of(const walk *w)
{
    return firn_vec(w->from[0] + w->t * w->direction[0], w->from[1] + w->t * w->direction[1],
                    w->from[2] + w->t * w->direction[2]);
}

static inline int nearest(const float crossing[3])
{
    int axis = crossing[0] < crossing[1] ? 0 : 1;
    return crossing[axis] < crossing[2] ? axis : 2;
}

// Moves to where the ray enters the box of the snow; false when it misses.
static bool enter_box(walk *w)
{
    const firn_density_grid *grid = w->tracker->grid;
    for (int axis = 0; axis < 3; axis++) {
        float low = (float)grid->lower[axis], high = (float)grid->upper[axis];
        if (fabsf(w->direction[axis]) < FLAT) {
            if (w->from[axis] < low || w->from[axis] > high)
                return false;
            continue;
        }
        float a = (low - w->from[axis]) * w->inverse[axis],
              b = (high - w->from[axis]) * w->inverse[axis];
        w->t = most(w->t, least(a, b));
        w->end = least(w->end, most(a, b));
    }
    return w->t < w->end;
}

static inline float crossing(const walk *w, int axis, int32_t edge)
{
    return fabsf(w->direction[axis]) < FLAT ? INFINITY
                                            : ((float)edge - w->from[axis]) * w->inverse[axis];
}

static bool start_walk(walk *w)
{
    const firn_density_grid *grid = w->tracker->grid;
    for (int axis = 0; axis < 3; axis++) {
        w->inverse[axis] = 1.0f / w->direction[axis];
        w->step[axis] = w->direction[axis] > 0.0f ? 1 : -1;
    }
    if (grid->value_count == 0 || !enter_box(w))
        return false;
    for (int axis = 0; axis < 3; axis++) {
        int32_t voxel = floor_int(w->from[axis] + w->t * w->direction[axis]);
        voxel = voxel < grid->lower[axis] ? grid->lower[axis] : voxel;
        voxel = voxel >= grid->upper[axis] ? grid->upper[axis] - 1 : voxel;
        w->block[axis] = voxel >> 3;
        w->next[axis] = crossing(w, axis, 8 * (w->block[axis] + (w->step[axis] > 0)));
    }
    return true;
}

static void enter_cells(walk *w, const firn_room *room)
{
    for (int axis = 0; axis < 3; axis++) {
        int32_t first = 8 * w->block[axis];
        int32_t cell = floor_int(w->from[axis] + w->t * w->direction[axis]);
        cell = cell < first ? first : cell > first + 7 ? first + 7 : cell;
        w->at[axis] = cell;
        w->cross[axis] = crossing(w, axis, cell + (w->step[axis] > 0));
    }
    w->cell = cell_of(room, w->at);
    w->fine = true;
}

static void leave_block(walk *w, int axis)
{
    w->block[axis] += w->step[axis];
    w->next[axis] = crossing(w, axis, 8 * (w->block[axis] + (w->step[axis] > 0)));
    w->fine = false;
}

static void leave_cell(walk *w, int axis)
{
    w->at[axis] += w->step[axis];
    if (w->at[axis] >> 3 != w->block[axis]) {
        leave_block(w, axis);
        return;
    }
    w->cross[axis] += fabsf(w->inverse[axis]);
    w->cell += w->step[axis] * strides[axis];
}

// Spends optical depth until `leave`; true when it runs out before.
static inline bool spend(walk *w, float bound, float leave, float *tau)
{
    float depth = bound * (leave - w->t);
    if (depth > *tau) {
        w->t += *tau / bound;
        return true;
    }
    *tau -= depth > 0.0f ? depth : 0.0f;
    w->t = most(w->t, leave);
    return false;
}

// Goes on to the next point where light may collide; false past the end.
static bool advance(walk *w, float tau, chance *c)
{
    firn_tracker *k = w->tracker;
    while (w->t < w->end) {
        if (w->fine) {
            int axis = nearest(w->cross);
            c->bound = k->strength * bound_of(w->cell);
            if (spend(w, c->bound, least(w->cross[axis], w->end), &tau)) {
                c->extinction = k->strength * density_in(w->cell, w->at, point_of(w));
                return true;
            }
            leave_cell(w, axis);
            continue;
        }
        int32_t block = firn_block_find(&k->grid->index, w->block[0], w->block[1], w->block[2]);
        c->bound = block == FIRN_NO_BLOCK ? 0.0f : k->strength * k->grid->majorant[block];
        if (c->bound > THIN && k->grid->motion == NULL) {
            enter_cells(w, find_room(k, w->block[0], w->block[1], w->block[2]));
            continue;
        }
        int axis = nearest(w->next);
        if (spend(w, c->bound, least(w->next[axis], w->end), &tau)) {
            c->extinction = firn_tracker_extinction(k, point_of(w));
            return true;
        }
        leave_block(w, axis);
    }
    return false;
}

// --- Flights -------------------------------------------------------------------------------------

static inline walk begin(firn_tracker *k, firn_vec3 from, firn_vec3 direction, float end)
{
    walk w;
    w.tracker = k;
    w.from[0] = from.x;
    w.from[1] = from.y;
    w.from[2] = from.z;
    w.direction[0] = direction.x;
    w.direction[1] = direction.y;
    w.direction[2] = direction.z;
    w.t = 0.0f;
    w.end = end;
    w.fine = false;
    return w;
}

// Sets the cell where a flight begins; false where there is no snow that rests.
static inline bool enter_first(walk *w)
{
    const firn_density_grid *grid = w->tracker->grid;
    for (int axis = 0; axis < 3; axis++)
        if (!(w->from[axis] >= (float)grid->lower[axis] &&
              w->from[axis] < (float)grid->upper[axis]))
            return false;
    for (int axis = 0; axis < 3; axis++)
        w->at[axis] = floor_int(w->from[axis]);
    const firn_room *room = grid->motion == NULL
                                ? find_room(w->tracker, w->at[0] >> 3, w->at[1] >> 3, w->at[2] >> 3)
                                : NULL;
    w->cell = room != NULL ? cell_of(room, w->at) : NULL;
    return room != NULL && bound_of(w->cell) > 0.0f;
}

static inline bool is_inside(const int32_t at[3], firn_vec3 p)
{
    return p.x >= (float)at[0] && p.x < (float)(at[0] + 1) && p.y >= (float)at[1] &&
           p.y < (float)(at[1] + 1) && p.z >= (float)at[2] && p.z < (float)(at[2] + 1);
}

// Stays in the first cell as long as the flight does, which needs no walk.
static inline bool stay(walk *w, float tau, chance *c)
{
    float before = w->t, strength = w->tracker->strength;
    c->bound = strength * bound_of(w->cell);
    w->t += tau / c->bound;
    firn_vec3 p = point_of(w);
    if (w->t < w->end && is_inside(w->at, p)) {
        c->extinction = strength * density_in(w->cell, w->at, p);
        return true;
    }
    w->t = before;
    return false;
}

float firn_tracker_fly(firn_tracker *tracker, firn_random *random, float tau, firn_vec3 from,
                       firn_vec3 direction, float end)
{
    walk w = begin(tracker, from, direction, end);
    bool inside = enter_first(&w);
    chance c;
    while (inside && stay(&w, tau, &c)) {
        if (firn_random_unit(random) * c.bound < c.extinction)
            return w.t;
        tau = exponential(random);
    }
    if (!start_walk(&w))
        return INFINITY;
    while (advance(&w, tau, &c)) {
        if (firn_random_unit(random) * c.bound < c.extinction)
            return w.t;
        tau = exponential(random);
    }
    return INFINITY;
}

// The share that passes a possible collision; faint light plays roulette.
static inline float thin_out(firn_random *random, const chance *c, float share)
{
    share *= 1.0f - c->extinction / c->bound;
    if (share >= FAINT)
        return share;
    return firn_random_unit(random) * FAINT < share ? FAINT : 0.0f;
}

float firn_tracker_transmit(firn_tracker *tracker, firn_random *random, firn_vec3 from,
                            firn_vec3 direction, float end)
{
    walk w = begin(tracker, from, direction, end);
    bool inside = enter_first(&w);
    float share = 1.0f, tau = exponential(random);
    chance c;
    while (inside && stay(&w, tau, &c)) {
        share = thin_out(random, &c, share);
        if (!(share > 0.0f))
            return 0.0f;
        tau = exponential(random);
    }
    if (!start_walk(&w))
        return share;
    while (share > 0.0f && advance(&w, tau, &c)) {
        share = thin_out(random, &c, share);
        tau = exponential(random);
    }
    return share;
}
