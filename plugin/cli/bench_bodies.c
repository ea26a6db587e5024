/// `firn bench --bodies`: a hundred bodies that have fallen into a bed of snow, beside the same
/// shapes as colliders whose keys lead them along the same ways.
#include "bench.h"
#include "command.h"

#include "firn/sim_bodies.h"

#include <math.h>
#include <stdio.h>

#define DEPTH 16.0f       // cells, of the bed
#define RADIUS_SHARE 0.3f // of the distance between bodies
#define FALL_SPEED 2.0f   // m/s
#define TICK 1e-3         // s, between two keys of a way
#define TIMED_FROM 0.03   // s: all have touched the snow
enum { ROW = 10, BODIES = ROW * ROW, TICKS = 90, LIMIT = 5000 };

/// Lengths of the scene, m.
typedef struct layout {
    float half, depth; // of the bed, across and down
    float apart;       // from body to body
    float radius;
} layout;

static layout layout_of(const firn_bench_request *request)
{
    float h = request->def.cell_size, depth = DEPTH * h;
    double cells = request->particles / (double)firn_source_def_default().particles_per_cell;
    float width = h * sqrtf((float)cells / DEPTH);
    return (layout){.half = 0.5f * width,
                    .depth = depth,
                    .apart = width / ROW,
                    .radius = RADIUS_SHARE * width / ROW};
}

static firn_result make_bed(const firn_bench_request *request, layout at, firn_sim **sim,
                            firn_error *error)
{
    FIRN_TRY(firn_sim_create(&request->def, sim, error));
    firn_source_def bed = firn_source_def_box(firn_vec(0.0f, 0.5f * at.depth, 0.0f),
                                              firn_vec(at.half, 0.5f * at.depth, at.half));
    FIRN_TRY(firn_sim_add_source(*sim, &bed, NULL, error));
    const struct {
        firn_vec3 normal;
        float offset;
    } planes[] = {{{0.0f, 1.0f, 0.0f}, 0.0f},
                  {{1.0f, 0.0f, 0.0f}, -at.half},
                  {{-1.0f, 0.0f, 0.0f}, -at.half},
                  {{0.0f, 0.0f, 1.0f}, -at.half},
                  {{0.0f, 0.0f, -1.0f}, -at.half}};
    for (size_t i = 0; i < FIRN_COUNT(planes); i++) {
        firn_collider_def plane = firn_collider_def_plane(planes[i].normal, planes[i].offset);
        FIRN_TRY(firn_sim_add_collider(*sim, &plane, NULL, error));
    }
    return FIRN_OK;
}

// Boxes and balls in turns, each a little turned.
static firn_body_def body_of(layout at, int i)
{
    firn_vec3 place =
        firn_vec(((float)(i % ROW) + 0.5f) * at.apart - at.half, at.depth + 1.05f * at.radius,
                 ((float)(i / ROW) + 0.5f) * at.apart - at.half);
    float edge = 0.8f * at.radius;
    firn_body_def def = firn_body_def_default();
    def.shape = i % 2 == 0 ? firn_collider_def_box(place, firn_vec(edge, edge, edge))
                           : firn_collider_def_sphere(place, at.radius);
    def.shape.pose.rotation = firn_quat_turn(firn_vec(0.0f, 1.0f, 0.0f), 0.1f * (float)i);
    def.shape.friction = 0.3f;
    def.velocity = firn_vec(0.0f, -FALL_SPEED, 0.0f);
    return def;
}

static firn_result make_bodies(const firn_bench_request *request, layout at, firn_sim **sim,
                               firn_body_id ids[BODIES], firn_error *error)
{
    FIRN_TRY(make_bed(request, at, sim, error));
    for (int i = 0; i < BODIES; i++) {
        firn_body_def def = body_of(at, i);
        FIRN_TRY(firn_sim_add_body(*sim, &def, &ids[i], error));
    }
    return FIRN_OK;
}

static firn_result make_colliders(const firn_bench_request *request, layout at,
                                  const firn_pose_key *ways, firn_sim **sim, firn_error *error)
{
    FIRN_TRY(make_bed(request, at, sim, error));
    for (int i = 0; i < BODIES; i++) {
        firn_body_def def = body_of(at, i);
        firn_collider_id id;
        FIRN_TRY(firn_sim_add_collider(*sim, &def.shape, &id, error));
        FIRN_TRY(
            firn_sim_move_collider(*sim, id, ways + (size_t)i * (TICKS + 1), TICKS + 1, error));
    }
    return FIRN_OK;
}

