#define _POSIX_C_SOURCE 200809L
#include "bake.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// --- Nodes ---------------------------------------------------------------------------------------

// A word of a list with commas or spaces between them, and where the next begins.
static bool next_word(const char **list, char word[FIRN_NAME_SIZE])
{
    *list += strspn(*list, ", ");
    size_t length = strcspn(*list, ", ");
    snprintf(word, FIRN_NAME_SIZE, "%.*s", (int)(length < FIRN_NAME_SIZE ? length : 0), *list);
    *list += length;
    return length > 0;
}

static bool is_named(const char *list, const char *name)
{
    char word[FIRN_NAME_SIZE];
    while (list != NULL && next_word(&list, word))
        if (strcmp(word, name) == 0)
            return true;
    return list == NULL;
}

static firn_result check_names(const firn_graph *graph, const char *list, firn_error *error)
{
    char word[FIRN_NAME_SIZE], known[300] = "";
    for (size_t i = 0, length = 0; i < graph->node_count && length < sizeof known; i++)
        if (graph->order[i]->type->info.output == FIRN_KIND_NONE)
            length += (size_t)snprintf(known + length, sizeof known - length, "%s%s",
                                       length > 0 ? ", " : "", graph->order[i]->name);
    while (list != NULL && next_word(&list, word)) {
        const firn_node *node = firn_graph_find(graph, word);
        if (node == NULL || node->type->info.output != FIRN_KIND_NONE)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "'%s' is no node of the graph that writes files; these do: %s", word,
                             known);
    }
    return FIRN_OK;
}

static firn_result find_targets(firn_bake *bake, const char *only, firn_error *error)
{
    firn_graph *graph = bake->graph;
    FIRN_TRY(check_names(graph, only, error));
    for (size_t i = 0; i < graph->node_count; i++) {
        firn_node *node = graph->order[i];
        node->reached = node->type->info.output == FIRN_KIND_NONE && is_named(only, node->name) &&
                        !firn_node_is_idle(node);
        if (!node->reached)
            continue;
        FIRN_TRY(firn_node_settings(node, bake->first, true, node->settings, error));
        bake->targets[bake->target_count++] =
            (firn_bake_target){.node = node, .spans = firn_node_spans(node)};
    }
    if (bake->target_count == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "no node of the graph writes files; add write_particles or write_volume");
    return FIRN_OK;
}

firn_result firn_bake_find_nodes(firn_bake *bake, const char *only, firn_error *error)
{
    firn_graph *graph = bake->graph;
    size_t links = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        for (size_t s = 0; s < graph->nodes[i]->type->info.input_count; s++)
            links += graph->nodes[i]->inputs[s].count;
    bake->targets = firn_alloc_zero((graph->node_count + 1) * sizeof *bake->targets);
    bake->wanted = firn_alloc_zero((graph->node_count + links + 1) * sizeof *bake->wanted);
    bake->marchers = firn_alloc_zero((graph->node_count + 1) * sizeof *bake->marchers);
    if (bake->targets == NULL || bake->wanted == NULL || bake->marchers == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot begin to bake");
    FIRN_TRY(find_targets(bake, only, error));
    for (size_t i = graph->node_count; i-- > 0;) {
        firn_node *node = graph->order[i];
        for (size_t s = 0; node->reached && s < node->type->info.input_count; s++)
            for (size_t k = 0; k < node->inputs[s].count; k++)
                node->inputs[s].from[k]->reached = true;
    }
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->order[i]->reached && graph->order[i]->type->info.sequential)
            bake->marchers[bake->marcher_count++] = graph->order[i];
    return FIRN_OK;
}

// --- What is there -------------------------------------------------------------------------------

bool firn_bake_fits(const firn_bake *bake, const firn_cache_file *file, const firn_node *node)
{
    if (file->hash != 0)
        return file->hash == node->fresh;
    return bake->manifest->hash == bake->hash && strcmp(file->node, node->name) == 0;
}

static bool is_of_target(const firn_bake *bake, const firn_cache_file *file)
{
    for (size_t t = 0; t < bake->target_count; t++)
        if (strcmp(bake->targets[t].node->name, file->node) == 0)
            return true;
    return false;
}

// Frames of the range with files that would be replaced.
static size_t count_range(const firn_bake *bake)
{
    size_t count = 0;
    for (int frame = bake->first; frame <= bake->last; frame += bake->step) {
        const firn_cache_frame *found = firn_manifest_find(bake->manifest, frame);
        bool theirs = false;
        for (size_t i = 0; found != NULL && i < found->file_count; i++)
            theirs = theirs || is_of_target(bake, &found->files[i]);
        count += theirs;
    }
    return count;
}

// An archive that the bake would write anew.
static bool would_replace_archive(const firn_bake *bake)
{
    for (size_t i = 0; i < bake->manifest->file_count; i++)
        for (size_t t = 0; t < bake->target_count; t++)
            if (bake->targets[t].spans &&
                firn_bake_fits(bake, &bake->manifest->files[i], bake->targets[t].node))
                return true;
    return false;
}

