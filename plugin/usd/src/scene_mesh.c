// Meshes of a scene as one in world space.
#include "scene.h"

#include "firn/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool firn_usd_is_mesh(const firn_usd_scene *scene, int prim)
{
    if (scene->prims[prim].type[0] != '\0')
        return firn_usd_is_type(scene, prim, "Mesh") && firn_usd_prim_counts(scene, prim);
    return firn_usd_find_attribute(scene, prim, "faceVertexCounts").doc != NULL &&
           firn_usd_prim_counts(scene, prim);
}

bool firn_usd_is_points(const firn_usd_scene *scene, int prim)
{
    if (scene->prims[prim].type[0] != '\0')
        return firn_usd_is_type(scene, prim, "Points") && firn_usd_prim_counts(scene, prim);
    return firn_usd_find_attribute(scene, prim, "points").doc != NULL &&
           firn_usd_find_attribute(scene, prim, "faceVertexCounts").doc == NULL &&
           firn_usd_prim_counts(scene, prim);
}

// --- Faces that are taken ------------------------------------------------------------------------

static bool is_subset(const firn_usd_scene *scene, int prim)
{
    return firn_usd_is_type(scene, prim, "GeomSubset");
}

bool firn_usd_mesh_selected(const firn_usd_scene *scene, int prim, const char *pattern)
{
    if (!firn_usd_is_mesh(scene, prim))
        return false;
    if (firn_path_matches(pattern, scene->prims[prim].path))
        return true;
    for (int i = scene->prims[prim].first_child; i >= 0; i = scene->prims[i].next)
        if (is_subset(scene, i) && firn_path_matches(pattern, scene->prims[i].path))
            return true;
    return false;
}

static firn_result mark(const firn_usd_scene *scene, int subset, double code, size_t face_count,
                        bool value, bool *kept, firn_error *error)
{
    firn_usd_numbers faces;
    FIRN_TRY(firn_usd_numbers_at(scene, subset, "indices", code, FIRN_USD_I32, &faces, error));
    const int32_t *face = faces.data;
    firn_result result = FIRN_OK;
    for (size_t i = 0; i < faces.count && result == FIRN_OK; i++) {
        if (face[i] < 0 || (size_t)face[i] >= face_count)
            result = firn_usd_fail_prim(scene, subset,
                                        "it names a face that its mesh does not have", error);
        else
            kept[face[i]] = value;
    }
    firn_free(faces.data);
    return result;
}

firn_result firn_usd_kept_faces(const firn_usd_scene *scene, int prim, const char *pattern,
                                double code, size_t face_count, bool **kept, firn_error *error)
{
    *kept = NULL;
    bool whole = firn_path_matches(pattern, scene->prims[prim].path);
    for (int i = scene->prims[prim].first_child; i >= 0; i = scene->prims[i].next) {
        // Of a whole mesh the subsets that are excluded count, else those that are selected.
        if (!is_subset(scene, i) || firn_path_matches(pattern, scene->prims[i].path) == whole)
            continue;
        if (*kept == NULL) {
            *kept = firn_alloc(face_count + 1);
            if (*kept == NULL)
                return firn_usd_fail_memory(scene, error);
            memset(*kept, whole ? 1 : 0, face_count);
        }
        firn_result result = mark(scene, i, code, face_count, !whole, *kept, error);
        if (result != FIRN_OK) {
            firn_free(*kept);
            *kept = NULL;
            return result;
        }
    }
    return FIRN_OK;
}

// --- One mesh ------------------------------------------------------------------------------------

/// Arrays of one prim.
typedef struct part {
    firn_usd_numbers position, velocity, face_size, corner;
} part;

static void release(part *p)
{
    firn_free(p->position.data);
    firn_free(p->velocity.data);
    firn_free(p->face_size.data);
    firn_free(p->corner.data);
    memset(p, 0, sizeof *p);
}

