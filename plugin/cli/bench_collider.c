/// `firn bench collider`: a deforming character in snow, with its level sets made before each frame
/// and while the frame before is simulated.
#include "bench.h"

#include "firn/abc_write.h"
#include "firn/graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FRAMES = 9 };
#define HEIGHT 1.7f // m, of the character
#define WIDTH 0.2f  // m, its radius
#define FPS 24.0

static const char scene[] =
    "{\"firn\": 1, \"name\": \"bench\", \"fps\": 24, \"frames\": [1, 9], \"nodes\": {"
    "\"bed\": {\"type\": \"snow_source\", \"params\": {\"region\": \"box\", "
    "\"center\": [0, 0.1, 0], \"half_size\": [0.4, 0.1, 0.4]}},"
    "\"ground\": {\"type\": \"collider\"},"
    "\"actor\": {\"type\": \"collider\", \"params\": {\"shape\": \"mesh\", \"deforming\": true, "
    "\"file\": \"firn_bench.abc\", \"mesh_solid\": \"fill\", \"mesh_voxel_size\": 0.02}},"
    "\"solver\": {\"type\": \"solver\", \"params\": {\"cell_size\": 0.04}, "
    "\"inputs\": {\"sources\": [\"bed\"], \"colliders\": [\"ground\", \"actor\"]}}}}";

// How fine a character is, and its level set.
typedef struct actor {
    int around, along; // points of a ring, rings
    double voxel_size; // m
} actor;

static const actor actors[] = {{100, 101, 0.02}, {400, 251, 0.01}};

static size_t point_count(const actor *a) { return (size_t)(a->around * a->along); }
static int triangle_count(const actor *a) { return 2 * a->around * (a->along - 1); }

// A body of one piece that bends, turns and sinks into the snow.
static void pose(const actor *a, int frame, firn_vec3 *points)
{
    float phase = 0.1f * (float)(frame - 1);
    for (int i = 0; i < a->around * a->along; i++) {
        float t = (float)(i / a->around) / (float)(a->along - 1),
              angle = 6.2831853f * (float)(i % a->around) / (float)a->around;
        float width = WIDTH * sqrtf(sinf(3.1415927f * t) + 1e-4f) * (1.0f + 0.3f * sinf(9.0f * t));
        float bend = 0.15f * sinf(phase + 3.0f * t);
        points[i] =
            firn_vec(bend + width * cosf(angle + phase * t),
                     0.24f - 0.01f * (float)frame + HEIGHT * t, width * sinf(angle + phase * t));
    }
}

// Clockwise seen from outside, as Alembic has it.
static void connect(const actor *of, int32_t *corners)
{
    int around = of->around;
    for (int quad = 0; quad < triangle_count(of) / 2; quad++) {
        int row = quad / around * around, a = quad % around, b = (a + 1) % around;
        const int32_t made[6] = {row + a, row + b,          row + around + b,
                                 row + a, row + around + b, row + around + a};
        memcpy(&corners[6 * quad], made, sizeof made);
    }
}

static firn_result write_actor(const actor *a, const char *path, firn_error *error)
{
    size_t triangles = (size_t)triangle_count(a);
    firn_vec3 *points = firn_bench_take(point_count(a) * sizeof *points);
    int32_t *corners = firn_bench_take(3 * triangles * sizeof *corners);
    int32_t *sizes = firn_bench_take(triangles * sizeof *sizes);
    connect(a, corners);
    for (size_t i = 0; i < triangles; i++)
        sizes[i] = 3;
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    FIRN_TRY(firn_abc_writer_create(path, &def, &writer, error));
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    firn_abc_node node;
    uint32_t done;
    FIRN_TRY(firn_abc_writer_add_clock(writer, 1.0 / FPS, 1.0 / FPS, &mesh.clock, error));
    FIRN_TRY(firn_abc_writer_add_mesh(writer, FIRN_ABC_ROOT, "actor", &mesh, &node, error));
    FIRN_TRY(firn_abc_writer_begin(writer, &done, error));
    for (int frame = 1; frame <= FRAMES; frame++) {
        pose(a, frame, points);
        const firn_abc_mesh_data data = {.point_count = point_count(a),
                                         .face_count = triangles,
                                         .corner_count = 3 * triangles,
                                         .positions = points,
                                         .face_counts = sizes,
                                         .face_indices = corners};
        FIRN_TRY(firn_abc_writer_put_mesh(writer, node, &data, error));
        FIRN_TRY(firn_abc_writer_end_frame(writer, error));
    }
    firn_free(points);
    firn_free(corners);
    firn_free(sizes);
    return firn_abc_writer_finish(writer, error);
}

static double stat_of(const firn_data *data, const char *name)
{
    for (size_t i = 0; i < data->stat_count; i++)
        if (strcmp(data->stats[i].name, name) == 0)
            return data->stats[i].value;
    return 0.0;
}

// The frames after the first two, for which a level set is needed and can be made ahead.
static void time_frames(const actor *a, const char *folder, const char *node, int threads,
                        bool ahead)
{
    firn_error error;
    firn_graph *graph = NULL;
    firn_bench_check(
        firn_graph_load_memory(scene, sizeof scene - 1, "bench", folder, &graph, &error), &error);
    const double count[3] = {threads}, on[3] = {ahead}, voxel[3] = {a->voxel_size};
    firn_bench_check(firn_graph_set(graph, "solver", "thread_count", count, &error), &error);
    firn_bench_check(firn_graph_set(graph, "actor", "mesh_look_ahead", on, &error), &error);
    firn_bench_check(firn_graph_set(graph, "actor", "mesh_voxel_size", voxel, &error), &error);
    const firn_data *data = NULL;
    double start = 0.0, solver = 0.0;
    for (int frame = 1; frame <= FRAMES; frame++) {
        firn_bench_check(firn_graph_cook(graph, node, frame, &data, &error), &error);
        if (frame == 2)
            start = firn_seconds();
        else if (frame > 2)
            solver += stat_of(data, "seconds");
    }
    double frames = FRAMES - 2, wall = firn_seconds() - start;
    printf("%s,%d,%.0f,%d,%d,%.3f,%.3f\n", node, triangle_count(a), stat_of(data, "particles"),
           threads, ahead, wall / frames, solver / frames);
    firn_graph_destroy(graph);
}

void firn_bench_collider(const char *folder)
{
    char path[FIRN_PATH_SIZE];
    firn_error error;
    snprintf(path, sizeof path, "%s/firn_bench.abc", folder);
    printf("node,triangles,particles,threads,look_ahead,seconds_per_frame,of_which_solver\n");
    for (size_t i = 0; i < FIRN_COUNT(actors); i++) {
        firn_bench_check(write_actor(&actors[i], path, &error), &error);
        time_frames(&actors[i], folder, "actor", 0, false);
        for (int threads = 1; threads >= 0; threads--)
            for (int ahead = 0; ahead < 2; ahead++)
                time_frames(&actors[i], folder, "solver", threads, ahead);
    }
    remove(path);
}
