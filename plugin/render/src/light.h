/// Where light comes from: the sun's disk and the sky around.
#ifndef FIRN_RENDER_LIGHT_H
#define FIRN_RENDER_LIGHT_H

#include "random.h"
#include "sky_model.h"

#include "firn/render.h"

/// A lat-long image with the tables that draw its bright parts more often.
typedef struct firn_sky_image {
    int width, height;
    float *rgb;    // rows from the zenith
    float *column; // height rows of width + 1 rising sums, each ending with 1
    float *row;    // height + 1 rising sums
    float turn;    // radians
} firn_sky_image;

typedef struct firn_light {
    firn_vec3 sun;        // toward it
    firn_vec3 irradiance; // zero: no sun
    float sun_cosine;     // of the radius of its disk
    int sky;              // firn_render_sky
    firn_vec3 zenith, horizon;
    firn_sky_image image;
    firn_sky_model *model; // of a physical sky
} firn_light;

firn_result firn_light_create(firn_light *light, const firn_render_def *def, firn_error *error);
void firn_light_free(firn_light *light);

/// Radiance of the sky, without the sun.
firn_vec3 firn_sky_radiance(const firn_light *light, firn_vec3 direction);

/// What the sun's disk adds for an eye that looks at it.
firn_vec3 firn_sun_radiance(const firn_light *light, firn_vec3 direction);

/// A direction to the sun's disk.
firn_vec3 firn_sun_sample(const firn_light *light, firn_random *random);

/// True when the sky has parts that should be looked for.
static inline bool firn_sky_is_sampled(const firn_light *light)
{
    return light->sky == FIRN_SKY_IMAGE;
}

/// A direction to a sampled sky with its probability per steradian, and that of any direction.
firn_vec3 firn_sky_sample(const firn_light *light, firn_random *random, float *density);
float firn_sky_density(const firn_light *light, firn_vec3 direction);

#endif
