#define _POSIX_C_SOURCE 200809L
#include "manifest.h"

#include "graph_state.h"
#include "json_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANIFEST_VERSION = 1, TIMING_VERSION = 1, MANIFEST_LIMIT = 256 << 20, PIECE = 1 << 20 };

struct firn_manifest {
    char *name, *program;
    uint64_t hash;
    float fps;
    firn_cache_frame *frames;
    size_t frame_count, frame_capacity;
    firn_cache_file *files;
    size_t file_count, file_capacity;
};

static firn_result out_of_memory(firn_error *error)
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

static firn_result make(const char *name, const char *program, firn_manifest **manifest,
                        firn_error *error)
{
    *manifest = firn_alloc_zero(sizeof **manifest);
    if (*manifest == NULL)
        return out_of_memory(error);
    (*manifest)->name = firn_text_copy(name);
    (*manifest)->program = firn_text_copy(program);
    return (*manifest)->name != NULL && (*manifest)->program != NULL ? FIRN_OK
                                                                     : out_of_memory(error);
}

firn_result firn_manifest_create(const firn_graph *graph, uint64_t hash, firn_manifest **manifest,
                                 firn_error *error)
{
    FIRN_TRY(make(graph->shot.name, "firn " FIRN_VERSION, manifest, error));
    (*manifest)->hash = hash;
    (*manifest)->fps = graph->shot.fps;
    return FIRN_OK;
}

// --- Frames --------------------------------------------------------------------------------------

static size_t place_of(const firn_manifest *manifest, int frame)
{
    size_t at = 0;
    while (at < manifest->frame_count && manifest->frames[at].frame < frame)
        at++;
    return at;
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
        return out_of_memory(error);
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
        return out_of_memory(error);
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

void firn_manifest_drop_files(firn_manifest *manifest, const char *node)
{
    size_t kept = 0;
    for (size_t i = 0; i < manifest->file_count; i++)
        if (strcmp(manifest->files[i].node, node) == 0)
            free_files(&manifest->files[i], 1);
        else
            manifest->files[kept++] = manifest->files[i];
    manifest->file_count = kept;
}

firn_manifest_view firn_manifest_look(const firn_manifest *manifest)
{
    firn_manifest_view view = {manifest->name,       manifest->program,     manifest->hash,
                               manifest->fps,        manifest->frame_count, manifest->frames,
                               manifest->file_count, manifest->files};
    return view;
}

// --- On disk -------------------------------------------------------------------------------------

static json_t *hex_json(uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

static json_t *files_json(const firn_cache_file *files, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:o}", "name", files[i].name, "node",
                                              files[i].node, "size", (json_int_t)files[i].size,
                                              "checksum", hex_json(files[i].checksum)));
    return list;
}

// Numbers that tell about the run and not about the snow: another run has others. They have a file
// of their own, so that equal cooks leave equal manifests.
static bool is_of_the_run(const char *name)
{
    const char *dot = strrchr(name, '.');
    name = dot != NULL ? dot + 1 : name;
    return strcmp(name, "seconds") == 0 || strcmp(name, "bytes") == 0;
}

static json_t *stats_json(const firn_cache_frame *frame, bool of_the_run)
{
    json_t *stats = json_object();
    for (size_t k = 0; k < frame->stat_count; k++)
        if (is_of_the_run(frame->stats[k].name) == of_the_run)
            json_object_set_new(stats, frame->stats[k].name, json_real(frame->stats[k].value));
    return stats;
}

static firn_result write_timing(const firn_manifest *manifest, const char *folder,
                                firn_error *error)
{
    json_t *frames = json_object();
    for (size_t i = 0; i < manifest->frame_count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", manifest->frames[i].frame);
        json_object_set_new(frames, number, stats_json(&manifest->frames[i], true));
    }
    json_t *root = json_pack("{s:i, s:o}", "firn_timing", TIMING_VERSION, "frames", frames);
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/timing.json", folder);
    firn_result result = firn_json_write(root, path, error);
    json_decref(root);
    return result;
}

