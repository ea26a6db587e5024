#include "archive.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} pods[FIRN_ABC_POD_COUNT] = {
    [FIRN_ABC_POD_BOOL] = {"bool_t", 1},       [FIRN_ABC_POD_UINT8] = {"uint8_t", 1},
    [FIRN_ABC_POD_INT8] = {"int8_t", 1},       [FIRN_ABC_POD_UINT16] = {"uint16_t", 2},
    [FIRN_ABC_POD_INT16] = {"int16_t", 2},     [FIRN_ABC_POD_UINT32] = {"uint32_t", 4},
    [FIRN_ABC_POD_INT32] = {"int32_t", 4},     [FIRN_ABC_POD_UINT64] = {"uint64_t", 8},
    [FIRN_ABC_POD_INT64] = {"int64_t", 8},     [FIRN_ABC_POD_FLOAT16] = {"float16_t", 2},
    [FIRN_ABC_POD_FLOAT32] = {"float32_t", 4}, [FIRN_ABC_POD_FLOAT64] = {"float64_t", 8},
    [FIRN_ABC_POD_STRING] = {"string", 1},     [FIRN_ABC_POD_WSTRING] = {"wstring", 4},
};

const char *firn_abc_pod_name(firn_abc_pod pod)
{
    return (unsigned)pod < FIRN_ABC_POD_COUNT ? pods[pod].name : "unknown";
}

size_t firn_abc_pod_size(firn_abc_pod pod)
{
    return (unsigned)pod < FIRN_ABC_POD_COUNT ? pods[pod].size : 0;
}

typedef struct walk {
    firn_abc *archive;
    firn_abc_property_record *stack; // headers read, groups still to be visited, the next on top
    int count, capacity;
    int object;
} walk;

static firn_result push(walk *w, const firn_abc_place *place, const firn_abc_property_record *next)
{
    void *stack = w->stack;
    firn_result result =
        firn_abc_grow(w->archive, place, &stack, w->count, &w->capacity, sizeof *w->stack);
    w->stack = stack;
    if (result == FIRN_OK)
        w->stack[w->count++] = *next;
    return result;
}

// The part of a header that only scalars and arrays have.
static bool read_sampled(ogawa_cursor *cursor, uint32_t info, firn_abc_property_record *record)
{
    unsigned width = (info >> OGAWA_INFO_HINT_SHIFT) & 3;
    firn_abc_property *property = &record->info;
    uint32_t kind = info & OGAWA_INFO_KIND, sampling = 0;
    property->kind = kind == OGAWA_SCALAR ? FIRN_ABC_PROPERTY_SCALAR : FIRN_ABC_PROPERTY_ARRAY;
    property->scalar_like = kind == OGAWA_SCALAR_LIKE;
    property->pod = (firn_abc_pod)((info >> OGAWA_INFO_POD_SHIFT) & 15);
    property->extent = (int)((info >> OGAWA_INFO_EXTENT_SHIFT) & 255);
    if (!firn_ogawa_sized(cursor, width, &property->sample_count))
        return false;
    uint32_t count = property->sample_count;
    if ((info & OGAWA_INFO_HAS_RANGE) != 0) {
        if (!firn_ogawa_sized(cursor, width, &record->first) ||
            !firn_ogawa_sized(cursor, width, &record->last))
            return false;
    } else if ((info & OGAWA_INFO_CONSTANT) == 0 && count > 1) {
        record->first = 1;
        record->last = count - 1;
    }
    if ((info & OGAWA_INFO_HAS_TIME) != 0 && !firn_ogawa_sized(cursor, width, &sampling))
        return false;
    property->time_sampling = sampling <= INT32_MAX ? (int)sampling : -1;
    property->constant = record->last == 0;
    return true;
}

static firn_result check_sampled(const firn_abc_place *place,
                                 const firn_abc_property_record *record)
{
    const firn_abc *archive = place->archive;
    const firn_abc_property *property = &record->info;
    if (property->pod >= FIRN_ABC_POD_COUNT || property->extent == 0)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "its type (code %d, extent %d) is unknown",
                             (int)property->pod, property->extent);
    if (property->time_sampling < 0 || property->time_sampling >= archive->sampling_count)
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "its time sampling %d is not among the %d of the archive",
                             property->time_sampling, archive->sampling_count);
    const firn_abc_time_sampling *sampling = &archive->samplings[property->time_sampling];
    if (sampling->kind == FIRN_ABC_TIME_ACYCLIC && property->sample_count > sampling->time_count)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "it has %u samples for %u times",
                             property->sample_count, sampling->time_count);

    bool is_constant = record->first == 0 && record->last == 0;
    if (!is_constant && (record->first == 0 || record->first > record->last ||
                         record->last >= property->sample_count))
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "samples %u to %u of %u are said to change",
                             record->first, record->last, property->sample_count);
    uint64_t needed = 0, stored = 0;
    if (property->sample_count > 0)
        needed = is_constant ? 1 : (uint64_t)(record->last - record->first) + 2;
    if (property->kind == FIRN_ABC_PROPERTY_ARRAY)
        needed *= 2; // values and dimensions
    FIRN_TRY(firn_abc_group(place, record->group, &stored));
    if (stored < needed)
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "%llu parts of its samples are stored instead of %llu",
                             (unsigned long long)stored, (unsigned long long)needed);
    return FIRN_OK;
}

