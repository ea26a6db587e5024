/// One simulation on several ranks has the bits of one: particles, blocks and statistics.
#include "loopback.h"
#include "scene.h"

enum { SUBSTEPS = 4096, COLLIDERS = 2 };

/// What a shot is, for any number of ranks.
typedef struct shot_def {
    const char *name;
    firn_sim_def def;
    firn_result (*fill)(firn_sim *sim, firn_error *error);
    /// What happens before a call, on each rank alike; may be NULL.
    firn_result (*change)(firn_sim *sim, int call, firn_error *error);
    int calls;
    double seconds;       // of a call
    const uint64_t *cuts; // fixed intervals; NULL: cut by weight
    bool fails;           // not all calls go well
} shot_def;

/// What a substep says, all of it equal on all ranks.
typedef struct said {
    double time, dt, kinetic, elastic, potential, max_speed, mean_jp, min_jp, residual;
    double explicit_cost, implicit_cost;
    int64_t substep;
    uint64_t particles, asleep, blocks;
    int64_t iterations, rejected, integrator;
} said;

/// What has come of a shot on a rank.
typedef struct outcome {
    said substeps[SUBSTEPS];
    int substep_count;
    firn_result results[32];
    char sentences[32][FIRN_MESSAGE_SIZE];
    firn_collider_force forces[32][COLLIDERS]; // after each call
    firn_sim *sim;
} outcome;

static bool listen(const firn_step_stats *s, void *user)
{
    outcome *o = user;
    if (o->substep_count < SUBSTEPS)
        o->substeps[o->substep_count++] =
            (said){s->time,          s->dt,       s->kinetic,   s->elastic,  s->potential,
                   s->max_speed,     s->mean_jp,  s->min_jp,    s->residual, s->explicit_cost,
                   s->implicit_cost, s->substep,  s->particles, s->asleep,   s->blocks,
                   s->iterations,    s->rejected, s->integrator};
    return true;
}

/// A thread with its rank.
typedef struct worker {
    const shot_def *shot;
    loopback_end end;
    outcome outcome;
} worker;

static void set_cuts(firn_sim *sim, const uint64_t *cuts)
{
    if (cuts == NULL || !firn_owners_shared(&sim->owners))
        return;
    size_t bytes = ((size_t)sim->owners.exchange.rank_count - 1) * sizeof *cuts;
    memcpy(sim->owners.cuts.data, cuts, bytes);
    sim->owners.fixed = true;
}

static void *run_rank(void *user)
{
    worker *w = user;
    const shot_def *shot = w->shot;
    outcome *o = &w->outcome;
    firn_error error = {FIRN_OK, ""};
    firn_exchange exchange = w->end.all != NULL ? loopback_exchange(&w->end) : (firn_exchange){0};
    firn_result result = w->end.all != NULL
                             ? firn_sim_create_shared(&shot->def, &exchange, &o->sim, &error)
                             : firn_sim_create(&shot->def, &o->sim, &error);
    o->results[31] = result;
    if (result != FIRN_OK)
        return NULL;
    set_cuts(o->sim, shot->cuts);
    firn_sim_set_progress(o->sim, listen, o);
    o->results[30] = shot->fill(o->sim, &error);
    memcpy(o->sentences[30], error.message, sizeof error.message);
    for (int call = 0; call < shot->calls; call++) {
        error.message[0] = '\0';
        result = shot->change != NULL ? shot->change(o->sim, call, &error) : FIRN_OK;
        if (result == FIRN_OK)
            result = firn_sim_step(o->sim, shot->seconds, &error);
        o->results[call] = result;
        memcpy(o->sentences[call], error.message, sizeof error.message);
        for (uint32_t i = 0; i < COLLIDERS; i++)
            firn_sim_collider_force(o->sim, (firn_collider_id){i + 1, 1}, &o->forces[call][i],
                                    NULL);
    }
    return NULL;
}

/// A shot on some ranks.
typedef struct cast {
    int rank_count;
    worker *workers;
    loopback all;
} cast;

static cast *perform_until(const shot_def *shot, int rank_count, long meetings)
{
    cast *c = calloc(1, sizeof *c);
    c->rank_count = rank_count;
    c->workers = calloc((size_t)rank_count, sizeof *c->workers);
    loopback_init(&c->all, rank_count);
    c->all.meetings_left = meetings;
    pthread_t threads[LOOPBACK_RANKS];
    for (int r = 0; r < rank_count; r++)
        c->workers[r] = (worker){.shot = shot, .end = {rank_count > 1 ? &c->all : NULL, r}};
    for (int r = 0; r < rank_count; r++)
        assert_int_equal(pthread_create(&threads[r], NULL, run_rank, &c->workers[r]), 0);
    for (int r = 0; r < rank_count; r++)
        pthread_join(threads[r], NULL);
    assert_false(c->all.broken);
    return c;
}

