/// Grains are found as by looking at every one, keep energy, and glint where their ids say.
#include "unit/render_fixture.h"

#include "path.h"
#include "phase.h"

#include "firn/render.h"

#include <math.h>

enum { COUNT = 3000 };

/// A heap of grains in a cube of `size` meters.
typedef struct heap {
    float position[3 * COUNT], velocity[3 * COUNT], radius[COUNT], color[3 * COUNT];
    uint32_t id[COUNT];
    firn_grains grains;
} heap;

static heap *make_heap(float size, float radius)
{
    heap *h = calloc(1, sizeof *h);
    firn_random random = firn_random_of(7, 1, 0);
    for (int i = 0; i < COUNT; i++) {
        for (int c = 0; c < 3; c++) {
            h->position[3 * i + c] = size * firn_random_unit(&random);
            h->velocity[3 * i + c] = 8.0f * (firn_random_unit(&random) - 0.5f);
            h->color[3 * i + c] = 1.0f;
        }
        h->radius[i] = radius * (0.3f + firn_random_unit(&random));
        h->id[i] = (uint32_t)(firn_random_bits(&random) >> 32);
    }
    h->grains = (firn_grains){COUNT, h->position, NULL, h->radius, h->id, NULL};
    return h;
}

static firn_grain_set make_set(const heap *h, int shape, float shutter)
{
    firn_grain_set set;
    firn_grain_def def = {.grains = &h->grains,
                          .shape = shape,
                          .scale = 1.0f,
                          .limit = 1.0f,
                          .voxel_size = 1.0f,
                          .shutter = shutter};
    assert_int_equal(firn_grain_set_create(&set, &def, NULL), FIRN_OK);
    assert_int_equal(set.count, COUNT);
    return set;
}

// --- The tree ------------------------------------------------------------------------------------

static float sphere_distance(firn_vec3 from, firn_vec3 d, firn_vec3 center, float radius)
{
    firn_vec3 r = firn_sub(from, center);
    double b = (double)firn_dot(r, d), c = (double)firn_dot(r, r) - (double)radius * (double)radius;
    double root = b * b - c;
    return root > 0.0 && -b - sqrt(root) > 0.0 ? (float)(-b - sqrt(root)) : INFINITY;
}

static float disk_distance(firn_vec3 from, firn_vec3 d, firn_vec3 center, firn_vec3 normal,
                           float radius)
{
    float t = firn_dot(firn_sub(center, from), normal) / firn_dot(d, normal);
    firn_vec3 aside = firn_sub(firn_add_scaled(from, t, d), center);
    return t > 0.0f && firn_length(aside) < radius ? t : INFINITY;
}

static float nearest_by_looking(const heap *h, int shape, firn_vec3 from, firn_vec3 d, float time)
{
    float nearest = INFINITY;
    for (int i = 0; i < COUNT; i++) {
        firn_vec3 p = {h->position[3 * i], h->position[3 * i + 1], h->position[3 * i + 2]};
        firn_vec3 v = {h->velocity[3 * i], h->velocity[3 * i + 1], h->velocity[3 * i + 2]};
        p = firn_add_scaled(p, time, v);
        float t = shape == FIRN_GRAINS_FLAKES
                      ? disk_distance(from, d, p, firn_grain_facet(h->id[i]), h->radius[i])
                      : sphere_distance(from, d, p, h->radius[i]);
        nearest = fminf(nearest, t);
    }
    return nearest;
}

