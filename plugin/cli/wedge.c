/// `firn wedge`: the same shot with many values of some parameters, one cache for each.
#include "firn/wedge.h"

#include "bake.h"
#include "shot.h"

#include <stdio.h>
#include <string.h>

typedef struct request {
    firn_shot_words shot;
    firn_words vary;
    const char *list, *only, *resume, *overwrite, *quiet, *json, *progress;
} request;

static firn_voice voice_of(const request *own)
{
    return firn_voice_choose(own->quiet != NULL, own->json != NULL, own->progress);
}

// --- The variants --------------------------------------------------------------------------------

static int load_variant(const request *own, const firn_wedge *wedge, const char *path,
                        size_t variant, firn_graph **graph)
{
    firn_error said;
    int code = firn_shot_load("wedge", path, &own->shot, graph, &said);
    if (code == FIRN_EXIT_OK && firn_wedge_apply(wedge, variant, *graph, &said) != FIRN_OK)
        code = firn_shot_refuse(NULL, FIRN_EXIT_USAGE, "%s", said.message);
    if (code == FIRN_EXIT_OK)
        return code;
    firn_meter_refuse(voice_of(own), code, said.message);
    firn_graph_destroy(*graph);
    *graph = NULL;
    return code;
}

static void print_variant(const firn_wedge *wedge, size_t variant)
{
    printf("w%zu", variant);
    for (size_t i = 0; i < firn_wedge_axis_count(wedge); i++)
        printf("  %s=%s", firn_wedge_axis(wedge, i), firn_wedge_value(wedge, variant, i));
    printf("\n");
    fflush(stdout);
}

static const char *status_of(int code)
{
    return code == FIRN_EXIT_OK ? "done" : firn_signals_stop() != 0 ? "stopped" : "failed";
}

// What is there stays, and so does what the table says of it.
static bool is_refusal(int code)
{
    return code == FIRN_EXIT_EXISTS || code == FIRN_EXIT_STALE || code == FIRN_EXIT_LOCKED;
}

static int cook_variant(const request *own, const firn_wedge *wedge, const char *path,
                        size_t variant)
{
    firn_graph *graph = NULL;
    firn_bake_run_def run = {.voice = voice_of(own)};
    int code = load_variant(own, wedge, path, variant, &graph);
    if (code != FIRN_EXIT_OK)
        return code;
    if (own->only == NULL) {
        run.part = (int)variant;
        run.parts = (int)firn_wedge_count(wedge);
    }
    if (run.voice == FIRN_VOICE_PLAIN || run.voice == FIRN_VOICE_BAR)
        print_variant(wedge, variant);
    firn_bake_def def;
    firn_shot_frames(own->shot.frames, graph, &def);
    def.resume = own->resume != NULL;
    def.overwrite = own->overwrite != NULL;
    firn_error error;
    firn_wedge_mark mark;
    firn_result result = firn_wedge_begin(wedge, graph, variant, def.overwrite, &mark, &error);
    if (result == FIRN_OK) {
        code = firn_bake_run(graph, &def, &run);
        bool kept = is_refusal(code) && mark.state[0] != '\0';
        result = firn_wedge_note(wedge, graph, variant, kept ? mark.state : status_of(code),
                                 kept ? mark.code : code, &error);
    }
    firn_graph_destroy(graph);
    return result == FIRN_OK ? code : firn_exit_of(result, &error);
}

static int draw_sheet(const request *own, const firn_wedge *wedge, const char *path)
{
    firn_graph *graph = NULL;
    firn_error error;
    int code = load_variant(own, wedge, path, 0, &graph);
    if (code == FIRN_EXIT_OK)
        code = firn_exit_of(firn_wedge_sheet(wedge, graph, &error), &error);
    firn_graph_destroy(graph);
    return code;
}

// A variant that fails does not keep the others from being cooked; a signal does.
static int cook_all(const request *own, const firn_wedge *wedge, const char *path)
{
    int code = FIRN_EXIT_OK, only = -1;
    size_t count = firn_wedge_count(wedge);
    bool any = false; // that was cooked
    if (own->only != NULL && !firn_read_int(own->only, 0, (int)count - 1, &only))
        return firn_usage("wedge", "--only must be 0 to %zu, not '%s'", count - 1, own->only);
    firn_signals_catch();
    for (size_t v = 0; v < count && firn_signals_stop() == 0; v++) {
        if (only >= 0 && v != (size_t)only)
            continue;
        int one = cook_variant(own, wedge, path, v);
        any = any || !is_refusal(one);
        if (one != FIRN_EXIT_OK) {
            fprintf(stderr, "firn wedge: variant w%zu ended with exit code %d\n", v, one);
            code = code == FIRN_EXIT_OK || firn_signals_stop() != 0 ? one : code;
        }
        if (one == FIRN_EXIT_USAGE)
            return code;
    }
    if (firn_signals_stop() != 0 || !any)
        return code;
    int drawn = draw_sheet(own, wedge, path);
    return code != FIRN_EXIT_OK ? code : drawn;
}

static int plan_variants(const request *own, const char *path, firn_wedge **wedge)
{
    firn_graph *graph = NULL;
    firn_error error;
    int code = FIRN_EXIT_OK;
    if (own->vary.count == 0) // those of the scene
        code = firn_shot_load("wedge", path, &own->shot, &graph, &error);
    if (code != FIRN_EXIT_OK) {
        firn_meter_refuse(voice_of(own), code, error.message);
        return code;
    }
    firn_result result = firn_wedge_create(graph, own->vary.words, own->vary.count, wedge, &error);
    firn_graph_destroy(graph);
    if (result == FIRN_ERR_ARGUMENT)
        return firn_usage("wedge", "%s", error.message);
    return firn_exit_of(result, &error);
}

static int run_wedge(const void *memory, const firn_words *words)
{
    const request *own = memory;
    firn_wedge *wedge = NULL;
    if (!firn_progress_is_known(own->progress))
        return firn_usage("wedge", "--progress takes alf or openjd, not '%s'", own->progress);
    int code = plan_variants(own, words->words[0], &wedge);
    // A value that is wrong is found now, not after the variants before it.
    bool all = own->list != NULL || own->only == NULL;
    for (size_t v = 0; code == FIRN_EXIT_OK && all && v < firn_wedge_count(wedge); v++) {
        firn_graph *graph = NULL;
        code = load_variant(own, wedge, words->words[0], v, &graph);
        firn_graph_destroy(graph);
        if (code == FIRN_EXIT_OK && own->list != NULL)
            print_variant(wedge, v);
    }
    if (code == FIRN_EXIT_OK && own->list == NULL)
        code = cook_all(own, wedge, words->words[0]);
    firn_wedge_destroy(wedge);
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
