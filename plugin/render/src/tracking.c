#include "tracking.h"

#include <math.h>

#define FAINT 0.1f     // transmittance below which ratio tracking plays roulette
#define DIAGONAL 14.0f // voxels, more than a ray can travel in one block

firn_tracker firn_tracker_start(const firn_density_grid *grid)
{
    firn_tracker tracker = {.grid = grid,
                            .strength = 1.0f,
                            .cell = {INT32_MIN, 0, 0},
                            .moving_cell = {INT32_MIN, 0, 0}};
    return tracker;
}

static inline int32_t floor_int(float x)
{
    int32_t truncated = (int32_t)x;
    return truncated - (x < (float)truncated);
}

static inline firn_vec3 moved_point(firn_tracker *k, firn_vec3 p)
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

static inline float extinction_at(firn_tracker *k, firn_vec3 p)
{
    if (k->grid->motion != NULL)
        p = moved_point(k, p);
    int32_t x = floor_int(p.x), y = floor_int(p.y), z = floor_int(p.z);
    if (x != k->cell[0] || y != k->cell[1] || z != k->cell[2]) {
        k->cell[0] = x;
        k->cell[1] = y;
        k->cell[2] = z;
        firn_density_cell(k->grid, x, y, z, k->corner);
    }
    const float *c = k->corner;
    float u = p.x - (float)x, v = p.y - (float)y, w = p.z - (float)z;
    float c00 = c[0] + w * (c[1] - c[0]), c01 = c[2] + w * (c[3] - c[2]);
    float c10 = c[4] + w * (c[5] - c[4]), c11 = c[6] + w * (c[7] - c[6]);
    float low = c00 + v * (c01 - c00), high = c10 + v * (c11 - c10);
    return (low + u * (high - low)) * k->grid->extinction;
}

float firn_tracker_extinction(firn_tracker *tracker, firn_vec3 point)
{
    return tracker->strength * extinction_at(tracker, point);
}

static inline float exponential(firn_random *random)
{
    return -logf(1.0f - firn_random_unit(random));
}

/// A ray on its way through the blocks.
typedef struct walk {
    firn_vec3 from, direction;
    float t, end;     // voxels along the ray
    int32_t block[3]; // where it is
    int32_t step[3];  // +1 or -1
    float next[3];    // where it crosses to the next block of each axis
    float across[3];  // distance between two crossings
} walk;

// Moves to where the ray enters the box of the snow; false when it misses.
static bool enter_box(const firn_density_grid *grid, walk *w)
{
    const float from[3] = {w->from.x, w->from.y, w->from.z};
    const float direction[3] = {w->direction.x, w->direction.y, w->direction.z};
    for (int axis = 0; axis < 3; axis++) {
        float low = (float)grid->lower[axis], high = (float)grid->upper[axis];
        if (fabsf(direction[axis]) < 1e-12f) {
            if (from[axis] < low || from[axis] > high)
                return false;
            continue;
        }
        float inverse = 1.0f / direction[axis];
        float a = (low - from[axis]) * inverse, b = (high - from[axis]) * inverse;
        w->t = fmaxf(w->t, fminf(a, b));
        w->end = fminf(w->end, fmaxf(a, b));
    }
    return w->t < w->end;
}

static bool start_walk(const firn_density_grid *grid, walk *w)
{
    if (grid->value_count == 0 || !enter_box(grid, w))
        return false;
    const float from[3] = {w->from.x, w->from.y, w->from.z};
    const float direction[3] = {w->direction.x, w->direction.y, w->direction.z};
    for (int axis = 0; axis < 3; axis++) {
        float at = from[axis] + w->t * direction[axis];
        int32_t voxel = floor_int(at);
        if (voxel < grid->lower[axis])
            voxel = grid->lower[axis];
        if (voxel >= grid->upper[axis])
            voxel = grid->upper[axis] - 1;
        w->block[axis] = voxel >> 3;
        bool forward = direction[axis] > 0.0f;
        w->step[axis] = forward ? 1 : -1;
        if (fabsf(direction[axis]) < 1e-12f) {
            w->next[axis] = w->across[axis] = INFINITY;
            continue;
        }
        float inverse = 1.0f / direction[axis];
        w->across[axis] = 8.0f * fabsf(inverse);
        w->next[axis] = ((float)(8 * (w->block[axis] + (forward ? 1 : 0))) - from[axis]) * inverse;
    }
    return true;
}

static inline int nearest_crossing(const walk *w)
{
    int axis = w->next[0] < w->next[1] ? 0 : 1;
    return w->next[axis] < w->next[2] ? axis : 2;
}

