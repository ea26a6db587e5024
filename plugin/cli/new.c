/// `firn new`: a scene to begin with, copied from the examples.
#define _XOPEN_SOURCE 700
#include "output.h"

#include "firn/graph.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXAMPLE_MAX = 256, EXAMPLE_LIMIT = 16 << 20 };

typedef struct request {
    const char *output, *force;
} request;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Names of *.firn in a folder, sorted, without the ending; released with free_names.
static size_t list_names(const char *folder, char **names)
{
    DIR *directory = opendir(folder);
    size_t count = 0;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length <= 5 || strcmp(entry->d_name + length - 5, ".firn") != 0 || count == EXAMPLE_MAX)
            continue;
        char *name = firn_alloc_zero(length);
        if (name == NULL)
            break;
        memcpy(name, entry->d_name, length - 5);
        names[count++] = name;
    }
    if (directory != NULL)
        closedir(directory);
    qsort(names, count, sizeof *names, compare_names);
    return count;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        firn_free(names[i]);
}

// A folder of that name may belong to a build.
static bool has_examples(const char *folder)
{
    char *names[EXAMPLE_MAX];
    size_t count = list_names(folder, names);
    free_names(names, count);
    return count > 0;
}

// Where the examples are, seen from the folder of the program.
static const char *const places[] = {"../share/firn/scenes", "../docs/scenes", "../../docs/scenes"};

static bool find_folder(char *folder, size_t size)
{
    const char *given = getenv("FIRN_SCENES");
    if (given != NULL) {
        snprintf(folder, size, "%s", given);
        return access(folder, R_OK) == 0;
    }
    char program[FIRN_PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < FIRN_COUNT(places); i++) {
        int written = snprintf(folder, size, "%s/%s", program, places[i]);
        if ((size_t)written < size && has_examples(folder))
            return true;
    }
    return false;
}

static firn_result load_example(const char *folder, const char *name, char *path,
                                firn_graph **graph, firn_error *error)
{
    int length = snprintf(path, FIRN_PATH_SIZE, "%s/%s.firn", folder, name);
    if (length >= FIRN_PATH_SIZE)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the example is too long");
    return firn_graph_load(path, graph, error);
}

static int list_examples(const char *folder)
{
    char *names[EXAMPLE_MAX], path[FIRN_PATH_SIZE];
    size_t count = list_names(folder, names);
    for (size_t i = 0; i < count; i++) {
        firn_graph *graph = NULL;
        firn_error error;
        const char *comment = error.message;
        if (load_example(folder, names[i], path, &graph, &error) == FIRN_OK)
            comment = firn_graph_shot(graph)->comment;
        printf("  %-24s %s\n", names[i], comment);
        firn_graph_destroy(graph);
    }
    printf("\n`firn new NAME -o shot.firn` makes one of these yours.\n");
    free_names(names, count);
    return FIRN_EXIT_OK;
}

static firn_result copy_file(const char *from, const char *to, firn_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_read(from, EXAMPLE_LIMIT, &bytes, &size, error));
    firn_result result = firn_file_create(to, &file, error);
    if (result == FIRN_OK) {
        firn_file_write(file, bytes, size);
        result = firn_file_commit(file, error);
    }
    firn_free(bytes);
    return result;
}

// Where a file of the example goes: beside the scene, under its own name.
static void place_beside(const char *output, const char *name, char path[FIRN_PATH_SIZE])
{
    const char *slash = strrchr(output, '/');
    int length = slash != NULL ? (int)(slash - output + 1) : 0;
    snprintf(path, FIRN_PATH_SIZE, "%.*s%.1000s", length, output, name);
}

