#define _POSIX_C_SOURCE 200809L
#include "bake.h"
#include "folder.h"

#include "firn/cache.h"

#include <stdio.h>
#include <string.h>

// Tells a def that was not initialized, or that comes from other headers.
static uint32_t cookie_of(size_t size) { return 0xF12B0000u ^ (uint32_t)size; }

void firn_bake_def_reset(firn_bake_def *def, size_t size)
{
    firn_bake_def full = {.cookie = cookie_of(size), .whole = true, .step = 1};
    memcpy(def, &full, size < sizeof full ? size : sizeof full);
}

// --- What is kept --------------------------------------------------------------------------------

void firn_bake_drop_damaged(firn_bake *bake, int frame)
{
    const firn_cache_frame *found = firn_manifest_find(bake->manifest, frame);
    for (size_t i = 0; found != NULL && i < found->file_count;) {
        firn_error cause;
        if (firn_cache_file_check(bake->folder, &found->files[i], &cause) == FIRN_OK) {
            i++;
            continue;
        }
        firn_bake_warn(bake, cause.message);
        char name[FIRN_PATH_SIZE];
        snprintf(name, sizeof name, "%s", found->files[i].name);
        firn_manifest_drop_file(bake->manifest, name);
    }
}

static bool has_file(const firn_bake *bake, const firn_node *node, int frame)
{
    const firn_cache_frame *found = firn_manifest_find(bake->manifest, frame);
    for (size_t i = 0; found != NULL && i < found->file_count; i++)
        if (firn_bake_fits(bake, &found->files[i], node))
            return true;
    return false;
}

// Whether a node has nothing to do at a frame.
static bool is_done(const firn_bake *bake, const firn_bake_target *target, int frame)
{
    if (target->spans)
        return target->kept || (frame - bake->first) / bake->step < target->written;
    return bake->resume && has_file(bake, target->node, frame);
}

size_t firn_bake_find_wanted(firn_bake *bake, int frame)
{
    size_t count = 0;
    for (size_t t = 0; t < bake->target_count; t++)
        if (!is_done(bake, &bake->targets[t], frame))
            bake->wanted[count++] = bake->targets[t].node;
    return count;
}

// --- Frames --------------------------------------------------------------------------------------

// Until everything that the files of the frame are made from is there, the cache on disk stays as
// it is: a bake that fails or is stopped by then was never there.
static firn_result prepare(firn_bake *bake, size_t wanted, const firn_cook_pass *pass,
                           firn_error *error)
{
    if (bake->turned)
        return FIRN_OK;
    size_t count = wanted;
    for (size_t i = 0; i < wanted; i++)
        for (size_t s = 0; s < bake->wanted[i]->type->info.input_count; s++)
            for (size_t k = 0; k < bake->wanted[i]->inputs[s].count; k++)
                bake->wanted[count++] = bake->wanted[i]->inputs[s].from[k];
    FIRN_TRY(firn_graph_run(bake->graph, bake->wanted + wanted, count - wanted, pass, error));
    FIRN_TRY(firn_bake_turn(bake, error));
    return firn_bake_open_archives(bake, error);
}

static firn_result bake_frame(firn_bake *bake, int frame, firn_error *error)
{
    firn_graph *graph = bake->graph;
    const firn_host *host = &graph->host;
    size_t wanted = firn_bake_find_wanted(bake, frame);
    if (wanted == 0) {
        const firn_cache_frame *found = firn_manifest_find(bake->manifest, frame);
        if (host->frame_done != NULL && found != NULL)
            host->frame_done(frame, true, found->stats, found->stat_count, host->user);
        return FIRN_OK;
    }
    firn_bake_forget_files(bake);
    firn_cook_pass pass = {.frame = frame,
                           .keep = host->progress != NULL,
                           .replay = bake->replays ? firn_bake_replay_path : NULL,
                           .user = bake};
    bake->frame = frame;
    FIRN_TRY(prepare(bake, wanted, &pass, error));
    FIRN_TRY(firn_graph_run(graph, bake->wanted, wanted, &pass, error));
    FIRN_TRY(firn_lock_confirm(&bake->lock, error));
    FIRN_TRY(firn_bake_record_frame(bake, frame, error));
    // A frame that is in the manifest is not cooked again, so its checkpoint comes before; and the
    // one before that goes after, since a stop in between continues from it.
    if (!bake->replays)
        FIRN_TRY(firn_bake_checkpoint_if_due(bake, frame, error));
    FIRN_TRY(firn_manifest_write(bake->manifest, bake->folder, error));
    firn_bake_forget_checkpoints(bake);
    if (host->frame_done != NULL)
        host->frame_done(frame, false, bake->stats, bake->stat_count, host->user);
    return FIRN_OK;
}

static firn_result stop(firn_bake *bake, int frame, firn_error *error)
{
    if (!bake->turned)
        return firn_fail(error, FIRN_ERR_CANCELLED,
                         "stopped at frame %d, before anything was replaced", frame);
    if (!bake->replays)
        FIRN_TRY(firn_bake_checkpoint(bake, error));
    firn_bake_forget_checkpoints(bake);
    return firn_fail(error, FIRN_ERR_CANCELLED,
                     "stopped at frame %d; resume to continue from there", frame);
}

