/// `firn estimate`: particles, memory, disk and time of a shot before it is cooked.
#define _POSIX_C_SOURCE 200809L
#include "estimate.h"

#include "json.h"
#include "shot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef struct request {
    firn_shot_words shot;
    const char *json;
} request;

typedef struct estimate {
    int frames;  // to simulate
    int written; // frames that go to disk
    size_t solver_count;
    firn_solver_cost solvers[FIRN_SOLVER_MAX];
    double particles, bytes, seconds, seconds_low, seconds_high;
    double disk, disk_free; // bytes; free: 0 when not known
    double memory;          // bytes that the machine has
    size_t warning_count;
    char warnings[32][256];
} estimate;

static void warn(estimate *e, const char *format, ...) FIRN_PRINTF(2, 3);

static void warn(estimate *e, const char *format, ...)
{
    if (e->warning_count == FIRN_COUNT(e->warnings))
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(e->warnings[e->warning_count++], sizeof e->warnings[0], format, values);
    va_end(values);
}

static void check_scale(estimate *e, const firn_solver_cost *s)
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

static void check_machine(estimate *e)
{
    if (e->particles > 2e8)
        warn(e, "%.3g particles are more than one machine is meant for", e->particles);
    if (e->bytes > 0.9 * e->memory)
        warn(e, "%.1f GB of memory are needed and the machine has %.1f GB", 1e-9 * e->bytes,
             1e-9 * e->memory);
    if (e->disk_free > 0.0 && e->disk > e->disk_free)
        warn(e, "%.1f GB of disk are needed and %.1f GB are free", 1e-9 * e->disk,
             1e-9 * e->disk_free);
}

static double free_bytes(const firn_graph *graph)
{
    char folder[FIRN_PATH_SIZE];
    struct statvfs status;
    if (firn_graph_cache_folder(graph, folder, sizeof folder, NULL) != FIRN_OK ||
        statvfs(firn_shot_nearest(folder), &status) != 0)
        return 0.0;
    return (double)status.f_bavail * (double)status.f_frsize;
}

static firn_result measure(firn_graph *graph, estimate *e, firn_error *error)
{
    for (size_t i = 0; firn_graph_node(graph, i) != NULL; i++) {
        const char *node = firn_graph_node(graph, i);
        if (strcmp(firn_graph_node_type(graph, node)->name, "solver") != 0 ||
            e->solver_count == FIRN_SOLVER_MAX)
            continue;
        firn_solver_cost *cost = &e->solvers[e->solver_count];
        FIRN_TRY(firn_solver_measure(graph, node, e->frames, cost, error));
        e->solver_count++;
        e->particles += cost->particles;
        e->bytes += cost->bytes;
        e->seconds += cost->seconds;
        e->seconds_low += cost->seconds_low;
        e->seconds_high += cost->seconds_high;
        check_scale(e, cost);
    }
    for (size_t i = 0; firn_graph_node(graph, i) != NULL; i++) {
        const char *node = firn_graph_node(graph, i);
        if (firn_graph_node_type(graph, node)->output == FIRN_KIND_NONE)
            e->disk += e->written * firn_writer_bytes(graph, node, e->solvers, e->solver_count);
    }
    e->disk_free = free_bytes(graph);
    e->memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    check_machine(e);
    return FIRN_OK;
}

// To two digits: more would promise too much.
static double rounded(double seconds)
{
    double unit = pow(10.0, floor(log10(fmax(seconds, 1.0))) - 1.0);
    return unit < 1.0 ? ceil(seconds) : round(seconds / unit) * unit;
}

static void print_text(const estimate *e)
{
    for (size_t i = 0; i < e->solver_count; i++) {
        const firn_solver_cost *s = &e->solvers[i];
        printf("%s: %.3g m^3 of snow in cells of %g m, substeps of %.2g s, %.0f ns per particle\n",
               s->node, s->volume, s->cell_size, s->dt, s->ns);
    }
    printf("particles  %12.0f\n", e->particles);
    printf("memory     %12.1f MB of %.0f MB\n", 1e-6 * e->bytes, 1e-6 * e->memory);
    printf("disk       %12.1f MB in %d frames", 1e-6 * e->disk, e->written);
    if (e->disk_free > 0.0)
        printf(", %.0f MB are free", 1e-6 * e->disk_free);
    printf("\ntime       %12.0f s, between %.0f and %.0f s, for %d frames on this machine as it is "
           "now\n",
           rounded(e->seconds), rounded(e->seconds_low), rounded(e->seconds_high), e->frames);
    fflush(stdout);
    for (size_t i = 0; i < e->warning_count; i++)
        fprintf(stderr, "warning: %s\n", e->warnings[i]);
}

static void print_json(const estimate *e)
{
    int members = 0;
    fputc('{', stdout);
    firn_print_member_number(stdout, &members, "particles", floor(e->particles));
    firn_print_member_number(stdout, &members, "memory_bytes", e->bytes);
    firn_print_member_number(stdout, &members, "disk_bytes", e->disk);
    firn_print_member_number(stdout, &members, "seconds", e->seconds);
    firn_print_member_number(stdout, &members, "seconds_low", e->seconds_low);
    firn_print_member_number(stdout, &members, "seconds_high", e->seconds_high);
    firn_print_member_number(stdout, &members, "frames", e->frames);
    firn_print_key(stdout, &members, "warnings");
    fputc('[', stdout);
    for (size_t i = 0; i < e->warning_count; i++) {
        fputs(i > 0 ? ", " : "", stdout);
        firn_print_json_text(stdout, e->warnings[i]);
    }
    fputs("]}\n", stdout);
}

static int run_estimate(const void *memory, const firn_words *words)
{
    const request *own = memory;
    firn_graph *graph = NULL;
    int code = firn_shot_load("estimate", words->words[0], &own->shot, &graph, NULL);
    if (code == FIRN_EXIT_OK)
        code = firn_shot_check(graph, NULL);
    estimate *e = firn_alloc_zero(sizeof *e);
    if (code == FIRN_EXIT_OK && e != NULL) {
        firn_bake_def def;
        firn_error error;
        firn_shot_frames(own->shot.frames, graph, &def);
        e->frames = def.last - firn_graph_shot(graph)->first + 1;
        e->written = (def.last - def.first) / def.step + 1;
        firn_result result = measure(graph, e, &error);
        code = firn_exit_of(result, &error);
        if (result == FIRN_OK && own->json != NULL)
            print_json(e);
        else if (result == FIRN_OK)
            print_text(e);
    }
    firn_graph_destroy(graph);
    firn_free(e);
    return code;
}

static const firn_option options[] = {
    {"--json", NULL, "one JSON object instead of a table", offsetof(request, json)},
};

const firn_command firn_command_estimate = {
    .name = "estimate",
    .summary = "particles, memory, disk and time of a shot before it is cooked",
    .usage = "SHOT.firn [OPTIONS]",
    .about = "Counts the particles of the sources, times a small snowball with the settings of\n"
             "the solver on this machine, and cooks the shot in large cells, for a few seconds,\n"
             "to see how its substeps go. Time is what that comes to, without the files, and\n"
             "the range that the truth is most likely in. Warns when the scale is implausible,\n"
             "or memory or disk will not do.",
    .example = "  firn estimate shot.firn\n"
               "  firn estimate shot.firn --quality final --threads 16 --json",
    .own = {options, FIRN_COUNT(options)},
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run_estimate,
};
