#include "write.h"

#include <string.h>

static const uint8_t pod_bytes[] = {
    [FIRN_ABCW_POD_BOOL] = 1, [FIRN_ABCW_POD_U8] = 1,  [FIRN_ABCW_POD_U32] = 4,
    [FIRN_ABCW_POD_I32] = 4,  [FIRN_ABCW_POD_U64] = 8, [FIRN_ABCW_POD_F32] = 4,
    [FIRN_ABCW_POD_F64] = 8,
};

static firn_result check_name(firn_abc_writer *writer, const firn_abcw_property_def *def,
                              firn_error *error)
{
    size_t length = def->name != NULL ? strlen(def->name) : 0;
    if (length == 0 || length >= FIRN_ABCW_NAME_SIZE || strchr(def->name, '/') != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot add '%.64s' to '%s': a name has 1 to %d characters and no '/'",
                         def->name != NULL ? def->name : "", writer->path, FIRN_ABCW_NAME_SIZE - 1);
    for (size_t i = 0; i < writer->property_count; i++) {
        const firn_abcw_property *other = &writer->properties[i];
        if (other->def.node == def->node && other->def.parent1 == def->parent1 &&
            strcmp(other->name, def->name) == 0)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "cannot add '%s' to '%s' twice: names are unique in an object",
                             def->name, writer->path);
    }
    return FIRN_OK;
}

firn_result firn_abcw_property_add(firn_abc_writer *writer, const firn_abcw_property_def *def,
                                   uint32_t *index1, firn_error *error)
{
    FIRN_TRY(check_name(writer, def, error));
    void *memory = writer->properties;
    bool enough = firn_abcw_reserve(&memory, writer->property_count, &writer->property_capacity,
                                    writer->property_count + 1, sizeof *writer->properties);
    writer->properties = memory;
    // A batch holds at most one sample of every property.
    memory = writer->batch;
    enough = enough && firn_abcw_reserve(&memory, writer->batch_count, &writer->batch_capacity,
                                         writer->property_count + 1, sizeof *writer->batch);
    writer->batch = memory;
    memory = writer->batch_order;
    enough = enough && firn_abcw_reserve(&memory, 0, &writer->order_capacity,
                                         writer->property_count + 1, sizeof *writer->batch_order);
    writer->batch_order = memory;
    if (!enough)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", writer->path);
    firn_abcw_property *property = &writer->properties[writer->property_count];
    memset(property, 0, sizeof *property);
    property->def = *def;
    property->def.name = NULL;
    property->def.metadata = NULL;
    memcpy(property->name, def->name, strlen(def->name) + 1);
    if (def->metadata != NULL)
        memcpy(property->metadata, def->metadata, strlen(def->metadata) + 1);
    property->scalar_like = true;
    property->homogeneous = true;
    *index1 = (uint32_t)++writer->property_count;
    return FIRN_OK;
}

void firn_abcw_batch_add(firn_abc_writer *writer, uint32_t property1, const void *data,
                         uint64_t elements)
{
    if (property1 == 0)
        return;
    const firn_abcw_property_def *def = &writer->properties[property1 - 1].def;
    firn_abcw_sample *sample = &writer->batch[writer->batch_count++];
    sample->property = property1 - 1;
    sample->data = data;
    sample->elements = elements;
    sample->bounds = NULL;
    sample->bytes = elements * def->extent * pod_bytes[def->pod];
}

firn_abcw_block *firn_abcw_blocks_find(firn_abcw_block_map *map, firn_abcw_digest key,
                                       uint64_t bytes)
{
    size_t mask = map->capacity - 1;
    for (size_t i = (size_t)key.word[0] & mask;; i = (i + 1) & mask) {
        firn_abcw_block *block = &map->slots[i];
        if (block->word == 0 || (block->bytes == bytes && block->key.word[0] == key.word[0] &&
                                 block->key.word[1] == key.word[1]))
            return block;
    }
}

bool firn_abcw_blocks_reserve(firn_abcw_block_map *map)
{
    if (2 * (map->count + 1) <= map->capacity)
        return true;
    firn_abcw_block_map grown = {.count = map->count,
                                 .capacity = map->capacity == 0 ? 64 : 2 * map->capacity};
    grown.slots = firn_alloc_zero(grown.capacity * sizeof *grown.slots);
    if (grown.slots == NULL)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].word != 0)
            *firn_abcw_blocks_find(&grown, map->slots[i].key, map->slots[i].bytes) = map->slots[i];
    firn_free(map->slots);
    *map = grown;
    return true;
}

static bool reserve_sample(firn_abc_writer *writer, firn_abcw_property *property)
{
    // A change after a pause first repeats the word of the samples in between.
    size_t repeats = property->first != 0 ? property->count - property->last : 1;
    void *memory = property->words;
    bool enough = firn_abcw_reserve(&memory, property->word_count, &property->word_capacity,
                                    property->word_count + repeats, sizeof *property->words);
    property->words = memory;
    return enough && firn_abcw_blocks_reserve(&writer->blocks);
}

// Finds the block of a sample in the file or appends it; *values is the number of plain values
// that the property which stored it had.
static uint64_t place_sample(firn_abc_writer *writer, const firn_abcw_sample *sample,
                             uint64_t *values, bool *stored)
{
    *values = 0;
    if (sample->bytes == 0)
        return FIRN_ABCW_EMPTY_DATA;
    firn_abcw_block *block = firn_abcw_blocks_find(&writer->blocks, sample->key, sample->bytes);
    if (block->word == 0) {
        const firn_abcw_property_def *def = &writer->properties[sample->property].def;
        block->key = sample->key;
        block->bytes = sample->bytes;
        block->values = sample->elements * def->extent;
        block->word = firn_abcw_stream_sample(&writer->stream, sample);
        writer->blocks.count++;
        *stored = true;
    }
    *values = block->values;
    return block->word;
}

