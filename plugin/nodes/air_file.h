/// Velocities of the air from .vdb files.
#ifndef FIRN_AIR_FILE_H
#define FIRN_AIR_FILE_H

#include "clip.h"
#include "placement.h"

#include "firn/node.h"
#include "firn/vdb_sequence.h"

typedef struct firn_air_input {
    char file[FIRN_TEXT_SIZE];
    char object[FIRN_TEXT_SIZE];
    firn_axes_def axes;
    firn_clip_def clip;
    float max_speed; // m/s
    int missing;     // firn_vdb_missing, but no interpolation
} firn_air_input;

typedef struct firn_air_file {
    firn_vdb_shape *shape;
    char path[FIRN_PATH_SIZE]; // that it was read from
    firn_velocity_grid grid;   // placed in the world
    firn_vec3 *values;         // of the grid
    bool moves;                // it is numbered
} firn_air_file;

/// Reads what the frame of the cook shows, unless it is there already.
firn_result firn_air_file_read(firn_air_file *air, const firn_cook *cook,
                               const firn_air_input *input, firn_error *error);
void firn_air_file_close(firn_air_file *air);

#endif
