/// Elastic snow: waves run at the speed of the stiffness, and both integrators tell the same story.
#include "scene.h"

// A bar of 84 x 2 x 2 cells along x in smooth walls: its sides cannot give way, so that waves keep
// their shape and run at sqrt(M / rho) with M = E (1 - nu) / ((1 + nu) (1 - 2 nu)). A free rod
// would add the error of its surface, a cell deep, to what is measured.
static const float CELL = 0.01f;
enum { SLICES = 84 };
static const double PEAK = 0.02; // m/s, strain 5e-4: far below yield

// A hump of velocity around the middle runs apart into two, which carry half of it each.
static double hump(double x)
{
    double d = x / (5.0 * (double)CELL);
    return PEAK * exp(-d * d);
}

static scene bar(const method *m, float dt)
{
    firn_sim_def def = scene_def(m, CELL);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    def.flip_ratio = 1.0f;
    def.beta = 0.5f;
    def.dt_max = dt;
    def.tolerance = 1e-6f;
    scene s = scene_open(&def);
    for (int i = 0; i < SLICES; i++) {
        float x = CELL * (float)(i - SLICES / 2);
        firn_source_def slice =
            scene_box(firn_vec(x, 0.0f, 0.0f), firn_vec(x + CELL, 2.0f * CELL, 2.0f * CELL));
        slice.velocity.x = (float)hump((double)x + 0.5 * (double)CELL);
        scene_source(&s, &slice);
    }
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(&s, firn_vec(0.0f, -1.0f, 0.0f), -2.0f * CELL, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(&s, firn_vec(0.0f, 0.0f, 1.0f), 0.0f, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(&s, firn_vec(0.0f, 0.0f, -1.0f), -2.0f * CELL, FIRN_CONTACT_SLIP, 0.0f);
    return s;
}

// Where the hump that runs to the right is: the center of v^2 there (m).
static double hump_place(scene *s)
{
    scene_read(s);
    double sum = 0.0, moment = 0.0;
    for (size_t i = 0; i < s->particles.count; i++) {
        double v = s->velocity[i].x, x = s->position[i].x;
        if (x < 0.0)
            continue;
        sum += v * v;
        moment += v * v * x;
    }
    return moment / sum;
}

static void waves_run_at_the_speed_of_sound(void **state)
{
    (void)state;
    firn_material_def material = firn_material_def_default();
    double c = sqrt(material_confined(&material) / material.density);
    for (size_t i = 0; i < FIRN_COUNT(METHODS); i++) {
        scene s = bar(&METHODS[i], 1e-4f);
        scene_step(&s, 0.1 / c);
        double from = hump_place(&s);
        scene_step(&s, 0.2 / c);
        double to = hump_place(&s);
        double speed = (to - from) / (0.2 / c);
        print_message("%s: %.2f m/s, expected %.2f\n", METHODS[i].name, speed, c);
        assert_true(fabs(speed / c - 1.0) < 0.05);
        assert_true(scene_totals(&s).min_jp == 1.0 && scene_totals(&s).max_jp == 1.0);
        scene_close(&s);
    }
}

// A free ball that was hit on one side: it deforms, rings and turns, all below yield.
typedef struct ringing {
    double energy[2]; // J, kinetic and elastic, at first and in the end
    size_t count;
    firn_vec3 *position; // m, by id
} ringing;

static firn_material_def rubber(void)
{
    firn_material_def def = firn_material_def_default();
    def.critical_compression = 0.5f;
    def.critical_stretch = 0.5f;
    def.damping = 0.0f;
    return def;
}

static double energy(const scene *s)
{
    firn_step_stats stats = firn_sim_stats(s->sim);
    return stats.kinetic + stats.elastic;
}

static ringing ring(const method *m, float dt, float beta, double seconds)
{
    firn_sim_def def = scene_def(m, 0.02f);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    def.flip_ratio = 1.0f;
    def.beta = beta;
    def.dt_max = dt;
    def.tolerance = 1e-6f;
    scene s = scene_open(&def);
    firn_material_def material = rubber();
    firn_material_id id = scene_material(&s, &material);
    for (int side = -1; side < 2; side += 2) {
        float x = 0.08f * (float)side;
        firn_source_def half =
            scene_box(firn_vec(fminf(x, 0.0f), 0.0f, 0.0f), firn_vec(fmaxf(x, 0.0f), 0.08f, 0.08f));
        half.velocity = firn_vec(-0.5f * (float)side, 0.0f, 0.0f);
        half.material = id;
        scene_source(&s, &half);
    }
    ringing r = {.count = firn_sim_particles(s.sim).count};
    scene_step(&s, 2e-3);
    r.energy[0] = energy(&s);
    scene_step(&s, seconds - 2e-3);
    r.energy[1] = energy(&s);
    scene_read(&s);
    r.position = malloc(r.count * sizeof *r.position);
    for (size_t i = 0; i < r.count; i++)
        r.position[s.particles.id[i]] = s.position[i];
    scene_close(&s);
    return r;
}

static double distance(const ringing *a, const ringing *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < a->count; i++) {
        firn_vec3 d = firn_sub(a->position[i], b->position[i]);
        sum += firn_dot(d, d);
    }
    return sqrt(sum / (double)a->count);
}

static void explicit_and_implicit_agree_as_the_step_shrinks(void **state)
{
    (void)state;
    for (int transfer = 0; transfer < 2; transfer++) {
        method exact = METHODS[0], solved = METHODS[1];
        exact.transfer = solved.transfer = transfer;
        double last = 0.0;
        for (int i = 0; i < 3; i++) {
            float dt = 2e-4f / (float)(1 << i);
            ringing a = ring(&exact, dt, 1.0f, 8e-3), b = ring(&solved, dt, 1.0f, 8e-3);
            double apart = distance(&a, &b) / 0.02;
            print_message("%s, dt %g s: %.5f cells apart; energy %.6f and %.6f J\n",
                          transfer == FIRN_TRANSFER_FLIP ? "FLIP" : "APIC", (double)dt, apart,
                          a.energy[1], b.energy[1]);
            if (i > 0)
                assert_true(apart < 0.6 * last);
            last = apart;
            free(a.position);
            free(b.position);
        }
        assert_true(last < 2e-3);
    }
}

static void trapezoidal_rule_keeps_more_energy_than_backward_euler(void **state)
{
    (void)state;
    for (int i = 1; i < (int)FIRN_COUNT(METHODS); i += 2) {
        ringing half = ring(&METHODS[i], 5e-4f, 0.5f, 2e-2);
        ringing full = ring(&METHODS[i], 5e-4f, 1.0f, 2e-2);
        double kept_half = half.energy[1] / half.energy[0];
        double kept_full = full.energy[1] / full.energy[0];
        print_message("%s: after 20 ms beta 1/2 keeps %.3f of the energy, beta 1 %.3f\n",
                      METHODS[i].name, kept_half, kept_full);
        assert_true(kept_half > kept_full + 0.05);
        assert_true(kept_half < 1.02);
        free(half.position);
        free(full.position);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_run_at_the_speed_of_sound),
        cmocka_unit_test(explicit_and_implicit_agree_as_the_step_shrinks),
        cmocka_unit_test(trapezoidal_rule_keeps_more_energy_than_backward_euler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
