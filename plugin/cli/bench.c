/// `firn bench`: what a substep costs, measured beside the machine's own bandwidth.
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include "command.h"

#include "firn/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMPACT_SPEED 5.0f  // m/s
#define WARM_UP_SHARE 0.2f // of the radius that is in the floor when timing starts
enum { ROUNDS = 5, WARM_UP_LIMIT = 400 };

typedef struct bench_request {
    firn_sim_def def;
    double particles;
    int steps;
    bool json;
} bench_request;

typedef struct bench_result {
    size_t particles;
    int threads;
    const char *isa;
    double ns_per_particle_step;
    double stages[FIRN_STAGE_COUNT]; // ns per particle and step
    double bytes_per_particle;
    double iterations_per_step;
    double dt; // s
    double copy_gb_per_s;
} bench_result;

/// Counts substeps and adds up what they report.
typedef struct bench_meter {
    int left; // substeps until the call is stopped
    int count;
    double until; // s of simulated time, or 0
    double seconds[FIRN_STAGE_COUNT];
    double iterations;
} bench_meter;

static bool meter_substep(const firn_step_stats *stats, void *user)
{
    bench_meter *meter = user;
    meter->count++;
    meter->iterations += stats->iterations;
    for (int s = 0; s < FIRN_STAGE_COUNT; s++)
        meter->seconds[s] += stats->seconds[s];
    return --meter->left > 0 && (meter->until <= 0.0 || stats->time < meter->until);
}

// Runs until the meter stops the call.
static firn_result run(firn_sim *sim, bench_meter *meter, firn_error *error)
{
    firn_sim_set_progress(sim, meter_substep, meter);
    firn_result result = firn_sim_step(sim, 10.0, error);
    return result == FIRN_ERR_CANCELLED ? FIRN_OK : result;
}

// A ball of snow just above the floor, as large as the number of particles asks for.
static firn_result make_scene(const bench_request *request, firn_sim **sim, float *radius,
                              firn_error *error)
{
    float h = request->def.cell_size;
    firn_source_def ball = firn_source_def_default();
    double cells = request->particles / (double)ball.particles_per_cell;
    *radius = h * (float)cbrt(cells * 3.0 / (4.0 * 3.14159265358979));
    ball = firn_source_def_sphere(firn_vec(0.0f, *radius + 2.0f * h, 0.0f), *radius);
    ball.velocity = firn_vec(0.0f, -IMPACT_SPEED, 0.0f);
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    floor.friction = 0.5f;
    FIRN_TRY(firn_sim_create(&request->def, sim, error));
    FIRN_TRY(firn_sim_add_source(*sim, &ball, NULL, error));
    return firn_sim_add_collider(*sim, &floor, NULL, error);
}

// Gigabytes read and written in a second by copying what no cache holds; best of several.
static double measure_copy(int threads)
{
    size_t count = (size_t)1 << 25;
    float *from = firn_alloc_zero(count * sizeof *from), *to = firn_alloc_zero(count * sizeof *to);
    double best = 0.0;
    for (int round = 0; from != NULL && to != NULL && round < ROUNDS; round++) {
        double start = firn_seconds();
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t i = 0; i < count; i++)
            to[i] = from[i];
        double rate = 2e-9 * (double)(count * sizeof *from) / (firn_seconds() - start);
        best = rate > best ? rate : best;
    }
    firn_free(from);
    firn_free(to);
    return best;
}

static firn_result measure(const bench_request *request, firn_sim *sim, float radius,
                           bench_result *result, firn_error *error)
{
    float h = request->def.cell_size;
    bench_meter warm = {.left = WARM_UP_LIMIT,
                        .until = (2.0f * h + WARM_UP_SHARE * radius) / IMPACT_SPEED};
    FIRN_TRY(run(sim, &warm, error));
    result->particles = firn_sim_particles(sim).count;
    result->isa = firn_sim_isa(sim);
    result->ns_per_particle_step = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        bench_meter meter = {.left = request->steps};
        double start = firn_seconds();
        FIRN_TRY(run(sim, &meter, error));
        double scale = 1e9 / ((double)meter.count * (double)result->particles);
        double cost = scale * (firn_seconds() - start);
        if (cost >= result->ns_per_particle_step)
            continue;
        result->ns_per_particle_step = cost;
        for (int s = 0; s < FIRN_STAGE_COUNT; s++)
            result->stages[s] = scale * meter.seconds[s];
        result->iterations_per_step = meter.iterations / meter.count;
    }
    firn_step_stats stats = firn_sim_stats(sim);
    result->dt = stats.dt;
    result->bytes_per_particle = (double)stats.bytes / (double)result->particles;
    return FIRN_OK;
}

