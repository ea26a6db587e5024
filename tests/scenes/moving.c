/// Snow against what moves: thin fast walls, and a sphere told in three ways.
#include "scene.h"

#include "unit/level_set_fixture.h"

static const float CELL = 0.02f;

/// How a collider is given.
typedef enum telling { SHAPE, RIGID_LEVEL_SET, DEFORMING_LEVEL_SET, TELLINGS } telling;
static const char *const TELLING_NAMES[TELLINGS] = {"shape", "level set", "keyframes"};

/// A collider that travels along x at a constant speed, from its start at time 0.
typedef struct traveler {
    fixture_distance *distance;
    fixture_ball ball;
    fixture_box box; // both at the start
    firn_collider_def def;
    float speed;    // m/s
    float frame;    // s, between keyframes
    float voxel;    // m
    int extent;     // leaves
    double seconds; // s, how long it travels
} traveler;

/// A level set and its velocities at a time.
typedef struct key {
    fixture_set set;
    fixture_flow flow;
    firn_surface_key surface;
} key;

static key make_key(const traveler *t, double time)
{
    fixture_ball ball = t->ball;
    fixture_box box = t->box;
    ball.center.x += t->speed * (float)time;
    box.center.x += t->speed * (float)time;
    const void *user = t->distance == fixture_ball_distance ? (const void *)&ball : &box;
    key k;
    k.set = fixture_make(t->distance, user, fixture_map(t->voxel), 3.0f * t->voxel, t->extent);
    k.flow = fixture_flow_in_band(firn_vec(t->speed, 0.0f, 0.0f), &k.set.set);
    k.surface = (firn_surface_key){time, NULL, NULL};
    return k;
}

static void free_key(key *k)
{
    fixture_free(&k->set);
    fixture_flow_free(&k->flow);
}

static void travel_by_keyframes(scene *s, const traveler *t, firn_collider_id id)
{
    key from = make_key(t, 0.0);
    int frames = (int)(t->seconds / (double)t->frame + 0.5);
    for (int i = 1; i <= frames; i++) {
        key to = make_key(t, i * (double)t->frame);
        firn_surface_key a = {from.surface.time, &from.set.set, &from.flow.grid};
        firn_surface_key b = {to.surface.time, &to.set.set, &to.flow.grid};
        scene_check(s, firn_sim_deform_collider(s->sim, id, &a, &b, &s->error));
        scene_step(s, (double)t->frame);
        // The keys are borrowed until the next ones come or the collider goes.
        if (i == frames)
            scene_check(s, firn_sim_remove_collider(s->sim, id, &s->error));
        free_key(&from);
        from = to;
    }
    free_key(&from);
}

static void travel(scene *s, const traveler *t, telling how)
{
    firn_collider_def def = t->def;
    if (how == SHAPE) {
        firn_collider_id id = scene_collider(s, &def);
        firn_pose_key keys[2] = {{0.0, def.pose}, {t->seconds, def.pose}};
        keys[1].pose.translation.x += t->speed * (float)t->seconds;
        scene_check(s, firn_sim_move_collider(s->sim, id, keys, 2, &s->error));
        scene_step(s, t->seconds);
        return;
    }
    key first = make_key(t, 0.0);
    firn_collider_def level_set = firn_collider_def_level_set(&first.set.set);
    level_set.friction = def.friction;
    level_set.contact = def.contact;
    firn_collider_id id = scene_collider(s, &level_set);
    if (how == RIGID_LEVEL_SET) {
        firn_pose_key keys[2] = {{0.0, level_set.pose}, {t->seconds, level_set.pose}};
        keys[1].pose.translation.x += t->speed * (float)t->seconds;
        scene_check(s, firn_sim_move_collider(s->sim, id, keys, 2, &s->error));
        scene_step(s, t->seconds);
        scene_check(s, firn_sim_remove_collider(s->sim, id, &s->error));
    } else {
        travel_by_keyframes(s, t, id);
    }
    free_key(&first);
}

