#define _POSIX_C_SOURCE 200809L
#include "bake.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void firn_bake_forget_files(firn_bake *bake)
{
    for (size_t i = 0; i < bake->file_count; i++) {
        firn_free((void *)bake->files[i].name);
        firn_free((void *)bake->files[i].node);
    }
    bake->file_count = 0;
}

void firn_bake_forget_stats(firn_bake *bake)
{
    for (size_t i = 0; i < bake->stat_count; i++)
        firn_free((void *)bake->stats[i].name);
    bake->stat_count = 0;
}

firn_result firn_bake_wrote(void *user, const char *node, const char *path, firn_error *error)
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
    const firn_node *writer = firn_graph_find(bake->graph, node);
    firn_cache_file file = {.name = firn_text_copy(name),
                            .node = firn_text_copy(node),
                            .hash = writer != NULL ? writer->fresh : 0};
    bake->files[bake->file_count++] = file;
    if (file.name == NULL || file.node == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the files");
    firn_cache_file *kept = &bake->files[bake->file_count - 1];
    return firn_cache_stamp(path, &kept->size, &kept->checksum, error);
}

// Numbers of the simulation by their own names, of other nodes with the node's name before.
static firn_result collect_stats(firn_bake *bake, int frame, firn_error *error)
{
    firn_bake_forget_stats(bake);
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

// --- The record of a frame -----------------------------------------------------------------------

static bool is_listed(const firn_cache_file *files, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].name, name) == 0)
            return true;
    return false;
}

static size_t target_of(const firn_bake *bake, const char *node)
{
    size_t at = 0;
    while (at < bake->target_count && strcmp(bake->targets[at].node->name, node) != 0)
        at++;
    return at;
}

// A file of the frame as it was that stays: what its node would write now, or of a node that is no
// longer in the graph.
static bool stays(const firn_bake *bake, const firn_cache_file *file)
{
    bool fits = target_of(bake, file->node) == bake->target_count;
    for (size_t t = 0; t < bake->target_count && !fits; t++)
        fits = firn_bake_fits(bake, file, bake->targets[t].node);
    return fits && !is_listed(bake->files, bake->file_count, file->name);
}

// The record of a frame: fresh files and those that stay, in the order of the nodes, so that it
// does not tell in how many runs they were made.
static firn_result merge_files(firn_bake *bake, const firn_cache_frame *old, firn_cache_file *to,
                               size_t *count)
{
    for (size_t t = 0; t <= bake->target_count; t++) {
        for (size_t i = 0; i < bake->file_count; i++)
            if (target_of(bake, bake->files[i].node) == t)
                to[(*count)++] = bake->files[i];
        for (size_t i = 0; old != NULL && i < old->file_count; i++)
            if (target_of(bake, old->files[i].node) == t && stays(bake, &old->files[i]))
                to[(*count)++] = old->files[i];
    }
    return FIRN_OK;
}

static size_t merge_stats(const firn_bake *bake, const firn_cache_frame *old, firn_stat *to)
{
    size_t count = 0;
    for (size_t i = 0; old != NULL && i < old->stat_count; i++)
        to[count++] = old->stats[i];
    for (size_t i = 0; i < bake->stat_count; i++) {
        size_t at = 0;
        while (at < count && strcmp(to[at].name, bake->stats[i].name) != 0)
            at++;
        to[at] = bake->stats[i];
        count += at == count;
    }
    return count;
}

// Files of the frame that something else has taken the place of.
static void remove_replaced(const firn_bake *bake, const firn_cache_frame *old)
{
    char path[FIRN_PATH_SIZE];
    for (size_t i = 0; old != NULL && i < old->file_count; i++) {
        if (stays(bake, &old->files[i]) ||
            is_listed(bake->files, bake->file_count, old->files[i].name))
            continue;
        snprintf(path, sizeof path, "%.3500s/%.500s", bake->folder, old->files[i].name);
        unlink(path);
    }
}

firn_result firn_bake_record_frame(firn_bake *bake, int frame, firn_error *error)
{
    FIRN_TRY(collect_stats(bake, frame, error));
    const firn_cache_frame *old = firn_manifest_find(bake->manifest, frame);
    size_t files = bake->file_count + (old != NULL ? old->file_count : 0);
    size_t stats = bake->stat_count + (old != NULL ? old->stat_count : 0);
    firn_cache_frame record = {.frame = frame, .hash = bake->hash};
    firn_cache_file *all = firn_alloc_zero((files + 1) * sizeof *all);
    firn_stat *numbers = firn_alloc_zero((stats + 1) * sizeof *numbers);
    firn_result result = FIRN_OK;
    if (all == NULL || numbers == NULL)
        result = firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the files");
    if (result == FIRN_OK)
        result = merge_files(bake, old, all, &record.file_count);
    if (result == FIRN_OK) {
        record.files = all;
        record.stats = numbers;
        record.stat_count = merge_stats(bake, old, numbers);
        remove_replaced(bake, old);
        result = firn_manifest_put_frame(bake->manifest, &record, error);
    }
    firn_free(all);
    firn_free(numbers);
    return result;
}