static firn_result check(const firn_usd_scene *scene, int prim, part *p, firn_error *error)
{
    const int32_t *size = p->face_size.data, *corner = p->corner.data;
    size_t sum = 0;
    if (p->position.count > 0 && p->position.tuple != 3)
        return firn_usd_fail_prim(scene, prim, "its points are no vectors", error);
    for (size_t f = 0; f < p->face_size.count; f++) {
        if (size[f] < 0 || (size_t)size[f] > p->corner.count - sum)
            return firn_usd_fail_prim(scene, prim, "its faces have more corners than it lists",
                                      error);
        sum += (size_t)size[f];
    }
    if (sum != p->corner.count || p->face_size.tuple != 1 || p->corner.tuple != 1)
        return firn_usd_fail_prim(scene, prim, "it lists more corners than its faces have", error);
    for (size_t i = 0; i < sum; i++)
        if (corner[i] < 0 || (size_t)corner[i] >= p->position.count)
            return firn_usd_fail_prim(scene, prim, "a face names a point that is not there", error);
    const float *x = p->position.data;
    for (size_t i = 0; i < 3 * p->position.count; i++)
        if (!isfinite(x[i]))
            return firn_usd_fail_prim(scene, prim, "its points are not finite", error);
    return FIRN_OK;
}

// Where samples have different points the one before moves on by its velocities, as USD says.
static firn_result move_on(const firn_usd_scene *scene, int prim, double code, part *p,
                           firn_error *error)
{
    firn_usd_attribute_view view = firn_usd_find_attribute(scene, prim, "points");
    firn_usd_bracket bracket = firn_usd_bracket_at(&view, code);
    if (bracket.share == 0.0 || p->velocity.count != p->position.count)
        return FIRN_OK;
    firn_usd_numbers after;
    FIRN_TRY(firn_usd_doc_numbers(view.doc, bracket.upper, FIRN_USD_F32, &after, error));
    bool differ = after.count != p->position.count;
    firn_free(after.data);
    float seconds = (float)(bracket.since / scene->codes_per_second);
    float *x = p->position.data;
    const float *v = p->velocity.data;
    for (size_t i = 0; i < 3 * p->position.count && differ; i++)
        x[i] += seconds * v[i];
    return FIRN_OK;
}

static firn_result read_part(const firn_usd_scene *scene, int prim, double code, part *p,
                             firn_error *error)
{
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "points", code, FIRN_USD_F32, &p->position, error));
    FIRN_TRY(
        firn_usd_numbers_at(scene, prim, "velocities", code, FIRN_USD_F32, &p->velocity, error));
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "faceVertexCounts", code, FIRN_USD_I32, &p->face_size,
                                 error));
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "faceVertexIndices", code, FIRN_USD_I32, &p->corner,
                                 error));
    FIRN_TRY(check(scene, prim, p, error));
    if (p->velocity.count != p->position.count || p->velocity.tuple != 3)
        p->velocity.count = 0;
    return move_on(scene, prim, code, p, error);
}

// Into the world, with what moves the prim added to its velocities.
static firn_result bring_to_world(const firn_usd_scene *scene, int prim, double code, part *p,
                                  bool *mirrored, firn_error *error)
{
    firn_usd_matrix world, rate;
    bool skinned = false, moves;
    firn_vec3 *position = p->position.data, *velocity = p->velocity.data;
    *mirrored = false;
    bool shaped = false;
    FIRN_TRY(firn_usd_blend(scene, prim, code, p->position.count, position, &shaped, error));
    FIRN_TRY(firn_usd_skin(scene, prim, code, p->position.count, position, &skinned, error));
    if (skinned || shaped)
        p->velocity.count = 0; // those of the unbent mesh
    if (!skinned) {
        FIRN_TRY(firn_usd_world_matrix(scene, prim, code, &world, error));
        FIRN_TRY(firn_usd_world_rate(scene, prim, code, &rate, &moves, error));
        *mirrored = firn_usd_matrix_det(&world) < 0.0;
        for (size_t i = 0; i < p->velocity.count; i++)
            velocity[i] = firn_add(firn_usd_matrix_vector(&world, velocity[i]),
                                   firn_usd_matrix_point(&rate, position[i]));
        for (size_t i = 0; i < p->position.count; i++)
            position[i] = firn_usd_matrix_point(&world, position[i]);
    }
    for (size_t i = 0; i < p->position.count; i++)
        if (!firn_vec_is_finite(position[i]))
            return firn_usd_fail_prim(scene, prim, "its points are not finite in the world", error);
    return FIRN_OK;
}

