/// `firn cook` and `firn resume`: a scene to files on disk.
#include "bake.h"
#include "ranks.h"
#include "shot.h"

typedef struct request {
    firn_shot_words shot;
    const char *resume, *overwrite, *break_lock, *allow_mixed, *quiet, *json, *progress;
    const char *only, *from_cache, *alone;
} request;

#define ROW(field) offsetof(request, field)

static const firn_option options[] = {
    {"--quiet", NULL, "only warnings and errors", ROW(quiet)},
    {"--log-json", NULL, "one JSON object per event and line", ROW(json)},
    {"--progress", "FORM", "lines that a queue reads: alf (unless given) or openjd", ROW(progress)},
    {"--break-lock", NULL, "takes the lock of a process on another host that is gone",
     ROW(break_lock)},
    {"--allow-mixed", NULL, "goes on with a cache of another version or instruction set",
     ROW(allow_mixed)},
    {"--only", "NODES", "cooks these of the nodes that write, names with commas", ROW(only)},
    {"--from-cache", NULL, "later stages only, from the particles of the cache", ROW(from_cache)},
    {"--alone", NULL, "ignores a launcher such as mpirun: this process is a cook of its own",
     ROW(alone)},
    {"--overwrite", NULL, "replaces what is there, frame by frame", ROW(overwrite)},
    {"--resume", NULL, "keeps what is there and whole, cooks the rest", ROW(resume)},
};

static firn_bake_def bake_def(const request *own, const firn_graph *graph, bool resume)
{
    firn_bake_def def;
    firn_shot_frames(own->shot.frames, graph, &def);
    def.resume = resume;
    def.overwrite = own->overwrite != NULL;
    def.break_lock = own->break_lock != NULL;
    def.allow_mixed = own->allow_mixed != NULL;
    def.only = own->only;
    def.from_cache = own->from_cache != NULL;
    return def;
}

// Loads the scene on all ranks, with one result for them.
static int load(const request *own, const char *path, const firn_ranks *ranks, firn_graph **graph,
                firn_error *said)
{
    const firn_hush hush = firn_ranks_hush(ranks);
    int code = firn_shot_load("cook", path, &own->shot, graph, said);
    // What the first rank finds it tells when it begins.
    if (code == FIRN_EXIT_OK && firn_ranks_follows(ranks))
        code = firn_shot_check_cook(*graph, said);
    firn_ranks_unhush(&hush);
    return ranks != NULL ? firn_ranks_meet(ranks, *graph, code, said->message) : code;
}

static int cook(const request *own, const char *path, bool resume)
{
    firn_voice voice = firn_voice_choose(own->quiet != NULL, own->json != NULL, own->progress);
    // A launcher gives a terminal of its own to what it starts, wherever its output goes.
    if (voice == FIRN_VOICE_BAR && firn_ranks_launched() > 0)
        voice = FIRN_VOICE_PLAIN;
    const firn_bake_run_def run = {voice, 0, 0};
    if (!firn_progress_is_known(own->progress))
        return firn_usage(resume ? "resume" : "cook", "--progress takes alf or openjd, not '%s'",
                          own->progress);
    bool alone = own->alone != NULL || own->from_cache != NULL;
    firn_ranks *ranks = NULL;
    firn_graph *graph = NULL;
    firn_error said = {FIRN_OK, ""};
    int code = alone ? FIRN_EXIT_OK : firn_ranks_join(&ranks);
    if (code != FIRN_EXIT_OK)
        return code;
    code = load(own, path, ranks, &graph, &said);
    if (code == FIRN_EXIT_OK)
        firn_signals_catch();
    if (code != FIRN_EXIT_OK && !firn_ranks_follows(ranks)) {
        firn_meter_refuse(run.voice, code, said.message);
    } else if (code == FIRN_EXIT_OK && firn_ranks_follows(ranks)) {
        code = firn_ranks_follow(graph);
    } else if (code == FIRN_EXIT_OK) {
        firn_bake_def def = bake_def(own, graph, resume);
        code = firn_bake_run(graph, &def, &run);
        firn_graph_dismiss(graph, code);
    }
    firn_graph_destroy(graph);
    firn_ranks_close(ranks);
    return code;
}

static int run_cook(const void *memory, const firn_words *words)
{
    const request *own = memory;
    return cook(own, words->words[0], own->resume != NULL);
}

static int run_resume(const void *memory, const firn_words *words)
{
    return cook(memory, words->words[0], true);
}

const firn_command firn_command_cook = {
    .name = "cook",
    .summary = "simulates a shot and writes its caches",
    .usage = "SHOT.firn [OPTIONS]",
    .about =
        "Cooks every node that writes files, frame after frame, into <base>/<name>/v<version>.\n"
        "A file that exists is complete. A cache that is there is not replaced without\n"
        "--overwrite, and then each frame when the new one is done. SIGINT and SIGTERM finish the "
        "substep, write a\n"
        "checkpoint and leave; a second one leaves at once. The end of the program that reads\n"
        "the output counts as SIGINT. SIGUSR1 writes a checkpoint and goes on. What was stopped or "
        "killed continues with --resume, bit for bit the same.\n"
        "--from-cache cooks what comes behind the simulation, from its particles. Any number of\n"
        "processes do so in one cache at once, on any machine and while it is still simulated.",
    .example = "  firn cook shot.firn\n"
               "  firn cook shot.firn --frames 1001-1100 --threads 8 --quality final\n"
               "  firn cook shot.firn --set solver.cell_size=0.01 --set fps=25 --base /tmp/try\n"
               "  firn cook shot.firn --resume --log-json\n"
               "  firn cook shot.firn --only points   # then, on many machines:\n"
               "  firn cook shot.firn --from-cache --frames 1-50",
    .own = {options, FIRN_COUNT(options)},
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run_cook,
};

const firn_command firn_command_resume = {
    .name = "resume",
    .summary = "goes on with a shot that was stopped; the same as cook --resume",
    .usage = "SHOT.firn [OPTIONS]",
    .about = "Keeps the frames that are there and whole and cooks the rest from the last\n"
             "checkpoint, bit for bit what an uninterrupted run writes. A cache that was cooked\n"
             "from other settings is refused; with --overwrite, what they change is replaced and\n"
             "the rest kept. Where nothing is missing, nothing happens.",
    .example = "  firn resume shot.firn\n"
               "  firn resume shot.firn --base /mnt/caches --threads 4",
    .own = {options, FIRN_COUNT(options) - 1},
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run_resume,
};
