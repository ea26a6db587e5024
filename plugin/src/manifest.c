#include "manifest.h"

#include "graph_state.h"

#include <string.h>

firn_result firn_manifest_no_memory(firn_error *error)
{
    return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot keep the manifest");
}

static void free_files(firn_cache_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        firn_free((void *)files[i].name);
        firn_free((void *)files[i].node);
    }
}

static void free_frame(firn_cache_frame *frame)
{
    free_files((firn_cache_file *)frame->files, frame->file_count);
    firn_free((void *)frame->files);
    for (size_t i = 0; i < frame->stat_count; i++)
        firn_free((void *)frame->stats[i].name);
    firn_free((void *)frame->stats);
    memset(frame, 0, sizeof *frame);
}

void firn_manifest_destroy(firn_manifest *manifest)
{
    if (manifest == NULL)
        return;
    for (size_t i = 0; i < manifest->frame_count; i++)
        free_frame(&manifest->frames[i]);
    free_files(manifest->files, manifest->file_count);
    firn_free(manifest->frames);
    firn_free(manifest->files);
    firn_free(manifest->name);
    firn_free(manifest->program);
    firn_free(manifest);
}

firn_result firn_manifest_make(const char *name, const char *program, firn_manifest **manifest,
                               firn_error *error)
{
    *manifest = firn_alloc_zero(sizeof **manifest);
    if (*manifest == NULL)
        return firn_manifest_no_memory(error);
    (*manifest)->name = firn_text_copy(name);
    (*manifest)->program = firn_text_copy(program);
    bool fine = (*manifest)->name != NULL && (*manifest)->program != NULL;
    return fine ? FIRN_OK : firn_manifest_no_memory(error);
}

firn_result firn_manifest_create(const firn_graph *graph, uint64_t hash, firn_manifest **manifest,
                                 firn_error *error)
{
    FIRN_TRY(firn_manifest_make(graph->shot.name, "firn " FIRN_VERSION, manifest, error));
    (*manifest)->hash = hash;
    (*manifest)->fps = graph->shot.fps;
    return FIRN_OK;
}

// --- Frames --------------------------------------------------------------------------------------

static size_t place_of(const firn_manifest *manifest, int frame)
{
    size_t first = 0, end = manifest->frame_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (manifest->frames[middle].frame < frame)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

size_t firn_stats_merge(const firn_cache_frame *old, const firn_stat *fresh, size_t count,
                        firn_stat *to)
{
    size_t merged = 0;
    for (size_t i = 0; old != NULL && i < old->stat_count; i++)
        to[merged++] = old->stats[i];
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < merged && strcmp(to[at].name, fresh[i].name) != 0)
            at++;
        to[at] = fresh[i];
        merged += at == merged;
    }
    return merged;
}

const firn_cache_frame *firn_manifest_find(const firn_manifest *manifest, int frame)
{
    size_t at = place_of(manifest, frame);
    bool found = at < manifest->frame_count && manifest->frames[at].frame == frame;
    return found ? &manifest->frames[at] : NULL;
}

void firn_manifest_drop_frame(firn_manifest *manifest, int frame)
{
    size_t at = place_of(manifest, frame);
    if (at >= manifest->frame_count || manifest->frames[at].frame != frame)
        return;
    free_frame(&manifest->frames[at]);
    memmove(&manifest->frames[at], &manifest->frames[at + 1],
            (manifest->frame_count - at - 1) * sizeof *manifest->frames);
    manifest->frame_count--;
}

static bool copy_file(const firn_cache_file *from, firn_cache_file *to)
{
    *to = *from;
    to->name = firn_text_copy(from->name);
    to->node = firn_text_copy(from->node);
    return to->name != NULL && to->node != NULL;
}

