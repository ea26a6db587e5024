// Several archives as one. The table of contents is merged, by paths; samples stay where they are:
// each property of the whole names the archive that has it, and reading goes there.
#include "archive.h"

#include <string.h>

// An object of the whole, and the layers that say something of it.
typedef struct merged_object {
    const char *path; // of the layer that has it first
    const char *name;
    const char *metadata;
    int depth;
    bool is_instance;
    int count, capacity;
    struct {
        int layer, object;
    } * parts;
} merged_object;

typedef struct merging {
    firn_abc *whole;
    merged_object *objects;
    int count, capacity;
    firn_abc_place place; // for messages
} merging;

static bool is_below(const char *path, const char *above)
{
    size_t length = strcmp(above, "/") == 0 ? 0 : strlen(above);
    return strncmp(path, above, length) == 0 && path[length] == '/' && path[length + 1] != '\0';
}

static bool says(const char *metadata, const char *key)
{
    char value[4];
    return firn_abc_metadata_value(metadata, key, value, sizeof value) && strcmp(value, "1") == 0;
}

static int find(const merging *m, const char *path)
{
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->objects[i].path, path) == 0)
            return i;
    return -1;
}

static void drop(merging *m, int from, int to)
{
    for (int i = from; i < to; i++)
        firn_free(m->objects[i].parts);
    if (to > from)
        memmove(&m->objects[from], &m->objects[to], (size_t)(m->count - to) * sizeof *m->objects);
    m->count -= to - from;
}

static int end_of(const merging *m, int object)
{
    int end = object + 1;
    while (end < m->count && m->objects[end].depth > m->objects[object].depth)
        end++;
    return end;
}

static firn_result add_part(merging *m, merged_object *object, int layer, int number)
{
    void *parts = object->parts;
    firn_result result = firn_abc_grow(m->whole, &m->place, &parts, object->count,
                                       &object->capacity, sizeof *object->parts);
    object->parts = parts;
    FIRN_TRY(result);
    object->parts[object->count].layer = layer;
    object->parts[object->count++].object = number;
    return FIRN_OK;
}

static firn_result insert(merging *m, int at, const firn_abc_object_record *record, int layer,
                          int number)
{
    void *objects = m->objects;
    firn_result result =
        firn_abc_grow(m->whole, &m->place, &objects, m->count, &m->capacity, sizeof *m->objects);
    m->objects = objects;
    FIRN_TRY(result);
    memmove(&m->objects[at + 1], &m->objects[at], (size_t)(m->count - at) * sizeof *m->objects);
    m->objects[at] = (merged_object){.path = record->info.path,
                                     .name = record->info.name,
                                     .metadata = record->info.metadata,
                                     .depth = record->info.depth,
                                     .is_instance = record->is_instance};
    m->count++;
    return add_part(m, &m->objects[at], layer, number);
}

static firn_result add_object(merging *m, int layer, int number)
{
    const firn_abc *archive = m->whole->layers[layer];
    const firn_abc_object_record *record = &archive->objects[number];
    const char *metadata = record->info.metadata;
    int there = find(m, record->info.path);
    bool prunes = record->info.parent >= 0 && says(metadata, "prune");
    if (there < 0) {
        if (record->info.parent < 0)
            return insert(m, 0, record, layer, number);
        int parent = find(m, archive->objects[record->info.parent].info.path);
        // Below what was taken away there is nothing to add to.
        return prunes || parent < 0 ? FIRN_OK : insert(m, end_of(m, parent), record, layer, number);
    }
    if (prunes) {
        drop(m, there, end_of(m, there));
        return FIRN_OK;
    }
    merged_object *object = &m->objects[there];
    if (record->info.parent >= 0 && says(metadata, "replace")) {
        drop(m, there + 1, end_of(m, there));
        object->count = 0;
        object->metadata = metadata;
    }
    // A layer that only passes through has no schema.
    if (firn_abc_kind_of(object->metadata) == FIRN_ABC_KIND_GROUP && object->depth > 0)
        object->metadata = metadata;
    object->is_instance = object->is_instance || record->is_instance;
    return add_part(m, object, layer, number);
}

// --- Properties ----------------------------------------------------------------------------------

static int find_property(const firn_abc *whole, int first, const char *path)
{
    for (int i = first; i < whole->property_count; i++)
        if (strcmp(whole->properties[i].info.path, path) == 0)
            return i;
    return -1;
}

// Takes the properties below a compound away, and that itself unless it is kept.
static void drop_properties(firn_abc *whole, int first, const char *path, bool keep)
{
    size_t length = strlen(path);
    int kept = first;
    for (int i = first; i < whole->property_count; i++) {
        const char *own = whole->properties[i].info.path;
        bool below = strncmp(own, path, length) == 0 && own[length] == '/';
        if (!below && (keep || strcmp(own, path) != 0))
            whole->properties[kept++] = whole->properties[i];
    }
    whole->property_count = kept;
}

static firn_result put_property(merging *m, int first, const firn_abc *home, int number, int base)
{
    firn_abc *whole = m->whole;
    firn_abc_property_record record = home->properties[number];
    int there = find_property(whole, first, record.info.path);
    if (says(record.info.metadata, "prune")) {
        drop_properties(whole, first, record.info.path, false);
        return FIRN_OK;
    }
    bool compound = record.info.kind == FIRN_ABC_PROPERTY_COMPOUND;
    if (there >= 0) {
        bool both = compound && whole->properties[there].info.kind == FIRN_ABC_PROPERTY_COMPOUND;
        if (!both || says(record.info.metadata, "replace"))
            drop_properties(whole, first, record.info.path, true);
    }
    if (!compound)
        record.info.time_sampling += base;
    record.home = home;
    record.home_property = number;
    if (there >= 0) {
        whole->properties[find_property(whole, first, record.info.path)] = record;
        return FIRN_OK;
    }
    void *properties = whole->properties;
    firn_result result = firn_abc_grow(whole, &m->place, &properties, whole->property_count,
                                       &whole->property_capacity, sizeof *whole->properties);
    whole->properties = properties;
    FIRN_TRY(result);
    whole->properties[whole->property_count++] = record;
    return FIRN_OK;
}

