#include "write.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *schema;   // metadata of the compound
    const char *title;    // added to it in the metadata of the object
    const char *compound; // name
} schemas[] = {
    [FIRN_ABCW_SCHEMA_POINTS] = {"schema=AbcGeom_Points_v1;schemaBaseType=AbcGeom_GeomBase_v1",
                                 ";schemaObjTitle=AbcGeom_Points_v1:.geom", ".geom"},
    [FIRN_ABCW_SCHEMA_MESH] = {"schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1",
                               ";schemaObjTitle=AbcGeom_PolyMesh_v1:.geom", ".geom"},
    [FIRN_ABCW_SCHEMA_XFORM] = {"schema=AbcGeom_Xform_v3",
                                ";schemaObjTitle=AbcGeom_Xform_v3:.xform", ".xform"},
};

// How each kind of value is stored; the metadata field holds the interpretation.
static const firn_abcw_property_def value_types[FIRN_ABC_VALUE_COUNT] = {
    [FIRN_ABC_FLOAT] = {.pod = FIRN_ABCW_POD_F32, .extent = 1},
    [FIRN_ABC_INT] = {.pod = FIRN_ABCW_POD_I32, .extent = 1},
    [FIRN_ABC_UINT64] = {.pod = FIRN_ABCW_POD_U64, .extent = 1},
    [FIRN_ABC_VEC2] = {.pod = FIRN_ABCW_POD_F32, .extent = 2, .metadata = "vector"},
    [FIRN_ABC_VECTOR] = {.pod = FIRN_ABCW_POD_F32, .extent = 3, .metadata = "vector"},
    [FIRN_ABC_POINT] = {.pod = FIRN_ABCW_POD_F32, .extent = 3, .metadata = "point"},
    [FIRN_ABC_NORMAL] = {.pod = FIRN_ABCW_POD_F32, .extent = 3, .metadata = "normal"},
    [FIRN_ABC_COLOR] = {.pod = FIRN_ABCW_POD_F32, .extent = 3, .metadata = "rgb"},
    [FIRN_ABC_QUAT] = {.pod = FIRN_ABCW_POD_F32, .extent = 4, .metadata = "quat"},
    [FIRN_ABC_MAT3] = {.pod = FIRN_ABCW_POD_F32, .extent = 9, .metadata = "matrix"},
};

static const char *const pod_names[] = {
    [FIRN_ABCW_POD_I32] = "int32_t",
    [FIRN_ABCW_POD_U64] = "uint64_t",
    [FIRN_ABCW_POD_F32] = "float32_t",
};

static const char *const scope_names[FIRN_ABC_SCOPE_COUNT] = {
    [FIRN_ABC_CONSTANT] = "con", [FIRN_ABC_UNIFORM] = "uni", [FIRN_ABC_VARYING] = "var",
    [FIRN_ABC_VERTEX] = "vtx",   [FIRN_ABC_CORNER] = "fvr",
};

firn_result firn_abcw_role_add(firn_abc_writer *writer, firn_abc_node node, int role,
                               const firn_abcw_property_def *def, firn_error *error)
{
    firn_abcw_property_def placed = *def;
    placed.node = node.index;
    placed.parent1 = writer->objects[node.index].compound1;
    return firn_abcw_property_add(writer, &placed, &writer->objects[node.index].role1[role], error);
}

firn_result firn_abcw_schema_add(firn_abc_writer *writer, firn_abc_node node, firn_error *error)
{
    firn_abcw_object *object = &writer->objects[node.index];
    snprintf(object->metadata, sizeof object->metadata, "%s%s", schemas[object->schema].schema,
             schemas[object->schema].title);
    firn_abcw_property_def compound = {.name = schemas[object->schema].compound,
                                       .metadata = schemas[object->schema].schema,
                                       .kind = FIRN_ABCW_COMPOUND,
                                       .node = node.index};
    return firn_abcw_property_add(writer, &compound, &object->compound1, error);
}

static const firn_abcw_property_def box = {.metadata = "interpretation=box",
                                           .kind = FIRN_ABCW_SCALAR,
                                           .pod = FIRN_ABCW_POD_F64,
                                           .extent = 6};

firn_result firn_abcw_geometry_add(firn_abc_writer *writer, firn_abc_node node, uint32_t clock,
                                   firn_error *error)
{
    FIRN_TRY(firn_abcw_schema_add(writer, node, error));
    firn_abcw_property_def bounds = box;
    bounds.name = ".selfBnds";
    bounds.clock = clock;
    return firn_abcw_role_add(writer, node, FIRN_ABCW_SELF_BOUNDS, &bounds, error);
}

