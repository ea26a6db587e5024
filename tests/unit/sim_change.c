#include "scene.h"

enum { FRAMES = 6 };
static const double frame_time = 1.0 / 48.0;

static double mean_velocity_y(const firn_sim *sim)
{
    size_t count = firn_sim_particles(sim).count;
    firn_vec3 *v = firn_alloc((count + 1) * sizeof *v);
    firn_error error;
    scene_expect_ok(firn_sim_read(sim, FIRN_VELOCITY, 0, count, v, &error), &error);
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += (double)v[i].y;
    firn_free(v);
    return sum / (double)count;
}

static void step(firn_sim *sim)
{
    firn_error error;
    scene_expect_ok(firn_sim_step(sim, frame_time, &error), &error);
}

static void gravity_that_changes_adds_up(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    firn_sim *sim = scene_create(&def);
    firn_error error;
    scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.06f, firn_vec(0.0f, 0.0f, 0.0f));
    double expected = 0.0;
    for (int frame = 0; frame < FRAMES; frame++) {
        def.gravity = firn_vec(0.0f, (float)(4 - 3 * frame), 0.0f);
        scene_expect_ok(firn_sim_change(sim, &def, &error), &error);
        step(sim);
        expected += frame_time * (4 - 3 * frame);
    }
    scene_expect_near(mean_velocity_y(sim), expected, 1e-5);
    def.gravity.x = NAN;
    assert_int_equal(firn_sim_change(sim, &def, NULL), FIRN_ERR_ARGUMENT);
    firn_sim_destroy(sim);
}

static firn_source_def stream(firn_vec3 velocity)
{
    firn_source_def def =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.05f, 0.05f, 0.05f));
    def.velocity = velocity;
    def.end = 10.0;
    return def;
}

// Speeds of the frames; they differ by enough to leave gaps if a tick were lost at a turn.
static const float speeds[FRAMES] = {1.0f, 2.5f, 0.0f, 0.4f, 3.0f, 1.1f};

static firn_sim *new_stream(firn_source_id *id)
{
    firn_sim_def def = scene_combination(0);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    firn_sim *sim = scene_create(&def);
    firn_source_def source = stream(firn_vec(speeds[0], 0.0f, 0.0f));
    firn_error error;
    scene_expect_ok(firn_sim_add_source(sim, &source, id, &error), &error);
    return sim;
}

static void advance_stream(firn_sim *sim, firn_source_id id, int frame)
{
    firn_source_def source = stream(firn_vec(speeds[frame], 0.0f, 0.0f));
    firn_error error;
    scene_expect_ok(firn_sim_change_source(sim, id, &source, &error), &error);
    step(sim);
}

static void a_stream_emits_by_the_way_that_it_goes(void **state)
{
    (void)state;
    firn_source_id id;
    firn_sim *sim = new_stream(&id);
    size_t filled = firn_sim_particles(sim).count;
    double way = 0.0;
    for (int frame = 0; frame < FRAMES; frame++) {
        advance_stream(sim, id, frame);
        way += frame_time * (double)speeds[frame];
    }
    double emitted = (double)(firn_sim_particles(sim).count - filled);
    double layer = (double)filled / 0.1; // particles per meter of way
    double spacing = 0.02 / 2.0;
    scene_expect_near(emitted, layer * way, layer * spacing);
    firn_sim_destroy(sim);
}

static void a_change_to_the_same_changes_nothing(void **state)
{
    (void)state;
    uint64_t hash[2];
    for (int changed = 0; changed < 2; changed++) {
        firn_source_id id;
        firn_sim *sim = new_stream(&id);
        firn_source_def source = stream(firn_vec(speeds[0], 0.0f, 0.0f));
        firn_sim_def def = scene_combination(0);
        def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
        for (int frame = 0; frame < 3; frame++) {
            if (changed) {
                assert_int_equal(firn_sim_change(sim, &def, NULL), FIRN_OK);
                assert_int_equal(firn_sim_change_source(sim, id, &source, NULL), FIRN_OK);
            }
            step(sim);
        }
        hash[changed] = firn_sim_hash(sim);
        firn_sim_destroy(sim);
    }
    assert_true(hash[0] == hash[1]);
}

