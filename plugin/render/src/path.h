/// One path of light, from the camera backward until it leaves, ends or is not worth following.
#ifndef FIRN_RENDER_PATH_H
#define FIRN_RENDER_PATH_H

#include "grains.h"
#include "light.h"
#include "solids.h"
#include "surface.h"
#include "tracking.h"

/// How snow scatters; after some bounces another one may stand in for it.
typedef struct firn_scatter {
    float strength; // factor of the extinction
    float g;
    firn_vec3 albedo;
} firn_scatter;

/// How grains do beside their color, which is that of the snow.
typedef struct firn_grain_look {
    float translucency; // share of light that goes through
    float sparkle;      // share that a facet mirrors
    float cosine;       // of half the width of a glint
    float blunt;        // the same where light that has already been scattered meets a facet
} firn_grain_look;

/// What light meets; shared by all threads, never written.
typedef struct firn_world {
    const firn_density_grid *grid;
    const firn_solids *solids;
    const firn_light *light;
    const firn_grain_set *grains; // NULL: none
    firn_grain_look grain;
    firn_surface ground; // of planes
    firn_surface faces;  // of boxes
    float detail;        // m for each voxel of distance: what a pixel covers
    int grain_bounces;   // that grains count for; 0: all
    firn_scatter snow, even;
    int similarity; // bounces until `even` counts; 0: never
    int max_bounces;
    bool roulette;
} firn_world;

typedef struct firn_path_sample {
    firn_vec3 radiance;
    firn_vec3 glint;          // of it, what the sun sends by way of the first facet
    firn_vec3 albedo, normal; // of what is first met; no normal in the middle of snow
    float depth;              // voxels to what is first met; INFINITY: the sky
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