static cast *perform(const shot_def *shot, int rank_count)
{
    return perform_until(shot, rank_count, -1);
}

static void dismiss(cast *c)
{
    for (int r = 0; r < c->rank_count; r++)
        firn_sim_destroy(c->workers[r].outcome.sim);
    loopback_free(&c->all);
    free(c->workers);
    free(c);
}

static void compare_substeps(const cast *one, const cast *many, const char *name)
{
    const outcome *a = &one->workers[0].outcome;
    for (int r = 0; r < many->rank_count; r++) {
        const outcome *b = &many->workers[r].outcome;
        int count = a->substep_count < b->substep_count ? a->substep_count : b->substep_count;
        for (int i = 0; i < count; i++) {
            const said *x = &a->substeps[i], *y = &b->substeps[i];
            if (memcmp(x, y, sizeof *x) != 0)
                fail_msg("%s: rank %d of %d differs in substep %d: dt %.9g %.9g, kinetic %.17g "
                         "%.17g, elastic %.17g %.17g, potential %.17g %.17g, particles %d %d, "
                         "blocks %d %d, asleep %d %d, iterations %d %d, residual %g %g",
                         name, r, many->rank_count, i, x->dt, y->dt, x->kinetic, y->kinetic,
                         x->elastic, y->elastic, x->potential, y->potential, (int)x->particles,
                         (int)y->particles, (int)x->blocks, (int)y->blocks, (int)x->asleep,
                         (int)y->asleep, (int)x->iterations, (int)y->iterations, x->residual,
                         y->residual);
        }
        if (a->substep_count != b->substep_count)
            fail_msg("%s: %d substeps on one rank, %d on rank %d of %d", name, a->substep_count,
                     b->substep_count, r, many->rank_count);
        for (int call = 0; call < 32; call++) {
            if (a->results[call] != b->results[call])
                fail_msg("%s: call %d gave '%s' on one rank, '%s' (%s) on rank %d", name, call,
                         firn_result_name(a->results[call]), firn_result_name(b->results[call]),
                         b->sentences[call], r);
            assert_string_equal(a->sentences[call], b->sentences[call]);
            if (memcmp(a->forces[call], b->forces[call], sizeof a->forces[call]) != 0)
                fail_msg("%s: other forces on colliders in call %d, rank %d", name, call, r);
        }
    }
}

static void compare_block(const firn_sim *a, const firn_block *x, const firn_sim *b,
                          const firn_block *y, const char *name)
{
    assert_memory_equal(&x->coord, &y->coord, sizeof x->coord);
    assert_memory_equal(&x->rest, &y->rest, sizeof x->rest);
    assert_int_equal(x->end - x->begin, y->end - y->begin);
    size_t count = x->end - x->begin;
    for (int c = 0; c < a->particles.channel_count; c++)
        if (memcmp(firn_channel_of(&a->particles, c) + x->begin,
                   firn_channel_of(&b->particles, c) + y->begin, count * sizeof(float)) != 0)
            fail_msg("%s: channel %d differs in block %d %d %d", name, c, x->coord.x, x->coord.y,
                     x->coord.z);
    assert_memory_equal((const uint8_t *)a->particles.material.data + x->begin,
                        (const uint8_t *)b->particles.material.data + y->begin, count);
}

static void compare_particles(const cast *one, const cast *many, const char *name)
{
    const firn_sim *a = one->workers[0].outcome.sim;
    const firn_block *blocks = firn_grid_blocks(&a->grid);
    size_t at = 0;
    for (int r = 0; r < many->rank_count; r++) {
        const firn_sim *b = many->workers[r].outcome.sim;
        for (size_t i = 0; i < b->grid.block_count; i++, at++) {
            assert_true(at < a->grid.block_count);
            compare_block(a, &blocks[at], b, &firn_grid_blocks(&b->grid)[i], name);
        }
        assert_true(b->time == a->time && b->particles.next_id == a->particles.next_id);
    }
    assert_int_equal(at, a->grid.block_count);
}

static cast *perform_alone(const shot_def *shot)
{
    cast *one = perform(shot, 1);
    for (int call = 0; call < shot->calls && !shot->fails; call++)
        if (one->workers[0].outcome.results[call] != FIRN_OK)
            fail_msg("%s: %s", shot->name, one->workers[0].outcome.sentences[call]);
    return one;
}

