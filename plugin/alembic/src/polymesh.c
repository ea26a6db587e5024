#include "polymesh.h"
#include "motion.h"

#include "firn/abc_scene.h"

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
    if (firn_abc_motion_wants_next(motion))
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
    FIRN_TRY(firn_abc_check_query(archive, object, firn_abc_is_mesh(archive, object), "mesh", time,
                                  error));
    parts source = {0};
    FIRN_TRY(find_parts(archive, object, time, &source, error));
    FIRN_TRY(link_samples(archive, &source, error));
    firn_result result = firn_abc_motion_read(archive, &source.motion, &mesh->position,
                                              &mesh->velocity, &mesh->vertex_count, error);
    mesh->velocity_stored = source.motion.has_velocity;
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
    for (size_t i = 0; i < mesh->cage_count; i++)
        firn_abc_cage_free(&mesh->cages[i]);
    firn_free(mesh->cages);
    *mesh = (firn_abc_mesh){0};
}

firn_result firn_abc_mesh_measure(const firn_abc *archive, int object, double time,
                                  firn_abc_mesh *sizes, firn_error *error)
{
    *sizes = (firn_abc_mesh){0};
    FIRN_TRY(firn_abc_check_query(archive, object, firn_abc_is_mesh(archive, object), "mesh", time,
                                  error));
    parts source = {0};
    FIRN_TRY(find_parts(archive, object, time, &source, error));
    double sampled = source.motion.bracket.before_time;
    FIRN_TRY(firn_abc_sample_size(archive, source.motion.positions, source.motion.bracket.before,
                                  &sizes->vertex_count, error));
    FIRN_TRY(firn_abc_sample_size(archive, source.faces,
                                  firn_abc_index_at(archive, source.faces, sampled),
                                  &sizes->face_count, error));
    return firn_abc_sample_size(archive, source.corners,
                                firn_abc_index_at(archive, source.corners, sampled),
                                &sizes->corner_count, error);
}
