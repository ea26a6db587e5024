/// Snow at rest: it carries its own weight, and without forces nothing moves.
#include "scene.h"

// A column of 2 x 2 cells in smooth walls, standing on the floor.
// In the cells at the floor the nodes behind it, which cannot move, make the stress swing from one
// particle layer to the next; only the mean of these layers means something.
enum { LAYERS = 12, BOUNDARY_LAYERS = 3 };
static const float CELL = 0.02f;
static const float WIDTH = 0.04f;
static const double HEIGHT = LAYERS * 0.02;

typedef struct profile {
    double stress[LAYERS], weight[LAYERS]; // Pa; of the samples
} profile;

// Elastic vibrations average out under a smooth window, so that what never settles can be measured.
static void add_sample(scene *s, profile *p, double window)
{
    firn_material_def material = firn_material_def_default();
    scene_read(s);
    for (size_t i = 0; i < s->particles.count; i++) {
        int layer = (int)(s->position[i].y / CELL);
        if (layer < 0 || layer >= LAYERS)
            continue;
        p->stress[layer] += window * scene_stress_yy(s, &material, i);
        p->weight[layer] += window;
    }
}

static void column_carries_its_weight(const method *m)
{
    firn_sim_def def = scene_def(m, CELL);
    def.dt_max = 5e-4f;
    scene s = scene_open(&def);
    firn_vec3 lower = {0.0f, 0.0f, 0.0f}, upper = {WIDTH, (float)HEIGHT, WIDTH};
    firn_source_def box = scene_box(lower, upper);
    scene_source(&s, &box);
    scene_walls(&s, lower, upper);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.0f);
    profile p = {.weight = {0.0}};
    const int samples = 45;
    for (int i = 0; i < samples; i++) {
        scene_step(&s, 4e-3);
        double phase = (i + 0.5) / samples;
        add_sample(&s, &p, 1.0 - cos(2.0 * 3.141592653589793 * phase));
    }
    const double rho_g = 400.0 * 9.81;
    double worst = 0.0, near_floor = 0.0, sy = 0.0, syy = 0.0, st = 0.0, sty = 0.0;
    for (int i = 0; i < LAYERS; i++) {
        double y = (i + 0.5) * (double)CELL, stress = -p.stress[i] / p.weight[i];
        double off = (stress - rho_g * (HEIGHT - y)) / (rho_g * HEIGHT);
        if (i < BOUNDARY_LAYERS) {
            near_floor += off / BOUNDARY_LAYERS;
            continue;
        }
        const double n = LAYERS - BOUNDARY_LAYERS;
        worst = fmax(worst, fabs(off));
        sy += y / n;
        syy += y * y / n;
        st += stress / n;
        sty += stress * y / n;
    }
    double slope = (sty - st * sy) / (syy - sy * sy);
    double floor_force = (st - slope * sy) * WIDTH * WIDTH;
    totals t = scene_totals(&s);
    print_message("%s: worst layer off by %.2f %% of rho g h, layers at the floor by %.2f %% on "
                  "average; on the floor %.4f of the weight\n",
                  m->name, 100.0 * worst, 100.0 * near_floor, floor_force / (t.mass * 9.81));
    assert_true(worst < 0.02);
    assert_true(fabs(near_floor) < 0.08);
    assert_true(fabs(floor_force / (t.mass * 9.81) - 1.0) < 0.02);
    assert_true(t.min_jp == 1.0 && t.max_jp == 1.0);
    scene_close(&s);
}

static void resting_column_carries_rho_g_h(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(METHODS); i++)
        column_carries_its_weight(&METHODS[i]);
}

static void jittered_snow_without_forces_stays_still(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(METHODS); i++) {
        firn_sim_def def = scene_def(&METHODS[i], CELL);
        def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
        scene s = scene_open(&def);
        firn_source_def ball = firn_source_def_sphere(firn_vec(0.013f, 0.2f, 0.007f), 0.08f);
        ball.jitter = 1.0f;
        scene_source(&s, &ball);
        scene_step(&s, 0.05);
        scene_read(&s);
        totals t = scene_totals(&s);
        double speed = sqrt(2.0 * t.kinetic / t.mass);
        print_message("%s: %zu particles move at %.2g m/s after 50 ms\n", METHODS[i].name,
                      s.particles.count, speed);
        assert_true(speed < 1e-6);
        assert_true(t.min_jp == 1.0 && t.max_jp == 1.0);
        scene_close(&s);
    }
}