static void a_checkpoint_between_turns_continues_to_the_same_bits(void **state)
{
    (void)state;
    firn_source_id id;
    firn_sim *sim = new_stream(&id);
    void *bytes = NULL;
    size_t size = 0;
    for (int frame = 0; frame < FRAMES; frame++) {
        if (frame == 4)
            assert_int_equal(firn_sim_save_memory(sim, &bytes, &size, NULL), FIRN_OK);
        advance_stream(sim, id, frame);
    }
    uint64_t expected = firn_sim_hash(sim);
    firn_sim_destroy(sim);

    sim = new_stream(&id);
    firn_source_def source = stream(firn_vec(speeds[3], 0.0f, 0.0f));
    assert_int_equal(firn_sim_change_source(sim, id, &source, NULL), FIRN_OK);
    assert_int_equal(firn_sim_load_memory(sim, bytes, size, NULL), FIRN_OK);
    for (int frame = 4; frame < FRAMES; frame++)
        advance_stream(sim, id, frame);
    assert_true(firn_sim_hash(sim) == expected);
    firn_sim_destroy(sim);
    firn_free(bytes);
}

static void a_checkpoint_of_a_source_that_moves_continues_to_the_same_bits(void **state)
{
    (void)state;
    uint64_t hash[2];
    void *bytes = NULL;
    size_t size = 0;
    for (int resumed = 0; resumed < 2; resumed++) {
        firn_source_id id;
        firn_sim *sim = new_stream(&id);
        firn_source_def source = stream(firn_vec(1.0f, 0.0f, 0.0f));
        for (int frame = 0; frame < FRAMES; frame++) {
            source.travel =
                firn_add_scaled(source.travel, (float)frame_time, source.region_velocity);
            source.region_velocity = firn_vec(0.3f, -0.5f * speeds[frame], 0.0f);
            if (resumed && frame < 3) // only what was there last matters
                continue;
            if (resumed && frame == 4)
                assert_int_equal(firn_sim_load_memory(sim, bytes, size, NULL), FIRN_OK);
            if (!resumed && frame == 4)
                assert_int_equal(firn_sim_save_memory(sim, &bytes, &size, NULL), FIRN_OK);
            assert_int_equal(firn_sim_change_source(sim, id, &source, NULL), FIRN_OK);
            if (!resumed || frame >= 4)
                step(sim);
        }
        hash[resumed] = firn_sim_hash(sim);
        source.region_velocity.x = INFINITY;
        assert_int_equal(firn_sim_change_source(sim, id, &source, NULL), FIRN_ERR_ARGUMENT);
        firn_sim_destroy(sim);
    }
    firn_free(bytes);
    assert_true(hash[0] == hash[1]);
}

// A slab that falls asleep on a floor, which holds it against a slanting gravity, beside other
// colliders that it never meets.
static firn_sim *slab_asleep(firn_collider_def *ground, firn_collider_id *id, int others)
{
    firn_sim_def def = scene_combination(0);
    def.gravity = firn_vec(2.0f, -9.6f, 0.0f);
    def.sleep_speed = 0.01f;
    def.sleep_time = 0.02f;
    firn_sim *sim = scene_create(&def);
    *ground = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    ground->friction = 1.0f;
    assert_int_equal(firn_sim_add_collider(sim, ground, id, NULL), FIRN_OK);
    for (int i = 0; i < others; i++) {
        firn_collider_def far =
            firn_collider_def_sphere(firn_vec((float)(5 + i), 9.0f, 0.0f), 0.1f);
        assert_int_equal(firn_sim_add_collider(sim, &far, NULL, NULL), FIRN_OK);
    }
    firn_source_def slab =
        firn_source_def_box(firn_vec(0.0f, 0.03f, 0.0f), firn_vec(0.1f, 0.03f, 0.1f));
    scene_add(sim, &slab);
    size_t count = firn_sim_particles(sim).count;
    for (int frame = 0; frame < 40 && firn_sim_stats(sim).asleep < count; frame++) {
        assert_int_equal(firn_sim_change_collider(sim, *id, ground, NULL), FIRN_OK);
        step(sim);
    }
    assert_int_equal(firn_sim_stats(sim).asleep, count);
    return sim;
}

// Without friction it wakes and slides.
static void snow_that_nothing_holds_any_more_wakes_and_slides(void **state)
{
    (void)state;
    const int numbers[] = {0, 63, 100};
    for (size_t i = 0; i < FIRN_COUNT(numbers); i++) {
        firn_collider_def ground;
        firn_collider_id id;
        firn_sim *sim = slab_asleep(&ground, &id, numbers[i]);
        ground.friction = 0.0f;
        assert_int_equal(firn_sim_change_collider(sim, id, &ground, NULL), FIRN_OK);
        for (int frame = 0; frame < 4; frame++)
            step(sim);
        assert_int_equal(firn_sim_stats(sim).asleep, 0);
        assert_true(firn_sim_stats(sim).max_speed > 0.8 * 4.0 * frame_time * 2.0);
        ground.friction = -1.0f;
        assert_int_equal(firn_sim_change_collider(sim, id, &ground, NULL), FIRN_ERR_ARGUMENT);
        id.generation++;
        ground.friction = 0.0f;
        assert_int_equal(firn_sim_change_collider(sim, id, &ground, NULL), FIRN_ERR_STALE);
        firn_sim_destroy(sim);
    }
}

