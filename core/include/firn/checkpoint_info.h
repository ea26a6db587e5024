/// What checkpoints say about themselves, without a simulation to load them into. They are written
/// and loaded by firn_sim_save and firn_sim_load.
#ifndef FIRN_CHECKPOINT_INFO_H
#define FIRN_CHECKPOINT_INFO_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_checkpoint_info {
    char program[16]; // version of Firn, "0.1.0"
    int format;       // version of the format
    double time;      // s, simulated
    int64_t substep;  // number since the simulation began
    size_t particles, blocks;
    size_t bytes;
    uint64_t checksum;
    float cell_size;                  // m
    int kernel, transfer, integrator; // as in firn_sim_def
    int material_count, source_count; // the default material and bonds of chunks included
} firn_checkpoint_info;
FIRN_API firn_result firn_checkpoint_look(const char *path, firn_checkpoint_info *info,
                                          firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
