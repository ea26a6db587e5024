#define _POSIX_C_SOURCE 200809L
#include "bake.h"
#include "folder.h"

#include "firn/cache.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Tells a def that was not initialized, or that comes from other headers.
static uint32_t cookie_of(size_t size) { return 0xF12B0000u ^ (uint32_t)size; }

void firn_bake_def_reset(firn_bake_def *def, size_t size)
{
    firn_bake_def full = {.cookie = cookie_of(size), .whole = true, .step = 1};
    memcpy(def, &full, size < sizeof full ? size : sizeof full);
}

firn_result firn_graph_cache_folder(const firn_graph *graph, char *path, size_t size,
                                    firn_error *error)
{
    const firn_shot *shot = &graph->shot;
    char base[FIRN_PATH_SIZE], wedge[32] = "";
    firn_result result = firn_graph_resolve_path(graph, shot->base, base, sizeof base, error);
    if (result != FIRN_OK) {
        firn_error cause = error != NULL ? *error : (firn_error){0};
        return firn_fail(error, result, "base: %s", cause.message);
    }
    if (shot->wedge >= 0)
        snprintf(wedge, sizeof wedge, "/w%d", shot->wedge);
    if (shot->name[0] == '\0' || strchr(shot->name, '/') != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "name is '%s'; a cache needs a name, without '/'", shot->name);
    int length = snprintf(path, size, "%s/%s/v%d%s", base[0] != '\0' ? base : ".", shot->name,
                          shot->version, wedge);
    if (length < 0 || (size_t)length >= size || length > 3500)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the cache is too long");
    return FIRN_OK;
}

// --- Files and numbers of a frame ----------------------------------------------------------------

static void forget_files(firn_bake *bake)
{
    for (size_t i = 0; i < bake->file_count; i++) {
        firn_free((void *)bake->files[i].name);
        firn_free((void *)bake->files[i].node);
    }
    bake->file_count = 0;
}

static void forget_stats(firn_bake *bake)
{
    for (size_t i = 0; i < bake->stat_count; i++)
        firn_free((void *)bake->stats[i].name);
    bake->stat_count = 0;
}

static firn_result on_wrote(void *user, const char *node, const char *path, firn_error *error)
{
    firn_bake *bake = user;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < bake->file_count; i++)
        if (strcmp(bake->files[i].name, name) == 0)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "%s and %s write the same file '%s'; give one of them a name",
                             bake->files[i].node, node, name);
    FIRN_TRY(firn_grow(&bake->files, &bake->file_capacity, bake->file_count, sizeof *bake->files,
                       error));
    firn_cache_file file = {.name = firn_text_copy(name), .node = firn_text_copy(node)};
    bake->files[bake->file_count++] = file;
    if (file.name == NULL || file.node == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the files");
    firn_cache_file *kept = &bake->files[bake->file_count - 1];
    return firn_cache_stamp(path, &kept->size, &kept->checksum, error);
}

// Numbers of the simulation by their own names, of other nodes with the node's name before.
static firn_result collect_stats(firn_bake *bake, int frame, firn_error *error)
{
    forget_stats(bake);
    for (size_t i = 0; i < bake->graph->node_count; i++) {
        const firn_node *node = bake->graph->order[i];
        if (!node->cooked || node->frame != frame)
            continue;
        bool main = bake->marcher_count > 0 ? node == bake->marchers[0] : bake->stat_count == 0;
        for (size_t k = 0; k < node->output.stat_count; k++) {
            char name[2 * FIRN_NAME_SIZE];
            snprintf(name, sizeof name, "%s%s%s", main ? "" : node->name, main ? "" : ".",
                     node->output.stats[k].name);
            FIRN_TRY(firn_grow(&bake->stats, &bake->stat_capacity, bake->stat_count,
                               sizeof *bake->stats, error));
            firn_stat stat = {firn_text_copy(name), node->output.stats[k].value};
            if (stat.name == NULL)
                return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot keep numbers");
            bake->stats[bake->stat_count++] = stat;
        }
    }
    return FIRN_OK;
}

// --- Setting up ----------------------------------------------------------------------------------

