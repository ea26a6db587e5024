#include "archive.h"

#include <string.h>

// The values of a sample in the file.
typedef struct located {
    uint64_t offset; // of the key, which is in front of the values
    size_t bytes;    // of the values
    size_t count;
} located;

static uint64_t stored_index(const firn_abc_property_record *record, uint32_t index)
{
    if (record->last == 0 || index < record->first)
        return 0;
    return (uint64_t)((index < record->last ? index : record->last) - record->first) + 1;
}

static firn_result sample_word(const firn_abc_place *place, const firn_abc_property_record *record,
                               uint32_t index, bool dimensions, uint64_t *word)
{
    uint32_t last = record->info.sample_count - 1;
    uint64_t child = stored_index(record, index < last ? index : last);
    if (record->info.kind == FIRN_ABC_PROPERTY_ARRAY)
        child = 2 * child + (dimensions ? 1 : 0);
    return firn_abc_child(place, record->group, child, word);
}

static bool is_text(firn_abc_pod pod)
{
    return pod == FIRN_ABC_POD_STRING || pod == FIRN_ABC_POD_WSTRING;
}

// Strings do not tell their number by their size; the dimensions do.
static firn_result count_strings(const firn_abc_place *place,
                                 const firn_abc_property_record *record, uint32_t index,
                                 located *sample)
{
    if (record->info.kind == FIRN_ABC_PROPERTY_SCALAR) {
        sample->count = 1;
        return FIRN_OK;
    }
    uint64_t word = 0, offset = 0, size = 0, count = 1;
    FIRN_TRY(sample_word(place, record, index, true, &word));
    FIRN_TRY(firn_abc_data(place, word, &offset, &size));
    if (size % 8 != 0 || (size == 0 && sample->bytes > 0))
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the dimensions of sample %u are damaged",
                             index);
    for (uint64_t i = 0; i < size / 8 && count > 0; i++) {
        uint64_t dimension = 0;
        FIRN_TRY(firn_abc_bytes(place, offset + 8 * i, &dimension, sizeof dimension));
        // Every string has at least its final zero.
        if (dimension > sample->bytes / count)
            return firn_abc_fail(place, FIRN_ERR_FORMAT, "sample %u is too small for its strings",
                                 index);
        count *= dimension;
    }
    sample->count = size == 0 ? 0 : (size_t)count;
    return FIRN_OK;
}

static firn_result locate(const firn_abc_place *place, const firn_abc_property_record *record,
                          uint32_t index, located *sample)
{
    *sample = (located){0};
    const firn_abc_property *property = &record->info;
    if (property->sample_count == 0)
        return FIRN_OK;
    uint64_t word = 0, size = 0;
    FIRN_TRY(sample_word(place, record, index, false, &word));
    FIRN_TRY(firn_abc_data(place, word, &sample->offset, &size));
    if ((size > 0 && size < OGAWA_KEY_SIZE) || size > SIZE_MAX)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "sample %u has %llu bytes", index,
                             (unsigned long long)size);
    sample->bytes = size > 0 ? (size_t)size - OGAWA_KEY_SIZE : 0;
    if (is_text(property->pod))
        return count_strings(place, record, index, sample);
    size_t value_size = firn_abc_pod_size(property->pod) * (size_t)property->extent;
    sample->count = sample->bytes / value_size;
    if (sample->bytes % value_size != 0 ||
        (property->kind == FIRN_ABC_PROPERTY_SCALAR && sample->count != 1))
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "sample %u has %zu bytes, but a value takes %zu", index, sample->bytes,
                             value_size);
    return FIRN_OK;
}

// Steps over one string; false when it does not end within the bytes.
static bool next_string(const firn_abc_array *array, size_t *at)
{
    size_t width = firn_abc_pod_size(array->pod);
    const unsigned char *bytes = array->values;
    static const unsigned char zero[4] = {0};
    while (*at + width <= array->bytes) {
        bool is_end = memcmp(bytes + *at, zero, width) == 0;
        *at += width;
        if (is_end)
            return true;
    }
    return false;
}

static firn_result check_strings(const firn_abc_place *place, const firn_abc_array *array,
                                 uint32_t index)
{
    size_t at = 0;
    for (size_t i = 0; i < array->count; i++)
        for (int part = 0; part < array->extent; part++)
            if (!next_string(array, &at))
                return firn_abc_fail(place, FIRN_ERR_FORMAT, "string %zu of sample %u has no end",
                                     i, index);
    return FIRN_OK;
}