// --- All of them ---------------------------------------------------------------------------------

typedef struct totals {
    size_t vertex_room, face_room, corner_room, cage_room;
} totals;

static bool extend(void **rows, size_t *room, size_t wanted, size_t size)
{
    if (wanted <= *room)
        return true;
    size_t larger = wanted + wanted / 2 + 16;
    void *moved = larger < SIZE_MAX / size ? firn_alloc_zero(larger * size) : NULL;
    if (moved == NULL)
        return false;
    if (*room > 0)
        memcpy(moved, *rows, *room * size);
    firn_free(*rows);
    *rows = moved;
    *room = larger;
    return true;
}

static bool claim(firn_usd_mesh *mesh, totals *t, const part *p)
{
    size_t vertices = mesh->vertex_count + p->position.count, room = t->vertex_room;
    return vertices <= INT32_MAX &&
           extend((void **)&mesh->velocity, &room, vertices, sizeof(firn_vec3)) &&
           extend((void **)&mesh->position, &t->vertex_room, vertices, sizeof(firn_vec3)) &&
           extend((void **)&mesh->face_size, &t->face_room, mesh->face_count + p->face_size.count,
                  sizeof(int32_t)) &&
           extend((void **)&mesh->corner, &t->corner_room, mesh->corner_count + p->corner.count,
                  sizeof(int32_t)) &&
           extend((void **)&mesh->cages, &t->cage_room, mesh->cage_count + 1,
                  sizeof(firn_usd_cage));
}

static void append_faces(firn_usd_mesh *mesh, const part *p, const bool *kept, bool reversed)
{
    const int32_t *size = p->face_size.data, *from = p->corner.data;
    int32_t base = (int32_t)mesh->vertex_count;
    for (size_t f = 0; f < p->face_size.count; f++) {
        for (int32_t k = 0; k < size[f] && (kept == NULL || kept[f]); k++)
            mesh->corner[mesh->corner_count + (size_t)k] =
                base + from[reversed ? size[f] - 1 - k : k];
        if (kept == NULL || kept[f]) {
            mesh->face_size[mesh->face_count++] = size[f];
            mesh->corner_count += (size_t)size[f];
        }
        from += size[f];
    }
}

// Faces of a subdivision surface that are not taken shape the others: they become holes.
static bool exclude(firn_usd_cage *cage, const bool *kept)
{
    int32_t *hole = firn_alloc((cage->hole_count + cage->face_count + 1) * sizeof *hole);
    if (hole == NULL)
        return false;
    if (cage->hole_count > 0)
        memcpy(hole, cage->hole, cage->hole_count * sizeof *hole);
    for (size_t f = 0; f < cage->face_count; f++)
        if (!kept[f])
            hole[cage->hole_count++] = (int32_t)f;
    firn_free(cage->hole);
    cage->hole = hole;
    return true;
}

static firn_result append_cage(const firn_usd_scene *scene, int prim, double code, const part *p,
                               firn_usd_mesh *mesh, const bool **kept, firn_error *error)
{
    firn_usd_cage *cage = &mesh->cages[mesh->cage_count];
    *cage = (firn_usd_cage){.first_vertex = mesh->vertex_count,
                            .vertex_count = p->position.count,
                            .first_face = mesh->face_count,
                            .face_count = p->face_size.count,
                            .first_corner = mesh->corner_count,
                            .corner_count = p->corner.count};
    bool none = true;
    FIRN_TRY(firn_usd_read_cage(scene, prim, code, cage, &none, error));
    if (none)
        return FIRN_OK;
    mesh->cage_count++;
    if (*kept != NULL && !exclude(cage, *kept))
        return firn_usd_fail_memory(scene, error);
    *kept = NULL;
    return FIRN_OK;
}

