/// Where snow comes from: a region filled with particles, once or over time, or a list of points.
#ifndef FIRN_SOURCE_H
#define FIRN_SOURCE_H

#include "firn/level_set.h"
#include "firn/material.h"
#include "firn/params.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_region {
    FIRN_REGION_SPHERE,
    FIRN_REGION_BOX,
    FIRN_REGION_LEVEL_SET,
    FIRN_REGION_POINTS,
} firn_region;

/// A channel that a source gives to its particles, in place of what they would have; a velocity is
/// added to that of the source.
typedef struct firn_source_value {
    const char *channel; // its name, see firn/channel.h
    float value[3];      // of each component
    float noise;         // amplitude of lumps around the value, in its unit
    const float *points; // FIRN_REGION_POINTS: of each point, with its components side by side, in
                         // place of the value; NULL: none
} firn_source_value;

/// Velocities on a lattice: of what the snow is made from. Interpolated, and held beyond the ends.
typedef struct firn_source_flow {
    firn_vec3 origin;        // m, where the first value stands
    float spacing;           // m
    int size[3];             // values along each axis, at least 1
    const firn_vec3 *values; // m/s; x changes slowest, z fastest
} firn_source_flow;

typedef struct firn_source_def {
    uint32_t cookie;
    int region;                      // firn_region
    firn_vec3 center;                // m
    float radius;                    // m, of the sphere
    firn_vec3 half_size;             // m, of the box
    const firn_level_set *level_set; // in world space; borrowed while the source emits

    float particles_per_cell; // the lattice has this many points in a grid cell
    float jitter;             // 0: the exact lattice, aligned to the world; 1: a whole spacing
    int seed;

    firn_vec3 velocity;           // m/s
    firn_vec3 angular_velocity;   // rad/s, about center
    float inherit_velocity;       // share of the flow that is added to it
    const firn_source_flow *flow; // borrowed while the source emits; NULL: none
    double start, end;            // s; fills at start, goes on emitting along velocity until end
    firn_material_id material;

    float stiffness_noise; // amplitude, relative: 0.5 varies between 0.5 and 1.5
    float density_noise;   // amplitude, relative
    float noise_scale;     // m, size of the lumps
    float shell_thickness; // m, of the layer under the whole surface; 0: none
    float shell_stiffness; // factor in the shell
    float shell_density;   // factor in the shell
    float crust_depth;     // m, of the layer that the sky sees; 0: none
    float crust_stiffness; // factor in the crust
    float crust_density;   // factor in the crust
    float chunk_size;      // m, of the pieces between which the snow breaks; 0: it breaks anywhere
    float chunk_bond;      // factor on critical_stretch in the snow between them
    float strength_noise;  // amplitude of lumps of all sizes in the logarithm of the stiffness

    float snowfall;       // m/s: flakes so far apart that snow grows by this; 0: a body of snow
    float size_spread;    // share by which mass and volume of flakes vary
    float density_spread; // share by which their density varies
    bool loose;           // flakes without hold, that pack by the density they come to

    // A region that moves: what it sweeps over until `end` becomes snow, which has `velocity`.
    firn_vec3 travel;          // m, that the region has come from its place when this is taken over
    firn_vec3 region_velocity; // m/s, at which it goes on

    size_t point_count;      // of FIRN_REGION_POINTS
    const firn_vec3 *points; // m, copied

    // What the particles get beside that, copied. Points with a mass and no
    // volume have mass / density; without a mass they have density * volume, that from the grid.
    size_t value_count;
    const firn_source_value *values;
} firn_source_def;

FIRN_API void firn_source_def_reset(firn_source_def *def, size_t size);
FIRN_API firn_param_table firn_source_params(void);

static inline firn_source_def firn_source_def_default(void)
{
    firn_source_def def;
    firn_source_def_reset(&def, sizeof def);
    return def;
}

FIRN_API firn_source_def firn_source_def_sphere(firn_vec3 center, float radius);
FIRN_API firn_source_def firn_source_def_box(firn_vec3 center, firn_vec3 half_size);
FIRN_API firn_source_def firn_source_def_level_set(const firn_level_set *level_set);
FIRN_API firn_source_def firn_source_def_points(const firn_vec3 *points, size_t count);

typedef struct firn_source_id {
    uint32_t index1;
    uint32_t generation;
} firn_source_id;

#ifdef __cplusplus
}
#endif

#endif
