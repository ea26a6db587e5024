#define _POSIX_C_SOURCE 200809L
#include "records.h"

#include "folder.h"
#include "graph_state.h"
#include "lock.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD_VERSION = 1 };

#define FRESH ".json"
#define CLAIMED ".json.merging"

// --- The folder ----------------------------------------------------------------------------------

static void folder_of(const char *cache, char path[FIRN_PATH_SIZE])
{
    snprintf(path, FIRN_PATH_SIZE, "%.3900s/" FIRN_RECORD_FOLDER, cache);
}

firn_result firn_records_open(const char *cache, char *path, size_t size, firn_error *error)
{
    char folder[FIRN_PATH_SIZE];
    folder_of(cache, folder);
    snprintf(path, size, "%s", folder);
    return firn_folder_make_inside(folder, error);
}

static void path_of(const char *cache, const char *name, const char *ending,
                    char path[FIRN_PATH_SIZE])
{
    snprintf(path, FIRN_PATH_SIZE, "%.3500s/" FIRN_RECORD_FOLDER "/%.300s%s", cache, name, ending);
}

typedef struct names {
    char (*items)[256];
    size_t count, capacity;
    const char *ending;
    bool complete; // there was memory for all
} names;

static void keep_name(const char *name, void *user)
{
    names *all = user;
    size_t length = strlen(name), tail = strlen(all->ending);
    if (!firn_ends_with(name, all->ending) || length - tail >= sizeof *all->items)
        return;
    if (firn_grow(&all->items, &all->capacity, all->count, sizeof *all->items, NULL) != FIRN_OK) {
        all->complete = false;
        return;
    }
    snprintf(all->items[all->count++], sizeof *all->items, "%.*s", (int)(length - tail), name);
}

// Names without their ending.
static bool list_names(const char *cache, const char *ending, names *all)
{
    char folder[FIRN_PATH_SIZE];
    folder_of(cache, folder);
    *all = (names){.ending = ending, .complete = true};
    firn_folder_list(folder, keep_name, all);
    return all->complete;
}

// --- Writing -------------------------------------------------------------------------------------

firn_result firn_record_write(const char *cache, const char *node, const firn_cache_frame *frame,
                              firn_error *error)
{
    char name[FIRN_NAME_SIZE + 32], path[FIRN_PATH_SIZE];
    json_t *record = firn_frame_json(frame);
    json_object_set_new(record, "hash", firn_hex_json(frame->hash));
    json_t *root = json_pack("{s:i, s:s, s:o, s:o}", "firn_record", RECORD_VERSION, "node", node,
                             "record", record, "timing", firn_stats_json(frame, true));
    snprintf(name, sizeof name, "%s.%04d", node, frame->frame);
    path_of(cache, name, FRESH, path);
    firn_result result = firn_json_write(root, path, error);
    json_decref(root);
    return result;
}

// --- Reading -------------------------------------------------------------------------------------

static bool is_record(const json_t *root)
{
    return json_integer_value(json_object_get(root, "firn_record")) == RECORD_VERSION &&
           json_is_string(json_object_get(root, "node")) &&
           json_is_object(json_object_get(root, "record"));
}

static firn_result keep_record(firn_records *records, const char *path, bool *found,
                               firn_error *error)
{
    json_t *root = NULL;
    firn_result result = firn_json_load(path, &root, NULL);
    *found = result != FIRN_ERR_NOT_FOUND;
    if (result != FIRN_OK || !is_record(root)) {
        json_decref(root);
        return FIRN_OK;
    }
    result = firn_grow(&records->roots, &records->capacity, records->count, sizeof root, error);
    if (result == FIRN_OK)
        records->roots[records->count++] = root;
    else
        json_decref(root);
    return result;
}

static firn_result keep_records(firn_records *records, const char *cache, const char *ending,
                                firn_error *error)
{
    names all;
    char path[FIRN_PATH_SIZE];
    firn_result result = list_names(cache, ending, &all) ? FIRN_OK : firn_manifest_no_memory(error);
    for (size_t i = 0; i < all.count && result == FIRN_OK; i++) {
        bool found = false;
        path_of(cache, all.items[i], ending, path);
        result = keep_record(records, path, &found, error);
        // It may have been claimed since it was listed.
        path_of(cache, all.items[i], CLAIMED, path);
        if (result == FIRN_OK && !found)
            result = keep_record(records, path, &found, error);
    }
    firn_free(all.items);
    return result;
}