static firn_result append(const firn_usd_scene *scene, int prim, const char *pattern, double code,
                          part *p, firn_usd_mesh *mesh, totals *t, firn_error *error)
{
    bool mirrored = false, *mask = NULL;
    FIRN_TRY(read_part(scene, prim, code, p, error));
    FIRN_TRY(bring_to_world(scene, prim, code, p, &mirrored, error));
    if (!claim(mesh, t, p))
        return firn_usd_fail_memory(scene, error);
    FIRN_TRY(firn_usd_kept_faces(scene, prim, pattern, code, p->face_size.count, &mask, error));
    const bool *kept = mask;
    firn_result result = append_cage(scene, prim, code, p, mesh, &kept, error);
    if (result == FIRN_OK) {
        bool left = strcmp(firn_usd_word_at(scene, prim, "orientation", code), "leftHanded") == 0;
        append_faces(mesh, p, kept, left != mirrored);
        if (p->position.count > 0)
            memcpy(mesh->position + mesh->vertex_count, p->position.data,
                   p->position.count * sizeof *mesh->position);
        if (p->velocity.count > 0)
            memcpy(mesh->velocity + mesh->vertex_count, p->velocity.data,
                   p->velocity.count * sizeof *mesh->velocity);
        mesh->vertex_count += p->position.count;
    }
    firn_free(mask);
    return result;
}

firn_result firn_usd_read_world_mesh(firn_usd_scene *scene, const char *pattern, double time,
                                     firn_usd_mesh *mesh, firn_error *error)
{
    *mesh = (firn_usd_mesh){0};
    totals t = {0};
    double code = time * scene->codes_per_second;
    bool found = false, stored = false;
    firn_result result = FIRN_OK;
    for (size_t i = 1; i < scene->prim_count && result == FIRN_OK; i++) {
        part p = {0};
        if (!firn_usd_mesh_selected(scene, (int)i, pattern))
            continue;
        found = true;
        if (firn_usd_is_hidden(scene, (int)i, code))
            continue;
        result = append(scene, (int)i, pattern, code, &p, mesh, &t, error);
        stored = stored || p.velocity.count > 0;
        release(&p);
    }
    if (result == FIRN_OK && !found) {
        char other[400];
        firn_usd_scene_leftover(scene, pattern, other, sizeof other);
        result =
            firn_fail(error, FIRN_ERR_NOT_FOUND, "'%.300s' has no mesh%s%.120s%s%s%.300s",
                      scene->docs[0]->path, pattern[0] != '\0' ? " that matches '" : "", pattern,
                      pattern[0] != '\0' ? "'" : "", other[0] != '\0' ? "; it has " : "", other);
    }
    if (result == FIRN_OK && !stored) {
        firn_free(mesh->velocity);
        mesh->velocity = NULL;
    }
    if (result != FIRN_OK)
        firn_usd_mesh_free(mesh);
    return result;
}

void firn_usd_mesh_free(firn_usd_mesh *mesh)
{
    for (size_t i = 0; i < mesh->cage_count; i++) {
        firn_free(mesh->cages[i].crease);
        firn_free(mesh->cages[i].crease_sharpness);
        firn_free(mesh->cages[i].peak);
        firn_free(mesh->cages[i].peak_sharpness);
        firn_free(mesh->cages[i].hole);
    }
    firn_free(mesh->cages);
    firn_free(mesh->position);
    firn_free(mesh->velocity);
    firn_free(mesh->face_size);
    firn_free(mesh->corner);
    *mesh = (firn_usd_mesh){0};
}
