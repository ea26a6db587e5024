/// What a shot will take, before it is cooked.
#ifndef FIRN_ESTIMATE_H
#define FIRN_ESTIMATE_H

#include "firn/shot.h"

/// Measures a solver: counts the particles of its sources, times a small snowball with its settings
/// and rehearses the shot.
firn_result firn_solver_measure(firn_graph *graph, const char *node, int frames,
                                firn_solver_cost *cost, firn_error *error);

/// Cooks the shot in large cells, for seconds at most, and works out what its substeps will cost in
/// those that it has: sets the seconds and how many frames were looked at.
firn_result firn_solver_rehearse(firn_graph *graph, int frames, firn_solver_cost *cost,
                                 firn_error *error);

/// Bytes that a writing node puts on disk for each frame, 0 when it is not known.
double firn_writer_bytes(firn_graph *graph, const char *node, const firn_solver_cost *solvers,
                         size_t count);

/// Bytes of memory that a node behind the solver takes: a volume with the copy that goes into a
/// file, fine particles, a picture and what is in it. 0 for others.
double firn_stage_bytes(firn_graph *graph, const char *node, const firn_solver_cost *solvers,
                        size_t count);

#endif
