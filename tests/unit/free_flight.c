/// Grains outside the grid: the store, its motion and the exchange with the grid.
#include "effort.h"
#include "scene.h"

enum { COUNT = 512, BESIDE = 12 };

static const float CELL = 0.02f;

static firn_sim_def settings(int flight)
{
    firn_sim_def def = firn_sim_def_default();
    def.cell_size = CELL;
    def.thread_count = 1;
    def.free_flight = flight;
    return def;
}

static firn_collider_id add_collider(firn_sim *sim, const firn_collider_def *def)
{
    firn_error error;
    firn_collider_id id;
    scene_expect_ok(firn_sim_add_collider(sim, def, &id, &error), &error);
    return id;
}

static void add_points(firn_sim *sim, const firn_vec3 *points, size_t count, firn_vec3 velocity,
                       float snowfall)
{
    firn_source_def def = firn_source_def_points(points, count);
    const firn_source_value mass = {.channel = "mass", .value = {1e-4f}};
    def.values = &mass;
    def.value_count = 1;
    def.velocity = velocity;
    def.snowfall = snowfall;
    scene_add(sim, &def);
}

// Values of a channel by id.
static void read_by_id(const firn_sim *sim, const char *name, int width, float *out)
{
    firn_error error;
    size_t count = firn_sim_particle_count(sim);
    float *values = malloc((count + 1) * (size_t)width * sizeof(float));
    const firn_particle_view view = firn_sim_particles(sim);
    scene_expect_ok(firn_sim_read(sim, firn_sim_find_channel(sim, name), 0, count, values, &error),
                    &error);
    for (size_t i = 0; i < count; i++)
        memcpy(out + (size_t)width * view.id[i], values + (size_t)width * i,
               (size_t)width * sizeof(float));
    free(values);
}

// A snowfall over a floor with a ball on it that moves, in wind with gusts; snow lies there
// already.
static firn_sim *open_storm(int threads, int flight)
{
    firn_error error;
    firn_sim_def def = settings(flight);
    def.thread_count = threads;
    def.sleep_speed = 0.003f;
    firn_sim *sim = scene_create(&def);
    scene_add_floor(sim, 0.0f);
    firn_collider_def ball = firn_collider_def_sphere(firn_vec(0.0f, 0.05f, 0.0f), 0.08f);
    ball.restitution = 0.4f;
    ball.sticking_speed = 0.3f;
    firn_collider_id id = add_collider(sim, &ball);
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {1.0, firn_transform_identity()}};
    keys[1].pose.translation = firn_vec(0.3f, 0.0f, 0.0f);
    scene_expect_ok(firn_sim_move_collider(sim, id, keys, 2, &error), &error);
    scene_add_box(sim, firn_vec(-0.1f, 0.04f, 0.0f), 0.04f, firn_vec(3.0f, 2.0f, 0.0f));
    firn_force_def air = firn_force_def_drag(firn_vec(0.5f, 0.0f, 0.2f), 1.0f);
    air.gust = 0.5f;
    air.fall_spread = 0.12f;
    air.flutter = 0.2f;
    scene_expect_ok(firn_sim_add_force(sim, &air, NULL, &error), &error);
    firn_source_def fall =
        firn_source_def_box(firn_vec(0.0f, 0.33f, 0.0f), firn_vec(0.2f, 0.3f, 0.2f));
    fall.velocity = firn_vec(0.0f, -1.0f, 0.0f);
    fall.snowfall = 0.02f;
    fall.end = 10.0;
    fall.loose = true;
    fall.jitter = 1.0f;
    fall.size_spread = 0.2f;
    scene_add(sim, &fall);
    return sim;
}

