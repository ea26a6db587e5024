/// Paths of light keep energy, obey reciprocity and reflect what theory says.
#include "effort.h"
#include "unit/render_fixture.h"

#include "path.h"
#include "phase.h"

#include <math.h>

/// A slab of snow, so thick and wide that nothing comes out at the back or the sides.
typedef struct slab {
    block_field field;
    firn_density_grid grid;
    firn_solids solids;
    firn_light light;
    firn_world world;
} slab;

static slab make_slab(float albedo, float g)
{
    slab s = {.field = block_field_create(8, 4, 8, 1.0f, full)};
    firn_density_def def = {.field = &s.field.view, .reference_density = 1.0f, .extinction = 6.0f};
    assert_int_equal(firn_density_grid_create(&s.grid, &def, NULL), FIRN_OK);
    s.light.sky = FIRN_SKY_CONSTANT;
    s.light.zenith = firn_vec(1.0f, 1.0f, 1.0f);
    s.light.sun_cosine = 1.0f;
    s.world.snow = (firn_scatter){1.0f, g, {albedo, albedo, albedo}};
    s.world.max_bounces = 100000;
    s.world.roulette = true;
    return s;
}

static void free_slab(slab *s)
{
    firn_density_grid_free(&s->grid);
    block_field_free(&s->field);
}

typedef struct mean {
    double value, error;
} mean;

/// What comes back along a direction (cosine 0: all of them, by the cosine law) from above.
static mean look_down(slab *s, float cosine, int count)
{
    s->world.grid = &s->grid;
    s->world.solids = &s->solids;
    s->world.light = &s->light;
    firn_tracker tracker;
    assert_int_equal(firn_tracker_open(&tracker, &s->grid, NULL), FIRN_OK);
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < count; i++) {
        firn_random random = firn_random_of(3, (uint64_t)i, 0);
        float c = cosine > 0.0f ? cosine : sqrtf(firn_random_unit(&random));
        firn_vec3 d = firn_around(firn_vec(0.0f, -1.0f, 0.0f), c, &random);
        firn_vec3 from = firn_add_scaled(firn_vec(32.0f, 31.0f, 32.0f), -3.0f / c, d);
        double value = (double)firn_path_trace(&s->world, &tracker, &random, from, d,
                                               firn_random_unit(&random))
                           .radiance.y;
        sum += value;
        square += value * value;
    }
    firn_tracker_close(&tracker);
    mean m = {sum / count, 0.0};
    m.error = sqrt(fmax(0.0, square / count - m.value * m.value) / count);
    return m;
}

// Reflectance of a half space under light from all sides, van de Hulst 1980: exact to 0.002.
static double van_de_hulst(double albedo, double g)
{
    double s = sqrt((1.0 - albedo) / (1.0 - g * albedo));
    return (1.0 - s) * (1.0 - 0.139 * s) / (1.0 + 1.17 * s);
}

static void deep_snow_reflects_what_van_de_hulst_published(void **state)
{
    (void)state;
    const float cases[][2] = {
        {0.9f, 0.0f}, {0.95f, 0.5f}, {0.99f, 0.5f}, {0.9f, 0.5f}, {0.6f, 0.0f}};
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        slab s = make_slab(cases[i][0], cases[i][1]);
        mean m = look_down(&s, 0.0f, 60000);
        double expected = van_de_hulst((double)cases[i][0], (double)cases[i][1]);
        assert_true(fabs(m.value - expected) < 0.02 * expected);
        assert_true(m.error < 0.007 * expected);
        free_slab(&s);
    }
}

static void roulette_leaves_the_mean_as_it_is(void **state)
{
    (void)state;
    slab s = make_slab(0.95f, 0.5f);
    int paths = effort(60000, 10000);
    mean with = look_down(&s, 0.0f, paths);
    s.world.roulette = false;
    mean without = look_down(&s, 0.0f, paths);
    assert_true(fabs(with.value - without.value) < 4.0 * (with.error + without.error));
    free_slab(&s);
}

static void snow_that_absorbs_nothing_is_white_in_a_white_sky(void **state)
{
    (void)state;
    slab s = make_slab(1.0f, 0.5f);
    mean m = look_down(&s, 0.0f, 3000);
    assert_true(fabs(m.value - 1.0) < 0.01);
    free_slab(&s);
}