firn_result firn_records_read(const char *cache, firn_records *records, firn_error *error)
{
    *records = (firn_records){0};
    // Those that are being merged are the older ones.
    firn_result result = keep_records(records, cache, CLAIMED, error);
    if (result == FIRN_OK)
        result = keep_records(records, cache, FRESH, error);
    if (result != FIRN_OK)
        firn_records_free(records);
    return result;
}

void firn_records_free(firn_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        json_decref(records->roots[i]);
    firn_free(records->roots);
    *records = (firn_records){0};
}

// --- Merging -------------------------------------------------------------------------------------

/// A record on its way into the manifest.
typedef struct merging {
    firn_manifest *manifest;
    const char *node;
} merging;

static firn_result merge_frame(const firn_cache_frame *fresh, void *user, firn_error *error)
{
    const merging *to = user;
    const firn_cache_frame *old = firn_manifest_find(to->manifest, fresh->frame);
    firn_cache_frame both = *fresh;
    size_t files = fresh->file_count + (old != NULL ? old->file_count : 0);
    size_t stats = fresh->stat_count + (old != NULL ? old->stat_count : 0);
    firn_cache_file *all = firn_alloc_zero((files + 1) * sizeof *all);
    firn_stat *numbers = firn_alloc_zero((stats + 1) * sizeof *numbers);
    firn_result result = all != NULL && numbers != NULL ? FIRN_OK : firn_manifest_no_memory(error);
    if (result == FIRN_OK) {
        both.file_count = 0;
        for (size_t i = 0; old != NULL && i < old->file_count; i++)
            if (strcmp(old->files[i].node, to->node) != 0)
                all[both.file_count++] = old->files[i];
        for (size_t i = 0; i < fresh->file_count; i++)
            if (strcmp(fresh->files[i].node, to->node) == 0)
                all[both.file_count++] = fresh->files[i];
        both.files = all;
        both.stats = numbers;
        both.stat_count = firn_stats_merge(old, fresh->stats, fresh->stat_count, numbers);
        result = firn_manifest_put_frame(to->manifest, &both, error);
    }
    firn_free(all);
    firn_free(numbers);
    return result;
}

firn_result firn_records_merge(const firn_records *records, firn_manifest *manifest,
                               firn_error *error)
{
    for (size_t i = 0; i < records->count; i++) {
        bool fine = false;
        json_t *root = records->roots[i], *record = json_object_get(root, "record");
        merging to = {manifest, json_string_value(json_object_get(root, "node"))};
        json_object_update_missing(json_object_get(record, "stats"),
                                   json_object_get(root, "timing"));
        FIRN_TRY(firn_frame_json_read(record, manifest->hash, merge_frame, &to, &fine, error));
    }
    return FIRN_OK;
}

bool firn_records_claim(const char *cache)
{
    names all;
    char from[FIRN_PATH_SIZE], to[FIRN_PATH_SIZE];
    list_names(cache, FRESH, &all);
    for (size_t i = 0; i < all.count; i++) {
        path_of(cache, all.items[i], FRESH, from);
        path_of(cache, all.items[i], CLAIMED, to);
        (void)rename(from, to); // one that stays is merged another time
    }
    firn_free(all.items);
    list_names(cache, CLAIMED, &all);
    firn_free(all.items);
    return all.count > 0;
}

void firn_records_discard(const char *cache)
{
    char folder[FIRN_PATH_SIZE];
    folder_of(cache, folder);
    firn_folder_clear(folder, CLAIMED);
    firn_folder_sweep(folder);
    (void)rmdir(folder); // unless somebody is at work there
}

size_t firn_cache_frames_in_work(const char *cache)
{
    names all;
    char path[FIRN_PATH_SIZE];
    size_t count = 0;
    list_names(cache, ".lock", &all);
    for (size_t i = 0; i < all.count; i++) {
        path_of(cache, all.items[i], ".lock", path);
        count += firn_lock_is_alive(path);
    }
    firn_free(all.items);
    return count;
}
