/// The surface of a collider from files: a mesh or level set that stands, or one that deforms.
#ifndef FIRN_COLLIDER_SURFACE_H
#define FIRN_COLLIDER_SURFACE_H

#include "mesh_reader.h"
#include "shape_ahead.h"
#include "shape_file.h"

#include "firn/node.h"
#include "firn/vdb_motion.h"
#include "firn/vdb_sequence.h"

typedef struct firn_surface_input {
    char file[FIRN_TEXT_SIZE];
    char object[FIRN_TEXT_SIZE];
    bool deforming;
    firn_axes_def axes;
    firn_clip_def clip;
    firn_subd_def subd;
    firn_layer_def layers;
    int velocity_from; // firn_velocity_from
    float max_speed;   // m/s
    firn_vdb_mesh_def mesh;
    bool look_ahead;
    firn_vdb_shape_def level_set;
    firn_vdb_sequence_def sequence;
} firn_surface_input;

/// What has been read, from one frame to the next.
typedef struct firn_moving_surface {
    firn_surface_input input;
    bool open, is_level_set, deforms;
    firn_mesh_reader *reader;  // of a mesh
    firn_vdb_shape *shape;     // of what keeps its shape
    firn_vdb_shape *moving[2]; // of a deforming mesh, at the frame before and at this one
    int moving_frame;
    firn_shape_ahead *ahead; // the level set of ahead_frame in the making; NULL: none is
    int ahead_frame;
    firn_vdb_sequence *sequence; // of a deforming level set
    firn_clip clip;              // of the same
    size_t gaps_told;            // files of the same that cannot be used, as last logged
    firn_placed_surface placed[2];
    bool said[FIRN_NOTE_COUNT]; // of notes that have been logged
    bool measured;              // the size has been looked at
} firn_moving_surface;

/// Prepares for the frames of a shot; does nothing when that is done.
firn_result firn_moving_surface_open(firn_moving_surface *surface, const firn_cook *cook,
                                     const firn_surface_input *input, bool is_level_set,
                                     firn_error *error);
void firn_moving_surface_release(firn_moving_surface *surface);

/// The level set of something that keeps its shape, in its own space.
firn_result firn_moving_surface_still(firn_moving_surface *surface, const firn_cook *cook,
                                      const firn_level_set **level_set, firn_error *error);

/// The surfaces at the ends of the interval that ends with the cooked frame, in the world. poses
/// are those at both ends, each half a frame before, there and half a frame after.
firn_result firn_moving_surface_interval(firn_moving_surface *surface, const firn_cook *cook,
                                         firn_transform poses[2][3], bool poses_move,
                                         firn_surface_key keys[2], firn_error *error);

#endif
