#include "firn/polygons.h"

#include "firn/number.h"

#include "firn/file.h"

#include <string.h>

enum { HEADER_SIZE = 84, TRIANGLE_SIZE = 50 };

void firn_polygons_free(firn_polygons *mesh)
{
    for (size_t i = 0; i < mesh->value_count; i++)
        firn_free(mesh->values[i].values);
    firn_free(mesh->values);
    firn_free(mesh->positions);
    firn_free(mesh->velocities);
    firn_free(mesh->face_counts);
    firn_free(mesh->face_indices);
    memset(mesh, 0, sizeof *mesh);
}

// Claims the arrays of triangles whose vertices are their own.
static firn_result claim(firn_polygons *mesh, size_t triangles, const char *name, firn_error *error)
{
    if (triangles > INT32_MAX / 3)
        return firn_fail(error, FIRN_ERR_FORMAT, "cannot read '%s': it has %zu triangles", name,
                         triangles);
    size_t corners = 3 * triangles;
    mesh->positions = firn_alloc((corners + 1) * sizeof *mesh->positions);
    mesh->face_counts = firn_alloc((triangles + 1) * sizeof *mesh->face_counts);
    mesh->face_indices = firn_alloc((corners + 1) * sizeof *mesh->face_indices);
    if (mesh->positions == NULL || mesh->face_counts == NULL || mesh->face_indices == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory", name);
    mesh->position_count = mesh->index_count = corners;
    mesh->face_count = triangles;
    for (size_t i = 0; i < corners; i++)
        mesh->face_indices[i] = (int32_t)i;
    for (size_t i = 0; i < triangles; i++)
        mesh->face_counts[i] = 3;
    return FIRN_OK;
}

static firn_result check_finite(const firn_polygons *mesh, const char *name, firn_error *error)
{
    for (size_t i = 0; i < mesh->position_count; i++)
        if (!firn_vec_is_finite(mesh->positions[i]))
            return firn_fail(error, FIRN_ERR_FORMAT,
                             "cannot read '%s': a corner of triangle %zu is not finite", name,
                             i / 3);
    return FIRN_OK;
}

static uint32_t load_u32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static float load_float(const unsigned char *at)
{
    uint32_t bits = load_u32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static firn_result read_binary(const unsigned char *bytes, size_t triangles, const char *name,
                               firn_polygons *mesh, firn_error *error)
{
    FIRN_TRY(claim(mesh, triangles, name, error));
    for (size_t i = 0; i < 3 * triangles; i++) {
        // A normal, three corners and two bytes of color.
        const unsigned char *at = bytes + HEADER_SIZE + i / 3 * TRIANGLE_SIZE + 12 + i % 3 * 12;
        mesh->positions[i] = firn_vec(load_float(at), load_float(at + 4), load_float(at + 8));
    }
    return check_finite(mesh, name, error);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The next word "vertex"; NULL when there is none left.
static const char *find_vertex(const char *at, const char *end)
{
    for (; end - at > 6; at++)
        if (memcmp(at, "vertex", 6) == 0 && is_blank(at[6]))
            return at + 6;
    return NULL;
}

static size_t count_vertices(const char *at, const char *end)
{
    size_t count = 0;
    while ((at = find_vertex(at, end)) != NULL)
        count++;
    return count;
}

static firn_result read_text(const char *at, const char *end, const char *name, firn_polygons *mesh,
                             firn_error *error)
{
    size_t count = count_vertices(at, end);
    if (count == 0 || count % 3 != 0)
        return firn_fail(
            error, FIRN_ERR_FORMAT,
            "cannot read '%s': it has %zu corners of triangles; is it an STL file, and "
            "whole?",
            name, count);
    FIRN_TRY(claim(mesh, count / 3, name, error));
    for (size_t i = 0; i < count; i++) {
        float value[3];
        at = find_vertex(at, end);
        for (int axis = 0; axis < 3; axis++) {
            while (at < end && is_blank(*at))
                at++;
            const char *stop = firn_number_parse_float(at, end, &value[axis]);
            if (stop == NULL)
                return firn_fail(error, FIRN_ERR_FORMAT,
                                 "cannot read '%s': a corner of triangle %zu is not a number", name,
                                 i / 3);
            at = stop;
        }
        mesh->positions[i] = firn_vec(value[0], value[1], value[2]);
    }
    return check_finite(mesh, name, error);
}

firn_result firn_stl_read_memory(const void *bytes, size_t size, const char *name,
                                 firn_polygons *mesh, firn_error *error)
{
    *mesh = (firn_polygons){0};
    // The header of a binary file may begin with "solid" too: its size tells.
    const unsigned char *at = bytes;
    uint64_t triangles = size >= HEADER_SIZE ? load_u32(at + 80) : 0;
    uint64_t whole = HEADER_SIZE + triangles * TRIANGLE_SIZE;
    bool text = size >= 5 && memcmp(bytes, "solid", 5) == 0;
    firn_result result;
    if (size >= HEADER_SIZE && whole == size)
        result = read_binary(at, (size_t)triangles, name, mesh, error);
    else if (text)
        result = read_text(bytes, (const char *)bytes + size, name, mesh, error);
    else
        result = firn_fail(error, FIRN_ERR_FORMAT,
                           "cannot read '%s': it has %zu bytes, but its %llu triangles take %llu; "
                           "is it an STL file, and whole?",
                           name, size, (unsigned long long)triangles, (unsigned long long)whole);
    if (result != FIRN_OK)
        firn_polygons_free(mesh);
    return result;
}

firn_result firn_stl_read(const char *path, firn_polygons *mesh, firn_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    *mesh = (firn_polygons){0};
    FIRN_TRY(firn_file_read(path, SIZE_MAX, &bytes, &size, error));
    firn_result result = firn_stl_read_memory(bytes, size, path, mesh, error);
    firn_free(bytes);
    return result;
}
