/// Looks of snow: the numbers that light needs, in one table for the tracer, the metadata of grids
/// and with them every other renderer.
#ifndef FIRN_LOOK_H
#define FIRN_LOOK_H

#include "firn/base.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The names of the table behind "custom", which leaves all numbers as they are; for rows of
/// parameters.
#define FIRN_LOOK_NAMES "custom|fresh|powder|packed|wet|dirty|paper"

typedef struct firn_look {
    const char *name;
    float extinction;                           // 1/m at 400 kg/m^3
    firn_vec3 albedo;                           // red, green, blue, of a scattering
    float anisotropy;                           // mean cosine of the scattering angle
    float translucency, sparkle, sparkle_angle; // of grains, as in firn_render_def
    const char *help;
} firn_look;

/// The look with this number in FIRN_LOOK_NAMES; NULL for custom and past the last.
FIRN_API const firn_look *firn_look_at(int index);

#ifdef __cplusplus
}
#endif

#endif
