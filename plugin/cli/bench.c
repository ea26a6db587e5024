/// `firn bench`: what a substep costs, measured beside the machine's own bandwidth.
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include "command.h"

#include "firn/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TWIN_ROUNDS = 2, TWIN_STEPS = 4 };

// Floating-point operations of a substep for one particle, counted by hand: lanes that a row does
// not need included, an FMA as two.
#define FLOPS_QUADRATIC 2000.0
#define FLOPS_CUBIC 4600.0

typedef struct bench_result {
    size_t particles;
    int threads;
    const char *isa;
    firn_bench_cost cost;
    firn_bench_cost twin; // the scalar kernels from the same state
    double bytes_per_particle;
    double dt; // s
    double copy_gb_per_s;
    double peak_gflops; // of the instruction set, on one core
} bench_result;

// The same state with the scalar kernels; few steps, for they are slow.
static firn_result measure_twin(const firn_bench_request *request, const firn_sim *sim,
                                bench_result *result, firn_error *error)
{
    const char *isa = getenv("FIRN_ISA");
    char *before = isa != NULL ? strdup(isa) : NULL;
    setenv("FIRN_ISA", "scalar", 1);
    firn_bench_scene twin;
    firn_result outcome = firn_bench_scene_make(&request->def, request->particles, &twin, error);
    if (before != NULL)
        setenv("FIRN_ISA", before, 1);
    else
        unsetenv("FIRN_ISA");
    free(before);
    if (outcome == FIRN_OK)
        outcome = firn_bench_take_over(twin.sim, sim, error);
    for (int round = 0; outcome == FIRN_OK && round < TWIN_ROUNDS; round++)
        outcome = firn_bench_round(twin.sim, TWIN_STEPS, &result->twin, error);
    firn_bench_scene_free(&twin);
    return outcome;
}

static firn_result measure(const firn_bench_request *request, firn_bench_scene *scene,
                           bench_result *result, firn_error *error)
{
    firn_sim *sim = scene->sim;
    FIRN_TRY(firn_bench_scene_hit(scene, error));
    result->particles = firn_sim_particle_count(sim);
    result->isa = firn_sim_isa(sim);
    for (int round = 0; round < request->rounds; round++)
        FIRN_TRY(firn_bench_round(sim, request->steps, &result->cost, error));
    firn_step_stats stats = firn_sim_stats(sim);
    result->dt = stats.dt;
    result->bytes_per_particle = (double)stats.bytes / (double)result->particles;
    return FIRN_OK;
}

// How much of what the cores could compute the particles got; explicit steps only.
static double peak_share(const firn_bench_request *request, const bench_result *r)
{
    if (request->def.integrator != FIRN_INTEGRATOR_EXPLICIT)
        return 0.0;
    double flops = request->def.kernel == FIRN_KERNEL_QUADRATIC ? FLOPS_QUADRATIC : FLOPS_CUBIC;
    return flops / (r->cost.ns * r->peak_gflops * r->threads);
}

// What a user waits for, as long as the impact lasts.
static double simulated_per_hour(const bench_result *r)
{
    return 3600.0 * r->dt / (1e-9 * r->cost.ns * (double)r->particles);
}

static void print_json(const firn_bench_request *request, const bench_result *r)
{
    printf("{\"particles\": %zu, \"threads\": %d, \"isa\": \"%s\", ", r->particles, r->threads,
           r->isa);
    firn_bench_print_choices(&request->def, true);
    printf(", \"ns_per_particle_step\": %.2f, \"undisturbed_ns\": %.2f, \"stages\": {", r->cost.ns,
           r->cost.undisturbed);
    for (int s = 0; firn_stage_name(s) != NULL; s++)
        printf("%s\"%s\": %.2f", s > 0 ? ", " : "", firn_stage_name(s), r->cost.stages[s]);
    printf("}, \"bytes_per_particle\": %.1f, \"iterations_per_step\": %.2f, \"dt\": %.3g, "
           "\"copy_gb_per_s\": %.2f, \"peak_gflops\": %.1f, \"peak_share\": %.3f, "
           "\"product_ns\": %.2f, \"twin_ns\": %.1f, \"simulated_seconds_per_hour\": %.3f}\n",
           r->bytes_per_particle, r->cost.iterations, r->dt, r->copy_gb_per_s, r->peak_gflops,
           peak_share(request, r), r->cost.product, r->twin.ns, simulated_per_hour(r));
}

