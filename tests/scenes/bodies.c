/// Snow and bodies: momentum, weight, thin plates, the same bits.
#include "body_scene.h"

static const float CELL = 0.05f;

/// Momentum, and angular momentum about the origin.
typedef struct momenta {
    double linear[3], angular[3];
} momenta;

static void add_momentum(momenta *sum, const double x[3], const double p[3])
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        sum->linear[i] += p[i];
        sum->angular[i] += x[j] * p[k] - x[k] * p[j];
    }
}

// That of the snow: APIC's affine part carries spin of each particle.
static momenta of_snow(scene *s)
{
    momenta sum = {{0}, {0}};
    scene_read(s);
    size_t n = s->particles.count;
    firn_mat3 *affine = malloc(n * sizeof *affine);
    scene_check(s, firn_sim_read(s->sim, FIRN_AFFINE, 0, n, affine, &s->error));
    double d = 0.25 * (double)CELL * (double)CELL; // of the quadratic kernel
    for (size_t i = 0; i < n; i++) {
        double m = s->particles.mass[i];
        firn_vec3 r = s->position[i], v = s->velocity[i];
        const double x[3] = {r.x, r.y, r.z}, p[3] = {m * v.x, m * v.y, m * v.z};
        add_momentum(&sum, x, p);
        const float *c = affine[i].m;
        sum.angular[0] += m * d * (double)(c[7] - c[5]);
        sum.angular[1] += m * d * (double)(c[2] - c[6]);
        sum.angular[2] += m * d * (double)(c[3] - c[1]);
    }
    free(affine);
    return sum;
}

static void add_body_momentum(scene *s, firn_body_id id, momenta *sum)
{
    firn_body_state b = state_of(s, id);
    firn_body_mass m;
    scene_check(s, firn_sim_body_mass(s->sim, id, &m, &s->error));
    const double p[3] = {m.mass * b.velocity[0], m.mass * b.velocity[1], m.mass * b.velocity[2]};
    add_momentum(sum, b.center, p);
    // A cube: its inertia is the same about all axes.
    for (int i = 0; i < 3; i++)
        sum->angular[i] += m.inertia[0] * b.angular_velocity[i];
}

