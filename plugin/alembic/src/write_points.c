#include "write.h"

// Groups are written from high to low rank; 0 to 2 belong to bounds and parameters.
enum { RANK_POSITIONS = 3, RANK_IDS, RANK_VELOCITIES, RANK_WIDTHS };

static firn_result add_properties(firn_abc_writer *writer, firn_abc_node node,
                                  const firn_abc_points_def *def, firn_error *error)
{
    uint32_t clock = def->clock.index;
    FIRN_TRY(firn_abcw_geometry_add(writer, node, clock, error));
    FIRN_TRY(firn_abcw_positions_add(writer, node, (firn_abcw_placement){clock, RANK_POSITIONS},
                                     "geoScope=var;interpretation=point", error));
    const firn_abcw_property_def ids = {.name = ".pointIds",
                                        .metadata = "geoScope=var",
                                        .kind = FIRN_ABCW_ARRAY,
                                        .pod = FIRN_ABCW_POD_U64,
                                        .extent = 1,
                                        .rank = RANK_IDS,
                                        .clock = clock};
    FIRN_TRY(firn_abcw_role_add(writer, node, FIRN_ABCW_IDS, &ids, error));
    FIRN_TRY(firn_abcw_params_add(writer, node, clock, def->params, def->param_count, error));
    if (def->velocities)
        FIRN_TRY(firn_abcw_velocities_add(writer, node,
                                          (firn_abcw_placement){clock, RANK_VELOCITIES}, error));
    if (def->widths) {
        const firn_abc_param_def widths = {".widths", FIRN_ABC_FLOAT, def->width_scope};
        FIRN_TRY(firn_abcw_param_role_add(writer, node, FIRN_ABCW_WIDTHS, &widths,
                                          (firn_abcw_placement){clock, RANK_WIDTHS}, error));
    }
    return FIRN_OK;
}

firn_result firn_abc_writer_add_points(firn_abc_writer *writer, firn_abc_node parent,
                                       const char *name, const firn_abc_points_def *def,
                                       firn_abc_node *node, firn_error *error)
{
    FIRN_TRY(firn_abcw_check_def(writer, def->cookie, sizeof *def, def->clock, error));
    FIRN_TRY(firn_abcw_object_add(writer, parent, name, FIRN_ABCW_SCHEMA_POINTS, node, error));
    firn_result result = add_properties(writer, *node, def, &writer->failure);
    return firn_abcw_settle(writer, result, error);
}

static firn_result put_points(firn_abc_writer *writer, firn_abc_node node,
                              const firn_abc_points_data *data, firn_error *error)
{
    const uint32_t *role1 = writer->objects[node.index].role1;
    const uint64_t n = data->count;
    const uint64_t counts[FIRN_ABC_SCOPE_COUNT] = {[FIRN_ABC_CONSTANT] = 1,
                                                   [FIRN_ABC_UNIFORM] = 1,
                                                   [FIRN_ABC_VARYING] = n,
                                                   [FIRN_ABC_VERTEX] = n,
                                                   [FIRN_ABC_CORNER] = n};
    uint64_t widths = 0;
    if (role1[FIRN_ABCW_WIDTHS] != 0)
        widths = counts[writer->properties[role1[FIRN_ABCW_WIDTHS] - 1].def.scope];
    double bounds[6];
    FIRN_TRY(firn_abcw_batch_positions(writer, node, data->positions, data->count, bounds, error));
    firn_abcw_batch_add(writer, role1[FIRN_ABCW_IDS], data->ids, data->ids != NULL ? n : 0);
    FIRN_TRY(firn_abcw_batch_role(writer, role1[FIRN_ABCW_VELOCITIES], data->velocities, n, error));
    FIRN_TRY(firn_abcw_batch_role(writer, role1[FIRN_ABCW_WIDTHS], data->widths, widths, error));
    firn_abcw_batch_add(writer, role1[FIRN_ABCW_SELF_BOUNDS], bounds, 1);
    FIRN_TRY(firn_abcw_batch_params(writer, node, data->params, counts, error));
    return firn_abcw_batch_commit(writer, error);
}

firn_result firn_abc_writer_put_points(firn_abc_writer *writer, firn_abc_node node,
                                       const firn_abc_points_data *data, firn_error *error)
{
    FIRN_TRY(firn_abcw_check_put(writer, node, FIRN_ABCW_SCHEMA_POINTS, error));
    return firn_abcw_settle(writer, put_points(writer, node, data, &writer->failure), error);
}
