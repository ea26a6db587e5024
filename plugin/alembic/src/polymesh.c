#include "matrix.h"
#include "motion.h"

#include <string.h>

// What a PolyMesh object consists of.
typedef struct parts {
    firn_abc_motion motion;
    int corners, faces; // properties
} parts;

static firn_result find_parts(const firn_abc *archive, int object, double time, parts *mesh,
                              firn_error *error)
{
    FIRN_TRY(firn_abc_motion_find(archive, object, time, &mesh->motion, error));
    mesh->corners = firn_abc_property_find(archive, object, ".geom/.faceIndices");
    mesh->faces = firn_abc_property_find(archive, object, ".geom/.faceCounts");
    if (mesh->corners >= 0 && mesh->faces >= 0)
        return FIRN_OK;
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    return firn_abc_fail(&place, FIRN_ERR_FORMAT,
                         "it has no faces (.geom/.faceIndices and .geom/.faceCounts)");
}

static firn_result same_topology(const firn_abc *archive, const parts *mesh, double a, double b,
                                 bool *same, firn_error *error)
{
    FIRN_TRY(firn_abc_same_values(archive, mesh->faces, a, b, same, error));
    if (!*same)
        return FIRN_OK;
    return firn_abc_same_values(archive, mesh->corners, a, b, same, error);
}

static firn_result link_samples(const firn_abc *archive, parts *mesh, firn_error *error)
{
    firn_abc_motion *motion = &mesh->motion;
    const firn_abc_bracket *bracket = &motion->bracket;
    if (bracket->inside && bracket->after != bracket->before)
        FIRN_TRY(same_topology(archive, mesh, bracket->before_time, bracket->after_time,
                               &motion->has_next, error));
    if (firn_abc_motion_wants_previous(motion))
        FIRN_TRY(same_topology(archive, mesh, firn_abc_motion_previous_time(archive, motion),
                               bracket->before_time, &motion->has_previous, error));
    return FIRN_OK;
}

static firn_result check_faces(const firn_abc_place *place, const firn_abc_mesh *mesh)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < mesh->face_count; i++) {
        if (mesh->face_size[i] < 0)
            return firn_abc_fail(place, FIRN_ERR_FORMAT, "face %zu has %d corners", i,
                                 (int)mesh->face_size[i]);
        sum += (uint64_t)mesh->face_size[i];
    }
    if (sum != mesh->corner_count)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "its faces have %llu corners, %zu are stored",
                             (unsigned long long)sum, mesh->corner_count);
    for (size_t i = 0; i < mesh->corner_count; i++)
        if (mesh->corner[i] < 0 || (size_t)mesh->corner[i] >= mesh->vertex_count)
            return firn_abc_fail(place, FIRN_ERR_FORMAT,
                                 "corner %zu is vertex %d, but there are %zu vertices", i,
                                 (int)mesh->corner[i], mesh->vertex_count);
    return FIRN_OK;
}

static firn_result read_topology(const firn_abc *archive, const parts *source, firn_abc_mesh *mesh,
                                 firn_error *error)
{
    double time = source->motion.bracket.before_time;
    firn_abc_array array;
    FIRN_TRY(firn_abc_read_typed(archive, source->faces,
                                 firn_abc_index_at(archive, source->faces, time),
                                 FIRN_ABC_POD_INT32, 1, &array, error));
    mesh->face_size = array.values;
    mesh->face_count = array.count;
    FIRN_TRY(firn_abc_read_typed(archive, source->corners,
                                 firn_abc_index_at(archive, source->corners, time),
                                 FIRN_ABC_POD_INT32, 1, &array, error));
    mesh->corner = array.values;
    mesh->corner_count = array.count;
    return FIRN_OK;
}

firn_result firn_abc_read_mesh(const firn_abc *archive, int object, double time,
                               firn_abc_mesh *mesh, firn_error *error)
{
    *mesh = (firn_abc_mesh){0};
    FIRN_TRY(firn_abc_check_query(archive, object, FIRN_ABC_KIND_POLYMESH, time, error));
    parts source = {0};
    FIRN_TRY(find_parts(archive, object, time, &source, error));
    FIRN_TRY(link_samples(archive, &source, error));
    firn_result result = firn_abc_motion_read(archive, &source.motion, &mesh->position,
                                              &mesh->velocity, &mesh->vertex_count, error);
    if (result == FIRN_OK)
        result = read_topology(archive, &source, mesh, error);
    if (result == FIRN_OK) {
        firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
        result = check_faces(&place, mesh);
    }
    if (result != FIRN_OK)
        firn_abc_mesh_free(mesh);
    return result;
}

void firn_abc_mesh_free(firn_abc_mesh *mesh)
{
    firn_free(mesh->position);
    firn_free(mesh->velocity);
    firn_free(mesh->face_size);
    firn_free(mesh->corner);
    *mesh = (firn_abc_mesh){0};
}

// --- World space ---------------------------------------------------------------------------------

typedef struct sizes {
    size_t vertices, faces, corners;
} sizes;

static firn_result measure(const firn_abc *archive, int object, double time, sizes *size,
                           firn_error *error)
{
    parts source = {0};
    FIRN_TRY(find_parts(archive, object, time, &source, error));
    double sampled = source.motion.bracket.before_time;
    FIRN_TRY(firn_abc_sample_size(archive, source.motion.positions, source.motion.bracket.before,
                                  &size->vertices, error));
    FIRN_TRY(firn_abc_sample_size(archive, source.faces,
                                  firn_abc_index_at(archive, source.faces, sampled), &size->faces,
                                  error));
    return firn_abc_sample_size(archive, source.corners,
                                firn_abc_index_at(archive, source.corners, sampled), &size->corners,
                                error);
}

