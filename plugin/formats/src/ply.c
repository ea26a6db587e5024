#include "firn/polygons.h"

#include "firn/number.h"

#include "firn/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENT_LIMIT = 32, PROPERTY_LIMIT = 128, WORD_SIZE = 64 };

typedef enum encoding { TEXT, LITTLE, BIG } encoding;

typedef struct number_type {
    const char *names[2];
    int size;
    bool is_signed, is_real;
} number_type;

static const number_type types[] = {
    {{"char", "int8"}, 1, true, false},    {{"uchar", "uint8"}, 1, false, false},
    {{"short", "int16"}, 2, true, false},  {{"ushort", "uint16"}, 2, false, false},
    {{"int", "int32"}, 4, true, false},    {{"uint", "uint32"}, 4, false, false},
    {{"float", "float32"}, 4, true, true}, {{"double", "float64"}, 8, true, true},
};

// What a value is for; the rest is passed over.
typedef enum role { NOTHING, POSITION, VELOCITY = POSITION + 3, CORNERS = VELOCITY + 3 } role;

typedef struct property {
    const number_type *type, *count_type; // count_type: of a list, else NULL
    int role;                             // POSITION + axis, ...
    int value;                            // of a vertex, among the named ones; -1: none
} property;

typedef struct element {
    bool is_vertex, is_face;
    size_t count;
    int first, property_count;
} element;

typedef struct reader {
    const unsigned char *at, *end;
    const char *name;
    encoding encoding;
    element elements[ELEMENT_LIMIT];
    int element_count;
    property properties[PROPERTY_LIMIT];
    int property_count;
    firn_polygons *mesh;
    size_t index_room;
    firn_error *error;
} reader;

static firn_result damaged(const reader *r, const char *what)
{
    return firn_fail(r->error, FIRN_ERR_FORMAT, "cannot read '%s': %s", r->name, what);
}

