/// Where an input stands: the units and the up axis of its file, and a pose in the world.
#ifndef FIRN_PLACEMENT_H
#define FIRN_PLACEMENT_H

#include "firn/level_set.h"
#include "firn/params.h"

/// How a file counts and which way is up in it.
typedef struct firn_axes_def {
    int unit; // of lengths in the file
    int up;   // axis of the file that points up
} firn_axes_def;

firn_param_table firn_axes_params(void);

/// From the space of the file to ours: meters, Y up.
firn_transform firn_axes_transform(const firn_axes_def *axes);

/// The same for many points or, in meters per second, velocities: no rounding but by the unit.
void firn_axes_convert(const firn_axes_def *axes, firn_vec3 *vectors, size_t count);

bool firn_axes_are_ours(const firn_axes_def *axes);

/// With what the metadata of an archive says, where that is wanted: units, metersPerUnit, upAxis.
firn_axes_def firn_axes_recorded(const firn_axes_def *axes, const char *metadata);

/// A pose as artists set it.
typedef struct firn_place_def {
    firn_vec3 translation; // m
    firn_vec3 rotation;    // degrees, about X, then Y, then Z
    float scale;
    firn_vec3 pivot; // m, what rotation and scale leave where it is
} firn_place_def;

firn_param_table firn_place_params(void);
firn_transform firn_place_transform(const firn_place_def *place);

/// First b, then a.
firn_transform firn_transform_after(firn_transform a, firn_transform b);
bool firn_transform_is_identity(firn_transform t);

/// A surface at another place; owns what had to be copied.
typedef struct firn_placed_surface {
    firn_level_set level_set;
    firn_velocity_grid velocity; // leaf_count 0: none
    float *values;
    firn_tile *tiles;
    firn_coord *origins;
    firn_vec3 *vectors;
} firn_placed_surface;

/// Where it goes and how that place moves.
typedef struct firn_placing {
    firn_transform now;
    firn_transform before, after; // half the span earlier and later
    double span;                  // s; 0: the place stands still
    float velocity_factor;        // on the velocities of the file
} firn_placing;

/// Places a surface; velocity may be NULL. What is to be left as it is is not copied, so the
/// arrays must outlive the result. Releases what the result had before.
firn_result firn_surface_place(firn_placed_surface *placed, const firn_level_set *level_set,
                               const firn_velocity_grid *velocity, const firn_placing *placing,
                               firn_error *error);
void firn_surface_release(firn_placed_surface *placed);

/// Places points and, unless NULL, their velocities, three numbers each. Refuses what is not finite
/// or farther away than anything can be simulated; path is for the message.
firn_result firn_points_place(size_t count, float *position, float *velocity,
                              const firn_axes_def *axes, const firn_place_def *place,
                              const char *path, firn_error *error);

/// The box around the leaves of a level set in the world (m); lower is above upper without any.
void firn_surface_bounds(const firn_level_set *level_set, firn_vec3 *lower, firn_vec3 *upper);

/// The size of the box around a level set in the world, leaf by leaf (m).
firn_vec3 firn_surface_extent(const firn_level_set *level_set);

/// A sentence about a size that looks like another unit, or false.
bool firn_size_is_odd(const char *what, firn_vec3 extent, const firn_axes_def *axes, char *text,
                      size_t size);

#endif