static void print_table(const firn_bench_request *request, const bench_result *r)
{
    printf("%zu particles, ", r->particles);
    firn_bench_print_choices(&request->def, false);
    printf(", %d threads, %s\n", r->threads, r->isa);
    printf("%10.1f ns per particle and substep (best of %d rounds of %d)\n", r->cost.ns,
           request->rounds, request->steps);
    if (r->cost.undisturbed > 0.0)
        printf("%10.1f with each substep in the round where it was fastest\n", r->cost.undisturbed);
    for (int s = 0; firn_stage_name(s) != NULL; s++)
        printf("%10.1f   %s\n", r->cost.stages[s], firn_stage_name(s));
    printf("%10.1f bytes per particle\n", r->bytes_per_particle);
    printf("%10.1f iterations per substep of %.3g s\n", r->cost.iterations, r->dt);
    printf("%10.2f simulated seconds per hour at this step\n", simulated_per_hour(r));
    if (r->cost.product > 0.0)
        printf("%10.1f ns per particle for a product with the Hessian\n", r->cost.product);
    if (r->twin.ns > 0.0)
        printf("%10.1f times as fast as the scalar twin (%.0f ns)\n", r->twin.ns / r->cost.ns,
               r->twin.ns);
    printf("%10.1f Gflop/s per core at most with %s\n", r->peak_gflops, r->isa);
    if (peak_share(request, r) > 0.0)
        printf("%10.0f %% of that used\n", 100.0 * peak_share(request, r));
    printf("%10.1f GB/s read and written by a plain copy\n", r->copy_gb_per_s);
}

static int measure_and_print(const firn_bench_request *request)
{
    firn_error error;
    firn_bench_scene scene;
    bench_result result = {.threads = request->def.thread_count};
    firn_result outcome = firn_bench_scene_make(&request->def, request->particles, &scene, &error);
    if (outcome == FIRN_OK)
        outcome = measure(request, &scene, &result, &error);
    if (outcome == FIRN_OK && request->twin)
        outcome = measure_twin(request, scene.sim, &result, &error);
    if (outcome == FIRN_OK)
        result.peak_gflops = firn_sim_peak(scene.sim);
    firn_bench_scene_free(&scene);
    if (outcome != FIRN_OK)
        return firn_exit_of(outcome, &error);
    result.copy_gb_per_s = firn_bench_copy(result.threads);
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
    const char *particles, *kernel, *transfer, *integrator, *threads, *rounds, *steps, *retries,
        *isa, *json, *folder, *twin, *scaling, *sleep, *spray, *bodies, *mpi;
} bench_words;

#define ROW(field) offsetof(bench_words, field)

static const firn_option options[] = {
    {"--particles", "N", "about this many particles (300000)", ROW(particles)},
    {"--kernel", "NAME", "quadratic or cubic", ROW(kernel)},
    {"--transfer", "NAME", "apic or flip", ROW(transfer)},
    {"--integrator", "NAME", "explicit or implicit", ROW(integrator)},
    {"--threads", "N", "threads to use (1); 0 is every core", ROW(threads)},
    {"--rounds", "N", "timed rounds, more on a busy machine (5)", ROW(rounds)},
    {"--steps", "N", "substeps in each round (30)", ROW(steps)},
    {"--retries", "N", "above 0 the copy of the state is kept and counted (0)", ROW(retries)},
    {"--isa", "NAME", "scalar, baseline, avx2 or avx512", ROW(isa)},
    {"--twin", NULL, "times the scalar kernels as well, from the same state", ROW(twin)},
    {"--scaling", NULL, "one thread to --threads (all cores), side by side", ROW(scaling)},
    {"--sleep", NULL, "a settled field awake and asleep, side by side", ROW(sleep)},
    {"--spray", NULL, "grains that fly far apart beside a ball of as many", ROW(spray)},
    {"--bodies", NULL, "a hundred bodies in snow beside the same as colliders", ROW(bodies)},
    {"--mpi", NULL, "under mpirun: what ranks send and wait for, and what more would do", ROW(mpi)},
    {"--json", NULL, "one JSON object instead of a table", ROW(json)},
    {"--folder", "DIR", "where the suites of files write (.)", ROW(folder)},
};

