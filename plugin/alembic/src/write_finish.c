// The end of an archive: bottom-up, the groups of properties, compounds and objects, then the
// archive's own blocks. The order is that of the official library, so equal content gives equal
// bytes.
#include "write.h"

#include <float.h>
#include <string.h>

typedef struct frozen {
    uint64_t word;
    firn_abcw_digest hash;
} frozen;

typedef struct tail {
    firn_abc_writer *writer;
    frozen *properties; // by property index
    frozen *objects;    // by object index
    uint32_t *max_samples;
    const char *metadata[FIRN_ABCW_METADATA_MAX]; // the indexed table
    uint32_t metadata_count;
    bool failed; // out of memory
} tail;

// 0 is no metadata; other strings get the next free index when they are first used.
static uint32_t metadata_index(tail *t, const char *metadata)
{
    if (metadata[0] == '\0')
        return 0;
    for (uint32_t i = 0; i < t->metadata_count; i++)
        if (strcmp(t->metadata[i], metadata) == 0)
            return i + 1;
    FIRN_ASSERT(t->metadata_count < FIRN_ABCW_METADATA_MAX);
    t->metadata[t->metadata_count] = metadata;
    return ++t->metadata_count;
}

static void put_times(firn_abcw_bytes *bytes, const firn_abcw_times *clock)
{
    static const double none = 0.0;
    const double *times = clock->count > 0 ? clock->times : &none;
    uint32_t count = clock->count > 0 ? (uint32_t)clock->count : 1;
    double step = clock->acyclic ? DBL_MAX / 32.0 : clock->step;
    firn_abcw_bytes_put(bytes, &step, sizeof step);
    firn_abcw_bytes_put_u32(bytes, count);
    firn_abcw_bytes_put(bytes, times, count * sizeof *times);
}

static void put_hashed_header(firn_abcw_bytes *bytes, const tail *t,
                              const firn_abcw_property *property)
{
    firn_abcw_bytes_put(bytes, property->name, strlen(property->name));
    firn_abcw_bytes_put(bytes, property->metadata, strlen(property->metadata));
    if (property->def.kind == FIRN_ABCW_COMPOUND)
        return;
    unsigned char type[3] = {(unsigned char)property->def.pod, property->def.extent, 0};
    firn_abcw_bytes_put(bytes, type, property->def.kind == FIRN_ABCW_SCALAR ? 3 : 2);
    put_times(bytes, &t->writer->clocks[property->def.clock]);
}

static firn_abcw_digest finish_hash(tail *t, firn_abcw_bytes *bytes)
{
    t->failed = t->failed || bytes->failed;
    firn_abcw_digest hash = firn_spooky(bytes->data, bytes->size);
    firn_abcw_bytes_free(bytes);
    return hash;
}

static bool is_child(const firn_abcw_property *property, uint32_t node, uint32_t parent1)
{
    return property->def.node == node && property->def.parent1 == parent1 &&
           (property->count > 0 || !property->def.late);
}

static void put_property_header(firn_abcw_bytes *bytes, tail *t, const firn_abcw_property *property)
{
    enum { HAS_CLOCK = 0x100, HAS_RANGE = 0x200, HOMOGENEOUS = 0x400, CONSTANT = 0x800 };
    const firn_abcw_property_def *def = &property->def;
    bool compound = def->kind == FIRN_ABCW_COMPOUND;
    size_t name_size = strlen(property->name);
    size_t largest = strlen(property->metadata);
    largest = name_size > largest ? name_size : largest;
    largest = property->count > largest ? property->count : largest;
    largest = def->clock > largest ? def->clock : largest;
    uint32_t hint = largest <= UINT8_MAX ? 0 : largest <= UINT16_MAX ? 1 : 2;
    size_t width = (size_t)1 << hint;

    uint32_t info = (uint32_t)def->kind | hint << 2 | metadata_index(t, property->metadata) << 20;
    bool constant = property->last == 0;
    bool range = !constant && (property->first != 1 || property->last != property->count - 1);
    if (!compound) {
        info |= (uint32_t)def->pod << 4 | (uint32_t)def->extent << 12;
        info |= def->kind == FIRN_ABCW_ARRAY && property->scalar_like ? 1 : 0;
        info |= def->clock != 0 ? HAS_CLOCK : 0;
        info |= property->homogeneous ? HOMOGENEOUS : 0;
        info |= constant ? CONSTANT : range ? HAS_RANGE : 0;
    }
    firn_abcw_bytes_put_u32(bytes, info);
    if (!compound) {
        firn_abcw_bytes_put(bytes, &property->count, width);
        if (range) {
            firn_abcw_bytes_put(bytes, &property->first, width);
            firn_abcw_bytes_put(bytes, &property->last, width);
        }
        if (def->clock != 0)
            firn_abcw_bytes_put(bytes, &def->clock, width);
    }
    uint32_t length = (uint32_t)name_size;
    firn_abcw_bytes_put(bytes, &length, width);
    firn_abcw_bytes_put(bytes, property->name, name_size);
}

