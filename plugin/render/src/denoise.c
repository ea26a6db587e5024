#include "render_state.h"

#include <math.h>
#include <string.h>

// Non-local means with the noise taken off the distances, Rousselle et al. 2012, and with features
// beside the color, Rousselle et al. 2013: pixels are mixed when their surroundings and what they
// show differ by no more than noise does.
enum { REACH = 7, PATCH = 1 };
#define STRENGTH 0.7f // deviations that colors may differ by
#define FEATURE_STRENGTH 0.8f

/// A pixel for the filter: everything with the variance of its mean.
typedef struct pixel {
    float rgb[3], variance;
    float feature[FIRN_FEATURES], feature_variance[FIRN_FEATURES];
} pixel;

// Differences of features that never count, as a variance.
static const float floors[FIRN_FEATURES] = {1e-6f, 1e-4f, 4e-3f, 4e-3f, 4e-3f};

static void read_pixel(const firn_render *render, size_t i, pixel *to)
{
    const firn_pixel *from = &render->pixels[i];
    float samples = (float)firn_pixel_samples(render, i), met = (float)from->met;
    const float glint[3] = {from->glint.x, from->glint.y, from->glint.z};
    memset(to, 0, sizeof *to);
    if (!(samples > 0.0f))
        return;
    for (int c = 0; c < 3; c++)
        to->rgb[c] = render->rgb[3 * i + (size_t)c] - glint[c] / samples;
    for (int f = 0; f < FIRN_FEATURES && met > 0.0f; f++) {
        float mean = from->feature[f] / met;
        float spread = fmaxf(from->feature_square[f] / met - mean * mean, 0.0f);
        to->feature[f] = mean;
        to->feature_variance[f] = met > 1.0f ? spread / (met - 1.0f) : 1.0f;
    }
}

// The variance of a few samples is noisy itself: a mean over the neighbors guides.
static void even_out(const firn_render *render, pixel *pixels)
{
    int width = render->def.width, height = render->def.height;
#pragma omp parallel for schedule(static)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float sum = 0.0f;
            int count = 0;
            for (int v = y > 0 ? y - 1 : 0; v <= y + 1 && v < height; v++)
                for (int u = x > 0 ? x - 1 : 0; u <= x + 1 && u < width; u++, count++)
                    sum += render->variance[(size_t)v * (size_t)width + (size_t)u];
            pixels[(size_t)y * (size_t)width + (size_t)x].variance = sum / (float)count;
        }
}

// Squared difference of two pixels' colors beyond their noise, in units of it.
static inline float color_distance(const pixel *p, const pixel *q)
{
    float both = p->variance + fminf(p->variance, q->variance), sum = 0.0f;
    for (int c = 0; c < 3; c++) {
        float d = p->rgb[c] - q->rgb[c];
        sum += d * d - both;
    }
    return sum / (3.0f * (1e-7f + STRENGTH * STRENGTH * (p->variance + q->variance)));
}

static inline float feature_distance(const pixel *p, const pixel *q)
{
    float most = 0.0f;
    for (int f = 0; f < FIRN_FEATURES; f++) {
        float d = p->feature[f] - q->feature[f];
        float own = p->feature_variance[f], other = q->feature_variance[f];
        float beyond = d * d - (own + fminf(own, other));
        float scale = FEATURE_STRENGTH * FEATURE_STRENGTH * fmaxf(floors[f], own + other);
        most = fmaxf(most, beyond / scale);
    }
    return most;
}

// The mean distance of two patches; those at the border are cut.
static float patch_distance(const pixel *pixels, int width, int height, int x, int y, int u, int v)
{
    float sum = 0.0f;
    int count = 0;
    for (int j = -PATCH; j <= PATCH; j++)
        for (int i = -PATCH; i <= PATCH; i++) {
            int a = x + i, b = y + j, c = u + i, d = v + j;
            if (a < 0 || b < 0 || c < 0 || d < 0 || a >= width || c >= width || b >= height ||
                d >= height)
                continue;
            sum += color_distance(&pixels[(size_t)b * (size_t)width + (size_t)a],
                                  &pixels[(size_t)d * (size_t)width + (size_t)c]);
            count++;
        }
    return fmaxf(sum / (float)count, 0.0f);
}

static void smooth_pixel(const firn_render *render, const pixel *pixels, int x, int y, float *rgb)
{
    int width = render->def.width, height = render->def.height;
    const pixel *own = &pixels[(size_t)y * (size_t)width + (size_t)x];
    float sum[3] = {0.0f, 0.0f, 0.0f}, weights = 0.0f;
    for (int v = y - REACH; v <= y + REACH; v++)
        for (int u = x - REACH; u <= x + REACH; u++) {
            if (u < 0 || v < 0 || u >= width || v >= height)
                continue;
            const pixel *other = &pixels[(size_t)v * (size_t)width + (size_t)u];
            float far = fmaxf(feature_distance(own, other), 0.0f);
            if (far > 8.0f)
                continue;
            far = fmaxf(far, patch_distance(pixels, width, height, x, y, u, v));
            float weight = expf(-far);
            weights += weight;
            for (int c = 0; c < 3; c++)
                sum[c] += weight * other->rgb[c];
        }
    for (int c = 0; c < 3; c++)
        rgb[c] = weights > 0.0f ? sum[c] / weights : own->rgb[c];
}

bool firn_render_denoise(firn_render *render)
{
    int width = render->def.width, height = render->def.height;
    size_t count = (size_t)width * (size_t)height;
    pixel *pixels = firn_alloc(count * sizeof *pixels);
    if (pixels == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        read_pixel(render, i, &pixels[i]);
    even_out(render, pixels);
#pragma omp parallel for schedule(dynamic, 8)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t at = (size_t)y * (size_t)width + (size_t)x;
            float samples = fmaxf((float)firn_pixel_samples(render, at), 1.0f);
            float *rgb = render->rgb + 3 * at;
            // Glints are no noise: they go back as they were.
            firn_vec3 glint = firn_scale(1.0f / samples, render->pixels[at].glint);
            smooth_pixel(render, pixels, x, y, rgb);
            rgb[0] += glint.x;
            rgb[1] += glint.y;
            rgb[2] += glint.z;
        }
    firn_free(pixels);
    return true;
}
