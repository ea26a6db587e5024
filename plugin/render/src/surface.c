#include "surface.h"

#include "grains.h"
#include "random.h"

#include <math.h>

#define GRAIN 0.0025f // m, edge of the cells that glint one by one
#define FLAT 0.35f    // most that a bump may lean

/// A smooth random height with its slope.
typedef struct bump {
    float value, x, z; // value from -1 to 1, slope along each axis
} bump;

static float lattice(int32_t x, int32_t z, uint32_t layer)
{
    uint64_t key = (uint64_t)(uint32_t)x << 32 | (uint32_t)z;
    return (float)(int32_t)(firn_mix(key ^ (uint64_t)layer * 0xD6E8FEB86659FD93u) >> 32) * 0x1p-31f;
}

// Noise of the lattice, with curves of the fifth order between its points.
static bump noise(float x, float z, uint32_t layer)
{
    float fx = floorf(x), fz = floorf(z), u = x - fx, v = z - fz;
    int32_t i = (int32_t)fx, k = (int32_t)fz;
    float a = lattice(i, k, layer), b = lattice(i + 1, k, layer), c = lattice(i, k + 1, layer),
          d = lattice(i + 1, k + 1, layer);
    float s = u * u * u * (u * (6.0f * u - 15.0f) + 10.0f),
          t = v * v * v * (v * (6.0f * v - 15.0f) + 10.0f);
    float ds = 30.0f * u * u * (u - 1.0f) * (u - 1.0f),
          dt = 30.0f * v * v * (v - 1.0f) * (v - 1.0f);
    float e = a - b - c + d;
    return (bump){a + s * (b - a) + t * (c - a) + s * t * e, ds * (b - a + t * e),
                  dt * (c - a + s * e)};
}

// Octaves from `size` down, each with the same steepness times `keep` of the one before.
static bump heap(float x, float z, float size, float keep, float detail, uint32_t layer)
{
    bump sum = {0.0f, 0.0f, 0.0f};
    float share = 1.0f, all = 0.0f;
    for (int octave = 0; octave < 6 && size > detail; octave++) {
        bump n = noise(x / size, z / size, layer + (uint32_t)octave);
        sum.value += share * n.value;
        sum.x += share * n.x;
        sum.z += share * n.z;
        all += share;
        share *= keep;
        size *= 0.45f;
    }
    float scale = all > 0.0f ? 1.0f / all : 0.0f;
    return (bump){scale * sum.value, scale * sum.x, scale * sum.z};
}

static firn_vec3 normal_of(float slope_x, float slope_z)
{
    float steep = sqrtf(slope_x * slope_x + slope_z * slope_z);
    float scale = steep > FLAT ? FLAT / steep : 1.0f;
    return firn_normalize(firn_vec(-scale * slope_x, 1.0f, -scale * slope_z));
}

firn_surface_point firn_surface_look(const firn_surface *surface, firn_vec3 albedo, float x,
                                     float z, float detail)
{
    firn_surface_point point = {albedo, {0.0f, 1.0f, 0.0f}, 0.0f, {0.0f, 1.0f, 0.0f}};
    if (surface->kind == FIRN_SURFACE_SNOW)
        point.albedo = surface->white;
    if (surface->kind == FIRN_SURFACE_PLAIN || !(fabsf(x) < 1e5f && fabsf(z) < 1e5f))
        return point;
    if (surface->kind == FIRN_SURFACE_ROUGH) {
        bump patches = heap(x, z, 0.9f, 0.6f, detail, 1),
             grit = heap(x, z, 0.02f, 0.8f, detail, 11);
        float tone = 1.0f + 0.35f * patches.value + 0.35f * grit.value;
        float relief = 0.15f * surface->relief;
        point.albedo = firn_scale(fmaxf(tone, 0.1f), albedo);
        point.albedo = firn_vec(fminf(point.albedo.x, 1.0f), fminf(point.albedo.y, 1.0f),
                                fminf(point.albedo.z, 1.0f));
        point.normal = normal_of(relief * grit.x, relief * grit.z);
        return point;
    }
    // Drifts that the wind drew out along X, then lumps, then grains.
    bump drifts = heap(0.4f * x, z, 0.8f, 0.5f, detail, 21);
    bump lumps = heap(x, z, 0.05f, 0.7f, detail, 31), grains = heap(x, z, GRAIN, 0.5f, detail, 41);
    float a = 0.10f * surface->relief, b = 0.10f * surface->relief, c = 0.16f * surface->relief;
    point.normal = normal_of(0.4f * a * drifts.x + b * lumps.x + c * grains.x,
                             a * drifts.z + b * lumps.z + c * grains.z);
    if (detail < 4.0f * GRAIN) {
        uint64_t key = (uint64_t)(uint32_t)(int32_t)floorf(x / GRAIN) << 32 |
                       (uint32_t)(int32_t)floorf(z / GRAIN);
        point.facet = firn_grain_facet((uint32_t)(firn_mix(key) >> 32));
        point.facet.y = fabsf(point.facet.y);
        point.mirror = surface->sparkle;
    }
    return point;
}

static float reflectance(float albedo, float g)
{
    float s = sqrtf((1.0f - albedo) / fmaxf(1.0f - g * albedo, 1e-6f));
    return (1.0f - s) * (1.0f - 0.139f * s) / (1.0f + 1.17f * s);
}

firn_vec3 firn_snow_reflectance(firn_vec3 albedo, float g)
{
    return firn_vec(reflectance(albedo.x, g), reflectance(albedo.y, g), reflectance(albedo.z, g));
}
