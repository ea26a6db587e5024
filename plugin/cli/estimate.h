/// What a shot will take, before it is cooked.
#ifndef FIRN_CLI_ESTIMATE_H
#define FIRN_CLI_ESTIMATE_H

#include "firn/graph.h"

enum { FIRN_SOLVER_MAX = 16 };

/// One solver of a graph.
typedef struct firn_solver_cost {
    const char *node;
    double cell_size;             // m
    double volume;                // m^3 of snow
    double extent;                // m, of the largest source; 0: none
    double speed;                 // m/s, of the fastest source
    double gravity;               // m/s^2
    double particles;             // at the end of the shot
    double bytes;                 // of memory
    double dt;                    // s, of a substep in an impact
    double dt_flight;             // s, of one before it
    double ns;                    // per particle and substep of an impact on this machine
    double ns_step, ns_iteration; // the same, without the solve and for an iteration
    double seconds, seconds_low, seconds_high; // to simulate the frames
    int rehearsed;                             // frames that were looked at
} firn_solver_cost;

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

#endif
