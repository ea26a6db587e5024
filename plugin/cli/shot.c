#define _POSIX_C_SOURCE 200809L
#include "shot.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROW(field) offsetof(firn_shot_words, field)

const firn_option firn_shot_rows[FIRN_SHOT_ROW_COUNT] = {
    {"--frames", "A-B[xN]", "frames to write, every Nth: 1001-1100, 1-100x2", ROW(frames)},
    {"--set", "NODE.PARAM=VALUE", "overrides a parameter; may be repeated", ROW(sets), true},
    {"--base", "DIR", "folder of caches, instead of the scene's", ROW(base)},
    {"--quality", "NAME", "preview or final", ROW(quality)},
    {"--threads", "N", "threads to use, 0: all cores", ROW(threads)},
    {"--max-memory", "MB", "most memory of each simulation", ROW(memory)},
};

int firn_shot_set(firn_graph *graph, const char *node, const char *param, const char *text)
{
    firn_error error;
    if (firn_graph_set_param(graph, node, param, text, FIRN_LAYER_ALWAYS, &error) == FIRN_OK)
        return FIRN_EXIT_OK;
    fprintf(stderr, "firn: %s\n", error.message);
    return FIRN_EXIT_USAGE;
}

// Sets a parameter of every node that has it.
static int set_everywhere(firn_graph *graph, const char *param, const char *text)
{
    if (text == NULL)
        return FIRN_EXIT_OK;
    for (size_t i = 0; firn_graph_node(graph, i) != NULL; i++) {
        const char *node = firn_graph_node(graph, i);
        if (firn_params_find(firn_graph_node_type(graph, node)->params, param) == NULL)
            continue;
        int code = firn_shot_set(graph, node, param, text);
        if (code != FIRN_EXIT_OK)
            return code;
    }
    return FIRN_EXIT_OK;
}

// A folder on the command line is relative to where the user is, not to the scene.
static int set_base(firn_graph *graph, const char *base)
{
    char here[FIRN_PATH_SIZE], path[2 * FIRN_PATH_SIZE];
    if (base == NULL)
        return FIRN_EXIT_OK;
    if (base[0] == '/' || base[0] == '$' || getcwd(here, sizeof here) == NULL)
        return firn_shot_set(graph, NULL, "base", base);
    snprintf(path, sizeof path, "%s/%s", here, base);
    return firn_shot_set(graph, NULL, "base", path);
}

static int apply(firn_graph *graph, const firn_shot_words *words)
{
    firn_error error;
    int code = set_everywhere(graph, "thread_count", words->threads);
    if (code == FIRN_EXIT_OK)
        code = set_everywhere(graph, "memory_limit", words->memory);
    if (code == FIRN_EXIT_OK)
        code = set_base(graph, words->base);
    if (code == FIRN_EXIT_OK && words->quality != NULL)
        code = firn_shot_set(graph, NULL, "quality", words->quality);
    for (size_t i = 0; code == FIRN_EXIT_OK && i < words->sets.count; i++) {
        if (firn_graph_set_text(graph, words->sets.words[i], &error) == FIRN_OK)
            continue;
        fprintf(stderr, "firn: --set %s: %s\n", words->sets.words[i], error.message);
        code = FIRN_EXIT_USAGE;
    }
    return code;
}

int firn_shot_load(const char *command, const char *path, const firn_shot_words *words,
                   firn_graph **graph)
{
    *graph = NULL;
    if (access(path, F_OK) != 0) {
        fprintf(stderr, "firn %s: there is no scene '%s'; `firn new` makes one\n", command, path);
        return FIRN_EXIT_MISSING;
    }
    firn_error error;
    firn_result result = firn_graph_load(path, graph, &error);
    if (result != FIRN_OK) {
        int code = firn_exit_of(result, &error);
        bool of_the_graph = result == FIRN_ERR_ARGUMENT || result == FIRN_ERR_NOT_FOUND ||
                            result == FIRN_ERR_FORMAT || result == FIRN_ERR_UNSUPPORTED;
        return of_the_graph ? FIRN_EXIT_GRAPH : code;
    }
    int code = apply(*graph, words);
    firn_bake_def def;
    if (code == FIRN_EXIT_OK && !firn_shot_frames(words->frames, *graph, &def))
        code =
            firn_usage(command, "--frames takes 7, 1001-1100 or 1-100x2, not '%s'", words->frames);
    if (code == FIRN_EXIT_OK)
        return code;
    firn_graph_destroy(*graph);
    *graph = NULL;
    return code;
}

bool firn_shot_frames(const char *text, const firn_graph *graph, firn_bake_def *def)
{
    const firn_shot *shot = firn_graph_shot(graph);
    *def = firn_bake_def_default();
    def->whole = text == NULL;
    def->first = shot->first;
    def->last = shot->last;
    def->step = 1;
    if (text == NULL)
        return true;
    int length = 0;
    if (sscanf(text, "%d%n", &def->first, &length) != 1)
        return false;
    def->last = def->first;
    text += length;
    if (*text == '-') {
        if (sscanf(text, "-%d%n", &def->last, &length) != 1)
            return false;
        text += length;
    }
    if (*text == 'x') {
        if (sscanf(text, "x%d%n", &def->step, &length) != 1)
            return false;
        text += length;
    }
    return *text == '\0' && def->first <= def->last && def->step >= 1;
}

int firn_shot_check(firn_graph *graph)
{
    static const char *const levels[] = {"note", "warning", "error"};
    const firn_problem *problems = NULL;
    size_t count = 0;
    firn_error error;
    firn_result result = firn_graph_validate(graph, &problems, &count, &error);
    if (problems == NULL && result != FIRN_OK)
        return firn_exit_of(result, &error);
    int code = FIRN_EXIT_OK;
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "%s: %s\n", levels[problems[i].level], problems[i].message);
        bool missing = problems[i].code == FIRN_ERR_NOT_FOUND && problems[i].param[0] != '\0';
        if (problems[i].level == FIRN_LEVEL_ERROR && code != FIRN_EXIT_GRAPH)
            code = missing ? FIRN_EXIT_MISSING : FIRN_EXIT_GRAPH;
    }
    return code;
}
