#include "archive.h"

#include "firn/file.h"

#include <string.h>

// An object whose header has been read and whose group has not.
typedef struct pending {
    const char *name;
    const char *metadata;
    uint64_t group;
    int parent;
} pending;

typedef struct walk {
    firn_abc *archive;
    pending *stack; // what is still to be visited, the next on top
    int count, capacity;
} walk;

firn_abc_kind firn_abc_kind_of(const char *metadata)
{
    static const struct {
        const char *schema;
        firn_abc_kind kind;
    } kinds[] = {
        {OGAWA_SCHEMA_XFORM, FIRN_ABC_KIND_XFORM},
        {OGAWA_SCHEMA_POLYMESH, FIRN_ABC_KIND_POLYMESH},
        {OGAWA_SCHEMA_SUBD, FIRN_ABC_KIND_SUBD},
        {OGAWA_SCHEMA_POINTS, FIRN_ABC_KIND_POINTS},
        {OGAWA_SCHEMA_FACESET, FIRN_ABC_KIND_FACESET},
        {OGAWA_SCHEMA_CAMERA, FIRN_ABC_KIND_CAMERA},
    };
    char title[64];
    if (!firn_abc_metadata_value(metadata, "schemaObjTitle", title, sizeof title) &&
        !firn_abc_metadata_value(metadata, "schema", title, sizeof title))
        return FIRN_ABC_KIND_GROUP;
    title[strcspn(title, ":")] = '\0';
    for (size_t i = 0; i < FIRN_COUNT(kinds); i++)
        if (strcmp(title, kinds[i].schema) == 0)
            return kinds[i].kind;
    return FIRN_ABC_KIND_OTHER;
}

static firn_result push(walk *w, const firn_abc_place *place, pending next)
{
    void *stack = w->stack;
    firn_result result =
        firn_abc_grow(w->archive, place, &stack, w->count, &w->capacity, sizeof *w->stack);
    w->stack = stack;
    if (result == FIRN_OK)
        w->stack[w->count++] = next;
    return result;
}

static firn_result read_child_header(walk *w, const firn_abc_place *place, ogawa_cursor *cursor,
                                     pending *child)
{
    uint32_t name_length, index, metadata_length = 0;
    const unsigned char *name, *metadata = NULL;
    if (!firn_ogawa_u32(cursor, &name_length) || !firn_ogawa_take(cursor, name_length, &name) ||
        !firn_ogawa_u8(cursor, &index) || !firn_abc_is_name(name, name_length))
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the list of its children is damaged");
    if (index == OGAWA_METADATA_INLINE && (!firn_ogawa_u32(cursor, &metadata_length) ||
                                           !firn_ogawa_take(cursor, metadata_length, &metadata)))
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the metadata of a child is damaged");
    FIRN_TRY(firn_abc_text(w->archive, place, NULL, name, name_length, &child->name));
    return firn_abc_header_metadata(w->archive, place, index, metadata, metadata_length,
                                    &child->metadata);
}

// Puts the children of an object on the stack, the first on top.
static firn_result push_children(walk *w, const firn_abc_place *place, int object, uint64_t group,
                                 uint64_t child_words, ogawa_cursor cursor)
{
    int bottom = w->count;
    uint64_t found = 0;
    while (cursor.at < cursor.end) {
        pending child = {.parent = object};
        FIRN_TRY(read_child_header(w, place, &cursor, &child));
        if (found == child_words)
            return firn_abc_fail(place, FIRN_ERR_FORMAT, "it names more children than it has");
        FIRN_TRY(firn_abc_child(place, group, 1 + found, &child.group));
        FIRN_TRY(push(w, place, child));
        found++;
    }
    for (int low = bottom, high = w->count - 1; low < high; low++, high--) {
        pending swapped = w->stack[low];
        w->stack[low] = w->stack[high];
        w->stack[high] = swapped;
    }
    w->archive->objects[object].info.child_count = w->count - bottom;
    return FIRN_OK;
}