static inline float majorant_of(const firn_tracker *k, const int32_t block[3])
{
    int32_t number = firn_block_find(&k->grid->index, block[0], block[1], block[2]);
    return number == FIRN_NO_BLOCK ? 0.0f : k->strength * k->grid->majorant[number];
}

// Goes on to the point where the bounds add up to *tau; false past the end. *majorant is the bound
// there.
static bool advance(const firn_tracker *k, walk *w, float *tau, float *majorant)
{
    while (w->t < w->end) {
        int axis = nearest_crossing(w);
        float leave = fminf(w->next[axis], w->end);
        float bound = majorant_of(k, w->block);
        float depth = bound * (leave - w->t);
        if (depth > *tau) {
            w->t += *tau / bound;
            *majorant = bound;
            return true;
        }
        *tau -= depth > 0.0f ? depth : 0.0f;
        w->t = fmaxf(w->t, leave);
        w->block[axis] += w->step[axis];
        w->next[axis] += w->across[axis];
    }
    return false;
}

static inline firn_vec3 point_of(const walk *w)
{
    return firn_add_scaled(w->from, w->t, w->direction);
}

static inline bool is_inside(const int32_t block[3], firn_vec3 p)
{
    return floor_int(p.x) >> 3 == block[0] && floor_int(p.y) >> 3 == block[1] &&
           floor_int(p.z) >> 3 == block[2];
}

// The bound where a flight begins, 0 outside of the snow's box.
static inline float enter_block(const firn_tracker *k, firn_vec3 p, int32_t block[3])
{
    const firn_density_grid *grid = k->grid;
    if (!(p.x >= (float)grid->lower[0] && p.x < (float)grid->upper[0] &&
          p.y >= (float)grid->lower[1] && p.y < (float)grid->upper[1] &&
          p.z >= (float)grid->lower[2] && p.z < (float)grid->upper[2]))
        return 0.0f;
    block[0] = floor_int(p.x) >> 3;
    block[1] = floor_int(p.y) >> 3;
    block[2] = floor_int(p.z) >> 3;
    return majorant_of(k, block);
}

float firn_tracker_fly(firn_tracker *tracker, firn_random *random, float tau, firn_vec3 from,
                       firn_vec3 direction, float end)
{
    walk w = {.from = from, .direction = direction, .end = end};
    // Most flights in dense snow end in the block where they begin, which needs no walk.
    int32_t block[3];
    float bound = enter_block(tracker, from, block), reach = fminf(end, DIAGONAL);
    while (bound > 0.0f) {
        float t = w.t + tau / bound;
        firn_vec3 p = firn_add_scaled(from, t, direction);
        if (!(t < reach) || !is_inside(block, p))
            break;
        w.t = t;
        if (firn_random_unit(random) * bound < firn_tracker_extinction(tracker, p))
            return t;
        tau = exponential(random);
    }
    if (!start_walk(tracker->grid, &w))
        return INFINITY;
    while (advance(tracker, &w, &tau, &bound)) {
        if (firn_random_unit(random) * bound < firn_tracker_extinction(tracker, point_of(&w)))
            return w.t;
        tau = exponential(random);
    }
    return INFINITY;
}

// The share that passes a possible collision; faint light plays roulette.
static inline float thin_out(firn_tracker *k, firn_random *random, firn_vec3 p, float bound,
                             float share)
{
    share *= 1.0f - firn_tracker_extinction(k, p) / bound;
    if (share >= FAINT)
        return share;
    return firn_random_unit(random) * FAINT < share ? FAINT : 0.0f;
}

float firn_tracker_transmit(firn_tracker *tracker, firn_random *random, firn_vec3 from,
                            firn_vec3 direction, float end)
{
    walk w = {.from = from, .direction = direction, .end = end};
    float share = 1.0f, tau = exponential(random);
    int32_t block[3];
    float bound = enter_block(tracker, from, block), reach = fminf(end, DIAGONAL);
    while (bound > 0.0f) {
        float t = w.t + tau / bound;
        firn_vec3 p = firn_add_scaled(from, t, direction);
        if (!(t < reach) || !is_inside(block, p))
            break;
        w.t = t;
        share = thin_out(tracker, random, p, bound, share);
        if (!(share > 0.0f))
            return 0.0f;
        tau = exponential(random);
    }
    if (!start_walk(tracker->grid, &w))
        return share;
    while (share > 0.0f && advance(tracker, &w, &tau, &bound)) {
        share = thin_out(tracker, random, point_of(&w), bound, share);
        tau = exponential(random);
    }
    return share;
}