static firn_result read_header(walk *w, const firn_abc_place *place, ogawa_cursor *cursor,
                               firn_abc_property_record *record)
{
    uint32_t info, name_length, metadata_length = 0;
    const unsigned char *name, *metadata = NULL;
    if (!firn_ogawa_u32(cursor, &info))
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the list of its properties is damaged");
    unsigned width = (info >> OGAWA_INFO_HINT_SHIFT) & 3;
    unsigned metadata_index = (info >> OGAWA_INFO_METADATA_SHIFT) & 255;
    bool is_compound = (info & OGAWA_INFO_KIND) == OGAWA_COMPOUND;
    bool is_sound = width <= 2 && (is_compound || read_sampled(cursor, info, record)) &&
                    firn_ogawa_sized(cursor, width, &name_length) &&
                    firn_ogawa_take(cursor, name_length, &name) &&
                    firn_abc_is_name(name, name_length);
    if (is_sound && metadata_index == OGAWA_METADATA_INLINE)
        is_sound = firn_ogawa_sized(cursor, width, &metadata_length) &&
                   firn_ogawa_take(cursor, metadata_length, &metadata);
    if (!is_sound)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the list of its properties is damaged");
    const char *parent =
        record->info.parent >= 0 ? w->archive->properties[record->info.parent].info.path : NULL;
    FIRN_TRY(firn_abc_text(w->archive, place, parent, name, name_length, &record->info.path));
    record->info.name = record->info.path + strlen(record->info.path) - name_length;
    return firn_abc_header_metadata(w->archive, place, metadata_index, metadata, metadata_length,
                                    &record->info.metadata);
}

static firn_result push_headers(walk *w, const firn_abc_place *place, int parent, uint64_t group,
                                uint64_t child_words, ogawa_cursor cursor)
{
    int bottom = w->count;
    uint64_t found = 0;
    while (cursor.at < cursor.end) {
        firn_abc_property_record record = {.info = {.object = w->object, .parent = parent}};
        FIRN_TRY(read_header(w, place, &cursor, &record));
        if (found == child_words)
            return firn_abc_fail(place, FIRN_ERR_FORMAT, "it names more properties than it has");
        FIRN_TRY(firn_abc_child(place, group, found, &record.group));
        FIRN_TRY(push(w, place, &record));
        found++;
    }
    for (int low = bottom, high = w->count - 1; low < high; low++, high--) {
        firn_abc_property_record swapped = w->stack[low];
        w->stack[low] = w->stack[high];
        w->stack[high] = swapped;
    }
    return FIRN_OK;
}

// Puts the properties that a compound holds on the stack, the first on top.
static firn_result load_compound(walk *w, const firn_abc_place *place, int parent, uint64_t group)
{
    uint64_t count = 0, headers = 0;
    FIRN_TRY(firn_abc_group(place, group, &count));
    if (count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_abc_child(place, group, count - 1, &headers));
    unsigned char *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_abc_data_load(place, headers, &bytes, &size));
    ogawa_cursor cursor = {bytes, bytes != NULL ? bytes + size : bytes};
    firn_result result = push_headers(w, place, parent, group, count - 1, cursor);
    firn_free(bytes);
    return result;
}

static firn_result check_path(const firn_abc *archive, const firn_abc_place *place,
                              const firn_abc_property_record *next, uint64_t top)
{
    int depth = 0;
    bool is_cycle = next->group == top;
    for (int i = next->info.parent; i >= 0; i = archive->properties[i].info.parent, depth++)
        is_cycle = is_cycle || archive->properties[i].group == next->group;
    if (next->group != 0 && is_cycle)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "it contains itself");
    if (depth > FIRN_ABC_MAX_DEPTH)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "properties are nested more than %d deep",
                             FIRN_ABC_MAX_DEPTH);
    return FIRN_OK;
}

static firn_result visit(walk *w, const firn_abc_property_record *next, uint64_t top,
                         firn_error *error)
{
    firn_abc *archive = w->archive;
    firn_abc_place place = firn_abc_place_of(archive, w->object, -1, error);
    place.property = next->info.path;
    void *properties = archive->properties;
    firn_result result = firn_abc_grow(archive, &place, &properties, archive->property_count,
                                       &archive->property_capacity, sizeof *archive->properties);
    archive->properties = properties;
    FIRN_TRY(result);
    int property = archive->property_count++;
    archive->properties[property] = *next;
    if (next->info.kind != FIRN_ABC_PROPERTY_COMPOUND)
        return check_sampled(&place, next);
    FIRN_TRY(check_path(archive, &place, next, top));
    return load_compound(w, &place, property, next->group);
}

firn_result firn_abc_load_properties(firn_abc *archive, int object, uint64_t word,
                                     firn_error *error)
{
    walk w = {.archive = archive, .object = object};
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    firn_result result = load_compound(&w, &place, -1, word);
    while (result == FIRN_OK && w.count > 0) {
        firn_abc_property_record next = w.stack[--w.count];
        result = visit(&w, &next, word, error);
    }
    archive->index_bytes -= (uint64_t)w.capacity * sizeof *w.stack;
    firn_free(w.stack);
    return result;
}

int firn_abc_property_count(const firn_abc *archive) { return archive->property_count; }

const firn_abc_property *firn_abc_property_at(const firn_abc *archive, int property)
{
    FIRN_ASSERT(property >= 0 && property < archive->property_count);
    return &archive->properties[property].info;
}

int firn_abc_property_find(const firn_abc *archive, int object, const char *path)
{
    const firn_abc_object *info = firn_abc_object_at(archive, object);
    for (int i = info->first_property; i < info->first_property + info->property_count; i++)
        if (strcmp(archive->properties[i].info.path, path) == 0)
            return i;
    return -1;
}
