/// `firn bench render`: light paths per second, threads and memory, and Cycles beside it.
#define _XOPEN_SOURCE 700
#include "bench.h"

#include "firn/file.h"
#include "firn/render.h"
#include "firn/vdb_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 12, WIDTH = 480, HEIGHT = 270, SAMPLES = 8, BOUNCES = 32 };

// A heap of snow with a lumpy surface, 96 voxels across.
static float density_of(int x, int y, int z)
{
    float u = ((float)x - 47.5f) / 44.0f, w = ((float)z - 47.5f) / 44.0f;
    float lumps = 0.12f * sinf(9.0f * u + 4.0f * w) * sinf(7.0f * w) + 0.05f * sinf(31.0f * u) +
                  0.04f * sinf(37.0f * w + 5.0f * u);
    float top = 80.0f * (1.0f - u * u - w * w + lumps);
    float depth = top - (float)y;
    if (depth <= 0.0f)
        return 0.0f;
    return 400.0f * fminf(1.0f, depth) * (0.8f + 0.2f * sinf(0.4f * (float)y));
}

static firn_field_view make_heap(void)
{
    size_t leaves = (size_t)EDGE * EDGE * EDGE, used = 0;
    firn_coord *origin = firn_bench_take(leaves * sizeof *origin);
    uint64_t *mask = firn_bench_take(8 * leaves * sizeof *mask);
    float *density = firn_bench_take(512 * leaves * sizeof *density);
    for (size_t leaf = 0; leaf < leaves; leaf++) {
        firn_coord o = {(int32_t)(8 * (leaf / (EDGE * EDGE))), (int32_t)(8 * (leaf / EDGE % EDGE)),
                        (int32_t)(8 * (leaf % EDGE))};
        uint64_t any = 0;
        for (size_t n = 0; n < 512; n++) {
            float value =
                density_of(o.x + (int)(n >> 6), o.y + (int)(n >> 3 & 7), o.z + (int)(n & 7));
            uint64_t bit = value > 0.0f ? (uint64_t)1 << (n & 63) : 0;
            density[512 * used + n] = value;
            mask[8 * used + (n >> 6)] |= bit;
            any |= bit;
        }
        origin[used] = o;
        used += any != 0;
    }
    firn_field_view view = {.voxel_size = 0.01f,
                            .leaf_count = used,
                            .leaf_origin = origin,
                            .mask = mask,
                            .density = density};
    return view;
}

static firn_render_def fixed_def(int threads)
{
    firn_render_def def = firn_render_def_default();
    def.width = WIDTH;
    def.height = HEIGHT;
    def.samples = SAMPLES;
    def.max_bounces = BOUNCES;
    def.sky = FIRN_SKY_CONSTANT;
    def.ground = FIRN_GROUND_NONE;
    def.thread_count = threads;
    return def;
}

/// What a run came to: seconds and the noise that was left, as in noise_limit.
typedef struct outcome {
    double seconds, noise;
} outcome;

static outcome trace(const firn_field_view *view, int threads, firn_render_setup *setup)
{
    firn_error error;
    firn_render_def def = fixed_def(threads);
    firn_render_scene scene = {.field = view};
    outcome best = {INFINITY, 0.0};
    for (int round = 0; round < 2; round++) {
        firn_render *render = NULL;
        firn_bench_check(firn_render_create(&def, &scene, &render, &error), &error);
        double start = firn_seconds();
        firn_bench_check(firn_render_run(render, NULL, NULL, &error), &error);
        double seconds = firn_seconds() - start;
        if (seconds < best.seconds)
            best = (outcome){seconds, firn_render_picture(render).noise};
        *setup = firn_render_read_setup(render);
        firn_render_destroy(render);
    }
    return best;
}

