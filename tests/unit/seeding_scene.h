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

/// What particles have without APIC.
static inline const firn_channel_set *plain_channels(void)
{
    static firn_channel_set set;
    firn_channel_set_reset(&set, FIRN_NEED_ALWAYS);
    return &set;
}

static inline void begin(scene *s, const firn_source_def *def)
{
    s->seeds.budget = &s->budget;
    s->seeds.channels = plain_channels();
    assert_int_equal(firn_source_open(&s->source, def, s->seeds.channels, 0.0, &s->error), FIRN_OK);
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
static inline const float *column(const scene *s, int number)
{
    return s->seeds.column[number].data;
}
static inline const float *masses(const scene *s) { return column(s, FIRN_MASS); }
static inline const float *stiffnesses(const scene *s) { return column(s, FIRN_STIFFNESS); }

static inline firn_vec3 velocity_of(const scene *s, size_t i)
{
    return firn_vec(column(s, FIRN_V)[i], column(s, FIRN_V + 1)[i], column(s, FIRN_V + 2)[i]);
}

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
