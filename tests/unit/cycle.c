/// The way from grid to particles to grid in one go, the looks for contact that are left out, and
/// the order in which threads work on blocks that share nodes.
#include "level_set_balls.h"
#include "transfer_scene.h"

#include <stdatomic.h>

static const float first_dt = 2e-5f, next_dt = 3e-5f;

// Away from the ends of its block's reach, which a small step would pass.
static void stay_inside(firn_sim *sim)
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        for (int axis = 0; axis < 3; axis++) {
            float *u = firn_channel_of(&sim->particles, FIRN_U + axis);
            for (size_t p = blocks[b].begin; p < blocks[b].end; p++)
                u[p] = fminf(fmaxf(u[p], (float)blocks[b].low[axis] + 0.1f),
                             (float)blocks[b].high[axis] - 0.1f);
        }
}

static void assert_same_field(const firn_sim *a, const firn_sim *b, firn_node_field field)
{
    size_t bytes = a->grid.node_block_count * FIRN_BLOCK_FLOATS * sizeof(float);
    assert_memory_equal(a->grid.field[field].data, b->grid.field[field].data, bytes);
}

static void compare_cycle(const variant *v)
{
    if (v->scheme == FIRN_SCHEME_APIC_SPLIT)
        return;
    firn_sim *sims[2];
    for (int i = 0; i < 2; i++) {
        firn_sim *sim = sims[i] = make_scene(v, 5);
        stay_inside(sim);
        firn_transfer_to_grid(sim, first_dt);
        firn_grid_update(sim, first_dt);
        if (i == 0) {
            firn_transfer_to_particles(sim, first_dt);
            firn_transfer_to_grid(sim, next_dt);
        } else {
            firn_transfer_cycle(sim, (double)first_dt, (double)next_dt);
            assert_true(sim->extremes.low >= 0.0f && sim->extremes.high < 0.0f);
            firn_transfer_take_ahead(sim);
        }
    }
    for (int c = 0; c < sims[0]->particles.channel_count; c++)
        assert_memory_equal(firn_channel_of(&sims[0]->particles, c),
                            firn_channel_of(&sims[1]->particles, c),
                            sims[0]->particles.count * sizeof(float));
    assert_same_field(sims[0], sims[1], FIRN_NODE_VELOCITY);
    if (v->scheme == FIRN_SCHEME_FLIP)
        assert_same_field(sims[0], sims[1], FIRN_NODE_OLD);
    assert_true(sims[0]->stats.elastic == sims[1]->stats.elastic);
    assert_true(sims[0]->stats.kinetic == sims[1]->stats.kinetic);
    for (int i = 0; i < 2; i++)
        firn_sim_destroy(sims[i]);
}

static void a_cycle_is_both_transfers_to_the_last_bit(void **state)
{
    (void)state;
    for_all_variants(compare_cycle);
}

static void compare_drift(const variant *v)
{
    if (v->scheme == FIRN_SCHEME_APIC_SPLIT)
        return;
    // Particles at the very ends of the reach: some pass them.
    firn_sim *sim = make_scene(v, 6);
    firn_transfer_to_grid(sim, first_dt);
    firn_grid_update(sim, first_dt);
    firn_transfer_cycle(sim, 1e-3, (double)next_dt);
    assert_false(sim->extremes.low >= 0.0f && sim->extremes.high < 0.0f);
    firn_sim_destroy(sim);
}

static void what_leaves_the_reach_of_its_block_asks_for_a_sort(void **state)
{
    (void)state;
    for_all_variants(compare_drift);
}

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
        firn_room_forget(run->sim);
    return --run->left > 0;
}

static void add_box(firn_sim *sim)
{
    firn_error error;
    firn_collider_def box =
        firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.02f, 0.03f, 0.03f));
    firn_collider_id id;
    scene_expect_ok(firn_sim_add_collider(sim, &box, &id, &error), &error);
    firn_pose_key keys[2] = {{0.0, firn_transform_identity()}, {0.02, firn_transform_identity()}};
    keys[0].pose.translation = firn_vec(0.1f, 0.04f, 0.0f);
    keys[1].pose.translation = firn_vec(0.03f, 0.04f, 0.0f);
    keys[1].pose.rotation = firn_quat_turn(firn_vec(0.0f, 0.0f, 1.0f), 1.0f);
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