static firn_result bake_frames(firn_bake *bake, firn_error *error)
{
    for (int frame = bake->first; bake->resume && frame <= bake->last; frame += bake->step)
        firn_bake_drop_damaged(bake, frame);
    FIRN_TRY(firn_bake_begin_archives(bake, error));
    int missing = bake->first;
    while (missing <= bake->last && firn_bake_find_wanted(bake, missing) == 0)
        missing += bake->step;
    bake->replays = bake->resume && missing <= bake->last && firn_bake_can_replay(bake);
    bool simulates = missing <= bake->last && !bake->replays;
    if (simulates)
        FIRN_TRY(firn_bake_check_machine(bake, error));
    bake->checkpoint_time = firn_seconds();
    int restored = 0;
    if (bake->resume && simulates && bake->manifest->simulation == bake->simulation) {
        firn_bake_forget_checkpoints(bake);
        FIRN_TRY(firn_bake_restore(bake, missing - 1, &restored, error));
    }
    for (int frame = bake->first; frame <= bake->last; frame += bake->step) {
        firn_result result = bake_frame(bake, frame, error);
        if (result == FIRN_ERR_CANCELLED)
            return stop(bake, frame, error);
        FIRN_TRY(result);
    }
    return firn_bake_finish_archives(bake, error);
}

static void show_life(void *user)
{
    firn_bake *bake = user;
    firn_lock_beat(&bake->lock, NULL);
    for (size_t t = 0; bake->held != NULL && t < bake->target_count; t++)
        firn_lock_beat(&bake->held[t], NULL);
}

// --- Setting up ----------------------------------------------------------------------------------

void firn_bake_sweep(const firn_bake *bake)
{
    char inside[FIRN_PATH_SIZE];
    snprintf(inside, sizeof inside, "%.4000s/.", bake->folder);
    firn_folder_sweep(inside);
}

// The whole cache for this process alone, before anything else is looked at.
static firn_result take_cache(firn_bake *bake, const firn_bake_def *def, firn_error *error)
{
    const firn_lock_def lock = {bake->folder, ".lock", def->break_lock, false};
    FIRN_TRY(firn_folder_make(bake->folder, error));
    FIRN_TRY(firn_lock_take(&bake->lock, &lock, error));
    firn_bake_sweep(bake);
    return FIRN_OK;
}

static firn_result set_up(firn_bake *bake, const firn_bake_def *def, firn_error *error)
{
    firn_graph *graph = bake->graph;
    FIRN_TRY(firn_graph_validate(graph, NULL, NULL, error));
    bake->first = def->whole ? graph->shot.first : def->first;
    bake->last = def->whole ? graph->shot.last : def->last;
    bake->step = def->step;
    bake->from_cache = def->from_cache;
    bake->resume = def->resume || (def->from_cache && !def->overwrite);
    bake->overwrite = def->overwrite;
    bake->allow_mixed = def->allow_mixed;
    if (bake->first > bake->last || bake->step < 1)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "frames %d to %d by %d are no range",
                         bake->first, bake->last, bake->step);
    FIRN_TRY(firn_bake_find_nodes(bake, def->only, error));
    FIRN_TRY(firn_graph_check_range(graph, bake->first, error));
    FIRN_TRY(firn_graph_cache_folder(graph, bake->folder, sizeof bake->folder, error));
    if (!bake->from_cache)
        FIRN_TRY(take_cache(bake, def, error));
    bake->hash = firn_graph_hash(graph, NULL);
    for (size_t i = 0; i < bake->marcher_count; i++)
        bake->simulation =
            firn_hash64(&bake->marchers[i]->fresh, sizeof bake->simulation, bake->simulation);
    for (size_t i = 0; i < bake->marcher_count; i++)
        if (bake->marchers[i]->type->node->machine != NULL)
            bake->marchers[i]->type->node->machine(bake->marchers[i]->settings, bake->isa);
    firn_graph_release_stale(graph);
    for (size_t i = 0; i < bake->target_count; i++)
        firn_node_release(bake->targets[i].node);
    graph->hooks =
        (firn_bake_hooks){firn_bake_wrote, show_life, bake, bake->first, bake->step, bake->folder};
    return bake->from_cache ? FIRN_OK : firn_bake_open(bake, error);
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
        result = bake.from_cache ? firn_bake_chunk(&bake, def, error) : bake_frames(&bake, error);
    for (size_t i = 0; i < bake.target_count; i++)
        firn_node_release(bake.targets[i].node);
    for (size_t i = bake.marcher_count; bake.replays && i-- > 0;)
        firn_node_release(bake.marchers[i]); // it has the particles of a frame and no state
    graph->hooks = (firn_bake_hooks){0};
    firn_bake_forget_files(&bake);
    firn_bake_forget_stats(&bake);
    firn_free(bake.files);
    firn_free(bake.stats);
    firn_free(bake.targets);
    firn_free(bake.wanted);
    firn_free(bake.marchers);
    firn_free(bake.held);
    firn_manifest_destroy(bake.manifest);
    firn_lock_release(&bake.lock);
    return result;
}