static void expect_bits_of(const cast *one, const shot_def *shot, int rank_count)
{
    cast *many = perform(shot, rank_count);
    compare_substeps(one, many, shot->name);
    compare_particles(one, many, shot->name);
    assert_true(many->all.messages > 0);
    dismiss(many);
}

static void expect_bits_of_one_on_all(const shot_def *shot)
{
    const int counts[] = {2, 4, 7};
    cast *one = perform_alone(shot);
    for (size_t i = 0; i < FIRN_COUNT(counts); i++)
        expect_bits_of(one, shot, counts[i]);
    dismiss(one);
}

// A box that turns and falls on a floor, with something elastic in it, beside a ball that comes
// along.
static firn_result fill_crash(firn_sim *sim, firn_error *error)
{
    firn_material_def rubber = firn_material_def_default();
    rubber.model = FIRN_MODEL_ELASTIC;
    firn_material_id material;
    FIRN_TRY(firn_sim_add_material(sim, &rubber, &material, error));
    firn_source_def ring =
        firn_source_def_box(firn_vec(0.0f, 0.25f, 0.0f), firn_vec(0.12f, 0.04f, 0.04f));
    ring.material = material;
    ring.velocity = firn_vec(0.0f, -3.0f, 0.0f);
    FIRN_TRY(firn_sim_add_source(sim, &ring, NULL, error));
    firn_source_def box =
        firn_source_def_box(firn_vec(0.03f, 0.1f, 0.0f), firn_vec(0.16f, 0.09f, 0.09f));
    box.velocity = firn_vec(0.4f, -2.0f, 0.3f);
    box.angular_velocity = firn_vec(1.0f, 8.0f, 3.0f);
    box.chunk_size = 0.1f;
    box.chunk_bond = 0.3f;
    FIRN_TRY(firn_sim_add_source(sim, &box, NULL, error));
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    FIRN_TRY(firn_sim_add_collider(sim, &floor, NULL, error));
    firn_collider_def ball = firn_collider_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 0.08f);
    firn_collider_id id;
    FIRN_TRY(firn_sim_add_collider(sim, &ball, &id, error));
    firn_pose_key keys[2] = {{.time = 0.0}, {.time = 0.2}};
    keys[0].pose = keys[1].pose = firn_transform_identity();
    keys[0].pose.translation = firn_vec(-0.35f, 0.1f, 0.0f);
    keys[1].pose.translation = firn_vec(0.1f, 0.1f, 0.0f);
    return firn_sim_move_collider(sim, id, keys, 2, error);
}

static void explicit_steps_have_the_bits_of_one_rank(void **state)
{
    (void)state;
    for (int combination = 0; combination < 4; combination++) {
        const shot_def crash = {.name = "explicit crash",
                                .def = scene_combination(combination),
                                .fill = fill_crash,
                                .calls = 2,
                                .seconds = 0.01};
        expect_bits_of_one_on_all(&crash);
    }
}

static void implicit_steps_have_the_bits_of_one_rank(void **state)
{
    (void)state;
    for (int combination = 4; combination < 8; combination++) {
        const shot_def crash = {.name = "implicit crash",
                                .def = scene_combination(combination),
                                .fill = fill_crash,
                                .calls = 2,
                                .seconds = 0.015};
        expect_bits_of_one_on_all(&crash);
    }
}

static void chosen_integrator_is_that_of_one_rank(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.integrator = FIRN_INTEGRATOR_AUTO;
    const shot_def crash = {
        .name = "auto crash", .def = def, .fill = fill_crash, .calls = 4, .seconds = 0.005};
    expect_bits_of_one_on_all(&crash);
}

// Intervals that stay: some ranks own nothing, and one owns places where snow comes later.
static void rank_may_own_nothing(void **state)
{
    (void)state;
    const uint64_t cuts[] = {
        firn_block_key((firn_coord){-90, 0, 0}), firn_block_key((firn_coord){-1, 0, -1}),
        firn_block_key((firn_coord){0, 1, 0}),   firn_block_key((firn_coord){0, 1, 0}),
        firn_block_key((firn_coord){1, 0, 0}),   firn_block_key((firn_coord){9, 0, 0})};
    for (int combination = 0; combination < 8; combination += 5) {
        shot_def crash = {.name = "fixed intervals",
                          .def = scene_combination(combination),
                          .fill = fill_crash,
                          .calls = 1,
                          .seconds = 0.01,
                          .cuts = cuts};
        crash.def.thread_count = 2;
        cast *one = perform_alone(&crash);
        expect_bits_of(one, &crash, 7);
        dismiss(one);
    }
}