firn_result firn_abcw_positions_add(firn_abc_writer *writer, firn_abc_node node,
                                    firn_abcw_placement placement, const char *metadata,
                                    firn_error *error)
{
    firn_abcw_property_def def = value_types[FIRN_ABC_POINT];
    def.name = "P";
    def.metadata = metadata;
    def.kind = FIRN_ABCW_ARRAY;
    def.rank = placement.rank;
    def.clock = placement.clock;
    return firn_abcw_role_add(writer, node, FIRN_ABCW_POSITIONS, &def, error);
}

firn_result firn_abcw_velocities_add(firn_abc_writer *writer, firn_abc_node node,
                                     firn_abcw_placement placement, firn_error *error)
{
    firn_abcw_property_def def = value_types[FIRN_ABC_VECTOR];
    def.name = ".velocities";
    def.metadata = "interpretation=vector";
    def.kind = FIRN_ABCW_ARRAY;
    def.late = true;
    def.rank = placement.rank;
    def.clock = placement.clock;
    return firn_abcw_role_add(writer, node, FIRN_ABCW_VELOCITIES, &def, error);
}

static firn_result param_property(const firn_abc_param_def *param, firn_abcw_property_def *def,
                                  char metadata[FIRN_ABCW_METADATA_SIZE], firn_error *error)
{
    if ((unsigned)param->value >= FIRN_ABC_VALUE_COUNT ||
        (unsigned)param->scope >= FIRN_ABC_SCOPE_COUNT)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "parameter '%.64s' has no such type or scope",
                         param->name);
    *def = value_types[param->value];
    const char *meaning = def->metadata;
    snprintf(metadata, FIRN_ABCW_METADATA_SIZE,
             "arrayExtent=1;geoScope=%s%s%s;isGeomParam=true;podExtent=%d;podName=%s",
             scope_names[param->scope], meaning != NULL ? ";interpretation=" : "",
             meaning != NULL ? meaning : "", def->extent, pod_names[def->pod]);
    def->name = param->name;
    def->metadata = metadata;
    def->kind = FIRN_ABCW_ARRAY;
    def->scope = param->scope;
    return FIRN_OK;
}

firn_result firn_abcw_param_role_add(firn_abc_writer *writer, firn_abc_node node, int role,
                                     const firn_abc_param_def *param, firn_abcw_placement placement,
                                     firn_error *error)
{
    firn_abcw_property_def def;
    char metadata[FIRN_ABCW_METADATA_SIZE];
    FIRN_TRY(param_property(param, &def, metadata, error));
    def.late = true;
    def.rank = placement.rank;
    def.clock = placement.clock;
    return firn_abcw_role_add(writer, node, role, &def, error);
}

firn_result firn_abcw_params_add(firn_abc_writer *writer, firn_abc_node node, uint32_t clock,
                                 const firn_abc_param_def *params, size_t count, firn_error *error)
{
    enum { RANK_PARAMS = 2 };
    if (count == 0)
        return FIRN_OK;
    firn_abcw_object *object = &writer->objects[node.index];
    firn_abcw_property_def compound = {.name = ".arbGeomParams",
                                       .kind = FIRN_ABCW_COMPOUND,
                                       .rank = RANK_PARAMS,
                                       .node = node.index,
                                       .parent1 = object->compound1};
    uint32_t compound1 = 0;
    FIRN_TRY(firn_abcw_property_add(writer, &compound, &compound1, error));
    object->first_param = compound1;
    for (size_t i = 0; i < count; i++) {
        firn_abcw_property_def def;
        char metadata[FIRN_ABCW_METADATA_SIZE];
        FIRN_TRY(param_property(&params[i], &def, metadata, error));
        def.node = node.index;
        def.parent1 = compound1;
        def.clock = clock;
        uint32_t index1 = 0;
        FIRN_TRY(firn_abcw_property_add(writer, &def, &index1, error));
        object->param_count++;
    }
    return FIRN_OK;
}

firn_result firn_abcw_batch_params(firn_abc_writer *writer, firn_abc_node node,
                                   const void *const *data,
                                   const uint64_t counts[FIRN_ABC_SCOPE_COUNT], firn_error *error)
{
    const firn_abcw_object *object = &writer->objects[node.index];
    for (uint32_t i = 0; i < object->param_count; i++) {
        uint32_t index = object->first_param + i;
        uint64_t count = counts[writer->properties[index].def.scope];
        const void *values = data != NULL ? data[i] : NULL;
        FIRN_TRY(firn_abcw_batch_role(writer, index + 1, values, count, error));
    }
    return FIRN_OK;
}

