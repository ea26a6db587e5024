/// `firn bench fine`: what it costs to turn particles into grains.
#include "bench.h"

#include "firn/fine.h"

#include <math.h>
#include <stdio.h>

enum { COUNT = 100000 };

// Particles of a cell of 2 cm: half of them a dense block, the others in flight far apart.
static firn_fine_parents make_parents(void)
{
    firn_vec3 *position = firn_bench_take(COUNT * sizeof *position);
    firn_vec3 *velocity = firn_bench_take(COUNT * sizeof *velocity);
    float *mass = firn_bench_take(COUNT * sizeof *mass), *jp = firn_bench_take(COUNT * sizeof *jp);
    float *radius = firn_bench_take(COUNT * sizeof *radius);
    uint32_t *id = firn_bench_take(COUNT * sizeof *id);
    for (int i = 0; i < COUNT; i++) {
        const int edge = 40;
        const bool dense = i < COUNT / 2;
        const float spacing = dense ? 0.01f : 0.05f;
        int n = dense ? i : i - COUNT / 2;
        position[i] =
            firn_vec(spacing * (float)(n / edge / edge), spacing * (float)(n / edge % edge),
                     spacing * (float)(n % edge) + (dense ? 0.0f : 3.0f));
        velocity[i] = firn_vec(1.0f, -2.0f, position[i].x);
        mass[i] = 4e-4f;
        jp[i] = 1.0f;
        radius[i] = 0.0062035f;
        id[i] = (uint32_t)i;
    }
    firn_fine_parents parents = {COUNT, position, velocity, mass, radius, jp, id, NULL, 0.02f};
    return parents;
}

static firn_fine_grains take_grains(size_t count)
{
    firn_fine_grains grains = {
        firn_bench_take(count * sizeof(firn_vec3)), firn_bench_take(count * sizeof(firn_vec3)),
        firn_bench_take(count * sizeof(float)),     firn_bench_take(count * sizeof(float)),
        firn_bench_take(count * sizeof(float)),     firn_bench_take(count * sizeof(uint32_t)),
        firn_bench_take(count * sizeof(float))};
    return grains;
}

static void free_grains(const firn_fine_grains *grains)
{
    firn_free(grains->position);
    firn_free(grains->velocity);
    firn_free(grains->mass);
    firn_free(grains->radius);
    firn_free(grains->density);
    firn_free(grains->id);
    firn_free(grains->sparkle);
}

void firn_bench_fine(const char *folder)
{
    (void)folder;
    firn_fine_parents parents = make_parents();
    printf("children,threads,ns_per_grain\n");
    for (int run = 0; run < 6; run++) {
        firn_fine_def def = firn_fine_def_default();
        def.children = (const int[]){8, 32, 64}[run / 2];
        def.thread_count = 1 + run % 2;
        size_t count = parents.count * (size_t)def.children;
        firn_fine_grains grains = take_grains(count);
        double best = INFINITY;
        for (int round = 0; round < FIRN_BENCH_ROUNDS; round++) {
            firn_error error;
            double start = firn_seconds();
            firn_bench_check(firn_fine_make(&def, &parents, &grains, &error), &error);
            best = fmin(best, firn_seconds() - start);
        }
        printf("%d,%d,%.1f\n", def.children, def.thread_count, 1e9 * best / (double)count);
        free_grains(&grains);
    }
    firn_free((void *)parents.position);
    firn_free((void *)parents.velocity);
    firn_free((void *)parents.mass);
    firn_free((void *)parents.radius);
    firn_free((void *)parents.jp);
    firn_free((void *)parents.id);
}
