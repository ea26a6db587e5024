/// Shots on several ranks inside one process, and what comes of them.
#ifndef FIRN_TEST_RANK_CAST_H
#define FIRN_TEST_RANK_CAST_H

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

static inline bool listen(const firn_step_stats *s, void *user)
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
    firn_exchange exchange; // of no ranks: it is alone
    outcome outcome;
} worker;

static inline void set_cuts(firn_sim *sim, const uint64_t *cuts)
{
    if (cuts == NULL || !firn_owners_shared(&sim->owners))
        return;
    size_t bytes = ((size_t)sim->owners.exchange.rank_count - 1) * sizeof *cuts;
    memcpy(sim->owners.cuts.data, cuts, bytes);
    sim->owners.fixed = true;
}

static inline void *run_rank(void *user)
{
    worker *w = user;
    const shot_def *shot = w->shot;
    outcome *o = &w->outcome;
    firn_error error = {FIRN_OK, ""};
    firn_result result = w->exchange.rank_count > 0
                             ? firn_sim_create_shared(&shot->def, &w->exchange, &o->sim, &error)
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

static inline cast *perform_until(const shot_def *shot, int rank_count, long meetings)
{
    cast *c = calloc(1, sizeof *c);
    c->rank_count = rank_count;
    c->workers = calloc((size_t)rank_count, sizeof *c->workers);
    loopback_init(&c->all, rank_count);
    c->all.meetings_left = meetings;
    pthread_t threads[LOOPBACK_RANKS];
    for (int r = 0; r < rank_count; r++) {
        c->workers[r] = (worker){.shot = shot, .end = {&c->all, r}};
        if (rank_count > 1)
            c->workers[r].exchange = loopback_exchange(&c->workers[r].end);
    }
    for (int r = 0; r < rank_count; r++)
        assert_int_equal(pthread_create(&threads[r], NULL, run_rank, &c->workers[r]), 0);
    for (int r = 0; r < rank_count; r++)
        pthread_join(threads[r], NULL);
    assert_false(c->all.broken);
    return c;
}

static inline cast *perform(const shot_def *shot, int rank_count)
{
    return perform_until(shot, rank_count, -1);
}

static inline void dismiss(cast *c)
{
    for (int r = 0; r < c->rank_count; r++)
        firn_sim_destroy(c->workers[r].outcome.sim);
    loopback_free(&c->all);
    free(c->workers);
    free(c);
}

static inline void compare_substeps(const cast *one, const cast *many, const char *name)
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

static inline void compare_block(const firn_sim *a, const firn_block *x, const firn_sim *b,
                                 const firn_block *y, const char *name)
{
    assert_memory_equal(&x->coord, &y->coord, sizeof x->coord);
    assert_memory_equal(&x->rest, &y->rest, sizeof x->rest);
    assert_int_equal(x->end - x->begin, y->end - y->begin);
    assert_int_equal(a->particles.channel_count, b->particles.channel_count);
    size_t count = x->end - x->begin;
    for (int c = 0; c < a->particles.channel_count; c++)
        if (memcmp(firn_channel_of(&a->particles, c) + x->begin,
                   firn_channel_of(&b->particles, c) + y->begin, count * sizeof(float)) != 0)
            fail_msg("%s: channel %d differs in block %d %d %d", name, c, x->coord.x, x->coord.y,
                     x->coord.z);
    assert_memory_equal((const uint8_t *)a->particles.material.data + x->begin,
                        (const uint8_t *)b->particles.material.data + y->begin, count);
}

/// Compares the blocks of a rank, of which the first is block `at` of one rank; returns the next.
static inline size_t compare_rank(const firn_sim *a, size_t at, const firn_sim *b, const char *name)
{
    for (size_t i = 0; i < b->grid.block_count; i++, at++) {
        assert_true(at < a->grid.block_count);
        compare_block(a, &firn_grid_blocks(&a->grid)[at], b, &firn_grid_blocks(&b->grid)[i], name);
    }
    assert_true(b->time == a->time && b->particles.next_id == a->particles.next_id);
    return at;
}

static inline void compare_particles(const cast *one, const cast *many, const char *name)
{
    const firn_sim *a = one->workers[0].outcome.sim;
    size_t at = 0;
    for (int r = 0; r < many->rank_count; r++)
        at = compare_rank(a, at, many->workers[r].outcome.sim, name);
    assert_int_equal(at, a->grid.block_count);
}

static inline cast *perform_alone(const shot_def *shot)
{
    cast *one = perform(shot, 1);
    for (int call = 0; call < shot->calls && !shot->fails; call++)
        if (one->workers[0].outcome.results[call] != FIRN_OK)
            fail_msg("%s: %s", shot->name, one->workers[0].outcome.sentences[call]);
    return one;
}

static inline void expect_bits_of(const cast *one, const shot_def *shot, int rank_count)
{
    cast *many = perform(shot, rank_count);
    compare_substeps(one, many, shot->name);
    compare_particles(one, many, shot->name);
    assert_true(many->all.messages > 0);
    dismiss(many);
}

static inline void expect_bits_of_one_on_all(const shot_def *shot)
{
    const int counts[] = {2, 4, 7};
    cast *one = perform_alone(shot);
    for (size_t i = 0; i < FIRN_COUNT(counts); i++)
        expect_bits_of(one, shot, counts[i]);
    dismiss(one);
}

static inline void expect_bits_of_one_on(const shot_def *shot, int rank_count)
{
    cast *one = perform_alone(shot);
    expect_bits_of(one, shot, rank_count);
    dismiss(one);
}

// Few particles, so that blocks are many.
static inline void thin_out(firn_source_def *source) { source->particles_per_cell = 3.0f; }

// A box that turns and falls on a floor, with something elastic in it, beside a ball that comes
// along.
static inline firn_result fill_crash(firn_sim *sim, firn_error *error)
{
    firn_material_def rubber = firn_material_def_default();
    rubber.model = FIRN_MODEL_ELASTIC;
    firn_material_id material;
    FIRN_TRY(firn_sim_add_material(sim, &rubber, &material, error));
    firn_source_def ring =
        firn_source_def_box(firn_vec(0.0f, 0.25f, 0.0f), firn_vec(0.12f, 0.04f, 0.04f));
    ring.material = material;
    thin_out(&ring);
    ring.velocity = firn_vec(0.0f, -3.0f, 0.0f);
    FIRN_TRY(firn_sim_add_source(sim, &ring, NULL, error));
    firn_source_def box =
        firn_source_def_box(firn_vec(0.03f, 0.1f, 0.0f), firn_vec(0.16f, 0.09f, 0.09f));
    box.velocity = firn_vec(0.4f, -2.0f, 0.3f);
    box.angular_velocity = firn_vec(1.0f, 8.0f, 3.0f);
    thin_out(&box);
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

// A jet that leaves the domain, snow whose volume comes from the grid, and points. They carry what
// the simulation does not know: their temperature, and a color of three numbers.
static inline firn_result fill_jet(firn_sim *sim, firn_error *error)
{
    const firn_source_value values[] = {{"temperature", .value = {260.0f}, .noise = 10.0f},
                                        {"Cd", .value = {0.2f, 0.5f, 0.9f}, .noise = 0.1f}};
    for (size_t i = 0; i < FIRN_COUNT(values); i++)
        FIRN_TRY(firn_sim_add_channel(sim, firn_channel_find(values[i].channel), error));
    firn_source_def jet =
        firn_source_def_box(firn_vec(-0.1f, 0.2f, 0.0f), firn_vec(0.06f, 0.05f, 0.05f));
    jet.velocity = firn_vec(6.0f, 0.5f, 1.0f);
    jet.end = 0.02;
    jet.stiffness_noise = 0.4f;
    jet.chunk_size = 0.06f;
    jet.chunk_bond = 0.5f;
    jet.values = values;
    jet.value_count = FIRN_COUNT(values);
    FIRN_TRY(firn_sim_add_source(sim, &jet, NULL, error));
    firn_collider_def wall = firn_collider_def_plane(firn_vec(-1.0f, 0.5f, 0.0f), -0.1f);
    FIRN_TRY(firn_sim_add_collider(sim, &wall, NULL, error));
    const firn_vec3 points[3] = {{0.1f, 0.0f, 0.0f}, {0.0f, 0.31f, 0.0f}, {-0.2f, 0.1f, 0.1f}};
    firn_source_def grains = firn_source_def_points(points, FIRN_COUNT(points));
    return firn_sim_add_source(sim, &grains, NULL, error);
}

#endif