static void storms_do_not_depend_on_threads_or_on_a_resume(void **state)
{
    (void)state;
    const int threads[] = {1, 3, 2, 8}, counts = effort(FIRN_COUNT(threads), 2);
    int flight = effort(FIRN_FLIGHT_SNOWFALL, FIRN_FLIGHT_ALL);
    for (; flight <= FIRN_FLIGHT_ALL; flight++) {
        uint64_t expected = 0;
        for (int t = 0; t < counts; t++) {
            firn_sim *sim = open_storm(threads[t], flight);
            for (int frame = 0; frame < 5; frame++)
                scene_step(sim, 0.03);
            firn_step_stats stats = firn_sim_stats(sim);
            if (t == 0) {
                print_message("%zu particles, %zu fly, %zu lie\n", stats.particles, stats.flying,
                              stats.settled);
                assert_true(stats.flying > 100 && stats.settled > 10 &&
                            stats.particles > stats.flying + stats.settled + 100);
                expected = firn_sim_hash(sim);
            }
            assert_true(firn_sim_hash(sim) == expected);
            firn_sim_destroy(sim);
        }
        firn_error error;
        void *bytes = NULL;
        size_t size = 0;
        firn_sim *first = open_storm(2, flight), *second = open_storm(1, flight);
        for (int frame = 0; frame < 3; frame++)
            scene_step(first, 0.03);
        scene_expect_ok(firn_sim_save_memory(first, &bytes, &size, &error), &error);
        scene_expect_ok(firn_sim_load_memory(second, bytes, size, &error), &error);
        assert_true(firn_sim_hash(first) == firn_sim_hash(second));
        for (int frame = 3; frame < 5; frame++)
            scene_step(second, 0.03);
        assert_true(firn_sim_hash(second) == expected);
        firn_free(bytes);
        firn_sim_destroy(first);
        firn_sim_destroy(second);
    }
}

static void a_host_goes_back_to_its_mark(void **state)
{
    (void)state;
    firn_error error;
    firn_sim *sim = open_storm(1, FIRN_FLIGHT_ALL);
    scene_step(sim, 0.05);
    uint64_t before = firn_sim_hash(sim);
    scene_expect_ok(firn_sim_mark(sim, &error), &error);
    scene_step(sim, 0.05);
    uint64_t after = firn_sim_hash(sim);
    assert_true(after != before);
    scene_expect_ok(firn_sim_restore(sim, &error), &error);
    assert_true(firn_sim_hash(sim) == before);
    scene_step(sim, 0.05);
    assert_true(firn_sim_hash(sim) == after);
    firn_sim_destroy(sim);
}

// Whoever is alone flies, and comes back when somebody is there, to the bit.
static void exchanges_change_no_bit(void **state)
{
    (void)state;
    firn_error error;
    firn_sim_def def = settings(FIRN_FLIGHT_ALL);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    firn_sim *sim = scene_create(&def);
    static firn_vec3 points[COUNT], beside[BESIDE * COUNT];
    for (int i = 0; i < COUNT; i++) {
        points[i] =
            firn_vec(0.3f * (float)(i / 64) + 0.0013f * (float)(i % 11),
                     0.3f * (float)(i / 8 % 8) - 0.0007f * (float)(i % 13), 0.3f * (float)(i % 8));
        for (int k = 0; k < BESIDE; k++)
            beside[BESIDE * i + k] =
                firn_add(points[i], firn_vec(CELL, 1e-4f * (float)k, 1e-4f * (float)k));
    }
    add_points(sim, points, COUNT, firn_vec(1.0f, -0.3f, 0.2f), 0.0f);
    static float place[2][3 * (BESIDE + 1) * COUNT], speed[2][3 * (BESIDE + 1) * COUNT],
        mass[2][(BESIDE + 1) * COUNT];
    size_t exchanges = 0;
    for (int round = 0; round < 4; round++) {
        if (round == 2)
            add_points(sim, beside, BESIDE * COUNT, firn_vec(1.0f, -0.3f, 0.2f), 0.0f);
        size_t flying = sim->store.count;
        read_by_id(sim, "P", 3, place[0]);
        read_by_id(sim, "v", 3, speed[0]);
        read_by_id(sim, "mass", 1, mass[0]);
        scene_expect_ok(firn_slow_stage(sim, 1e-3, &error), &error);
        scene_expect_ok(firn_sim_sort(sim, &error), &error);
        firn_flight_commit(sim);
        exchanges +=
            sim->store.count > flying ? sim->store.count - flying : flying - sim->store.count;
        read_by_id(sim, "P", 3, place[1]);
        read_by_id(sim, "v", 3, speed[1]);
        read_by_id(sim, "mass", 1, mass[1]);
        size_t values = firn_sim_particle_count(sim);
        assert_true(values == (round < 2 ? COUNT : (BESIDE + 1) * COUNT));
        assert_memory_equal(speed[0], speed[1], 3 * values * sizeof(float));
        assert_memory_equal(mass[0], mass[1], values * sizeof(float));
        assert_memory_equal(place[0], place[1], 3 * values * sizeof(float));
        assert_true(sim->store.count == (round == 1 || round == 2 ? COUNT : 0));
    }
    assert_true(exchanges >= 1000);
    firn_sim_destroy(sim);
}