static firn_pose_key key_of(const firn_body_state *body, double time)
{
    firn_pose_key key = {time, firn_transform_identity()};
    key.pose.translation = firn_vec((float)body->translation[0], (float)body->translation[1],
                                    (float)body->translation[2]);
    key.pose.rotation = (firn_quat){(float)body->rotation[0], (float)body->rotation[1],
                                    (float)body->rotation[2], (float)body->rotation[3]};
    return key;
}

// Where bodies go: what the colliders shall do as well.
static firn_result find_ways(const firn_bench_request *request, layout at, firn_pose_key *ways,
                             firn_error *error)
{
    firn_sim *sim = NULL;
    firn_body_id ids[BODIES];
    firn_result result = make_bodies(request, at, &sim, ids, error);
    for (int k = 0; result == FIRN_OK && k <= TICKS; k++) {
        for (int i = 0; result == FIRN_OK && i < BODIES; i++) {
            firn_body_state body;
            result = firn_sim_body(sim, ids[i], &body, error);
            if (result == FIRN_OK)
                ways[(size_t)i * (TICKS + 1) + (size_t)k] = key_of(&body, TICK * k);
        }
        if (result == FIRN_OK && k < TICKS)
            result = firn_sim_step(sim, TICK, error);
    }
    firn_sim_destroy(sim);
    return result;
}

enum { COLLIDERS, FREE, SIDES };

typedef struct measurement {
    firn_sim *sims[SIDES];
    firn_bench_cost cost[SIDES];
} measurement;

static firn_result measure(const firn_bench_request *request, measurement *m, firn_error *error)
{
    layout at = layout_of(request);
    firn_pose_key *ways = firn_bench_take((size_t)BODIES * (TICKS + 1) * sizeof *ways);
    firn_body_id ids[BODIES];
    firn_result result = find_ways(request, at, ways, error);
    if (result == FIRN_OK)
        result = make_colliders(request, at, ways, &m->sims[COLLIDERS], error);
    firn_free(ways);
    FIRN_TRY(result);
    FIRN_TRY(make_bodies(request, at, &m->sims[FREE], ids, error));
    for (int i = 0; i < SIDES; i++) {
        FIRN_TRY(firn_bench_until(m->sims[i], TIMED_FROM, LIMIT, error));
        FIRN_TRY(firn_sim_mark(m->sims[i], error));
    }
    // Every round does the same substeps again, so that each counts where it was fastest.
    for (int round = 0; round < request->rounds; round++)
        for (int i = 0; i < SIDES; i++) {
            FIRN_TRY(firn_bench_round(m->sims[i], request->steps, &m->cost[i], error));
            FIRN_TRY(firn_sim_restore(m->sims[i], error));
        }
    return FIRN_OK;
}

static void print(const firn_bench_request *request, const measurement *m)
{
    static const char *const names[SIDES] = {[COLLIDERS] = "animated", [FREE] = "bodies"};
    size_t particles = firn_sim_particle_count(m->sims[FREE]);
    double ns[SIDES];
    for (int i = 0; i < SIDES; i++)
        ns[i] = m->cost[i].undisturbed > 0.0 ? m->cost[i].undisturbed : m->cost[i].ns;
    double ratio = ns[FREE] / ns[COLLIDERS];
    if (request->json) {
        printf("{\"particles\": %zu, \"bodies\": %d, \"animated_ns_per_particle_step\": %.2f, "
               "\"bodies_ns_per_particle_step\": %.2f, \"ratio\": %.3f}\n",
               particles, BODIES, ns[COLLIDERS], ns[FREE], ratio);
        return;
    }
    printf("%zu particles, %d bodies, %d threads; ns per particle and substep, best of %d rounds "
           "of %d\n\n",
           particles, BODIES, request->def.thread_count, request->rounds, request->steps);
    firn_bench_print_sides(names, m->cost, SIDES);
    printf(
        "\n%.2f and %.2f ns with each substep in the round where it was fastest: bodies cost %.3f "
        "of what\nanimated colliders cost\n",
        ns[COLLIDERS], ns[FREE], ratio);
}

int firn_bench_bodies(const firn_bench_request *request)
{
    firn_error error;
    measurement m = {{NULL}};
    firn_result result = measure(request, &m, &error);
    if (result == FIRN_OK)
        print(request, &m);
    for (int i = 0; i < SIDES; i++)
        firn_sim_destroy(m.sims[i]);
    return result == FIRN_OK ? FIRN_EXIT_OK : firn_exit_of(result, &error);
}
