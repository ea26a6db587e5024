/// 16-bit floats by integer arithmetic and one exact product: the same bits on every processor.
#ifndef FIRN_RENDER_HALF_H
#define FIRN_RENDER_HALF_H

#include <stdint.h>
#include <string.h>

/// Exact for every finite half, subnormal ones too.
static inline float firn_half_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fffu) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    return (half & 0x8000u) != 0 ? -value : value;
}

/// To the nearest, ties to even; beyond 65504 becomes infinite.
static inline uint16_t firn_half_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (rest >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u);
    if (rest < 0x38800000u) {
        // Adding 0.5 puts the rounded subnormal into the lowest bits.
        float magnitude;
        memcpy(&magnitude, &rest, sizeof magnitude);
        magnitude += 0.5f;
        memcpy(&rest, &magnitude, sizeof rest);
        return (uint16_t)(sign | (rest - 0x3f000000u));
    }
    rest += 0xfffu + (rest >> 13 & 1u);
    return (uint16_t)(sign | ((rest - 0x38000000u) >> 13));
}

#endif
