/// The scene that `firn bench` times, its suites that measure files, and what these share. Suites
/// print CSV and end the program with a sentence when a file cannot be written or read.
#ifndef FIRN_BENCH_H
#define FIRN_BENCH_H

#include "firn/base.h"
#include "firn/sim.h"

enum { FIRN_BENCH_ROUNDS = 5 };

/// A ball of snow just above a floor with a dome on it, the dome a level set.
typedef struct firn_bench_scene {
    firn_sim *sim;
    float radius; // m, of the ball
    firn_level_set dome;
    firn_coord *origins; // of the dome
    float *values;       // of the dome
} firn_bench_scene;

/// As large a ball as the number of particles asks for, falling at speed (m/s). The scene must be
/// freed in any case.
firn_result firn_bench_scene_make(const firn_sim_def *def, double particles, float speed,
                                  firn_bench_scene *scene, firn_error *error);
void firn_bench_scene_free(firn_bench_scene *scene);

/// Gigabytes read and written in a second by copying what no cache holds; best of several.
double firn_bench_copy(int threads);

/// The folder is where test files go; they are removed again.
void firn_bench_alembic(const char *folder);
void firn_bench_collider(const char *folder);
void firn_bench_formats(const char *folder);
void firn_bench_rasterize(const char *folder); // writes no files
void firn_bench_render(const char *folder);
void firn_bench_vdb(const char *folder);

/// True when `blender` can be run.
bool firn_bench_has_blender(void);

/// Renders <folder>/firn_bench.vdb with Cycles as the JSON in settings says; false when it failed.
bool firn_bench_cycles(const char *folder, const char *settings, double *seconds, double *noise);

/// Ends the program with the error's sentence unless the result is FIRN_OK.
void firn_bench_check(firn_result result, const firn_error *error);

/// Zeroed memory, or the end of the program.
void *firn_bench_take(size_t bytes);

/// Seconds that a plain write (synced and renamed) and a plain read of the same bytes take, the
/// least of several rounds; path is removed.
typedef struct firn_bench_plain {
    double write, read;
} firn_bench_plain;
firn_bench_plain firn_bench_measure_plain(const char *path, const void *bytes, size_t size);

#endif