static firn_abcw_digest sample_digest(const firn_abcw_property *property)
{
    if (property->def.kind == FIRN_ABCW_SCALAR)
        return property->key;
    uint64_t message[3] = {property->elements, property->key.word[0], property->key.word[1]};
    return firn_spooky(message, sizeof message);
}

static void change_sample(firn_abc_writer *writer, firn_abcw_property *property,
                          const firn_abcw_sample *sample, bool *stored)
{
    if (property->first != 0)
        for (uint32_t i = property->last + 1; i < property->count; i++)
            property->words[property->word_count++] = property->word;
    uint64_t values;
    property->word = place_sample(writer, sample, &values, stored);
    property->words[property->word_count++] = property->word;
    property->key = sample->key;
    property->bytes = sample->bytes;
    property->elements = sample->elements;
    if (property->def.kind == FIRN_ABCW_ARRAY) {
        // Comparing elements with values is how official files come to their homogeneous bit.
        property->homogeneous = property->homogeneous && sample->elements == values;
        property->scalar_like = property->scalar_like && sample->elements == 1;
    }
    if (property->first == 0)
        property->first = property->count;
    property->last = property->count;
}

firn_result firn_abcw_sample_apply(firn_abc_writer *writer, const firn_abcw_sample *sample,
                                   firn_error *error)
{
    firn_abcw_property *property = &writer->properties[sample->property];
    const firn_abcw_times *clock = &writer->clocks[property->def.clock];
    if (clock->acyclic && property->count >= clock->count)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot write sample %u of '%s' to '%s': its clock has only %zu times",
                         property->count, property->name, writer->path, clock->count);
    if (property->count == UINT32_MAX || !reserve_sample(writer, property))
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "cannot write '%s': out of memory after %u samples", writer->path,
                         property->count);
    bool stored = false;
    bool repeated = property->count > 0 && property->bytes == sample->bytes &&
                    property->key.word[0] == sample->key.word[0] &&
                    property->key.word[1] == sample->key.word[1];
    if (!repeated)
        change_sample(writer, property, sample, &stored);
    firn_abcw_digest digest = sample_digest(property);
    property->sum = property->count == 0 ? digest : firn_spooky_fold(property->sum, digest);
    property->count++;
    firn_abcw_journal_sample(writer, sample, property->word, stored);
    return FIRN_OK;
}

// The bounds read a window of the points just before the hash does, while it is in the cache.
// A window is a whole number of points, of vectors of points and of hash blocks.
enum { LARGE_SAMPLE = 4096, WINDOW = 48 << 10 };

static void extend_bounds(const firn_abcw_sample *sample, size_t begin)
{
    size_t end = begin + WINDOW < sample->bytes ? begin + WINDOW : (size_t)sample->bytes;
    if (sample->bounds != NULL && begin < end)
        firn_abcw_bounds_extend(sample->bounds,
                                (const firn_vec3 *)sample->data + begin / sizeof(firn_vec3),
                                (end - begin) / sizeof(firn_vec3));
}

static void hash_together(firn_abcw_sample *const *samples, int count)
{
    const void *data[FIRN_MURMUR_CHAINS];
    size_t sizes[FIRN_MURMUR_CHAINS];
    firn_murmur states[FIRN_MURMUR_CHAINS] = {{0, 0, 0}};
    for (int i = 0; i < count; i++) {
        data[i] = samples[i]->data;
        sizes[i] = (size_t)samples[i]->bytes;
    }
    for (size_t begin = 0; begin < sizes[0]; begin += WINDOW) {
        for (int i = 0; i < count; i++)
            extend_bounds(samples[i], begin);
        firn_murmur_advance(states, data, sizes, count, begin + WINDOW);
    }
    for (int i = 0; i < count; i++) {
        size_t rest = sizes[i] & 15;
        const unsigned char *tail = (const unsigned char *)data[i] + (sizes[i] - rest);
        samples[i]->key = firn_murmur_finish(&states[i], tail, rest);
    }
}

// Large samples are hashed together with those of similar size. Small ones follow in the order of
// the batch, because the box of a sample of points is a small sample after it.
static void hash_batch(firn_abc_writer *writer)
{
    firn_abcw_sample **order = writer->batch_order;
    int large = 0;
    for (size_t i = 0; i < writer->batch_count; i++) {
        firn_abcw_sample *sample = &writer->batch[i];
        if (sample->bytes < LARGE_SAMPLE)
            continue;
        int at = large++;
        for (; at > 0 && order[at - 1]->bytes < sample->bytes; at--)
            order[at] = order[at - 1];
        order[at] = sample;
    }
    for (int first = 0; first < large; first += FIRN_MURMUR_CHAINS)
        hash_together(order + first,
                      large - first < FIRN_MURMUR_CHAINS ? large - first : FIRN_MURMUR_CHAINS);
    for (size_t i = 0; i < writer->batch_count; i++) {
        firn_abcw_sample *sample = &writer->batch[i];
        if (sample->bytes >= LARGE_SAMPLE)
            continue;
        extend_bounds(sample, 0);
        sample->key = firn_murmur_key(sample->data, (size_t)sample->bytes);
    }
}

firn_result firn_abcw_batch_commit(firn_abc_writer *writer, firn_error *error)
{
    hash_batch(writer);
    size_t count = writer->batch_count;
    writer->batch_count = 0;
    for (size_t i = 0; i < count; i++)
        FIRN_TRY(firn_abcw_sample_apply(writer, &writer->batch[i], error));
    return FIRN_OK;
}