firn_result firn_manifest_write(const firn_manifest *manifest, const char *folder,
                                firn_error *error)
{
    FIRN_TRY(write_timing(manifest, folder, error));
    json_t *frames = json_array();
    for (size_t i = 0; i < manifest->frame_count; i++) {
        const firn_cache_frame *frame = &manifest->frames[i];
        json_array_append_new(frames, json_pack("{s:i, s:o, s:o}", "frame", frame->frame, "files",
                                                files_json(frame->files, frame->file_count),
                                                "stats", stats_json(frame, false)));
    }
    json_t *root =
        json_pack("{s:i, s:s, s:s, s:o, s:f, s:s, s:o, s:o}", "firn_manifest", MANIFEST_VERSION,
                  "name", manifest->name, "program", manifest->program, "hash",
                  hex_json(manifest->hash), "fps", (double)manifest->fps, "units", FIRN_UNITS,
                  "files", files_json(manifest->files, manifest->file_count), "frames", frames);
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/manifest.json", folder);
    firn_result result = firn_json_write(root, path, error);
    json_decref(root);
    return result;
}

static bool read_hex(const json_t *json, uint64_t *value)
{
    const char *text = json_string_value(json);
    char *end = NULL;
    if (text == NULL || strlen(text) != 16)
        return false;
    *value = strtoull(text, &end, 16);
    return *end == '\0';
}

static bool read_file(const json_t *json, firn_cache_file *file)
{
    const json_t *size = json_object_get(json, "size");
    file->name = json_string_value(json_object_get(json, "name"));
    file->node = json_string_value(json_object_get(json, "node"));
    file->size = (uint64_t)json_integer_value(size);
    return file->name != NULL && file->node != NULL && strchr(file->name, '/') == NULL &&
           json_is_integer(size) && read_hex(json_object_get(json, "checksum"), &file->checksum);
}

static void add_timing(const json_t *json, const json_t *timing)
{
    char number[24];
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(json, "frame")));
    json_object_update_missing(json_object_get(json, "stats"), json_object_get(timing, number));
}

static firn_result read_frame(firn_manifest *manifest, const json_t *json, bool *fine,
                              firn_error *error)
{
    const json_t *list = json_object_get(json, "files");
    json_t *numbers = json_object_get(json, "stats");
    size_t file_count = json_array_size(list), stat_count = json_object_size(numbers);
    firn_cache_file *files = firn_alloc_zero((file_count + 1) * sizeof *files);
    firn_stat *stats = firn_alloc_zero((stat_count + 1) * sizeof *stats);
    firn_result result = files != NULL && stats != NULL ? FIRN_OK : out_of_memory(error);
    *fine = json_is_integer(json_object_get(json, "frame"));
    for (size_t i = 0; result == FIRN_OK && *fine && i < file_count; i++)
        *fine = read_file(json_array_get(list, i), &files[i]);
    const char *key;
    json_t *number;
    size_t count = 0;
    if (result == FIRN_OK) {
        json_object_foreach(numbers, key, number)
        {
            stats[count++] = (firn_stat){key, json_number_value(number)};
        }
        firn_cache_frame frame = {(int)json_integer_value(json_object_get(json, "frame")),
                                  file_count, files, count, stats};
        if (*fine)
            result = firn_manifest_put_frame(manifest, &frame, error);
    }
    firn_free(files);
    firn_free(stats);
    return result;
}