static bool is_selected(const firn_abc *archive, int object, const char *pattern)
{
    return archive->objects[object].info.kind == FIRN_ABC_KIND_POLYMESH &&
           firn_abc_object_matches(archive, object, pattern);
}

static firn_result measure_all(const firn_abc *archive, const char *pattern, double time,
                               sizes *total, firn_error *error)
{
    uint64_t limit = firn_abc_result_limit(archive);
    int found = 0;
    *total = (sizes){0};
    for (int i = 0; i < archive->object_count; i++) {
        if (!is_selected(archive, i, pattern))
            continue;
        found++;
        sizes size = {0};
        FIRN_TRY(firn_abc_check_query(archive, i, FIRN_ABC_KIND_POLYMESH, time, error));
        FIRN_TRY(measure(archive, i, time, &size, error));
        total->vertices += size.vertices;
        total->faces += size.faces;
        total->corners += size.corners;
        uint64_t bytes = (uint64_t)total->vertices * 2 * sizeof(firn_vec3) +
                         ((uint64_t)total->faces + total->corners) * sizeof(int32_t);
        firn_abc_place place = firn_abc_place_of(archive, i, -1, error);
        if (bytes > limit || total->vertices > INT32_MAX)
            return firn_abc_fail(&place, FIRN_ERR_MEMORY,
                                 "the meshes up to this one take more than %llu bytes together; "
                                 "select fewer",
                                 (unsigned long long)limit);
    }
    if (found > 0)
        return FIRN_OK;
    if (pattern == NULL || pattern[0] == '\0')
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "'%.400s' has no mesh", archive->name);
    return firn_fail(error, FIRN_ERR_NOT_FOUND, "'%.400s' has no mesh that matches '%.200s'",
                     archive->name, pattern);
}

static firn_result allocate(const firn_abc_place *place, const sizes *size, firn_abc_mesh *mesh)
{
    mesh->position = firn_abc_alloc_array(size->vertices, sizeof *mesh->position);
    mesh->velocity = firn_abc_alloc_array(size->vertices, sizeof *mesh->velocity);
    mesh->face_size = firn_abc_alloc_array(size->faces, sizeof *mesh->face_size);
    mesh->corner = firn_abc_alloc_array(size->corners, sizeof *mesh->corner);
    if (mesh->position == NULL || mesh->velocity == NULL || mesh->face_size == NULL ||
        mesh->corner == NULL)
        return firn_abc_fail_memory(place, size->vertices * 2 * sizeof(firn_vec3));
    return FIRN_OK;
}

// Stored corners run clockwise seen from outside; a matrix that mirrors has turned them already.
static void append_faces(firn_abc_mesh *all, const firn_abc_mesh *mesh, bool mirrored)
{
    int32_t base = (int32_t)all->vertex_count;
    const int32_t *from = mesh->corner;
    int32_t *to = all->corner + all->corner_count;
    for (size_t f = 0; f < mesh->face_count; f++) {
        int32_t size = mesh->face_size[f];
        all->face_size[all->face_count + f] = size;
        for (int32_t k = 0; k < size; k++)
            to[k] = base + from[mirrored ? k : size - 1 - k];
        from += size;
        to += size;
    }
    all->face_count += mesh->face_count;
    all->corner_count += mesh->corner_count;
}

static firn_result append(const firn_abc_place *place, firn_abc_mesh *all, const sizes *room,
                          firn_abc_mesh *mesh, const firn_abc_matrix *matrix,
                          const firn_abc_matrix *rate)
{
    if (mesh->vertex_count > room->vertices - all->vertex_count ||
        mesh->face_count > room->faces - all->face_count ||
        mesh->corner_count > room->corners - all->corner_count)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the file changed while being read");
    firn_abc_to_world(matrix, rate, mesh->vertex_count, mesh->position, mesh->velocity);
    FIRN_TRY(firn_abc_check_finite(place, mesh->position, mesh->vertex_count));
    append_faces(all, mesh, firn_abc_matrix_det(matrix) < 0.0);
    if (mesh->vertex_count > 0) {
        size_t bytes = mesh->vertex_count * sizeof(firn_vec3);
        memcpy(all->position + all->vertex_count, mesh->position, bytes);
        memcpy(all->velocity + all->vertex_count, mesh->velocity, bytes);
    }
    all->vertex_count += mesh->vertex_count;
    return FIRN_OK;
}

static firn_result append_object(const firn_abc *archive, int object, double time,
                                 const sizes *room, firn_abc_mesh *all, firn_error *error)
{
    firn_abc_matrix matrix, rate;
    firn_abc_mesh mesh;
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    FIRN_TRY(firn_abc_world_matrix(archive, object, time, &matrix, &rate, error));
    FIRN_TRY(firn_abc_read_mesh(archive, object, time, &mesh, error));
    firn_result result = append(&place, all, room, &mesh, &matrix, &rate);
    firn_abc_mesh_free(&mesh);
    return result;
}

firn_result firn_abc_read_world_mesh(const firn_abc *archive, const char *pattern, double time,
                                     firn_abc_mesh *mesh, firn_error *error)
{
    *mesh = (firn_abc_mesh){0};
    sizes total = {0};
    FIRN_TRY(measure_all(archive, pattern, time, &total, error));
    firn_abc_place place = {.archive = archive, .error = error};
    firn_result result = allocate(&place, &total, mesh);
    for (int i = 0; i < archive->object_count && result == FIRN_OK; i++)
        if (is_selected(archive, i, pattern))
            result = append_object(archive, i, time, &total, mesh, error);
    if (result != FIRN_OK)
        firn_abc_mesh_free(mesh);
    return result;
}
