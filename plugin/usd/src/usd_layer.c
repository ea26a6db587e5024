#include "firn/usd.h"

#include "crate_read.h"

#include "firn/file.h"

#include <string.h>

typedef struct row {
    firn_usd_value value;
    char path[FIRN_PATH_SIZE];
    void *copy; // of data that does not lie on a multiple of its size
} row;

struct firn_usd_layer {
    firn_crate_file file;
    char name[FIRN_PATH_SIZE];
    row *rows;
    size_t row_count;
};

/// Arrays that can be read.
static const struct {
    firn_crate_type type;
    firn_storage storage;
    int tuple_size;
    size_t item_size;
} arrays[] = {
    {FIRN_CRATE_INT, FIRN_STORAGE_INT32, 1, 4},
    {FIRN_CRATE_INT64, FIRN_STORAGE_INT64, 1, 8},
    {FIRN_CRATE_FLOAT, FIRN_STORAGE_FLOAT32, 1, 4},
    {FIRN_CRATE_DOUBLE, FIRN_STORAGE_FLOAT64, 1, 8},
    {FIRN_CRATE_VEC3F, FIRN_STORAGE_FLOAT32, 3, 12},
};

static firn_result read_row(firn_usd_layer *layer, const firn_crate_spec *spec, firn_error *error)
{
    const firn_crate_file *file = &layer->file;
    firn_crate_value value, type;
    double time = 0.0;
    bool over_time = firn_crate_field(file, spec, "timeSamples", &value);
    if (over_time && !firn_crate_last_sample(file, value, &time, &value))
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "'%s' is a damaged USD layer: its values over time do not fit the file",
                         layer->name);
    if (!over_time && !firn_crate_field(file, spec, "default", &value))
        return FIRN_OK;
    size_t kind = 0;
    while (kind < FIRN_COUNT(arrays) && arrays[kind].type != firn_crate_type_of(value))
        kind++;
    if (kind == FIRN_COUNT(arrays) || (value & FIRN_CRATE_IS_ARRAY) == 0)
        return FIRN_OK;
    row *to = &layer->rows[layer->row_count];
    memset(to, 0, sizeof *to);
    size_t count = 0;
    const unsigned char *data =
        firn_crate_items(file, value, arrays[kind].item_size, &count, error);
    if (data == NULL)
        return error != NULL ? error->code : FIRN_ERR_FORMAT;
    if (!firn_crate_path_text(file, spec->path, to->path, sizeof to->path))
        return firn_fail(error, FIRN_ERR_UNSUPPORTED, "'%s' has a path that is too long",
                         layer->name);
    if ((uintptr_t)data % 8 != 0) {
        to->copy = firn_alloc(count * arrays[kind].item_size + 1);
        if (to->copy == NULL)
            return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory",
                             layer->name);
        memcpy(to->copy, data, count * arrays[kind].item_size);
    }
    const char *text =
        firn_crate_field(file, spec, "typeName", &type) ? firn_crate_text(file, type) : NULL;
    to->value = (firn_usd_value){to->path,
                                 text != NULL ? text : "",
                                 arrays[kind].storage,
                                 arrays[kind].tuple_size,
                                 count,
                                 to->copy != NULL ? to->copy : (const void *)data,
                                 time};
    layer->row_count++;
    return FIRN_OK;
}

firn_result firn_usd_open(const char *path, firn_usd_layer **out, firn_error *error)
{
    *out = NULL;
    firn_usd_layer *layer = firn_alloc_zero(sizeof *layer);
    if (layer == NULL || strlen(path) >= sizeof layer->name) {
        firn_free(layer);
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot open '%s': out of memory", path);
    }
    memcpy(layer->name, path, strlen(path) + 1);
    firn_error local;
    error = error != NULL ? error : &local;
    firn_result result = firn_crate_read(layer->name, &layer->file, error);
    size_t count = 0;
    for (size_t i = 0; i < layer->file.spec_count; i++)
        count += layer->file.specs[i].type == FIRN_SPEC_ATTRIBUTE;
    if (result == FIRN_OK && count > 0 && count < SIZE_MAX / sizeof(row))
        layer->rows = firn_alloc(count * sizeof *layer->rows);
    if (result == FIRN_OK && count > 0 && layer->rows == NULL)
        result = firn_fail(error, FIRN_ERR_MEMORY, "cannot open '%s': out of memory", path);
    for (size_t i = 0; result == FIRN_OK && i < layer->file.spec_count; i++)
        if (layer->file.specs[i].type == FIRN_SPEC_ATTRIBUTE)
            result = read_row(layer, &layer->file.specs[i], error);
    if (result != FIRN_OK) {
        firn_usd_close(layer);
        return result;
    }
    *out = layer;
    return FIRN_OK;
}

const firn_usd_value *firn_usd_look(const firn_usd_layer *layer, size_t index)
{
    return index < layer->row_count ? &layer->rows[index].value : NULL;
}

const firn_usd_value *firn_usd_find(const firn_usd_layer *layer, const char *path)
{
    for (size_t i = 0; i < layer->row_count; i++)
        if (strcmp(layer->rows[i].path, path) == 0)
            return &layer->rows[i].value;
    return NULL;
}

void firn_usd_close(firn_usd_layer *layer)
{
    if (layer == NULL)
        return;
    for (size_t i = 0; i < layer->row_count; i++)
        firn_free(layer->rows[i].copy);
    firn_free(layer->rows);
    firn_crate_release(&layer->file);
    firn_free(layer);
}
