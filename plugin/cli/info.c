/// `firn info`: what is in a file or a cache.
#define _POSIX_C_SOURCE 200809L
#include "info.h"

#include "command.h"

#include "firn/cache.h"
#include "firn/sim.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct request {
    const char *json, *verify;
} request;

// --- Scenes, caches and checkpoints --------------------------------------------------------------

static firn_result info_scene(const char *path, firn_error *error)
{
    firn_graph *graph = NULL;
    FIRN_TRY(firn_graph_load(path, &graph, error));
    const firn_shot *shot = firn_graph_shot(graph);
    printf("%s: Firn scene '%s', version %d, frames %d to %d at %g per second\n", path, shot->name,
           shot->version, shot->first, shot->last, (double)shot->fps);
    if (shot->comment[0] != '\0')
        printf("  %s\n", shot->comment);
    for (size_t i = 0; firn_graph_node(graph, i) != NULL; i++) {
        const char *node = firn_graph_node(graph, i);
        const firn_node_info *type = firn_graph_node_type(graph, node);
        printf("  %s (%s)", node, type->name);
        for (size_t k = 0; k < type->input_count; k++)
            for (size_t n = 0; firn_graph_input(graph, node, type->inputs[k].name, n); n++)
                printf("%s %s", k + n == 0 ? "  from" : "",
                       firn_graph_input(graph, node, type->inputs[k].name, n));
        printf("\n");
    }
    firn_graph_destroy(graph);
    return FIRN_OK;
}

static const char *choice_of(const char *param, int index, char text[32])
{
    const firn_param *row = firn_params_find(firn_sim_params(), param);
    if (row == NULL || !firn_param_choice(row, index, text, 32))
        snprintf(text, 32, "%s %d", param, index);
    return text;
}

// The frame is in the name, "solver.0012.chk"; program and graph are in the manifest of the cache.
static void print_home(const char *path)
{
    char folder[FIRN_PATH_SIZE];
    const char *name = strrchr(path, '/');
    name = name != NULL ? name + 1 : path;
    const char *dot = strchr(name, '.');
    int frame = 0;
    if (dot != NULL && sscanf(dot, ".%d.chk", &frame) == 1)
        printf("  frame %d of node %.*s\n", frame, (int)(dot - name), name);
    snprintf(folder, sizeof folder, "%.*s..", (int)(name - path), path);
    firn_manifest *manifest = NULL;
    if (firn_manifest_read(folder, &manifest, NULL) != FIRN_OK)
        return;
    firn_manifest_view view = firn_manifest_look(manifest);
    printf("  in the cache of '%s' by %s, graph %016llx\n", view.name, view.program,
           (unsigned long long)view.hash);
    firn_manifest_destroy(manifest);
}

static firn_result info_checkpoint(const char *path, firn_error *error)
{
    firn_checkpoint_info info;
    char kernel[32], transfer[32], integrator[32];
    FIRN_TRY(firn_checkpoint_look(path, &info, error));
    printf("%s: checkpoint by firn %s, format %d, %zu bytes, checksum %016llx\n", path,
           info.program, info.format, info.bytes, (unsigned long long)info.checksum);
    print_home(path);
    printf("  %zu particles in %zu blocks at %g s, after %lld substeps\n", info.particles,
           info.blocks, info.time, (long long)info.substep);
    printf("  cell size %g m, %s kernel, %s transfer, %s integrator, %d materials, %d sources\n",
           (double)info.cell_size, choice_of("kernel", info.kernel, kernel),
           choice_of("transfer", info.transfer, transfer),
           choice_of("integrator", info.integrator, integrator), info.material_count,
           info.source_count);
    return FIRN_OK;
}

// --- Which is which ------------------------------------------------------------------------------

/// Files are known by how they begin; where that says nothing, by their name.
static const struct {
    const char *magic; // first bytes, "" : any
    const char *ending;
    firn_result (*print)(const char *path, firn_error *error);
} kinds[] = {
    {"Ogawa", "", firn_info_abc},          {"FIRNCKPT", "", info_checkpoint},
    {" BDV", "", firn_info_vdb},           {"", ".firn", info_scene},
    {"", ".obj", firn_info_obj},           {"", ".bgeo", firn_info_bgeo},
    {"", ".bgeo.gz", firn_info_bgeo},      {"", ".geo", firn_info_bgeo},
    {"", ".geo.gz", firn_info_bgeo},       {"", ".bhclassic", firn_info_bgeo},
    {"", ".bhclassic.gz", firn_info_bgeo}, {"", ".abc", firn_info_abc},
    {"", ".vdb", firn_info_vdb},           {"PXR-USDC", "", firn_info_usd},
    {"#usda", "", firn_info_usd},          {"", ".usd", firn_info_usd},
    {"", ".usda", firn_info_usd},          {"", ".usdc", firn_info_usd},
    {"", ".ply", firn_info_polygons},      {"", ".stl", firn_info_polygons},
};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

static firn_result info_file(const char *path, firn_error *error)
{
    char head[8] = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "cannot open '%s'", path);
    size_t size = fread(head, 1, sizeof head, file);
    fclose(file);
    for (size_t i = 0; i < FIRN_COUNT(kinds); i++) {
        size_t length = strlen(kinds[i].magic);
        if (size >= length && memcmp(head, kinds[i].magic, length) == 0 &&
            ends_with(path, kinds[i].ending))
            return kinds[i].print(path, error);
    }
    return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                     "'%s' is none of .firn .abc .usd .vdb .bgeo .geo .obj .ply .stl, a checkpoint "
                     "or a cache",
                     path);
}

static firn_result info(const char *path, const request *own, firn_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "there is no file '%s'", path);
    if (S_ISDIR(status.st_mode))
        return firn_info_folder(path, own->json != NULL, own->verify != NULL, error);
    if (!ends_with(path, "/manifest.json"))
        return info_file(path, error);
    char folder[FIRN_PATH_SIZE];
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(path) - strlen("/manifest.json")), path);
    return firn_info_folder(folder, own->json != NULL, own->verify != NULL, error);
}

static int run_info(const void *memory, const firn_words *words)
{
    int code = FIRN_EXIT_OK;
    for (size_t i = 0; i < words->count; i++) {
        firn_error error;
        firn_result result = info(words->words[i], memory, &error);
        if (result != FIRN_OK)
            code = firn_exit_of(result, &error);
    }
    return code;
}

static const firn_option options[] = {
    {"--json", NULL, "for caches: the manifest's frames for programs", offsetof(request, json)},
    {"--verify", NULL, "for caches: compares every file with its checksum",
     offsetof(request, verify)},
};

const firn_command firn_command_info = {
    .name = "info",
    .summary = "tells what is in a file or a cache",
    .usage = "FILE... [OPTIONS]",
    .about =
        "Prints what files hold: the hierarchy, samples, times and bounds of .abc and .usd;\n"
        "attributes and ranges of .bgeo, .geo and .ply; grids and metadata of .vdb; faces of\n"
        ".obj, .ply and .stl; nodes and links of .firn; frame, particles, time and settings of a "
        "checkpoint; frames and\n"
        "statistics of a cache folder, which stages it has and who writes it; the variants of a\n"
        "folder of wedges.",
    .example = "  firn info walk.abc surface.0001.vdb\n"
               "  firn info cache/snow/v1 --verify\n"
               "  firn info cache/wedge/v1",
    .own = {options, FIRN_COUNT(options)},
    .request_size = sizeof(request),
    .least = 1,
    .most = FIRN_WORDS_MAX,
    .run = run_info,
};
