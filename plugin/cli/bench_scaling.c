/// `firn bench --scaling`: one state, one to many threads side by side, beside what the machine
/// itself gains by more threads.
#include "bench.h"
#include "command.h"

#include <stdio.h>

enum { MOST_ROWS = 32 };

typedef struct row {
    int threads;
    firn_bench_scene scene;
    firn_bench_cost cost;
    double peak_gflops, copy_gb_per_s;
} row;

static int count_cores(void)
{
    int count = 0;
#pragma omp parallel reduction(+ : count)
    count += 1;
    return count;
}

// Every number up to four, then half as many again: 1 2 3 4 6 9 13 19 ...; the last one always.
static int list_threads(int most, row *rows)
{
    int count = 0;
    for (int threads = 1; threads < most && count < MOST_ROWS - 1;
         threads += threads < 4 ? 1 : threads / 2)
        rows[count++].threads = threads;
    rows[count++].threads = most;
    return count;
}

// All rows hold the same state in the middle of the impact.
static firn_result make_rows(const firn_bench_request *request, row *rows, int count,
                             firn_error *error)
{
    for (int i = count - 1; i >= 0; i--) {
        firn_sim_def def = request->def;
        def.thread_count = rows[i].threads;
        FIRN_TRY(firn_bench_scene_make(&def, request->particles, &rows[i].scene, error));
        if (i == count - 1)
            FIRN_TRY(firn_bench_scene_hit(&rows[i].scene, error));
        else
            FIRN_TRY(firn_bench_take_over(rows[i].scene.sim, rows[count - 1].scene.sim, error));
    }
    return FIRN_OK;
}

// Round by round, so that whatever else the machine does meets all rows.
static firn_result measure(const firn_bench_request *request, row *rows, int count,
                           firn_error *error)
{
    for (int round = 0; round < request->rounds; round++)
        for (int i = 0; i < count; i++)
            FIRN_TRY(firn_bench_round(rows[i].scene.sim, request->steps, &rows[i].cost, error));
    for (int i = 0; i < count; i++) {
        rows[i].peak_gflops = firn_bench_peak(rows[i].scene.sim, rows[i].threads);
        rows[i].copy_gb_per_s = firn_bench_copy(rows[i].threads);
    }
    return FIRN_OK;
}

static void print_json(const firn_bench_request *request, const row *rows, int count)
{
    printf("{\"particles\": %zu, \"isa\": \"%s\", ", firn_sim_particle_count(rows[0].scene.sim),
           firn_sim_isa(rows[0].scene.sim));
    firn_bench_print_choices(&request->def, true);
    printf(", \"rows\": [");
    for (int i = 0; i < count; i++) {
        const row *r = &rows[i];
        printf("%s\n  {\"threads\": %d, \"ns_per_particle_step\": %.2f, \"speed_up\": %.3f, "
               "\"stages\": {",
               i > 0 ? "," : "", r->threads, r->cost.ns, rows[0].cost.ns / r->cost.ns);
        for (int s = 0; firn_stage_name(s) != NULL; s++)
            printf("%s\"%s\": %.2f", s > 0 ? ", " : "", firn_stage_name(s), r->cost.stages[s]);
        printf("}, \"peak_gflops\": %.1f, \"copy_gb_per_s\": %.2f}", r->peak_gflops,
               r->copy_gb_per_s);
    }
    printf("]}\n");
}

// The same line twice: the cost, and how many times faster than one thread that is.
static void print_line(const row *r, const row *base)
{
    double of = base != NULL ? base->cost.ns : 1.0;
    printf("%7d  %8.2f", r->threads, base != NULL ? of / r->cost.ns : r->cost.ns);
    for (int s = 0; firn_stage_name(s) != NULL; s++) {
        double ns = r->cost.stages[s], shown = base != NULL ? base->cost.stages[s] / ns : ns;
        if (ns > 0.005)
            printf(" %7.2f", shown);
        else
            printf(" %7s", "-");
    }
    printf(" %10.2f %10.2f\n", base != NULL ? r->peak_gflops / base->peak_gflops : r->peak_gflops,
           base != NULL ? r->copy_gb_per_s / base->copy_gb_per_s : r->copy_gb_per_s);
}

static void print_head(const char *what)
{
    printf("\nthreads  %8s", what);
    for (int s = 0; firn_stage_name(s) != NULL; s++)
        printf(" %7s", firn_stage_name(s));
    printf(" %10s %10s\n", "arithmetic", "copy");
}

static void print_table(const firn_bench_request *request, const row *rows, int count)
{
    printf("%zu particles, ", firn_sim_particle_count(rows[0].scene.sim));
    firn_bench_print_choices(&request->def, false);
    printf(", %s; best of %d rounds of %d substeps, from one state\n",
           firn_sim_isa(rows[0].scene.sim), request->rounds, request->steps);
    print_head("ns");
    for (int i = 0; i < count; i++)
        print_line(&rows[i], NULL);
    print_head("speed-up");
    for (int i = 0; i < count; i++)
        print_line(&rows[i], &rows[0]);
    printf(
        "\nns per particle and substep, and of each stage; arithmetic in Gflop/s and copy in GB/s\n"
        "are what so many threads of this machine reach at most.\n");
}

int firn_bench_scaling(const firn_bench_request *request)
{
    firn_error error;
    row rows[MOST_ROWS] = {{0}};
    int most = request->def.thread_count > 0 ? request->def.thread_count : count_cores();
    int count = list_threads(most, rows);
    firn_result result = make_rows(request, rows, count, &error);
    if (result == FIRN_OK)
        result = measure(request, rows, count, &error);
    if (result == FIRN_OK && request->json)
        print_json(request, rows, count);
    else if (result == FIRN_OK)
        print_table(request, rows, count);
    for (int i = 0; i < count; i++)
        firn_bench_scene_free(&rows[i].scene);
    return result == FIRN_OK ? FIRN_EXIT_OK : firn_exit_of(result, &error);
}
