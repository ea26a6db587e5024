/// `firn check`: everything that is wrong with a scene, without cooking it.
#define _POSIX_C_SOURCE 200809L
#include "shot.h"

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
    warn_of_place(firn_shot_nearest(folder));
    return FIRN_EXIT_OK;
}

static int run_check(const void *memory, const firn_words *words)
{
    firn_graph *graph = NULL;
    int code = firn_shot_load("check", words->words[0], memory, &graph, NULL);
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
        code = print_cache(graph);
    if (code == FIRN_EXIT_OK)
        printf("ready to cook\n");
    firn_graph_destroy(graph);
    return code;
}

const firn_command firn_command_check = {
    .name = "check",
    .summary = "lists everything that is wrong with a shot, and the state of its cache",
    .usage = "SHOT.firn [OPTIONS]",
    .about = "Reads the scene, looks for missing links and files and for values that do not fit\n"
             "together, and prints every problem that it finds. Nothing is cooked. Then says\n"
             "whether the cache is none, partial, complete, or stale: cooked from other settings.",
    .example = "  firn check shot.firn\n"
               "  firn check shot.firn --set ball.file=bunny.obj",
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(firn_shot_words),
    .least = 1,
    .most = 1,
    .run = run_check,
};