static void the_tree_finds_what_looking_at_every_grain_finds(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        int shape = kind % 2 == 0 ? FIRN_GRAINS_SPHERES : FIRN_GRAINS_FLAKES;
        bool moves = kind >= 2;
        heap *h = make_heap(20.0f, 0.5f);
        h->grains.velocity = h->velocity;
        firn_grain_set set = make_set(h, shape, moves ? 1.0f : 0.0f);
        int met = 0;
        for (uint64_t i = 0; i < 1500; i++) {
            firn_random random = firn_random_of(1, i, 0);
            firn_vec3 from = {20.0f * firn_random_unit(&random), 20.0f * firn_random_unit(&random),
                              20.0f * firn_random_unit(&random)};
            firn_vec3 d = firn_around(firn_vec(0.0f, 1.0f, 0.0f),
                                      2.0f * firn_random_unit(&random) - 1.0f, &random);
            d = i % 10 == 0 ? firn_vec(0.0f, 0.0f, -1.0f) : firn_normalize(d);
            float time = firn_random_unit(&random) - 0.5f;
            firn_grain_hit hit = {.distance = INFINITY};
            bool found = firn_grains_meet(&set, from, d, time, &hit);
            float expected = nearest_by_looking(h, shape, from, d, moves ? time : 0.0f);
            assert_true(found == isfinite(expected));
            assert_true(!found || fabsf(hit.distance - expected) < 1e-3f);
            assert_true(firn_grains_block(&set, from, d, time, INFINITY) == found);
            assert_false(found && firn_grains_block(&set, from, d, time, 0.99f * expected - 1e-3f));
            met += found;
        }
        assert_true(met > 500 && met < 1500);
        firn_grain_set_free(&set);
        free(h);
    }
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    heap *h = make_heap(1.0f, 0.1f);
    h->position[3 * 77 + 1] = NAN;
    firn_grain_set set;
    firn_error error;
    firn_grain_def def = {.grains = &h->grains,
                          .shape = FIRN_GRAINS_SPHERES,
                          .scale = 1,
                          .limit = 1,
                          .voxel_size = 1};
    assert_int_equal(firn_grain_set_create(&set, &def, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "particle 77"));
    free(h);
}

// --- Light ---------------------------------------------------------------------------------------

/// A world of grains, with or without snow between them, under a white sky.
typedef struct stage {
    block_field field;
    firn_density_grid grid;
    firn_grain_set set;
    firn_solids solids;
    firn_light light;
    firn_world world;
} stage;

static void open_stage(stage *s, const heap *h, int shape, bool dense)
{
    memset(s, 0, sizeof *s);
    s->field = block_field_create(2, 2, 2, 1.0f, full);
    static const firn_field_view nothing = {.voxel_size = 1.0f};
    firn_density_def def = {
        .field = dense ? &s->field.view : &nothing, .reference_density = 1.0f, .extinction = 0.5f};
    assert_int_equal(firn_density_grid_create(&s->grid, &def, NULL), FIRN_OK);
    s->set = make_set(h, shape, 0.0f);
    s->light.sky = FIRN_SKY_CONSTANT;
    s->light.zenith = firn_vec(1.0f, 1.0f, 1.0f);
    s->light.sun_cosine = 1.0f;
    float glint = cosf(3.0f * FIRN_PI / 180.0f);
    s->world = (firn_world){.grid = &s->grid,
                            .solids = &s->solids,
                            .light = &s->light,
                            .grains = &s->set,
                            .grain = {.translucency = 0.4f, .sparkle = 0.3f, glint, 0.5f},
                            .grain_bounces = dense ? 4 : 0,
                            .snow = {1.0f, 0.5f, {1.0f, 1.0f, 1.0f}},
                            .max_bounces = 100000,
                            .roulette = true};
}

static void close_stage(stage *s)
{
    firn_density_grid_free(&s->grid);
    firn_grain_set_free(&s->set);
    firn_solids_free(&s->solids);
    block_field_free(&s->field);
}

// The same white light, but from a sun that is all around: paths do not meet it, they look for it.
static void light_by_sun(stage *s)
{
    s->light.sky = FIRN_SKY_CONSTANT;
    s->light.zenith = firn_vec(0.0f, 0.0f, 0.0f);
    s->light.sun = firn_vec(0.0f, 1.0f, 0.0f);
    s->light.sun_cosine = -1.0f;
    s->light.irradiance = firn_vec(4.0f * FIRN_PI, 4.0f * FIRN_PI, 4.0f * FIRN_PI);
    s->world.grain.cosine = s->world.grain.blunt = 0.5f; // narrow glints would be noise
}

// What comes back from looking into the heap, over many rays that meet something.
static double mean_radiance(stage *s, int count)
{
    int met = 0;
    firn_tracker tracker;
    assert_int_equal(firn_tracker_open(&tracker, &s->grid, NULL), FIRN_OK);
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        firn_random random = firn_random_of(5, (uint64_t)i, 0);
        firn_vec3 at = {16.0f * firn_random_unit(&random), 16.0f * firn_random_unit(&random),
                        16.0f * firn_random_unit(&random)};
        firn_vec3 d = firn_around(firn_vec(0.0f, -1.0f, 0.0f), firn_random_unit(&random), &random);
        d = firn_normalize(d);
        firn_path_sample sample =
            firn_path_trace(&s->world, &tracker, &random, firn_add_scaled(at, -60.0f, d), d,
                            firn_random_unit(&random));
        if (!isfinite(sample.depth))
            continue;
        sum += (double)sample.radiance.y;
        met++;
    }
    firn_tracker_close(&tracker);
    assert_true(met > count / 4);
    return sum / met;
}