static firn_result read_manifest(const json_t *root, const json_t *timing, const char *path,
                                 firn_manifest **manifest, firn_error *error)
{
    const char *name = json_string_value(json_object_get(root, "name"));
    const char *program = json_string_value(json_object_get(root, "program"));
    bool fine = name != NULL && program != NULL &&
                json_integer_value(json_object_get(root, "firn_manifest")) == MANIFEST_VERSION;
    firn_result result = make(fine ? name : "", fine ? program : "", manifest, error);
    if (result == FIRN_OK && fine)
        fine = read_hex(json_object_get(root, "hash"), &(*manifest)->hash);
    if (result == FIRN_OK)
        (*manifest)->fps = (float)json_number_value(json_object_get(root, "fps"));
    const json_t *files = json_object_get(root, "files");
    for (size_t i = 0; result == FIRN_OK && fine && i < json_array_size(files); i++) {
        firn_cache_file file;
        fine = read_file(json_array_get(files, i), &file);
        if (fine)
            result = firn_manifest_put_file(*manifest, &file, error);
    }
    const json_t *frames = json_object_get(root, "frames");
    for (size_t i = 0; result == FIRN_OK && fine && i < json_array_size(frames); i++) {
        add_timing(json_array_get(frames, i), json_object_get(timing, "frames"));
        result = read_frame(*manifest, json_array_get(frames, i), &fine, error);
    }
    if (result == FIRN_OK && !fine)
        result = firn_fail(error, FIRN_ERR_FORMAT, "'%s' is not a manifest of a cache", path);
    return result;
}

static firn_result load_json(const char *path, json_t **root, firn_error *error)
{
    void *text = NULL;
    size_t size = 0;
    FIRN_TRY(firn_file_read(path, MANIFEST_LIMIT, &text, &size, error));
    json_error_t problem;
    *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    firn_free(text);
    if (*root != NULL)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_FORMAT, "%s:%d: this is not JSON: %s", path, problem.line,
                     problem.text);
}

firn_result firn_manifest_read(const char *folder, firn_manifest **manifest, firn_error *error)
{
    *manifest = NULL;
    char path[FIRN_PATH_SIZE];
    json_t *root = NULL, *timing = NULL;
    snprintf(path, sizeof path, "%.4000s/timing.json", folder);
    // A cache is whole without it; nothing is known about how long it took.
    if (load_json(path, &timing, NULL) != FIRN_OK)
        timing = NULL;
    snprintf(path, sizeof path, "%.4000s/manifest.json", folder);
    firn_result result = load_json(path, &root, error);
    if (result == FIRN_ERR_NOT_FOUND)
        firn_fail(error, result,
                  "'%.500s' is no cache, it has no manifest.json; a cache is a folder such as "
                  "<base>/<name>/v1",
                  folder);
    if (result == FIRN_OK)
        result = read_manifest(root, timing, path, manifest, error);
    json_decref(timing);
    json_decref(root);
    if (result != FIRN_OK) {
        firn_manifest_destroy(*manifest);
        *manifest = NULL;
    }
    return result;
}

// --- Checksums -----------------------------------------------------------------------------------

firn_result firn_cache_stamp(const char *path, uint64_t *size, uint64_t *checksum,
                             firn_error *error)
{
    *size = *checksum = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return firn_fail_errno(error, errno, "open", path);
    unsigned char *piece = firn_alloc(PIECE);
    firn_result result = piece != NULL ? FIRN_OK : out_of_memory(error);
    while (result == FIRN_OK) {
        size_t filled = 0;
        ssize_t got = 1;
        while (filled < PIECE && (got = read(descriptor, piece + filled, PIECE - filled)) > 0)
            filled += (size_t)got;
        if (got < 0)
            result = firn_fail_errno(error, errno, "read", path);
        if (got < 0 || filled == 0)
            break;
        *checksum = firn_hash64(piece, filled, *checksum);
        *size += filled;
    }
    firn_free(piece);
    close(descriptor);
    return result;
}

firn_result firn_cache_file_check(const char *folder, const firn_cache_file *file,
                                  firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    uint64_t size = 0, checksum = 0;
    if (snprintf(path, sizeof path, "%s/%s", folder, file->name) >= (int)sizeof path)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the cache is too long");
    FIRN_TRY(firn_cache_stamp(path, &size, &checksum, error));
    if (size != file->size)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "'%s' has %" PRIu64 " bytes; the manifest says %" PRIu64, path, size,
                         file->size);
    if (checksum != file->checksum)
        return firn_fail(error, FIRN_ERR_FORMAT, "'%s' has changed since it was written", path);
    return FIRN_OK;
}