// Two grains that cross 3 cells apart do so with and without the store, within g t dt / 2.
static void grains_that_cross_fly_alike(void **state)
{
    (void)state;
    static float place[2][6], speed[2][6];
    const double time = 0.3;
    double dt = 0.0;
    for (int k = 0; k < 2; k++) {
        firn_sim_def def = settings(k == 0 ? FIRN_FLIGHT_OFF : FIRN_FLIGHT_ALL);
        def.dt_max = 1e-3f;
        firn_sim *sim = scene_create(&def);
        const firn_vec3 left = {-0.3f, 0.0f, 0.0f}, right = {0.3f, 3.0f * CELL, 0.0f};
        add_points(sim, &left, 1, firn_vec(2.0f, 0.0f, 0.0f), 0.0f);
        add_points(sim, &right, 1, firn_vec(-2.0f, 0.0f, 0.0f), 0.0f);
        for (int frame = 0; frame < 10; frame++)
            scene_step(sim, 0.1 * time);
        assert_true(firn_sim_stats(sim).flying == (k == 0 ? 0u : 2u));
        dt = fmax(dt, firn_sim_stats(sim).dt);
        read_by_id(sim, "P", 3, place[k]);
        read_by_id(sim, "v", 3, speed[k]);
        firn_sim_destroy(sim);
    }
    double bound = 9.81 * time * dt / 2.0 + 1e-5;
    for (int i = 0; i < 6; i++) {
        scene_expect_near((double)place[0][i], (double)place[1][i], bound);
        scene_expect_near((double)speed[0][i], (double)speed[1][i], 1e-4);
    }
}

// v = v_t tanh(g t / v_t), x = v_t^2 / g ln cosh(g t / v_t); in crosswind it drifts by the ratio.
static void flakes_fall_as_the_closed_form_says(void **state)
{
    (void)state;
    const double g = 9.81;
    firn_error error;
    float place[3], speed[3];
    for (int k = 0; k < 2; k++) {
        firn_sim_def def = settings(FIRN_FLIGHT_SNOWFALL);
        firn_sim *sim = scene_create(&def);
        firn_force_def air = firn_force_def_drag(firn_vec(k == 0 ? 0.0f : 5.0f, 0.0f, 0.0f), 1.0f);
        scene_expect_ok(firn_sim_add_force(sim, &air, NULL, &error), &error);
        const firn_vec3 origin = {0.0f, 0.0f, 0.0f};
        add_points(sim, &origin, 1, origin, 0.1f);
        for (int frame = 1; frame <= 6; frame++) {
            double time = 0.05 * frame;
            scene_step(sim, 0.05);
            read_by_id(sim, "P", 3, place);
            read_by_id(sim, "v", 3, speed);
            if (k == 0) {
                scene_expect_near(-(double)speed[1] / tanh(g * time), 1.0, 0.01);
                scene_expect_near(-(double)place[1] / (log(cosh(g * time)) / g), 1.0, 0.01);
            }
        }
        assert_true(firn_sim_stats(sim).flying == 1);
        scene_step(sim, 2.0);
        read_by_id(sim, "v", 3, speed);
        if (k == 0)
            scene_expect_near(-(double)speed[1], 1.0, 0.01);
        else
            scene_expect_near(atan2((double)speed[0], -(double)speed[1]), atan(5.0), 0.01);
        firn_sim_destroy(sim);
    }
}

