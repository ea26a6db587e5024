/// Random stories: what a shot does to a simulation between and within its frames, in any order.
///
/// A story follows from its number. Told with other threads, with checkpoints and resumes at every
/// turn, or with everything forgotten that substeps know in advance, it ends in the same bits.
#include "effort.h"
#include "scene.h"

enum { STORIES = 16, FRAMES = 7, SOURCE_MOST = 8, COLLIDER_MOST = 8, CANCEL_AFTER = 4 };

/// How a story is told.
typedef struct telling {
    int threads;
    int other_threads; // after a resume; 0: nobody resumes
    bool forgetful;    // nothing is done ahead, and every contact is looked for
} telling;

typedef struct world {
    uint64_t number; // of the story
    bool flying;     // meets nothing
    bool resting;    // begins with snow that lies on a floor and falls asleep
    firn_sim *sim;
    firn_sim_def def;
    firn_material_def snow;
    firn_material_id snow_id;
    firn_source_id sources[SOURCE_MOST];
    firn_collider_id colliders[COLLIDER_MOST];
    firn_collider_def shapes[COLLIDER_MOST];
    int source_count, collider_count;
    bool source_gone[SOURCE_MOST], collider_gone[COLLIDER_MOST];
    double begin, end;  // s, of the frame
    double momentum[3]; // kg m/s, that all snow must have when it is flying
} world;

static uint64_t dice_of(uint64_t number, int frame)
{
    uint64_t dice = 0x9E3779B97F4A7C15u * (number * 100 + (uint64_t)frame + 1);
    for (int i = 0; i < 3; i++)
        ref_random(&dice, 0.0, 1.0);
    return dice;
}

static int roll(uint64_t *dice, int sides) { return (int)ref_random(dice, 0.0, (double)sides); }

static float roll_float(uint64_t *dice, double low, double high)
{
    return (float)ref_random(dice, low, high);
}

static firn_vec3 roll_vec(uint64_t *dice, double size)
{
    float x = roll_float(dice, -size, size), y = roll_float(dice, -size, size);
    return firn_vec(x, y, roll_float(dice, -size, size));
}

// ---- what may happen between two frames

static void snow_appears(world *w, uint64_t *dice)
{
    firn_vec3 half = {0.04f, 0.03f, roll_float(dice, 0.02, 0.06)};
    firn_source_def def = firn_source_def_box(roll_vec(dice, 0.15), half);
    bool streams = roll(dice, 3) == 0 && !w->flying;
    def.velocity = roll_vec(dice, 2.0);
    def.end = streams ? 10.0 : def.end;
    def.material = w->snow_id;
    if (w->source_count == SOURCE_MOST)
        return;
    size_t before = w->sim->particles.count;
    assert_int_equal(firn_sim_add_source(w->sim, &def, &w->sources[w->source_count++], NULL),
                     FIRN_OK);
    const float v[3] = {def.velocity.x, def.velocity.y, def.velocity.z};
    for (size_t p = before; p < w->sim->particles.count; p++)
        for (int axis = 0; axis < 3; axis++)
            w->momentum[axis] += scene_value(w->sim, FIRN_MASS, p) * (double)v[axis];
}

// A bed of snow on a floor: what else appears lands on it.
static void snow_lies(world *w)
{
    scene_add_floor(w->sim, -0.1f);
    firn_source_def bed =
        firn_source_def_box(firn_vec(0.0f, -0.06f, 0.0f), firn_vec(0.16f, 0.04f, 0.16f));
    bed.material = w->snow_id;
    assert_int_equal(firn_sim_add_source(w->sim, &bed, &w->sources[w->source_count++], NULL),
                     FIRN_OK);
}

static void source_goes(world *w, uint64_t *dice)
{
    int i = roll(dice, SOURCE_MOST);
    if (i >= w->source_count || w->source_gone[i])
        return;
    assert_int_equal(firn_sim_remove_source(w->sim, w->sources[i], NULL), FIRN_OK);
    w->source_gone[i] = true;
}

static void gravity_turns(world *w, uint64_t *dice)
{
    w->def.gravity = roll_vec(dice, 10.0);
    assert_int_equal(firn_sim_change(w->sim, &w->def, NULL), FIRN_OK);
}

