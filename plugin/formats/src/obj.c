#include "firn/obj.h"

#include "firn/number.h"

#include "firn/file.h"

#include <math.h>
#include <string.h>

struct firn_obj {
    firn_obj_mesh mesh;
    firn_vec3 *positions;
    int32_t *face_counts, *face_indices;
    size_t position_room, face_room, index_room;
};

typedef struct reader {
    const char *at, *end;
    const char *name;
    size_t line;
    firn_obj *obj;
    int64_t largest_index; // of a corner, and where it stands: vertices may follow their use
    size_t largest_line;
    firn_error *error;
} reader;

static firn_result damaged(const reader *r, const char *what)
{
    return firn_fail(r->error, FIRN_ERR_FORMAT, "cannot read '%s': line %zu: %s", r->name, r->line,
                     what);
}

// The array, moved to twice the room when it is full; NULL after a failure, reported.
static void *grow(reader *r, void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    size_t bigger = 2 * *room + 1024;
    void *memory = firn_alloc(bigger * size);
    if (memory == NULL) {
        firn_fail(r->error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory", r->name);
        return NULL;
    }
    if (count > 0)
        memcpy(memory, array, count * size);
    firn_free(array);
    *room = bigger;
    return memory;
}

// Bytes of a line end at p: 0 when there is none.
static size_t line_end(const char *p, const char *end)
{
    if (p == end)
        return 0;
    if (*p == '\r')
        return end - p > 1 && p[1] == '\n' ? 2 : 1;
    return *p == '\n';
}

// Passes over blanks and continued line ends.
static void skip_blanks(reader *r)
{
    while (r->at < r->end) {
        if (*r->at == ' ' || *r->at == '\t') {
            r->at++;
        } else if (*r->at == '\\' && line_end(r->at + 1, r->end) > 0) {
            r->at += 1 + line_end(r->at + 1, r->end);
            r->line++;
        } else {
            return;
        }
    }
}

static bool at_line_end(const reader *r)
{
    return r->at == r->end || *r->at == '\n' || *r->at == '\r' || *r->at == '#';
}

static bool at_gap(const reader *r)
{
    return at_line_end(r) || *r->at == ' ' || *r->at == '\t' || *r->at == '\\';
}

static void skip_line(reader *r)
{
    while (r->at < r->end) {
        size_t length = line_end(r->at, r->end);
        if (length > 0) {
            r->at += length;
            r->line++;
            return;
        }
        if (*r->at == '\\' && line_end(r->at + 1, r->end) > 0)
            skip_blanks(r);
        else
            r->at++;
    }
}

static firn_result read_position(reader *r)
{
    float value[3];
    for (int i = 0; i < 3; i++) {
        skip_blanks(r);
        if (at_line_end(r))
            return damaged(r, "a vertex needs three coordinates");
        const char *stop = firn_number_parse_float(r->at, r->end, &value[i]);
        if (stop == NULL)
            return damaged(r, "a coordinate is not a number");
        r->at = stop;
        if (!at_gap(r))
            return damaged(r, "a coordinate is not a number");
        if (!isfinite(value[i]))
            return damaged(r, "a coordinate is too large");
    }
    firn_obj *obj = r->obj;
    firn_obj_mesh *mesh = &obj->mesh;
    if (mesh->position_count == INT32_MAX)
        return damaged(r, "there are more vertices than can be numbered");
    firn_vec3 *positions =
        grow(r, obj->positions, mesh->position_count, &obj->position_room, sizeof *positions);
    if (positions == NULL)
        return FIRN_ERR_MEMORY;
    obj->positions = positions;
    firn_vec3 p = firn_vec(value[0], value[1], value[2]);
    if (mesh->position_count == 0)
        mesh->lower = mesh->upper = p;
    mesh->lower =
        firn_vec(fminf(mesh->lower.x, p.x), fminf(mesh->lower.y, p.y), fminf(mesh->lower.z, p.z));
    mesh->upper =
        firn_vec(fmaxf(mesh->upper.x, p.x), fmaxf(mesh->upper.y, p.y), fmaxf(mesh->upper.z, p.z));
    obj->positions[mesh->position_count++] = p;
    return FIRN_OK;
}

// A corner is v, v/vt, v//vn or v/vt/vn; only v counts.
static firn_result read_corner(reader *r)
{
    int64_t index;
    const char *stop = firn_number_parse_integer(r->at, r->end, &index);
    if (stop == NULL)
        return damaged(r, "a vertex number of a face is not a number");
    r->at = stop;
    if (!at_gap(r) && *r->at != '/')
        return damaged(r, "a vertex number of a face is not a number");
    while (!at_gap(r))
        r->at++;
    int64_t known = (int64_t)r->obj->mesh.position_count;
    int64_t number = index < 0 ? known + index : index - 1;
    if (index == 0 || number < 0 || number >= INT32_MAX)
        return damaged(r, "a face uses a vertex that does not exist");
    if (number > r->largest_index) {
        r->largest_index = number;
        r->largest_line = r->line;
    }
    firn_obj *obj = r->obj;
    int32_t *indices =
        grow(r, obj->face_indices, obj->mesh.index_count, &obj->index_room, sizeof *indices);
    if (indices == NULL)
        return FIRN_ERR_MEMORY;
    obj->face_indices = indices;
    indices[obj->mesh.index_count++] = (int32_t)number;
    return FIRN_OK;
}

static firn_result read_face(reader *r)
{
    firn_obj_mesh *mesh = &r->obj->mesh;
    size_t first = mesh->index_count;
    for (;;) {
        skip_blanks(r);
        if (at_line_end(r))
            break;
        FIRN_TRY(read_corner(r));
    }
    size_t corners = mesh->index_count - first;
    if (corners < 3)
        return damaged(r, "a face needs at least three corners");
    if (corners > INT32_MAX)
        return damaged(r, "a face has too many corners");
    int32_t *counts =
        grow(r, r->obj->face_counts, mesh->face_count, &r->obj->face_room, sizeof *counts);
    if (counts == NULL)
        return FIRN_ERR_MEMORY;
    r->obj->face_counts = counts;
    counts[mesh->face_count++] = (int32_t)corners;
    mesh->triangle_count += corners == 3;
    mesh->quad_count += corners == 4;
    return FIRN_OK;
}

static firn_result read_lines(reader *r)
{
    if (r->end - r->at >= 3 && memcmp(r->at, "\xEF\xBB\xBF", 3) == 0)
        r->at += 3; // a byte order mark
    while (r->at < r->end) {
        skip_blanks(r);
        bool blank_follows = r->end - r->at > 1 && (r->at[1] == ' ' || r->at[1] == '\t');
        char keyword = blank_follows ? *r->at : '\0';
        r->at += keyword == 'v' || keyword == 'f';
        if (keyword == 'v')
            FIRN_TRY(read_position(r));
        else if (keyword == 'f')
            FIRN_TRY(read_face(r));
        skip_line(r);
    }
    firn_obj_mesh *mesh = &r->obj->mesh;
    if (r->largest_index >= (int64_t)mesh->position_count) {
        r->line = r->largest_line;
        return damaged(r, "a face uses a vertex that does not exist");
    }
    if (mesh->position_count == 0)
        return firn_fail(r->error, FIRN_ERR_FORMAT,
                         "cannot read '%s': it has no vertices; is it an OBJ file?", r->name);
    mesh->positions = r->obj->positions;
    mesh->face_counts = r->obj->face_counts;
    mesh->face_indices = r->obj->face_indices;
    return FIRN_OK;
}

firn_result firn_obj_read_memory(const char *text, size_t size, const char *name, firn_obj **out,
                                 firn_error *error)
{
    *out = NULL;
    firn_obj *obj = firn_alloc_zero(sizeof *obj);
    if (obj == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory", name);
    reader r = {.at = text,
                .end = text + size,
                .name = name,
                .line = 1,
                .obj = obj,
                .largest_index = -1,
                .error = error};
    firn_result result = read_lines(&r);
    if (result != FIRN_OK) {
        firn_obj_destroy(obj);
        return result;
    }
    *out = obj;
    return FIRN_OK;
}

firn_result firn_obj_read(const char *path, firn_obj **obj, firn_error *error)
{
    void *text = NULL;
    size_t size = 0;
    *obj = NULL;
    FIRN_TRY(firn_file_read(path, SIZE_MAX, &text, &size, error));
    firn_result result = firn_obj_read_memory(text, size, path, obj, error);
    firn_free(text);
    return result;
}

const firn_obj_mesh *firn_obj_view(const firn_obj *obj) { return &obj->mesh; }

void firn_obj_destroy(firn_obj *obj)
{
    if (obj == NULL)
        return;
    firn_free(obj->positions);
    firn_free(obj->face_counts);
    firn_free(obj->face_indices);
    firn_free(obj);
}
