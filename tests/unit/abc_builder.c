#include "unit/abc_builder.h"

#include <stdio.h>
#include <string.h>

static const uint64_t data_bit = (uint64_t)1 << 63;

static void put(abc_builder *b, const void *bytes, size_t size)
{
    assert_true(size <= ABC_BUILDER_SIZE - b->size);
    if (size > 0)
        memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
}

void abc_builder_start(abc_builder *b)
{
    b->size = 0;
    put(b, "Ogawa\xff\0\1\0\0\0\0\0\0\0\0", 16);
}

uint64_t abc_builder_data(abc_builder *b, const void *bytes, size_t size)
{
    uint64_t at = b->size, length = size;
    if (size == 0)
        return data_bit;
    put(b, &length, sizeof length);
    put(b, bytes, size);
    return at | data_bit;
}

uint64_t abc_builder_group(abc_builder *b, const uint64_t *words, size_t count)
{
    uint64_t at = b->size, length = count;
    if (count == 0)
        return 0;
    put(b, &length, sizeof length);
    put(b, words, count * sizeof *words);
    return at;
}

uint64_t abc_builder_sample(abc_builder *b, const void *values, size_t size)
{
    static const unsigned char key[16] = {0};
    uint64_t at = b->size, length = size + sizeof key;
    if (size == 0)
        return data_bit;
    put(b, &length, sizeof length);
    put(b, key, sizeof key);
    put(b, values, size);
    return at | data_bit;
}

static void append(abc_list *list, const void *bytes, size_t size)
{
    assert_true(size <= sizeof list->headers - list->header_size);
    memcpy(list->headers + list->header_size, bytes, size);
    list->header_size += size;
}

static void append_u32(abc_list *list, uint32_t value) { append(list, &value, sizeof value); }

static void append_text(abc_list *list, const char *text)
{
    append_u32(list, (uint32_t)strlen(text));
    append(list, text, strlen(text));
}

static void append_word(abc_list *list, uint64_t word)
{
    assert_true(list->count < ABC_BUILDER_ITEMS);
    list->words[list->count++] = word;
}

void abc_list_property(abc_list *list, const char *name, const char *metadata, uint32_t kind,
                       firn_abc_pod pod, uint32_t extent, uint32_t samples, uint64_t word)
{
    // Four-byte numbers, a time sampling, inline metadata.
    uint32_t info = kind | 2u << 2 | 255u << 20;
    if (kind != 0)
        info |= (uint32_t)pod << 4 | 0x100u | extent << 12;
    append_u32(list, info);
    if (kind != 0) {
        append_u32(list, samples);
        append_u32(list, 1);
    }
    append_text(list, name);
    append_text(list, metadata);
    append_word(list, word);
}

void abc_list_array(abc_builder *b, abc_list *list, const char *name, const char *metadata,
                    firn_abc_pod pod, uint32_t extent, const void *const *samples,
                    const size_t *counts, uint32_t sample_count)
{
    uint64_t words[2 * ABC_BUILDER_ITEMS];
    for (uint32_t i = 0; i < sample_count; i++) {
        size_t size = counts[i] * extent * firn_abc_pod_size(pod);
        words[2 * i] = abc_builder_sample(b, samples[i], size);
        words[2 * i + 1] = data_bit;
    }
    uint64_t group = abc_builder_group(b, words, 2 * (size_t)sample_count);
    abc_list_property(list, name, metadata, 2, pod, extent, sample_count, group);
}

void abc_list_scalar(abc_builder *b, abc_list *list, const char *name, firn_abc_pod pod,
                     uint32_t extent, const void *const *samples, uint32_t sample_count)
{
    uint64_t words[ABC_BUILDER_ITEMS];
    for (uint32_t i = 0; i < sample_count; i++)
        words[i] = abc_builder_sample(b, samples[i], extent * firn_abc_pod_size(pod));
    uint64_t group = abc_builder_group(b, words, sample_count);
    abc_list_property(list, name, "", 1, pod, extent, sample_count, group);
}

uint64_t abc_list_compound(abc_builder *b, const abc_list *list)
{
    abc_list whole = *list;
    whole.words[whole.count++] = abc_builder_data(b, list->headers, list->header_size);
    return list->count > 0 ? abc_builder_group(b, whole.words, whole.count) : 0;
}

void abc_list_object(abc_list *list, const char *name, const char *metadata, uint64_t word)
{
    append_text(list, name);
    append(list, "\xff", 1);
    append_text(list, metadata);
    append_word(list, word);
}

uint64_t abc_builder_object(abc_builder *b, uint64_t properties, const abc_list *children)
{
    abc_list whole = {.words = {properties}, .count = 1};
    if (children != NULL) {
        append(&whole, children->headers, children->header_size);
        memcpy(whole.words + 1, children->words, children->count * sizeof children->words[0]);
        whole.count += children->count;
    }
    static const unsigned char hashes[32] = {0};
    append(&whole, hashes, sizeof hashes);
    whole.words[whole.count++] = abc_builder_data(b, whole.headers, whole.header_size);
    return abc_builder_group(b, whole.words, whole.count);
}

void abc_list_schema_object(abc_builder *b, abc_list *list, const char *name, const char *schema,
                            const char *compound, const abc_list *properties,
                            const abc_list *children)
{
    abc_list top = {.count = 0};
    char metadata[256];
    abc_list_property(&top, compound, "", 0, FIRN_ABC_POD_BOOL, 0, 0,
                      abc_list_compound(b, properties));
    uint64_t object = abc_builder_object(b, abc_list_compound(b, &top), children);
    snprintf(metadata, sizeof metadata, "schema=%s;schemaObjTitle=%s:%s", schema, schema, compound);
    abc_list_object(list, name, metadata, object);
}

static void put_sampling(unsigned char *at, double step)
{
    const uint32_t most = 0, count = 1;
    const double start = 0.0;
    memcpy(at, &most, 4);
    memcpy(at + 4, &step, 8);
    memcpy(at + 12, &count, 4);
    memcpy(at + 16, &start, 8);
}

void abc_builder_finish(abc_builder *b, uint64_t root_object, double step)
{
    const int32_t layout = 0, library = 10812;
    unsigned char samplings[48];
    put_sampling(samplings, 1.0);
    put_sampling(samplings + 24, step);
    const uint64_t words[6] = {abc_builder_data(b, &layout, sizeof layout),
                               abc_builder_data(b, &library, sizeof library),
                               root_object,
                               data_bit,
                               abc_builder_data(b, samplings, sizeof samplings),
                               data_bit};
    uint64_t root = abc_builder_group(b, words, 6);
    memcpy(b->bytes + 8, &root, sizeof root);
}

firn_abc *abc_builder_open(const abc_builder *b)
{
    firn_abc *archive;
    firn_error error = {0};
    if (firn_abc_open_memory(b->bytes, b->size, "built", &archive, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return archive;
}