static void snow_changes(world *w, uint64_t *dice)
{
    w->snow.young_modulus = roll_float(dice, 4e4, 2e5);
    w->snow.damping = roll_float(dice, 0.0, 1e-4);
    assert_int_equal(firn_sim_change_material(w->sim, w->snow_id, &w->snow, NULL), FIRN_OK);
}

static firn_collider_def roll_shape(world *w, uint64_t *dice)
{
    firn_vec3 at = roll_vec(dice, 0.2);
    firn_collider_def def;
    switch (roll(dice, 3)) {
    case 0:
        def = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), roll_float(dice, -0.2, -0.1));
        break;
    case 1:
        def = firn_collider_def_sphere(at, roll_float(dice, 0.02, 0.1));
        break;
    default:
        def = firn_collider_def_box(at, firn_vec(0.05f, 0.02f, 0.05f));
        break;
    }
    def.contact = roll(dice, 3);
    def.friction = roll_float(dice, 0.0, 1.0);
    // It may come in the middle of this frame, and go in the middle of the next.
    if (roll(dice, 2) == 0)
        def.active_from = (float)(0.3 * w->begin + 0.7 * w->end);
    if (roll(dice, 3) == 0)
        def.active_to = (float)(w->end + 0.002);
    return def;
}

static void collider_comes(world *w, uint64_t *dice)
{
    firn_collider_def def = roll_shape(w, dice);
    if (w->flying || w->collider_count == COLLIDER_MOST)
        return;
    w->shapes[w->collider_count] = def;
    assert_int_equal(firn_sim_add_collider(w->sim, &def, &w->colliders[w->collider_count++], NULL),
                     FIRN_OK);
}

// Number of a collider that is there, or -1.
static int pick_collider(const world *w, uint64_t *dice)
{
    int i = roll(dice, COLLIDER_MOST);
    return i < w->collider_count && !w->collider_gone[i] ? i : -1;
}

static void collider_goes(world *w, uint64_t *dice)
{
    int i = pick_collider(w, dice);
    if (i < 0)
        return;
    assert_int_equal(firn_sim_remove_collider(w->sim, w->colliders[i], NULL), FIRN_OK);
    w->collider_gone[i] = true;
}

// Half of the frame it moves, then it rests.
static void collider_moves(world *w, uint64_t *dice)
{
    int i = pick_collider(w, dice);
    firn_vec3 way = roll_vec(dice, 0.02), axis = firn_normalize(roll_vec(dice, 1.0));
    float angle = roll_float(dice, 0.0, 0.3);
    if (i < 0)
        return;
    firn_pose_key keys[2] = {{w->begin, w->shapes[i].pose}, {0.0, w->shapes[i].pose}};
    keys[1].time = 0.5 * (w->begin + w->end);
    keys[1].pose.translation = firn_add(keys[0].pose.translation, way);
    keys[1].pose.rotation = firn_quat_turn(axis, angle);
    w->shapes[i].pose = keys[1].pose;
    assert_int_equal(firn_sim_move_collider(w->sim, w->colliders[i], keys, 2, NULL), FIRN_OK);
}

static void contact_changes(world *w, uint64_t *dice)
{
    int i = pick_collider(w, dice);
    float friction = roll_float(dice, 0.0, 1.0);
    if (i < 0)
        return;
    w->shapes[i].friction = friction;
    assert_int_equal(firn_sim_change_collider(w->sim, w->colliders[i], &w->shapes[i], NULL),
                     FIRN_OK);
}

static void steps_change(world *w, uint64_t *dice)
{
    w->def.dt_max = roll_float(dice, 2e-4, 2e-3);
    w->def.flip_ratio = roll_float(dice, 0.5, 1.0);
    if (w->def.dt_min > 1e-6f)
        w->def.dt_min = w->def.dt_max = roll_float(dice, 1e-4, 2e-4);
    assert_int_equal(firn_sim_change(w->sim, &w->def, NULL), FIRN_OK);
}

typedef void happening(world *w, uint64_t *dice);
static happening *const happenings[] = {
    snow_appears,   source_goes,   gravity_turns,  snow_changes,    collider_comes,
    collider_comes, collider_goes, collider_moves, contact_changes, steps_change,
};