// The same scene for Cycles.
static void describe(const firn_render_setup *setup, char *text, size_t size)
{
    const double radians = 0.017453292519943295;
    firn_render_def def = fixed_def(2);
    firn_vec3 p = setup->position, q = setup->target, e = setup->sun_irradiance,
              d = setup->sun_direction, sky = firn_scale(def.sky_strength, def.sky_color);
    snprintf(text, size,
             "{\"albedo\": [%g, %g, %g], \"extinction\": %g, \"g\": %g, \"sun\": [%g, %g, %g], "
             "\"angle\": %g, \"to_sun\": [%g, %g, %g], \"sky\": [%g, %g, %g], \"fov\": %g, "
             "\"position\": [%.9g, %.9g, %.9g], \"target\": [%.9g, %.9g, %.9g], \"samples\": %d, "
             "\"bounces\": %d, \"size\": [%d, %d]}\n",
             (double)def.albedo.x, (double)def.albedo.y, (double)def.albedo.z,
             (double)def.extinction, (double)def.anisotropy, (double)e.x, (double)e.y, (double)e.z,
             radians * (double)def.sun_angle, (double)d.x, (double)d.y, (double)d.z, (double)sky.x,
             (double)sky.y, (double)sky.z, radians * (double)setup->field_of_view, (double)p.x,
             (double)p.y, (double)p.z, (double)q.x, (double)q.y, (double)q.z, SAMPLES, BOUNCES,
             WIDTH, HEIGHT);
}

static void compare_with_cycles(const char *folder, const firn_field_view *view,
                                const firn_render_setup *setup, const outcome *own)
{
    if (!firn_bench_has_blender()) {
        printf("Blender is not installed: no comparison with Cycles\n");
        return;
    }
    char path[FIRN_PATH_SIZE], whole[FIRN_PATH_SIZE], text[2048];
    if (realpath(folder, whole) == NULL) {
        printf("There is no folder '%s': no comparison with Cycles\n", folder);
        return;
    }
    firn_error error;
    firn_vdb_write_def def = firn_vdb_write_def_default();
    firn_vdb_content content = {.field = view};
    snprintf(path, sizeof path, "%.2000s/firn_bench.vdb", whole);
    firn_bench_check(firn_vdb_write(path, &def, &content, NULL, &error), &error);
    outcome cycles = {0};
    describe(setup, text, sizeof text);
    if (firn_bench_cycles(whole, text, &cycles.seconds, &cycles.noise)) {
        // Time for the same noise: it falls with the square root of the samples.
        double ratio = cycles.noise / own->noise;
        printf("Cycles 2 threads,%.2f s,noise %.4f\n", cycles.seconds, cycles.noise);
        printf("time of Cycles for equal noise,%.1f times ours\n",
               cycles.seconds * ratio * ratio / own->seconds);
    } else {
        printf("Blender could not render the grid: no comparison with Cycles\n");
    }
    remove(path);
}

void firn_bench_render(const char *folder)
{
    firn_field_view view = make_heap();
    firn_render_setup setup;
    outcome by_threads[2];
    double paths = 1e-6 * WIDTH * HEIGHT * SAMPLES;
    for (int threads = 1; threads <= 2; threads++) {
        outcome *own = &by_threads[threads - 1];
        *own = trace(&view, threads, &setup);
        printf("%d x %d pixels %d samples %d bounces %d threads,%.2f s,%.3f million samples/s,"
               "noise %.4f\n",
               WIDTH, HEIGHT, SAMPLES, BOUNCES, threads, own->seconds, paths / own->seconds,
               own->noise);
    }
    printf("scaling to 2 threads,%.2f\n", by_threads[0].seconds / by_threads[1].seconds);
    printf("grid,%.2f MB,%.3f times its %zu voxels as halves, and %.2f MB of majorants\n",
           1e-6 * (double)setup.grid_bytes,
           (double)(setup.grid_bytes - setup.majorant_bytes) / (2.0 * (double)setup.voxels),
           setup.voxels, 1e-6 * (double)setup.majorant_bytes);
    fflush(stdout);
    compare_with_cycles(folder, &view, &setup, &by_threads[1]);
    firn_free((void *)view.leaf_origin);
    firn_free((void *)view.mask);
    firn_free((void *)view.density);
}