// A heap at rest, and a box that falls beside it later and wakes it.
static firn_result fill_heap(firn_sim *sim, firn_error *error)
{
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    FIRN_TRY(firn_sim_add_collider(sim, &floor, NULL, error));
    firn_source_def heap =
        firn_source_def_box(firn_vec(0.0f, 0.06f, 0.0f), firn_vec(0.25f, 0.06f, 0.08f));
    FIRN_TRY(firn_sim_add_source(sim, &heap, NULL, error));
    firn_source_def box =
        firn_source_def_box(firn_vec(0.15f, 0.2f, 0.0f), firn_vec(0.04f, 0.04f, 0.04f));
    box.start = 0.055;
    box.velocity = firn_vec(0.0f, -2.0f, 0.0f);
    return firn_sim_add_source(sim, &box, NULL, error);
}

// Gravity turns: everything wakes.
static firn_result tilt(firn_sim *sim, int call, firn_error *error)
{
    firn_sim_def def = sim->def;
    if (call == 5)
        def.gravity = firn_vec(3.0f, -9.0f, 0.0f);
    return firn_sim_change(sim, &def, error);
}

static void sleeping_snow_has_the_bits_of_one_rank(void **state)
{
    (void)state;
    for (int integrator = 0; integrator < 2; integrator++) {
        firn_sim_def def = scene_combination(4 * integrator);
        def.sleep_speed = 0.2f;
        def.sleep_time = 0.01f;
        const shot_def heap = {.name = integrator ? "implicit heap" : "heap",
                               .def = def,
                               .fill = fill_heap,
                               .change = tilt,
                               .calls = 6,
                               .seconds = 0.02};
        cast *one = perform(&heap, 1);
        size_t most = 0, least = SIZE_MAX;
        const outcome *o = &one->workers[0].outcome;
        for (int i = 0; i < o->substep_count; i++) {
            most = o->substeps[i].asleep > most ? o->substeps[i].asleep : most;
            if (most > 0)
                least = o->substeps[i].asleep < least ? o->substeps[i].asleep : least;
        }
        assert_true(most > 1000 && least < most);
        dismiss(one);
        expect_bits_of_one_on_all(&heap);
    }
}

// A jet that leaves the domain, snow whose volume comes from the grid, and points.
static firn_result fill_jet(firn_sim *sim, firn_error *error)
{
    firn_source_def jet =
        firn_source_def_box(firn_vec(-0.1f, 0.2f, 0.0f), firn_vec(0.06f, 0.05f, 0.05f));
    jet.velocity = firn_vec(6.0f, 0.5f, 1.0f);
    jet.end = 0.02;
    jet.stiffness_noise = 0.4f;
    jet.chunk_size = 0.06f;
    jet.chunk_bond = 0.5f;
    FIRN_TRY(firn_sim_add_source(sim, &jet, NULL, error));
    firn_collider_def wall = firn_collider_def_plane(firn_vec(-1.0f, 0.5f, 0.0f), -0.1f);
    FIRN_TRY(firn_sim_add_collider(sim, &wall, NULL, error));
    const firn_vec3 points[3] = {{0.1f, 0.0f, 0.0f}, {0.0f, 0.31f, 0.0f}, {-0.2f, 0.1f, 0.1f}};
    firn_source_def grains = firn_source_def_points(points, FIRN_COUNT(points));
    return firn_sim_add_source(sim, &grains, NULL, error);
}

// Between two calls some grains are put far away, all in one cell, and some out of the world.
static firn_result carry_off(firn_sim *sim, int call, firn_error *error)
{
    (void)error;
    const uint32_t *id = (const uint32_t *)firn_channel_of(&sim->particles, FIRN_ID);
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    float *u[3];
    for (int axis = 0; axis < 3; axis++)
        u[axis] = firn_channel_of(&sim->particles, FIRN_U + axis);
    for (size_t b = 0; call > 0 && b < sim->grid.block_count; b++)
        for (size_t p = blocks[b].begin; p < blocks[b].end; p++) {
            if (id[p] % 211 == 5)
                u[1][p] += 1e6f;
            if (id[p] % 31 != 3)
                continue;
            u[0][p] = 4.0f * (float)(2 - blocks[b].coord.x) + 0.5f;
            u[1][p] = 4.0f * (float)(8 - blocks[b].coord.y) + 1.5f;
            u[2][p] = 4.0f * (float)(0 - blocks[b].coord.z) + 2.5f;
        }
    return FIRN_OK;
}

