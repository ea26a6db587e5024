/// `firn wedge`: the same shot with many values of some parameters, one cache for each.
#include "wedge.h"

#include "bake.h"
#include "shot.h"

#include <stdio.h>
#include <string.h>

enum { VARIANT_MAX = 100000 };

typedef struct request {
    firn_shot_words shot;
    firn_words vary;
    const char *list, *only, *resume, *overwrite, *quiet, *json, *progress;
} request;

// --- What to vary --------------------------------------------------------------------------------

static bool add_value(firn_axis *a, const char *value, size_t length, size_t *used)
{
    if (a->count == FIRN_AXIS_VALUES || *used + length + 1 > sizeof a->text || length == 0)
        return false;
    memcpy(a->text + *used, value, length);
    a->text[*used + length] = '\0';
    a->values[a->count++] = a->text + *used;
    *used += length + 1;
    return true;
}

static bool is_range(const char *text)
{
    double from, to;
    return sscanf(text, "%lf:%lf", &from, &to) == 2;
}

// "from:to:count", both ends included; false when it is not of that form.
static bool read_range(firn_axis *a, const char *text)
{
    double from, to;
    int count, length = 0;
    if (sscanf(text, "%lf:%lf:%d%n", &from, &to, &count, &length) != 3 || text[length] != '\0' ||
        count < 1 || count > FIRN_AXIS_VALUES)
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

static bool read_axis(firn_axis *a, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof a->name)
        return false;
    memcpy(a->name, text, (size_t)(equals - text));
    if (is_range(equals + 1))
        return read_range(a, equals + 1);
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

// Settings of the shot that the folders of variants are made of.
static bool is_place(const char *name)
{
    static const char *const places[] = {"name", "base", "version", "wedge"};
    for (size_t i = 0; i < FIRN_COUNT(places); i++)
        if (strcmp(places[i], name) == 0)
            return true;
    return false;
}

static int read_plan(const char *command, const firn_words *vary, firn_wedge *plan)
{
    plan->variant_count = 1;
    if (vary->count == 0 || vary->count > FIRN_AXIS_MAX)
        return firn_usage(command, "--vary is needed, 1 to %d times, or \"vary\" in the scene",
                          FIRN_AXIS_MAX);
    for (size_t i = 0; i < vary->count; i++) {
        if (!read_axis(&plan->axes[i], vary->words[i]))
            return firn_usage(command,
                              "--vary takes node.param=a,b,c or node.param=from:to:count, "
                              "not '%s'",
                              vary->words[i]);
        if (is_place(plan->axes[i].name))
            return firn_usage(command, "%s cannot be varied: it says where the variants go",
                              plan->axes[i].name);
        plan->axis_count++;
        plan->variant_count *= plan->axes[i].count;
        if (plan->variant_count > VARIANT_MAX)
            return firn_usage(command, "that makes more than %d variants", VARIANT_MAX);
    }
    return FIRN_EXIT_OK;
}

static firn_voice voice_of(const request *own)
{
    return firn_voice_choose(own->quiet != NULL, own->json != NULL, own->progress);
}

// --- The variants --------------------------------------------------------------------------------

static int load_variant(const request *own, const firn_wedge *plan, const char *path,
                        size_t variant, firn_graph **graph)
{
    firn_error said, error;
    int code = firn_shot_load("wedge", path, &own->shot, graph, &said);
    char text[FIRN_AXIS_NAME + FIRN_TEXT_SIZE + 2];
    const double number[3] = {(double)variant};
    if (code == FIRN_EXIT_OK && firn_graph_set(*graph, NULL, "wedge", number, &said) != FIRN_OK)
        code = FIRN_EXIT_USAGE;
    for (size_t i = 0; code == FIRN_EXIT_OK && i < plan->axis_count; i++) {
        snprintf(text, sizeof text, "%s=%s", plan->axes[i].name,
                 firn_wedge_value(plan, variant, i));
        if (firn_graph_set_text(*graph, text, &error) != FIRN_OK)
            code = firn_shot_refuse(&said, FIRN_EXIT_USAGE, "--vary %s: %s", text, error.message);
    }
    if (code == FIRN_EXIT_OK)
        return code;
    firn_meter_refuse(voice_of(own), code, said.message);
    firn_graph_destroy(*graph);
    *graph = NULL;
    return code;
}

// <base>/<name>/v<version>, with the folders of the variants.
static firn_result home_of(const firn_graph *graph, char *folder, firn_error *error)
{
    FIRN_TRY(firn_graph_cache_folder(graph, folder, FIRN_PATH_SIZE, error));
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
    return FIRN_OK;
}

static void print_variant(const firn_wedge *plan, size_t variant)
{
    printf("w%zu", variant);
    for (size_t i = 0; i < plan->axis_count; i++)
        printf("  %s=%s", plan->axes[i].name, firn_wedge_value(plan, variant, i));
    printf("\n");
    fflush(stdout);
}

static const char *status_of(int code)
{
    return code == FIRN_EXIT_OK ? "done" : firn_signals_stop() != 0 ? "stopped" : "failed";
}

static int cook_variant(const request *own, const firn_wedge *plan, const char *path,
                        size_t variant, char *home)
{
    firn_graph *graph = NULL;
    firn_bake_run_def run = {.voice = voice_of(own)};
    int code = load_variant(own, plan, path, variant, &graph);
    if (code != FIRN_EXIT_OK)
        return code;
    if (own->only == NULL) {
        run.part = (int)variant;
        run.parts = (int)plan->variant_count;
    }
    if (run.voice == FIRN_VOICE_PLAIN || run.voice == FIRN_VOICE_BAR)
        print_variant(plan, variant);
    firn_bake_def def;
    firn_shot_frames(own->shot.frames, graph, &def);
    def.resume = own->resume != NULL;
    def.overwrite = own->overwrite != NULL;
    firn_error error;
    firn_result result = home_of(graph, home, &error);
    if (result == FIRN_OK)
        result = firn_wedge_note(plan, home, variant, "cooking", -1, &error);
    if (result == FIRN_OK) {
        code = firn_bake_run(graph, &def, &run);
        result = firn_wedge_note(plan, home, variant, status_of(code), code, &error);
    }
    firn_graph_destroy(graph);
    return result == FIRN_OK ? code : firn_exit_of(result, &error);
}

// A variant that fails does not keep the others from being cooked; a signal does.
static int cook_all(const request *own, const firn_wedge *plan, const char *path)
{
    int code = FIRN_EXIT_OK, only = -1;
    char home[FIRN_PATH_SIZE] = "";
    if (own->only != NULL && !firn_read_int(own->only, 0, (int)plan->variant_count - 1, &only))
        return firn_usage("wedge", "--only must be 0 to %zu, not '%s'", plan->variant_count - 1,
                          own->only);
    firn_signals_catch();
    for (size_t v = 0; v < plan->variant_count && firn_signals_stop() == 0; v++) {
        if (only >= 0 && v != (size_t)only)
            continue;
        int one = cook_variant(own, plan, path, v, home);
        if (one != FIRN_EXIT_OK) {
            fprintf(stderr, "firn wedge: variant w%zu ended with exit code %d\n", v, one);
            code = code == FIRN_EXIT_OK || firn_signals_stop() != 0 ? one : code;
        }
        if (one == FIRN_EXIT_USAGE)
            break;
    }
    firn_error error;
    if (home[0] == '\0' || firn_signals_stop() != 0)
        return code;
    firn_result result = firn_wedge_sheet(plan, home, &error);
    return code != FIRN_EXIT_OK ? code : firn_exit_of(result, &error);
}

// What the command line varies, or what the scene does.
static int plan_graph(const char *command, const firn_graph *graph, const firn_words *given,
                      firn_wedge *plan)
{
    firn_words vary = {0};
    if (given->count > 0)
        vary = *given;
    while (given->count == 0 && vary.count < FIRN_WORDS_MAX &&
           firn_graph_vary(graph, vary.count) != NULL) {
        vary.words[vary.count] = firn_graph_vary(graph, vary.count);
        vary.count++;
    }
    return read_plan(command, &vary, plan);
}

static int plan_variants(const request *own, const char *path, firn_wedge *plan)
{
    firn_graph *graph = NULL;
    firn_error said;
    if (own->vary.count > 0)
        return read_plan("wedge", &own->vary, plan);
    int code = firn_shot_load("wedge", path, &own->shot, &graph, &said);
    if (code != FIRN_EXIT_OK) {
        firn_meter_refuse(voice_of(own), code, said.message);
        return code;
    }
    code = plan_graph("wedge", graph, &own->vary, plan);
    firn_graph_destroy(graph);
    return code;
}

int firn_wedge_count(const char *command, const firn_graph *graph, const firn_words *vary,
                     size_t *count)
{
    firn_wedge *plan = firn_alloc_zero(sizeof *plan);
    if (plan == NULL)
        return FIRN_EXIT_MEMORY;
    int code = plan_graph(command, graph, vary, plan);
    *count = plan->variant_count;
    firn_free(plan);
    return code;
}

static int run_wedge(const void *memory, const firn_words *words)
{
    const request *own = memory;
    if (!firn_progress_is_known(own->progress))
        return firn_usage("wedge", "--progress takes alf or openjd, not '%s'", own->progress);
    firn_wedge *plan = firn_alloc_zero(sizeof *plan);
    if (plan == NULL)
        return FIRN_EXIT_MEMORY;
    int code = plan_variants(own, words->words[0], plan);
    // A value that is wrong is found now, not after the variants before it.
    bool all = own->list != NULL || own->only == NULL;
    for (size_t v = 0; code == FIRN_EXIT_OK && all && v < plan->variant_count; v++) {
        firn_graph *graph = NULL;
        code = load_variant(own, plan, words->words[0], v, &graph);
        firn_graph_destroy(graph);
        if (code == FIRN_EXIT_OK && own->list != NULL)
            print_variant(plan, v);
    }
    if (code == FIRN_EXIT_OK && own->list == NULL)
        code = cook_all(own, plan, words->words[0]);
    firn_free(plan);
    return code;
}

#define ROW(field) offsetof(request, field)

static const firn_option options[] = {
    {"--vary", "NODE.PARAM=...",
     "a,b,c or from:to:count; vectors as '0 1 0,0 2 0'; repeated: all combinations", ROW(vary),
     true},
    {"--list", NULL, "prints the variants and cooks nothing", ROW(list)},
    {"--only", "N", "cooks one variant, for job arrays", ROW(only)},
    {"--resume", NULL, "keeps what is there and whole, cooks the rest", ROW(resume)},
    {"--overwrite", NULL, "replaces what is there, frame by frame", ROW(overwrite)},
    {"--quiet", NULL, "only warnings and errors", ROW(quiet)},
    {"--log-json", NULL, "one JSON object per event and line", ROW(json)},
    {"--progress", "FORM", "lines that a queue reads: alf (unless given) or openjd", ROW(progress)},
};

const firn_command firn_command_wedge = {
    .name = "wedge",
    .summary = "cooks a shot with many values of some parameters",
    .usage = "SHOT.firn [--vary NODE.PARAM=VALUES...] [OPTIONS]",
    .about =
        "Cooks every combination of the values, of the command line or of \"vary\" in the\n"
        "scene, into a folder of its own,\n"
        "<base>/<name>/v<version>/w<number>, with the graph as it was cooked. wedges.csv beside\n"
        "them says what each number stands for and how it is doing, contact_sheet.png shows\n"
        "the last frame of each, and `firn report` of that folder compares their numbers.",
    .example = "  firn wedge shot.firn --vary snow.hardening=5,10,20 --list\n"
               "  firn wedge shot.firn --vary snow.density=200:400:3 --vary ground.friction=0,0.5\n"
               "  firn wedge shot.firn --vary snow.hardening=5,10,20 --only $SLURM_ARRAY_TASK_ID",
    .own = {options, FIRN_COUNT(options)},
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run_wedge,
};
