/// `firn info`: what is in a file or a cache.
#define _POSIX_C_SOURCE 200809L
#include "info.h"

#include "command.h"
#include "json.h"

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

static uint64_t frame_bytes(const firn_cache_frame *frame)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < frame->file_count; i++)
        bytes += frame->files[i].size;
    return bytes;
}

static double stat_of(const firn_cache_frame *frame, const char *name)
{
    for (size_t i = 0; i < frame->stat_count; i++)
        if (strcmp(frame->stats[i].name, name) == 0)
            return frame->stats[i].value;
    return 0.0;
}

// A number of a collider, such as that of "ground" and "force_x".
static double force_of(const firn_cache_frame *frame, const char *collider, const char *part)
{
    char name[256];
    snprintf(name, sizeof name, "%s.%s", collider, part);
    return stat_of(frame, name);
}

// The force on each collider that was touched: the mean of the last frame, and the peak of all.
static void print_forces(const firn_manifest_view *view)
{
    static const char ending[] = ".force_peak";
    const firn_cache_frame *last = &view->frames[view->frame_count - 1];
    for (size_t k = 0; k < last->stat_count; k++) {
        const char *stat = last->stats[k].name;
        size_t length = strlen(stat), size = sizeof ending - 1;
        char collider[200];
        if (length <= size || length - size >= sizeof collider ||
            strcmp(stat + length - size, ending) != 0)
            continue;
        snprintf(collider, sizeof collider, "%.*s", (int)(length - size), stat);
        double peak = 0.0;
        int at = last->frame;
        for (size_t i = 0; i < view->frame_count; i++)
            if (stat_of(&view->frames[i], stat) > peak) {
                peak = stat_of(&view->frames[i], stat);
                at = view->frames[i].frame;
            }
        if (peak > 0.0)
            printf("  snow on %s: force %.4g %.4g %.4g N, torque %.4g %.4g %.4g N m in the last "
                   "frame; at most %.4g N, in frame %d\n",
                   collider, force_of(last, collider, "force_x"),
                   force_of(last, collider, "force_y"), force_of(last, collider, "force_z"),
                   force_of(last, collider, "torque_x"), force_of(last, collider, "torque_y"),
                   force_of(last, collider, "torque_z"), peak, at);
    }
}

// Frames that a cook with other settings has not come to.
static void print_others(const firn_manifest_view *view)
{
    const firn_cache_frame *frames = view->frames;
    for (size_t i = 0, end = 0; i < view->frame_count; i = end) {
        bool other = frames[i].hash != view->hash;
        for (end = i + 1; end < view->frame_count && frames[end].hash == frames[i].hash;)
            end++;
        if (other && end == i + 1)
            printf("  frame %d is of other settings, not yet replaced\n", frames[i].frame);
        else if (other)
            printf("  frames %d to %d are of other settings, not yet replaced\n", frames[i].frame,
                   frames[end - 1].frame);
    }
}

static void print_cache(const char *folder, const firn_manifest_view *view)
{
    uint64_t bytes = 0;
    double seconds = 0.0;
    for (size_t i = 0; i < view->frame_count; i++) {
        bytes += frame_bytes(&view->frames[i]);
        seconds += stat_of(&view->frames[i], "seconds");
    }
    for (size_t i = 0; i < view->file_count; i++)
        bytes += view->files[i].size;
    printf("%s: cache of '%s' by %s%s%s, graph %016llx\n", folder, view->name, view->program,
           view->isa[0] != '\0' ? " with " : "", view->isa, (unsigned long long)view->hash);
    printf("  %zu frames at %g per second, %.1f MB, simulated in %.1f s\n", view->frame_count,
           (double)view->fps, 1e-6 * (double)bytes, seconds);
    for (size_t i = 0; i < view->file_count; i++)
        printf("  %s (%s): %llu bytes\n", view->files[i].name, view->files[i].node,
               (unsigned long long)view->files[i].size);
    print_others(view);
    printf("  %8s %12s %9s %9s %12s  files\n", "frame", "particles", "substeps", "seconds",
           "bytes");
    for (size_t i = 0; i < view->frame_count; i++) {
        const firn_cache_frame *frame = &view->frames[i];
        printf("  %8d %12.0f %9.0f %9.2f %12llu", frame->frame, stat_of(frame, "particles"),
               stat_of(frame, "substeps"), stat_of(frame, "seconds"),
               (unsigned long long)frame_bytes(frame));
        for (size_t k = 0; k < frame->file_count; k++)
            printf("  %s", frame->files[k].name);
        printf("\n");
    }
    if (view->frame_count > 0)
        print_forces(view);
}

