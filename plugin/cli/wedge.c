/// `firn wedge`: the same shot with many values of some parameters, one cache for each.
#include "bake.h"
#include "shot.h"

#include <stdio.h>
#include <string.h>

enum { AXIS_MAX = 16, VALUE_MAX = 1000, VARIANT_MAX = 100000, NAME_SIZE = 256 };

typedef struct request {
    firn_shot_words shot;
    firn_words vary;
    const char *list, *only, *resume, *quiet, *json;
} request;

/// A parameter and the values that it takes.
typedef struct axis {
    char name[NAME_SIZE];      // "node.param"
    char text[FIRN_TEXT_SIZE]; // the values, each ends with a zero
    size_t count;
    const char *values[VALUE_MAX];
} axis;

typedef struct wedge_plan {
    size_t axis_count, variant_count;
    axis axes[AXIS_MAX];
} wedge_plan;

// --- What to vary --------------------------------------------------------------------------------

static bool add_value(axis *a, const char *value, size_t length, size_t *used)
{
    if (a->count == VALUE_MAX || *used + length + 1 > sizeof a->text || length == 0)
        return false;
    memcpy(a->text + *used, value, length);
    a->text[*used + length] = '\0';
    a->values[a->count++] = a->text + *used;
    *used += length + 1;
    return true;
}

// "from:to:count", both ends included; false when it is not of that form.
static bool read_range(axis *a, const char *text)
{
    double from, to;
    int count, length = 0;
    if (sscanf(text, "%lf:%lf:%d%n", &from, &to, &count, &length) != 3 || text[length] != '\0' ||
        count < 1 || count > VALUE_MAX)
        return false;
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        char value[64];
        double share = count > 1 ? (double)i / (count - 1) : 0.0;
        int size = snprintf(value, sizeof value, "%.7g", from + share * (to - from));
        if (!add_value(a, value, (size_t)size, &used))
            return false;
    }
    return true;
}

static bool read_axis(axis *a, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof a->name)
        return false;
    memcpy(a->name, text, (size_t)(equals - text));
    if (read_range(a, equals + 1))
        return true;
    size_t used = 0;
    a->count = 0;
    for (const char *at = equals + 1;; at++) {
        size_t length = strcspn(at, ",");
        if (!add_value(a, at, length, &used))
            return false;
        at += length;
        if (*at == '\0')
            return true;
    }
}

static int read_plan(const request *own, wedge_plan *plan)
{
    plan->variant_count = 1;
    if (own->vary.count == 0 || own->vary.count > AXIS_MAX)
        return firn_usage("wedge", "--vary is needed, 1 to %d times", AXIS_MAX);
    for (size_t i = 0; i < own->vary.count; i++) {
        if (!read_axis(&plan->axes[i], own->vary.words[i]))
            return firn_usage("wedge",
                              "--vary takes node.param=a,b,c or node.param=from:to:count, "
                              "not '%s'",
                              own->vary.words[i]);
        plan->axis_count++;
        plan->variant_count *= plan->axes[i].count;
        if (plan->variant_count > VARIANT_MAX)
            return firn_usage("wedge", "that makes more than %d variants", VARIANT_MAX);
    }
    return FIRN_EXIT_OK;
}

// The value of an axis in a variant; the last axis changes fastest.
static const char *value_of(const wedge_plan *plan, size_t variant, size_t index)
{
    for (size_t i = plan->axis_count - 1; i > index; i--)
        variant /= plan->axes[i].count;
    return plan->axes[index].values[variant % plan->axes[index].count];
}

// --- The variants --------------------------------------------------------------------------------

static int load_variant(const request *own, const wedge_plan *plan, const char *path,
                        size_t variant, firn_graph **graph)
{
    int code = firn_shot_load("wedge", path, &own->shot, graph);
    char text[NAME_SIZE + FIRN_TEXT_SIZE + 2];
    snprintf(text, sizeof text, "%zu", variant);
    if (code == FIRN_EXIT_OK)
        code = firn_shot_set(*graph, NULL, "wedge", text);
    for (size_t i = 0; code == FIRN_EXIT_OK && i < plan->axis_count; i++) {
        firn_error error;
        snprintf(text, sizeof text, "%s=%s", plan->axes[i].name, value_of(plan, variant, i));
        if (firn_graph_set_text(*graph, text, &error) == FIRN_OK)
            continue;
        fprintf(stderr, "firn: --vary %s: %s\n", text, error.message);
        code = FIRN_EXIT_USAGE;
    }
    if (code == FIRN_EXIT_OK)
        return code;
    firn_graph_destroy(*graph);
    *graph = NULL;
    return code;
}

static void append_cell(firn_file_writer *file, const char *text, const char *end)
{
    bool quote = strpbrk(text, ",\" ") != NULL;
    if (quote)
        firn_file_write(file, "\"", 1);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            firn_file_write(file, "\"", 1);
        firn_file_write(file, text, 1);
    }
    if (quote)
        firn_file_write(file, "\"", 1);
    firn_file_write(file, end, 1);
}

static void append_table(firn_file_writer *file, const wedge_plan *plan)
{
    append_cell(file, "wedge", ",");
    for (size_t i = 0; i < plan->axis_count; i++)
        append_cell(file, plan->axes[i].name, ",");
    append_cell(file, "folder", "\n");
    for (size_t v = 0; v < plan->variant_count; v++) {
        char text[32];
        snprintf(text, sizeof text, "%zu", v);
        append_cell(file, text, ",");
        for (size_t i = 0; i < plan->axis_count; i++)
            append_cell(file, value_of(plan, v, i), ",");
        snprintf(text, sizeof text, "w%zu", v);
        append_cell(file, text, "\n");
    }
}