static firn_result read_values(const firn_abc_place *place, const located *sample, uint32_t index,
                               firn_abc_array *array)
{
    if (sample->offset != 0)
        FIRN_TRY(firn_abc_bytes(place, sample->offset, array->key, sizeof array->key));
    if (sample->bytes == 0)
        return FIRN_OK;
    array->values = firn_alloc(sample->bytes);
    if (array->values == NULL)
        return firn_abc_fail_memory(place, sample->bytes);
    FIRN_TRY(firn_abc_bytes(place, sample->offset + OGAWA_KEY_SIZE, array->values, sample->bytes));
    return is_text(array->pod) ? check_strings(place, array, index) : FIRN_OK;
}

firn_result firn_abc_read(const firn_abc *archive, int property, uint32_t index,
                          firn_abc_array *array, firn_error *error)
{
    FIRN_ASSERT(property >= 0 && property < archive->property_count);
    const firn_abc_property_record *record = &archive->properties[property];
    if (record->home != NULL)
        return firn_abc_read(record->home, record->home_property, index, array, error);
    *array = (firn_abc_array){.pod = record->info.pod, .extent = record->info.extent};
    firn_abc_place place = firn_abc_place_of(archive, record->info.object, property, error);
    if (record->info.kind == FIRN_ABC_PROPERTY_COMPOUND)
        return firn_abc_fail(&place, FIRN_ERR_ARGUMENT, "a compound has no values of its own");
    located sample = {0};
    FIRN_TRY(locate(&place, record, index, &sample));
    array->count = sample.count;
    array->bytes = sample.bytes;
    firn_result result = read_values(&place, &sample, index, array);
    if (result != FIRN_OK)
        firn_abc_array_free(array);
    return result;
}

void firn_abc_array_free(firn_abc_array *array)
{
    firn_free(array->values);
    *array = (firn_abc_array){.pod = array->pod, .extent = array->extent};
}

firn_result firn_abc_read_typed(const firn_abc *archive, int property, uint32_t index,
                                firn_abc_pod pod, int extent, firn_abc_array *array,
                                firn_error *error)
{
    const firn_abc_property *info = &archive->properties[property].info;
    *array = (firn_abc_array){.pod = pod, .extent = extent};
    if (info->kind == FIRN_ABC_PROPERTY_COMPOUND || info->pod != pod || info->extent != extent) {
        firn_abc_place place = firn_abc_place_of(archive, info->object, property, error);
        return firn_abc_fail(&place, FIRN_ERR_FORMAT, "it has values of %s x %d instead of %s x %d",
                             firn_abc_pod_name(info->pod), info->extent, firn_abc_pod_name(pod),
                             extent);
    }
    return firn_abc_read(archive, property, index, array, error);
}

firn_result firn_abc_sample_size(const firn_abc *archive, int property, uint32_t index,
                                 size_t *count, firn_error *error)
{
    const firn_abc_property_record *record = &archive->properties[property];
    if (record->home != NULL)
        return firn_abc_sample_size(record->home, record->home_property, index, count, error);
    firn_abc_place place = firn_abc_place_of(archive, record->info.object, property, error);
    located sample = {0};
    FIRN_TRY(locate(&place, record, index, &sample));
    *count = sample.count;
    return FIRN_OK;
}

firn_result firn_abc_same_sample(const firn_abc *archive, int property, uint32_t a, uint32_t b,
                                 bool *same, firn_error *error)
{
    const firn_abc_property_record *record = &archive->properties[property];
    if (record->home != NULL)
        return firn_abc_same_sample(record->home, record->home_property, a, b, same, error);
    *same = record->info.sample_count < 2 || stored_index(record, a) == stored_index(record, b);
    if (*same)
        return FIRN_OK;
    firn_abc_place place = firn_abc_place_of(archive, record->info.object, property, error);
    uint64_t word_a = 0, word_b = 0;
    FIRN_TRY(sample_word(&place, record, a, false, &word_a));
    FIRN_TRY(sample_word(&place, record, b, false, &word_b));
    *same = word_a == word_b;
    return FIRN_OK;
}

uint64_t firn_abc_result_limit(const firn_abc *archive)
{
    uint64_t always = (uint64_t)16 << 20;
    uint64_t size = archive->source.size;
    return size < (UINT64_MAX - always) / 16 ? always + 16 * size : UINT64_MAX;
}
