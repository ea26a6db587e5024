#define _POSIX_C_SOURCE 200809L
#include "shot.h"

#include "limits.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROW(field) offsetof(firn_shot_words, field)

const firn_option firn_shot_rows[FIRN_SHOT_ROW_COUNT] = {
    {"--frames", "A-B[xN]", "frames to write, every Nth: 1001-1100, 1-100x2", ROW(frames)},
    {"--set", "NODE.PARAM=VALUE", "overrides a parameter; may be repeated", ROW(sets), true},
    {"--base", "DIR", "folder of caches, instead of the scene's", ROW(base)},
    {"--quality", "NAME", "preview or final", ROW(quality)},
    {"--threads", "N", "threads to use, 0: all cores", ROW(threads)},
    {"--max-memory", "MB", "most memory of the process; what needs more is refused", ROW(memory)},
};

int firn_shot_refuse(firn_error *said, int code, const char *format, ...)
{
    firn_error own;
    said = said != NULL ? said : &own;
    va_list values;
    va_start(values, format);
    vsnprintf(said->message, sizeof said->message, format, values);
    va_end(values);
    fprintf(stderr, "firn: %s\n", said->message);
    return code;
}

/// A setting that an option of the command line stands for.
typedef struct setting {
    const char *option, *param, *text;
} setting;

// Node NULL: of the shot.
static int set(firn_graph *graph, const char *node, const setting *s, firn_error *said)
{
    firn_error error;
    if (firn_graph_set_param(graph, node, s->param, s->text, FIRN_LAYER_ALWAYS, &error) == FIRN_OK)
        return FIRN_EXIT_OK;
    return firn_shot_refuse(said, FIRN_EXIT_USAGE, "%s %s: %s", s->option, s->text, error.message);
}

// Sets a parameter of every node that has it.
static int set_everywhere(firn_graph *graph, const setting *s, firn_error *said)
{
    if (s->text == NULL)
        return FIRN_EXIT_OK;
    for (size_t i = 0; firn_graph_node(graph, i) != NULL; i++) {
        const char *node = firn_graph_node(graph, i);
        if (firn_params_find(firn_graph_node_type(graph, node)->params, s->param) == NULL)
            continue;
        int code = set(graph, node, s, said);
        if (code != FIRN_EXIT_OK)
            return code;
    }
    return FIRN_EXIT_OK;
}

// A folder on the command line is relative to where the user is, not to the scene.
static int set_base(firn_graph *graph, const char *base, firn_error *said)
{
    char here[FIRN_PATH_SIZE], path[2 * FIRN_PATH_SIZE];
    setting s = {"--base", "base", base};
    if (base == NULL)
        return FIRN_EXIT_OK;
    if (base[0] != '/' && base[0] != '$' && getcwd(here, sizeof here) != NULL) {
        snprintf(path, sizeof path, "%s/%s", here, base);
        s.text = path;
    }
    return set(graph, NULL, &s, said);
}

static int apply(firn_graph *graph, const firn_shot_words *words, firn_error *said)
{
    firn_error error;
    const setting quality = {"--quality", "quality", words->quality};
    int code = set_everywhere(graph, &(setting){"--threads", "thread_count", words->threads}, said);
    if (code == FIRN_EXIT_OK)
        code =
            set_everywhere(graph, &(setting){"--max-memory", "memory_limit", words->memory}, said);
    double megabytes = 0.0;
    if (code == FIRN_EXIT_OK && words->memory != NULL &&
        firn_read_number(words->memory, &megabytes) && megabytes > 0.0)
        firn_memory_bound(megabytes);
    if (code == FIRN_EXIT_OK)
        code = set_base(graph, words->base, said);
    if (code == FIRN_EXIT_OK && words->quality != NULL)
        code = set(graph, NULL, &quality, said);
    bool fine = code == FIRN_EXIT_OK;
    for (size_t i = 0; fine && i < words->sets.count; i++)
        if (firn_graph_set_text(graph, words->sets.words[i], &error) != FIRN_OK)
            code = firn_shot_refuse(code == FIRN_EXIT_OK ? said : NULL, FIRN_EXIT_USAGE,
                                    "--set %s: %s", words->sets.words[i], error.message);
    return code;
}

static void tell_mistake(const char *message, void *user)
{
    (void)user;
    fprintf(stderr, "firn: %s\n", message);
}

// Says everything that is wrong with a scene that cannot be loaded.
static int refuse_scene(const char *path, firn_result result, const firn_error *error,
                        firn_error *said)
{
    bool of_the_graph = result == FIRN_ERR_ARGUMENT || result == FIRN_ERR_NOT_FOUND ||
                        result == FIRN_ERR_FORMAT || result == FIRN_ERR_UNSUPPORTED;
    if (!of_the_graph)
        return firn_shot_refuse(said, firn_exit_code(result), "%s", error->message);
    if (said != NULL)
        *said = *error;
    firn_scene_check(path, tell_mistake, NULL, NULL);
    return FIRN_EXIT_GRAPH;
}

