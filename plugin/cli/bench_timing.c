/// Rounds of substeps and what they cost.
#include "bench.h"

#include <stdio.h>

/// Counts substeps and adds up what they report.
typedef struct meter {
    int left; // substeps until the call is stopped
    int count;
    double until; // s of simulated time, or 0
    double seconds[FIRN_STAGE_COUNT];
    double iterations;
    double products;                     // s, of the Hessian with a vector
    double mark;                         // s of wall time, where the last substep ended
    double substep[FIRN_BENCH_SUBSTEPS]; // s
} meter;

static bool meter_substep(const firn_step_stats *stats, void *user)
{
    meter *m = user;
    double now = firn_seconds();
    if (m->count < FIRN_BENCH_SUBSTEPS)
        m->substep[m->count] = now - m->mark;
    m->mark = now;
    m->count++;
    m->iterations += stats->iterations;
    m->products += stats->product_seconds;
    for (int s = 0; s < FIRN_STAGE_COUNT; s++)
        m->seconds[s] += stats->seconds[s];
    return --m->left > 0 && (m->until <= 0.0 || stats->time < m->until);
}

// Runs until the meter stops the call.
static firn_result run(firn_sim *sim, meter *m, firn_error *error)
{
    firn_sim_set_progress(sim, meter_substep, m);
    firn_result result = firn_sim_step(sim, 10.0, error);
    return result == FIRN_ERR_CANCELLED ? FIRN_OK : result;
}

firn_result firn_bench_until(firn_sim *sim, double time, int most, firn_error *error)
{
    meter m = {.left = most, .until = time};
    return run(sim, &m, error);
}

// What other programs take comes in bursts: hardly ever does the same substep of every round meet
// one.
static void keep_fastest(const meter *m, double scale, firn_bench_cost *best)
{
    bool first = best->ns <= 0.0;
    best->undisturbed = 0.0;
    if (m->count > FIRN_BENCH_SUBSTEPS)
        return;
    for (int i = 0; i < m->count; i++) {
        if (first || m->substep[i] < best->substep[i])
            best->substep[i] = m->substep[i];
        best->undisturbed += scale * best->substep[i];
    }
}

firn_result firn_bench_round(firn_sim *sim, int steps, firn_bench_cost *best, firn_error *error)
{
    double start = firn_seconds();
    meter m = {.left = steps, .mark = start};
    FIRN_TRY(run(sim, &m, error));
    double end = firn_seconds();
    if (m.count <= FIRN_BENCH_SUBSTEPS)
        m.substep[m.count - 1] += end - m.mark; // what a call does behind its last substep
    double scale = 1e9 / ((double)m.count * (double)firn_sim_particle_count(sim));
    double ns = scale * (end - start);
    keep_fastest(&m, scale, best);
    if (best->ns > 0.0 && ns >= best->ns)
        return FIRN_OK;
    best->ns = ns;
    for (int s = 0; s < FIRN_STAGE_COUNT; s++)
        best->stages[s] = scale * m.seconds[s];
    best->iterations = m.iterations / m.count;
    best->product = scale * m.products / (1.0 + best->iterations);
    return FIRN_OK;
}

firn_result firn_bench_take_over(firn_sim *sim, const firn_sim *from, firn_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_sim_save_memory(from, &bytes, &size, error));
    firn_result result = firn_sim_load_memory(sim, bytes, size, error);
    firn_free(bytes);
    return result;
}

void firn_bench_print_choices(const firn_sim_def *def, bool json)
{
    const char *choices[] = {"kernel", "transfer", "integrator"};
    for (size_t i = 0; i < FIRN_COUNT(choices); i++) {
        char text[64];
        firn_param_print(firn_params_find(firn_sim_params(), choices[i]), def, text, sizeof text);
        if (json)
            printf("%s\"%s\": \"%s\"", i > 0 ? ", " : "", choices[i], text);
        else
            printf("%s%s", i > 0 ? " " : "", text);
    }
}

void firn_bench_print_sides(const char *const *names, const firn_bench_cost *costs, int count)
{
    printf("%10s %8s", "", "ns");
    for (int s = 0; firn_stage_name(s) != NULL; s++)
        printf(" %7s", firn_stage_name(s));
    for (int i = 0; i < count; i++) {
        printf("\n%10s %8.2f", names[i], costs[i].ns);
        for (int s = 0; firn_stage_name(s) != NULL; s++)
            printf(" %7.2f", costs[i].stages[s]);
    }
    printf("\n");
}

double firn_bench_copy(int threads)
{
    size_t count = (size_t)1 << 25;
    float *from = firn_alloc_zero(count * sizeof *from), *to = firn_alloc_zero(count * sizeof *to);
    double best = 0.0;
    for (int round = 0; from != NULL && to != NULL && round < FIRN_BENCH_ROUNDS; round++) {
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

double firn_bench_peak(const firn_sim *sim, int threads)
{
    double sum = 0.0;
#pragma omp parallel reduction(+ : sum) num_threads(threads)
    sum += firn_sim_peak(sim);
    return sum;
}
