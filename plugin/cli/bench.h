/// The scenes that `firn bench` times, its suites that measure files, and what these share. Suites
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
    float gap;    // m, from the ball to the floor
    firn_level_set dome;
    firn_coord *origins; // of the dome
    float *values;       // of the dome
} firn_bench_scene;

/// As large a ball as the number of particles asks for, falling at 5 m/s. The scene must be freed
/// in any case.
firn_result firn_bench_scene_make(const firn_sim_def *def, double particles,
                                  firn_bench_scene *scene, firn_error *error);
/// The same for one of several ranks.
firn_result firn_bench_scene_share(const firn_sim_def *def, double particles,
                                   const firn_exchange *exchange, firn_bench_scene *scene,
                                   firn_error *error);
void firn_bench_scene_free(firn_bench_scene *scene);

/// Brings the ball into the middle of its impact.
firn_result firn_bench_scene_hit(firn_bench_scene *scene, firn_error *error);

/// Gigabytes read and written in a second by copying what no cache holds; best of several.
double firn_bench_copy(int threads);

/// 1e9 floating-point operations per second of so many threads at once.
double firn_bench_peak(const firn_sim *sim, int threads);

/// What the solver is timed with.
typedef struct firn_bench_request {
    firn_sim_def def;
    double particles;
    int rounds;
    int steps; // in each round
    bool json;
    bool twin; // time the scalar kernels as well
} firn_bench_request;

/// Substeps of a round that are timed one by one.
enum { FIRN_BENCH_SUBSTEPS = 100 };

/// What a substep costs, in ns per particle unless it says otherwise.
typedef struct firn_bench_cost {
    double ns;          // in the best round
    double undisturbed; // each substep in the round where it was fastest; 0: too many of them
    double substep[FIRN_BENCH_SUBSTEPS]; // s, the fastest of all rounds
    double stages[FIRN_STAGE_COUNT];
    double iterations; // per substep
    double product;    // one product with the Hessian; 0: none was needed
} firn_bench_cost;

/// Runs a round of substeps and keeps what of its cost is lower than before; best is zero at first.
firn_result firn_bench_round(firn_sim *sim, int steps, firn_bench_cost *best, firn_error *error);

/// Runs until a simulated time (s), but at most so many substeps.
firn_result firn_bench_until(firn_sim *sim, double time, int most, firn_error *error);

/// Takes over the state of another simulation of the same scene.
firn_result firn_bench_take_over(firn_sim *sim, const firn_sim *from, firn_error *error);

/// `"kernel": "quadratic", "transfer": ...`, or the names alone.
void firn_bench_print_choices(const firn_sim_def *def, bool json);

/// A table of what was compared: a line for each side, its stages beside each other.
void firn_bench_print_sides(const char *const *names, const firn_bench_cost *costs, int count);

/// The rows of the bench that compare: threads, sleep, spray, bodies. They return an exit code.
int firn_bench_scaling(const firn_bench_request *request);
int firn_bench_sleep(const firn_bench_request *request);
int firn_bench_spray(const firn_bench_request *request);
int firn_bench_bodies(const firn_bench_request *request);
/// Under a launcher: what the ranks tell each other, and what that lets expect of more of them.
int firn_bench_mpi(const firn_bench_request *request);

/// The folder is where test files go; they are removed again.
void firn_bench_alembic(const char *folder);
void firn_bench_collider(const char *folder);
void firn_bench_formats(const char *folder);
void firn_bench_fine(const char *folder);
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