static double largest_difference(const double a[3], const double b[3])
{
    double most = 0.0;
    for (int i = 0; i < 3; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

// Snow at 1 m/s meets a free cube off its middle.
static void hit(int integrator, double ratio)
{
    firn_sim_def def = scene_def(&METHODS[integrator], CELL);
    def.gravity = firn_vec(0, 0, 0);
    scene s = scene_open(&def);
    firn_source_def snow = scene_box(firn_vec(-0.3f, -0.1f, -0.1f), firn_vec(-0.1f, 0.1f, 0.1f));
    snow.velocity = firn_vec(1.0f, 0, 0);
    scene_source(&s, &snow);
    scene_read(&s);
    double mass = scene_totals(&s).mass, fastest = 0.0;
    firn_body_def cube = box_def(firn_vec(0.06f, 0.05f, 0), firn_vec(0.15f, 0.15f, 0.15f));
    cube.mass = (float)(ratio * mass);
    cube.shape.friction = 0.3f;
    firn_body_id id = add_body(&s, &cube);
    momenta before = of_snow(&s), after;
    for (int i = 0; i < 8; i++) {
        scene_step(&s, 0.02);
        fastest = fmax(fastest, state_of(&s, id).velocity[0]);
    }
    after = of_snow(&s);
    add_body_momentum(&s, id, &after);
    double p = largest_difference(after.linear, before.linear) / mass;
    double l = largest_difference(after.angular, before.angular) / (mass * 0.3);
    double limit = 2.0 / (1.0 + ratio);
    print_message("%s, %6.2f x: momentum %.1e, angular %.1e, cube %.4f of %.4f m/s\n",
                  METHODS[integrator].name, ratio, p, l, fastest, limit);
    // Forces of the implicit step are those of where the snow is going, at the places where it was:
    // angular momentum is not theirs to keep.
    assert_true(p < 1e-6);
    assert_true(l < (integrator == 0 ? 1e-6 : 1e-3));
    assert_true(fastest > 0.2 * limit && fastest < limit);
    scene_close(&s);
}

static void snow_and_a_free_box_share_their_momentum(void **state)
{
    (void)state;
    const double ratios[] = {0.01, 0.1, 1.0, 10.0, 100.0};
    for (int i = 0; i < 5; i++)
        hit(0, ratios[i]);
    for (int i = 0; i < 5; i++)
        hit(1, ratios[i]);
}

static bool count_rejected(const firn_step_stats *stats, void *user)
{
    *(int *)user += stats->rejected;
    return true;
}

// A solve that may not iterate much fails, and the substep is tried again, half as long: whatever
// was found before is forgotten.
static void rejected_substeps_move_nothing(void **state)
{
    (void)state;
    uint64_t expected = 0;
    for (int threads = 1; threads <= 3; threads++) {
        firn_sim_def def = scene_def(&METHODS[1], CELL);
        def.gravity = firn_vec(0, 0, 0);
        def.max_iterations = 4;
        def.dt_max = 2e-3f;
        def.thread_count = threads;
        scene s = scene_open(&def);
        firn_source_def snow =
            scene_box(firn_vec(-0.3f, -0.1f, -0.1f), firn_vec(-0.1f, 0.1f, 0.1f));
        snow.velocity = firn_vec(3.0f, 0, 0);
        scene_source(&s, &snow);
        scene_read(&s);
        double mass = scene_totals(&s).mass;
        firn_body_def cube = box_def(firn_vec(0.06f, 0.05f, 0), firn_vec(0.15f, 0.15f, 0.15f));
        cube.mass = (float)mass;
        firn_body_id id = add_body(&s, &cube);
        momenta before = of_snow(&s);
        int rejected = 0;
        firn_sim_set_progress(s.sim, count_rejected, &rejected);
        scene_step(&s, 0.08);
        momenta after = of_snow(&s);
        add_body_momentum(&s, id, &after);
        double p = largest_difference(after.linear, before.linear) / (3.0 * mass);
        print_message("%d rejected, momentum %.1e\n", rejected, p);
        assert_true(rejected > 0);
        assert_true(p < 1e-6);
        expected = threads == 1 ? firn_sim_hash(s.sim) : expected;
        assert_true(firn_sim_hash(s.sim) == expected);
        scene_close(&s);
    }
}

static void a_box_at_rest_weighs_on_snow_what_it_weighs(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        firn_sim_def def = scene_def(&METHODS[i], CELL);
        scene s = scene_open(&def);
        scene_plane(&s, firn_vec(0, 1, 0), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
        firn_source_def snow = scene_box(firn_vec(-0.3f, 0, -0.3f), firn_vec(0.3f, 0.15f, 0.3f));
        scene_source(&s, &snow);
        firn_body_def box = box_def(firn_vec(0, 0.26f, 0), firn_vec(0.15f, 0.1f, 0.15f));
        box.mass = 10.0f;
        firn_body_id id = add_body(&s, &box);
        scene_step(&s, 1.0);
        double y = state_of(&s, id).center[1];
        firn_collider_force force;
        scene_step(&s, 0.5);
        scene_check(&s, firn_sim_body_force(s.sim, id, &force, &s.error));
        firn_body_state b = state_of(&s, id);
        print_message("%s: %.3f N of %.3f, at %.4f m, sank %.2e m in half a second\n",
                      METHODS[i].name, force.force[1], 98.1, y, y - b.center[1]);
        assert_true(fabs(force.force[1] / 98.1 - 1.0) < 0.01);
        assert_true(fabs(y - b.center[1]) < 2e-3 && y > 0.2);
        scene_close(&s);
    }
}

// The largest speed (m/s) of a box in the second half of a second on snow; 0 is what it should be.
static double unrest_of(int which, float mass, float young_modulus, float dt)
{
    firn_sim_def def = scene_def(&METHODS[which], CELL);
    def.dt_max = dt;
    scene s = scene_open(&def);
    scene_plane(&s, firn_vec(0, 1, 0), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
    firn_material_def hard = firn_material_def_default();
    hard.young_modulus = young_modulus;
    hard.hardening = 0.0f;
    firn_source_def snow = scene_box(firn_vec(-0.25f, 0, -0.25f), firn_vec(0.25f, 0.15f, 0.25f));
    scene_check(&s, firn_sim_add_material(s.sim, &hard, &snow.material, &s.error));
    scene_source(&s, &snow);
    firn_body_def box = box_def(firn_vec(0, 0.21f, 0), firn_vec(0.12f, 0.05f, 0.12f));
    box.mass = mass;
    box.own_center = true; // off the middle: snow must turn it as well
    box.center = firn_vec(0.05f, 0, 0.03f);
    firn_body_id id = add_body(&s, &box);
    scene_step(&s, 0.5);
    double fastest = 0.0;
    for (int i = 0; i < 50; i++) {
        scene_step(&s, 0.01);
        firn_body_state b = state_of(&s, id);
        for (int k = 0; k < 3; k++)
            fastest = fmax(fastest, fmax(fabs(b.velocity[k]), 0.1 * fabs(b.angular_velocity[k])));
    }
    print_message("%s, %g kg on %g Pa, dt %g: y %.4f, up to %.2e m/s\n", METHODS[which].name,
                  (double)mass, (double)young_modulus, (double)dt, state_of(&s, id).center[1],
                  fastest);
    scene_close(&s);
    return fastest;
}

// As hard as wood, with substeps fifty times as long as explicit ones: a reaction that reached the
// box a substep late would throw it.
static void a_light_box_lies_still_on_stiff_snow(void **state)
{
    (void)state;
    const float masses[] = {0.05f, 5.0f};
    for (int i = 0; i < 2; i++)
        assert_true(unrest_of(1, masses[i], 2e7f, 1e-3f) < 2e-3);
}

// A plate of half a cell is dropped on its edge into snow.
static void thin_plates_neither_leak_nor_explode(void **state)
{
    (void)state;
    for (int flat = 0; flat < 2; flat++) {
        firn_sim_def def = scene_def(&METHODS[0], CELL);
        scene s = scene_open(&def);
        scene_plane(&s, firn_vec(0, 1, 0), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
        firn_source_def snow = scene_box(firn_vec(-0.3f, 0, -0.25f), firn_vec(0.3f, 0.3f, 0.25f));
        scene_source(&s, &snow);
        firn_vec3 half = flat ? firn_vec(0.2f, 0.0125f, 0.2f) : firn_vec(0.2f, 0.2f, 0.0125f);
        firn_body_def plate = box_def(firn_vec(0, 0.33f + half.y, 0), half);
        plate.density = 300.0f; // lighter than the snow
        plate.velocity = firn_vec(0, -4.0f, 0);
        firn_body_id id = add_body(&s, &plate);
        double fastest = 0.0, most = 0.0;
        for (int i = 0; i < 40; i++) {
            scene_step(&s, 0.01);
            firn_body_state b = state_of(&s, id);
            for (int k = 0; k < 3; k++)
                fastest = fmax(fastest, fabs(b.velocity[k]));
            most = fmax(most, firn_sim_stats(s.sim).max_speed);
        }
        firn_body_state b = state_of(&s, id);
        print_message("plate %s: ends at %.3f m, fastest %.2f m/s, snow %.2f m/s\n",
                      flat ? "flat" : "on edge", b.center[1], fastest, most);
        assert_true(fastest < 5.0 && most < 6.0);
        assert_true(b.center[1] > (flat ? 0.15 : 0.25)); // held up, not sunk through
        scene_close(&s);
    }
}

/// A little of everything: snow, a ground, bodies that touch it and each other, a joint.
static void build(scene *s, int threads, int integrator)
{
    firn_sim_def def = scene_def(&METHODS[integrator], CELL);
    def.thread_count = threads;
    def.sleep_speed = 0.01f;
    def.dt_min = 1e-7f;
    *s = scene_open(&def);
    scene_plane(s, firn_vec(0, 1, 0), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
    firn_source_def snow = scene_box(firn_vec(-0.45f, 0, -0.2f), firn_vec(0.35f, 0.1f, 0.2f));
    scene_source(s, &snow);
    firn_body_def body = box_def(firn_vec(0, 0.2f, 0), firn_vec(0.2f, 0.05f, 0.1f));
    body.velocity = firn_vec(0.5f, -2.0f, 0.1f);
    firn_body_id plank = add_body(s, &body);
    body.shape = firn_collider_def_sphere(firn_vec(0.1f, 0.39f, 0.05f), 0.12f);
    body.angular_velocity = firn_vec(0, 0, -9.0f);
    add_body(s, &body);
    body.shape =
        firn_collider_def_capsule(firn_vec(-0.4f, 0.2f, 0), firn_vec(-0.4f, 0.4f, 0), 0.06f);
    firn_joint_def joint = firn_joint_def_default();
    joint.first = plank;
    joint.second = add_body(s, &body);
    joint.anchor = firn_vec(-0.3f, 0.2f, 0);
    scene_check(s, firn_sim_add_joint(s->sim, &joint, NULL, &s->error));
}

static void bits_depend_neither_on_threads_nor_on_resumes_nor_on_retries(void **state)
{
    (void)state;
    for (int integrator = 0; integrator < 2; integrator++) {
        uint64_t expected = 0;
        const int threads[] = {1, 2, 3, 8};
        for (int t = 0; t < 4; t++) {
            scene s;
            build(&s, threads[t], integrator);
            for (int i = 0; i < 8; i++)
                scene_step(&s, 0.02);
            uint64_t hash = firn_sim_hash(s.sim);
            expected = t == 0 ? hash : expected;
            assert_true(hash == expected);
            scene_close(&s);
        }
        scene s, resumed;
        void *bytes = NULL;
        size_t size = 0;
        build(&s, 2, integrator);
        for (int i = 0; i < 4; i++)
            scene_step(&s, 0.02);
        scene_check(&s, firn_sim_save_memory(s.sim, &bytes, &size, &s.error));
        build(&resumed, 1, integrator);
        scene_check(&resumed, firn_sim_load_memory(resumed.sim, bytes, size, &resumed.error));
        firn_free(bytes);
        // A mark, a step astray, and back.
        scene_check(&s, firn_sim_mark(s.sim, &s.error));
        scene_step(&s, 0.03);
        scene_check(&s, firn_sim_restore(s.sim, &s.error));
        assert_true(firn_sim_hash(s.sim) == firn_sim_hash(resumed.sim));
        for (int i = 4; i < 8; i++) {
            scene_step(&s, 0.02);
            scene_step(&resumed, 0.02);
        }
        assert_true(firn_sim_hash(s.sim) == expected);
        assert_true(firn_sim_hash(resumed.sim) == expected);
        scene_close(&s);
        scene_close(&resumed);
    }
}

static void a_call_that_diverges_moves_no_body(void **state)
{
    (void)state;
    scene s;
    build(&s, 1, 0);
    scene_step(&s, 0.04);
    firn_sim_def def = s.def;
    def.speed_limit = 1.0f; // the snow is at that soon
    def.gravity = firn_vec(0, -40.0f, 0);
    scene_check(&s, firn_sim_change(s.sim, &def, &s.error));
    uint64_t before = firn_sim_hash(s.sim);
    assert_int_equal(firn_sim_step(s.sim, 0.2, &s.error), FIRN_ERR_DIVERGED);
    assert_true(firn_sim_hash(s.sim) == before);
    scene_close(&s);
}

static void a_checkpoint_with_other_bodies_is_refused(void **state)
{
    (void)state;
    scene a, b;
    build(&a, 1, 0);
    build(&b, 1, 0);
    firn_body_def body = box_def(firn_vec(2, 2, 2), firn_vec(0.1f, 0.1f, 0.1f));
    add_body(&b, &body);
    void *bytes = NULL;
    size_t size = 0;
    scene_check(&a, firn_sim_save_memory(a.sim, &bytes, &size, &a.error));
    assert_int_equal(firn_sim_load_memory(b.sim, bytes, size, &b.error), FIRN_ERR_ARGUMENT);
    firn_free(bytes);
    scene_close(&a);
    scene_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snow_and_a_free_box_share_their_momentum),
        cmocka_unit_test(rejected_substeps_move_nothing),
        cmocka_unit_test(a_box_at_rest_weighs_on_snow_what_it_weighs),
        cmocka_unit_test(a_light_box_lies_still_on_stiff_snow),
        cmocka_unit_test(thin_plates_neither_leak_nor_explode),
        cmocka_unit_test(bits_depend_neither_on_threads_nor_on_resumes_nor_on_retries),
        cmocka_unit_test(a_call_that_diverges_moves_no_body),
        cmocka_unit_test(a_checkpoint_with_other_bodies_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
