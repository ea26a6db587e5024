#define _POSIX_C_SOURCE 200809L
#include "estimate.h"

#include "firn/channel.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void warn(firn_estimate *e, const char *format, ...) FIRN_PRINTF(2, 3);

static void warn(firn_estimate *e, const char *format, ...)
{
    if (e->warning_count == FIRN_COUNT(e->warnings))
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(e->warnings[e->warning_count++], sizeof e->warnings[0], format, values);
    va_end(values);
}

static void check_scale(firn_estimate *e, const firn_solver_cost *s)
{
    if (s->extent <= 0.0)
        warn(e, "%s has no snow", s->node);
    else if (s->extent < 0.01)
        warn(e, "the snow of %s is %g m across: are lengths in meters?", s->node, s->extent);
    else if (s->extent > 1000.0)
        warn(e, "the snow of %s is %g m across: are lengths in meters, not centimeters?", s->node,
             s->extent);
    if (s->extent > 0.0 && s->extent < 6.0 * s->cell_size)
        warn(e, "%s has only %.1f cells across its snow; 20 or more look like snow", s->node,
             s->extent / s->cell_size);
    if (s->gravity > 30.0)
        warn(e, "gravity of %s is %g m/s^2: are lengths in meters, not centimeters?", s->node,
             s->gravity);
    if (s->speed > 100.0)
        warn(e, "snow of %s starts at %g m/s", s->node, s->speed);
}

static void check_machine(firn_estimate *e)
{
    if (e->particles > 2e8)
        warn(e, "%.3g particles are more than one machine is meant for", e->particles);
    if (e->memory_bytes > 0.9 * e->machine_bytes)
        warn(e, "%.1f GB of memory are needed and the machine has %.1f GB", 1e-9 * e->memory_bytes,
             1e-9 * e->machine_bytes);
    if (e->disk_free > 0.0 && e->disk_bytes > e->disk_free)
        warn(e, "%.1f GB of disk are needed and %.1f GB are free", 1e-9 * e->disk_bytes,
             1e-9 * e->disk_free);
}

static double free_bytes(const firn_graph *graph)
{
    char folder[FIRN_PATH_SIZE];
    struct statvfs status;
    if (firn_graph_cache_folder(graph, folder, sizeof folder, NULL) != FIRN_OK)
        return 0.0;
    // The folder of a cache may not be there yet.
    while (statvfs(folder, &status) != 0) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash == folder)
            return 0.0;
        *slash = '\0';
    }
    return (double)status.f_bavail * (double)status.f_frsize;
}

// Bytes that the process takes before any snow: its code, libraries and threads. Those of the
// program that cooks are much the same.
static double resident_bytes(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file != NULL)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

// A node writes when nobody has put it to rest (`cook` of a render node).
static bool writes(firn_graph *graph, const char *node)
{
    const firn_node_info *type = firn_graph_node_type(graph, node);
    double cook[3] = {1.0};
    if (firn_params_find(type->params, "cook") != NULL)
        firn_graph_get(graph, node, "cook", firn_graph_shot(graph)->first, cook, NULL);
    return type->output == FIRN_KIND_NONE && cook[0] != 0.0;
}

static size_t index_of(const firn_graph *graph, const char *name)
{
    size_t index = 0;
    while (strcmp(firn_graph_node(graph, index), name) != 0)
        index++;
    return index;
}

// Marks the inputs of a node; true when one of them was not marked before.
static bool mark_inputs(const firn_graph *graph, const char *node, bool *cooked)
{
    const firn_node_info *type = firn_graph_node_type(graph, node);
    bool any = false;
    for (size_t i = 0; i < type->input_count; i++) {
        const char *from;
        for (size_t k = 0; (from = firn_graph_input(graph, node, type->inputs[i].name, k)) != NULL;
             k++) {
            bool *mark = &cooked[index_of(graph, from)];
            any = any || !*mark;
            *mark = true;
        }
    }
    return any;
}

