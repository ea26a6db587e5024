/// A source of snow with its surroundings, for the tests of what sources make.
#ifndef FIRN_TEST_SEEDING_SCENE_H
#define FIRN_TEST_SEEDING_SCENE_H

#include "seeding/seeding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/// Opened by the test, closed by finish.
typedef struct scene {
    firn_budget budget;
    firn_source source;
    firn_seeding seeding;
    firn_seeds seeds;
    firn_error error;
} scene;

static inline scene scene_with_cells(float cell_size)
{
    scene s = {.seeding = {.cell_size = cell_size, .density = 400.0f, .up = {0.0f, 1.0f, 0.0f}}};
    return s;
}

static inline void begin(scene *s, const firn_source_def *def)
{
    s->seeds.budget = &s->budget;
    assert_int_equal(firn_source_open(&s->source, def, 0.0, &s->error), FIRN_OK);
}

static inline firn_result emit(scene *s, double time)
{
    return firn_source_emit(&s->source, &s->seeding, time, &s->seeds, &s->error);
}

static inline void finish(scene *s)
{
    firn_seeds_free(&s->seeds);
    firn_source_close(&s->source);
    assert_int_equal(s->budget.used, 0);
}

static inline const firn_vec3 *positions(const scene *s) { return s->seeds.position.data; }
static inline const firn_vec3 *velocities(const scene *s) { return s->seeds.velocity.data; }
static inline const float *masses(const scene *s) { return s->seeds.mass.data; }
static inline const float *stiffnesses(const scene *s) { return s->seeds.stiffness.data; }

/// Snow that streams out of a box or a sphere.
static inline firn_source_def nozzle(int region)
{
    firn_source_def def =
        region == FIRN_REGION_BOX
            ? firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.1f, 0.2f, 0.2f))
            : firn_source_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 0.2f);
    def.velocity = firn_vec(3.0f, 0.0f, 0.0f);
    def.end = 0.5;
    return def;
}

#endif
