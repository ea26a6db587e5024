#include "crate_read.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 64 }; // of paths

bool firn_crate_field(const firn_crate_file *file, const firn_crate_spec *spec, const char *name,
                      firn_crate_value *value)
{
    for (size_t i = (size_t)spec->fields; file->field_sets[i] >= 0; i++) {
        int32_t field = file->field_sets[i];
        if (strcmp(file->tokens[file->field_names[field]], name) == 0) {
            *value = file->field_values[field];
            return true;
        }
    }
    return false;
}

const char *firn_crate_text(const firn_crate_file *file, firn_crate_value value)
{
    uint64_t index = value & FIRN_CRATE_PAYLOAD;
    bool is_token = firn_crate_type_of(value) == FIRN_CRATE_TOKEN &&
                    (value & FIRN_CRATE_IS_INLINED) != 0 && (value & FIRN_CRATE_IS_ARRAY) == 0;
    return is_token && index < file->token_count ? file->tokens[index] : NULL;
}

bool firn_crate_path_text(const firn_crate_file *file, int32_t path, char *text, size_t size)
{
    int32_t chain[DEPTH_MAX];
    size_t depth = 0, length = 0;
    for (; path >= 0 && file->path_parents[path] >= 0; path = file->path_parents[path]) {
        if (depth == DEPTH_MAX)
            return false;
        chain[depth++] = path;
    }
    text[0] = '\0';
    while (depth-- > 0) {
        int32_t token = file->path_tokens[chain[depth]];
        int written = snprintf(text + length, size - length, "%c%s", token < 0 ? '.' : '/',
                               file->tokens[token < 0 ? -token : token]);
        if (written < 0 || (size_t)written >= size - length)
            return false;
        length += (size_t)written;
    }
    return true;
}

const unsigned char *firn_crate_items(const firn_crate_file *file, firn_crate_value value,
                                      size_t item_size, size_t *count, firn_error *error)
{
    static const unsigned char nothing[8] = {0};
    uint64_t place = value & FIRN_CRATE_PAYLOAD;
    *count = 0;
    if (place == 0)
        return nothing;
    if ((value & FIRN_CRATE_IS_COMPRESSED) != 0) {
        firn_fail(error, FIRN_ERR_UNSUPPORTED,
                  "'%s' has a compressed array; write the layer anew without compression",
                  file->name);
        return NULL;
    }
    // Lengths had four bytes before 0.7, and a rank before them before 0.5.
    size_t head = file->minor >= 7 ? 8 : file->minor >= 5 ? 4 : 8;
    uint64_t length = 0;
    if (place <= file->size && head <= file->size - place) {
        if (file->minor >= 7)
            memcpy(&length, file->bytes + place, 8);
        else
            memcpy(&length, file->bytes + place + head - 4, 4);
    }
    if (place > file->size || head > file->size - place ||
        length > (file->size - place - head) / item_size) {
        firn_fail(error, FIRN_ERR_FORMAT, "'%s' is a damaged USD layer: an array goes past its end",
                  file->name);
        return NULL;
    }
    *count = (size_t)length;
    return file->bytes + place + head;
}

// What a distance at a place leads to; false when that is outside of the file.
static bool follow(const firn_crate_file *file, uint64_t place, uint64_t *target)
{
    int64_t distance;
    if (place > file->size || file->size - place < sizeof distance)
        return false;
    memcpy(&distance, file->bytes + place, sizeof distance);
    if (distance < 0 || (uint64_t)distance > file->size - place)
        return false;
    *target = place + (uint64_t)distance;
    return true;
}

bool firn_crate_samples_of(const firn_crate_file *file, firn_crate_value samples,
                           const unsigned char **times, const unsigned char **values, size_t *count)
{
    uint64_t at, length, rep;
    if (firn_crate_type_of(samples) != FIRN_CRATE_TIME_SAMPLES ||
        !follow(file, samples & FIRN_CRATE_PAYLOAD, &at) || file->size - at < sizeof rep)
        return false;
    memcpy(&rep, file->bytes + at, sizeof rep);
    uint64_t list = rep & FIRN_CRATE_PAYLOAD, known;
    if (!follow(file, at + sizeof rep, &at) || file->size - at < sizeof length)
        return false;
    memcpy(&length, file->bytes + at, sizeof length);
    at += sizeof length;
    if (length == 0 || length > (file->size - at) / sizeof samples || list > file->size ||
        file->size - list < sizeof known)
        return false;
    memcpy(&known, file->bytes + list, sizeof known);
    if (known != length || length > (file->size - list - sizeof known) / sizeof(double))
        return false;
    *times = file->bytes + list + sizeof known;
    *values = file->bytes + at;
    *count = (size_t)length;
    return true;
}

const unsigned char *firn_crate_at(const firn_crate_file *file, uint64_t place, size_t size)
{
    return place <= file->size && size <= file->size - place ? file->bytes + place : NULL;
}

bool firn_crate_last_sample(const firn_crate_file *file, firn_crate_value samples, double *time,
                            firn_crate_value *value)
{
    const unsigned char *times, *values;
    size_t count;
    if (!firn_crate_samples_of(file, samples, &times, &values, &count))
        return false;
    memcpy(time, times + (count - 1) * sizeof *time, sizeof *time);
    memcpy(value, values + (count - 1) * sizeof *value, sizeof *value);
    return true;
}