static const char *choice_name(const bench_request *request, const char *param, char *text,
                               size_t size)
{
    firn_param_print(firn_params_find(firn_sim_params(), param), &request->def, text, size);
    return text;
}

static void print_json(const bench_request *request, const bench_result *r)
{
    char text[64];
    const char *choices[] = {"kernel", "transfer", "integrator"};
    printf("{\"particles\": %zu, \"threads\": %d, \"isa\": \"%s\"", r->particles, r->threads,
           r->isa);
    for (size_t i = 0; i < FIRN_COUNT(choices); i++)
        printf(", \"%s\": \"%s\"", choices[i], choice_name(request, choices[i], text, sizeof text));
    printf(", \"ns_per_particle_step\": %.2f, \"stages\": {", r->ns_per_particle_step);
    for (int s = 0; firn_stage_name(s) != NULL; s++)
        printf("%s\"%s\": %.2f", s > 0 ? ", " : "", firn_stage_name(s), r->stages[s]);
    printf("}, \"bytes_per_particle\": %.1f, \"iterations_per_step\": %.2f, \"dt\": %.3g, "
           "\"copy_gb_per_s\": %.2f}\n",
           r->bytes_per_particle, r->iterations_per_step, r->dt, r->copy_gb_per_s);
}

static void print_table(const bench_request *request, const bench_result *r)
{
    char a[64], b[64], c[64];
    printf("%zu particles, %s %s %s, %d threads, %s\n", r->particles,
           choice_name(request, "kernel", a, sizeof a),
           choice_name(request, "transfer", b, sizeof b),
           choice_name(request, "integrator", c, sizeof c), r->threads, r->isa);
    printf("%10.1f ns per particle and substep (best of %d rounds of %d)\n",
           r->ns_per_particle_step, ROUNDS, request->steps);
    for (int s = 0; firn_stage_name(s) != NULL; s++)
        printf("%10.1f   %s\n", r->stages[s], firn_stage_name(s));
    printf("%10.1f bytes per particle\n", r->bytes_per_particle);
    printf("%10.1f iterations per substep of %.3g s\n", r->iterations_per_step, r->dt);
    printf("%10.1f GB/s read and written by a plain copy\n", r->copy_gb_per_s);
}

static int measure_and_print(const bench_request *request)
{
    firn_error error;
    firn_sim *sim = NULL;
    float radius = 0.0f;
    bench_result result = {.threads = request->def.thread_count};
    firn_result outcome = make_scene(request, &sim, &radius, &error);
    if (outcome == FIRN_OK)
        outcome = measure(request, sim, radius, &result, &error);
    firn_sim_destroy(sim);
    if (outcome != FIRN_OK)
        return firn_exit_of(outcome, &error);
    result.copy_gb_per_s = measure_copy(result.threads);
    if (request->json)
        print_json(request, &result);
    else
        print_table(request, &result);
    return FIRN_EXIT_OK;
}

static firn_result set(firn_sim_def *def, const char *name, const char *text, firn_error *error)
{
    if (text == NULL)
        return FIRN_OK;
    return firn_param_parse(firn_params_find(firn_sim_params(), name), def, text, error);
}

/// The words of the command line; what is left out has a default.
typedef struct bench_words {
    const char *particles, *kernel, *transfer, *integrator, *threads, *steps, *retries, *isa, *json,
        *folder;
} bench_words;

#define ROW(field) offsetof(bench_words, field)

