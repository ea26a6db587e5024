/// How far light flies through snow: delta tracking for paths, ratio tracking for shadows. Both are
/// unbiased for any field below its bounds. Everything is in voxel space.
///
/// Light goes some tenths of a voxel in dense snow, so dense blocks are crossed cell by cell, each
/// with the bound of its own corners; thin and moving ones with the bound of the block.
#ifndef FIRN_RENDER_TRACKING_H
#define FIRN_RENDER_TRACKING_H

#include "density_grid.h"
#include "random.h"

enum { FIRN_ROOM_EDGE = 9, FIRN_ROOM_VALUES = 729, FIRN_ROOMS = 4096 };

/// A block unpacked: its voxels and one layer beyond, so that every cell has its corners.
typedef struct firn_room {
    float values[FIRN_ROOM_VALUES]; // extinction, 1/voxel
} firn_room;

/// What a thread remembers between lookups: light in dense snow stays where it is for a while.
typedef struct firn_tracker {
    _Alignas(64) const firn_density_grid *grid; // threads do not share lines of memory
    float strength;                             // factor of the extinction
    float time;                                 // -0.5 to 0.5 of the shutter
    int32_t moving_cell[3];
    firn_vec3 moving_corner[8];
    firn_coord *block; // of each room
    firn_room *rooms;
} firn_tracker;

/// Up to 12 MB, of which only what is used is touched.
firn_result firn_tracker_open(firn_tracker *tracker, const firn_density_grid *grid,
                              firn_error *error);
void firn_tracker_close(firn_tracker *tracker); // accepts one that is all zero

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