/// What can be measured beside the solver.
static const struct {
    const char *name;
    void (*run)(const char *folder);
} suites[] = {
    {"alembic", firn_bench_alembic},
    {"collider", firn_bench_collider},
    {"fine", firn_bench_fine},
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
                      "rasterize and render volumes, fine the grains of particles, collider a "
                      "deforming mesh in snow, no word at all the solver",
                      name);
}

static int read_request(const bench_words *words, firn_bench_request *request)
{
    if (words->particles != NULL && (!firn_read_number(words->particles, &request->particles) ||
                                     request->particles < 1.0 || request->particles > 1e9))
        return firn_usage("bench", "--particles must be 1 to 1e9, not '%s'", words->particles);
    if (words->rounds != NULL && !firn_read_int(words->rounds, 1, 1000000, &request->rounds))
        return firn_usage("bench", "--rounds must be 1 to 1000000, not '%s'", words->rounds);
    if (words->steps != NULL && !firn_read_int(words->steps, 1, 1000000, &request->steps))
        return firn_usage("bench", "--steps must be 1 to 1000000, not '%s'", words->steps);
    const struct {
        const char *name, *text;
    } settings[] = {
        {"kernel", words->kernel},         {"transfer", words->transfer},
        {"integrator", words->integrator}, {"thread_count", words->threads},
        {"retries", words->retries},
    };
    for (size_t i = 0; i < FIRN_COUNT(settings); i++) {
        firn_error error;
        firn_result result = set(&request->def, settings[i].name, settings[i].text, &error);
        if (result != FIRN_OK)
            return firn_exit_of(result, &error);
    }
    if (request->def.integrator == FIRN_INTEGRATOR_IMPLICIT)
        request->def.dt_max = 5e-4f;
    return FIRN_EXIT_OK;
}

static int run_bench(const void *memory, const firn_words *rest)
{
    const bench_words *words = memory;
    if (rest->count > 0)
        return run_suite(rest->words[0], words->folder);
    firn_bench_request request = {.def = firn_sim_def_default(),
                                  .particles = words->spray != NULL ? 50000.0 : 300000.0,
                                  .rounds = FIRN_BENCH_ROUNDS,
                                  .steps = 30,
                                  .json = words->json != NULL,
                                  .twin = words->twin != NULL};
    request.def.cell_size = 0.01f;
    request.def.thread_count = words->scaling != NULL ? 0 : 1;
    request.def.retries = 0;
    int code = read_request(words, &request);
    if (code != FIRN_EXIT_OK)
        return code;
    if (words->isa != NULL)
        setenv("FIRN_ISA", words->isa, 1);
    const struct {
        const char *wanted;
        int (*run)(const firn_bench_request *request);
    } comparisons[] = {{words->scaling, firn_bench_scaling},
                       {words->sleep, firn_bench_sleep},
                       {words->spray, firn_bench_spray},
                       {words->bodies, firn_bench_bodies},
                       {words->mpi, firn_bench_mpi}};
    for (size_t i = 0; i < FIRN_COUNT(comparisons); i++)
        if (comparisons[i].wanted != NULL)
            return comparisons[i].run(&request);
    return measure_and_print(&request);
}

const firn_command firn_command_bench = {
    .name = "bench",
    .summary = "measures the solver and the file formats on this machine",
    .usage = "[alembic|collider|fine|formats|rasterize|render|vdb] [OPTIONS]",
    .about =
        "Times substeps of a snowball that hits a floor with a dome on it at 5 m/s, in the\n"
        "middle of the impact: nanoseconds per particle and substep, stage by stage, memory,\n"
        "and what the machine could do at best. With a word: writing and reading files, as\n"
        "speed against plain files of the same bytes; or making volumes of particles\n"
        "(rasterize) or grains of them (fine), pictures beside Cycles (render), or a deforming\n"
        "mesh in snow (collider).",
    .example = "  firn bench --threads 8\n"
               "  firn bench --scaling\n"
               "  mpirun -n 4 firn bench --mpi --particles 1e6\n"
               "  firn bench --kernel cubic --integrator implicit --json\n"
               "  firn bench vdb --folder /tmp",
    .own = {options, FIRN_COUNT(options)},
    .request_size = sizeof(bench_words),
    .most = 1,
    .run = run_bench,
};