static void flakes_fall_each_at_a_speed_of_its_own(void **state)
{
    (void)state;
    firn_error error;
    firn_sim_def def = settings(FIRN_FLIGHT_SNOWFALL);
    firn_sim *sim = scene_create(&def);
    firn_force_def air = firn_force_def_drag(firn_vec(0.0f, 0.0f, 0.0f), 1.0f);
    air.fall_spread = 0.12f;
    scene_expect_ok(firn_sim_add_force(sim, &air, NULL, &error), &error);
    static firn_vec3 points[COUNT];
    static float speed[3 * COUNT];
    for (int i = 0; i < COUNT; i++)
        points[i] =
            firn_vec(0.1f * (float)(i / 64), 0.1f * (float)(i / 8 % 8), 0.1f * (float)(i % 8));
    add_points(sim, points, COUNT, firn_vec(0.0f, -1.0f, 0.0f), 0.1f);
    scene_step(sim, 1.0);
    read_by_id(sim, "v", 3, speed);
    double sum = 0.0, least = 9.0, most = 0.0;
    for (int i = 0; i < COUNT; i++) {
        double v = -(double)speed[3 * i + 1];
        scene_expect_near(v, (double)firn_force_fall_speed(&air, (uint32_t)i), 0.005);
        sum += v;
        least = fmin(least, v);
        most = fmax(most, v);
    }
    assert_true(fabs(sum / COUNT - 1.0) < 0.01 && least < 0.89 && most > 1.11);
    air.flutter = 0.5f;
    firn_sim_destroy(sim);
}

// Drops a flake on a floor and follows it for a second; returns the height of its first bounce.
static double bounce_height(float drop, float restitution, float sticking, bool *lies)
{
    firn_sim_def def = settings(FIRN_FLIGHT_SNOWFALL);
    firn_sim *sim = scene_create(&def);
    firn_collider_def floor = firn_collider_def_default();
    floor.restitution = restitution;
    floor.sticking_speed = sticking;
    add_collider(sim, &floor);
    const firn_vec3 top = {0.0f, drop, 0.0f};
    add_points(sim, &top, 1, firn_vec(0.0f, 0.0f, 0.0f), 0.1f);
    double height = 0.0, before = (double)drop;
    bool rising = false;
    for (int k = 0; k < 300; k++) {
        float place[3];
        scene_step(sim, 0.004);
        read_by_id(sim, "P", 3, place);
        assert_true(place[1] > -1e-5f);
        if (rising && (double)place[1] < before && height == 0.0)
            height = before;
        rising = (double)place[1] > before;
        before = (double)place[1];
    }
    *lies = firn_sim_stats(sim).settled == 1;
    firn_sim_destroy(sim);
    return height;
}

static void bounces_are_as_high_as_the_square_of_restitution(void **state)
{
    (void)state;
    const float shares[] = {0.3f, 0.5f, 0.8f};
    bool lies;
    for (size_t i = 0; i < FIRN_COUNT(shares); i++) {
        double e2 = pow((double)shares[i], 2.0);
        scene_expect_near(bounce_height(0.5f, shares[i], 0.0f, &lies) / (0.5 * e2), 1.0, 0.05);
        // e^2 = e0^2 (1 - (v_s / v)^2) with v^2 = 2 g h
        double sticky = e2 * (1.0 - 1.0 / (2.0 * 9.81 * 0.5));
        scene_expect_near(bounce_height(0.5f, shares[i], 1.0f, &lies) / (0.5 * sticky), 1.0, 0.05);
    }
}

