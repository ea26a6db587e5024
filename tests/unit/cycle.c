/// The way from grid to particles to grid in one go.
#include "transfer_scene.h"

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

// The grid that the particles came from is known in the next substep as well.
static void compare_cycle(const variant *v, bool recovers_first)
{
    if (v->scheme == FIRN_SCHEME_APIC_SPLIT)
        return;
    variant own = *v;
    own.explicit_step = true;
    firn_sim *sims[2];
    for (int i = 0; i < 2; i++) {
        firn_sim *sim = sims[i] = make_scene(&own, 5);
        stay_inside(sim);
        firn_transfer_to_grid(sim, first_dt);
        firn_grid_update(sim, first_dt);
        if (i == 0) {
            firn_transfer_to_particles(sim, first_dt);
            firn_transfer_to_grid(sim, next_dt);
        } else {
            firn_transfer_cycle(sim, (double)first_dt, (double)next_dt);
            assert_true(sim->foresight.extremes.low >= 0.0f && sim->foresight.extremes.high < 0.0f);
            if (recovers_first)
                firn_transfer_recover(sim);
            firn_transfer_take_ahead(sim);
            firn_transfer_recover(sim);
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

static void recover_before(const variant *v) { compare_cycle(v, true); }
static void recover_after(const variant *v) { compare_cycle(v, false); }

static void a_cycle_is_both_transfers_to_the_last_bit(void **state)
{
    (void)state;
    for_all_variants(recover_before);
    for_all_variants(recover_after);
}

static void compare_drift(const variant *v)
{
    if (v->scheme == FIRN_SCHEME_APIC_SPLIT)
        return;
    variant own = *v;
    own.explicit_step = true;
    // Particles at the very ends of the reach: some pass them.
    firn_sim *sim = make_scene(&own, 6);
    firn_transfer_to_grid(sim, first_dt);
    firn_grid_update(sim, first_dt);
    firn_transfer_cycle(sim, 1e-3, (double)next_dt);
    assert_false(sim->foresight.extremes.low >= 0.0f && sim->foresight.extremes.high < 0.0f);
    firn_sim_destroy(sim);
}

static void what_leaves_the_reach_of_its_block_asks_for_a_sort(void **state)
{
    (void)state;
    for_all_variants(compare_drift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cycle_is_both_transfers_to_the_last_bit),
        cmocka_unit_test(what_leaves_the_reach_of_its_block_asks_for_a_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
