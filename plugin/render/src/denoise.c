#include "render_state.h"

#include <string.h>

enum { LEVELS = 4 };
#define TOLERANCE 3.0f // deviations that two pixels may differ by and still be mixed

// One level of an edge-avoiding a-trous filter (Dammertz et al. 2010), guided by the variance.
static void smooth_pixel(const firn_render *render, const float *from, const float *noise,
                         int level, size_t at, float *to)
{
    static const float kernel[3] = {0.375f, 0.25f, 0.0625f};
    int width = render->def.width, height = render->def.height, step = 1 << level;
    int x = (int)(at % (size_t)width), y = (int)(at / (size_t)width);
    const float *center = from + 3 * at;
    float own = firn_luminance(firn_vec(center[0], center[1], center[2]));
    float sum[3] = {0.0f, 0.0f, 0.0f}, weights = 0.0f;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++) {
            int u = x + i * step, v = y + j * step;
            if (u < 0 || v < 0 || u >= width || v >= height)
                continue;
            size_t other = (size_t)v * (size_t)width + (size_t)u;
            const float *rgb = from + 3 * other;
            float difference = firn_luminance(firn_vec(rgb[0], rgb[1], rgb[2])) - own;
            float allowed = TOLERANCE * TOLERANCE * (noise[at] + noise[other]) + 1e-8f;
            float met = render->alpha[other] - render->alpha[at];
            float weight = kernel[i < 0 ? -i : i] * kernel[j < 0 ? -j : j] *
                           expf(-difference * difference / allowed - 16.0f * met * met);
            weights += weight;
            for (int c = 0; c < 3; c++)
                sum[c] += weight * rgb[c];
        }
    for (int c = 0; c < 3; c++)
        to[3 * at + (size_t)c] = sum[c] / weights;
}

// The variance itself is noisy: a mean over the neighbors is what guides.
static void even_out(const firn_render *render, float scale, float *noise)
{
    int width = render->def.width, height = render->def.height;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float sum = 0.0f;
            int count = 0;
            for (int v = y > 0 ? y - 1 : 0; v <= y + 1 && v < height; v++)
                for (int u = x > 0 ? x - 1 : 0; u <= x + 1 && u < width; u++, count++)
                    sum += render->variance[(size_t)v * (size_t)width + (size_t)u];
            noise[(size_t)y * (size_t)width + (size_t)x] = scale * sum / (float)count;
        }
}

bool firn_render_denoise(firn_render *render)
{
    size_t count = (size_t)render->def.width * (size_t)render->def.height;
    float *other = firn_alloc(3 * count * sizeof *other),
          *noise = firn_alloc(count * sizeof *noise);
    bool fine = other != NULL && noise != NULL;
    for (int level = 0; level < LEVELS && fine; level++) {
        // Each level leaves about a quarter of the variance.
        even_out(render, 1.0f / (float)(1 << (2 * level)), noise);
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < count; i++)
            smooth_pixel(render, render->rgb, noise, level, i, other);
        memcpy(render->rgb, other, 3 * count * sizeof *other);
    }
    firn_free(other);
    firn_free(noise);
    return fine;
}
