/// The manifest of a cache while it is written.
#ifndef FIRN_MANIFEST_H
#define FIRN_MANIFEST_H

#include "firn/cache.h"

enum { FIRN_ISA_SIZE = 128 };

struct firn_manifest {
    char *name, *program;
    char isa[FIRN_ISA_SIZE]; // instruction sets that it was simulated with; "": unknown, or none
    uint64_t hash;           // of the graph
    uint64_t simulation;     // of the nodes that have checkpoints; 0: unknown
    float fps;
    firn_cache_frame *frames;
    size_t frame_count, frame_capacity;
    firn_cache_file *files;
    size_t file_count, file_capacity;
};

firn_result firn_manifest_make(const char *name, const char *program, firn_manifest **manifest,
                               firn_error *error);
firn_result firn_manifest_no_memory(firn_error *error);

firn_result firn_manifest_create(const firn_graph *graph, uint64_t hash, firn_manifest **manifest,
                                 firn_error *error);

/// Copies; replaces what there is about the frame. Files keep node and name only by value.
firn_result firn_manifest_put_frame(firn_manifest *manifest, const firn_cache_frame *frame,
                                    firn_error *error);
firn_result firn_manifest_put_file(firn_manifest *manifest, const firn_cache_file *file,
                                   firn_error *error);
void firn_manifest_drop_file(firn_manifest *manifest, const char *name); // also of a frame
void firn_manifest_drop_frame(firn_manifest *manifest, int frame);
/// The manifest is about another graph from now on; what there is remembers the one before.
void firn_manifest_turn(firn_manifest *manifest, uint64_t hash);
/// The numbers of a frame with fresh ones, which count where both have a name; `to` has room for
/// all. How many they are.
size_t firn_stats_merge(const firn_cache_frame *old, const firn_stat *fresh, size_t count,
                        firn_stat *to);
const firn_cache_frame *firn_manifest_find(const firn_manifest *manifest, int frame);
firn_result firn_manifest_write(const firn_manifest *manifest, const char *folder,
                                firn_error *error);

/// Size and checksum of a file as it is on disk.
firn_result firn_cache_stamp(const char *path, uint64_t *size, uint64_t *checksum,
                             firn_error *error);

#endif
