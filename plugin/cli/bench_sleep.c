/// `firn bench --sleep`: a settled field, and beside it behind a wall a tenth of the snow that a
/// ball stirs, once with the field asleep and once awake, from one state.
#include "bench.h"
#include "command.h"

#include <math.h>
#include <stdio.h>

#define CELL 0.04f         // m; large, so that the field settles in few substeps
#define DEPTH 4.0f         // cells
#define STIRRED_SHARE 0.1f // of the snow
#define WALL 8.0f          // cells between the field and what is stirred
#define SLEEP_SPEED 5e-3f  // m/s
#define SETTLED 0.5        // s, then the ball comes
#define STIRRING 0.7       // s, then timing starts
#define HALF_TURN 0.2      // s, in which the ball goes from one side to the other
#define SWING 8.0f         // cells from the middle to either side
enum { TURNS = 20, SETTLING_LIMIT = 5000 };

/// Lengths of the scene, m. The wall's middle is at x = 0, the field on the left of it.
typedef struct layout {
    float width;          // along z, of both
    float field, stirred; // along x
    float wall;           // half of its thickness
    float depth;
} layout;

static layout layout_of(double particles)
{
    float per_cell = firn_source_def_default().particles_per_cell;
    float width = CELL * sqrtf((float)particles / (per_cell * DEPTH));
    return (layout){.width = width,
                    .field = (1.0f - STIRRED_SHARE) * width,
                    .stirred = STIRRED_SHARE * width,
                    .wall = 0.5f * WALL * CELL,
                    .depth = DEPTH * CELL};
}

static firn_result add_walls(firn_sim *sim, layout at, firn_error *error)
{
    const struct {
        firn_vec3 normal;
        float offset;
    } planes[] = {{{0.0f, 1.0f, 0.0f}, 0.0f},
                  {{1.0f, 0.0f, 0.0f}, -at.wall - at.field},
                  {{-1.0f, 0.0f, 0.0f}, -at.wall - at.stirred},
                  {{0.0f, 0.0f, 1.0f}, -0.5f * at.width},
                  {{0.0f, 0.0f, -1.0f}, -0.5f * at.width}};
    for (size_t i = 0; i < FIRN_COUNT(planes); i++) {
        firn_collider_def plane = firn_collider_def_plane(planes[i].normal, planes[i].offset);
        plane.friction = i == 0 ? 0.5f : 0.0f;
        FIRN_TRY(firn_sim_add_collider(sim, &plane, NULL, error));
    }
    firn_collider_def wall = firn_collider_def_box(firn_vec(0.0f, 0.0f, 0.0f),
                                                   firn_vec(at.wall, 3.0f * at.depth, at.width));
    return firn_sim_add_collider(sim, &wall, NULL, error);
}

// A ball that waits above the snow, dives into it and swings along the wall.
static firn_result add_ball(firn_sim *sim, layout at, firn_error *error)
{
    float radius = 0.35f * at.stirred;
    firn_collider_def ball = firn_collider_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), radius);
    firn_pose_key keys[TURNS + 1];
    for (int i = 0; i <= TURNS; i++) {
        float y = i == 0 ? at.depth + radius + 2.0f * CELL : at.depth;
        float z = i % 2 == 0 ? -SWING * CELL : SWING * CELL;
        keys[i] = (firn_pose_key){SETTLED + HALF_TURN * i, firn_transform_identity()};
        keys[i].pose.translation = firn_vec(at.wall + 0.5f * at.stirred, y, z);
    }
    firn_collider_id id;
    FIRN_TRY(firn_sim_add_collider(sim, &ball, &id, error));
    return firn_sim_move_collider(sim, id, keys, TURNS + 1, error);
}

// Fills the floor from x to x + length with snow that does not harden: its substeps stay long.
static firn_result add_bed(firn_sim *sim, layout at, float x, float length, firn_error *error)
{
    firn_material_def material = firn_material_def_default();
    material.hardening = 0.0f;
    firn_source_def bed =
        firn_source_def_box(firn_vec(x + 0.5f * length, 0.5f * at.depth, 0.0f),
                            firn_scale(0.5f, firn_vec(length, at.depth, at.width)));
    bed.jitter = 0.0f;
    FIRN_TRY(firn_sim_add_material(sim, &material, &bed.material, error));
    return firn_sim_add_source(sim, &bed, NULL, error);
}

static firn_result make_field(const firn_bench_request *request, float sleep_speed, firn_sim **sim,
                              firn_error *error)
{
    firn_sim_def def = request->def;
    def.cell_size = CELL;
    def.sleep_speed = sleep_speed;
    layout at = layout_of(request->particles);
    FIRN_TRY(firn_sim_create(&def, sim, error));
    FIRN_TRY(add_bed(*sim, at, -at.wall - at.field, at.field, error));
    FIRN_TRY(add_bed(*sim, at, at.wall, at.stirred, error));
    FIRN_TRY(add_walls(*sim, at, error));
    return add_ball(*sim, at, error);
}

enum { AWAKE, ASLEEP, SIDES };

typedef struct measurement {
    firn_sim *sims[SIDES];
    firn_bench_cost cost[SIDES];
    double asleep; // share of the particles, the least of all rounds
} measurement;

static firn_result measure(const firn_bench_request *request, measurement *m, firn_error *error)
{
    FIRN_TRY(make_field(request, SLEEP_SPEED, &m->sims[ASLEEP], error));
    FIRN_TRY(make_field(request, 0.0f, &m->sims[AWAKE], error));
    FIRN_TRY(firn_bench_until(m->sims[ASLEEP], STIRRING, SETTLING_LIMIT, error));
    FIRN_TRY(firn_bench_take_over(m->sims[AWAKE], m->sims[ASLEEP], error));
    m->asleep = 1.0;
    for (int round = 0; round < request->rounds; round++) {
        for (int i = 0; i < SIDES; i++)
            FIRN_TRY(firn_bench_round(m->sims[i], request->steps, &m->cost[i], error));
        firn_step_stats stats = firn_sim_stats(m->sims[ASLEEP]);
        m->asleep = fmin(m->asleep, (double)stats.asleep / (double)stats.particles);
    }
    return FIRN_OK;
}

static void print(const firn_bench_request *request, const measurement *m)
{
    static const char *const names[SIDES] = {[AWAKE] = "awake", [ASLEEP] = "asleep"};
    size_t particles = firn_sim_particle_count(m->sims[AWAKE]);
    double ratio = m->cost[ASLEEP].ns / m->cost[AWAKE].ns;
    if (request->json) {
        printf("{\"particles\": %zu, \"asleep\": %.3f, \"awake_ns_per_particle_step\": %.2f, "
               "\"asleep_ns_per_particle_step\": %.2f, \"ratio\": %.3f}\n",
               particles, m->asleep, m->cost[AWAKE].ns, m->cost[ASLEEP].ns, ratio);
        return;
    }
    printf("%zu particles, %.0f %% asleep, %d threads; ns per particle and substep, best of %d "
           "rounds of %d\n\n",
           particles, 100.0 * m->asleep, request->def.thread_count, request->rounds,
           request->steps);
    firn_bench_print_sides(names, m->cost, SIDES);
    printf("\nasleep the field costs %.2f of what it costs awake\n", ratio);
}

int firn_bench_sleep(const firn_bench_request *request)
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
