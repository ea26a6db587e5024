/// Later stages of some frames, from the particles of the cache, beside other processes that do the
/// same with other frames, and beside the simulation.
#define _POSIX_C_SOURCE 200809L
#include "bake.h"
#include "folder.h"
#include "records.h"

#include <stdio.h>
#include <string.h>

/// What became of a frame, or of the frames of a range.
typedef struct outcome {
    int absent, first_absent, last_absent; // frames that were not simulated yet
    int busy;                              // frames that somebody else is at
} outcome;

// Nothing but the simulation can make what comes straight from it.
static firn_result keep_later(firn_bake *bake, bool named, firn_error *error)
{
    size_t kept = 0;
    for (size_t t = 0; t < bake->target_count; t++) {
        if (firn_bake_is_later(bake, &bake->targets[t]))
            bake->targets[kept++] = bake->targets[t];
        else if (named)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "%s writes what comes straight from the simulation, or one file of "
                             "all frames; cook it without 'from the cache'",
                             bake->targets[t].node->name);
    }
    bake->target_count = kept;
    if (kept == 0 || bake->marcher_count == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the graph has no stage behind a simulation, such as rasterize and "
                         "write_volume, that could be cooked from its cache");
    for (size_t m = 0; m < bake->marcher_count; m++)
        if (bake->marchers[m]->type->node->replay == NULL)
            return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                             "%s (%s) cannot be read from a cache; cook its frames in one process",
                             bake->marchers[m]->name, bake->marchers[m]->type->info.name);
    return FIRN_OK;
}

// --- The graph of the cache ----------------------------------------------------------------------

// The cache is of another graph: it becomes one of this graph, for all who come after. Only the
// first of many does that, the others find it done.
static firn_result turn(firn_bake *bake, firn_error *error)
{
    const firn_lock_def lock = {bake->folder, ".lock", false, true};
    FIRN_TRY(firn_lock_take(&bake->lock, &lock, error));
    firn_result result = firn_bake_open(bake, error);
    if (result == FIRN_OK && bake->manifest->simulation != bake->simulation)
        result = firn_fail(error, FIRN_ERR_STALE,
                           "the snow in '%.400s' was simulated from other settings; simulate it "
                           "anew before its later stages",
                           bake->folder);
    if (result == FIRN_OK)
        result = firn_bake_turn(bake, error);
    firn_lock_release(&bake->lock);
    return result;
}

static firn_result open_cache(firn_bake *bake, firn_error *error)
{
    firn_error cause;
    firn_result result = firn_bake_read_manifest(bake, false, &cause);
    if (result == FIRN_ERR_NOT_FOUND)
        return firn_fail(error, FIRN_ERR_NOT_FOUND,
                         "nothing was simulated in '%.500s' yet; later stages come after",
                         bake->folder);
    if (result != FIRN_OK)
        return firn_fail(error, result, "%s", cause.message);
    if (bake->manifest->hash != bake->hash)
        return turn(bake, error);
    bake->turned = bake->continues = true;
    return FIRN_OK;
}

// --- A frame -------------------------------------------------------------------------------------

static void release_locks(firn_bake *bake)
{
    for (size_t t = 0; t < bake->target_count; t++)
        firn_lock_release(&bake->held[t]);
}

// Takes the locks of all targets at a frame, and counts them. Those that somebody else has are left
// to him.
static firn_result take_locks(firn_bake *bake, const firn_bake_def *def, int frame, size_t *count,
                              firn_error *error)
{
    char folder[FIRN_PATH_SIZE], name[FIRN_NAME_SIZE + 32];
    *count = 0;
    FIRN_TRY(firn_records_open(bake->folder, folder, sizeof folder, error));
    for (size_t t = 0; t < bake->target_count; t++) {
        snprintf(name, sizeof name, "%s.%04d.lock", bake->targets[t].node->name, frame);
        const firn_lock_def lock = {folder, name, def->break_lock, false};
        firn_result result = firn_lock_take(&bake->held[t], &lock, error);
        if (result != FIRN_OK && result != FIRN_ERR_LOCKED)
            return result;
        *count += result == FIRN_OK;
    }
    return FIRN_OK;
}

// The nodes that have something to do at a frame, by what others have left until now, and whose
// locks are ours. They are in bake->wanted.
static firn_result find_wanted(firn_bake *bake, int frame, size_t *wanted, firn_error *error)
{
    FIRN_TRY(firn_bake_read_manifest(bake, false, error));
    if (bake->manifest->hash != bake->hash)
        return firn_fail(error, FIRN_ERR_STALE,
                         "the cache in '%.400s' has become one of other settings meanwhile",
                         bake->folder);
    firn_bake_drop_damaged(bake, frame);
    size_t count = firn_bake_find_wanted(bake, frame), kept = 0;
    for (size_t t = 0, w = 0; t < bake->target_count && w < count; t++)
        if (bake->wanted[w] == bake->targets[t].node) {
            w++;
            if (bake->held[t].descriptor >= 0)
                bake->wanted[kept++] = bake->targets[t].node;
        }
    *wanted = kept;
    return FIRN_OK;
}

