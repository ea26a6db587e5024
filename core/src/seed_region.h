/// Geometry of the regions that sources fill.
#ifndef FIRN_SEED_REGION_H
#define FIRN_SEED_REGION_H

#include "firn/source.h"

/// A sphere or box of a source, in doubles. Points are double[3] in m.
typedef struct firn_seed_region {
    int kind; // firn_region
    double center[3], half[3];
    double radius;
    double lower[3], upper[3]; // bounds
} firn_seed_region;

/// Points are not a region; all others are.
firn_seed_region firn_seed_region_make(const firn_source_def *def);

/// Signed distance to the surface, negative inside.
double firn_seed_region_distance(const firn_seed_region *region, const double point[3]);

/// A box owns its lower faces and not its upper ones, so that boxes side by side share no point.
bool firn_seed_region_inside(const firn_seed_region *region, const double point[3]);

/// The time after which a point that moves evenly comes in: 0 when it is in, INFINITY for never.
double firn_seed_region_entry(const firn_seed_region *region, const double point[3],
                              const double velocity[3]);

double firn_seed_region_volume(const firn_seed_region *region); // m^3

#endif
