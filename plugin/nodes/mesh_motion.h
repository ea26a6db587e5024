/// How a mesh moves from one frame to the next, and whether velocities that a file has stored fit
/// that.
#ifndef FIRN_MESH_MOTION_H
#define FIRN_MESH_MOTION_H

#include "mesh_file.h"

/// A step longer than this share of the mesh may be a jump.
#define FIRN_JUMP_SHARE 0.5
/// Stored velocities may miss the differences of positions by this share: curved paths do.
#define FIRN_VELOCITY_AGREEMENT 0.35

/// The way of the points from a mesh to another (root of the mean square, in units of the meshes);
/// NAN when one is NULL or they are of different topology.
double firn_mesh_step(const firn_mesh *a, const firn_mesh *b);

/// The size of the box around the points, of which there must be one.
firn_vec3 firn_mesh_extent(const firn_mesh *mesh);

/// True when a step is much longer than those before and after it (NAN: not known), and long beside
/// the mesh.
bool firn_step_jumps(double step, double earlier, double later, double size);

/// Velocities by the differences to the frames before and after, of which one may be NULL.
firn_result firn_mesh_differences(const firn_mesh *before, const firn_mesh *here,
                                  const firn_mesh *after, double fps, firn_vec3 **velocity,
                                  firn_error *error);

/// By how much stored velocities, times a factor, miss those that were seen, as a share of these.
double firn_velocity_miss(const firn_vec3 *stored, const firn_vec3 *seen, size_t count,
                          double factor);

/// The frame rate with which velocities are distances per frame, the expected one or one of the
/// usual ones; 0: none.
double firn_velocity_frame_rate(const firn_vec3 *stored, const firn_vec3 *seen, size_t count,
                                double expected);

#endif