static void emitted_and_lost_snow_has_the_bits_of_one_rank(void **state)
{
    (void)state;
    for (int combination = 0; combination < 8; combination += 4) {
        firn_sim_def def = scene_combination(combination);
        def.volume = FIRN_VOLUME_GRID;
        def.domain_lower = firn_vec(-1.0f, -1.0f, -1.0f);
        def.domain_upper = firn_vec(0.25f, 1.0f, 1.0f);
        const shot_def jet = {.name = "jet",
                              .def = def,
                              .fill = fill_jet,
                              .change = carry_off,
                              .calls = 3,
                              .seconds = 0.012};
        expect_bits_of_one_on_all(&jet);
    }
}

static void retries_are_made_together(void **state)
{
    (void)state;
    for (int retries = 0; retries <= 20; retries += 20) {
        firn_sim_def def = scene_combination(0);
        def.dt_min = def.dt_max = 5e-3f;
        def.retries = retries;
        const shot_def crash = {.name = "retry",
                                .def = def,
                                .fill = fill_crash,
                                .calls = 2,
                                .seconds = 0.04,
                                .fails = retries == 0};
        expect_bits_of_one_on_all(&crash);
    }
}

static firn_result starve(firn_sim *sim, int call, firn_error *error)
{
    (void)error;
    if (sim->owners.exchange.rank == 1)
        sim->budget.limit = call == 1 ? sim->budget.used / 2 : 0;
    return FIRN_OK;
}

static void rank_without_memory_is_the_failure_of_all(void **state)
{
    (void)state;
    for (int combination = 0; combination < 8; combination += 4) {
        shot_def shot = {.name = "starving",
                         .def = scene_combination(combination),
                         .fill = fill_jet,
                         .change = starve,
                         .calls = 3,
                         .seconds = 0.02};
        cast *c = perform(&shot, 3);
        for (int r = 0; r < 3; r++) {
            const outcome *o = &c->workers[r].outcome;
            const firn_result expected[3] = {FIRN_OK, FIRN_ERR_MEMORY, FIRN_OK};
            for (int call = 0; call < 3; call++)
                assert_int_equal(o->results[call], expected[call]);
            assert_non_null(strstr(o->sentences[1], "memory limit"));
            assert_string_equal(o->sentences[1], c->workers[0].outcome.sentences[1]);
        }
        dismiss(c);
    }
}

static bool cancel(const firn_step_stats *stats, void *user)
{
    (void)user;
    return stats->substep < 20;
}

static firn_result hand_cancel_to_one(firn_sim *sim, int call, firn_error *error)
{
    (void)error;
    firn_sim_set_progress(sim, call == 0 && sim->owners.exchange.rank == 2 ? cancel : NULL, NULL);
    return FIRN_OK;
}

static void rank_that_cancels_stops_all(void **state)
{
    (void)state;
    const shot_def shot = {.name = "cancelled",
                           .def = scene_combination(0),
                           .fill = fill_crash,
                           .change = hand_cancel_to_one,
                           .calls = 1,
                           .seconds = 0.1};
    cast *c = perform(&shot, 4);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(c->workers[r].outcome.results[0], FIRN_ERR_CANCELLED);
        assert_int_equal(firn_sim_stats(c->workers[r].outcome.sim).substep, 20);
    }
    dismiss(c);
}

// Wherever the line breaks, nobody waits, and everybody says so.
static void lost_line_ends_all(void **state)
{
    (void)state;
    for (long meetings = 1; meetings < 4000; meetings = 2 * meetings + 7) {
        const shot_def shot = {.name = "lost",
                               .def = scene_combination(meetings & 4),
                               .fill = fill_crash,
                               .calls = 2,
                               .seconds = 0.05};
        cast *c = perform_until(&shot, 3, meetings);
        for (int r = 0; r < 3; r++) {
            const outcome *o = &c->workers[r].outcome;
            bool lost = o->results[30] == FIRN_ERR_IO || o->results[0] == FIRN_ERR_IO ||
                        o->results[1] == FIRN_ERR_IO;
            assert_true(lost || c->all.meetings_left > 0);
        }
        dismiss(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explicit_steps_have_the_bits_of_one_rank),
        cmocka_unit_test(implicit_steps_have_the_bits_of_one_rank),
        cmocka_unit_test(chosen_integrator_is_that_of_one_rank),
        cmocka_unit_test(rank_may_own_nothing),
        cmocka_unit_test(sleeping_snow_has_the_bits_of_one_rank),
        cmocka_unit_test(emitted_and_lost_snow_has_the_bits_of_one_rank),
        cmocka_unit_test(retries_are_made_together),
        cmocka_unit_test(rank_without_memory_is_the_failure_of_all),
        cmocka_unit_test(rank_that_cancels_stops_all),
        cmocka_unit_test(lost_line_ends_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
