/// `firn bench rasterize`: what it costs to make a volume of particles, by kernel and edge.
#include "bench.h"

#include "firn/field.h"

#include <math.h>
#include <stdio.h>

enum { EDGE = 40, COUNT = EDGE * EDGE * EDGE };
#define CELL 0.02f // m; eight particles are in a cell

// A lattice with particles a little off their places, in a fixed way.
static firn_field_points make_points(void)
{
    firn_vec3 *position = firn_bench_take(COUNT * sizeof *position);
    firn_vec3 *velocity = firn_bench_take(COUNT * sizeof *velocity);
    float *mass = firn_bench_take(COUNT * sizeof *mass), *jp = firn_bench_take(COUNT * sizeof *jp);
    for (int i = 0; i < COUNT; i++) {
        uint64_t hash = firn_hash64(&i, sizeof i, 0);
        const int at[3] = {i / EDGE / EDGE, i / EDGE % EDGE, i % EDGE};
        float x[3];
        for (int axis = 0; axis < 3; axis++)
            x[axis] =
                0.5f * CELL *
                ((float)at[axis] + 0.25f + 0.5f * (float)(hash >> 16 * axis & 0xffff) / 65536.0f);
        position[i] = firn_vec(x[0], x[1], x[2]);
        velocity[i] = firn_vec(1.0f, x[0], x[1]);
        mass[i] = 4e-4f;
        jp[i] = 1.0f;
    }
    firn_field_points points = {COUNT, position, mass, velocity, jp, CELL, NULL};
    return points;
}

static void time_kind(const firn_field_def *def, const firn_field_points *points, const char *kind)
{
    double best = INFINITY;
    size_t leaves = 0;
    for (int round = 0; round < FIRN_BENCH_ROUNDS; round++) {
        firn_error error;
        firn_field *field = NULL;
        double start = firn_seconds();
        firn_bench_check(firn_field_create(def, points, &field, &error), &error);
        best = fmin(best, firn_seconds() - start);
        leaves = firn_field_read(field).leaf_count;
        firn_field_destroy(field);
    }
    printf("%s,%g,%d,%.1f,%zu\n", kind, (double)(def->voxel_size / CELL), def->thread_count,
           1e9 * best / (double)points->count, leaves);
}

void firn_bench_rasterize(const char *folder)
{
    (void)folder;
    static const struct {
        const char *name;
        float anisotropy, edge, shutter;
    } kinds[] = {{"round", 1.0f, 0.0f, 0.0f},
                 {"round+edge", 1.0f, 1.0f, 0.0f},
                 {"anisotropic", 4.0f, 0.0f, 0.0f},
                 {"anisotropic+edge", 4.0f, 1.0f, 0.0f},
                 {"round+shutter", 1.0f, 0.0f, 0.02f}};
    firn_field_points points = make_points();
    printf("kernel,voxel_per_cell,threads,ns_per_particle,leaves\n");
    for (size_t kind = 0; kind < FIRN_COUNT(kinds); kind++)
        for (int run = 0; run < 3; run++) {
            firn_field_def def = firn_field_def_default();
            def.voxel_size = run < 2 ? CELL : 0.5f * CELL;
            def.thread_count = run == 0 ? 1 : 2;
            def.anisotropy = kinds[kind].anisotropy;
            def.edge = kinds[kind].edge;
            def.shutter = kinds[kind].shutter;
            time_kind(&def, &points, kinds[kind].name);
        }
    firn_free((void *)points.position);
    firn_free((void *)points.velocity);
    firn_free((void *)points.mass);
    firn_free((void *)points.jp);
}