static void freeze_samples(tail *t, uint32_t index)
{
    firn_abcw_property *property = &t->writer->properties[index];
    uint32_t samples = property->last == 0 && property->count > 0 ? 1 : property->count;
    if (samples > t->max_samples[property->def.clock])
        t->max_samples[property->def.clock] = samples;

    firn_abcw_bytes hashed = {0};
    put_hashed_header(&hashed, t, property);
    if (property->count > 0)
        firn_abcw_bytes_put(&hashed, &property->sum, sizeof property->sum);
    t->properties[index].hash = finish_hash(t, &hashed);

    // Arrays have a second child per sample, their dimensions, which follow from the size.
    firn_abcw_bytes words = {0};
    for (size_t i = 0; i < property->word_count; i++) {
        firn_abcw_bytes_put_u64(&words, property->words[i]);
        if (property->def.kind == FIRN_ABCW_ARRAY)
            firn_abcw_bytes_put_u64(&words, FIRN_ABCW_EMPTY_DATA);
    }
    t->failed = t->failed || words.failed;
    t->properties[index].word = firn_abcw_stream_group(
        &t->writer->stream, (const uint64_t *)(const void *)words.data, words.size / 8);
    firn_abcw_bytes_free(&words);
}

// The headers, the hashes and the group of the properties that have this parent.
static void put_children(tail *t, uint32_t node, uint32_t parent1, firn_abcw_bytes *hashes,
                         firn_abcw_bytes *words, firn_abcw_bytes *headers)
{
    for (uint32_t i = 0; i < t->writer->property_count; i++) {
        const firn_abcw_property *property = &t->writer->properties[i];
        if (!is_child(property, node, parent1))
            continue;
        firn_abcw_bytes_put(hashes, &t->properties[i].hash, sizeof t->properties[i].hash);
        firn_abcw_bytes_put_u64(words, t->properties[i].word);
        put_property_header(headers, t, property);
    }
}

static uint64_t put_compound_group(tail *t, firn_abcw_bytes *words, firn_abcw_bytes *headers)
{
    firn_abcw_stream *stream = &t->writer->stream;
    if (headers->size > 0)
        firn_abcw_bytes_put_u64(words, firn_abcw_stream_data(stream, headers->data, headers->size));
    t->failed = t->failed || words->failed || headers->failed;
    uint64_t word = firn_abcw_stream_group(stream, (const uint64_t *)(const void *)words->data,
                                           words->size / 8);
    firn_abcw_bytes_free(words);
    firn_abcw_bytes_free(headers);
    return word;
}

static void freeze_children(tail *t, uint32_t node, uint32_t parent1);

static void freeze_compound(tail *t, uint32_t index)
{
    const firn_abcw_property *property = &t->writer->properties[index];
    freeze_children(t, property->def.node, index + 1);
    firn_abcw_bytes hashed = {0}, words = {0}, headers = {0};
    put_children(t, property->def.node, index + 1, &hashed, &words, &headers);
    put_hashed_header(&hashed, t, property);
    t->properties[index].hash = finish_hash(t, &hashed);
    t->properties[index].word = put_compound_group(t, &words, &headers);
}

// From the highest rank to the lowest, later ones first among equals.
static void freeze_children(tail *t, uint32_t node, uint32_t parent1)
{
    const firn_abc_writer *writer = t->writer;
    for (int rank = FIRN_ABCW_RANK_MAX; rank >= 0; rank--) {
        for (uint32_t i = (uint32_t)writer->property_count; i-- > 0;) {
            const firn_abcw_property *property = &writer->properties[i];
            if (property->def.rank != rank || !is_child(property, node, parent1))
                continue;
            if (property->def.kind == FIRN_ABCW_COMPOUND)
                freeze_compound(t, i);
            else
                freeze_samples(t, i);
        }
    }
}

static void put_object_header(firn_abcw_bytes *bytes, tail *t, const firn_abcw_object *object)
{
    uint32_t length = (uint32_t)strlen(object->name);
    unsigned char metadata = (unsigned char)metadata_index(t, object->metadata);
    firn_abcw_bytes_put_u32(bytes, length);
    firn_abcw_bytes_put(bytes, object->name, length);
    firn_abcw_bytes_put(bytes, &metadata, 1);
}