firn_result firn_abcw_batch_role(firn_abc_writer *writer, uint32_t property1, const void *data,
                                 uint64_t count, firn_error *error)
{
    if (property1 != 0 && count > 0 && data == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot write '%s': '%s' was declared but has no values", writer->path,
                         writer->properties[property1 - 1].name);
    firn_abcw_batch_add(writer, property1, data, count);
    return FIRN_OK;
}

firn_result firn_abc_writer_add_child_bounds(firn_abc_writer *writer, firn_abc_node node,
                                             firn_abc_clock clock, firn_error *error)
{
    FIRN_TRY(firn_abcw_check_declaring(writer, error));
    FIRN_TRY(firn_abcw_check_clock(writer, clock, error));
    if (node.index >= writer->object_count ||
        (node.index != 0 && writer->objects[node.index].schema != FIRN_ABCW_SCHEMA_XFORM))
        return firn_fail(error, FIRN_ERR_STALE,
                         "cannot write '%s': only the root and transforms have child bounds",
                         writer->path);
    firn_abcw_property_def bounds = box;
    bounds.name = ".childBnds";
    bounds.clock = clock.index;
    return firn_abcw_role_add(writer, node, FIRN_ABCW_CHILD_BOUNDS, &bounds, error);
}

firn_result firn_abc_writer_put_child_bounds(firn_abc_writer *writer, firn_abc_node node,
                                             const double bounds[6], firn_error *error)
{
    firn_abcw_schema schema = node.index == 0 ? FIRN_ABCW_SCHEMA_GROUP : FIRN_ABCW_SCHEMA_XFORM;
    FIRN_TRY(firn_abcw_check_put(writer, node, schema, error));
    uint32_t property1 = writer->objects[node.index].role1[FIRN_ABCW_CHILD_BOUNDS];
    if (property1 == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot write '%s': child bounds were not declared", writer->path);
    firn_abcw_batch_add(writer, property1, bounds, 1);
    return firn_abcw_settle(writer, firn_abcw_batch_commit(writer, &writer->failure), error);
}

// Four floats at a time: three such registers hold four points.
typedef float lanes __attribute__((vector_size(16)));
typedef int32_t lane_mask __attribute__((vector_size(16)));

enum { LANES = 4, REGISTERS = 3 };

static inline lanes pick(lane_mask mask, lanes yes, lanes no)
{
    return (lanes)((mask & (lane_mask)yes) | (~mask & (lane_mask)no));
}

// A NaN compares false and leaves the box alone.
void firn_abcw_bounds_extend(double bounds[6], const firn_vec3 *positions, size_t count)
{
    lanes low[REGISTERS], high[REGISTERS];
    for (int k = 0; k < REGISTERS; k++) {
        low[k] = (lanes){INFINITY, INFINITY, INFINITY, INFINITY};
        high[k] = -low[k];
    }
    size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        lanes values[REGISTERS];
        memcpy(values, positions + i, sizeof values);
        for (int k = 0; k < REGISTERS; k++) {
            low[k] = pick(values[k] < low[k], values[k], low[k]);
            high[k] = pick(values[k] > high[k], values[k], high[k]);
        }
    }
    for (int i = 0; i < REGISTERS * LANES; i++) {
        float least = low[i / LANES][i % LANES], most = high[i / LANES][i % LANES];
        bounds[i % 3] = least < bounds[i % 3] ? least : bounds[i % 3];
        bounds[3 + i % 3] = most > bounds[3 + i % 3] ? most : bounds[3 + i % 3];
    }
    for (size_t i = whole; i < count; i++) {
        const float point[3] = {positions[i].x, positions[i].y, positions[i].z};
        for (int axis = 0; axis < 3; axis++) {
            bounds[axis] = point[axis] < bounds[axis] ? point[axis] : bounds[axis];
            bounds[3 + axis] = point[axis] > bounds[3 + axis] ? point[axis] : bounds[3 + axis];
        }
    }
}

firn_result firn_abcw_batch_positions(firn_abc_writer *writer, firn_abc_node node,
                                      const firn_vec3 *positions, size_t count, double bounds[6],
                                      firn_error *error)
{
    // No points give the empty box of Alembic, largest minimum and smallest maximum.
    for (int axis = 0; axis < 3; axis++) {
        bounds[axis] = DBL_MAX;
        bounds[3 + axis] = -DBL_MAX;
    }
    uint32_t property1 = writer->objects[node.index].role1[FIRN_ABCW_POSITIONS];
    FIRN_TRY(firn_abcw_batch_role(writer, property1, positions, count, error));
    writer->batch[writer->batch_count - 1].bounds = bounds;
    return FIRN_OK;
}