// <base>/<name>/v<version>/wedges.csv, beside the folders of the variants.
static firn_result write_table(const wedge_plan *plan, const firn_graph *graph, firn_error *error)
{
    char folder[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE + 16];
    FIRN_TRY(firn_graph_cache_folder(graph, folder, sizeof folder, error));
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
    snprintf(path, sizeof path, "%s/wedges.csv", folder);
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_create(path, &file, error));
    append_table(file, plan);
    return firn_file_commit(file, error);
}

static void print_variant(const wedge_plan *plan, size_t variant)
{
    printf("w%zu", variant);
    for (size_t i = 0; i < plan->axis_count; i++)
        printf("  %s=%s", plan->axes[i].name, value_of(plan, variant, i));
    printf("\n");
    fflush(stdout);
}

static int cook_variant(const request *own, const wedge_plan *plan, const char *path,
                        size_t variant)
{
    firn_graph *graph = NULL;
    firn_voice voice = firn_voice_choose(own->quiet != NULL, own->json != NULL);
    int code = load_variant(own, plan, path, variant, &graph);
    if (code != FIRN_EXIT_OK)
        return code;
    if (voice == FIRN_VOICE_PLAIN || voice == FIRN_VOICE_BAR)
        print_variant(plan, variant);
    firn_bake_def def;
    firn_shot_frames(own->shot.frames, graph, &def);
    def.resume = own->resume != NULL;
    code = firn_bake_run(graph, &def, voice);
    firn_error error;
    firn_result result = code == FIRN_EXIT_OK ? write_table(plan, graph, &error) : FIRN_OK;
    firn_graph_destroy(graph);
    return result == FIRN_OK ? code : firn_exit_of(result, &error);
}

// A variant that fails does not keep the others from being cooked; a signal does.
static int cook_all(const request *own, const wedge_plan *plan, const char *path)
{
    int code = FIRN_EXIT_OK, only = -1;
    if (own->only != NULL && !firn_read_int(own->only, 0, (int)plan->variant_count - 1, &only))
        return firn_usage("wedge", "--only must be 0 to %zu, not '%s'", plan->variant_count - 1,
                          own->only);
    firn_signals_catch();
    for (size_t v = 0; v < plan->variant_count && firn_signals_stop() == 0; v++) {
        if (only >= 0 && v != (size_t)only)
            continue;
        int one = cook_variant(own, plan, path, v);
        if (one != FIRN_EXIT_OK) {
            fprintf(stderr, "firn wedge: variant w%zu ended with exit code %d\n", v, one);
            code = code == FIRN_EXIT_OK || firn_signals_stop() != 0 ? one : code;
        }
        if (one == FIRN_EXIT_USAGE)
            break;
    }
    return code;
}

static int run_wedge(const void *memory, const firn_words *words)
{
    const request *own = memory;
    wedge_plan *plan = firn_alloc_zero(sizeof *plan);
    if (plan == NULL)
        return FIRN_EXIT_MEMORY;
    int code = read_plan(own, plan);
    if (code == FIRN_EXIT_OK && own->list == NULL) {
        code = cook_all(own, plan, words->words[0]);
    } else if (code == FIRN_EXIT_OK) {
        for (size_t v = 0; code == FIRN_EXIT_OK && v < plan->variant_count; v++) {
            firn_graph *graph = NULL;
            code = load_variant(own, plan, words->words[0], v, &graph);
            firn_graph_destroy(graph);
            if (code == FIRN_EXIT_OK)
                print_variant(plan, v);
        }
    }
    firn_free(plan);
    return code;
}

#define ROW(field) offsetof(request, field)

static const firn_option options[] = {
    {"--vary", "NODE.PARAM=...", "a,b,c or from:to:count; repeated: all combinations", ROW(vary),
     true},
    {"--list", NULL, "prints the variants and cooks nothing", ROW(list)},
    {"--only", "N", "cooks one variant, for job arrays", ROW(only)},
    {"--resume", NULL, "keeps what is there and whole, cooks the rest", ROW(resume)},
    {"--quiet", NULL, "only warnings and errors", ROW(quiet)},
    {"--log-json", NULL, "one JSON object per event and line", ROW(json)},
};

const firn_command firn_command_wedge = {
    .name = "wedge",
    .summary = "cooks a shot with many values of some parameters",
    .usage = "SHOT.firn --vary NODE.PARAM=VALUES... [OPTIONS]",
    .about = "Cooks every combination of the values into a folder of its own,\n"
             "<base>/<name>/v<version>/w<number>, with the graph as it was cooked, and writes\n"
             "wedges.csv beside them, which says what each number stands for.",
    .example = "  firn wedge shot.firn --vary snow.hardening=5,10,20 --list\n"
               "  firn wedge shot.firn --vary snow.young=5e4:2e5:4 --vary ground.friction=0,0.5\n"
               "  firn wedge shot.firn --vary snow.hardening=5,10,20 --only $SLURM_ARRAY_TASK_ID",
    .own = {options, FIRN_COUNT(options)},
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run_wedge,
};