static traveler thin_wall(float frame)
{
    traveler t = {.distance = fixture_box_distance,
                  .speed = 10.0f,
                  .frame = frame,
                  .voxel = 0.5f * CELL,
                  .extent = 4,
                  .seconds = 0.04};
    t.box = (fixture_box){firn_vec(-0.15f, 0.0f, 0.0f), firn_vec(0.5f * CELL, 0.28f, 0.28f)};
    t.def = firn_collider_def_box(t.box.center, t.box.size);
    return t;
}

static void let_wall_through(const method *m, telling how, float frame)
{
    firn_sim_def def = scene_def(m, CELL);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    def.dt_max = 5e-4f;
    scene s = scene_open(&def);
    firn_source_def box = scene_box(firn_vec(-0.12f, -0.04f, -0.04f), firn_vec(0.0f, 0.04f, 0.04f));
    box.jitter = 0.5f;
    scene_source(&s, &box);
    traveler wall = thin_wall(frame);
    travel(&s, &wall, how);
    scene_read(&s);
    float face = wall.box.center.x + wall.box.size.x + 10.0f * (float)wall.seconds;
    size_t behind = 0;
    double nearest = 1e9;
    for (size_t i = 0; i < s.particles.count; i++) {
        nearest = fmin(nearest, (double)(s.position[i].x - face));
        behind += s.position[i].x < face - 1e-5f;
    }
    print_message("%s, %s every %g s: %zu of %zu particles behind, nearest %.5f m before it\n",
                  m->name, TELLING_NAMES[how], (double)frame, behind, s.particles.count, nearest);
    assert_int_equal(behind, 0);
    scene_close(&s);
}

static void thin_fast_wall_lets_nothing_through(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(FEW); i++)
        for (int how = 0; how < TELLINGS; how++)
            let_wall_through(&METHODS[FEW[i]], (telling)how, 0.01f);
    let_wall_through(&METHODS[0], DEFORMING_LEVEL_SET, 0.04f);
}

static traveler ball(void)
{
    traveler t = {.distance = fixture_ball_distance,
                  .speed = 2.0f,
                  .frame = 0.02f,
                  .voxel = 0.5f * CELL,
                  .extent = 4,
                  .seconds = 0.1};
    t.ball = (fixture_ball){firn_vec(-0.2f, 0.05f, 0.0f), 0.05f};
    t.def = firn_collider_def_sphere(t.ball.center, t.ball.radius);
    return t;
}

static firn_vec3 *plow(const method *m, telling how, size_t *count)
{
    firn_sim_def def = scene_def(m, CELL);
    def.dt_max = 5e-4f;
    scene s = scene_open(&def);
    firn_source_def box = scene_box(firn_vec(-0.12f, 0.0f, -0.06f), firn_vec(0.04f, 0.08f, 0.06f));
    scene_source(&s, &box);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.5f);
    traveler t = ball();
    travel(&s, &t, how);
    scene_read(&s);
    *count = s.particles.count;
    firn_vec3 *position = malloc(*count * sizeof *position);
    for (size_t i = 0; i < *count; i++)
        position[s.particles.id[i]] = s.position[i];
    scene_close(&s);
    return position;
}

static void sphere_plows_the_same_however_it_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(FEW); i++) {
        const method *m = &METHODS[FEW[i]];
        size_t count, n;
        firn_vec3 *shape = plow(m, SHAPE, &count);
        double moved = 0.04;
        for (size_t p = 0; p < count; p++)
            moved += (double)shape[p].x / (double)count;
        assert_true(moved > (double)CELL);
        for (int how = 1; how < TELLINGS; how++) {
            firn_vec3 *other = plow(m, (telling)how, &n);
            assert_int_equal(n, count);
            double sum = 0.0, worst = 0.0;
            for (size_t p = 0; p < n; p++) {
                double d = (double)firn_length(firn_sub(other[p], shape[p])) / (double)CELL;
                sum += d / (double)n;
                worst = fmax(worst, d);
            }
            print_message("%s, %s against shape: %.4f cells on average, %.3f at most, of "
                          "%.1f that it was moved\n",
                          m->name, TELLING_NAMES[how], sum, worst, moved / (double)CELL);
            assert_true(sum < 0.2 && worst < 1.0);
            free(other);
        }
        free(shape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thin_fast_wall_lets_nothing_through),
        cmocka_unit_test(sphere_plows_the_same_however_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
