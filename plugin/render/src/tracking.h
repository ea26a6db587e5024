/// How far light flies through snow: delta tracking for paths, ratio tracking for shadows. Both are
/// unbiased for any field below its bounds. Everything is in voxel space.
#ifndef FIRN_RENDER_TRACKING_H
#define FIRN_RENDER_TRACKING_H

#include "density_grid.h"
#include "random.h"

/// What a thread remembers between lookups: light in dense snow stays in a cell for a while.
typedef struct firn_tracker {
    const firn_density_grid *grid;
    float strength; // factor of the extinction
    float time;     // -0.5 to 0.5 of the shutter
    int32_t cell[3];
    float corner[8];
    int32_t moving_cell[3];
    firn_vec3 moving_corner[8];
} firn_tracker;

firn_tracker firn_tracker_start(const firn_density_grid *grid);

/// Extinction at a point, 1/voxel.
float firn_tracker_extinction(firn_tracker *tracker, firn_vec3 point);

/// Distance to the next collision, or INFINITY when there is none before `end`. tau is the optical
/// depth of the first one that the bounds allow, -log of a random number.
float firn_tracker_fly(firn_tracker *tracker, firn_random *random, float tau, firn_vec3 from,
                       firn_vec3 direction, float end);

/// An estimate of the share of light that goes straight through.
float firn_tracker_transmit(firn_tracker *tracker, firn_random *random, firn_vec3 from,
                            firn_vec3 direction, float end);

#endif