static void a_limit_of_bounces_loses_with_its_square_root(void **state)
{
    (void)state;
    slab s = make_slab(1.0f, 0.5f);
    double lost[2];
    for (int i = 0; i < 2; i++) {
        s.world.max_bounces = i == 0 ? 40 : 160;
        lost[i] = 1.0 - look_down(&s, 0.0f, 10000).value;
    }
    assert_true(lost[0] / lost[1] > 1.7 && lost[0] / lost[1] < 2.3);
    free_slab(&s);
}

static void light_takes_every_way_in_both_directions(void **state)
{
    (void)state;
    const float cosines[2] = {0.9f, 0.4f};
    mean m[2];
    for (int i = 0; i < 2; i++) {
        slab s = make_slab(0.9f, 0.5f);
        s.light.zenith = firn_vec(0.0f, 0.0f, 0.0f);
        s.light.irradiance = firn_vec(1.0f, 1.0f, 1.0f);
        float sun = cosines[1 - i];
        s.light.sun = firn_vec(sqrtf(1.0f - sun * sun), sun, 0.0f);
        m[i] = look_down(&s, cosines[i], 100000);
        // Per light that falls on the surface.
        m[i].value /= (double)sun;
        m[i].error /= (double)sun;
        free_slab(&s);
    }
    assert_true(m[0].error < 0.01 * m[0].value);
    assert_true(fabs(m[0].value - m[1].value) < 4.0 * (m[0].error + m[1].error));
}

static void fewer_even_scatterings_reflect_nearly_as_much(void **state)
{
    (void)state;
    slab s = make_slab(0.98f, 0.5f);
    mean exact = look_down(&s, 0.0f, 20000);
    s.world.similarity = 4;
    s.world.even = firn_scatter_even(s.world.snow);
    mean similar = look_down(&s, 0.0f, 20000);
    assert_true(fabs(exact.value - similar.value) < 0.05 * exact.value);
    free_slab(&s);
}

static void a_floor_returns_its_albedo_and_snow_shades_it(void **state)
{
    (void)state;
    slab s = make_slab(0.9f, 0.5f);
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), -8.0f);
    assert_int_equal(firn_solids_open(&s.solids, 1, NULL), FIRN_OK);
    assert_int_equal(firn_solids_add(&s.solids, &floor, firn_vec(0.5f, 0.5f, 0.5f),
                                     firn_vec(0.0f, 0.0f, 0.0f), 1.0f, NULL),
                     FIRN_OK);
    s.light.irradiance = firn_vec(3.0f, 3.0f, 3.0f);
    s.light.zenith = firn_vec(0.0f, 0.0f, 0.0f);
    s.light.sun = firn_vec(0.0f, 1.0f, 0.0f);
    s.world =
        (firn_world){.grid = &s.grid, .solids = &s.solids, .light = &s.light, .snow = s.world.snow};
    firn_tracker tracker;
    assert_int_equal(firn_tracker_open(&tracker, &s.grid, NULL), FIRN_OK);
    firn_random random = firn_random_of(1, 1, 1);
    firn_vec3 d = firn_normalize(firn_vec(0.1f, -1.0f, 0.0f));
    float open = firn_path_trace(&s.world, &tracker, &random, firn_vec(500.0f, 3.0f, 5.0f), d, 0.5f)
                     .radiance.x;
    float under =
        firn_path_trace(&s.world, &tracker, &random, firn_vec(30.0f, -4.0f, 30.0f), d, 0.5f)
            .radiance.x;
    assert_true(fabsf(open - 0.5f * 3.0f / FIRN_PI) < 1e-3f);
    assert_true(under < 1e-3f);
    firn_tracker_close(&tracker);
    firn_solids_free(&s.solids);
    free_slab(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_snow_reflects_what_van_de_hulst_published),
        cmocka_unit_test(roulette_leaves_the_mean_as_it_is),
        cmocka_unit_test(snow_that_absorbs_nothing_is_white_in_a_white_sky),
        cmocka_unit_test(a_limit_of_bounces_loses_with_its_square_root),
        cmocka_unit_test(light_takes_every_way_in_both_directions),
        cmocka_unit_test(fewer_even_scatterings_reflect_nearly_as_much),
        cmocka_unit_test(a_floor_returns_its_albedo_and_snow_shades_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