// The children of the object are frozen already.
static void freeze_object(tail *t, uint32_t index)
{
    firn_abc_writer *writer = t->writer;
    if (writer->objects[index].xform != NULL &&
        firn_abcw_xform_put_summary(writer, (firn_abc_node){index}, NULL) != FIRN_OK)
        t->failed = true;
    freeze_children(t, index, 0);

    firn_abcw_bytes headers = {0}, hashes = {0}, child_words = {0};
    for (uint32_t i = 1; i < writer->object_count; i++) {
        if (writer->objects[i].parent != index)
            continue;
        put_object_header(&headers, t, &writer->objects[i]);
        firn_abcw_bytes_put(&hashes, &t->objects[i].hash, sizeof t->objects[i].hash);
        firn_abcw_bytes_put_u64(&child_words, t->objects[i].word);
    }
    firn_abcw_bytes property_hashes = {0}, property_words = {0}, property_headers = {0};
    firn_abcw_digest none = {{0, 0}};
    firn_abcw_digest children_hash = hashes.size > 0 ? firn_spooky(hashes.data, hashes.size) : none;

    // The object's metadata take their indices before those of its properties.
    put_children(t, index, 0, &property_hashes, &property_words, &property_headers);
    firn_abcw_digest properties_hash = finish_hash(t, &property_hashes);
    firn_abcw_bytes_put(&headers, &properties_hash, sizeof properties_hash);
    firn_abcw_bytes_put(&headers, &children_hash, sizeof children_hash);
    uint64_t header_word = firn_abcw_stream_data(&t->writer->stream, headers.data, headers.size);

    firn_abcw_bytes words = {0};
    firn_abcw_bytes_put_u64(&words, put_compound_group(t, &property_words, &property_headers));
    firn_abcw_bytes_put(&words, child_words.data, child_words.size);
    firn_abcw_bytes_put_u64(&words, header_word);
    t->failed = t->failed || headers.failed || child_words.failed || words.failed;
    t->objects[index].word = firn_abcw_stream_group(
        &t->writer->stream, (const uint64_t *)(const void *)words.data, words.size / 8);

    const firn_abcw_object *object = &writer->objects[index];
    firn_abcw_bytes_put(&hashes, &properties_hash, sizeof properties_hash);
    firn_abcw_bytes_put(&hashes, object->metadata, strlen(object->metadata));
    firn_abcw_bytes_put(&hashes, object->name, strlen(object->name));
    t->objects[index].hash = finish_hash(t, &hashes);
    firn_abcw_bytes_free(&headers);
    firn_abcw_bytes_free(&child_words);
    firn_abcw_bytes_free(&words);
}

static void freeze_subtree(tail *t, uint32_t index)
{
    for (uint32_t i = index + 1; i < t->writer->object_count; i++)
        if (t->writer->objects[i].parent == index)
            freeze_subtree(t, i);
    freeze_object(t, index);
}

static void freeze_archive(tail *t)
{
    firn_abc_writer *writer = t->writer;
    firn_abcw_stream *stream = &writer->stream;
    freeze_subtree(t, 0);
    uint64_t root[6] = {16 | FIRN_ABCW_EMPTY_DATA, 28 | FIRN_ABCW_EMPTY_DATA, t->objects[0].word};
    root[3] = firn_abcw_stream_data(stream, writer->metadata.data, writer->metadata.size);

    firn_abcw_bytes bytes = {0};
    for (size_t i = 0; i < writer->clock_count; i++) {
        firn_abcw_bytes_put_u32(&bytes, t->max_samples[i]);
        put_times(&bytes, &writer->clocks[i]);
    }
    root[4] = firn_abcw_stream_data(stream, bytes.data, bytes.size);
    t->failed = t->failed || bytes.failed;
    firn_abcw_bytes_free(&bytes);

    for (uint32_t i = 0; i < t->metadata_count; i++) {
        unsigned char length = (unsigned char)strlen(t->metadata[i]);
        firn_abcw_bytes_put(&bytes, &length, 1);
        firn_abcw_bytes_put(&bytes, t->metadata[i], length);
    }
    root[5] = firn_abcw_stream_data(stream, bytes.data, bytes.size);
    t->failed = t->failed || bytes.failed;
    firn_abcw_bytes_free(&bytes);
    firn_abcw_stream_freeze(stream, firn_abcw_stream_group(stream, root, FIRN_COUNT(root)));
}

firn_result firn_abcw_write_tail(firn_abc_writer *writer, firn_error *error)
{
    for (uint32_t i = 0; i < writer->object_count; i++)
        if (writer->objects[i].xform != NULL)
            FIRN_TRY(firn_abcw_xform_close(writer, (firn_abc_node){i}, error));
    tail *t = firn_alloc_zero(sizeof *t);
    if (t != NULL) {
        t->writer = writer;
        t->properties = firn_alloc_zero((writer->property_count + 1) * sizeof *t->properties);
        t->objects = firn_alloc_zero(writer->object_count * sizeof *t->objects);
        t->max_samples = firn_alloc_zero(writer->clock_count * sizeof *t->max_samples);
        t->failed = t->properties == NULL || t->objects == NULL || t->max_samples == NULL;
        if (!t->failed)
            freeze_archive(t);
        firn_free(t->properties);
        firn_free(t->objects);
        firn_free(t->max_samples);
    }
    bool failed = t == NULL || t->failed;
    firn_free(t);
    if (failed)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot complete '%s': out of memory",
                         writer->path);
    return FIRN_OK;
}
