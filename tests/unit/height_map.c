/// Maps of heights against shapes whose height is known.
#include "height_map.h"

#include "firn/points.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { EDGE = 60 };
static const float STEP = 0.01f; // m, between particles

typedef struct cloud {
    size_t count;
    float p[3 * EDGE * EDGE * EDGE], scale[EDGE * EDGE * EDGE], mass[EDGE * EDGE * EDGE];
    firn_attribute rows[3];
    firn_points points;
} cloud;

// A lattice below the surface that a function gives, of cubes of 400 kg/m^3.
static cloud *fill(float (*surface)(float x, float z))
{
    cloud *c = calloc(1, sizeof *c);
    for (int n = 0; n < EDGE * EDGE * EDGE; n++) {
        float x = STEP * ((float)(n / EDGE / EDGE - EDGE / 2) + 0.5f);
        float y = STEP * ((float)(n / EDGE % EDGE) + 0.5f);
        float z = STEP * ((float)(n % EDGE - EDGE / 2) + 0.5f);
        if (y > surface(x, z))
            continue;
        c->p[3 * c->count] = x;
        c->p[3 * c->count + 1] = y;
        c->p[3 * c->count + 2] = z;
        c->scale[c->count] = STEP * cbrtf(3.0f / (4.0f * 3.14159265f));
        c->mass[c->count++] = 400.0f * STEP * STEP * STEP;
    }
    c->rows[0] = (firn_attribute){
        .name = "P", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 3, .data = c->p};
    c->rows[1] = (firn_attribute){
        .name = "pscale", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 1, .data = c->scale};
    c->rows[2] = (firn_attribute){
        .name = "mass", .storage = FIRN_STORAGE_FLOAT32, .tuple_size = 1, .data = c->mass};
    c->points = (firn_points){.count = c->count, .attributes = c->rows, .attribute_count = 3};
    return c;
}

static float slab(float x, float z)
{
    (void)x;
    (void)z;
    return 0.2f;
}

static float dome(float x, float z)
{
    float rest = 0.25f * 0.25f - x * x - z * z;
    return rest > 0.0f ? sqrtf(rest) : 0.0f;
}

static firn_height_def map_of(float half)
{
    firn_height_def def = {.half_size = {half, 0.0f, half}, .pixel_size = 0.01f, .smooth = 0};
    return def;
}

static void flat_snow_is_as_high_as_it_is(void **state)
{
    (void)state;
    cloud *c = fill(slab);
    firn_height_def def = map_of(0.4f);
    def.level = -1.0f;
    firn_height_map map;
    assert_int_equal(firn_height_map_make(&def, &c->points, &map, NULL), FIRN_OK);
    assert_int_equal(map.width, 80);
    for (int k = 0; k < 80; k++)
        for (int i = 0; i < 80; i++) {
            float x = fabsf(0.01f * ((float)i + 0.5f) - 0.4f),
                  z = fabsf(0.01f * ((float)k + 0.5f) - 0.4f);
            float top = map.top[80 * k + i];
            if (x < 0.295f && z < 0.295f)
                assert_true(fabsf(top - 0.2f) < 1e-5f &&
                            fabsf(map.load[80 * k + i] - 80.0f) < 0.01f);
            if (x > 0.31f || z > 0.31f)
                assert_true(top == -1.0f && map.covered[80 * k + i] == 0.0f);
        }
    firn_height_map_free(&map);
    free(c);
}

// A dome, off the middle of the map and smoothed: heights where the world says.
static void a_dome_stands_at_its_place(void **state)
{
    (void)state;
    cloud *c = fill(dome);
    firn_height_def def = map_of(0.4f);
    def.center = firn_vec(0.1f, 0.0f, -0.05f);
    def.smooth = 1;
    firn_height_map map;
    assert_int_equal(firn_height_map_make(&def, &c->points, &map, NULL), FIRN_OK);
    double worst = 0.0, mean = 0.0, load = 0.0;
    int count = 0;
    for (int n = 0; n < 80 * 80; n++) {
        float x = -0.3f + 0.01f * ((float)(n % 80) + 0.5f),
              z = -0.45f + 0.01f * ((float)(n / 80) + 0.5f);
        load += (double)map.load[n] * 1e-4;
        if (x * x + z * z > 0.2f * 0.2f)
            continue;
        double miss = (double)map.top[n] - (double)dome(x, z);
        worst = fmax(worst, fabs(miss));
        mean += miss;
        count++;
    }
    print_message("mean %.4f m, farthest %.4f m from the dome\n", mean / count, worst);
    assert_true(fabs(mean / count) < 0.004 && worst < 0.012);
    assert_true(fabs(load - 400e-6 * (double)c->count) < 1e-3);
    firn_height_map_free(&map);
    free(c);
}

static void maps_that_cannot_be_are_refused(void **state)
{
    (void)state;
    firn_error error;
    firn_height_map map;
    firn_height_def def = map_of(0.0f);
    firn_points none = {0};
    assert_int_equal(firn_height_map_make(&def, &none, &map, &error), FIRN_ERR_ARGUMENT);
    firn_height_map_free(&map);
    def = map_of(1e5f);
    assert_int_equal(firn_height_map_make(&def, &none, &map, &error), FIRN_ERR_ARGUMENT);
    firn_height_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_snow_is_as_high_as_it_is),
        cmocka_unit_test(a_dome_stands_at_its_place),
        cmocka_unit_test(maps_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