// The compound that holds a property stands before it; of one that was taken away nothing is left.
static void link_properties(firn_abc *whole, int object, int first)
{
    for (int i = first; i < whole->property_count; i++) {
        firn_abc_property *info = &whole->properties[i].info;
        const char *slash = strrchr(info->path, '/');
        info->object = object;
        info->parent = -1;
        for (int k = first; k < whole->property_count && slash != NULL; k++) {
            const char *path = whole->properties[k].info.path;
            size_t length = (size_t)(slash - info->path);
            if (strlen(path) == length && strncmp(path, info->path, length) == 0)
                info->parent = k;
        }
    }
}

static firn_result put_object(merging *m, int number, const int *bases)
{
    firn_abc *whole = m->whole;
    const merged_object *from = &m->objects[number];
    int first = whole->property_count;
    for (int i = 0; i < from->count; i++) {
        const firn_abc *home = whole->layers[from->parts[i].layer];
        const firn_abc_object *info = &home->objects[from->parts[i].object].info;
        for (int k = 0; k < info->property_count; k++)
            FIRN_TRY(put_property(m, first, home, info->first_property + k,
                                  bases[from->parts[i].layer]));
    }
    link_properties(whole, number, first);
    firn_abc_object_record *to = &whole->objects[number];
    *to = (firn_abc_object_record){.info = {.path = from->path,
                                            .name = from->name,
                                            .metadata = from->metadata,
                                            .parent = -1,
                                            .depth = from->depth,
                                            .first_property = first,
                                            .property_count = whole->property_count - first},
                                   .is_instance = from->is_instance};
    to->info.kind = from->depth > 0 ? firn_abc_kind_of(from->metadata) : FIRN_ABC_KIND_GROUP;
    for (int i = number - 1; i >= 0 && to->info.parent < 0; i--)
        if (is_below(from->path, whole->objects[i].info.path))
            to->info.parent = i;
    if (to->info.parent >= 0)
        whole->objects[to->info.parent].info.child_count++;
    whole->object_count = number + 1;
    return FIRN_OK;
}

// --- Times ---------------------------------------------------------------------------------------

static firn_result join_samplings(merging *m, int *bases)
{
    firn_abc *whole = m->whole;
    int count = 0;
    for (int i = 0; i < whole->layer_count; i++) {
        bases[i] = count;
        count += whole->layers[i]->sampling_count;
    }
    whole->samplings = firn_abc_alloc_array((size_t)count + 1, sizeof *whole->samplings);
    if (whole->samplings == NULL)
        return firn_abc_fail_memory(&m->place, (size_t)count * sizeof *whole->samplings);
    // The times themselves stay with the layers.
    for (int i = 0; i < whole->layer_count; i++)
        for (int k = 0; k < whole->layers[i]->sampling_count; k++)
            whole->samplings[whole->sampling_count++] = whole->layers[i]->samplings[k];
    return FIRN_OK;
}

static firn_result merge(merging *m)
{
    firn_abc *whole = m->whole;
    int *bases = firn_abc_alloc_array((size_t)whole->layer_count, sizeof *bases);
    firn_result result =
        bases != NULL ? join_samplings(m, bases) : firn_abc_fail_memory(&m->place, 1);
    for (int i = 0; i < whole->layer_count && result == FIRN_OK; i++)
        for (int k = 0; k < whole->layers[i]->object_count && result == FIRN_OK; k++)
            result = add_object(m, i, k);
    if (result == FIRN_OK) {
        whole->objects = firn_abc_alloc_array((size_t)m->count + 1, sizeof *whole->objects);
        if (whole->objects == NULL)
            result = firn_abc_fail_memory(&m->place, (size_t)m->count * sizeof *whole->objects);
    }
    for (int i = 0; i < m->count && result == FIRN_OK; i++)
        result = put_object(m, i, bases);
    firn_free(bases);
    return result;
}

firn_result firn_abc_open_layers(const char *const *paths, int count, firn_abc **archive,
                                 firn_error *error)
{
    *archive = NULL;
    FIRN_ASSERT(count > 0);
    merging m = {0};
    FIRN_TRY(firn_abc_create(paths[0], &m.whole, error));
    firn_abc *whole = m.whole;
    m.place = (firn_abc_place){.archive = whole, .error = error};
    firn_result result = FIRN_OK;
    whole->layers = firn_abc_alloc_array((size_t)count, sizeof(firn_abc *));
    if (whole->layers == NULL)
        result = firn_abc_fail_memory(&m.place, (size_t)count * sizeof(firn_abc *));
    for (int i = 0; i < count && result == FIRN_OK; i++) {
        result = firn_abc_open(paths[i], &whole->layers[i], error);
        whole->layer_count += result == FIRN_OK;
    }
    if (result == FIRN_OK) {
        whole->metadata = whole->layers[0]->metadata;
        whole->library_version = whole->layers[0]->library_version;
        // The table of contents may take as much as those of the layers together.
        for (int i = 0; i < count; i++)
            whole->source.size += whole->layers[i]->source.size;
        result = merge(&m);
    }
    drop(&m, 0, m.count);
    firn_free(m.objects);
    if (result != FIRN_OK) {
        firn_abc_close(whole);
        return result;
    }
    *archive = whole;
    return FIRN_OK;
}
