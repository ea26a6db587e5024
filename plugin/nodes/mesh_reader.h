/// A mesh that moves, frame by frame, with the velocity of its points: stored, or seen.
///
/// Velocities come from the file; where it has none, from the differences between the meshes of
/// the frames around, when these have one topology; else the shape has none, and two consecutive
/// shapes tell (firn_vdb_shape_follow). Stored velocities are compared with the differences: those
/// that fit as distances per frame are taken as such, and a note says so. A step to another place
/// in one frame between frames that move little is a jump and gives no velocity.
#ifndef FIRN_MESH_READER_H
#define FIRN_MESH_READER_H

#include "clip.h"
#include "mesh_file.h"
#include "placement.h"

#include "firn/vdb_surface.h"

typedef struct firn_mesh_reader firn_mesh_reader;

typedef enum firn_velocity_from {
    FIRN_VELOCITY_AUTO,
    FIRN_VELOCITY_FILE,
    FIRN_VELOCITY_MOTION,
    FIRN_VELOCITY_REST,
} firn_velocity_from;

typedef struct firn_mesh_reader_def {
    const char *file;             // copied
    const char *object;           // copied
    const firn_layer_def *layers; // copied; NULL: none
    firn_axes_def axes;
    firn_clip_def clip;
    int subd_level;    // as firn_subd_def
    float voxel_size;  // m, of the level sets to make
    int missing;       // firn_vdb_missing
    int velocity_from; // firn_velocity_from
    float max_speed;   // m/s
    int start_frame, last_frame;
    double fps;
} firn_mesh_reader_def;

firn_result firn_mesh_reader_create(const firn_mesh_reader_def *def, firn_mesh_reader **reader,
                                    firn_error *error);
void firn_mesh_reader_destroy(firn_mesh_reader *reader);

/// True when the file holds more than one moment.
bool firn_mesh_reader_moves(const firn_mesh_reader *reader);

/// A warning about times that do not meet those of the shot, or "".
const char *firn_mesh_reader_time_note(const firn_mesh_reader *reader);

/// What the archive holds beside what is read, or "".
void firn_mesh_reader_leftover(const firn_mesh_reader *reader, char *text, size_t size);

/// The mesh of a frame as a level set, with velocities when they are known.
firn_result firn_mesh_reader_shape(firn_mesh_reader *reader, int frame,
                                   const firn_vdb_mesh_def *def, firn_vdb_shape **shape,
                                   firn_error *error);

/// The mesh of a frame, the reader's until it reads another.
firn_result firn_mesh_reader_mesh(firn_mesh_reader *reader, int frame, const firn_mesh **mesh,
                                  firn_error *error);

/// The highest-numbered kind of thing that the last shape gave reason to say, and its sentence.
typedef enum firn_mesh_note {
    FIRN_NOTE_NONE,
    FIRN_NOTE_FACES,
    FIRN_NOTE_DISAGREES,
    FIRN_NOTE_PER_FRAME,
    FIRN_NOTE_JUMP,
    FIRN_NOTE_COUNT
} firn_mesh_note;

firn_mesh_note firn_mesh_reader_note(const firn_mesh_reader *reader, const char **sentence);

#endif