static firn_result load_children(walk *w, const firn_abc_place *place, int object, uint64_t group,
                                 uint64_t count)
{
    uint64_t headers = 0;
    FIRN_TRY(firn_abc_child(place, group, count - 1, &headers));
    if ((headers & OGAWA_DATA_BIT) == 0)
        return FIRN_OK;
    unsigned char *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_abc_data_load(place, headers, &bytes, &size));
    firn_result result = FIRN_OK;
    if (size < OGAWA_HASHES_SIZE) {
        result = firn_abc_fail(place, FIRN_ERR_FORMAT, "the list of its children is too short");
    } else {
        ogawa_cursor cursor = {bytes, bytes + size - OGAWA_HASHES_SIZE};
        // Between the properties in front and the headers at the end.
        uint64_t child_words = count >= 2 ? count - 2 : 0;
        result = push_children(w, place, object, group, child_words, cursor);
    }
    firn_free(bytes);
    return result;
}

static firn_result check_path(const firn_abc *archive, const firn_abc_place *place,
                              const pending *next)
{
    int depth = 0;
    for (int i = next->parent; i >= 0; i = archive->objects[i].info.parent, depth++)
        if (next->group != 0 && archive->objects[i].group == next->group)
            return firn_abc_fail(place, FIRN_ERR_FORMAT, "its child '%.100s' contains itself",
                                 next->name);
    if (depth > FIRN_ABC_MAX_DEPTH)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "objects are nested more than %d deep",
                             FIRN_ABC_MAX_DEPTH);
    return FIRN_OK;
}

static firn_result add_object(firn_abc *archive, const firn_abc_place *place, const pending *next)
{
    void *objects = archive->objects;
    firn_result result = firn_abc_grow(archive, place, &objects, archive->object_count,
                                       &archive->object_capacity, sizeof *archive->objects);
    archive->objects = objects;
    FIRN_TRY(result);
    firn_abc_object info = {.path = "/",
                            .name = next->name,
                            .metadata = next->metadata,
                            .parent = next->parent,
                            .first_property = archive->property_count};
    if (next->parent >= 0) {
        const firn_abc_object *parent = &archive->objects[next->parent].info;
        info.depth = parent->depth + 1;
        info.kind = firn_abc_kind_of(next->metadata);
        FIRN_TRY(firn_abc_text(archive, place, next->parent > 0 ? parent->path : "",
                               (const unsigned char *)next->name, strlen(next->name), &info.path));
    }
    char instance[4];
    firn_abc_metadata_value(next->metadata, "isInstance", instance, sizeof instance);
    archive->objects[archive->object_count++] = (firn_abc_object_record){
        .info = info, .group = next->group, .is_instance = strcmp(instance, "1") == 0};
    return FIRN_OK;
}

static firn_result visit(walk *w, const pending *next, firn_error *error)
{
    firn_abc *archive = w->archive;
    firn_abc_place parent = firn_abc_place_of(archive, next->parent, -1, error);
    FIRN_TRY(check_path(archive, &parent, next));
    FIRN_TRY(add_object(archive, &parent, next));

    int object = archive->object_count - 1;
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    uint64_t count = 0, properties = 0;
    FIRN_TRY(firn_abc_group(&place, next->group, &count));
    if (count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_abc_child(&place, next->group, 0, &properties));
    if ((properties & OGAWA_DATA_BIT) == 0)
        FIRN_TRY(firn_abc_load_properties(archive, object, properties, error));
    archive->objects[object].info.property_count =
        archive->property_count - archive->objects[object].info.first_property;
    return load_children(w, &place, object, next->group, count);
}

firn_result firn_abc_load_objects(firn_abc *archive, const firn_abc_place *place, uint64_t word)
{
    walk w = {.archive = archive};
    pending root = {.name = "", .metadata = archive->metadata, .group = word, .parent = -1};
    firn_result result = push(&w, place, root);
    while (result == FIRN_OK && w.count > 0) {
        pending next = w.stack[--w.count];
        result = visit(&w, &next, place->error);
    }
    archive->index_bytes -= (uint64_t)w.capacity * sizeof *w.stack;
    firn_free(w.stack);
    return result;
}

int firn_abc_object_count(const firn_abc *archive) { return archive->object_count; }

const firn_abc_object *firn_abc_object_at(const firn_abc *archive, int object)
{
    FIRN_ASSERT(object >= 0 && object < archive->object_count);
    return &archive->objects[object].info;
}

int firn_abc_object_find(const firn_abc *archive, const char *path)
{
    for (int i = 0; i < archive->object_count; i++)
        if (strcmp(archive->objects[i].info.path, path) == 0)
            return i;
    return -1;
}

bool firn_abc_object_matches(const firn_abc *archive, int object, const char *pattern)
{
    return firn_path_matches(pattern, archive->objects[object].info.path);
}
