/// Smooth randomness as a pure function: the same arguments give the same bits in any order.
#ifndef FIRN_PUBLIC_NOISE_H
#define FIRN_PUBLIC_NOISE_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Lumps of about unit size: between -1 and 1, mean 0, second derivatives continuous.
FIRN_API double firn_noise(const double point[3], uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