static void grains_that_absorb_nothing_are_white_in_a_white_sky(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        heap *h = make_heap(16.0f, 0.6f);
        stage s;
        open_stage(&s, h, kind % 2 == 0 ? FIRN_GRAINS_SPHERES : FIRN_GRAINS_FLAKES, kind >= 2);
        assert_true(fabs(mean_radiance(&s, 3000) - 1.0) < 0.01);
        light_by_sun(&s);
        assert_true(fabs(mean_radiance(&s, 10000) - 1.0) < 0.04); // four deviations
        // Grey ones take something away: the test above can fail.
        s.world.snow.albedo = firn_vec(0.5f, 0.5f, 0.5f);
        assert_true(mean_radiance(&s, 1000) < 0.7);
        close_stage(&s);
        free(h);
    }
}

// As much as falls on rough ground comes back, bumps and glints or not.
static void ground_that_absorbs_nothing_is_white_in_a_white_sky(void **state)
{
    (void)state;
    for (int kind = FIRN_SURFACE_PLAIN; kind <= FIRN_SURFACE_SNOW; kind++) {
        heap *h = make_heap(16.0f, 0.6f);
        stage s;
        open_stage(&s, h, FIRN_GRAINS_SPHERES, false);
        s.world.grains = NULL;
        s.world.ground = (firn_surface){kind, {1.0f, 1.0f, 1.0f}, 3.0f, 0.3f};
        s.world.detail = 1e-5f;
        s.light.sky = FIRN_SKY_GRADIENT; // black below: what goes down there is lost
        s.light.horizon = firn_vec(1.0f, 1.0f, 1.0f);
        firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), -1.0f);
        assert_int_equal(firn_solids_open(&s.solids, 1, NULL), FIRN_OK);
        assert_int_equal(firn_solids_add(&s.solids, &floor, firn_vec(1.0f, 1.0f, 1.0f),
                                         firn_vec(0.0f, 0.0f, 0.0f), 1.0f, NULL),
                         FIRN_OK);
        double white = mean_radiance(&s, 4000);
        // Rough ground has dark patches; none may shine.
        assert_true(kind == FIRN_SURFACE_ROUGH ? white < 1.0 && white > 0.7
                                               : fabs(white - 1.0) < 0.01);
        light_by_sun(&s);
        assert_true(fabs(mean_radiance(&s, 60000) - white) < 0.02);
        close_stage(&s);
        free(h);
    }
}

// Which of the grains glint for an eye that looks along d, by number in the heap.
static int list_glints(const heap *h, uint64_t seed, bool *glints)
{
    stage s;
    open_stage(&s, h, FIRN_GRAINS_SPHERES, false);
    s.light.sun = firn_normalize(firn_vec(0.3f, 1.0f, 0.1f));
    s.light.irradiance = firn_vec(1.0f, 1.0f, 1.0f);
    s.world.grain.translucency = 0.0f;
    s.world.grain.cosine = cosf(12.0f * FIRN_PI / 180.0f);
    s.world.max_bounces = 0;
    firn_tracker tracker;
    assert_int_equal(firn_tracker_open(&tracker, &s.grid, NULL), FIRN_OK);
    int count = 0;
    for (int i = 0; i < COUNT; i++) {
        firn_random random = firn_random_of(seed, (uint64_t)i, 0);
        firn_vec3 p = {h->position[3 * i], h->position[3 * i + 1], h->position[3 * i + 2]};
        firn_vec3 d = firn_normalize(firn_vec(0.1f, -1.0f, 0.2f));
        firn_path_sample sample =
            firn_path_trace(&s.world, &tracker, &random, firn_add_scaled(p, -1.0f, d), d, 0.5f);
        glints[i] = sample.glint.x > 0.0f;
        assert_true(sample.glint.x <= sample.radiance.x);
        count += glints[i];
    }
    firn_tracker_close(&tracker);
    close_stage(&s);
    return count;
}

