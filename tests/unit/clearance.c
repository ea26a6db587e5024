/// Looks for contact that are left out because nothing can be near.
#include "level_set_balls.h"
#include "scene.h"

/// A ball on a floor, beside a box that comes along and turns or a surface that fades.
typedef struct contact_run {
    firn_sim *sim;
    bool forgetful; // looks for contact in every substep
    int left;
} contact_run;

static bool after_substep(const firn_step_stats *stats, void *user)
{
    (void)stats;
    contact_run *run = user;
    if (run->forgetful)
        firn_clearance_forget(run->sim);
    return --run->left > 0;
}

/// A box from one place to another, and how far it turns on the way.
typedef struct box_path {
    float from, to; // m, along x
    double seconds; // after that it rests
    float turn;     // rad
} box_path;

static void add_box(firn_sim *sim, const box_path *path)
{
    firn_error error;
    firn_collider_def box =
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.02f, 0.03f, 0.03f));
    firn_collider_id id;
    scene_expect_ok(firn_sim_add_collider(sim, &box, &id, &error), &error);
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()},
                             {path->seconds, firn_transform_identity()}};
    keys[0].pose.translation = firn_vec(path->from, 0.04f, 0.0f);
    keys[1].pose.translation = firn_vec(path->to, 0.04f, 0.0f);
    keys[1].pose.rotation = firn_quat_turn(firn_vec(0.0f, 0.0f, 1.0f), path->turn);
    scene_expect_ok(firn_sim_move_collider(sim, id, keys, 2, &error), &error);
}

// A surface that fades from one place to another; nobody tells its velocity.
static void add_fading(firn_sim *sim, const balls surface[2])
{
    firn_error error;
    firn_collider_def def = firn_collider_def_level_set(&surface[0].set);
    firn_collider_id id;
    scene_expect_ok(firn_sim_add_collider(sim, &def, &id, &error), &error);
    const firn_surface_key from = {.time = 0.0, .level_set = &surface[0].set};
    const firn_surface_key to = {.time = 0.004, .level_set = &surface[1].set};
    scene_expect_ok(firn_sim_deform_collider(sim, id, &from, &to, &error), &error);
}

// A plane that turns up to the ball about a line beside it.
static void add_turning_plane(firn_sim *sim)
{
    firn_collider_def plane = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    firn_collider_id id;
    assert_int_equal(firn_sim_add_collider(sim, &plane, &id, NULL), FIRN_OK);
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {0.02, firn_transform_identity()}};
    keys[0].pose.translation = keys[1].pose.translation = firn_vec(-0.3f, -0.03f, 0.0f);
    keys[1].pose.rotation = firn_quat_turn(firn_vec(0.0f, 0.0f, 1.0f), 0.4f);
    assert_int_equal(firn_sim_move_collider(sim, id, keys, 2, NULL), FIRN_OK);
}

// What comes along.
typedef struct visitor {
    const box_path *box;
    const balls *surface; // two, or NULL
    bool plane;
    float radius; // m, of the ball
} visitor;

static firn_sim *make_ball(float radius)
{
    firn_sim_def def = firn_sim_def_default();
    def.cell_size = 0.01f;
    def.thread_count = 1;
    firn_sim *sim = scene_create(&def);
    firn_source_def ball = firn_source_def_sphere(firn_vec(0.0f, radius + 0.002f, 0.0f), radius);
    ball.velocity = firn_vec(0.0f, -2.0f, 0.0f);
    scene_add(sim, &ball);
    return sim;
}

static firn_sim *run_contact(firn_contact contact, visitor guest, bool forgetful)
{
    firn_sim *sim = make_ball(guest.radius);
    firn_error error;
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    floor.contact = (int)contact;
    scene_expect_ok(firn_sim_add_collider(sim, &floor, NULL, &error), &error);
    if (guest.box != NULL)
        add_box(sim, guest.box);
    if (guest.plane)
        add_turning_plane(sim);
    if (guest.surface != NULL)
        add_fading(sim, guest.surface);
    contact_run run = {sim, forgetful, 300};
    firn_sim_set_progress(sim, after_substep, &run);
    assert_int_equal(firn_sim_step(sim, 1.0, &error), FIRN_ERR_CANCELLED);
    return sim;
}

static void assert_same_particles(const firn_sim *a, const firn_sim *b)
{
    assert_true(a->time == b->time && a->particles.count == b->particles.count);
    for (int c = 0; c < a->particles.channel_count; c++)
        assert_memory_equal(firn_channel_of(&a->particles, c), firn_channel_of(&b->particles, c),
                            a->particles.count * sizeof(float));
}

static void compare_looks(firn_contact contact, visitor guest)
{
    firn_sim *often = run_contact(contact, guest, true);
    firn_sim *seldom = run_contact(contact, guest, false);
    assert_true(often->time > 0.004);
    assert_same_particles(often, seldom);
    firn_sim_destroy(often);
    firn_sim_destroy(seldom);
}

static void looks_for_contact_that_are_left_out_change_nothing(void **state)
{
    (void)state;
    const box_path turning = {0.1f, 0.03f, 0.02, 1.0f};
    for (int contact = FIRN_CONTACT_SEPARATE; contact <= FIRN_CONTACT_STICKY; contact++)
        compare_looks((firn_contact)contact, (visitor){.box = &turning, .radius = 0.05f});
    compare_looks(FIRN_CONTACT_SEPARATE, (visitor){.plane = true, .radius = 0.05f});
    firn_transform voxels = firn_transform_identity();
    voxels.scale = 0.005f;
    const firn_vec3 from = {-0.085f, 0.05f, 0.0f}, to = {-0.07f, 0.05f, 0.0f};
    balls surface[2] = {balls_make(&from, 1, 0.03f, voxels), balls_make(&to, 1, 0.03f, voxels)};
    compare_looks(FIRN_CONTACT_SEPARATE, (visitor){.surface = surface, .radius = 0.05f});
    for (int i = 0; i < 2; i++)
        balls_free(&surface[i]);
}