static double frame_length(uint64_t number, int frame)
{
    uint64_t dice = dice_of(number, 50 + frame);
    return ref_random(&dice, 0.002, 0.006);
}

static void begin_frame(world *w, int frame)
{
    w->begin = 0.0;
    for (int f = 0; f < frame; f++)
        w->begin += frame_length(w->number, f);
    w->end = w->begin + frame_length(w->number, frame);
    uint64_t dice = dice_of(w->number, frame);
    if (frame == 0 && w->resting)
        snow_lies(w);
    else if (frame == 0)
        snow_appears(w, &dice);
    for (int i = 0; i < 3; i++)
        happenings[roll(&dice, (int)FIRN_COUNT(happenings))](w, &dice);
}

// ---- how it is told

static world begin_story(uint64_t number, int threads)
{
    uint64_t dice = dice_of(number, 99);
    world w = {.number = number,
               .flying = number % 5 == 0,
               .resting = number % 4 == 2 && number % 5 != 0,
               .def = firn_sim_def_default()};
    w.def.kernel = roll(&dice, 2);
    w.def.transfer = roll(&dice, 2);
    w.def.integrator = roll(&dice, 3);
    w.def.volume = roll(&dice, 2);
    if (w.flying)
        w.def.tolerance = 1e-6f;
    w.def.thread_count = threads;
    w.def.retries = 1;
    // Half of the stories have substeps of one length, so that foresight cannot change them.
    if (number % 2 == 0)
        w.def.dt_min = w.def.dt_max = 1.5e-4f;
    if (w.resting)
        w.def.integrator = FIRN_INTEGRATOR_EXPLICIT;
    if (w.resting || (!w.flying && roll(&dice, 2) == 0)) {
        w.def.sleep_speed = 0.3f;
        w.def.sleep_time = 1.5e-3f;
    }
    if (!w.flying && roll(&dice, 3) == 0)
        w.def.domain_lower = firn_vec(-0.2f, -0.2f, -0.2f);
    w.sim = scene_create(&w.def);
    w.snow = firn_material_def_default();
    assert_int_equal(firn_sim_add_material(w.sim, &w.snow, &w.snow_id, NULL), FIRN_OK);
    return w;
}

// Goes on in another simulation with what a checkpoint holds.
static void resume(world *w, int frame, int threads)
{
    void *bytes;
    size_t size;
    assert_int_equal(firn_sim_save_memory(w->sim, &bytes, &size, NULL), FIRN_OK);
    world next = begin_story(w->number, threads);
    for (int f = 0; f <= frame; f++)
        begin_frame(&next, f);
    firn_error error;
    scene_expect_ok(firn_sim_load_memory(next.sim, bytes, size, &error), &error);
    firn_free(bytes);
    assert_true(firn_sim_hash(next.sim) == firn_sim_hash(w->sim));
    firn_sim_destroy(w->sim);
    memcpy(next.momentum, w->momentum, sizeof next.momentum);
    *w = next;
}

typedef struct listener {
    firn_sim *sim;
    bool forgetful;
    int left; // substeps until a cancel; below zero: never
} listener;

static bool listen(const firn_step_stats *stats, void *user)
{
    (void)stats;
    listener *l = user;
    if (l->forgetful) {
        firn_clearance_forget(l->sim);
        l->sim->foresight.dt = 0.0;
    }
    return --l->left != 0;
}

static firn_result step_on(world *w, const telling *how, int cancel_after)
{
    listener l = {w->sim, how->forgetful, cancel_after};
    firn_sim_set_progress(w->sim, listen, &l);
    firn_result result = firn_sim_step(w->sim, w->end - w->sim->time, NULL);
    firn_sim_set_progress(w->sim, NULL, NULL);
    return result;
}

// A speed limit that most snow passes: a call that fails leaves nothing behind.
static void try_in_vain(world *w, const telling *how)
{
    firn_sim_def tight = w->def;
    tight.speed_limit = 1.0f;
    assert_int_equal(firn_sim_change(w->sim, &tight, NULL), FIRN_OK);
    uint64_t before = firn_sim_hash(w->sim);
    firn_result result = step_on(w, how, -1);
    assert_int_equal(firn_sim_change(w->sim, &w->def, NULL), FIRN_OK);
    if (result == FIRN_OK)
        return;
    assert_int_equal(result, FIRN_ERR_DIVERGED);
    assert_true(firn_sim_hash(w->sim) == before);
}

