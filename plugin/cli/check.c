/// `firn check`: everything that is wrong with a scene, without cooking it.
#define _POSIX_C_SOURCE 200809L
#include "report/wedge_table.h"
#include "shot.h"

#include "firn/shot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Not an error: another machine may be the one that writes there.
static void warn_of_place(const char *place)
{
    struct stat status;
    fflush(stdout);
    if (stat(place, &status) == 0 && !S_ISDIR(status.st_mode))
        fprintf(stderr, "warning: '%s' is a file; the cache cannot be below it\n", place);
    else if (access(place, W_OK | X_OK) != 0)
        fprintf(stderr, "warning: '%s' cannot be written from here: %s\n", place, strerror(errno));
}

static int print_cache(firn_graph *graph)
{
    char folder[FIRN_PATH_SIZE];
    firn_cache_state state;
    firn_error error;
    firn_result result = firn_graph_cache_folder(graph, folder, sizeof folder, &error);
    if (result == FIRN_OK)
        result = firn_graph_cache_state(graph, &state, &error);
    if (result != FIRN_OK)
        return firn_exit_of(result, &error);
    printf("cache: %s, %s\n", firn_cache_state_name(state), folder);
    char owner[400];
    firn_cache_writer(folder, owner, sizeof owner);
    if (owner[0] != '\0')
        printf("locked: %s\n", owner);
    size_t working = firn_cache_frames_in_work(folder);
    if (working > 0)
        printf("locked: %zu frames of later stages\n", working);
    warn_of_place(firn_shot_nearest(folder));
    return FIRN_EXIT_OK;
}

typedef struct request {
    firn_shot_words shot;
    const char *all_frames;
} request;

static void print_warning(firn_level level, const char *node, const char *message, void *user)
{
    (void)user;
    fflush(stdout);
    if (level == FIRN_LEVEL_INFO)
        printf("note: %s: %s\n", node, message);
    else
        fprintf(stderr, "%s: %s: %s\n", level == FIRN_LEVEL_ERROR ? "error" : "warning", node,
                message);
}

static void print_failure(const char *node, firn_result result, const char *message, void *user)
{
    (void)node;
    (void)result;
    (void)user;
    fprintf(stderr, "error: %s\n", message);
}

static int open_inputs(firn_graph *graph, bool all)
{
    const firn_host host = {.log = print_warning};
    size_t count = 0;
    firn_graph_set_host(graph, &host);
    firn_result result = firn_graph_check_inputs(graph, all, print_failure, NULL, &count, NULL);
    firn_graph_set_host(graph, NULL);
    if (result == FIRN_OK)
        printf("inputs: %zu read at %s\n", count,
               all ? "every frame" : "the first and the last frame");
    return firn_exit_code(result);
}

static int check_scene(const char *path, const request *wanted)
{
    firn_graph *graph = NULL;
    int code = firn_shot_load("check", path, &wanted->shot, &graph, NULL);
    if (code != FIRN_EXIT_OK)
        return code;
    size_t count = 0;
    while (firn_graph_node(graph, count) != NULL)
        count++;
    const firn_shot *shot = firn_graph_shot(graph);
    char quality[FIRN_TEXT_SIZE];
    firn_param_print(firn_params_find(firn_shot_params(), "quality"), shot, quality,
                     sizeof quality);
    printf("%s: %zu nodes, frames %d to %d at %g per second, %s\n", shot->name, count, shot->first,
           shot->last, (double)shot->fps, quality);
    code = firn_shot_check_cook(graph, NULL);
    if (code == FIRN_EXIT_OK)
        code = open_inputs(graph, wanted->all_frames != NULL);
    if (code == FIRN_EXIT_OK)
        code = print_cache(graph);
    if (code == FIRN_EXIT_OK)
        printf("ready to cook\n");
    firn_graph_destroy(graph);
    return code;
}

// The graph that a cache was cooked from.
static int check_cache(const char *folder, const request *wanted)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/resolved.firn", folder);
    return check_scene(path, wanted);
}

static int check_wedge(const char *folder, const request *wanted)
{
    firn_wedge_table *table = NULL;
    firn_error error;
    firn_result result = firn_wedge_table_read(folder, &table, &error);
    int code = firn_exit_of(result, &error);
    for (size_t v = 0; result == FIRN_OK && v < table->count; v++) {
        char variant[FIRN_PATH_SIZE];
        snprintf(variant, sizeof variant, "%.4000s/w%zu", folder, v);
        printf("w%zu (%s): %s\n", v, table->rows[v].status, table->rows[v].values);
        fflush(stdout);
        int one = access(variant, F_OK) == 0 ? check_cache(variant, wanted) : FIRN_EXIT_OK;
        code = code == FIRN_EXIT_OK ? one : code;
    }
    firn_wedge_table_free(table);
    return code;
}

static int run_check(const void *memory, const firn_words *words)
{
    const char *path = words->words[0];
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return check_scene(path, memory);
    return firn_wedge_has_table(path) ? check_wedge(path, memory) : check_cache(path, memory);
}

static const firn_option own[] = {
    {"--all-frames", NULL, "read the inputs at every frame, not only at the first and the last",
     offsetof(request, all_frames)},
};

const firn_command firn_command_check = {
    .name = "check",
    .summary = "lists everything that is wrong with a shot, and the state of its cache",
    .usage = "SHOT.firn|CACHE [OPTIONS]",
    .about = "Reads the scene, looks for missing links and files and for values that do not fit\n"
             "together, and prints every problem that it finds. Then reads what colliders,\n"
             "sources and caches bring in, at the first and the last frame, with all that there\n"
             "is to say about units, times and velocities. Nothing is simulated. Then says\n"
             "whether the cache is none, partial, complete, or stale: cooked from other settings.\n"
             "The folder of a cache or a wedge stands for what it was cooked from.",
    .example = "  firn check shot.firn\n"
               "  firn check shot.firn --set ball.file=bunny.obj",
    .own = {own, FIRN_COUNT(own)},
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run_check,
};
