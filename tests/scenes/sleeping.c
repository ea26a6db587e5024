/// Sleeping snow: a settled field falls asleep, wakes where something touches it, and is the same
/// field as one that never slept.
#include "scene.h"

static const float CELL = 0.04f;

/// A field of 28 x 4 x 28 cells; a ball comes down on its middle after it has settled. Without
/// hardening the substep stays long.
static scene field(float sleep_speed, int threads)
{
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    def.sleep_speed = sleep_speed;
    def.thread_count = threads;
    scene s = scene_open(&def);
    firn_material_def material = firn_material_def_default();
    material.hardening = 0.0f;
    firn_source_def box = scene_box(firn_vec(-0.56f, 0.0f, -0.56f), firn_vec(0.56f, 0.16f, 0.56f));
    box.material = scene_material(&s, &material);
    scene_source(&s, &box);
    firn_source_def ball = firn_source_def_sphere(firn_vec(0.0f, 2.0f, 0.0f), 0.1f);
    ball.material = box.material;
    scene_source(&s, &ball);
    scene_walls(&s, firn_vec(-0.56f, 0.0f, -0.56f), firn_vec(0.56f, 0.0f, 0.56f));
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
    return s;
}

static double asleep_share(const scene *s)
{
    firn_step_stats stats = firn_sim_stats(s->sim);
    return (double)stats.asleep / (double)stats.particles;
}

static firn_vec3 *places(scene *s)
{
    scene_read(s);
    firn_vec3 *by_id = malloc(s->particles.count * sizeof *by_id);
    for (size_t i = 0; i < s->particles.count; i++)
        by_id[s->particles.id[i]] = s->position[i];
    return by_id;
}

static void field_falls_asleep_wakes_and_ends_the_same(void **state)
{
    (void)state;
    scene awake = field(0.0f, 1), sleeping = field(3e-3f, 1);
    scene *both[2] = {&awake, &sleeping};
    for (int i = 0; i < 2; i++)
        scene_step(both[i], 0.56);
    double before = asleep_share(&sleeping);
    for (int i = 0; i < 2; i++)
        scene_step(both[i], 0.1);
    double during = asleep_share(&sleeping);
    for (int i = 0; i < 2; i++)
        scene_step(both[i], 0.6);
    double after = asleep_share(&sleeping);
    firn_vec3 *a = places(&awake), *b = places(&sleeping);
    totals ta = scene_totals(&awake), tb = scene_totals(&sleeping);
    double worst = 0.0, mean = 0.0;
    size_t count = awake.particles.count;
    assert_int_equal(count, sleeping.particles.count);
    for (size_t i = 0; i < count; i++) {
        double d = firn_length(firn_sub(a[i], b[i])) / CELL;
        worst = fmax(worst, d);
        mean += d / (double)count;
    }
    print_message("asleep before the ball lands %.3f, just after %.3f, in the end %.3f; places "
                  "differ by %.4f cells on average, %.3f at most; centers by %.2g m; mean J_P %.4f "
                  "and %.4f\n",
                  before, during, after, mean, worst, fabs(ta.center[1] - tb.center[1]), ta.mean_jp,
                  tb.mean_jp);
    assert_int_equal(asleep_share(&awake) > 0.0, 0);
    assert_true(before > 0.9);
    assert_true(during < before - 0.1);
    assert_true(after > 0.5);
    assert_true(ta.mass == tb.mass);
    assert_true(fabs(ta.center[1] - tb.center[1]) < 1e-3 * (double)CELL);
    assert_true(fabs(ta.mean_jp - tb.mean_jp) < 1e-3);
    assert_true(mean < 0.01 && worst < 0.5);
    free(a);
    free(b);
    scene_close(&awake);
    scene_close(&sleeping);
}

// Two threads, and a resume while most of the field sleeps: the same bits.
static void sleeping_field_is_the_same_for_any_threads_and_after_a_resume(void **state)
{
    (void)state;
    scene one = field(3e-3f, 1), two = field(3e-3f, 2), resumed = field(3e-3f, 2);
    scene_step(&one, 0.58);
    scene_step(&two, 0.58);
    assert_true(asleep_share(&one) > 0.5);
    void *bytes = NULL;
    size_t size = 0;
    scene_check(&one, firn_sim_save_memory(one.sim, &bytes, &size, &one.error));
    scene_check(&resumed, firn_sim_load_memory(resumed.sim, bytes, size, &resumed.error));
    firn_free(bytes);
    scene *all[3] = {&one, &two, &resumed};
    for (int i = 0; i < 3; i++)
        scene_step(all[i], 0.04);
    assert_true(asleep_share(&one) < 0.95);
    for (int i = 1; i < 3; i++)
        assert_true(firn_sim_hash(all[i]->sim) == firn_sim_hash(one.sim));
    for (int i = 0; i < 3; i++)
        scene_close(all[i]);
}

// A plate that lies beside the field for a second and then goes through it.
static void moving_colliders_and_lost_support_wake_snow(void **state)
{
    (void)state;
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    def.sleep_speed = 3e-3f;
    scene s = scene_open(&def);
    firn_source_def box = scene_box(firn_vec(-0.24f, 0.0f, -0.24f), firn_vec(0.24f, 0.16f, 0.24f));
    scene_source(&s, &box);
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    firn_collider_id ground = scene_collider(&s, &floor);
    firn_collider_def plate =
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.06f, 0.3f, 0.4f));
    firn_collider_id blade = scene_collider(&s, &plate);
    firn_pose_key keys[3] = {{.time = 0.0}, {.time = 0.5}, {.time = 0.8}};
    for (int i = 0; i < 3; i++) {
        keys[i].pose = plate.pose;
        keys[i].pose.translation = firn_vec(i < 2 ? -0.6f : 0.0f, 0.1f, 0.0f);
    }
    scene_check(&s, firn_sim_move_collider(s.sim, blade, keys, 3, &s.error));
    scene_step(&s, 0.5);
    assert_true(asleep_share(&s) == 1.0);
    scene_read(&s);
    double start = scene_totals(&s).center[0];
    scene_step(&s, 0.3);
    scene_read(&s);
    totals pushed = scene_totals(&s);
    print_message("pushed by %.3f m\n", pushed.center[0] - start);
    assert_true(pushed.center[0] - start > 0.1);
    scene_step(&s, 1.0);
    double share = asleep_share(&s);
    scene_check(&s, firn_sim_remove_collider(s.sim, ground, &s.error));
    scene_step(&s, 0.1);
    scene_read(&s);
    totals fallen = scene_totals(&s);
    print_message("%.2f asleep, then falls at %.3f m/s\n", share, -fallen.velocity[1]);
    assert_true(share > 0.5);
    assert_true(fabs(fallen.velocity[1] + 0.981) < 0.05);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(field_falls_asleep_wakes_and_ends_the_same),
        cmocka_unit_test(sleeping_field_is_the_same_for_any_threads_and_after_a_resume),
        cmocka_unit_test(moving_colliders_and_lost_support_wake_snow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