static void what_is_slower_than_the_sticking_speed_stays(void **state)
{
    (void)state;
    bool lies;
    float drop = 0.1f; // 1.40 m/s
    assert_true(bounce_height(drop, 0.8f, 1.45f, &lies) == 0.0 && lies);
    assert_true(bounce_height(drop, 0.8f, 1.35f, &lies) > 0.0 && lies);
}

// What lies goes where its collider goes, and flies when that is gone; nothing is on the grid.
static void flakes_ride_on_what_they_lie_on(void **state)
{
    (void)state;
    firn_error error;
    firn_sim_def def = settings(FIRN_FLIGHT_SNOWFALL);
    firn_sim *sim = scene_create(&def);
    firn_collider_def box =
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.5f, 0.1f, 0.5f));
    firn_collider_id id = add_collider(sim, &box);
    const firn_vec3 at = {0.3f, 0.15f, 0.2f};
    add_points(sim, &at, 1, firn_vec(0.0f, -1.0f, 0.0f), 0.1f);
    scene_step(sim, 0.2);
    assert_true(firn_sim_stats(sim).settled == 1);
    // A quarter turn about y and a meter up.
    firn_pose_key keys[2] = {{0.2, firn_transform_identity()}, {1.2, firn_transform_identity()}};
    keys[1].pose.translation = firn_vec(0.0f, 1.0f, 0.0f);
    keys[1].pose.rotation = (firn_quat){0.0f, sqrtf(0.5f), 0.0f, sqrtf(0.5f)};
    float place[3], speed[3];
    for (int frame = 0; frame < 25; frame++) {
        scene_expect_ok(firn_sim_move_collider(sim, id, keys, 2, &error), &error);
        scene_step(sim, 0.04);
    }
    read_by_id(sim, "P", 3, place);
    read_by_id(sim, "v", 3, speed);
    scene_expect_near((double)place[0], 0.2, 1e-3);
    scene_expect_near((double)place[1], 1.1, 1e-3);
    scene_expect_near((double)place[2], -0.3, 1e-3);
    assert_true(speed[1] > 0.9f && firn_sim_stats(sim).blocks == 0);
    scene_expect_ok(firn_sim_remove_collider(sim, id, &error), &error);
    scene_step(sim, 0.1);
    assert_true(firn_sim_stats(sim).flying == 1);
    firn_sim_destroy(sim);
}

// Three in a cell are snow: they come to the grid, and one more beside them does not.
static void three_in_a_cell_are_snow(void **state)
{
    (void)state;
    for (size_t count = 2; count <= 3; count++) {
        firn_sim_def def = settings(FIRN_FLIGHT_SNOWFALL);
        firn_sim *sim = scene_create(&def);
        scene_add_floor(sim, 0.0f);
        const firn_vec3 points[] = {
            {0.001f, 0.1f, 0.001f}, {0.004f, 0.1f, 0.004f}, {0.007f, 0.1f, 0.007f}};
        add_points(sim, points, count, firn_vec(0.0f, -1.0f, 0.0f), 0.1f);
        for (int frame = 0; frame < 10; frame++)
            scene_step(sim, 0.04);
        firn_step_stats stats = firn_sim_stats(sim);
        assert_true(stats.particles == count);
        assert_true(stats.settled == (count == 2 ? 2u : 0u));
        assert_true((stats.blocks > 0) == (count == 3));
        firn_sim_destroy(sim);
    }
}