// Nodes that are out of the floor, at first the only collider near, are inside of a box that stops
// there. It touches no particle: a sort would hide what is forgotten.
static void collider_that_comes_to_rest_is_met_at_every_node(void **state)
{
    (void)state;
    const box_path stopping = {0.066f, 0.046f, 0.003, 0.0f};
    compare_looks(FIRN_CONTACT_SEPARATE, (visitor){.box = &stopping, .radius = 0.02f});
}

// Grains at all distances from a plate, half a cell of way in each substep. No node is inside of
// the plate, so that only the particles meet it.
static firn_sim *run_grains(bool forgetful)
{
    enum { GRAINS = 120, SUBSTEPS = 12 };
    firn_sim_def def = firn_sim_def_default();
    def.cell_size = 0.01f;
    def.dt_min = def.dt_max = 1e-3f;
    def.thread_count = 1;
    firn_sim *sim = scene_create(&def);
    firn_collider_def plate =
        firn_collider_def_box(firn_vec(5.0f, 0.005f, 0.0f), firn_vec(10.0f, 0.0015f, 1.0f));
    assert_int_equal(firn_sim_add_collider(sim, &plate, NULL, NULL), FIRN_OK);
    firn_vec3 points[GRAINS];
    for (int i = 0; i < GRAINS; i++)
        points[i] = firn_vec(0.09f * (float)i, 0.007f + 0.0004f * (float)i, 0.0f);
    firn_source_def grains = firn_source_def_points(points, GRAINS);
    grains.velocity = firn_vec(0.0f, -4.8f, 0.0f);
    firn_material_def soft = firn_material_def_default();
    soft.young_modulus = 1e3f; // the substep is long
    assert_int_equal(firn_sim_add_material(sim, &soft, &grains.material, NULL), FIRN_OK);
    scene_add(sim, &grains);
    contact_run run = {sim, forgetful, SUBSTEPS};
    firn_sim_set_progress(sim, after_substep, &run);
    assert_int_equal(firn_sim_step(sim, 1.0, NULL), FIRN_ERR_CANCELLED);
    return sim;
}

static void grains_that_fall_fast_are_met_in_time(void **state)
{
    (void)state;
    firn_sim *often = run_grains(true), *seldom = run_grains(false);
    assert_same_particles(often, seldom);
    firn_sim_destroy(often);
    firn_sim_destroy(seldom);
}

static firn_sim *run_with_far_colliders(int count)
{
    firn_sim *sim = make_ball(0.05f);
    scene_add_floor(sim, 0.0f);
    for (int i = 0; i < count; i++) {
        firn_collider_def far =
            firn_collider_def_sphere(firn_vec((float)(5 + i), 0.0f, 0.0f), 0.1f);
        assert_int_equal(firn_sim_add_collider(sim, &far, NULL, NULL), FIRN_OK);
    }
    for (int frame = 0; frame < 4; frame++)
        scene_step(sim, 0.005);
    return sim;
}

static void colliders_far_away_change_nothing_however_many(void **state)
{
    (void)state;
    firn_sim *alone = run_with_far_colliders(0);
    const int numbers[] = {62, 63, 200};
    for (size_t i = 0; i < FIRN_COUNT(numbers); i++) {
        firn_sim *sim = run_with_far_colliders(numbers[i]);
        assert_same_particles(sim, alone);
        firn_sim_destroy(sim);
    }
    firn_sim_destroy(alone);
}

// A surface that may pass the margin around a block in a single substep: its groups look, and must
// go on looking, for what they know is true only as long as all ways are counted.
static void block_that_had_to_look_goes_on_looking(void **state)
{
    (void)state;
    firn_sim *sim = make_ball(0.05f);
    const box_path fast = {20.0f, 10.0f, 0.01, 0.0f};
    add_box(sim, &fast);
    firn_error error;
    scene_expect_ok(firn_sim_sort(sim, &error), &error);
    scene_expect_ok(firn_sim_reserve(sim, &error), &error);
    firn_clearance_forget(sim);
    const float dts[] = {1e-5f, 1e-4f, 1e-5f, 1e-6f};
    const float *clearances = sim->clearance.block.data;
    for (size_t i = 0; i < FIRN_COUNT(dts); i++) {
        scene_expect_ok(firn_clearance_prepare(sim, dts[i], &error), &error);
        firn_transfer_to_grid(sim, dts[i]);
        firn_node_limits limits = firn_grid_update(sim, dts[i]);
        scene_expect_ok(firn_contact_find_particles(sim, dts[i], limits, &error), &error);
        firn_transfer_to_particles(sim, dts[i]);
        for (size_t b = 0; b < sim->grid.block_count; b++)
            assert_true((clearances[b] == FIRN_NO_CLEARANCE) == (i > 0));
    }
    firn_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_for_contact_that_are_left_out_change_nothing),
        cmocka_unit_test(collider_that_comes_to_rest_is_met_at_every_node),
        cmocka_unit_test(grains_that_fall_fast_are_met_in_time),
        cmocka_unit_test(colliders_far_away_change_nothing_however_many),
        cmocka_unit_test(block_that_had_to_look_goes_on_looking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
