/// `firn usd`: a USD stage over a cache, and its particles as value clips.
#define _POSIX_C_SOURCE 200809L
#include "usd.h"

#include "command.h"

#include "firn/cache.h"
#include "firn/graph.h"
#include "firn/usd_stage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct request {
    const char *output, *no_particles;
} request;

/// What is gathered of a cache.
typedef struct gathering {
    const char *folder;
    firn_manifest_view manifest;
    char base[FIRN_PATH_SIZE]; // of the files that are written, without their ending
    const char *name;          // the same without its folder
    firn_graph *reader;        // a graph of one node that reads particles
    firn_usd_stage stage;
    firn_usd_sources sources;
} gathering;

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

static bool is_particles(const char *name)
{
    return ends_with(name, ".bgeo") || ends_with(name, ".bgeo.gz") || ends_with(name, ".abc");
}

// The file that has the particles of a frame, or NULL: of the frame, else one of all frames.
static const char *particle_file(const firn_manifest_view *manifest, size_t frame)
{
    for (size_t i = 0; i < manifest->frames[frame].file_count; i++)
        if (is_particles(manifest->frames[frame].files[i].name))
            return manifest->frames[frame].files[i].name;
    for (size_t i = 0; i < manifest->file_count; i++)
        if (is_particles(manifest->files[i].name))
            return manifest->files[i].name;
    return NULL;
}

static firn_result read_particles(gathering *g, const char *file, int frame,
                                  const firn_points **points, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", g->folder, file);
    FIRN_TRY(firn_graph_set_param(g->reader, "cache", "file", path, FIRN_LAYER_ALWAYS, error));
    const firn_data *data = NULL;
    FIRN_TRY(firn_graph_cook(g->reader, "cache", frame, &data, error));
    *points = &data->particles->points;
    return FIRN_OK;
}

static firn_result make_reader(gathering *g, firn_error *error)
{
    char fps[64];
    snprintf(fps, sizeof fps, "fps=%.9g", (double)g->manifest.fps);
    FIRN_TRY(firn_graph_create(&g->reader, error));
    FIRN_TRY(firn_graph_set_text(g->reader, fps, error));
    FIRN_TRY(firn_graph_set_text(g->reader, "first=-1000000", error));
    FIRN_TRY(firn_graph_set_text(g->reader, "last=1000000", error));
    return firn_graph_add(g->reader, "read_particles", "cache", error);
}

// The particles of every frame as a layer of its own. The columns of the last frame are declared.
static firn_result write_clips(gathering *g, firn_error *error)
{
    FIRN_TRY(make_reader(g, error));
    char prim[FIRN_PATH_SIZE];
    firn_usd_points_path(g->manifest.name, prim, sizeof prim);
    for (size_t i = 0; i < g->manifest.frame_count; i++) {
        int frame = g->manifest.frames[i].frame;
        const char *file = particle_file(&g->manifest, i);
        if (file == NULL || frame < 0)
            continue; // names of clips have no sign
        const firn_points *points = NULL;
        FIRN_TRY(read_particles(g, file, frame, &points, error));
        char path[FIRN_PATH_SIZE];
        int length = snprintf(path, sizeof path, "%s_points.%04d.usdc", g->base, frame);
        if ((size_t)length >= sizeof path)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the output is too long");
        const firn_usd_points_def def = {.prim = prim, .frame = frame};
        FIRN_TRY(firn_usd_write_points(path, points, &def, error));
        g->stage.points = points;
    }
    return FIRN_OK;
}