// A shot whose frames are in the wrong order is told by its check.
static int check_frames(const firn_graph *graph, const char *text, const firn_bake_def *def,
                        firn_error *said)
{
    const firn_shot *shot = firn_graph_shot(graph);
    bool inside = def->first >= shot->first && def->last <= shot->last;
    if (text == NULL || inside || shot->first > shot->last)
        return FIRN_EXIT_OK;
    return firn_shot_refuse(said, FIRN_EXIT_USAGE,
                            "--frames %s: the shot has frames %d to %d; --set first= and --set "
                            "last= change that",
                            text, shot->first, shot->last);
}

int firn_shot_load(const char *command, const char *path, const firn_shot_words *words,
                   firn_graph **graph, firn_error *said)
{
    *graph = NULL;
    if (access(path, F_OK) != 0)
        return firn_shot_refuse(said, FIRN_EXIT_MISSING,
                                "there is no scene '%s'; `firn new` makes one", path);
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return firn_shot_refuse(said, FIRN_EXIT_MISSING,
                                "'%s' is a folder, not a scene; that of a cache is the file "
                                "resolved.firn in it",
                                path);
    firn_error error;
    firn_result result = firn_graph_load(path, graph, &error);
    if (result != FIRN_OK)
        return refuse_scene(path, result, &error, said);
    int code = apply(*graph, words, said);
    firn_bake_def def;
    if (code == FIRN_EXIT_OK && !firn_shot_frames(words->frames, *graph, &def))
        code = firn_shot_refuse(
            said, FIRN_EXIT_USAGE,
            "--frames takes 7, 1001-1100 or 1-100x2, not '%s'%s (see firn %s --help)",
            words->frames, def.first > def.last ? ", which ends before it begins" : "", command);
    if (code == FIRN_EXIT_OK)
        code = check_frames(*graph, words->frames, &def, said);
    if (code == FIRN_EXIT_OK)
        return code;
    firn_graph_destroy(*graph);
    *graph = NULL;
    return code;
}

// Reads a whole number and moves behind it.
static bool read_frame(const char **at, int *frame)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(*at, &end, 10);
    bool begins = (*at)[0] == '-' ? isdigit((unsigned char)(*at)[1]) != 0
                                  : isdigit((unsigned char)(*at)[0]) != 0;
    if (!begins || errno != 0 || number < INT_MIN || number > INT_MAX)
        return false;
    *frame = (int)number;
    *at = end;
    return true;
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
    if (!read_frame(&text, &def->first))
        return false;
    def->last = def->first;
    if (*text == '-' && (text++, !read_frame(&text, &def->last)))
        return false;
    if (*text == 'x' && (text++, !read_frame(&text, &def->step)))
        return false;
    return *text == '\0' && def->first <= def->last && def->step >= 1;
}

// The exit code of an error: files have their own, the rest is the graph's.
static int code_of(const firn_problem *problem)
{
    if (problem->code == FIRN_ERR_MEMORY)
        return FIRN_EXIT_MEMORY;
    bool of_a_file = problem->param[0] != '\0' &&
                     (problem->code == FIRN_ERR_NOT_FOUND || problem->code == FIRN_ERR_FORMAT);
    return of_a_file ? firn_exit_code(problem->code) : FIRN_EXIT_GRAPH;
}

int firn_shot_check(firn_graph *graph, firn_error *said)
{
    static const char *const levels[] = {"note", "warning", "error"};
    const firn_problem *problems = NULL;
    size_t count = 0;
    firn_error error;
    firn_result result = firn_graph_validate(graph, &problems, &count, &error);
    if (problems == NULL && result != FIRN_OK)
        return firn_shot_refuse(said, firn_exit_code(result), "%s", error.message);
    if (said != NULL)
        *said = error;
    int code = FIRN_EXIT_OK;
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "%s: %s\n", levels[problems[i].level], problems[i].message);
        if (problems[i].level == FIRN_LEVEL_ERROR && code != FIRN_EXIT_GRAPH)
            code = code_of(&problems[i]);
    }
    return code;
}

int firn_shot_check_cook(firn_graph *graph, firn_error *said)
{
    int code = firn_shot_check(graph, said);
    for (size_t i = 0; firn_graph_node(graph, i) != NULL; i++)
        if (firn_graph_node_type(graph, firn_graph_node(graph, i))->output == FIRN_KIND_NONE)
            return code;
    const char *message = "no node of the graph writes files; add write_particles or write_volume";
    fprintf(stderr, "error: %s\n", message);
    if (said != NULL && code == FIRN_EXIT_OK)
        snprintf(said->message, sizeof said->message, "%s", message);
    return FIRN_EXIT_GRAPH;
}

const char *firn_shot_nearest(char *path)
{
    while (access(path, F_OK) != 0) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return ".";
        if (slash == path)
            return "/";
        *slash = '\0';
    }
    return path;
}