static void nothing_is_lost_at_borders(void **state)
{
    (void)state;
    firn_sim_def def = settings(FIRN_FLIGHT_SNOWFALL);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    def.domain_lower = firn_vec(-1.0f, -1.0f, -1.0f);
    def.domain_upper = firn_vec(1.0f, 1.0f, 1.0f);
    firn_sim *sim = scene_create(&def);
    static firn_vec3 points[COUNT];
    for (int i = 0; i < COUNT; i++)
        points[i] =
            firn_vec(-0.9f + 0.2f * (float)(i / 64), 0.0f, -0.4f + 0.012f * (float)(i % 64));
    add_points(sim, points, COUNT, firn_vec(1.0f, 0.0f, 0.0f), 0.1f);
    // Rows leave through x = 1 one after the other, each 0.2 s after the one before.
    scene_step(sim, 0.3);
    for (int row = 0; row < 8; row++) {
        assert_true(firn_sim_particle_count(sim) == (size_t)(64 * (8 - row)));
        if (row < 7)
            scene_step(sim, row == 0 ? 0.3 : 0.2);
    }
    firn_sim_destroy(sim);
}

// A call that memory does not suffice for leaves grains and particles as they were.
static void exchanges_that_fail_change_nothing(void **state)
{
    (void)state;
    firn_error error;
    size_t failed = 0;
    for (int round = 0; round < 12; round += effort(1, 4)) {
        firn_sim *sim = open_storm(1, FIRN_FLIGHT_ALL);
        scene_step(sim, 0.06);
        size_t count = firn_sim_particle_count(sim);
        static float mass[2][1 << 16];
        read_by_id(sim, "mass", 1, mass[0]);
        sim->budget.limit = sim->budget.used + (size_t)round * 40000 + 1;
        firn_result result = firn_sim_step(sim, 0.03, &error);
        failed += result == FIRN_ERR_MEMORY;
        assert_true(result == FIRN_OK || result == FIRN_ERR_MEMORY);
        assert_true(firn_sim_particle_count(sim) >= count);
        read_by_id(sim, "mass", 1, mass[1]);
        assert_memory_equal(mass[0], mass[1], count * sizeof(float));
        sim->budget.limit = 0;
        scene_step(sim, 0.03);
        firn_sim_destroy(sim);
    }
    print_message("%zu calls failed\n", failed);
    assert_true(failed > 0);
}

static void damaged_grains_are_refused(void **state)
{
    (void)state;
    firn_error error;
    void *bytes = NULL;
    size_t size = 0;
    firn_sim *sim = open_storm(1, FIRN_FLIGHT_ALL), *other = open_storm(1, FIRN_FLIGHT_ALL);
    scene_step(sim, 0.06);
    scene_expect_ok(firn_sim_save_memory(sim, &bytes, &size, &error), &error);
    for (size_t at = size / 2; at < size; at += 1 + size / 97) {
        ((unsigned char *)bytes)[at] ^= 0x40;
        assert_true(firn_sim_load_memory(other, bytes, size, &error) == FIRN_ERR_FORMAT);
        ((unsigned char *)bytes)[at] ^= 0x40;
    }
    assert_true(firn_sim_load_memory(other, bytes, size - 1, &error) == FIRN_ERR_FORMAT);
    scene_expect_ok(firn_sim_load_memory(other, bytes, size, &error), &error);
    firn_free(bytes);
    firn_sim_destroy(sim);
    firn_sim_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storms_do_not_depend_on_threads_or_on_a_resume),
        cmocka_unit_test(a_host_goes_back_to_its_mark),
        cmocka_unit_test(exchanges_change_no_bit),
        cmocka_unit_test(grains_that_cross_fly_alike),
        cmocka_unit_test(flakes_fall_as_the_closed_form_says),
        cmocka_unit_test(flakes_fall_each_at_a_speed_of_its_own),
        cmocka_unit_test(bounces_are_as_high_as_the_square_of_restitution),
        cmocka_unit_test(what_is_slower_than_the_sticking_speed_stays),
        cmocka_unit_test(flakes_ride_on_what_they_lie_on),
        cmocka_unit_test(three_in_a_cell_are_snow),
        cmocka_unit_test(nothing_is_lost_at_borders),
        cmocka_unit_test(exchanges_that_fail_change_nothing),
        cmocka_unit_test(damaged_grains_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