static void expect_awake_after_a_step(firn_sim *sim)
{
    step(sim);
    assert_int_equal(firn_sim_stats(sim).asleep, 0);
    firn_sim_destroy(sim);
}

static void whatever_is_different_wakes_the_snow(void **state)
{
    (void)state;
    firn_collider_def ground;
    firn_collider_id id;
    firn_sim *sim = slab_asleep(&ground, &id, 0);
    assert_int_equal(firn_sim_remove_collider(sim, id, NULL), FIRN_OK);
    expect_awake_after_a_step(sim);

    sim = slab_asleep(&ground, &id, 0);
    scene_add_floor(sim, -0.5f);
    expect_awake_after_a_step(sim);

    sim = slab_asleep(&ground, &id, 0);
    firn_sim_def def = sim->def;
    def.gravity.z = 1.0f;
    assert_int_equal(firn_sim_change(sim, &def, NULL), FIRN_OK);
    expect_awake_after_a_step(sim);

    sim = slab_asleep(&ground, &id, 0);
    firn_material_def softer = firn_material_def_default();
    softer.young_modulus *= 0.5f;
    firn_material_id reference = {1, 1};
    assert_int_equal(firn_sim_change_material(sim, reference, &softer, NULL), FIRN_OK);
    expect_awake_after_a_step(sim);

    // A floor that is somewhere else from now on, without having moved there.
    sim = slab_asleep(&ground, &id, 0);
    firn_pose_key lower = {0.0, ground.pose};
    lower.pose.translation.y -= 0.05f;
    assert_int_equal(firn_sim_move_collider(sim, id, &lower, 1, NULL), FIRN_OK);
    expect_awake_after_a_step(sim);
}

static void snow_asleep_lies_still(void **state)
{
    (void)state;
    firn_collider_def ground;
    firn_collider_id id;
    firn_sim *sim = slab_asleep(&ground, &id, 0);
    for (int c = 0; c < sim->particles.channel_count; c++)
        for (size_t p = 0; p < sim->particles.count; p++)
            if ((c >= FIRN_V && c < FIRN_V + 3) || c >= FIRN_C)
                assert_true(scene_value(sim, c, p) == 0.0);
    double before[3], after[3];
    scene_position(sim, firn_grid_blocks(&sim->grid), 0, before);
    step(sim);
    scene_position(sim, firn_grid_blocks(&sim->grid), 0, after);
    assert_memory_equal(before, after, sizeof before);
    firn_sim_destroy(sim);
}

static void what_is_refused_or_the_same_does_not_wake_the_snow(void **state)
{
    (void)state;
    firn_collider_def ground;
    firn_collider_id id, stale;
    firn_sim *sim = slab_asleep(&ground, &id, 0);
    stale = id;
    stale.generation++;
    assert_int_equal(firn_sim_remove_collider(sim, stale, NULL), FIRN_ERR_STALE);
    firn_collider_def bad = ground;
    bad.friction = -1.0f;
    assert_int_equal(firn_sim_add_collider(sim, &bad, NULL, NULL), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_sim_change_collider(sim, id, &ground, NULL), FIRN_OK);
    assert_int_equal(firn_sim_change(sim, &sim->def, NULL), FIRN_OK);
    firn_pose_key keys[2] = {{0.0, ground.pose}, {sim->time, ground.pose}};
    keys[0].pose.translation.y = -1.0f; // before now
    assert_int_equal(firn_sim_move_collider(sim, id, keys, 2, NULL), FIRN_OK);
    step(sim);
    assert_int_equal(firn_sim_stats(sim).asleep, sim->particles.count);
    firn_sim_destroy(sim);
}

