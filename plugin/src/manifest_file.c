#define _POSIX_C_SOURCE 200809L
#include "manifest.h"

#include "json_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANIFEST_VERSION = 1, TIMING_VERSION = 1, MANIFEST_LIMIT = 256 << 20, PIECE = 1 << 20 };

static json_t *hex_json(uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

static json_t *files_json(const firn_cache_file *files, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const firn_cache_file *file = &files[i];
        json_t *json =
            json_pack("{s:s, s:s, s:I, s:o}", "name", file->name, "node", file->node, "size",
                      (json_int_t)file->size, "checksum", hex_json(file->checksum));
        if (file->hash != 0)
            json_object_set_new(json, "hash", hex_json(file->hash));
        if (file->step > 0)
            json_object_set_new(json, "frames",
                                json_pack("[i, i, i]", file->first, file->last, file->step));
        json_array_append_new(list, json);
    }
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
        json_t *json = json_pack("{s:i, s:o, s:o}", "frame", frame->frame, "files",
                                 files_json(frame->files, frame->file_count), "stats",
                                 stats_json(frame, false));
        if (frame->hash != manifest->hash)
            json_object_set_new(json, "hash", hex_json(frame->hash));
        json_array_append_new(frames, json);
    }
    json_t *root =
        json_pack("{s:i, s:s, s:s, s:o, s:f, s:s, s:o, s:o}", "firn_manifest", MANIFEST_VERSION,
                  "name", manifest->name, "program", manifest->program, "hash",
                  hex_json(manifest->hash), "fps", (double)manifest->fps, "units", FIRN_UNITS,
                  "files", files_json(manifest->files, manifest->file_count), "frames", frames);
    if (manifest->isa[0] != '\0')
        json_object_set_new(root, "isa", json_string(manifest->isa));
    if (manifest->simulation != 0)
        json_object_set_new(root, "simulation", hex_json(manifest->simulation));
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

// A file of the folder itself, not one that is hidden or elsewhere.
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

static bool read_range(const json_t *json, firn_cache_file *file)
{
    const json_t *range = json_object_get(json, "frames");
    int values[3] = {0, 0, 0};
    for (size_t i = 0; range != NULL && i < 3; i++) {
        json_int_t number = json_integer_value(json_array_get(range, i));
        if (number < INT_MIN || number > INT_MAX)
            return false;
        values[i] = (int)number;
    }
    file->first = values[0];
    file->last = values[1];
    file->step = values[2];
    return range == NULL || (file->step > 0 && file->first <= file->last);
}

static bool read_file(const json_t *json, firn_cache_file *file)
{
    const json_t *size = json_object_get(json, "size");
    file->name = json_string_value(json_object_get(json, "name"));
    file->node = json_string_value(json_object_get(json, "node"));
    file->size = (uint64_t)json_integer_value(size);
    const json_t *hash = json_object_get(json, "hash");
    return file->name != NULL && file->node != NULL && is_plain_name(file->name) &&
           json_is_integer(size) && read_hex(json_object_get(json, "checksum"), &file->checksum) &&
           (hash == NULL || read_hex(hash, &file->hash)) && read_range(json, file);
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
    firn_result result = files != NULL && stats != NULL ? FIRN_OK : firn_manifest_no_memory(error);
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
                                  file_count,
                                  files,
                                  count,
                                  stats,
                                  manifest->hash};
        const json_t *hash = json_object_get(json, "hash");
        *fine = *fine && (hash == NULL || read_hex(hash, &frame.hash));
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
    firn_result result = firn_manifest_make(fine ? name : "", fine ? program : "", manifest, error);
    if (result == FIRN_OK && fine)
        fine = read_hex(json_object_get(root, "hash"), &(*manifest)->hash);
    const json_t *simulation = json_object_get(root, "simulation");
    if (result == FIRN_OK && fine && simulation != NULL)
        fine = read_hex(simulation, &(*manifest)->simulation);
    const char *isa = json_string_value(json_object_get(root, "isa"));
    if (result == FIRN_OK && isa != NULL)
        snprintf((*manifest)->isa, sizeof(*manifest)->isa, "%s", isa);
    if (result == FIRN_OK)
        (*manifest)->fps = (float)json_number_value(json_object_get(root, "fps"));
    const json_t *files = json_object_get(root, "files");
    for (size_t i = 0; result == FIRN_OK && fine && i < json_array_size(files); i++) {
        firn_cache_file file = {0};
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
    firn_result result = piece != NULL ? FIRN_OK : firn_manifest_no_memory(error);
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