static void a_grain_keeps_its_glint_wherever_it_is(void **state)
{
    (void)state;
    // So far apart that none hides another.
    heap *h = make_heap(40000.0f, 0.1f);
    bool *first = calloc(COUNT, sizeof *first), *second = calloc(COUNT, sizeof *second);
    int count = list_glints(h, 1, first);
    // 3000 facets, each one of two sides: within 6 degrees of the half vector.
    double expected = COUNT * (1.0 - cos(6.0 * (double)FIRN_PI / 180.0));
    assert_true(fabs(count - expected) < 4.0 * sqrt(expected));
    // Another frame: other random numbers, all have moved, and lie in another order in memory.
    for (int i = 0; i < COUNT; i++)
        h->position[3 * i] = 40000.0f - h->position[3 * i];
    list_glints(h, 2, second);
    assert_memory_equal(first, second, COUNT * sizeof *first);
    // Other ids, other glints.
    for (int i = 0; i < COUNT; i++)
        h->id[i] += 1;
    list_glints(h, 2, second);
    assert_memory_not_equal(first, second, COUNT * sizeof *first);
    free(first);
    free(second);
    free(h);
}

// --- Pictures ------------------------------------------------------------------------------------

static void threads_make_the_same_picture(void **state)
{
    (void)state;
    enum { PIXELS = 40 * 24 };
    heap *h = make_heap(0.5f, 0.01f);
    h->grains.velocity = h->velocity;
    float pictures[2][3 * PIXELS];
    for (int i = 0; i < 2; i++) {
        firn_render_def def = firn_render_def_default();
        def.width = 40;
        def.height = 24;
        def.samples = 3;
        def.shutter = 0.5f;
        def.grain_limit = 1.0f;
        def.ground_surface = FIRN_SURFACE_SNOW;
        def.thread_count = i == 0 ? 1 : 3;
        firn_render_scene scene = {.grains = &h->grains};
        firn_render *render = NULL;
        assert_int_equal(firn_render_create(&def, &scene, &render, NULL), FIRN_OK);
        assert_int_equal(firn_render_read_setup(render).grains, COUNT);
        assert_int_equal(firn_render_run(render, NULL, NULL, NULL), FIRN_OK);
        memcpy(pictures[i], firn_render_picture(render).rgb, sizeof pictures[i]);
        firn_render_destroy(render);
    }
    assert_memory_equal(pictures[0], pictures[1], sizeof pictures[0]);
    free(h);
}

// --- Sky -----------------------------------------------------------------------------------------

// Light on level ground from the sky alone.
static firn_vec3 from_above(const firn_sky_model *sky)
{
    firn_vec3 sum = {0.0f, 0.0f, 0.0f};
    enum { RAYS = 20000 };
    for (uint64_t i = 0; i < RAYS; i++) {
        firn_random random = firn_random_of(9, i, 0);
        firn_vec3 d =
            firn_around(firn_vec(0.0f, 1.0f, 0.0f), sqrtf(firn_random_unit(&random)), &random);
        sum = firn_add(sum, firn_sky_model_radiance(sky, d));
    }
    return firn_scale(FIRN_PI / RAYS, sum);
}

static void the_sky_gives_level_ground_the_light_that_was_asked_for(void **state)
{
    (void)state;
    const float heights[] = {2.0f, 10.0f, 30.0f, 85.0f}, hazes[] = {1.0f, 2.5f, 8.0f};
    firn_sky_model *sky = malloc(sizeof *sky);
    for (size_t i = 0; i < FIRN_COUNT(heights) * FIRN_COUNT(hazes); i++) {
        float lift = heights[i / 3] * FIRN_PI / 180.0f;
        firn_vec3 sun = {0.0f, sinf(lift), cosf(lift)};
        firn_sky_model_make(sky, sun, hazes[i % 3], 2.0f);
        firn_vec3 all = firn_add_scaled(from_above(sky), sun.y, sky->direct);
        assert_true(fabsf(all.x - 2.0f) < 0.06f && fabsf(all.y - 2.0f) < 0.06f &&
                    fabsf(all.z - 2.0f) < 0.06f);
        // The sky is bluer than the sun.
        firn_vec3 zenith = firn_sky_model_radiance(sky, firn_vec(0.0f, 1.0f, 0.0f));
        assert_true(zenith.z > zenith.x && sky->direct.x > sky->direct.z);
    }
    free(sky);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_finds_what_looking_at_every_grain_finds),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(grains_that_absorb_nothing_are_white_in_a_white_sky),
        cmocka_unit_test(ground_that_absorbs_nothing_is_white_in_a_white_sky),
        cmocka_unit_test(a_grain_keeps_its_glint_wherever_it_is),
        cmocka_unit_test(threads_make_the_same_picture),
        cmocka_unit_test(the_sky_gives_level_ground_the_light_that_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
