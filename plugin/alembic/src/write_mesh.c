#include "write.h"

// Groups are written from high to low rank; 0 to 2 belong to bounds and parameters.
enum { RANK_POSITIONS = 3, RANK_VELOCITIES, RANK_INDICES, RANK_COUNTS, RANK_UVS, RANK_NORMALS };

static firn_result add_topology(firn_abc_writer *writer, firn_abc_node node, uint32_t clock,
                                firn_error *error)
{
    firn_abcw_property_def def = {.name = ".faceIndices",
                                  .kind = FIRN_ABCW_ARRAY,
                                  .pod = FIRN_ABCW_POD_I32,
                                  .extent = 1,
                                  .rank = RANK_INDICES,
                                  .clock = clock};
    FIRN_TRY(firn_abcw_role_add(writer, node, FIRN_ABCW_INDICES, &def, error));
    def.name = ".faceCounts";
    def.rank = RANK_COUNTS;
    return firn_abcw_role_add(writer, node, FIRN_ABCW_COUNTS, &def, error);
}

static firn_result add_properties(firn_abc_writer *writer, firn_abc_node node,
                                  const firn_abc_mesh_def *def, firn_error *error)
{
    uint32_t clock = def->clock.index;
    FIRN_TRY(firn_abcw_geometry_add(writer, node, clock, error));
    FIRN_TRY(firn_abcw_positions_add(writer, node, (firn_abcw_placement){clock, RANK_POSITIONS},
                                     "geoScope=vtx;interpretation=point", error));
    FIRN_TRY(add_topology(writer, node, clock, error));
    FIRN_TRY(firn_abcw_params_add(writer, node, clock, def->params, def->param_count, error));
    if (def->velocities)
        FIRN_TRY(firn_abcw_velocities_add(writer, node,
                                          (firn_abcw_placement){clock, RANK_VELOCITIES}, error));
    if (def->uvs) {
        const firn_abc_param_def uvs = {"uv", FIRN_ABC_VEC2, def->uv_scope};
        FIRN_TRY(firn_abcw_param_role_add(writer, node, FIRN_ABCW_UVS, &uvs,
                                          (firn_abcw_placement){clock, RANK_UVS}, error));
    }
    if (def->normals) {
        const firn_abc_param_def normals = {"N", FIRN_ABC_NORMAL, def->normal_scope};
        FIRN_TRY(firn_abcw_param_role_add(writer, node, FIRN_ABCW_NORMALS, &normals,
                                          (firn_abcw_placement){clock, RANK_NORMALS}, error));
    }
    return FIRN_OK;
}

firn_result firn_abc_writer_add_mesh(firn_abc_writer *writer, firn_abc_node parent,
                                     const char *name, const firn_abc_mesh_def *def,
                                     firn_abc_node *node, firn_error *error)
{
    FIRN_TRY(firn_abcw_check_def(writer, def->cookie, sizeof *def, def->clock, error));
    FIRN_TRY(firn_abcw_object_add(writer, parent, name, FIRN_ABCW_SCHEMA_MESH, node, error));
    firn_result result = add_properties(writer, *node, def, &writer->failure);
    return firn_abcw_settle(writer, result, error);
}

// A reader would trust these numbers, so a wrong one must not get into a file.
static firn_result check_topology(const firn_abc_writer *writer, const firn_abc_mesh_data *data,
                                  firn_error *error)
{
    if ((data->face_count > 0 && data->face_counts == NULL) ||
        (data->corner_count > 0 && data->face_indices == NULL))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "cannot write '%s': the mesh has no faces",
                         writer->path);
    uint64_t corners = 0;
    for (size_t i = 0; i < data->face_count; i++) {
        if (data->face_counts[i] < 0)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "cannot write '%s': face %zu has %d corners",
                             writer->path, i, data->face_counts[i]);
        corners += (uint64_t)data->face_counts[i];
    }
    if (corners != data->corner_count)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot write '%s': the faces have %llu corners, not %zu", writer->path,
                         (unsigned long long)corners, data->corner_count);
    for (size_t i = 0; i < data->corner_count; i++)
        if (data->face_indices[i] < 0 || (size_t)data->face_indices[i] >= data->point_count)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "cannot write '%s': corner %zu names point %d of %zu", writer->path, i,
                             data->face_indices[i], data->point_count);
    return FIRN_OK;
}

static firn_result batch_optional(firn_abc_writer *writer, uint32_t property1, const void *data,
                                  const uint64_t counts[FIRN_ABC_SCOPE_COUNT], firn_error *error)
{
    if (property1 == 0)
        return FIRN_OK;
    uint64_t count = counts[writer->properties[property1 - 1].def.scope];
    return firn_abcw_batch_role(writer, property1, data, count, error);
}

static firn_result put_mesh(firn_abc_writer *writer, firn_abc_node node,
                            const firn_abc_mesh_data *data, firn_error *error)
{
    FIRN_TRY(check_topology(writer, data, error));
    const uint32_t *role1 = writer->objects[node.index].role1;
    const uint64_t n = data->point_count;
    const uint64_t counts[FIRN_ABC_SCOPE_COUNT] = {[FIRN_ABC_CONSTANT] = 1,
                                                   [FIRN_ABC_UNIFORM] = data->face_count,
                                                   [FIRN_ABC_VARYING] = n,
                                                   [FIRN_ABC_VERTEX] = n,
                                                   [FIRN_ABC_CORNER] = data->corner_count};
    double bounds[6];
    FIRN_TRY(
        firn_abcw_batch_positions(writer, node, data->positions, data->point_count, bounds, error));
    firn_abcw_batch_add(writer, role1[FIRN_ABCW_INDICES], data->face_indices, data->corner_count);
    firn_abcw_batch_add(writer, role1[FIRN_ABCW_COUNTS], data->face_counts, data->face_count);
    FIRN_TRY(firn_abcw_batch_role(writer, role1[FIRN_ABCW_VELOCITIES], data->velocities, n, error));
    firn_abcw_batch_add(writer, role1[FIRN_ABCW_SELF_BOUNDS], bounds, 1);
    FIRN_TRY(batch_optional(writer, role1[FIRN_ABCW_UVS], data->uvs, counts, error));
    FIRN_TRY(batch_optional(writer, role1[FIRN_ABCW_NORMALS], data->normals, counts, error));
    FIRN_TRY(firn_abcw_batch_params(writer, node, data->params, counts, error));
    return firn_abcw_batch_commit(writer, error);
}

firn_result firn_abc_writer_put_mesh(firn_abc_writer *writer, firn_abc_node node,
                                     const firn_abc_mesh_data *data, firn_error *error)
{
    FIRN_TRY(firn_abcw_check_put(writer, node, FIRN_ABCW_SCHEMA_MESH, error));
    return firn_abcw_settle(writer, put_mesh(writer, node, data, &writer->failure), error);
}
