#include "manifest_json.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 256 << 20 };

// --- Writing -------------------------------------------------------------------------------------

json_t *firn_hex_json(uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

json_t *firn_files_json(const firn_cache_file *files, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const firn_cache_file *file = &files[i];
        json_t *json =
            json_pack("{s:s, s:s, s:I, s:o}", "name", file->name, "node", file->node, "size",
                      (json_int_t)file->size, "checksum", firn_hex_json(file->checksum));
        if (file->hash != 0)
            json_object_set_new(json, "hash", firn_hex_json(file->hash));
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
    return strcmp(name, "seconds") == 0 || strcmp(name, "bytes") == 0 ||
           strcmp(name, "ranks") == 0 || strncmp(name, "rank_", 5) == 0;
}

json_t *firn_stats_json(const firn_cache_frame *frame, bool of_the_run)
{
    json_t *stats = json_object();
    for (size_t k = 0; k < frame->stat_count; k++)
        if (is_of_the_run(frame->stats[k].name) == of_the_run)
            json_object_set_new(stats, frame->stats[k].name, json_real(frame->stats[k].value));
    return stats;
}

json_t *firn_frame_json(const firn_cache_frame *frame)
{
    return json_pack("{s:i, s:o, s:o}", "frame", frame->frame, "files",
                     firn_files_json(frame->files, frame->file_count), "stats",
                     firn_stats_json(frame, false));
}

// --- Reading -------------------------------------------------------------------------------------

firn_result firn_json_load(const char *path, json_t **root, firn_error *error)
{
    void *text = NULL;
    size_t size = 0;
    FIRN_TRY(firn_file_read(path, FILE_LIMIT, &text, &size, error));
    json_error_t problem;
    *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    firn_free(text);
    if (*root != NULL)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_FORMAT, "%s:%d: this is not JSON: %s", path, problem.line,
                     problem.text);
}

bool firn_hex_read(const json_t *json, uint64_t *value)
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

bool firn_file_json_read(const json_t *json, firn_cache_file *file)
{
    const json_t *size = json_object_get(json, "size");
    file->name = json_string_value(json_object_get(json, "name"));
    file->node = json_string_value(json_object_get(json, "node"));
    file->size = (uint64_t)json_integer_value(size);
    const json_t *hash = json_object_get(json, "hash");
    return file->name != NULL && file->node != NULL && is_plain_name(file->name) &&
           json_is_integer(size) &&
           firn_hex_read(json_object_get(json, "checksum"), &file->checksum) &&
           (hash == NULL || firn_hex_read(hash, &file->hash)) && read_range(json, file);
}

firn_result firn_frame_json_read(const json_t *json, uint64_t graph, firn_frame_taker *take,
                                 void *user, bool *fine, firn_error *error)
{
    const json_t *list = json_object_get(json, "files");
    json_t *numbers = json_object_get(json, "stats");
    size_t file_count = json_array_size(list), stat_count = json_object_size(numbers);
    firn_cache_file *files = firn_alloc_zero((file_count + 1) * sizeof *files);
    firn_stat *stats = firn_alloc_zero((stat_count + 1) * sizeof *stats);
    firn_result result = files != NULL && stats != NULL ? FIRN_OK : firn_manifest_no_memory(error);
    json_int_t number_of = json_integer_value(json_object_get(json, "frame"));
    *fine = json_is_integer(json_object_get(json, "frame")) && number_of >= INT_MIN &&
            number_of <= INT_MAX;
    for (size_t i = 0; result == FIRN_OK && *fine && i < file_count; i++)
        *fine = firn_file_json_read(json_array_get(list, i), &files[i]);
    const char *key;
    json_t *number;
    size_t count = 0;
    if (result == FIRN_OK) {
        json_object_foreach(numbers, key, number)
        {
            stats[count++] = (firn_stat){key, json_number_value(number)};
        }
        firn_cache_frame frame = {(int)number_of, file_count, files, count, stats, graph};
        const json_t *hash = json_object_get(json, "hash");
        *fine = *fine && (hash == NULL || firn_hex_read(hash, &frame.hash));
        if (*fine)
            result = take(&frame, user, error);
    }
    firn_free(files);
    firn_free(stats);
    return result;
}
