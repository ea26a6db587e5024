/// Cooking a scene from the command line: progress, signals and the exit code.
#ifndef FIRN_CLI_BAKE_H
#define FIRN_CLI_BAKE_H

#include "command.h"
#include "meter.h"

#include "firn/cache.h"

/// Lets SIGINT and SIGTERM stop a bake after its substep with a checkpoint, a second one at once.
/// So does the end of who reads the output of the program (SIGPIPE), as when a host has crashed.
/// SIGUSR1 asks for a checkpoint.
void firn_signals_catch(void);

/// The signal that asked to stop, or 0.
int firn_signals_stop(void);

/// How a cook is run from the command line.
typedef struct firn_bake_run_def {
    firn_voice voice;
    int part, parts; // this cook among several of a wedge; parts 0: it is the only one
} firn_bake_run_def;

/// Validates the graph and cooks its frames; prints what goes wrong and returns an exit code.
int firn_bake_run(firn_graph *graph, const firn_bake_def *def, const firn_bake_run_def *run);

#endif