static void describe(const firn_bake *bake, char *text, size_t size)
{
    const firn_manifest *manifest = bake->manifest;
    size_t count = manifest->frame_count;
    char frames[96] = "no frames";
    if (count > 0)
        snprintf(frames, sizeof frames, "%zu frame%s, %d to %d", count, count == 1 ? "" : "s",
                 manifest->frames[0].frame, manifest->frames[count - 1].frame);
    snprintf(text, size, "'%.400s' has a cache already: %s by %.60s", bake->folder, frames,
             manifest->program);
}

static firn_result refuse(firn_bake *bake, firn_error *error)
{
    char there[600], differences[300] = "";
    bool same = bake->manifest->hash == bake->hash;
    describe(bake, there, sizeof there);
    if (!same)
        firn_graph_differences(bake->graph, bake->folder, differences, sizeof differences);
    return firn_fail(error, FIRN_ERR_EXISTS,
                     "%s, of %s settings%s%s; %soverwrite replaces it frame by frame, another "
                     "version leaves it",
                     there, same ? "these" : "other", same ? "" : ": ", differences,
                     same ? "resume keeps it and cooks what is missing, " : "");
}

static firn_result refuse_stale(firn_bake *bake, firn_error *error)
{
    char differences[300];
    firn_graph_differences(bake->graph, bake->folder, differences, sizeof differences);
    return firn_fail(error, FIRN_ERR_STALE,
                     "the cache in '%.400s' was cooked from other settings: %s; overwrite "
                     "replaces what they change, another version leaves it",
                     bake->folder, differences);
}

// A file of a node that would write it otherwise now.
static bool is_outdated(const firn_bake *bake, const firn_cache_file *file)
{
    for (size_t t = 0; t < bake->target_count; t++)
        if (firn_bake_fits(bake, file, bake->targets[t].node))
            return false;
    return file->hash == 0 || is_of_target(bake, file);
}

// Nodes that were added have files to write, but none to replace.
static bool replaces_files(const firn_bake *bake)
{
    const firn_manifest *manifest = bake->manifest;
    for (size_t i = 0; i < manifest->file_count; i++)
        if (is_outdated(bake, &manifest->files[i]))
            return true;
    for (size_t i = 0; i < manifest->frame_count; i++)
        for (size_t k = 0; k < manifest->frames[i].file_count; k++)
            if (is_outdated(bake, &manifest->frames[i].files[k]))
                return true;
    return false;
}

// What a bake may do with a manifest that was read.
static firn_result judge(firn_bake *bake, firn_error *error)
{
    const firn_manifest *manifest = bake->manifest;
    bool same = manifest->hash == bake->hash;
    if (bake->overwrite)
        return FIRN_OK;
    if (bake->resume)
        return same || !replaces_files(bake) ? FIRN_OK : refuse_stale(bake, error);
    if (!same || count_range(bake) > 0 || would_replace_archive(bake))
        return refuse(bake, error);
    return FIRN_OK;
}

void firn_bake_warn(const firn_bake *bake, const char *message)
{
    const firn_host *host = &bake->graph->host;
    if (host->log != NULL)
        host->log(FIRN_LEVEL_WARNING, "", message, host->user);
}

static void warn_of_manifest(const firn_bake *bake, const firn_error *cause)
{
    char message[FIRN_MESSAGE_SIZE + 64];
    snprintf(message, sizeof message, "%s; every frame is cooked again", cause->message);
    firn_bake_warn(bake, message);
}

// Files that the bake would write and that no manifest knows are somebody's.
static firn_result check_strangers(const firn_bake *bake, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    for (size_t t = 0; t < bake->target_count; t++) {
        const firn_node *node = bake->targets[t].node;
        firn_node_output output;
        const firn_node_type *type = node->type->node;
        for (size_t i = 0; type->writes != NULL && type->writes(node->settings, i, &output); i++) {
            int last = output.every_frame ? bake->last : bake->first;
            for (int frame = bake->first; frame <= last; frame += bake->step) {
                FIRN_TRY(
                    firn_graph_output_path(bake->graph, bake->folder, &output, frame, path, error));
                if (access(path, F_OK) == 0)
                    return firn_fail(error, FIRN_ERR_EXISTS,
                                     "'%.700s' is there, but no manifest that knows it; overwrite "
                                     "replaces it, another version leaves it",
                                     path);
            }
        }
    }
    return FIRN_OK;
}

// Who makes the frames from here on.
static firn_result sign(firn_bake *bake, firn_error *error)
{
    firn_manifest *manifest = bake->manifest;
    char *program = firn_text_copy("firn " FIRN_VERSION);
    if (program == NULL)
        return firn_manifest_no_memory(error);
    firn_free(manifest->program);
    manifest->program = program;
    snprintf(manifest->isa, sizeof manifest->isa, "%s", bake->isa);
    return FIRN_OK;
}

static firn_result begin_manifest(firn_bake *bake, firn_error *error)
{
    FIRN_TRY(firn_manifest_create(bake->graph, bake->hash, &bake->manifest, error));
    // Nobody knows what a checkpoint without a manifest belongs to.
    bake->manifest->simulation = ~bake->simulation;
    return firn_bake_turn(bake, error);
}

