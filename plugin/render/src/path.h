/// One path of light, from the camera backward until it leaves, ends or is not worth following.
#ifndef FIRN_RENDER_PATH_H
#define FIRN_RENDER_PATH_H

#include "light.h"
#include "solids.h"
#include "tracking.h"

/// How snow scatters; after some bounces another one may stand in for it.
typedef struct firn_scatter {
    float strength; // factor of the extinction
    float g;
    firn_vec3 albedo;
} firn_scatter;

/// What light meets; shared by all threads, never written.
typedef struct firn_world {
    const firn_density_grid *grid;
    const firn_solids *solids;
    const firn_light *light;
    firn_scatter snow, even;
    int similarity; // bounces until `even` counts; 0: never
    int max_bounces;
    bool roulette;
} firn_world;

typedef struct firn_path_sample {
    firn_vec3 radiance;
    float depth; // voxels to what is first met; INFINITY: the sky
} firn_path_sample;

/// unit is the random number of the first flight, which may be one of a well spread sequence.
firn_path_sample firn_path_trace(const firn_world *world, firn_tracker *tracker,
                                 firn_random *random, firn_vec3 from, firn_vec3 direction,
                                 float unit);

/// The material that stands in for a forward scattering one: fewer collisions, each even, with the
/// same absorption and the same diffusion of the channel that is absorbed least.
firn_scatter firn_scatter_even(firn_scatter snow);

static inline float firn_luminance(firn_vec3 rgb)
{
    return 0.2126f * rgb.x + 0.7152f * rgb.y + 0.0722f * rgb.z;
}

#endif
