#include "param.h"

#include <string.h>

typedef struct indexed {
    int values, indices; // properties
} indexed;

static bool find_indexed(const firn_abc *archive, int property, indexed *parts)
{
    const firn_abc_property *compound = firn_abc_property_at(archive, property);
    *parts = (indexed){-1, -1};
    if (compound->kind != FIRN_ABC_PROPERTY_COMPOUND)
        return false;
    // What a compound holds follows it.
    const firn_abc_object *object = &archive->objects[compound->object].info;
    int end = object->first_property + object->property_count;
    for (int i = property + 1; i < end; i++) {
        const firn_abc_property *part = &archive->properties[i].info;
        if (part->parent != property || part->kind != FIRN_ABC_PROPERTY_ARRAY)
            continue;
        if (strcmp(part->name, ".vals") == 0)
            parts->values = i;
        else if (strcmp(part->name, ".indices") == 0)
            parts->indices = i;
    }
    return parts->values >= 0 && parts->indices >= 0;
}

bool firn_abc_is_indexed_param(const firn_abc *archive, int property)
{
    indexed parts;
    return find_indexed(archive, property, &parts);
}

// Where each string starts, and one past the last.
static size_t *string_starts(const firn_abc_array *values)
{
    size_t *starts = firn_abc_alloc_array(values->count + 1, sizeof *starts);
    if (starts == NULL)
        return NULL;
    size_t width = firn_abc_pod_size(values->pod), at = 0;
    const unsigned char *bytes = values->values;
    static const unsigned char zero[4] = {0};
    for (size_t i = 0; i < values->count; i++) {
        starts[i] = at;
        for (int part = 0; part < values->extent; at += width)
            part += memcmp(bytes + at, zero, width) == 0 ? 1 : 0;
    }
    starts[values->count] = at;
    return starts;
}

typedef struct span {
    size_t at, bytes;
} span;

static span value_span(const firn_abc_array *values, const size_t *starts, size_t index)
{
    if (starts != NULL)
        return (span){starts[index], starts[index + 1] - starts[index]};
    size_t size = firn_abc_pod_size(values->pod) * (size_t)values->extent;
    return (span){index * size, size};
}

static firn_result expand(const firn_abc_place *place, const firn_abc_array *values,
                          const firn_abc_array *indices, const size_t *starts,
                          firn_abc_array *array)
{
    const uint32_t *index = indices->values;
    uint64_t bytes = 0, limit = firn_abc_result_limit(place->archive);
    for (size_t i = 0; i < indices->count; i++) {
        if (index[i] >= values->count)
            return firn_abc_fail(place, FIRN_ERR_FORMAT,
                                 "index %zu is %u, but there are %zu values", i, index[i],
                                 values->count);
        bytes += value_span(values, starts, index[i]).bytes;
        if (bytes > limit)
            return firn_abc_fail(place, FIRN_ERR_MEMORY,
                                 "its indexed values take more than %llu bytes",
                                 (unsigned long long)limit);
    }
    *array = (firn_abc_array){.pod = values->pod, .extent = values->extent};
    if (indices->count == 0)
        return FIRN_OK;
    array->values = firn_alloc((size_t)bytes);
    if (array->values == NULL)
        return firn_abc_fail_memory(place, (size_t)bytes);
    unsigned char *at = array->values;
    for (size_t i = 0; i < indices->count; i++) {
        span from = value_span(values, starts, index[i]);
        memcpy(at, (const unsigned char *)values->values + from.at, from.bytes);
        at += from.bytes;
    }
    array->count = indices->count;
    array->bytes = (size_t)bytes;
    return FIRN_OK;
}

static firn_result read_indexed(const firn_abc *archive, indexed parts, uint32_t values_index,
                                uint32_t indices_index, firn_abc_array *array, firn_error *error)
{
    firn_abc_array values = {0}, indices = {0};
    size_t *starts = NULL;
    firn_abc_place place = firn_abc_place_of(
        archive, archive->properties[parts.indices].info.object, parts.indices, error);
    firn_result result = firn_abc_read(archive, parts.values, values_index, &values, error);
    if (result == FIRN_OK)
        result = firn_abc_read_typed(archive, parts.indices, indices_index, FIRN_ABC_POD_UINT32, 1,
                                     &indices, error);
    if (result == FIRN_OK &&
        (values.pod == FIRN_ABC_POD_STRING || values.pod == FIRN_ABC_POD_WSTRING)) {
        starts = string_starts(&values);
        if (starts == NULL)
            result = firn_abc_fail_memory(&place, values.count * sizeof *starts);
    }
    if (result == FIRN_OK)
        result = expand(&place, &values, &indices, starts, array);
    firn_free(starts);
    firn_abc_array_free(&values);
    firn_abc_array_free(&indices);
    return result;
}

firn_result firn_abc_read_param(const firn_abc *archive, int property, uint32_t index,
                                firn_abc_array *array, firn_error *error)
{
    *array = (firn_abc_array){0};
    indexed parts;
    if (find_indexed(archive, property, &parts))
        return read_indexed(archive, parts, index, index, array, error);
    return firn_abc_read(archive, property, index, array, error);
}

firn_result firn_abc_param_at(const firn_abc *archive, int property, double time,
                              firn_abc_array *array, firn_error *error)
{
    *array = (firn_abc_array){0};
    indexed parts;
    if (find_indexed(archive, property, &parts))
        return read_indexed(archive, parts, firn_abc_index_at(archive, parts.values, time),
                            firn_abc_index_at(archive, parts.indices, time), array, error);
    return firn_abc_read(archive, property, firn_abc_index_at(archive, property, time), array,
                         error);
}
