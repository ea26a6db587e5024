/// What a shot will take, before it is cooked.
#ifndef FIRN_CLI_ESTIMATE_H
#define FIRN_CLI_ESTIMATE_H

#include "firn/graph.h"

enum { FIRN_SOLVER_MAX = 16 };

/// One solver of a graph.
typedef struct firn_solver_cost {
    const char *node;
    double cell_size; // m
    double volume;    // m^3 of snow
    double extent;    // m, of the largest source; 0: none
    double speed;     // m/s, of the fastest source
    double gravity;   // m/s^2
    double particles; // at the end of the shot
    double bytes;     // of memory
    double dt;        // s, of a substep in an impact
    double ns;        // per particle and substep on this machine
    double seconds;   // to simulate the frames
} firn_solver_cost;

/// Measures a solver: counts the particles of its sources and times a small snowball with its
/// settings.
firn_result firn_solver_measure(firn_graph *graph, const char *node, int frames,
                                firn_solver_cost *cost, firn_error *error);

/// Bytes that a writing node puts on disk for each frame, 0 when it is not known.
double firn_writer_bytes(firn_graph *graph, const char *node, const firn_solver_cost *solvers,
                         size_t count);

#endif