static void note_absent(outcome *all, int frame)
{
    if (all->absent++ == 0)
        all->first_absent = frame;
    all->last_absent = frame;
}

static firn_result cook_frame(firn_bake *bake, int frame, size_t wanted, firn_error *error)
{
    firn_cook_pass pass = {.frame = frame, .replay = firn_bake_replay_path, .user = bake};
    firn_bake_forget_files(bake);
    bake->frame = frame;
    FIRN_TRY(firn_graph_run(bake->graph, bake->wanted, wanted, &pass, error));
    for (size_t t = 0; t < bake->target_count; t++)
        FIRN_TRY(firn_lock_confirm(&bake->held[t], error));
    return firn_bake_record_chunk(bake, wanted, frame, error);
}

static void tell_done(const firn_bake *bake, int frame, bool skipped)
{
    const firn_host *host = &bake->graph->host;
    const firn_cache_frame *found = firn_manifest_find(bake->manifest, frame);
    if (host->frame_done != NULL)
        host->frame_done(frame, skipped, found != NULL ? found->stats : NULL,
                         found != NULL ? found->stat_count : 0, host->user);
}

static firn_result bake_locked(firn_bake *bake, int frame, outcome *all, firn_error *error)
{
    size_t wanted = 0;
    FIRN_TRY(find_wanted(bake, frame, &wanted, error));
    bool absent = wanted > 0 && !firn_bake_has_simulated(bake, frame);
    if (absent)
        note_absent(all, frame);
    else if (wanted > 0)
        FIRN_TRY(cook_frame(bake, frame, wanted, error));
    if (!absent)
        tell_done(bake, frame, wanted == 0);
    return FIRN_OK;
}

static firn_result bake_frame(firn_bake *bake, const firn_bake_def *def, int frame, outcome *all,
                              firn_error *error)
{
    size_t locked = 0;
    firn_result result = take_locks(bake, def, frame, &locked, error);
    all->busy += locked < bake->target_count;
    if (result == FIRN_OK && locked > 0)
        result = bake_locked(bake, frame, all, error);
    release_locks(bake);
    return result;
}

// --- All of them ---------------------------------------------------------------------------------

static firn_result answer(const firn_bake *bake, const outcome *all, firn_error *error)
{
    if (all->absent > 0)
        return firn_fail(error, FIRN_ERR_NOT_FOUND,
                         "%d of the frames %d to %d were not simulated yet, or not into .bgeo or "
                         ".abc files of single frames, in '%.400s'; all others are done, run this "
                         "again later",
                         all->absent, all->first_absent, all->last_absent, bake->folder);
    if (all->busy > 0)
        return firn_fail(error, FIRN_ERR_LOCKED,
                         "%d frames in '%.400s' are being written by other processes; all others "
                         "are done",
                         all->busy, bake->folder);
    return FIRN_OK;
}

// Where nobody else has the cache, the records become part of its manifest.
static void merge(firn_bake *bake)
{
    const firn_lock_def lock = {bake->folder, ".lock", false, true};
    if (firn_lock_take(&bake->lock, &lock, NULL) != FIRN_OK)
        return;
    firn_bake_sweep(bake);
    firn_bake_read_manifest(bake, true, NULL);
    firn_lock_release(&bake->lock);
}

firn_result firn_bake_chunk(firn_bake *bake, const firn_bake_def *def, firn_error *error)
{
    FIRN_TRY(keep_later(bake, def->only != NULL, error));
    FIRN_TRY(open_cache(bake, error));
    bake->replays = true;
    bake->held = firn_alloc_zero((bake->target_count + 1) * sizeof *bake->held);
    if (bake->held == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot begin to bake");
    for (size_t t = 0; t < bake->target_count; t++)
        bake->held[t].descriptor = -1;
    outcome all = {0};
    // Once more for frames that others were at: they may have failed.
    for (int round = 0; round < 2 && (round == 0 || all.busy > 0); round++) {
        all = (outcome){0};
        for (int frame = bake->first; frame <= bake->last; frame += bake->step) {
            firn_result result = bake_frame(bake, def, frame, &all, error);
            if (result == FIRN_ERR_CANCELLED)
                return firn_fail(error, result, "stopped at frame %d; run it again to continue",
                                 frame);
            FIRN_TRY(result);
        }
        bake->resume = true; // what an overwrite has done is done
    }
    merge(bake);
    return answer(bake, &all, error);
}
