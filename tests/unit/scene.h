/// Small simulations for tests: made, filled and looked into, in double precision.
#ifndef FIRN_TEST_SCENE_H
#define FIRN_TEST_SCENE_H

#include "models/snow.h"
#include "mpm/sim_state.h"
#include "reference_model.h"

#include "firn/firn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void scene_expect_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.9g is not %.9g within %g", a, b, tolerance);
}

static inline void scene_expect_ok(firn_result result, const firn_error *error)
{
    if (result != FIRN_OK)
        fail_msg("%s", error->message);
}

static inline firn_sim *scene_create(const firn_sim_def *def)
{
    firn_sim *sim = NULL;
    firn_error error;
    scene_expect_ok(firn_sim_create(def, &sim, &error), &error);
    return sim;
}

/// One of the 8 combinations of kernel, transfer and integrator.
static inline firn_sim_def scene_combination(int index)
{
    firn_sim_def def = firn_sim_def_default();
    def.kernel = index & 1;
    def.transfer = index >> 1 & 1;
    def.integrator = index >> 2 & 1;
    def.thread_count = 1;
    return def;
}

static inline void scene_add(firn_sim *sim, const firn_source_def *def)
{
    firn_error error;
    scene_expect_ok(firn_sim_add_source(sim, def, NULL, &error), &error);
}

static inline void scene_add_box(firn_sim *sim, firn_vec3 center, float half, firn_vec3 velocity)
{
    firn_source_def def = firn_source_def_box(center, firn_vec(half, half, half));
    def.velocity = velocity;
    scene_add(sim, &def);
}

static inline void scene_add_floor(firn_sim *sim, float height)
{
    firn_error error;
    firn_collider_def def = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), height);
    scene_expect_ok(firn_sim_add_collider(sim, &def, NULL, &error), &error);
}

static inline void scene_step(firn_sim *sim, double seconds)
{
    firn_error error;
    scene_expect_ok(firn_sim_step(sim, seconds, &error), &error);
}

/// Where a particle that is in a block stands, in m, with all the digits it has.
static inline void scene_position(const firn_sim *sim, const firn_block *block, size_t p,
                                  double x[3])
{
    const int32_t coord[3] = {block->coord.x, block->coord.y, block->coord.z};
    for (int axis = 0; axis < 3; axis++)
        x[axis] = (double)sim->def.cell_size *
                  (4.0 * coord[axis] + firn_grid_shift(&sim->grid) +
                   (double)firn_channel_of(&sim->particles, FIRN_U + axis)[p]);
}

static inline double scene_value(const firn_sim *sim, int channel, size_t p)
{
    return (double)firn_channel_of(&sim->particles, channel)[p];
}

/// What the sorted particles carry together.
typedef struct scene_sums {
    double mass;        // kg
    double center[3];   // m, of mass
    double momentum[3]; // kg m/s
    double angular[3];  // kg m^2/s, about the origin, with the affine part of APIC
    double kinetic;     // J
} scene_sums;

static inline double scene_inertia(const firn_sim *sim)
{
    double h = (double)sim->def.cell_size;
    return h * h / (sim->grid.order == 3 ? 4.0 : 3.0);
}

static inline void scene_add_to_sums(const firn_sim *sim, const firn_block *block, size_t p,
                                     scene_sums *sums)
{
    double m = scene_value(sim, FIRN_MASS, p), x[3], v[3];
    scene_position(sim, block, p, x);
    for (int axis = 0; axis < 3; axis++) {
        v[axis] = scene_value(sim, FIRN_V + axis, p);
        sums->center[axis] += m * x[axis];
        sums->momentum[axis] += m * v[axis];
        sums->kinetic += 0.5 * m * v[axis] * v[axis];
    }
    sums->mass += m;
    for (int axis = 0; axis < 3; axis++) {
        int j = (axis + 1) % 3, k = (axis + 2) % 3;
        sums->angular[axis] += m * (x[j] * v[k] - x[k] * v[j]);
        if (firn_sim_is_apic(sim))
            sums->angular[axis] +=
                m * scene_inertia(sim) *
                (scene_value(sim, FIRN_C + 3 * k + j, p) - scene_value(sim, FIRN_C + 3 * j + k, p));
    }
}

static inline scene_sums scene_sums_of(const firn_sim *sim)
{
    scene_sums sums = {.mass = 0.0};
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++)
            scene_add_to_sums(sim, &blocks[b], p, &sums);
    for (int axis = 0; axis < 3; axis++)
        sums.center[axis] /= sums.mass;
    return sums;
}

static inline bool scene_is_finite(const firn_sim *sim)
{
    for (int c = 0; c < sim->particles.channel_count; c++)
        for (size_t p = 0; c != FIRN_ID && p < sim->particles.count; p++)
            if (!isfinite(firn_channel_of(&sim->particles, c)[p]))
                return false;
    return isfinite(sim->time);
}

#endif