static firn_result no_memory(const reader *r)
{
    return firn_fail(r->error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory", r->name);
}

// --- The header ----------------------------------------------------------------------------------

static bool is_blank(int c) { return c == ' ' || c == '\t'; }

// The next word of the line, cut to its room; empty at the end of the line.
static void next_word(reader *r, char word[WORD_SIZE])
{
    size_t length = 0;
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
    for (; r->at < r->end && !is_blank(*r->at) && *r->at != '\n' && *r->at != '\r'; r->at++)
        if (length + 1 < WORD_SIZE)
            word[length++] = (char)*r->at;
    word[length] = '\0';
}

static bool end_line(reader *r)
{
    while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
        r->at++;
    if (r->at == r->end)
        return false;
    bool both = *r->at == '\r' && r->end - r->at > 1 && r->at[1] == '\n';
    r->at += both ? 2 : 1;
    return true;
}

static const number_type *type_of(const char *word)
{
    for (size_t i = 0; i < FIRN_COUNT(types); i++)
        if (strcmp(word, types[i].names[0]) == 0 || strcmp(word, types[i].names[1]) == 0)
            return &types[i];
    return NULL;
}

static firn_result read_format(reader *r)
{
    static const char *const names[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    char word[WORD_SIZE];
    next_word(r, word);
    for (size_t i = 0; i < FIRN_COUNT(names); i++)
        if (strcmp(word, names[i]) == 0) {
            r->encoding = (encoding)i;
            return FIRN_OK;
        }
    return damaged(r, "its format is not ascii, binary_little_endian or binary_big_endian");
}

static firn_result read_element(reader *r)
{
    char name[WORD_SIZE], word[WORD_SIZE];
    int64_t count = 0;
    next_word(r, name);
    next_word(r, word);
    const char *stop = firn_number_parse_integer(word, word + strlen(word), &count);
    if (r->element_count == ELEMENT_LIMIT)
        return damaged(r, "it has more than 32 kinds of elements");
    if (stop == NULL || *stop != '\0' || count < 0 || count > INT32_MAX)
        return damaged(r, "the number of its elements is not one, or above 2^31");
    r->elements[r->element_count++] = (element){.is_vertex = strcmp(name, "vertex") == 0,
                                                .is_face = strcmp(name, "face") == 0,
                                                .count = (size_t)count,
                                                .first = r->property_count};
    return FIRN_OK;
}

static int role_of(const element *e, const char *name, bool list)
{
    static const struct {
        const char *name;
        int role;
    } roles[] = {{"x", POSITION},
                 {"y", POSITION + 1},
                 {"z", POSITION + 2},
                 {"vx", VELOCITY},
                 {"vy", VELOCITY + 1},
                 {"vz", VELOCITY + 2},
                 {"vertex_indices", CORNERS},
                 {"vertex_index", CORNERS}};
    for (size_t i = 0; i < FIRN_COUNT(roles); i++) {
        bool corners = roles[i].role == CORNERS;
        if (strcmp(name, roles[i].name) == 0 && list == corners &&
            (corners ? e->is_face : e->is_vertex))
            return roles[i].role;
    }
    return NOTHING;
}

static firn_result read_property(reader *r)
{
    char word[WORD_SIZE];
    property p = {0};
    if (r->element_count == 0 || r->property_count == PROPERTY_LIMIT)
        return damaged(r, "a property stands before every element, or there are more than 128");
    element *e = &r->elements[r->element_count - 1];
    next_word(r, word);
    bool list = strcmp(word, "list") == 0;
    if (list) {
        next_word(r, word);
        p.count_type = type_of(word);
        next_word(r, word);
    }
    p.type = type_of(word);
    if (p.type == NULL || (list && (p.count_type == NULL || p.count_type->is_real)))
        return damaged(r, "a property has an unknown type");
    next_word(r, word);
    p.role = role_of(e, word, list);
    p.value = -1;
    if (e->is_vertex && !list && p.role == NOTHING) {
        firn_polygons *mesh = r->mesh;
        p.value = (int)mesh->value_count++;
        snprintf(mesh->values[p.value].name, sizeof mesh->values->name, "%s", word);
    }
    r->properties[r->property_count++] = p;
    e->property_count++;
    return FIRN_OK;
}

static firn_result read_header(reader *r)
{
    char word[WORD_SIZE];
    next_word(r, word);
    if (strcmp(word, "ply") != 0 || !end_line(r))
        return damaged(r, "it does not begin with 'ply'; is it a PLY file?");
    for (;;) {
        next_word(r, word);
        bool ends = strcmp(word, "end_header") == 0;
        if (strcmp(word, "format") == 0)
            FIRN_TRY(read_format(r));
        else if (strcmp(word, "element") == 0)
            FIRN_TRY(read_element(r));
        else if (strcmp(word, "property") == 0)
            FIRN_TRY(read_property(r));
        if (!end_line(r))
            return damaged(r, "its header has no end");
        if (ends)
            return FIRN_OK;
    }
}

// --- Values --------------------------------------------------------------------------------------

static bool read_number(reader *r, double *value)
{
    while (r->at < r->end && (is_blank(*r->at) || *r->at == '\n' || *r->at == '\r'))
        r->at++;
    const char *stop = firn_number_parse((const char *)r->at, (const char *)r->end, value);
    if (stop == NULL)
        return false;
    r->at = (const unsigned char *)stop;
    return true;
}

static double value_of(uint64_t bits, const number_type *type)
{
    if (type->is_real && type->size == 4) {
        uint32_t narrow = (uint32_t)bits;
        float value;
        memcpy(&value, &narrow, sizeof value);
        return (double)value;
    }
    if (type->is_real) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    uint64_t sign = (uint64_t)1 << (8 * type->size - 1);
    if (type->is_signed && (bits & sign) != 0)
        return (double)(int64_t)(bits | ~(2 * sign - 1));
    return (double)bits;
}

static bool read_value(reader *r, const number_type *type, double *value)
{
    if (r->encoding == TEXT)
        return read_number(r, value);
    if (r->end - r->at < type->size)
        return false;
    uint64_t bits = 0;
    for (int i = 0; i < type->size; i++) {
        int byte = r->encoding == LITTLE ? i : type->size - 1 - i;
        bits |= (uint64_t)r->at[i] << (8 * byte);
    }
    r->at += type->size;
    *value = value_of(bits, type);
    return true;
}

static firn_result add_corner(reader *r, double index)
{
    firn_polygons *mesh = r->mesh;
    if (!(index >= 0.0 && index < 2147483647.0) || index != floor(index))
        return damaged(r, "a corner of a face is no vertex number");
    if (mesh->index_count == r->index_room) {
        size_t bigger = 2 * r->index_room + 1024;
        int32_t *moved = firn_alloc(bigger * sizeof *moved);
        if (moved == NULL)
            return no_memory(r);
        if (mesh->index_count > 0)
            memcpy(moved, mesh->face_indices, mesh->index_count * sizeof *moved);
        firn_free(mesh->face_indices);
        mesh->face_indices = moved;
        r->index_room = bigger;
    }
    mesh->face_indices[mesh->index_count++] = (int32_t)index;
    return FIRN_OK;
}

static firn_result read_list(reader *r, const property *p, size_t row)
{
    double count = 0.0, value = 0.0;
    if (!read_value(r, p->count_type, &count) || !(count >= 0.0 && count < 1e9))
        return damaged(r, "a list is cut short or has no length");
    for (double i = 0.0; i < count; i += 1.0) {
        if (!read_value(r, p->type, &value))
            return damaged(r, "a list is cut short");
        if (p->role == CORNERS)
            FIRN_TRY(add_corner(r, value));
    }
    if (p->role == CORNERS)
        r->mesh->face_counts[row] = (int32_t)count;
    return FIRN_OK;
}

static firn_result read_scalar(reader *r, const property *p, size_t row)
{
    double value = 0.0;
    if (!read_value(r, p->type, &value))
        return damaged(r, "it ends in the middle of its values");
    if (p->value >= 0)
        r->mesh->values[p->value].values[row] = (float)value;
    firn_vec3 *vectors = p->role >= VELOCITY ? r->mesh->velocities : r->mesh->positions;
    int axis = p->role >= VELOCITY ? p->role - VELOCITY : p->role - POSITION;
    if (p->role == NOTHING || p->role == CORNERS || vectors == NULL)
        return FIRN_OK;
    float *number = axis == 0 ? &vectors[row].x : axis == 1 ? &vectors[row].y : &vectors[row].z;
    *number = (float)value;
    if (!isfinite(*number))
        return damaged(r, "a coordinate or velocity is not finite");
    return FIRN_OK;
}

// Every row takes at least a byte, so that a small file cannot ask for much memory.
static firn_result claim(reader *r, const element *e)
{
    firn_polygons *mesh = r->mesh;
    bool has[CORNERS + 1] = {false};
    for (int i = 0; i < e->property_count; i++)
        has[r->properties[e->first + i].role] = true;
    if (e->property_count > 0 && e->count > (size_t)(r->end - r->at))
        return damaged(r, "it has fewer bytes than elements");
    if (e->is_vertex && mesh->positions == NULL) {
        if (!has[POSITION] || !has[POSITION + 1] || !has[POSITION + 2])
            return damaged(r, "its vertices have no x, y and z");
        mesh->position_count = e->count;
        mesh->positions = firn_alloc_zero((e->count + 1) * sizeof *mesh->positions);
        bool moves = has[VELOCITY] && has[VELOCITY + 1] && has[VELOCITY + 2];
        if (moves)
            mesh->velocities = firn_alloc_zero((e->count + 1) * sizeof *mesh->velocities);
        if (mesh->positions == NULL || (moves && mesh->velocities == NULL))
            return no_memory(r);
        for (size_t i = 0; i < mesh->value_count; i++) {
            mesh->values[i].values = firn_alloc_zero((e->count + 1) * sizeof(float));
            if (mesh->values[i].values == NULL)
                return no_memory(r);
        }
    } else if (e->is_face && has[CORNERS] && mesh->face_counts == NULL) {
        mesh->face_count = e->count;
        mesh->face_counts = firn_alloc_zero((e->count + 1) * sizeof *mesh->face_counts);
        if (mesh->face_counts == NULL)
            return no_memory(r);
    } else if (e->is_vertex || (e->is_face && has[CORNERS])) {
        return damaged(r, "it has vertices or faces twice");
    }
    return FIRN_OK;
}

static firn_result read_elements(reader *r)
{
    for (int k = 0; k < r->element_count; k++) {
        const element *e = &r->elements[k];
        FIRN_TRY(claim(r, e));
        for (size_t row = 0; row < e->count && e->property_count > 0; row++)
            for (int i = 0; i < e->property_count; i++) {
                const property *p = &r->properties[e->first + i];
                FIRN_TRY(p->count_type != NULL ? read_list(r, p, row) : read_scalar(r, p, row));
            }
    }
    for (size_t i = 0; i < r->mesh->index_count; i++)
        if ((size_t)r->mesh->face_indices[i] >= r->mesh->position_count)
            return damaged(r, "a face uses a vertex that does not exist");
    return r->mesh->positions != NULL ? FIRN_OK : damaged(r, "it has no vertices");
}

firn_result firn_ply_read_memory(const void *bytes, size_t size, const char *name,
                                 firn_polygons *mesh, firn_error *error)
{
    *mesh = (firn_polygons){0};
    reader r = {.at = bytes,
                .end = (const unsigned char *)bytes + size,
                .name = name,
                .mesh = mesh,
                .error = error};
    mesh->values = firn_alloc_zero(PROPERTY_LIMIT * sizeof *mesh->values);
    firn_result result = mesh->values != NULL ? read_header(&r) : no_memory(&r);
    if (result == FIRN_OK)
        result = read_elements(&r);
    if (result != FIRN_OK)
        firn_polygons_free(mesh);
    return result;
}

firn_result firn_ply_read(const char *path, firn_polygons *mesh, firn_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    *mesh = (firn_polygons){0};
    FIRN_TRY(firn_file_read(path, SIZE_MAX, &bytes, &size, error));
    firn_result result = firn_ply_read_memory(bytes, size, path, mesh, error);
    firn_free(bytes);
    return result;
}
