/// Random numbers that are functions of seed, pixel, sample and position in the path.
#ifndef FIRN_RENDER_RANDOM_H
#define FIRN_RENDER_RANDOM_H

#include <stdint.h>

typedef struct firn_random {
    uint64_t counter;
} firn_random;

static inline uint64_t firn_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static inline firn_random firn_random_of(uint64_t seed, uint64_t pixel, uint64_t sample)
{
    firn_random random = {firn_mix(firn_mix(seed * 0x9E3779B97F4A7C15u + pixel) + sample)};
    return random;
}

static inline uint64_t firn_random_bits(firn_random *random)
{
    random->counter += 0x9E3779B97F4A7C15u;
    return firn_mix(random->counter);
}

static inline float firn_unit_float(uint64_t bits) { return (float)(bits >> 40) * 0x1p-24f; }

/// From 0 up to but not including 1.
static inline float firn_random_unit(firn_random *random)
{
    return firn_unit_float(firn_random_bits(random));
}

#endif