static bool copy_frame(const firn_cache_frame *from, firn_cache_frame *to)
{
    memset(to, 0, sizeof *to);
    to->frame = from->frame;
    to->hash = from->hash;
    firn_cache_file *files = firn_alloc_zero((from->file_count + 1) * sizeof *files);
    firn_stat *stats = firn_alloc_zero((from->stat_count + 1) * sizeof *stats);
    to->files = files;
    to->stats = stats;
    bool fine = files != NULL && stats != NULL;
    for (size_t i = 0; fine && i < from->file_count; i++, to->file_count++)
        fine = copy_file(&from->files[i], &files[i]);
    for (size_t i = 0; fine && i < from->stat_count; i++, to->stat_count++) {
        stats[i] = (firn_stat){firn_text_copy(from->stats[i].name), from->stats[i].value};
        fine = stats[i].name != NULL;
    }
    return fine;
}

firn_result firn_manifest_put_frame(firn_manifest *manifest, const firn_cache_frame *frame,
                                    firn_error *error)
{
    firn_cache_frame copy;
    if (!copy_frame(frame, &copy)) {
        free_frame(&copy);
        return firn_manifest_no_memory(error);
    }
    firn_manifest_drop_frame(manifest, frame->frame);
    firn_result result = firn_grow(&manifest->frames, &manifest->frame_capacity,
                                   manifest->frame_count, sizeof copy, error);
    if (result != FIRN_OK) {
        free_frame(&copy);
        return result;
    }
    size_t at = place_of(manifest, frame->frame);
    memmove(&manifest->frames[at + 1], &manifest->frames[at],
            (manifest->frame_count - at) * sizeof copy);
    manifest->frames[at] = copy;
    manifest->frame_count++;
    return FIRN_OK;
}

firn_result firn_manifest_put_file(firn_manifest *manifest, const firn_cache_file *file,
                                   firn_error *error)
{
    FIRN_TRY(firn_grow(&manifest->files, &manifest->file_capacity, manifest->file_count,
                       sizeof *file, error));
    firn_cache_file copy;
    if (!copy_file(file, &copy)) {
        free_files(&copy, 1);
        return firn_manifest_no_memory(error);
    }
    for (size_t i = 0; i < manifest->file_count; i++) {
        if (strcmp(manifest->files[i].name, file->name) != 0)
            continue;
        free_files(&manifest->files[i], 1);
        manifest->files[i] = copy;
        return FIRN_OK;
    }
    manifest->files[manifest->file_count++] = copy;
    return FIRN_OK;
}

static size_t without(firn_cache_file *files, size_t count, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].name, name) == 0)
            free_files(&files[i], 1);
        else
            files[kept++] = files[i];
    return kept;
}

void firn_manifest_drop_file(firn_manifest *manifest, const char *name)
{
    manifest->file_count = without(manifest->files, manifest->file_count, name);
    for (size_t i = 0; i < manifest->frame_count; i++) {
        firn_cache_frame *frame = &manifest->frames[i];
        frame->file_count = without((firn_cache_file *)frame->files, frame->file_count, name);
    }
}

// Files that an earlier Firn did not mark belong to the graph that the manifest was about.
static void mark_old(firn_cache_file *files, size_t count, uint64_t hash)
{
    for (size_t i = 0; i < count; i++)
        if (files[i].hash == 0)
            files[i].hash = hash;
}

void firn_manifest_turn(firn_manifest *manifest, uint64_t hash)
{
    if (manifest->hash == hash)
        return;
    mark_old(manifest->files, manifest->file_count, manifest->hash);
    for (size_t i = 0; i < manifest->frame_count; i++)
        mark_old((firn_cache_file *)manifest->frames[i].files, manifest->frames[i].file_count,
                 manifest->hash);
    manifest->hash = hash;
}

firn_manifest_view firn_manifest_look(const firn_manifest *manifest)
{
    firn_manifest_view view = {manifest->name,       manifest->program,     manifest->hash,
                               manifest->fps,        manifest->frame_count, manifest->frames,
                               manifest->file_count, manifest->files,       manifest->simulation,
                               manifest->isa};
    return view;
}