// What the nodes that write need of memory and of the disk; the others are not cooked.
static firn_result add_stages(firn_graph *graph, firn_estimate *e, firn_error *error)
{
    size_t count = 0;
    while (firn_graph_node(graph, count) != NULL)
        count++;
    bool *cooked = firn_alloc_zero((count + 1) * sizeof *cooked);
    if (cooked == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot estimate");
    for (size_t i = 0; i < count; i++)
        cooked[i] = writes(graph, firn_graph_node(graph, i));
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < count; i++)
            if (cooked[i] && mark_inputs(graph, firn_graph_node(graph, i), cooked))
                more = true;
    }
    for (size_t i = 0; i < count; i++) {
        const char *node = firn_graph_node(graph, i);
        if (cooked[i])
            e->memory_bytes += firn_stage_bytes(graph, node, e->solvers, e->solver_count);
        if (!writes(graph, node))
            continue;
        double bytes = e->written * firn_writer_bytes(graph, node, e->solvers, e->solver_count);
        e->disk_bytes += bytes;
        // A stage has the particles of one writer once more, as arrays of the same columns.
        if (e->usd_bytes == 0.0 &&
            strcmp(firn_graph_node_type(graph, node)->name, "write_particles") == 0)
            e->usd_bytes = bytes;
    }
    firn_free(cooked);
    return FIRN_OK;
}

static firn_result measure(firn_graph *graph, firn_estimate *e, firn_error *error)
{
    e->memory_bytes = e->base_bytes = resident_bytes();
    for (size_t i = 0; firn_graph_node(graph, i) != NULL; i++) {
        const char *node = firn_graph_node(graph, i);
        if (strcmp(firn_graph_node_type(graph, node)->name, "solver") != 0 ||
            e->solver_count == FIRN_SOLVER_MAX)
            continue;
        firn_solver_cost *cost = &e->solvers[e->solver_count];
        FIRN_TRY(firn_solver_measure(graph, node, e->frames, cost, error));
        e->solver_count++;
        e->particles += cost->particles;
        e->memory_bytes += cost->bytes;
        e->seconds += cost->seconds;
        e->seconds_low += cost->seconds_low;
        e->seconds_high += cost->seconds_high;
        check_scale(e, cost);
    }
    FIRN_TRY(add_stages(graph, e, error));
    e->disk_free = free_bytes(graph);
    e->machine_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    check_machine(e);
    return FIRN_OK;
}

// What blocks near those of other ranks add to a rank's share.
#define GHOSTS 1.15

// Particles are shared; the first rank also holds what it writes of all of them, and volumes.
firn_rank_memory firn_estimate_ranks(const firn_estimate *e, int ranks)
{
    double shared = 0.0, written = 0.0;
    if (ranks < 2)
        return (firn_rank_memory){e->memory_bytes, 0.0};
    for (size_t i = 0; i < e->solver_count; i++)
        shared += e->solvers[i].bytes;
    for (int c = 0; c < firn_channel_count(); c++) {
        const firn_channel *row = firn_channel_at(c);
        if ((row->use & FIRN_CHANNEL_PUBLISHED) != 0 && (row->use & FIRN_CHANNEL_ON_DEMAND) == 0)
            written += (double)row->components * (double)firn_channel_type_size(row->type);
    }
    double part = GHOSTS * shared / ranks;
    return (firn_rank_memory){e->memory_bytes - shared + part + written * e->particles,
                              e->base_bytes + part};
}

firn_result firn_graph_estimate(firn_graph *graph, const firn_bake_def *def,
                                firn_estimate *estimate, firn_error *error)
{
    const firn_shot *shot = firn_graph_shot(graph);
    bool whole = def == NULL || def->whole;
    int first = whole ? shot->first : def->first, last = whole ? shot->last : def->last;
    int step = whole ? 1 : def->step;
    memset(estimate, 0, sizeof *estimate);
    FIRN_TRY(firn_graph_validate(graph, NULL, NULL, error));
    if (first > last || step < 1)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "frames %d to %d by %d are no range", first,
                         last, step);
    estimate->frames = last - shot->first + 1;
    estimate->written = (last - first) / step + 1;
    return measure(graph, estimate, error);
}
