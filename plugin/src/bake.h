/// A bake in progress, and its checkpoints.
#ifndef FIRN_BAKE_H
#define FIRN_BAKE_H

#include "graph_state.h"
#include "lock.h"
#include "manifest.h"

typedef struct firn_bake {
    firn_graph *graph;
    int first, last, step;
    bool resume;
    uint64_t hash;
    char folder[FIRN_PATH_SIZE];
    firn_lock lock;
    firn_manifest *manifest;

    firn_node **targets; // nodes that write
    size_t target_count;
    firn_node **marchers; // sequential nodes that they need
    size_t marcher_count;
    int archive_frames; // that all files of many frames have; INT_MAX: there are no such files

    firn_cache_file *files; // of the frame in progress, or of all frames
    size_t file_count, file_capacity;
    firn_stat *stats;
    size_t stat_count, stat_capacity;

    int restored;           // frame of the checkpoint that is being loaded
    double checkpoint_time; // s, when the last one was written
} firn_bake;

// checkpoints.c
firn_result firn_bake_checkpoint_if_due(firn_bake *bake, int frame, firn_error *error);
firn_result firn_bake_checkpoint(firn_bake *bake, firn_error *error);
void firn_bake_clear_checkpoints(const firn_bake *bake);
/// Removes all but the last few, and what a process that died left half written.
void firn_bake_forget_checkpoints(const firn_bake *bake);
/// Continues from the last checkpoint that is not after `limit` and can be loaded. *frame is where
/// it is; before the first frame when there is none.
firn_result firn_bake_restore(firn_bake *bake, int limit, int *frame, firn_error *error);

#endif