// Whether a file is a graph that would be cooked into this very cache.
static bool is_graph_of(const firn_bake *bake, const char *path)
{
    struct stat status, here, there;
    firn_graph *beside = NULL;
    char folder[FIRN_PATH_SIZE];
    bool fine = lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
                firn_graph_load(path, &beside, NULL) == FIRN_OK &&
                firn_graph_hash(beside, NULL) == bake->hash &&
                firn_graph_cache_folder(beside, folder, sizeof folder, NULL) == FIRN_OK &&
                stat(folder, &there) == 0 && stat(bake->folder, &here) == 0 &&
                here.st_ino == there.st_ino && here.st_dev == there.st_dev;
    firn_graph_destroy(beside);
    return fine;
}

// The graph beside a manifest of this one: another is written over.
static firn_result mend_graph(const firn_bake *bake, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.3500s/resolved.firn", bake->folder);
    if (is_graph_of(bake, path))
        return FIRN_OK;
    firn_bake_warn(bake, "resolved.firn was not there, or not of this cache; it is written again");
    return firn_graph_save_resolved(bake->graph, path, error);
}

firn_result firn_bake_open(firn_bake *bake, firn_error *error)
{
    firn_error cause;
    firn_result found = firn_bake_read_manifest(bake, true, &cause);
    if (found == FIRN_ERR_NOT_FOUND) {
        if (!bake->overwrite)
            FIRN_TRY(check_strangers(bake, error));
        return begin_manifest(bake, error);
    }
    if (found != FIRN_OK && !bake->overwrite)
        return firn_fail(error, found, "%.800s; overwrite cooks every frame again", cause.message);
    if (found != FIRN_OK) {
        warn_of_manifest(bake, &cause);
        return begin_manifest(bake, error);
    }
    firn_manifest *manifest = bake->manifest;
    bake->turned = bake->continues = manifest->hash == bake->hash;
    if (bake->turned && manifest->simulation == 0)
        manifest->simulation = bake->simulation;
    if (bake->turned && (bake->resume || bake->overwrite))
        FIRN_TRY(mend_graph(bake, error));
    // A run that ended before its first frame has nothing to mix with: an input was mended since.
    if (manifest->frame_count == 0 && manifest->file_count == 0)
        return firn_bake_turn(bake, error);
    return judge(bake, error);
}

firn_result firn_bake_turn(firn_bake *bake, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    if (bake->turned)
        return FIRN_OK;
    // First of all, since a resume trusts the checkpoints of the manifest's simulation.
    bool simulated_anew = bake->manifest->simulation != bake->simulation;
    if (simulated_anew)
        firn_bake_clear_checkpoints(bake);
    // Where there is a manifest, there is a graph.
    snprintf(path, sizeof path, "%.3500s/resolved.firn", bake->folder);
    FIRN_TRY(firn_graph_save_resolved(bake->graph, path, error));
    firn_manifest_turn(bake->manifest, bake->hash);
    bake->manifest->simulation = bake->simulation;
    if (simulated_anew || bake->manifest->isa[0] == '\0')
        FIRN_TRY(sign(bake, error));
    FIRN_TRY(firn_manifest_write(bake->manifest, bake->folder, error));
    bake->turned = true;
    return FIRN_OK;
}

// Whether the bake leaves frames that others made beside its own.
static bool leaves_frames(const firn_bake *bake)
{
    const firn_manifest *manifest = bake->manifest;
    for (size_t i = 0; i < manifest->frame_count; i++) {
        int frame = manifest->frames[i].frame;
        bool inside =
            frame >= bake->first && frame <= bake->last && (frame - bake->first) % bake->step == 0;
        if (bake->resume || !inside)
            return true;
    }
    return false;
}

firn_result firn_bake_check_machine(firn_bake *bake, firn_error *error)
{
    firn_manifest *manifest = bake->manifest;
    bool same = strcmp(manifest->program, "firn " FIRN_VERSION) == 0 &&
                (manifest->isa[0] == '\0' || strcmp(manifest->isa, bake->isa) == 0);
    if (!bake->continues || bake->marcher_count == 0)
        return FIRN_OK;
    if (same && manifest->isa[0] != '\0')
        return FIRN_OK;
    if (same || !leaves_frames(bake))
        return sign(bake, error);
    if (!bake->allow_mixed)
        return firn_fail(
            error, FIRN_ERR_STALE,
            "the cache in '%.300s' was simulated by %.60s with %.60s, and this is firn "
            "%s with %s: bits would differ within the shot; go on there, overwrite all "
            "frames, or allow a mixed cache",
            bake->folder, manifest->program, manifest->isa, FIRN_VERSION, bake->isa);
    char message[300];
    snprintf(message, sizeof message, "frames by %.60s with %.60s and by firn %s with %s are mixed",
             manifest->program, manifest->isa, FIRN_VERSION, bake->isa);
    firn_bake_warn(bake, message);
    size_t length = strlen(manifest->isa);
    snprintf(manifest->isa + length, sizeof manifest->isa - length, " %s", bake->isa);
    return FIRN_OK;
}