static firn_result find_nodes(firn_bake *bake, firn_error *error)
{
    firn_graph *graph = bake->graph;
    bake->targets = firn_alloc_zero((graph->node_count + 1) * sizeof *bake->targets);
    bake->marchers = firn_alloc_zero((graph->node_count + 1) * sizeof *bake->marchers);
    if (bake->targets == NULL || bake->marchers == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot begin to bake");
    for (size_t i = 0; i < graph->node_count; i++) {
        firn_node *node = graph->order[i];
        node->reached = node->type->info.output == FIRN_KIND_NONE;
        if (node->reached)
            bake->targets[bake->target_count++] = node;
    }
    if (bake->target_count == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "no node of the graph writes files; add write_particles or write_volume");
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

static void remove_old(const firn_bake *bake, const firn_manifest *old)
{
    firn_manifest_view view = firn_manifest_look(old);
    char path[FIRN_PATH_SIZE];
    for (size_t i = 0; i < view.frame_count; i++)
        for (size_t k = 0; k < view.frames[i].file_count; k++) {
            snprintf(path, sizeof path, "%.3500s/%.500s", bake->folder,
                     view.frames[i].files[k].name);
            unlink(path);
        }
    for (size_t i = 0; i < view.file_count; i++) {
        snprintf(path, sizeof path, "%.3500s/%.500s", bake->folder, view.files[i].name);
        unlink(path);
    }
}

static void warn_of_manifest(const firn_bake *bake, const firn_error *cause)
{
    const firn_host *host = &bake->graph->host;
    char message[FIRN_MESSAGE_SIZE + 64];
    snprintf(message, sizeof message, "%s; every frame is cooked again", cause->message);
    if (host->log != NULL)
        host->log(FIRN_LEVEL_WARNING, "", message, host->user);
}

// With resume, the manifest of the earlier run if it is one of this graph; else an empty one. A run
// that ended before its first frame has nothing to mix with: an input was mended since.
static firn_result open_manifest(firn_bake *bake, firn_error *error)
{
    firn_manifest *old = NULL;
    firn_error cause;
    firn_result found = firn_manifest_read(bake->folder, &old, &cause);
    firn_manifest_view view = {0};
    if (found == FIRN_OK)
        view = firn_manifest_look(old);
    bool is_empty = view.frame_count == 0 && view.file_count == 0;
    if (found == FIRN_OK && bake->resume && (view.hash == bake->hash || !is_empty)) {
        bake->manifest = old;
        if (view.hash == bake->hash)
            return FIRN_OK;
        return firn_fail(error, FIRN_ERR_STALE,
                         "the cache in '%s' was cooked from other settings, links or files; cook "
                         "it anew without resume, or into another version",
                         bake->folder);
    }
    if (bake->resume && found != FIRN_OK && found != FIRN_ERR_NOT_FOUND)
        warn_of_manifest(bake, &cause);
    bake->resume = false;
    firn_bake_clear_checkpoints(bake);
    if (found == FIRN_OK)
        remove_old(bake, old);
    firn_manifest_destroy(old);
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.3500s/manifest.json", bake->folder);
    unlink(path);
    FIRN_TRY(firn_manifest_create(bake->graph, bake->hash, &bake->manifest, error));
    // Where there is a manifest, there is a graph.
    snprintf(path, sizeof path, "%.3500s/resolved.firn", bake->folder);
    FIRN_TRY(firn_graph_save_resolved(bake->graph, path, error));
    return firn_manifest_write(bake->manifest, bake->folder, error);
}

// Frames whose files are missing or changed are cooked again.
static void drop_damaged(firn_bake *bake)
{
    const firn_host *host = &bake->graph->host;
    for (int frame = bake->first; frame <= bake->last; frame += bake->step) {
        const firn_cache_frame *found = firn_manifest_find(bake->manifest, frame);
        firn_error cause;
        bool whole = true;
        for (size_t i = 0; found != NULL && whole && i < found->file_count; i++)
            whole = firn_cache_file_check(bake->folder, &found->files[i], &cause) == FIRN_OK;
        if (whole)
            continue;
        if (host->log != NULL)
            host->log(FIRN_LEVEL_WARNING, "", cause.message, host->user);
        firn_manifest_drop_frame(bake->manifest, frame);
    }
}

// The first frame that is not on disk; after the last when all are.
static int first_missing(const firn_bake *bake)
{
    int frame = bake->first;
    while (frame <= bake->last && firn_manifest_find(bake->manifest, frame) != NULL)
        frame += bake->step;
    return frame;
}

static bool archives_are_whole(const firn_bake *bake)
{
    firn_manifest_view view = firn_manifest_look(bake->manifest);
    for (size_t i = 0; i < view.file_count; i++)
        if (firn_cache_file_check(bake->folder, &view.files[i], NULL) != FIRN_OK)
            return false;
    for (size_t t = 0; t < bake->target_count; t++) {
        bool found = false, every_frame = false;
        for (size_t i = 0; i < view.file_count; i++)
            found = found || strcmp(view.files[i].node, bake->targets[t]->name) == 0;
        for (size_t k = 0; view.frame_count > 0 && k < view.frames[0].file_count; k++)
            every_frame =
                every_frame || strcmp(view.frames[0].files[k].node, bake->targets[t]->name) == 0;
        if (!found && !every_frame)
            return false;
    }
    return true;
}

// Archives that have every frame stay as they are while other files are mended.
static void leave_archives(firn_bake *bake)
{
    firn_manifest_view view = firn_manifest_look(bake->manifest);
    size_t kept = 0;
    for (size_t t = 0; t < bake->target_count; t++) {
        bool found = false;
        for (size_t i = 0; i < view.file_count; i++)
            found = found || strcmp(view.files[i].node, bake->targets[t]->name) == 0;
        if (!found)
            bake->targets[kept++] = bake->targets[t];
    }
    bake->target_count = kept;
}

static firn_result begin_archives(firn_bake *bake, firn_error *error)
{
    bake->archive_frames = INT_MAX;
    for (size_t i = 0; i < bake->target_count; i++) {
        firn_node *node = bake->targets[i];
        const firn_node_type *type = node->type->node;
        if (type->begin == NULL)
            continue;
        FIRN_TRY(firn_node_settings(node, bake->first, true, node->settings, error));
        firn_cook cook = firn_node_cook_context(node, bake->first);
        cook.resume = bake->resume;
        int frames = -1;
        FIRN_TRY(firn_node_failed(node, type->begin(&cook, &frames, error)));
        node->cooked = false;
        if (frames < 0)
            continue;
        // One that is there already has too few frames, and is no part of the cache until it has.
        firn_manifest_drop_files(bake->manifest, node->name);
        if (frames < bake->archive_frames)
            bake->archive_frames = frames;
    }
    return FIRN_OK;
}

// --- Frames --------------------------------------------------------------------------------------

static bool is_done(const firn_bake *bake, int frame)
{
    return firn_manifest_find(bake->manifest, frame) != NULL &&
           (frame - bake->first) / bake->step < bake->archive_frames;
}

static firn_result bake_frame(firn_bake *bake, int frame, firn_error *error)
{
    firn_graph *graph = bake->graph;
    const firn_host *host = &graph->host;
    if (is_done(bake, frame)) {
        const firn_cache_frame *found = firn_manifest_find(bake->manifest, frame);
        if (host->frame_done != NULL)
            host->frame_done(frame, true, found->stats, found->stat_count, host->user);
        return FIRN_OK;
    }
    forget_files(bake);
    firn_cook_pass pass = {.frame = frame, .keep = host->progress != NULL};
    FIRN_TRY(firn_graph_run(graph, bake->targets, bake->target_count, &pass, error));
    FIRN_TRY(collect_stats(bake, frame, error));
    firn_cache_frame record = {frame, bake->file_count, bake->files, bake->stat_count, bake->stats};
    FIRN_TRY(firn_manifest_put_frame(bake->manifest, &record, error));
    // A frame that is in the manifest is not cooked again, so its checkpoint comes before; and the
    // one before that goes after, since a stop in between continues from it.
    FIRN_TRY(firn_bake_checkpoint_if_due(bake, frame, error));
    FIRN_TRY(firn_manifest_write(bake->manifest, bake->folder, error));
    firn_bake_forget_checkpoints(bake);
    if (host->frame_done != NULL)
        host->frame_done(frame, false, bake->stats, bake->stat_count, host->user);
    return FIRN_OK;
}

static firn_result finish_archives(firn_bake *bake, firn_error *error)
{
    forget_files(bake);
    for (size_t i = 0; i < bake->target_count; i++) {
        firn_node *node = bake->targets[i];
        if (node->type->node->finish == NULL)
            continue;
        FIRN_TRY(firn_node_settings(node, bake->last, true, node->settings, error));
        firn_cook cook = firn_node_cook_context(node, bake->last);
        FIRN_TRY(firn_node_failed(node, node->type->node->finish(&cook, error)));
    }
    for (size_t i = 0; i < bake->file_count; i++)
        FIRN_TRY(firn_manifest_put_file(bake->manifest, &bake->files[i], error));
    return bake->file_count > 0 ? firn_manifest_write(bake->manifest, bake->folder, error)
                                : FIRN_OK;
}

static firn_result bake_frames(firn_bake *bake, firn_error *error)
{
    bool listed = first_missing(bake) > bake->last;
    drop_damaged(bake);
    int missing = first_missing(bake);
    bool whole = listed && archives_are_whole(bake), complete = whole && missing > bake->last;
    if (whole && !complete)
        leave_archives(bake);
    bake->archive_frames = INT_MAX;
    if (!complete)
        FIRN_TRY(begin_archives(bake, error));
    if (bake->archive_frames != INT_MAX) {
        int unwritten = bake->first + bake->archive_frames * bake->step;
        missing = unwritten < missing ? unwritten : missing;
    }
    firn_bake_forget_checkpoints(bake);
    bake->checkpoint_time = firn_seconds();
    int restored = 0;
    if (bake->resume && missing <= bake->last)
        FIRN_TRY(firn_bake_restore(bake, missing - 1, &restored, error));
    for (int frame = bake->first; frame <= bake->last; frame += bake->step) {
        firn_result result = bake_frame(bake, frame, error);
        if (result == FIRN_ERR_CANCELLED) {
            FIRN_TRY(firn_bake_checkpoint(bake, error));
            firn_bake_forget_checkpoints(bake);
            return firn_fail(error, FIRN_ERR_CANCELLED,
                             "stopped at frame %d; resume to continue from there", frame);
        }
        FIRN_TRY(result);
    }
    return complete ? FIRN_OK : finish_archives(bake, error);
}

static firn_result set_up(firn_bake *bake, const firn_bake_def *def, firn_error *error)
{
    firn_graph *graph = bake->graph;
    FIRN_TRY(firn_graph_validate(graph, NULL, NULL, error));
    bake->first = def->whole ? graph->shot.first : def->first;
    bake->last = def->whole ? graph->shot.last : def->last;
    bake->step = def->step;
    bake->resume = def->resume;
    if (bake->first > bake->last || bake->step < 1)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "frames %d to %d by %d are no range",
                         bake->first, bake->last, bake->step);
    FIRN_TRY(find_nodes(bake, error));
    // Before anything of an earlier bake is removed.
    FIRN_TRY(firn_graph_check_range(graph, bake->first, error));
    FIRN_TRY(firn_graph_cache_folder(graph, bake->folder, sizeof bake->folder, error));
    FIRN_TRY(firn_folder_make(bake->folder, error));
    FIRN_TRY(firn_lock_take(&bake->lock, bake->folder, error));
    firn_folder_sweep(bake->folder);
    bake->hash = firn_graph_hash(graph, NULL);
    firn_graph_release_stale(graph);
    for (size_t i = 0; i < bake->target_count; i++)
        firn_node_release(bake->targets[i]);
    snprintf(graph->version, sizeof graph->version, "firn %s %016" PRIx64, FIRN_VERSION,
             bake->hash);
    graph->hooks = (firn_bake_hooks){on_wrote, bake, bake->first, bake->step, bake->folder};
    return open_manifest(bake, error);
}

firn_result firn_graph_bake(firn_graph *graph, const firn_bake_def *def, firn_error *error)
{
    if (def->cookie != cookie_of(sizeof *def))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the settings of the bake are not initialized; use "
                         "firn_bake_def_default()");
    firn_bake bake = {.graph = graph, .lock.descriptor = -1};
    graph->stop = graph->checkpoint = false;
    graph->failed[0] = '\0';
    firn_result result = set_up(&bake, def, error);
    if (result == FIRN_OK)
        result = bake_frames(&bake, error);
    for (size_t i = 0; i < bake.target_count; i++)
        firn_node_release(bake.targets[i]);
    graph->hooks = (firn_bake_hooks){0};
    forget_files(&bake);
    forget_stats(&bake);
    firn_free(bake.files);
    firn_free(bake.stats);
    firn_free(bake.targets);
    firn_free(bake.marchers);
    firn_manifest_destroy(bake.manifest);
    firn_lock_release(&bake.lock);
    return result;
}

// --- State ---------------------------------------------------------------------------------------

const char *firn_cache_state_name(firn_cache_state state)
{
    static const char *const names[] = {"none", "stale", "partial", "complete"};
    return (size_t)state < FIRN_COUNT(names) ? names[state] : "unknown";
}

firn_result firn_graph_cache_state(firn_graph *graph, firn_cache_state *state, firn_error *error)
{
    char folder[FIRN_PATH_SIZE];
    firn_manifest *manifest = NULL;
    *state = FIRN_CACHE_NONE;
    FIRN_TRY(firn_graph_cache_folder(graph, folder, sizeof folder, error));
    firn_result result = firn_manifest_read(folder, &manifest, error);
    if (result == FIRN_ERR_NOT_FOUND)
        return FIRN_OK;
    FIRN_TRY(result);
    *state = FIRN_CACHE_COMPLETE;
    for (int frame = graph->shot.first; frame <= graph->shot.last; frame++)
        if (firn_manifest_find(manifest, frame) == NULL)
            *state = FIRN_CACHE_PARTIAL;
    if (firn_manifest_look(manifest).hash != firn_graph_hash(graph, NULL))
        *state = FIRN_CACHE_STALE;
    firn_manifest_destroy(manifest);
    return FIRN_OK;
}
