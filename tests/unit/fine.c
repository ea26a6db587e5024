// Grains of particles: what they add up to, where they are, and what loose ones do.
#include "clouds.h"

#include "firn/fine.h"

typedef struct grains {
    firn_fine_grains at;
    size_t count;
} grains;

typedef struct snow {
    cloud cloud;
    firn_fine_parents parents;
    float *radius;
    uint32_t *id;
} snow;

static snow snow_of(cloud c, float radius)
{
    snow s = {.cloud = c,
              .radius = malloc(c.points.count * sizeof(float)),
              .id = malloc(c.points.count * sizeof(uint32_t))};
    assert_true(s.radius && s.id);
    for (size_t i = 0; i < c.points.count; i++) {
        s.radius[i] = radius;
        s.id[i] = (uint32_t)(7 * i + 3);
    }
    s.parents = (firn_fine_parents){.count = c.points.count,
                                    .position = c.position,
                                    .velocity = c.velocity,
                                    .mass = c.mass,
                                    .radius = s.radius,
                                    .jp = c.jp,
                                    .id = s.id};
    return s;
}

static void snow_free(snow *s)
{
    cloud_free(&s->cloud);
    free(s->radius);
    free(s->id);
}

static grains make(const firn_fine_def *def, const snow *s)
{
    grains g = {.count = s->parents.count * (size_t)def->children};
    g.at =
        (firn_fine_grains){malloc(g.count * sizeof(firn_vec3)), malloc(g.count * sizeof(firn_vec3)),
                           malloc(g.count * sizeof(float)),     malloc(g.count * sizeof(float)),
                           malloc(g.count * sizeof(float)),     malloc(g.count * sizeof(uint32_t)),
                           malloc(g.count * sizeof(float))};
    firn_error error = {0};
    if (firn_fine_make(def, &s->parents, &g.at, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return g;
}

static void grains_free(grains *g)
{
    free(g->at.position);
    free(g->at.velocity);
    free(g->at.mass);
    free(g->at.radius);
    free(g->at.density);
    free(g->at.id);
    free(g->at.sparkle);
}

// A lattice of 1 cm with 400 kg/m^3; the radius is that of a sphere of 1 cm^3.
static const float lattice_radius = 0.0062035f;
static snow dense_snow(void) { return snow_of(lattice_cloud(16), lattice_radius); }

// Far apart from each other, in flight.
static snow loose_snow(size_t count)
{
    snow s = snow_of(random_cloud(count), lattice_radius);
    for (size_t i = 0; i < count; i++)
        s.cloud.position[i] = firn_scale(20.0f, s.cloud.position[i]);
    return s;
}

static void mass_and_momentum_are_those_of_the_parents(void **state)
{
    (void)state;
    for (int run = 0; run < 6; run++) {
        firn_fine_def def = firn_fine_def_default();
        def.children = (const int[]){8, 33, 200}[run % 3];
        def.size_variation = run < 3 ? 0.0f : 0.8f;
        def.wind = firn_vec(3.0f, -1.0f, 8.0f);
        def.flight = 0.2f;
        def.scatter = run % 2 == 0 ? 0.0f : 0.3f;
        snow s = loose_snow(500);
        grains g = make(&def, &s);
        bool scattered = false;
        for (size_t i = 0; i < s.parents.count; i++) {
            double mass = 0.0, momentum[3] = {0}, middle[3] = {0};
            double volume = 0.0, own = pow((double)s.radius[i], 3.0);
            firn_vec3 v = s.cloud.velocity[i], x = s.cloud.position[i];
            for (size_t k = i * (size_t)def.children; k < (i + 1) * (size_t)def.children; k++) {
                double m = (double)g.at.mass[k];
                mass += m;
                volume += pow((double)g.at.radius[k], 3.0);
                for (int axis = 0; axis < 3; axis++) {
                    momentum[axis] += m * (double)(&g.at.velocity[k].x)[axis];
                    middle[axis] += m * (double)(&g.at.position[k].x)[axis];
                }
                scattered = scattered || fabsf(g.at.velocity[k].x - v.x) > 0.1f;
            }
            assert_true(fabs(mass / (double)s.cloud.mass[i] - 1.0) < 1e-6);
            assert_true(fabs(volume / own - 1.0) < 1e-5);
            for (int axis = 0; axis < 3; axis++) {
                assert_true(fabs(momentum[axis] / mass - (double)(&v.x)[axis]) < 1e-5);
                assert_true(fabs(middle[axis] / mass - (double)(&x.x)[axis]) < 1e-5);
            }
        }
        assert_true(scattered);
        grains_free(&g);
        snow_free(&s);
    }
}

static void grains_of_dense_snow_stay_in_their_cells_and_move_with_them(void **state)
{
    (void)state;
    firn_fine_def def = firn_fine_def_default();
    snow s = dense_snow();
    grains g = make(&def, &s);
    int inside = 0;
    for (size_t k = 0; k < g.count; k++) {
        size_t i = k / (size_t)def.children;
        firn_vec3 x = s.cloud.position[i];
        bool deep = true;
        for (int axis = 0; axis < 3; axis++)
            deep = deep && (&x.x)[axis] > 0.03f && (&x.x)[axis] < 0.29f;
        if (!deep)
            continue;
        inside++;
        float edge = 0.01f * cbrtf(s.cloud.jp[i]);
        assert_true(firn_length(firn_sub(g.at.position[k], x)) < 0.7501f * edge);
        assert_memory_equal(&g.at.velocity[k], &s.cloud.velocity[i], sizeof(firn_vec3));
        assert_true(fabsf(g.at.density[k] - 400.0f / s.cloud.jp[i]) < 0.5f);
    }
    assert_true(inside > 100000);
    grains_free(&g);
    snow_free(&s);
}

// A flake for each 20 cm: all its grains within `scatter`, most of them far out, as in a full ball.
static void a_lone_flake_becomes_a_flurry_and_packed_snow_does_not(void **state)
{
    (void)state;
    firn_fine_def def = firn_fine_def_default();
    def.children = 200;
    def.flight = 0.0f;
    snow flake = loose_snow(1), packed = dense_snow();
    grains still = make(&def, &packed);
    def.scatter = 0.2f;
    grains g = make(&def, &flake), same = make(&def, &packed);
    double square = 0.0;
    for (size_t k = 0; k < g.count; k++) {
        float far = firn_length(firn_sub(g.at.position[k], flake.cloud.position[0]));
        assert_true(far < def.scatter + 0.05f);
        square += (double)(far * far) / (double)g.count;
    }
    assert_true(fabs(sqrt(square) / (double)def.scatter / sqrt(0.6) - 1.0) < 0.1);
    size_t middle = (size_t)(8 * 16 * 16 + 8 * 16 + 8) * 200;
    assert_memory_equal(&same.at.position[middle], &still.at.position[middle],
                        200 * sizeof(firn_vec3));
    grains_free(&g);
    grains_free(&still);
    grains_free(&same);
    snow_free(&flake);
    snow_free(&packed);
}

// Counted in cubes of 8 cm, which are eight voxels of 1 cm.
static void mass_stays_where_the_particles_are(void **state)
{
    (void)state;
    firn_fine_def def = firn_fine_def_default();
    def.children = 64;
    snow s = dense_snow();
    for (size_t i = 0; i < s.parents.count; i++)
        s.cloud.jp[i] = 1.0f;
    grains g = make(&def, &s);
    double mass[4][4][4] = {{{0}}};
    for (size_t k = 0; k < g.count; k++) {
        firn_vec3 x = firn_scale(12.5f, g.at.position[k]);
        if (x.x > 0.0f && x.x < 4.0f && x.y > 0.0f && x.y < 4.0f && x.z > 0.0f && x.z < 4.0f)
            mass[(int)x.x][(int)x.y][(int)x.z] += (double)g.at.mass[k];
    }
    for (int i = 1; i < 3; i++)
        for (int j = 1; j < 3; j++)
            for (int k = 1; k < 3; k++)
                assert_true(fabs(mass[i][j][k] / (512.0 * (double)s.cloud.mass[0]) - 1.0) < 0.02);
    grains_free(&g);
    snow_free(&s);
}

// How far the grains of a loose cell are from their places in a dense one.
static void displacements(const snow *s, firn_vec3 *moved, int children)
{
    firn_fine_def def = firn_fine_def_default();
    def.children = children;
    def.flight = 0.0f;
    def.spread = 1.0f;
    grains closed = make(&def, s);
    def.spread = 3.0f;
    grains open = make(&def, s);
    for (size_t k = 0; k < open.count; k++)
        moved[k] = firn_sub(open.at.position[k], closed.at.position[k]);
    grains_free(&open);
    grains_free(&closed);
}

// Those that move as one are a crumb: one of a third, single grains, and some between.
static void loose_cells_come_apart_in_crumbs_of_all_sizes(void **state)
{
    (void)state;
    enum { CHILDREN = 60, PARTICLES = 40 };
    static firn_vec3 moved[CHILDREN * PARTICLES];
    snow s = loose_snow(PARTICLES);
    displacements(&s, moved, CHILDREN);
    for (int i = 0; i < PARTICLES; i++) {
        int sizes[CHILDREN] = {0}, crumbs = 0, single = 0, largest = 0;
        const firn_vec3 *own = &moved[i * CHILDREN];
        for (int k = 0; k < CHILDREN; k++) {
            int first = 0;
            while (firn_length(firn_sub(own[k], own[first])) > 2e-6f)
                first++;
            sizes[first]++;
        }
        for (int k = 0; k < CHILDREN; k++) {
            crumbs += sizes[k] > 0;
            single += sizes[k] == 1;
            largest = sizes[k] > largest ? sizes[k] : largest;
        }
        assert_int_equal(largest, CHILDREN / 3);
        assert_true(single >= 2 && crumbs - single >= 3);
    }
    snow_free(&s);
}

// Nobody shall find the same cluster twice: how far it opens, and in what pattern, differ.
static void loose_cells_differ(void **state)
{
    (void)state;
    enum { CHILDREN = 60, PARTICLES = 40 };
    static firn_vec3 moved[CHILDREN * PARTICLES];
    snow s = loose_snow(PARTICLES);
    displacements(&s, moved, CHILDREN);
    float shape[PARTICLES], farthest[PARTICLES];
    for (int i = 0; i < PARTICLES; i++) {
        float sum = farthest[i] = 0.0f;
        for (int k = 0; k < CHILDREN; k++) {
            float length = firn_length(moved[i * CHILDREN + k]);
            farthest[i] = fmaxf(farthest[i], length);
            sum += length;
        }
        shape[i] = sum / farthest[i];
    }
    float least = farthest[0], most = farthest[0];
    int alike = 0;
    for (int i = 0; i < PARTICLES; i++) {
        least = fminf(least, farthest[i]);
        most = fmaxf(most, farthest[i]);
        for (int k = 0; k < i; k++)
            alike += fabsf(shape[i] / shape[k] - 1.0f) < 1e-4f;
    }
    assert_true(most > 4.0f * least);
    // Sixteen patterns: one pair of sixteen shares its own.
    assert_true(alike < PARTICLES * (PARTICLES - 1) / 2 / 8);
    snow_free(&s);
}

static firn_mat3 turned(float angle)
{
    firn_mat3 m = {{cosf(angle), -sinf(angle), 0, sinf(angle), cosf(angle), 0, 0, 0, 1}};
    return m;
}

static void cells_turn_and_stretch_with_the_deformation(void **state)
{
    (void)state;
    firn_fine_def def = firn_fine_def_default();
    snow s = dense_snow();
    firn_mat3 *f = malloc(s.parents.count * sizeof *f);
    assert_non_null(f);
    grains still = make(&def, &s);
    firn_mat3 wide = {{1.2f, 0, 0, 0, 0.9f, 0, 0, 0.1f, 1.0f}};
    const firn_mat3 cases[] = {turned(0.7f), turned(6.2831853f), wide};
    for (size_t n = 0; n < FIRN_COUNT(cases); n++) {
        for (size_t i = 0; i < s.parents.count; i++)
            f[i] = cases[n];
        s.parents.deformation = f;
        grains moved = make(&def, &s);
        for (size_t k = 0; k < moved.count; k += 17) {
            size_t i = k / (size_t)def.children;
            firn_vec3 x = s.cloud.position[i];
            if (!(x.x > 0.03f && x.x < 0.29f && x.y > 0.03f && x.y < 0.29f && x.z > 0.03f &&
                  x.z < 0.29f))
                continue;
            firn_vec3 offset = firn_sub(still.at.position[k], x);
            firn_vec3 miss =
                firn_sub(firn_sub(moved.at.position[k], x), firn_mul(cases[n], offset));
            assert_true(firn_length(miss) < 1e-4f * 0.01f);
        }
        grains_free(&moved);
    }
    grains_free(&still);
    free(f);
    snow_free(&s);
}

// For times that are short for the air, velocities differ as T and places as T^2.
static void loose_grains_drift_apart_as_drag_makes_them(void **state)
{
    (void)state;
    snow s = loose_snow(50);
    double lag[2] = {0}, trail[2] = {0};
    firn_fine_def def = firn_fine_def_default();
    def.flight = 0.0f;
    grains start = make(&def, &s);
    for (int run = 0; run < 2; run++) {
        def.flight = run == 0 ? 0.002f : 0.004f;
        grains g = make(&def, &s);
        for (size_t k = 0; k < g.count; k++) {
            firn_vec3 v = s.cloud.velocity[k / (size_t)def.children];
            firn_vec3 slow = firn_sub(g.at.velocity[k], v);
            firn_vec3 off = firn_sub(g.at.position[k], start.at.position[k]);
            lag[run] += (double)firn_length(slow);
            trail[run] += (double)firn_length(off);
            // Both along the wind that the grain feels.
            assert_true(firn_length(firn_cross(slow, v)) < 1e-4f * firn_dot(v, v));
        }
        grains_free(&g);
    }
    assert_true(fabs(lag[1] / lag[0] - 2.0) < 0.1);
    assert_true(fabs(trail[1] / trail[0] - 4.0) < 0.2);
    grains_free(&start);
    snow_free(&s);
}

static void small_grains_lag_behind_large_ones(void **state)
{
    (void)state;
    snow s = loose_snow(1);
    firn_fine_def def = firn_fine_def_default();
    def.children = 200;
    def.size_variation = 0.8f;
    grains g = make(&def, &s);
    double forward[2] = {0};
    for (int k = 0; k < def.children; k++)
        forward[k >= def.children / 2] +=
            (double)firn_dot(g.at.velocity[k], firn_normalize(s.cloud.velocity[0]));
    assert_true(g.at.radius[0] < 0.5f * g.at.radius[def.children - 1]);
    assert_true(forward[0] < forward[1]);
    grains_free(&g);
    snow_free(&s);
}

static void grains_have_ids_and_sparkle_of_their_own(void **state)
{
    (void)state;
    firn_fine_def def = firn_fine_def_default();
    snow s = loose_snow(3000);
    grains g = make(&def, &s);
    int bins[10] = {0};
    for (size_t k = 0; k < g.count; k++) {
        assert_int_equal(g.at.id[k] / (uint32_t)def.children, s.id[k / (size_t)def.children]);
        assert_int_equal(g.at.id[k] % (uint32_t)def.children, k % (size_t)def.children);
        assert_true(g.at.sparkle[k] >= 0.0f && g.at.sparkle[k] < 1.0f);
        bins[(int)(10.0f * g.at.sparkle[k])]++;
    }
    for (int i = 0; i < 10; i++)
        assert_true(abs(bins[i] - (int)g.count / 10) < (int)g.count / 100);
    // Another frame: other places, the same sparkle.
    for (size_t i = 0; i < s.parents.count; i++)
        s.cloud.position[i] = firn_scale(0.5f, s.cloud.position[i]);
    grains later = make(&def, &s);
    assert_memory_equal(later.at.sparkle, g.at.sparkle, g.count * sizeof(float));
    grains_free(&later);
    grains_free(&g);
    snow_free(&s);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    snow s = snow_of(random_cloud(20000), lattice_radius);
    firn_fine_def def = firn_fine_def_default();
    def.thread_count = 1;
    grains one = make(&def, &s);
    for (int threads = 2; threads <= 5; threads += 3) {
        def.thread_count = threads;
        grains g = make(&def, &s);
        assert_memory_equal(g.at.position, one.at.position, g.count * sizeof(firn_vec3));
        assert_memory_equal(g.at.velocity, one.at.velocity, g.count * sizeof(firn_vec3));
        assert_memory_equal(g.at.mass, one.at.mass, g.count * sizeof(float));
        assert_memory_equal(g.at.density, one.at.density, g.count * sizeof(float));
        grains_free(&g);
    }
    grains_free(&one);
    snow_free(&s);
}

// Nothing pops: grains of particles that move a little move a little.
static void grains_follow_without_jumps(void **state)
{
    (void)state;
    snow s = snow_of(random_cloud(20000), lattice_radius); // half as dense as loose snow
    firn_fine_def def = firn_fine_def_default();
    grains before = make(&def, &s);
    for (size_t i = 0; i < s.parents.count; i++)
        s.cloud.position[i] = firn_add_scaled(s.cloud.position[i], 1e-5f, s.cloud.velocity[i]);
    grains after = make(&def, &s);
    for (size_t k = 0; k < before.count; k++) {
        firn_vec3 step = firn_sub(after.at.position[k], before.at.position[k]);
        assert_true(firn_length(step) < 1e-3f);
    }
    grains_free(&before);
    grains_free(&after);
    snow_free(&s);
}

static void assert_refused(const firn_fine_def *def, const snow *s, const char *words)
{
    firn_error error = {0};
    firn_fine_grains none = {0};
    assert_int_equal(firn_fine_make(def, &s->parents, &none, &error), FIRN_ERR_ARGUMENT);
    if (strstr(error.message, words) == NULL)
        fail_msg("'%s' says nothing about '%s'", error.message, words);
}

static void bad_particles_are_refused(void **state)
{
    (void)state;
    snow s = loose_snow(10);
    firn_fine_def def = firn_fine_def_default();
    s.id[3] = UINT32_MAX / 8;
    assert_refused(&def, &s, "fewer children");
    s.id[3] = 1000;
    s.cloud.velocity[4].y = NAN;
    assert_refused(&def, &s, "particle 4 has a velocity");
    s.cloud.velocity[4].y = 0.0f;
    s.cloud.jp[5] = 0.0f;
    assert_refused(&def, &s, "particle 5 has a plastic volume ratio of 0");
    s.cloud.jp[5] = 1.0f;
    s.cloud.mass[6] = -1.0f;
    assert_refused(&def, &s, "particle 6 has a mass of -1");
    s.cloud.mass[6] = 1.0f;
    s.radius[7] = -2.0f;
    assert_refused(&def, &s, "radius of -2");
    for (size_t i = 0; i < s.parents.count; i++)
        s.radius[i] = 0.0f;
    assert_refused(&def, &s, "give its cell_size");
    def.children = 4;
    assert_refused(&def, &s, "children");
    snow_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_and_momentum_are_those_of_the_parents),
        cmocka_unit_test(grains_of_dense_snow_stay_in_their_cells_and_move_with_them),
        cmocka_unit_test(a_lone_flake_becomes_a_flurry_and_packed_snow_does_not),
        cmocka_unit_test(mass_stays_where_the_particles_are),
        cmocka_unit_test(loose_cells_come_apart_in_crumbs_of_all_sizes),
        cmocka_unit_test(loose_cells_differ),
        cmocka_unit_test(cells_turn_and_stretch_with_the_deformation),
        cmocka_unit_test(loose_grains_drift_apart_as_drag_makes_them),
        cmocka_unit_test(small_grains_lag_behind_large_ones),
        cmocka_unit_test(grains_have_ids_and_sparkle_of_their_own),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(grains_follow_without_jumps),
        cmocka_unit_test(bad_particles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