static firn_sim *run_contact(firn_contact contact, const balls surface[2], bool forgetful)
{
    firn_sim_def def = firn_sim_def_default();
    def.cell_size = 0.01f;
    def.thread_count = 1;
    firn_sim *sim = scene_create(&def);
    firn_source_def ball = firn_source_def_sphere(firn_vec(0.0f, 0.052f, 0.0f), 0.05f);
    ball.velocity = firn_vec(0.0f, -2.0f, 0.0f);
    scene_add(sim, &ball);
    firn_error error;
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    floor.contact = (int)contact;
    scene_expect_ok(firn_sim_add_collider(sim, &floor, NULL, &error), &error);
    if (surface == NULL)
        add_box(sim);
    else
        add_fading(sim, surface);
    contact_run run = {sim, forgetful, 300};
    firn_sim_set_progress(sim, after_substep, &run);
    assert_int_equal(firn_sim_step(sim, 1.0, &error), FIRN_ERR_CANCELLED);
    return sim;
}

static void compare_looks(firn_contact contact, const balls surface[2])
{
    firn_sim *often = run_contact(contact, surface, true);
    firn_sim *seldom = run_contact(contact, surface, false);
    assert_true(often->time == seldom->time && often->time > 0.004);
    for (int c = 0; c < often->particles.channel_count; c++)
        assert_memory_equal(firn_channel_of(&often->particles, c),
                            firn_channel_of(&seldom->particles, c),
                            often->particles.count * sizeof(float));
    firn_sim_destroy(often);
    firn_sim_destroy(seldom);
}

static void looks_for_contact_that_are_left_out_change_nothing(void **state)
{
    (void)state;
    for (int contact = FIRN_CONTACT_SEPARATE; contact <= FIRN_CONTACT_STICKY; contact++)
        compare_looks((firn_contact)contact, NULL);
    firn_transform voxels = firn_transform_identity();
    voxels.scale = 0.005f;
    const firn_vec3 from = {-0.085f, 0.05f, 0.0f}, to = {-0.07f, 0.05f, 0.0f};
    balls surface[2] = {balls_make(&from, 1, 0.03f, voxels), balls_make(&to, 1, 0.03f, voxels)};
    compare_looks(FIRN_CONTACT_SEPARATE, surface);
    for (int i = 0; i < 2; i++)
        balls_free(&surface[i]);
}

/// When blocks were begun and ended.
typedef struct record {
    atomic_uint clock;
    unsigned begun[64], ended[64];
} record;

static void note_block(const void *user, size_t b, size_t following)
{
    (void)following;
    record *r = *(record *const *)user;
    r->begun[b] = atomic_fetch_add(&r->clock, 1);
    for (volatile int busy = 0; busy < 2000 * (int)(b % 5); busy = busy + 1)
        continue;
    r->ended[b] = atomic_fetch_add(&r->clock, 1);
}

static bool share_nodes(firn_coord a, firn_coord b, int order)
{
    int far = order == 3 ? 1 : 2;
    return abs(a.x - b.x) <= far && abs(a.y - b.y) <= far && abs(a.z - b.z) <= far;
}

static void check_order(const firn_grid *grid, const record *r)
{
    const firn_block *blocks = firn_grid_blocks(grid);
    for (size_t a = 0; a < grid->block_count; a++)
        for (size_t b = 0; b < grid->block_count; b++) {
            int before = firn_block_color(blocks[a].coord, grid->order);
            int after = firn_block_color(blocks[b].coord, grid->order);
            if (before < after && share_nodes(blocks[a].coord, blocks[b].coord, grid->order))
                assert_true(r->ended[a] < r->begun[b]);
        }
}

static void blocks_that_share_nodes_follow_each_other(void **state)
{
    (void)state;
    for (int kernel = FIRN_KERNEL_QUADRATIC; kernel <= FIRN_KERNEL_CUBIC; kernel++) {
        firn_sim_def def = firn_sim_def_default();
        def.kernel = kernel;
        def.cell_size = 0.01f;
        def.thread_count = 4;
        firn_sim *sim = scene_create(&def);
        firn_source_def cube =
            firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.055f, 0.055f, 0.055f));
        scene_add(sim, &cube);
        firn_error error;
        scene_expect_ok(firn_sim_sort(sim, &error), &error);
        assert_in_range(sim->grid.block_count, 27, 64);
        for (int round = 0; round < 50; round++) {
            record r = {0}, *where = &r;
            firn_sequence_run(&sim->sequence, &sim->grid, 4,
                              (firn_sequence_work){note_block, &where});
            assert_int_equal(atomic_load(&r.clock), 2 * sim->grid.block_count);
            check_order(&sim->grid, &r);
        }
        firn_sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cycle_is_both_transfers_to_the_last_bit),
        cmocka_unit_test(what_leaves_the_reach_of_its_block_asks_for_a_sort),
        cmocka_unit_test(looks_for_contact_that_are_left_out_change_nothing),
        cmocka_unit_test(blocks_that_share_nodes_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
