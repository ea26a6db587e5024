#define _POSIX_C_SOURCE 200809L
#include "manifest.h"

#include "manifest_json.h"
#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_VERSION = 1, TIMING_VERSION = 1, PIECE = 1 << 20 };

static firn_result write_timing(const firn_manifest *manifest, const char *folder,
                                firn_error *error)
{
    json_t *frames = json_object();
    for (size_t i = 0; i < manifest->frame_count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", manifest->frames[i].frame);
        json_object_set_new(frames, number, firn_stats_json(&manifest->frames[i], true));
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
        json_t *json = firn_frame_json(frame);
        if (frame->hash != manifest->hash)
            json_object_set_new(json, "hash", firn_hex_json(frame->hash));
        json_array_append_new(frames, json);
    }
    json_t *root = json_pack(
        "{s:i, s:s, s:s, s:o, s:f, s:s, s:o, s:o}", "firn_manifest", MANIFEST_VERSION, "name",
        manifest->name, "program", manifest->program, "hash", firn_hex_json(manifest->hash), "fps",
        (double)manifest->fps, "units", FIRN_UNITS, "files",
        firn_files_json(manifest->files, manifest->file_count), "frames", frames);
    if (manifest->isa[0] != '\0')
        json_object_set_new(root, "isa", json_string(manifest->isa));
    if (manifest->simulation != 0)
        json_object_set_new(root, "simulation", firn_hex_json(manifest->simulation));
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/manifest.json", folder);
    firn_result result = firn_json_write(root, path, error);
    json_decref(root);
    return result;
}

static void add_timing(const json_t *json, const json_t *timing)
{
    char number[24];
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(json, "frame")));
    json_object_update_missing(json_object_get(json, "stats"), json_object_get(timing, number));
}

static firn_result put_frame(const firn_cache_frame *frame, void *manifest, firn_error *error)
{
    return firn_manifest_put_frame(manifest, frame, error);
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
        fine = firn_hex_read(json_object_get(root, "hash"), &(*manifest)->hash);
    const json_t *simulation = json_object_get(root, "simulation");
    if (result == FIRN_OK && fine && simulation != NULL)
        fine = firn_hex_read(simulation, &(*manifest)->simulation);
    const char *isa = json_string_value(json_object_get(root, "isa"));
    if (result == FIRN_OK && isa != NULL)
        snprintf((*manifest)->isa, sizeof(*manifest)->isa, "%s", isa);
    if (result == FIRN_OK)
        (*manifest)->fps = (float)json_number_value(json_object_get(root, "fps"));
    const json_t *files = json_object_get(root, "files");
    for (size_t i = 0; result == FIRN_OK && fine && i < json_array_size(files); i++) {
        firn_cache_file file = {0};
        fine = firn_file_json_read(json_array_get(files, i), &file);
        if (fine)
            result = firn_manifest_put_file(*manifest, &file, error);
    }
    const json_t *frames = json_object_get(root, "frames");
    for (size_t i = 0; result == FIRN_OK && fine && i < json_array_size(frames); i++) {
        add_timing(json_array_get(frames, i), json_object_get(timing, "frames"));
        result = firn_frame_json_read(json_array_get(frames, i), (*manifest)->hash, put_frame,
                                      *manifest, &fine, error);
    }
    if (result == FIRN_OK && !fine)
        result = firn_fail(error, FIRN_ERR_FORMAT, "'%s' is not a manifest of a cache", path);
    return result;
}

firn_result firn_manifest_read(const char *folder, firn_manifest **manifest, firn_error *error)
{
    *manifest = NULL;
    char path[FIRN_PATH_SIZE];
    json_t *root = NULL, *timing = NULL;
    // Records come first: one that is merged into the manifest meanwhile is then in either.
    firn_records records = {0};
    FIRN_TRY(firn_records_read(folder, &records, error));
    snprintf(path, sizeof path, "%.4000s/timing.json", folder);
    // A cache is whole without it; nothing is known about how long it took.
    if (firn_json_load(path, &timing, NULL) != FIRN_OK)
        timing = NULL;
    snprintf(path, sizeof path, "%.4000s/manifest.json", folder);
    firn_result result = firn_json_load(path, &root, error);
    if (result == FIRN_ERR_NOT_FOUND)
        firn_fail(error, result,
                  "'%.500s' is no cache, it has no manifest.json; a cache is a folder such as "
                  "<base>/<name>/v1",
                  folder);
    if (result == FIRN_OK)
        result = read_manifest(root, timing, path, manifest, error);
    if (result == FIRN_OK)
        result = firn_records_merge(&records, *manifest, error);
    firn_records_free(&records);
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
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // of a pipe nobody waits
    if (descriptor < 0)
        return firn_fail_errno(error, errno, "open", path);
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor);
        return firn_fail(error, FIRN_ERR_FORMAT, "'%.700s' is no file", path);
    }
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
