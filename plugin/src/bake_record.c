#define _POSIX_C_SOURCE 200809L
#include "bake.h"
#include "records.h"

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

// The place of a node in the order of the graph; behind all when it has none.
static size_t rank_of(const firn_bake *bake, const char *name, size_t length)
{
    size_t rank = 0;
    for (; rank < bake->graph->node_count; rank++) {
        const char *node = bake->graph->order[rank]->name;
        if (strlen(node) == length && memcmp(node, name, length) == 0)
            break;
    }
    return rank;
}

// Files in the order of the nodes, so that a frame does not tell in how many runs or by how many
// processes they were made.
static void arrange_files(const firn_bake *bake, firn_cache_file *files, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && rank_of(bake, files[k].node, strlen(files[k].node)) <
                                        rank_of(bake, files[k - 1].node, strlen(files[k - 1].node));
             k--) {
            firn_cache_file swap = files[k];
            files[k] = files[k - 1];
            files[k - 1] = swap;
        }
}

// Numbers of the simulation and what it is made from come first, then those of nodes behind it.
static size_t rank_of_stat(const firn_bake *bake, const char *name)
{
    const char *dot = strchr(name, '.');
    size_t rank = dot != NULL ? rank_of(bake, name, (size_t)(dot - name)) : 0;
    size_t first = bake->marcher_count > 0
                       ? rank_of(bake, bake->marchers[0]->name, strlen(bake->marchers[0]->name))
                       : 0;
    return rank < bake->graph->node_count && rank > first ? rank : 0;
}

static void arrange_stats(const firn_bake *bake, firn_stat *stats, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i;
             k > 0 && rank_of_stat(bake, stats[k].name) < rank_of_stat(bake, stats[k - 1].name);
             k--) {
            firn_stat swap = stats[k];
            stats[k] = stats[k - 1];
            stats[k - 1] = swap;
        }
}

// The record of a frame: fresh files and those that stay.
static size_t merge_files(const firn_bake *bake, const firn_cache_frame *old, firn_cache_file *to)
{
    size_t count = 0;
    for (size_t i = 0; i < bake->file_count; i++)
        to[count++] = bake->files[i];
    for (size_t i = 0; old != NULL && i < old->file_count; i++)
        if (stays(bake, &old->files[i]))
            to[count++] = old->files[i];
    arrange_files(bake, to, count);
    return count;
}

static void remove_file(const firn_bake *bake, const char *name)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.3500s/%.500s", bake->folder, name);
    unlink(path);
}

// Files of the frame that something else has taken the place of.
static void remove_replaced(const firn_bake *bake, const firn_cache_frame *old)
{
    for (size_t i = 0; old != NULL && i < old->file_count; i++) {
        if (stays(bake, &old->files[i]) ||
            is_listed(bake->files, bake->file_count, old->files[i].name))
            continue;
        remove_file(bake, old->files[i].name);
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
    if (result == FIRN_OK) {
        record.file_count = merge_files(bake, old, all);
        record.files = all;
        record.stats = numbers;
        record.stat_count = firn_stats_merge(old, bake->stats, bake->stat_count, numbers);
        arrange_stats(bake, numbers, record.stat_count);
        remove_replaced(bake, old);
        result = firn_manifest_put_frame(bake->manifest, &record, error);
    }
    firn_free(all);
    firn_free(numbers);
    return result;
}

// --- Records beside the manifest -----------------------------------------------------------------

// Numbers of the simulation are its own business.
static size_t drop_stats_of_marchers(firn_bake *bake)
{
    size_t kept = 0;
    for (size_t i = 0; i < bake->stat_count; i++) {
        if (rank_of_stat(bake, bake->stats[i].name) > 0)
            bake->stats[kept++] = bake->stats[i];
        else
            firn_free((void *)bake->stats[i].name);
    }
    return bake->stat_count = kept;
}

firn_result firn_bake_record_chunk(firn_bake *bake, size_t wanted, int frame, firn_error *error)
{
    FIRN_TRY(collect_stats(bake, frame, error));
    const firn_cache_frame *old = firn_manifest_find(bake->manifest, frame);
    firn_cache_frame record = {.frame = frame,
                               .hash = bake->hash,
                               .stat_count = drop_stats_of_marchers(bake),
                               .stats = bake->stats};
    firn_cache_file *files = firn_alloc_zero((bake->file_count + 1) * sizeof *files);
    if (files == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the files");
    record.files = files;
    firn_result result = FIRN_OK;
    for (size_t w = 0; w < wanted && result == FIRN_OK; w++) {
        const char *node = bake->wanted[w]->name;
        record.file_count = 0;
        for (size_t i = 0; i < bake->file_count; i++)
            if (strcmp(bake->files[i].node, node) == 0)
                files[record.file_count++] = bake->files[i];
        result = firn_record_write(bake->folder, node, &record, error);
        // What the node had written under other names.
        for (size_t i = 0; result == FIRN_OK && old != NULL && i < old->file_count; i++)
            if (strcmp(old->files[i].node, node) == 0 &&
                !is_listed(files, record.file_count, old->files[i].name))
                remove_file(bake, old->files[i].name);
    }
    firn_free(files);
    return result;
}

firn_result firn_bake_read_manifest(firn_bake *bake, bool merge, firn_error *error)
{
    firn_manifest_destroy(bake->manifest);
    bake->manifest = NULL;
    bool some = merge && firn_records_claim(bake->folder);
    FIRN_TRY(firn_manifest_read(bake->folder, &bake->manifest, error));
    for (size_t i = 0; some && i < bake->manifest->frame_count; i++) {
        const firn_cache_frame *frame = &bake->manifest->frames[i];
        arrange_files(bake, (firn_cache_file *)frame->files, frame->file_count);
        arrange_stats(bake, (firn_stat *)frame->stats, frame->stat_count);
    }
    if (some)
        FIRN_TRY(firn_manifest_write(bake->manifest, bake->folder, error));
    if (merge)
        firn_records_discard(bake->folder);
    return FIRN_OK;
}
