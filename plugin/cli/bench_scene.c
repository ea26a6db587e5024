/// The standard scene of `firn bench`.
#include "bench.h"

#include <math.h>

#define IMPACT_SPEED 5.0f  // m/s
#define WARM_UP_SHARE 0.2f // of the radius that is in the floor when timing starts
enum { WARM_UP_LIMIT = 400 };

// A dome as a level set around the origin, in leaves that hold its band and more.
static void make_dome(firn_bench_scene *scene, float voxel, float radius)
{
    int reach = (int)ceilf(radius / voxel) + 4;
    int half = (reach + FIRN_LEAF_EDGE - 1) / FIRN_LEAF_EDGE, edge = 2 * half;
    size_t count = (size_t)(edge * edge * edge);
    scene->origins = firn_bench_take(count * sizeof *scene->origins);
    scene->values = firn_bench_take(count * FIRN_LEAF_VOXELS * sizeof *scene->values);
    scene->dome = (firn_level_set){.map = firn_transform_identity(),
                                   .background = 3.0f * voxel,
                                   .leaf_count = count,
                                   .leaf_origin = scene->origins,
                                   .values = scene->values};
    scene->dome.map.scale = voxel;
    for (int leaf = 0; leaf < (int)count; leaf++) {
        firn_coord o = {FIRN_LEAF_EDGE * (leaf / (edge * edge) - half),
                        FIRN_LEAF_EDGE * (leaf / edge % edge - half),
                        FIRN_LEAF_EDGE * (leaf % edge - half)};
        float *values = scene->values + (size_t)leaf * FIRN_LEAF_VOXELS;
        scene->origins[leaf] = o;
        for (int v = 0; v < FIRN_LEAF_VOXELS; v++) {
            firn_vec3 at =
                firn_vec((float)(o.x + v / 64), (float)(o.y + v / 8 % 8), (float)(o.z + v % 8));
            float distance = voxel * firn_length(at) - radius;
            values[v] = fminf(fmaxf(distance, -3.0f * voxel), 3.0f * voxel);
        }
    }
}

firn_result firn_bench_scene_make(const firn_sim_def *def, double particles,
                                  firn_bench_scene *scene, firn_error *error)
{
    return firn_bench_scene_share(def, particles, NULL, scene, error);
}

firn_result firn_bench_scene_share(const firn_sim_def *def, double particles,
                                   const firn_exchange *exchange, firn_bench_scene *scene,
                                   firn_error *error)
{
    float h = def->cell_size;
    firn_source_def ball = firn_source_def_default();
    double cells = particles / (double)ball.particles_per_cell;
    float radius = h * (float)cbrt(cells * 3.0 / (4.0 * 3.14159265358979));
    ball = firn_source_def_sphere(firn_vec(0.0f, radius + 2.0f * h, 0.0f), radius);
    ball.velocity = firn_vec(0.0f, -IMPACT_SPEED, 0.0f);
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    floor.friction = 0.5f;
    *scene = (firn_bench_scene){.radius = radius, .gap = 2.0f * h};
    make_dome(scene, h, 0.25f * radius);
    firn_collider_def obstacle = firn_collider_def_level_set(&scene->dome);
    obstacle.pose.translation = firn_vec(0.7f * radius, 0.0f, 0.0f);
    FIRN_TRY(exchange != NULL ? firn_sim_create_shared(def, exchange, &scene->sim, error)
                              : firn_sim_create(def, &scene->sim, error));
    FIRN_TRY(firn_sim_add_source(scene->sim, &ball, NULL, error));
    FIRN_TRY(firn_sim_add_collider(scene->sim, &floor, NULL, error));
    return firn_sim_add_collider(scene->sim, &obstacle, NULL, error);
}

firn_result firn_bench_scene_hit(firn_bench_scene *scene, firn_error *error)
{
    double way = (double)(scene->gap + WARM_UP_SHARE * scene->radius);
    return firn_bench_until(scene->sim, way / (double)IMPACT_SPEED, WARM_UP_LIMIT, error);
}

void firn_bench_scene_free(firn_bench_scene *scene)
{
    firn_sim_destroy(scene->sim);
    firn_free(scene->origins);
    firn_free(scene->values);
    *scene = (firn_bench_scene){0};
}
