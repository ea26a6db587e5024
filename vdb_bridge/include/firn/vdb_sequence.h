/// A numbered sequence of .vdb files as a moving surface, read ahead while the solver works.
///
///     firn_vdb_sequence_def def = firn_vdb_sequence_def_default();
///     def.pattern = "walk.$F4.vdb";
///     def.first = 1;
///     def.last = 48;
///     firn_vdb_sequence *walk = NULL;
///     FIRN_TRY(firn_vdb_sequence_open(&def, &walk, error));
///     firn_vdb_key keys[2];
///     FIRN_TRY(firn_vdb_sequence_interval(walk, frame, frame + 1, keys, error));
#ifndef FIRN_VDB_SEQUENCE_H
#define FIRN_VDB_SEQUENCE_H

#include "firn/vdb.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_vdb_sequence firn_vdb_sequence;

/// What to do about a file that is missing, cut short or, which shows when it is read, damaged
/// inside.
typedef enum firn_vdb_missing {
    FIRN_VDB_MISSING_ERROR,       // opening the sequence, or reaching the file, fails and names it
    FIRN_VDB_MISSING_HOLD,        // the surface before stands still
    FIRN_VDB_MISSING_INTERPOLATE, // the surface moves from the file before to the file after
} firn_vdb_missing;

typedef struct firn_vdb_sequence_def {
    uint32_t cookie;
    const char *pattern; // "walk.$F4.vdb", "walk.####.vdb", "walk.%04d.vdb"; copied
    int first, last;     // frames that have files, both included
    int offset;          // the file of frame f has the number f + offset
    int missing;         // firn_vdb_missing
    int look_ahead;      // files read before they are asked for
    firn_vdb_reader_def reader;
    firn_vdb_shape_def shape;

    /// The stamp of the file of a frame, when it is one of ours; NULL: none is. Called from the
    /// thread that reads ahead.
    bool (*stamp)(int frame, firn_vdb_stamp *stamp, void *user);
    void *user;
} firn_vdb_sequence_def;

FIRN_API void firn_vdb_sequence_def_reset(firn_vdb_sequence_def *def, size_t size);
FIRN_API firn_param_table firn_vdb_sequence_params(void);

static inline firn_vdb_sequence_def firn_vdb_sequence_def_default(void)
{
    firn_vdb_sequence_def def;
    firn_vdb_sequence_def_reset(&def, sizeof def);
    return def;
}

/// A frame whose file is missing, cut short or damaged inside.
typedef struct firn_vdb_gap {
    int frame;
    firn_result reason; // FIRN_ERR_NOT_FOUND, FIRN_ERR_FORMAT, ...
    const char *message;
} firn_vdb_gap;

/// Checks every file of the range in one pass and keeps the gaps; reads no voxels.
FIRN_API firn_result firn_vdb_sequence_open(const firn_vdb_sequence_def *def,
                                            firn_vdb_sequence **sequence, firn_error *error);
FIRN_API void firn_vdb_sequence_close(firn_vdb_sequence *sequence);

/// All gaps, in order of frames, with the files found damaged inside so far; valid until the next
/// interval. With FIRN_VDB_MISSING_ERROR
/// an open sequence has none: open with another policy to list them.
FIRN_API const firn_vdb_gap *firn_vdb_sequence_gaps(const firn_vdb_sequence *sequence,
                                                    size_t *count);

/// The surface at a frame: a firn_surface_key without its time in seconds.
typedef struct firn_vdb_key {
    double frame;
    const firn_level_set *level_set;
    const firn_velocity_grid *velocity; // NULL: at rest, or not in the file
    firn_vdb_shape *shape;              // what both belong to; NULL: at rest
} firn_vdb_key;

/// The keys around the interval from one frame to another, for a collider that interpolates; `to`
/// may lie before `from`: then it goes backward. Before the first and after the last file the
/// surface rests. The views stay valid until the next call.
FIRN_API firn_result firn_vdb_sequence_interval(firn_vdb_sequence *sequence, int from, int to,
                                                firn_vdb_key keys[2], firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