static bool same_bytes(const char *one, const char *other)
{
    void *bytes[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    bool same = firn_file_read(one, EXAMPLE_LIMIT, &bytes[0], &size[0], NULL) == FIRN_OK &&
                firn_file_read(other, EXAMPLE_LIMIT, &bytes[1], &size[1], NULL) == FIRN_OK &&
                size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0;
    firn_free(bytes[0]);
    firn_free(bytes[1]);
    return same;
}

/// A copy in progress.
typedef struct copying {
    firn_graph *graph;
    const char *output;
    bool force;
    bool moved; // a file is elsewhere than the example says
} copying;

// Copies what a parameter names beside the scene and calls it by its name.
static firn_result bring_file(copying *c, const char *node, const char *param, firn_error *error)
{
    char from[FIRN_PATH_SIZE], to[FIRN_PATH_SIZE], text[FIRN_TEXT_SIZE];
    FIRN_TRY(firn_graph_get_text(c->graph, node, param, 0.0, text, sizeof text, error));
    if (text[0] == '\0')
        return FIRN_OK;
    FIRN_TRY(firn_graph_get_path(c->graph, node, param, from, sizeof from, error));
    const char *name = strrchr(from, '/') != NULL ? strrchr(from, '/') + 1 : from;
    bool numbered = firn_path_has_frame(from); // such files stay where they are
    place_beside(c->output, name, to);
    c->moved = c->moved || numbered || strcmp(text, name) != 0;
    if (!numbered && !c->force && access(to, F_OK) == 0 && !same_bytes(from, to))
        return firn_fail(error, FIRN_ERR_EXISTS, "'%.700s' is there already; --force replaces it",
                         to);
    if (!numbered && !same_bytes(from, to))
        FIRN_TRY(copy_file(from, to, error));
    return firn_graph_set_param(c->graph, node, param, numbered ? from : name, FIRN_LAYER_ALWAYS,
                                error);
}

// Everything that the example reads comes with it, so that the folder can go anywhere.
static firn_result bring_files(copying *c, firn_error *error)
{
    for (size_t i = 0; firn_graph_node(c->graph, i) != NULL; i++) {
        const char *node = firn_graph_node(c->graph, i);
        firn_param_table table = firn_graph_node_type(c->graph, node)->params;
        for (size_t k = 0; k < table.count; k++)
            if (table.params[k].type == FIRN_PATH)
                FIRN_TRY(bring_file(c, node, table.params[k].name, error));
    }
    return FIRN_OK;
}

static firn_result copy_example(const char *folder, const char *name, const char *output,
                                const request *own, firn_error *error)
{
    char path[FIRN_PATH_SIZE], place[FIRN_PATH_SIZE];
    if (realpath(folder, place) == NULL)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "there is no folder '%s'", folder);
    firn_graph *graph = NULL;
    FIRN_TRY(load_example(place, name, path, &graph, error));
    copying c = {graph, output, own->force != NULL, false};
    firn_result result = bring_files(&c, error);
    if (result == FIRN_OK)
        result = c.moved ? firn_graph_save(graph, output, error) : copy_file(path, output, error);
    firn_graph_destroy(graph);
    return result;
}

static int run_new(const void *memory, const firn_words *words)
{
    const request *own = memory;
    char folder[FIRN_PATH_SIZE], output[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE + 256];
    if (!find_folder(folder, sizeof folder)) {
        fprintf(stderr,
                "firn new: the examples are not found; FIRN_SCENES may name their folder\n");
        return FIRN_EXIT_MISSING;
    }
    if (words->count == 0)
        return list_examples(folder);
    const char *name = words->words[0];
    snprintf(path, sizeof path, "%s/%.200s.firn", folder, name);
    if (strchr(name, '/') != NULL || access(path, R_OK) != 0) {
        fprintf(stderr, "firn new: there is no example '%s'; `firn new` lists them\n", name);
        return FIRN_EXIT_USAGE;
    }
    snprintf(output, sizeof output, "%s%s", own->output != NULL ? own->output : name,
             own->output != NULL ? "" : ".firn");
    if (!firn_output_ends(output, ".firn"))
        return firn_usage("new", "-o takes a .firn, not '%s'", output);
    if (own->force == NULL && access(output, F_OK) == 0) {
        fprintf(stderr, "firn new: '%s' is there already; --force replaces it\n", output);
        return FIRN_EXIT_EXISTS;
    }
    firn_error error;
    firn_result result = copy_example(folder, name, output, own, &error);
    if (result == FIRN_OK)
        printf("%s: next, `firn cook %s`\n", output, output);
    return firn_exit_of(result, &error);
}

static const firn_option options[] = {
    {"-o", "FILE", "where to, NAME.firn by itself", offsetof(request, output)},
    {"--force", NULL, "replaces a file that is there", offsetof(request, force)},
};

const firn_command firn_command_new = {
    .name = "new",
    .summary = "begins a shot from an example; lists the examples",
    .usage = "[NAME] [-o SHOT.firn]",
    .about = "Copies an example, ready to cook, with the files that it reads beside it. Without\n"
             "NAME it lists what there is. Examples are looked for in $FIRN_SCENES, or where\n"
             "Firn was installed or built.",
    .example = "  firn new\n"
               "  firn new snowball_smash -o shot.firn",
    .own = {options, FIRN_COUNT(options)},
    .request_size = sizeof(request),
    .most = 1,
    .run = run_new,
};