static firn_result write_files(gathering *g, firn_error *error)
{
    char clips[FIRN_PATH_SIZE], manifest[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE + 32], hash[32];
    snprintf(clips, sizeof clips, "./%s_points.####.usdc", g->name);
    snprintf(manifest, sizeof manifest, "./%s_points.manifest.usda", g->name);
    snprintf(hash, sizeof hash, "%016" PRIx64, g->manifest.hash);
    firn_usd_stage *stage = &g->stage;
    stage->name = g->manifest.name;
    stage->program = g->manifest.program;
    stage->hash = hash;
    stage->fps = (double)g->manifest.fps;
    stage->first = g->manifest.frames[0].frame;
    stage->last = g->manifest.frames[g->manifest.frame_count - 1].frame;
    stage->clips = clips;
    stage->clip_manifest = manifest;
    if (stage->points != NULL) {
        snprintf(path, sizeof path, "%s_points.manifest.usda", g->base);
        FIRN_TRY(firn_usd_write_clip_manifest(path, stage, error));
    }
    snprintf(path, sizeof path, "%s.usda", g->base);
    FIRN_TRY(firn_usd_write_stage(path, stage, error));
    printf("%s: %zu frames%s%s\n", path, g->manifest.frame_count,
           stage->volume_count > 0 ? ", volume" : "", stage->points != NULL ? ", particles" : "");
    return FIRN_OK;
}

// Files of the cache are named from the stage: it must lie in the same folder.
static int choose_output(gathering *g, const char *output)
{
    const char *chosen = output != NULL ? output : g->manifest.name;
    if (strchr(chosen, '/') != NULL)
        return firn_usage("usd", "the stage lies beside the files of the cache: '%s' is no name",
                          chosen);
    size_t length = strlen(chosen) - (ends_with(chosen, ".usda") ? strlen(".usda") : 0);
    int written = snprintf(g->base, sizeof g->base - 64, "%s/%.*s", g->folder, (int)length, chosen);
    if (length == 0 || written < 0 || (size_t)written >= sizeof g->base - 64)
        return firn_usage("usd", "'%s' cannot be the name of a stage", chosen);
    g->name = strrchr(g->base, '/') + 1;
    return FIRN_EXIT_OK;
}

static int run_usd(const void *memory, const firn_words *words)
{
    const request *r = memory;
    gathering *g = firn_alloc_zero(sizeof *g);
    firn_manifest *manifest = NULL;
    firn_error error = {0};
    if (g == NULL)
        return FIRN_EXIT_MEMORY;
    g->folder = words->words[0];
    firn_result result = firn_manifest_read(g->folder, &manifest, &error);
    int code = FIRN_EXIT_OK;
    if (result == FIRN_OK) {
        g->manifest = firn_manifest_look(manifest);
        code = choose_output(g, r->output);
        if (g->manifest.frame_count == 0)
            result = firn_fail(&error, FIRN_ERR_NOT_FOUND, "the cache '%s' has no frames yet",
                               g->folder);
    }
    if (result == FIRN_OK && code == FIRN_EXIT_OK && r->no_particles == NULL)
        result = write_clips(g, &error);
    if (result == FIRN_OK && code == FIRN_EXIT_OK)
        result = firn_usd_gather(g->folder, &g->manifest, &g->sources, &g->stage, &error);
    if (result == FIRN_OK && code == FIRN_EXIT_OK)
        result = write_files(g, &error);
    if (code == FIRN_EXIT_OK)
        code = firn_exit_of(result, &error);
    firn_usd_sources_release(&g->sources);
    firn_graph_destroy(g->reader);
    firn_manifest_destroy(manifest);
    firn_free(g);
    return code;
}

static const firn_option options[] = {
    {"-o", "NAME.usda", "name of the stage, in the folder of the cache; else that of the shot",
     offsetof(request, output)},
    {"--no-particles", NULL, "the volume alone", offsetof(request, no_particles)},
};

const firn_command firn_command_usd = {
    .name = "usd",
    .summary = "writes a USD stage over a cache, and its particles as value clips",
    .usage = "CACHE [OPTIONS]",
    .about = "Writes <shot>.usda into the folder of a cache: the volume as OpenVDB assets over\n"
             "time, the particles as value clips (one .usdc each frame, written from the files\n"
             "of the cache), materials for Karma, Arnold and previews, colliders as proxies.\n"
             "Particles take about as much space again; volumes are only named.",
    .example = "  firn usd cache/snowball_smash/v1\n"
               "  usdview cache/snowball_smash/v1/snowball_smash.usda",
    .own = {options, FIRN_COUNT(options)},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run_usd,
};
