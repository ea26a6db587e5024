/// The level set of a mesh that is needed next, made on a thread of its own in the meantime.
///
///     firn_shape_ahead *ahead = firn_shape_ahead_start(reader, frame, &def);
///     ... something else ...
///     firn_vdb_shape *shape = firn_shape_ahead_finish(ahead);
///     if (shape == NULL)
///         FIRN_TRY(firn_mesh_reader_shape(reader, frame, &def, &shape, error));
///
/// The shape is the one that firn_mesh_reader_shape makes. The reader belongs to the thread until
/// the end. Whatever goes wrong ahead of time is
/// kept quiet: who needs the shape makes it once more, and hears the reason if it still does not
/// work then.
#ifndef FIRN_SHAPE_AHEAD_H
#define FIRN_SHAPE_AHEAD_H

#include "mesh_reader.h"

typedef struct firn_shape_ahead firn_shape_ahead;

/// Begins; def is copied. NULL: there is no memory or no thread for it.
firn_shape_ahead *firn_shape_ahead_start(firn_mesh_reader *reader, int frame,
                                         const firn_vdb_mesh_def *def);

/// Waits for the shape, which is the caller's, or NULL. Releases the rest; accepts NULL.
firn_vdb_shape *firn_shape_ahead_finish(firn_shape_ahead *ahead);

/// Stops as soon as possible and releases everything; accepts NULL.
void firn_shape_ahead_cancel(firn_shape_ahead *ahead);

#endif
