/// What is known about a shot before it is cooked: what is wrong with it, and what it will take.
///
///     firn_estimate estimate;
///     FIRN_TRY(firn_graph_estimate(graph, NULL, &estimate, error)); // all frames
///     printf("%.0f particles, %.0f MB\n", estimate.particles, 1e-6 * estimate.memory_bytes);
#ifndef FIRN_SHOT_H
#define FIRN_SHOT_H

#include "firn/cache.h"
#include "firn/data.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FIRN_SOLVER_MAX = 16, FIRN_WARNING_MAX = 32, FIRN_WARNING_SIZE = 256 };

/// What one solver of a graph will take.
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

typedef struct firn_estimate {
    double particles;                          // at the end
    double memory_bytes;                       // of the process at its peak
    double base_bytes;                         // of them, before any snow
    double disk_bytes;                         // of the frames that are written
    double usd_bytes;                          // that `firn usd` would add
    double seconds, seconds_low, seconds_high; // to simulate, and where the truth most likely is
    double machine_bytes, disk_free;           // what there is; 0: not known
    int frames, written;                       // that are simulated, that go to disk
    size_t solver_count;
    firn_solver_cost solvers[FIRN_SOLVER_MAX];
    size_t warning_count;
    char warnings[FIRN_WARNING_MAX][FIRN_WARNING_SIZE];
} firn_estimate;

/// Counts particles, times a small snowball with the settings of each solver, and cooks the shot in
/// large cells for a few seconds. def says which frames are written; NULL: all.
FIRN_API firn_result firn_graph_estimate(firn_graph *graph, const firn_bake_def *def,
                                         firn_estimate *estimate, firn_error *error);

/// Memory of processes that cook the shot together (firn/ranks.h), bytes.
typedef struct firn_rank_memory {
    double first, others;
} firn_rank_memory;
FIRN_API firn_rank_memory firn_estimate_ranks(const firn_estimate *estimate, int ranks);

/// Reads what colliders, sources and caches bring in, at the first and the last frame, or at every
/// one, after firn_graph_validate found nothing wrong. What there is to say goes to the log of the
/// host; each failure is told, and the first one returned. *count (may be NULL) inputs were read.
typedef void firn_input_tell(const char *node, firn_result result, const char *message, void *user);
FIRN_API firn_result firn_graph_check_inputs(firn_graph *graph, bool all_frames,
                                             firn_input_tell *tell, void *user, size_t *count,
                                             firn_error *error);

/// Where a body was after a frame of a cache; false, and nothing set: the cache does not say. body
/// is the name of its node, with that of its piece behind a dot.
FIRN_API bool firn_body_pose_noted(const firn_manifest_view *manifest, int frame, const char *body,
                                   firn_transform *pose);
/// What a node of colliders made, as it stood after a frame of a cache, which may be NULL: bodies
/// where the cache has them, all others where they are led. And the next piece of the same node.
FIRN_API firn_collider_def firn_solid_noted(const firn_manifest_view *manifest, int frame,
                                            const char *node, const firn_collider_data *data);
FIRN_API const firn_collider_data *firn_solid_next(const firn_collider_data *data);

#ifdef __cplusplus
}
#endif

#endif
