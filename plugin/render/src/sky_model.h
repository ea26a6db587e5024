/// The light of a clear or hazy day: air, haze and ozone scatter the sun's light once.
#ifndef FIRN_RENDER_SKY_MODEL_H
#define FIRN_RENDER_SKY_MODEL_H

#include "firn/base.h"
#include "firn/vec.h"

enum { FIRN_SKY_HEIGHTS = 48, FIRN_SKY_TURNS = 48 };

/// Radiance by the height above the horizon and the turn away from the sun, which is even.
typedef struct firn_sky_model {
    firn_vec3 sun;    // toward it, unit vector
    firn_vec3 direct; // irradiance on a surface that faces it, red, green, blue
    firn_vec3 radiance[FIRN_SKY_HEIGHTS][FIRN_SKY_TURNS];
} firn_sky_model;

/// The sky for a sun in this direction. turbidity is 1 for pure air, 2 for a clear day, 10 for
/// haze. Sun and sky together give level ground the luminance `level`, in white light: as a camera
/// would be set, whatever the hour.
void firn_sky_model_make(firn_sky_model *sky, firn_vec3 sun, float turbidity, float level);

/// Radiance from a direction; the horizon goes on below itself.
firn_vec3 firn_sky_model_radiance(const firn_sky_model *sky, firn_vec3 direction);

#endif
