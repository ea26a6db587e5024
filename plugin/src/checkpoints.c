#define _POSIX_C_SOURCE 200809L
#include "bake.h"
#include "folder.h"
#include "ranks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void checkpoint_folder(const firn_bake *bake, char *path, size_t size)
{
    snprintf(path, size, "%.4000s/checkpoints", bake->folder);
}

static firn_result checkpoint_path(const firn_bake *bake, const firn_node *node, int frame,
                                   char *path, size_t size)
{
    snprintf(path, size, "%.3900s/checkpoints/%s.%04d.chk", bake->folder, node->name, frame);
    return FIRN_OK;
}

void firn_bake_clear_checkpoints(const firn_bake *bake)
{
    char folder[FIRN_PATH_SIZE];
    checkpoint_folder(bake, folder, sizeof folder);
    firn_folder_clear(folder, ".chk");
    firn_folder_sweep(folder);
}

static double setting(const firn_bake *bake, const char *param, double fallback)
{
    double values[3];
    if (bake->marcher_count == 0 || firn_graph_get(bake->graph, bake->marchers[0]->name, param,
                                                   bake->first, values, NULL) != FIRN_OK)
        return fallback;
    return values[0];
}

// Every so many frames, counted from the start of the shot, so that a run that was stopped has its
// checkpoints where others do.
static bool is_regular(const firn_bake *bake, int frame)
{
    int every = (int)setting(bake, "checkpoint_frames", 0.0), start = bake->graph->shot.first;
    int before = frame - bake->step > start ? frame - bake->step : start;
    return every > 0 && (frame - start) / every > (before - start) / every;
}

void firn_bake_forget_checkpoints(const firn_bake *bake)
{
    char folder[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE];
    checkpoint_folder(bake, folder, sizeof folder);
    firn_folder_sweep(folder);
    int keep = (int)setting(bake, "checkpoint_keep", 2.0);
    bool regular = setting(bake, "checkpoint_frames", 0.0) > 0.0;
    for (size_t i = 0; i < bake->marcher_count; i++) {
        const firn_node *node = bake->marchers[i];
        int number = 0, limit = INT32_MAX, kept = 0;
        for (bool last = true; firn_folder_last(folder, node->name, limit, &number); last = false) {
            // One in between, of a stop or a clock, is worth something until the next is there.
            bool counts = !regular || is_regular(bake, number);
            checkpoint_path(bake, node, number, path, sizeof path);
            if (kept >= keep || !(counts || last))
                unlink(path);
            kept += counts;
            limit = number;
        }
    }
}

firn_result firn_bake_checkpoint(firn_bake *bake, firn_error *error)
{
    char folder[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE], fresh[FIRN_PATH_SIZE];
    checkpoint_folder(bake, folder, sizeof folder);
    FIRN_TRY(firn_folder_make_inside(folder, error));
    for (size_t i = 0; i < bake->marcher_count; i++) {
        firn_node *node = bake->marchers[i];
        int frame = 0;
        if (node->type->node->save == NULL)
            continue;
        // The frame is only known afterwards; a name with ".tmp." is swept if we die here.
        snprintf(fresh, sizeof fresh, "%.3900s/%s.tmp.chk", folder, node->name);
        FIRN_TRY(firn_ranks_save(node, fresh, &frame, error));
        checkpoint_path(bake, node, frame, path, sizeof path);
        if (rename(fresh, path) != 0)
            return firn_fail_errno(error, errno, "create", path);
    }
    bake->checkpoint_time = firn_seconds();
    bake->graph->checkpoint = false;
    return FIRN_OK;
}

firn_result firn_bake_checkpoint_if_due(firn_bake *bake, int frame, firn_error *error)
{
    double minutes = setting(bake, "checkpoint_minutes", 0.0);
    bool due = is_regular(bake, frame) ||
               (minutes > 0.0 && firn_seconds() - bake->checkpoint_time >= 60.0 * minutes);
    if (bake->marcher_count == 0 || !(due || bake->graph->checkpoint))
        return FIRN_OK;
    return firn_bake_checkpoint(bake, error);
}

static firn_result path_to_restore(void *user, const firn_node *node, char *path, size_t size)
{
    const firn_bake *bake = user;
    return checkpoint_path(bake, node, bake->restored, path, size);
}

/// The last frame below a limit for which every sequential node has a checkpoint.
static bool find_common(const firn_bake *bake, int limit, int *frame)
{
    char folder[FIRN_PATH_SIZE];
    checkpoint_folder(bake, folder, sizeof folder);
    for (size_t i = 0; i < bake->marcher_count;) {
        int number = 0;
        if (!firn_folder_last(folder, bake->marchers[i]->name, limit, &number))
            return false;
        if (i > 0 && number != *frame) {
            limit = number + 1;
            i = 0;
            continue;
        }
        *frame = number;
        limit = number + 1;
        i++;
    }
    return bake->marcher_count > 0;
}

firn_result firn_bake_restore(firn_bake *bake, int limit, int *frame, firn_error *error)
{
    firn_graph *graph = bake->graph;
    int found = 0;
    *frame = graph->shot.first - 1;
    for (int below = limit + 1; find_common(bake, below, &found); below = found) {
        bake->restored = found;
        // What an earlier bake of this graph left in memory may be beyond that frame.
        for (size_t i = bake->marcher_count; i-- > 0;)
            if (bake->marchers[i]->cooked && bake->marchers[i]->frame != found)
                firn_node_release(bake->marchers[i]);
        firn_cook_pass pass = {.frame = found, .restore = path_to_restore, .user = bake};
        firn_result result =
            firn_graph_run(graph, bake->marchers, bake->marcher_count, &pass, error);
        if (result == FIRN_OK) {
            *frame = found;
            return FIRN_OK;
        }
        char path[FIRN_PATH_SIZE];
        for (size_t i = bake->marcher_count; i-- > 0;) {
            firn_node_release(bake->marchers[i]);
            checkpoint_path(bake, bake->marchers[i], found, path, sizeof path);
            if (result == FIRN_ERR_FORMAT)
                unlink(path); // of no use to anybody
        }
        // One of another simulation is passed over: it is of use, but not here.
        if (result != FIRN_ERR_FORMAT && result != FIRN_ERR_IO && result != FIRN_ERR_NOT_FOUND &&
            result != FIRN_ERR_STALE)
            return result;
        if (graph->host.log != NULL && error != NULL)
            graph->host.log(FIRN_LEVEL_WARNING, "", error->message, graph->host.user);
    }
    return FIRN_OK;
}
