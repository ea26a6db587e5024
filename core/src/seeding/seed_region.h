/// Geometry of the regions that sources fill.
#ifndef FIRN_SEED_REGION_H
#define FIRN_SEED_REGION_H

#include "space/sdf.h"

#include "firn/source.h"

/// What a source fills, in doubles. Points are double[3] in m.
typedef struct firn_seed_region {
    int kind;            // firn_region
    const firn_sdf *sdf; // of a level set
    double center[3], half[3];
    double radius;
    double lower[3], upper[3]; // bounds
} firn_seed_region;

/// The region of a sphere, a box or a level set; sdf is needed for the last.
firn_seed_region firn_seed_region_make(const firn_source_def *def, const firn_sdf *sdf);

/// Signed distance to the surface, negative inside; a level set knows it only in its band.
double firn_seed_region_distance(const firn_seed_region *region, const double point[3]);

/// A box owns its lower faces and not its upper ones, so that boxes side by side share no point.
bool firn_seed_region_inside(const firn_seed_region *region, const double point[3]);

/// The time after which a point that moves evenly comes into a sphere or box: 0 when it is in,
/// INFINITY for never.
double firn_seed_region_entry(const firn_seed_region *region, const double point[3],
                              const double velocity[3]);

/// For a level set: whether a point that moves evenly from point, step by step, is inside at the
/// given step and was not at any step before.
bool firn_seed_region_enters(const firn_seed_region *region, const double point[3],
                             const double move[3], int64_t step);

/// Of the sphere or box, m^3.
double firn_seed_region_volume(const firn_seed_region *region);

#endif