// A block at rest on the floor carries its weight: softer snow yields more.
static void softer_snow_sinks(void **state)
{
    (void)state;
    double lowest[2];
    for (int soft = 0; soft < 2; soft++) {
        firn_sim_def def = scene_combination(0);
        firn_sim *sim = scene_create(&def);
        firn_material_def snow = firn_material_def_default();
        firn_material_id id;
        firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
        firn_source_def box =
            firn_source_def_box(firn_vec(0.0f, 0.1f, 0.0f), firn_vec(0.1f, 0.1f, 0.1f));
        assert_int_equal(firn_sim_add_material(sim, &snow, &id, NULL), FIRN_OK);
        assert_int_equal(firn_sim_add_collider(sim, &floor, NULL, NULL), FIRN_OK);
        box.material = id;
        scene_add(sim, &box);
        snow.young_modulus *= soft ? 0.02f : 1.0f;
        assert_int_equal(firn_sim_change_material(sim, id, &snow, NULL), FIRN_OK);
        for (int frame = 0; frame < FRAMES; frame++)
            step(sim);
        size_t count = firn_sim_particles(sim).count;
        firn_vec3 *x = firn_alloc(count * sizeof *x);
        assert_int_equal(firn_sim_read(sim, FIRN_POSITION, 0, count, x, NULL), FIRN_OK);
        lowest[soft] = 0.0;
        for (size_t i = 0; i < count; i++)
            lowest[soft] = fmax(lowest[soft], (double)x[i].y);
        firn_free(x);
        snow.jp_min = 2.0f * snow.jp_max;
        assert_int_equal(firn_sim_change_material(sim, id, &snow, NULL), FIRN_ERR_ARGUMENT);
        firn_sim_destroy(sim);
    }
    assert_true(lowest[1] < lowest[0] - 1e-3);
}

// Snow whose material was changed before it moved is the snow of that material, bonds included.
static void a_change_of_the_material_reaches_the_bonds(void **state)
{
    (void)state;
    uint64_t hash[3];
    for (int i = 0; i < 3; i++) {
        firn_sim_def def = scene_combination(0);
        firn_sim *sim = scene_create(&def);
        firn_material_def other = firn_material_def_default(), snow = other;
        other.young_modulus *= 0.3f;
        other.critical_stretch *= 0.5f;
        firn_source_def ball = firn_source_def_sphere(firn_vec(0.0f, 0.08f, 0.0f), 0.08f);
        ball.velocity = firn_vec(0.0f, -2.0f, 0.0f);
        ball.chunk_size = 0.06f;
        assert_int_equal(firn_sim_add_material(sim, i == 1 ? &other : &snow, &ball.material, NULL),
                         FIRN_OK);
        scene_add(sim, &ball);
        scene_add_floor(sim, 0.0f);
        if (i == 0)
            assert_int_equal(firn_sim_change_material(sim, ball.material, &other, NULL), FIRN_OK);
        step(sim);
        hash[i] = firn_sim_hash(sim);
        firn_sim_destroy(sim);
    }
    assert_true(hash[0] == hash[1]);
    assert_true(hash[0] != hash[2]);
}

static void ids_of_nothing_are_refused(void **state)
{
    (void)state;
    firn_source_id id, none = {0, 0}, beyond = {7, 1};
    firn_sim *sim = new_stream(&id);
    firn_source_def source = stream(firn_vec(1.0f, 0.0f, 0.0f));
    firn_material_def snow = firn_material_def_default();
    firn_material_id no_material = {0, 0}, stale = {1, 2};
    assert_int_equal(firn_sim_change_source(sim, none, &source, NULL), FIRN_ERR_STALE);
    assert_int_equal(firn_sim_change_source(sim, beyond, &source, NULL), FIRN_ERR_STALE);
    assert_int_equal(firn_sim_change_material(sim, no_material, &snow, NULL), FIRN_ERR_STALE);
    assert_int_equal(firn_sim_change_material(sim, stale, &snow, NULL), FIRN_ERR_STALE);
    assert_int_equal(firn_sim_remove_source(sim, id, NULL), FIRN_OK);
    assert_int_equal(firn_sim_change_source(sim, id, &source, NULL), FIRN_ERR_STALE);
    firn_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gravity_that_changes_adds_up),
        cmocka_unit_test(a_stream_emits_by_the_way_that_it_goes),
        cmocka_unit_test(a_change_to_the_same_changes_nothing),
        cmocka_unit_test(a_checkpoint_between_turns_continues_to_the_same_bits),
        cmocka_unit_test(a_checkpoint_of_a_source_that_moves_continues_to_the_same_bits),
        cmocka_unit_test(snow_that_nothing_holds_any_more_wakes_and_slides),
        cmocka_unit_test(whatever_is_different_wakes_the_snow),
        cmocka_unit_test(snow_asleep_lies_still),
        cmocka_unit_test(what_is_refused_or_the_same_does_not_wake_the_snow),
        cmocka_unit_test(softer_snow_sinks),
        cmocka_unit_test(a_change_of_the_material_reaches_the_bonds),
        cmocka_unit_test(ids_of_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
