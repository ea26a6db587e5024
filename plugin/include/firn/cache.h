/// Caches on disk: frames of a graph, written whole, known when stale, continued after a stop.
///
/// A cache is the folder <base>/<name>/v<version>[/w<wedge>]. It holds the files of the nodes that
/// write, manifest.json, the resolved graph, and checkpoints:
///
///     firn_bake_def def = firn_bake_def_default();
///     def.resume = true;
///     FIRN_TRY(firn_graph_bake(graph, &def, error)); // all frames of the graph
#ifndef FIRN_CACHE_H
#define FIRN_CACHE_H

#include "firn/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_bake_def {
    uint32_t cookie;
    bool whole;       // all frames of the graph; else the range below
    int first, last;  // frames to write
    int step;         // writes every step-th frame only; all are simulated
    bool resume;      // keep what is there, whole and cooked from the same settings
    bool overwrite;   // replace what is there, frame by frame; false: refuse to
    bool break_lock;  // take the lock of a process of another host that is gone
    bool allow_mixed; // go on with a cache of another version or instruction set: other bits
    const char *only; // names of the nodes that write, with commas or spaces; NULL: all of them
    bool from_cache;  // never simulate: later stages from the particles of the cache, see below
} firn_bake_def;

FIRN_API void firn_bake_def_reset(firn_bake_def *def, size_t size);

static inline firn_bake_def firn_bake_def_default(void)
{
    firn_bake_def def;
    firn_bake_def_reset(&def, sizeof def);
    return def;
}

/// Cooks every node that writes files, frame after frame. FIRN_ERR_LOCKED when another process
/// writes the same cache.
///
/// Nothing is lost by accident: a bake that would replace files is FIRN_ERR_EXISTS and says what is
/// there. With resume, files that are there and whole are kept, and the rest comes out as if
/// nothing had happened, bit for bit; a cache of other settings is FIRN_ERR_STALE. With overwrite,
/// a file is replaced when its frame is done and not before, so that a bake that fails or is
/// stopped leaves all that it did not come to. With both, what fits the settings is kept and only
/// the rest replaced.
///
/// With from_cache, nodes behind the simulation (rasterize, write_volume, render, ...) are cooked
/// from the particles that the cache has, bit for bit as in one run. Any number of processes on any
/// number of machines do so in one cache at once, also while the simulation still runs: each frame
/// of each node has a lock and a record of its own, and frames that somebody else has or is at are
/// left to him. Files that are there and fit are kept, unless overwrite is asked for without
/// resume. FIRN_ERR_NOT_FOUND names the frames that were not simulated yet, when all others are
/// done; FIRN_ERR_LOCKED those that others still write.
FIRN_API firn_result firn_graph_bake(firn_graph *graph, const firn_bake_def *def,
                                     firn_error *error);

/// How a bake may be split over machines: the names, with commas, of the nodes that write while the
/// shot is simulated, and of those that can come later, frame by frame, with from_cache. `later` is
/// "" where the whole bake is one piece. Both have room for `size` bytes.
FIRN_API firn_result firn_graph_stages(firn_graph *graph, char *simulated, char *later, size_t size,
                                       firn_error *error);

/// The folder of the graph's cache.
FIRN_API firn_result firn_graph_cache_folder(const firn_graph *graph, char *path, size_t size,
                                             firn_error *error);

typedef enum firn_cache_state {
    FIRN_CACHE_NONE,     // nothing there
    FIRN_CACHE_STALE,    // cooked from other settings, links or files
    FIRN_CACHE_PARTIAL,  // some of the graph's frames are there
    FIRN_CACHE_COMPLETE, // all of them are
} firn_cache_state;

/// "none", "stale", ...
FIRN_API const char *firn_cache_state_name(firn_cache_state state);

/// Compares the cache with the graph as it is now, without reading the frames.
FIRN_API firn_result firn_graph_cache_state(firn_graph *graph, firn_cache_state *state,
                                            firn_error *error);

/// Who writes the cache in a folder now, "process 4711 on host since ..., last heard of 3 s ago";
/// "" when nobody does. A process shows a sign of life every few seconds.
FIRN_API void firn_cache_writer(const char *folder, char *owner, size_t size);

/// Frames of later stages that processes write at this moment, see from_cache.
FIRN_API size_t firn_cache_frames_in_work(const char *folder);

// --- The manifest --------------------------------------------------------------------------------

typedef struct firn_cache_file {
    const char *name;  // in the folder of the cache
    const char *node;  // that wrote it
    uint64_t size;     // bytes
    uint64_t checksum; // firn_hash64 over pieces of 1 MiB, each seeded with the one before
    uint64_t hash;     // of that node and all before it; 0: an earlier Firn did not tell
    int first, last;   // frames of a file of many
    int step;          // from one of them to the next; 0: a file of one frame
} firn_cache_file;

typedef struct firn_cache_frame {
    int frame;
    size_t file_count;
    const firn_cache_file *files;
    size_t stat_count;
    const firn_stat *stats; // particles, substeps, seconds, energies, ...
    uint64_t hash;          // of the graph; another than the manifest's: not yet replaced
} firn_cache_frame;

typedef struct firn_manifest firn_manifest;

typedef struct firn_manifest_view {
    const char *name;
    const char *program; // "firn 0.1.0"
    uint64_t hash;       // of the graph
    float fps;
    size_t frame_count;
    const firn_cache_frame *frames; // in order
    size_t file_count;              // of files for all frames, such as an Alembic archive
    const firn_cache_file *files;
    uint64_t simulation; // hash of what the checkpoints belong to; 0: an earlier Firn, or none
    const char *isa;     // "avx2": of the processors that simulated; "": unknown, or none did
} firn_manifest_view;

/// Reads <folder>/manifest.json. FIRN_ERR_NOT_FOUND when there is none.
FIRN_API firn_result firn_manifest_read(const char *folder, firn_manifest **manifest,
                                        firn_error *error);
FIRN_API firn_manifest_view firn_manifest_look(const firn_manifest *manifest);
FIRN_API void firn_manifest_destroy(firn_manifest *manifest); // accepts NULL

/// Compares a file with its size and checksum.
FIRN_API firn_result firn_cache_file_check(const char *folder, const firn_cache_file *file,
                                           firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
