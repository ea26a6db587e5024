/// The surface of the ground: patches, bumps and, on snow, glints.
#ifndef FIRN_RENDER_SURFACE_H
#define FIRN_RENDER_SURFACE_H

#include "firn/render.h"

typedef struct firn_surface {
    int kind;        // firn_render_surface
    firn_vec3 white; // albedo of snow; other surfaces have that of their solid
    float relief;    // factor of its bumps
    float sparkle;
} firn_surface;

/// What light meets on it; the normal is in the space of the surface, where Y is up.
typedef struct firn_surface_point {
    firn_vec3 albedo, normal;
    float mirror;    // share that a facet mirrors
    firn_vec3 facet; // its normal
} firn_surface_point;

/// x and z are meters along the surface; details smaller than `detail` (m) are left out.
firn_surface_point firn_surface_look(const firn_surface *surface, firn_vec3 albedo, float x,
                                     float z, float detail);

/// Share of light that deep snow sends back, by van de Hulst 1980.
firn_vec3 firn_snow_reflectance(firn_vec3 albedo, float g);

#endif