static void print_cache_json(const char *folder, const firn_manifest_view *view)
{
    int members = 0;
    char hash[24];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)view->hash);
    fputc('{', stdout);
    firn_print_member_text(stdout, &members, "folder", folder);
    firn_print_member_text(stdout, &members, "name", view->name);
    firn_print_member_text(stdout, &members, "program", view->program);
    firn_print_member_text(stdout, &members, "isa", view->isa);
    firn_print_member_text(stdout, &members, "hash", hash);
    firn_print_member_number(stdout, &members, "fps", (double)view->fps);
    firn_print_key(stdout, &members, "frames");
    fputc('[', stdout);
    for (size_t i = 0; i < view->frame_count; i++) {
        int inner = 0;
        fputs(i > 0 ? ",\n{" : "\n{", stdout);
        firn_print_member_number(stdout, &inner, "frame", view->frames[i].frame);
        firn_print_member_number(stdout, &inner, "file_bytes",
                                 (double)frame_bytes(&view->frames[i]));
        for (size_t k = 0; k < view->frames[i].stat_count; k++)
            firn_print_member_number(stdout, &inner, view->frames[i].stats[k].name,
                                     view->frames[i].stats[k].value);
        fputc('}', stdout);
    }
    fputs("]}\n", stdout);
}

/// What a comparison with checksums has found.
typedef struct verdict {
    size_t count, missing, damaged;
} verdict;

static void verify_files(const char *folder, const firn_cache_file *files, size_t count, verdict *v)
{
    for (size_t i = 0; i < count; i++) {
        firn_error error;
        firn_result result = firn_cache_file_check(folder, &files[i], &error);
        v->count++;
        v->missing += result == FIRN_ERR_NOT_FOUND;
        v->damaged += result != FIRN_OK && result != FIRN_ERR_NOT_FOUND;
        if (result != FIRN_OK)
            fprintf(stderr, "firn: %s\n", error.message);
    }
}

// Compares every file with its checksum and lists all that is wrong.
static firn_result verify(const char *folder, const firn_manifest_view *view, firn_error *error)
{
    verdict v = {0, 0, 0};
    verify_files(folder, view->files, view->file_count, &v);
    for (size_t i = 0; i < view->frame_count; i++)
        verify_files(folder, view->frames[i].files, view->frames[i].file_count, &v);
    if (v.missing + v.damaged == 0)
        printf("  all %zu files are whole\n", v.count);
    if (v.missing + v.damaged == 0)
        return FIRN_OK;
    return firn_fail(error, v.damaged > 0 ? FIRN_ERR_FORMAT : FIRN_ERR_NOT_FOUND,
                     "%zu of %zu files are missing and %zu damaged; `firn resume` makes them anew",
                     v.missing, v.count, v.damaged);
}

static firn_result info_cache(const char *folder, const request *own, firn_error *error)
{
    firn_manifest *manifest = NULL;
    FIRN_TRY(firn_manifest_read(folder, &manifest, error));
    firn_manifest_view view = firn_manifest_look(manifest);
    if (own->json != NULL)
        print_cache_json(folder, &view);
    else
        print_cache(folder, &view);
    firn_result result = own->verify != NULL ? verify(folder, &view, error) : FIRN_OK;
    firn_manifest_destroy(manifest);
    return result;
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
    {"", ".vdb", firn_info_vdb},
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
                     "'%s' is none of .firn .abc .vdb .bgeo .geo .obj, a checkpoint or a cache",
                     path);
}

static firn_result info(const char *path, const request *own, firn_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "there is no file '%s'", path);
    if (S_ISDIR(status.st_mode))
        return info_cache(path, own, error);
    if (!ends_with(path, "/manifest.json"))
        return info_file(path, error);
    char folder[FIRN_PATH_SIZE];
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(path) - strlen("/manifest.json")), path);
    return info_cache(folder, own, error);
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
        "Prints what files hold: the hierarchy, samples, times and bounds of .abc; attributes\n"
        "and ranges of .bgeo and .geo; grids and metadata of .vdb; faces of .obj; nodes and\n"
        "links of .firn; frame, particles, time and settings of a checkpoint; frames and\n"
        "statistics of a cache folder.",
    .example = "  firn info walk.abc surface.0001.vdb\n"
               "  firn info cache/snow/v1 --verify",
    .own = {options, FIRN_COUNT(options)},
    .request_size = sizeof(request),
    .least = 1,
    .most = FIRN_WORDS_MAX,
    .run = run_info,
};
