#include "estimate.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define PARTICLES 3000.0  // that the shot is brought down to
#define SCALE_MAX 8.0     // beyond, layers of snow vanish in the cells,
#define PARTICLES_MAX 1e5 // unless there would be more than these
#define BUDGET 4.0        // s of work; what is missing then goes on like the last quarter
#define PATIENCE 10.0     // s, where others have the machine, too

/// The frame in progress, in particles of the real shot.
typedef struct rehearsal {
    double scale;     // of the edge of a cell
    double dt_max;    // s
    double dt_flight; // s, of a substep in cells of the real size while nothing happens
    double begun;     // s, of firn_seconds
    clock_t work;     // of the process, at that time
    double steps;     // particles times substeps
    double solves;    // the same times iterations
    double iterations, fraction;
} rehearsal;

static double stat_of(const firn_stat *stats, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(stats[i].name, name) == 0)
            return stats[i].value;
    return 0.0;
}

// Steps shrink with the cells, but for those that only dt_max limits.
static double real_step(const rehearsal *r, double dt)
{
    double shrunk = dt / r->scale;
    return dt > 0.95 * r->dt_max ? fmax(shrunk, fmin(r->dt_flight, dt)) : shrunk;
}

static bool has_time(const rehearsal *r)
{
    return (double)(clock() - r->work) < BUDGET * CLOCKS_PER_SEC &&
           firn_seconds() - r->begun < PATIENCE;
}

static firn_answer on_progress(const firn_report *report, void *user)
{
    rehearsal *r = user;
    double particles = stat_of(report->stats, report->stat_count, "particles");
    double awake = particles - stat_of(report->stats, report->stat_count, "asleep");
    double dt = stat_of(report->stats, report->stat_count, "dt");
    double iterations = stat_of(report->stats, report->stat_count, "iterations");
    if (particles > 0.0 && dt > 0.0) {
        double steps = awake * pow(r->scale, 3.0) * dt / real_step(r, dt);
        r->steps += steps;
        r->solves += steps * fmax(iterations - r->iterations, 0.0);
        r->iterations = iterations;
        r->fraction = report->fraction;
    }
    return has_time(r) ? FIRN_CONTINUE : FIRN_STOP;
}

// Seconds of the frame in the real shot: the substeps at their price, and what the inputs took now.
static firn_result rehearse_frame(firn_graph *graph, rehearsal *r, const firn_solver_cost *cost,
                                  int frame, double *seconds, firn_error *error)
{
    const firn_data *data = NULL;
    double begun = firn_seconds(), inputs = 0.0;
    r->steps = r->solves = r->iterations = r->fraction = 0.0;
    firn_result result = firn_graph_cook(graph, cost->node, frame, &data, error);
    if (result == FIRN_OK)
        inputs = firn_seconds() - begun - stat_of(data->stats, data->stat_count, "seconds");
    double part = result == FIRN_ERR_CANCELLED ? fmax(r->fraction, 1e-3) : 1.0;
    *seconds = 1e-9 * (cost->ns_step * r->steps + cost->ns_iteration * r->solves) / part;
    *seconds += fmax(inputs, 0.0);
    return result;
}

static firn_result rehearse(firn_graph *graph, rehearsal *r, int frames, firn_solver_cost *cost,
                            firn_error *error)
{
    double *seconds = firn_alloc_zero((size_t)frames * sizeof *seconds);
    if (seconds == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot estimate");
    const firn_shot *shot = firn_graph_shot(graph);
    firn_result result = FIRN_OK;
    int done = 0;
    double sum = 0.0, last = 0.0;
    for (; done < frames && result == FIRN_OK && has_time(r); done++) {
        result = rehearse_frame(graph, r, cost, shot->first + done, &seconds[done], error);
        sum += seconds[done];
    }
    result = result == FIRN_ERR_CANCELLED ? FIRN_OK : result;
    int tail = done / 4 > 0 ? done / 4 : 1;
    for (int i = done - tail; i >= 0 && i < done; i++)
        last += seconds[i];
    cost->seconds = sum + (frames - done) * last / tail;
    cost->rehearsed = done;
    firn_free(seconds);
    return result;
}

firn_result firn_solver_rehearse(firn_graph *graph, int frames, firn_solver_cost *cost,
                                 firn_error *error)
{
    int first = firn_graph_shot(graph)->first;
    double dt_max[3] = {0}, cell[3] = {cost->cell_size};
    FIRN_TRY(firn_graph_get(graph, cost->node, "dt_max", first, dt_max, error));
    double scale = fmin(fmax(cbrt(cost->particles / PARTICLES), 1.0), SCALE_MAX);
    scale = fmax(scale, cbrt(cost->particles / PARTICLES_MAX));
    double large[3] = {fmin(cost->cell_size * scale, 1.0)};
    rehearsal r = {.scale = large[0] / cost->cell_size,
                   .dt_max = dt_max[0],
                   .dt_flight = cost->dt_flight,
                   .begun = firn_seconds(),
                   .work = clock()};
    // So few particles are no work for several threads, and they would take it from each other.
    double threads[3] = {0}, one[3] = {1.0};
    FIRN_TRY(firn_graph_get(graph, cost->node, "thread_count", first, threads, error));
    FIRN_TRY(firn_graph_set(graph, cost->node, "thread_count", one, error));
    FIRN_TRY(firn_graph_set(graph, cost->node, "cell_size", large, error));
    firn_host host = {.progress = on_progress, .user = &r};
    firn_graph_set_host(graph, &host);
    firn_result result = rehearse(graph, &r, frames, cost, error);
    firn_graph_set_host(graph, NULL);
    FIRN_TRY(firn_graph_set(graph, cost->node, "thread_count", threads, NULL));
    FIRN_TRY(firn_graph_set(graph, cost->node, "cell_size", cell, NULL));
    return result;
}
