/// The Henyey-Greenstein phase function, and directions around an axis.
#ifndef FIRN_RENDER_PHASE_H
#define FIRN_RENDER_PHASE_H

#include "random.h"

#include "firn/vec.h"

#define FIRN_PI 3.14159265358979f

/// Share of light per steradian that turns by an angle with this cosine.
static inline float firn_phase(float g, float cosine)
{
    float base = 1.0f + g * g - 2.0f * g * cosine;
    return (1.0f - g * g) / (4.0f * FIRN_PI * base * sqrtf(base));
}

/// Cosine of the angle for a random number.
static inline float firn_phase_cosine(float g, float unit)
{
    if (fabsf(g) < 1e-3f)
        return 1.0f - 2.0f * unit;
    float ratio = (1.0f - g * g) / (1.0f - g + 2.0f * g * unit);
    float cosine = (1.0f + g * g - ratio * ratio) / (2.0f * g);
    return cosine < -1.0f ? -1.0f : cosine > 1.0f ? 1.0f : cosine;
}

/// A direction that has this cosine with the axis (of unit length), turned evenly about it.
static inline firn_vec3 firn_around(firn_vec3 axis, float cosine, firn_random *random)
{
    // A random point of the disk gives cosine and sine of the turn without calling them.
    float a, b, square;
    do {
        uint64_t bits = firn_random_bits(random);
        a = (float)(int32_t)(bits >> 32) * 0x1p-31f;
        b = (float)(int32_t)(uint32_t)bits * 0x1p-31f;
        square = a * a + b * b;
    } while (square > 1.0f || square < 1e-12f);
    float sine = sqrtf(fmaxf(0.0f, 1.0f - cosine * cosine)) / sqrtf(square);
    // A basis without branches on the direction but one (Duff et al. 2017).
    float sign = axis.z >= 0.0f ? 1.0f : -1.0f;
    float c = -1.0f / (sign + axis.z), d = axis.x * axis.y * c;
    firn_vec3 s = {1.0f + sign * axis.x * axis.x * c, sign * d, -sign * axis.x};
    firn_vec3 t = {d, sign + axis.y * axis.y * c, -axis.y};
    firn_vec3 out = firn_scale(cosine, axis);
    out = firn_add_scaled(out, sine * a, s);
    return firn_add_scaled(out, sine * b, t);
}

#endif
