/// `firn estimate`: particles, memory, disk and time of a shot before it is cooked.
#include "json.h"
#include "shot.h"

#include "firn/shot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct request {
    firn_shot_words shot;
    const char *json, *ranks;
} request;

// To two digits: more would promise too much.
static double rounded(double seconds)
{
    double unit = pow(10.0, floor(log10(fmax(seconds, 1.0))) - 1.0);
    return unit < 1.0 ? ceil(seconds) : round(seconds / unit) * unit;
}

static void print_ranks(const firn_estimate *e, int ranks, bool json, int *members)
{
    const firn_rank_memory m = firn_estimate_ranks(e, ranks);
    if (!json) {
        printf("ranks      %12d: %.1f MB for the first, %.1f MB for each of the others\n", ranks,
               1e-6 * m.first, 1e-6 * m.others);
        return;
    }
    firn_print_member_number(stdout, members, "ranks", ranks);
    firn_print_member_number(stdout, members, "first_rank_bytes", m.first);
    firn_print_member_number(stdout, members, "rank_bytes", m.others);
}

static void print_text(const firn_estimate *e, int ranks)
{
    for (size_t i = 0; i < e->solver_count; i++) {
        const firn_solver_cost *s = &e->solvers[i];
        printf("%s: %.3g m^3 of snow in cells of %g m, substeps of %.2g s, %.0f ns per particle\n",
               s->node, s->volume, s->cell_size, s->dt, s->ns);
    }
    printf("particles  %12.0f\n", e->particles);
    printf("memory     %12.1f MB of %.0f MB\n", 1e-6 * e->memory_bytes, 1e-6 * e->machine_bytes);
    if (ranks > 1)
        print_ranks(e, ranks, false, NULL);
    printf("disk       %12.1f MB in %d frames", 1e-6 * e->disk_bytes, e->written);
    if (e->disk_free > 0.0)
        printf(", %.0f MB are free", 1e-6 * e->disk_free);
    if (e->usd_bytes > 0.0)
        printf("\nusd        %12.1f MB more with `firn usd`", 1e-6 * e->usd_bytes);
    printf("\ntime       %12.0f s, between %.0f and %.0f s, for %d frames on this machine as it is "
           "now\n",
           rounded(e->seconds), rounded(e->seconds_low), rounded(e->seconds_high), e->frames);
    fflush(stdout);
    for (size_t i = 0; i < e->warning_count; i++)
        fprintf(stderr, "warning: %s\n", e->warnings[i]);
}

static void print_json(const firn_estimate *e, int ranks)
{
    int members = 0;
    fputc('{', stdout);
    firn_print_member_number(stdout, &members, "particles", floor(e->particles));
    firn_print_member_number(stdout, &members, "memory_bytes", e->memory_bytes);
    firn_print_member_number(stdout, &members, "disk_bytes", e->disk_bytes);
    firn_print_member_number(stdout, &members, "usd_bytes", e->usd_bytes);
    firn_print_member_number(stdout, &members, "seconds", e->seconds);
    firn_print_member_number(stdout, &members, "seconds_low", e->seconds_low);
    firn_print_member_number(stdout, &members, "seconds_high", e->seconds_high);
    firn_print_member_number(stdout, &members, "frames", e->frames);
    if (ranks > 1)
        print_ranks(e, ranks, true, &members);
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
    int ranks = 1;
    if (own->ranks != NULL && !firn_read_int(own->ranks, 1, 65536, &ranks))
        return firn_usage("estimate", "--ranks must be 1 to 65536, not '%s'", own->ranks);
    int code = firn_shot_load("estimate", words->words[0], &own->shot, &graph, NULL);
    if (code == FIRN_EXIT_OK)
        code = firn_shot_check(graph, NULL);
    firn_estimate *e = firn_alloc_zero(sizeof *e);
    if (code == FIRN_EXIT_OK && e != NULL) {
        firn_bake_def def;
        firn_error error;
        firn_shot_frames(own->shot.frames, graph, &def);
        firn_result result = firn_graph_estimate(graph, &def, e, &error);
        code = firn_exit_of(result, &error);
        if (result == FIRN_OK && own->json != NULL)
            print_json(e, ranks);
        else if (result == FIRN_OK)
            print_text(e, ranks);
    }
    firn_graph_destroy(graph);
    firn_free(e);
    return code;
}

static const firn_option options[] = {
    {"--ranks", "N", "also the memory of each of N processes under mpirun",
     offsetof(request, ranks)},
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