static void tell_frame(world *w, const telling *how, int frame)
{
    begin_frame(w, frame);
    uint64_t dice = dice_of(w->number, 20 + frame);
    int turn = roll(&dice, 3);
    if (turn == 0) {
        try_in_vain(w, how);
    } else if (turn == 1) {
        firn_result result = step_on(w, how, CANCEL_AFTER);
        assert_true(result == FIRN_OK || result == FIRN_ERR_CANCELLED);
        if (how->other_threads > 0)
            resume(w, frame, how->other_threads);
    }
    if (w->sim->time < w->end - 1e-9)
        assert_int_equal(step_on(w, how, -1), FIRN_OK);
    if (how->other_threads > 0)
        resume(w, frame, frame % 2 == 0 ? how->threads : how->other_threads);
}

static void check_world(const world *w)
{
    const firn_sim *sim = w->sim;
    assert_true(scene_is_finite(sim));
    // Every particle is there once, with the mass it was given.
    uint32_t issued = sim->particles.next_id;
    uint8_t *seen = calloc(issued + 1, 1);
    const uint32_t *id = (const uint32_t *)firn_channel_of(&sim->particles, FIRN_ID);
    for (size_t p = 0; p < sim->particles.count; p++) {
        assert_true(id[p] < issued && !seen[id[p]]);
        seen[id[p]] = 1;
        assert_true(scene_value(sim, FIRN_MASS, p) == scene_value(sim, FIRN_MASS, 0));
    }
    free(seen);
    if (w->def.domain_lower.x < -100.0f)
        assert_int_equal(sim->particles.count, issued);
}

static void check_momentum(world *w)
{
    scene_sums sums = scene_sums_of(w->sim);
    const float g[3] = {w->def.gravity.x, w->def.gravity.y, w->def.gravity.z};
    for (int axis = 0; axis < 3; axis++) {
        w->momentum[axis] += sums.mass * (double)g[axis] * (w->end - w->begin);
        scene_expect_near(sums.momentum[axis], w->momentum[axis], 3e-5 * sums.mass);
    }
}

static void tell(uint64_t number, telling how, uint64_t hashes[FRAMES])
{
    world w = begin_story(number, how.threads);
    for (int frame = 0; frame < FRAMES; frame++) {
        tell_frame(&w, &how, frame);
        hashes[frame] = firn_sim_hash(w.sim);
        check_world(&w);
        if (w.flying)
            check_momentum(&w);
    }
    firn_sim_destroy(w.sim);
}

static void expect_same(uint64_t number, const uint64_t told[FRAMES], telling how)
{
    uint64_t hashes[FRAMES];
    tell(number, how, hashes);
    for (int frame = 0; frame < FRAMES; frame++)
        if (hashes[frame] != told[frame])
            fail_msg("story %d, frame %d: %d threads, resumed with %d, forgetful %d", (int)number,
                     frame, how.threads, how.other_threads, how.forgetful);
}

static void story_ends_the_same_however_it_is_told(void **state)
{
    const uint64_t *stories = *state;
    for (uint64_t number = stories[0]; number < stories[1]; number++) {
        uint64_t told[FRAMES];
        tell(number, (telling){.threads = 1}, told);
        expect_same(number, told, (telling){.threads = number % 3 == 0 ? 8 : 3});
        expect_same(number, told, (telling){.threads = 1, .other_threads = 2});
        if (number % 2 == 0)
            expect_same(number, told, (telling){.threads = 2, .forgetful = true});
    }
}

/// Other stories than those that are always told: the first and the one behind the last.
int main(int argc, char **argv)
{
    uint64_t stories[2] = {1, 1 + (uint64_t)effort(STORIES, 6)};
    for (int i = 1; i < argc && i < 3; i++)
        stories[i - 1] = strtoull(argv[i], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(story_ends_the_same_however_it_is_told, stories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
