/// A bake in progress, and its checkpoints.
#ifndef FIRN_BAKE_H
#define FIRN_BAKE_H

#include "graph_state.h"
#include "lock.h"
#include "manifest.h"

/// A node that writes.
typedef struct firn_bake_target {
    firn_node *node;
    bool spans;  // it makes one file of many frames
    bool kept;   // which stays as it is
    int written; // frames that an earlier run left in it
} firn_bake_target;

typedef struct firn_bake {
    firn_graph *graph;
    int first, last, step;
    bool resume, overwrite;
    bool turned;         // the manifest on disk is about this graph
    bool continues;      // it was when the bake began
    uint64_t hash;       // of the graph
    uint64_t simulation; // of the marchers
    char isa[32];        // instruction set that they use here; "": none
    bool allow_mixed;
    bool replays;      // what the marchers made is read from files of the cache
    bool from_cache;   // and nothing else: many such processes share the cache
    uint64_t verified; // checksum of a file of many frames that was found whole
    firn_lock *held;   // of the nodes that write the frame in progress, one for each target
    char folder[FIRN_PATH_SIZE];
    firn_lock lock;
    firn_manifest *manifest;

    firn_bake_target *targets;
    size_t target_count;
    firn_node **wanted;   // nodes to cook at a frame; has room for all
    firn_node **marchers; // sequential nodes that the targets need
    size_t marcher_count;

    firn_cache_file *files; // of the frame in progress, or of all frames
    size_t file_count, file_capacity;
    firn_stat *stats;
    size_t stat_count, stat_capacity;

    int frame;              // in progress
    int restored;           // frame of the checkpoint that is being loaded
    double checkpoint_time; // s, when the last one was written
} firn_bake;

// bake_plan.c
/// Finds the nodes that write, all or those that are named, and what they need.
firn_result firn_bake_find_nodes(firn_bake *bake, const char *only, firn_error *error);
/// Reads what is there and refuses what would be lost; nothing is changed yet where there is a
/// cache.
firn_result firn_bake_open(firn_bake *bake, firn_error *error);
/// From here on the manifest on disk is about this graph; files of others stay until they are
/// replaced.
firn_result firn_bake_turn(firn_bake *bake, firn_error *error);
/// Refuses to go on with a simulation of another version or instruction set, unless that is wanted.
firn_result firn_bake_check_machine(firn_bake *bake, firn_error *error);
/// True when a file is what this node writes now.
bool firn_bake_fits(const firn_bake *bake, const firn_cache_file *file, const firn_node *node);

void firn_bake_warn(const firn_bake *bake, const char *message);

// bake_record.c
/// A file was written: it belongs to the frame in progress.
firn_result firn_bake_wrote(void *bake, const char *node, const char *path, firn_error *error);
/// Files and numbers of the frame in progress become its record in the manifest; files that they
/// take the place of are removed.
firn_result firn_bake_record_frame(firn_bake *bake, int frame, firn_error *error);
/// The same as records beside the manifest, one for each node in bake->wanted.
firn_result firn_bake_record_chunk(firn_bake *bake, size_t wanted, int frame, firn_error *error);
/// Reads the manifest; whoever has the lock of the cache merges the records of others for good.
firn_result firn_bake_read_manifest(firn_bake *bake, bool merge, firn_error *error);
void firn_bake_forget_files(firn_bake *bake);
void firn_bake_forget_stats(firn_bake *bake);

// bake_replay.c
/// Whether every frame with something to do can be made from particles of the cache.
bool firn_bake_can_replay(firn_bake *bake);
/// Whether a node comes behind the marchers and makes files of single frames.
bool firn_bake_is_later(const firn_bake *bake, const firn_bake_target *target);
/// Whether the cache has what the marchers made of a frame.
bool firn_bake_has_simulated(firn_bake *bake, int frame);
/// For a pass: the file of a marcher at the frame in progress.
firn_result firn_bake_replay_path(void *bake, const firn_node *node, char *path, size_t size);
/// The nodes that have something to do at a frame; they are in bake->wanted.
size_t firn_bake_find_wanted(firn_bake *bake, int frame);

// bake_chunk.c
/// All frames of the range from what the cache has, beside others who do the same.
firn_result firn_bake_chunk(firn_bake *bake, const firn_bake_def *def, firn_error *error);

// bake.c
/// Removes what writers that died left half done.
void firn_bake_sweep(const firn_bake *bake);
/// Forgets files of a frame that are missing or changed.
void firn_bake_drop_damaged(firn_bake *bake, int frame);

// bake_archives.c
/// Decides which files of many frames stay. Opens the others, unless a turn comes first.
firn_result firn_bake_begin_archives(firn_bake *bake, firn_error *error);
firn_result firn_bake_open_archives(firn_bake *bake, firn_error *error);
firn_result firn_bake_finish_archives(firn_bake *bake, firn_error *error);

// differences.c
/// Says how the graph that a cache was cooked from differs: "solver.cell_size = 0.05, not 0.04".
void firn_graph_differences(firn_graph *graph, const char *folder, char *text, size_t size);

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