static const firn_option options[] = {
    {"--particles", "N", "about this many particles (300000)", ROW(particles)},
    {"--kernel", "NAME", "quadratic or cubic", ROW(kernel)},
    {"--transfer", "NAME", "apic or flip", ROW(transfer)},
    {"--integrator", "NAME", "explicit or implicit", ROW(integrator)},
    {"--threads", "N", "threads to use (1)", ROW(threads)},
    {"--steps", "N", "substeps in each of five timed rounds (20)", ROW(steps)},
    {"--retries", "N", "above 0 the copy of the state is kept and counted (0)", ROW(retries)},
    {"--isa", "NAME", "scalar, baseline, avx2 or avx512", ROW(isa)},
    {"--json", NULL, "one JSON object instead of a table", ROW(json)},
    {"--folder", "DIR", "where the suites of files write (.)", ROW(folder)},
};

/// What can be measured beside the solver.
static const struct {
    const char *name;
    void (*run)(const char *folder);
} suites[] = {
    {"alembic", firn_bench_alembic},
    {"formats", firn_bench_formats},
    {"rasterize", firn_bench_rasterize},
    {"render", firn_bench_render},
    {"vdb", firn_bench_vdb},
};

static int run_suite(const char *name, const char *folder)
{
    for (size_t i = 0; i < FIRN_COUNT(suites); i++) {
        if (strcmp(suites[i].name, name) == 0) {
            suites[i].run(folder != NULL ? folder : ".");
            return FIRN_EXIT_OK;
        }
    }
    return firn_usage("bench",
                      "there is no suite '%s'; alembic, formats and vdb measure files, "
                      "rasterize and render measure volumes, no word at all the solver",
                      name);
}

static int run_bench(const void *memory, const firn_words *rest)
{
    const bench_words *words = memory;
    if (rest->count > 0)
        return run_suite(rest->words[0], words->folder);
    bench_request request = {.def = firn_sim_def_default(),
                             .particles = 300000.0,
                             .steps = 20,
                             .json = words->json != NULL};
    if (words->particles != NULL && (!firn_read_number(words->particles, &request.particles) ||
                                     request.particles < 1.0 || request.particles > 1e9))
        return firn_usage("bench", "--particles must be 1 to 1e9, not '%s'", words->particles);
    if (words->steps != NULL && !firn_read_int(words->steps, 1, 1000000, &request.steps))
        return firn_usage("bench", "--steps must be 1 to 1000000, not '%s'", words->steps);
    if (words->isa != NULL)
        setenv("FIRN_ISA", words->isa, 1);
    request.def.cell_size = 0.01f;
    const struct {
        const char *name, *text;
    } settings[] = {
        {"kernel", words->kernel},
        {"transfer", words->transfer},
        {"integrator", words->integrator},
        {"thread_count", words->threads != NULL ? words->threads : "1"},
        {"retries", words->retries != NULL ? words->retries : "0"},
    };
    for (size_t i = 0; i < FIRN_COUNT(settings); i++) {
        firn_error error;
        firn_result result = set(&request.def, settings[i].name, settings[i].text, &error);
        if (result != FIRN_OK)
            return firn_exit_of(result, &error);
    }
    if (request.def.integrator == FIRN_INTEGRATOR_IMPLICIT)
        request.def.dt_max = 5e-4f;
    return measure_and_print(&request);
}

const firn_command firn_command_bench = {
    .name = "bench",
    .summary = "measures the solver and the file formats on this machine",
    .usage = "[alembic|formats|rasterize|render|vdb] [OPTIONS]",
    .about =
        "Times substeps of a snowball that hits the floor at 5 m/s, in the middle of the\n"
        "impact: nanoseconds per particle and substep, stage by stage, and memory. With a\n"
        "word: writing and reading files, as speed against plain files of the same bytes; or\n"
        "making volumes of particles (rasterize), and pictures of them beside Cycles (render).",
    .example = "  firn bench --threads 8\n"
               "  firn bench --kernel cubic --integrator implicit --json\n"
               "  firn bench vdb --folder /tmp",
    .own = {options, FIRN_COUNT(options)},
    .request_size = sizeof(bench_words),
    .most = 1,
    .run = run_bench,
};