// The particles' volumes within a ball, against the mean volume of those deep inside.
typedef struct volumes {
    double sum, inner_mean, inner_worst; // m^3; of the lattice share; relative
} volumes;

static volumes find_volumes(int volume, int kernel, float jitter)
{
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    def.kernel = kernel;
    def.volume = volume;
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    scene s = scene_open(&def);
    firn_vec3 center = {0.013f, 0.2f, 0.007f};
    firn_source_def ball = firn_source_def_sphere(center, 0.12f);
    ball.jitter = jitter;
    scene_source(&s, &ball);
    scene_step(&s, 1e-4);
    scene_read(&s);
    double share = pow(CELL, 3) / 8.0, inner = 0.0;
    volumes v = {.sum = scene_totals(&s).volume};
    for (size_t i = 0; i < s.particles.count; i++) {
        if (firn_length(firn_sub(s.position[i], center)) > 0.12f - 4.0f * CELL)
            continue;
        double ratio = s.particles.volume[i] / share;
        v.inner_mean += ratio;
        v.inner_worst = fmax(v.inner_worst, fabs(ratio - 1.0));
        inner += 1.0;
    }
    v.inner_mean /= inner;
    scene_close(&s);
    return v;
}

// A block set down: how fast its fastest particle is after a quarter of a second.
static double speed_after_a_while(float tolerance)
{
    firn_sim_def def = scene_def(&METHODS[1], CELL);
    def.dt_max = 5e-4f;
    def.tolerance = tolerance;
    scene s = scene_open(&def);
    firn_source_def box = scene_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.2f, 0.2f, 0.2f));
    scene_source(&s, &box);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
    double first = 0.0, speed = 0.0;
    for (int i = 0; i < 25; i++) {
        scene_step(&s, 0.01);
        firn_step_stats stats = firn_sim_stats(s.sim);
        double energy = stats.kinetic + stats.elastic + stats.potential;
        first = i == 0 ? energy : first;
        if (!(energy <= first * (1.0 + 1e-5)))
            fail_msg("energy rises from %g to %g J", first, energy);
        speed = stats.max_speed;
    }
    scene_close(&s);
    return speed;
}

// The default tolerance takes no starting guess for a solution.
static void implicit_snow_comes_to_rest_as_if_solved_exactly(void **state)
{
    (void)state;
    double exact = speed_after_a_while(1e-5f);
    double usual = speed_after_a_while(firn_sim_def_default().tolerance);
    if (!(usual < 1.5 * exact))
        fail_msg("%g m/s instead of %g", usual, exact);
}

static void volumes_sum_to_the_region(void **state)
{
    (void)state;
    const double ball = 4.0 / 3.0 * 3.141592653589793 * 1.728e-3;
    for (int kernel = 0; kernel < 2; kernel++) {
        volumes seed = find_volumes(FIRN_VOLUME_SEED, kernel, 0.5f);
        volumes lattice = find_volumes(FIRN_VOLUME_GRID, kernel, 0.0f);
        volumes jittered = find_volumes(FIRN_VOLUME_GRID, kernel, 0.5f);
        print_message("%s: seeded volume %.5f of the ball; from the grid inside: lattice off by "
                      "%.2g, jittered by %.3f at most and %.4f on average\n",
                      kernel == FIRN_KERNEL_CUBIC ? "cubic" : "quadratic", seed.sum / ball,
                      lattice.inner_worst, jittered.inner_worst, jittered.inner_mean - 1.0);
        assert_true(fabs(seed.sum / ball - 1.0) < 5e-3);
        assert_true(lattice.inner_worst < 1e-4);
        assert_true(jittered.inner_worst < 0.15);
        assert_true(fabs(jittered.inner_mean - 1.0) < 0.01);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resting_column_carries_rho_g_h),
        cmocka_unit_test(jittered_snow_without_forces_stays_still),
        cmocka_unit_test(implicit_snow_comes_to_rest_as_if_solved_exactly),
        cmocka_unit_test(volumes_sum_to_the_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
