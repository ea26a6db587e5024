#include "write.h"

#include <math.h>
#include <string.h>

// Groups are written from high to low rank; 0 belongs to the child bounds.
enum { RANK_OPS = 1, RANK_CHANNELS, RANK_INHERITS, RANK_MOVED, RANK_ANIMATED };

// By type, which is the upper half of an op's byte; the matrix starts as identity.
static const struct {
    uint8_t channels;
    uint8_t default_value;
} op_types[] = {{3, 1}, {3, 0}, {4, 0}, {16, 0}, {1, 0}, {1, 0}, {1, 0}};

enum { TYPE_MATRIX = FIRN_ABC_MATRIX >> 4 };

static double default_channel(unsigned type, unsigned channel)
{
    if (type == TYPE_MATRIX)
        return channel % 5 == 0 ? 1.0 : 0.0;
    return op_types[type].default_value;
}

static firn_result fill_state(firn_abcw_xform_state *xform, const firn_abc_xform_def *def,
                              firn_error *error)
{
    if (def->op_count > FIRN_ABC_OPS_MAX)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a transform has at most %d ops, not %u",
                         FIRN_ABC_OPS_MAX, def->op_count);
    xform->op_count = def->op_count;
    for (uint32_t i = 0; i < def->op_count; i++) {
        unsigned op = (unsigned)def->ops[i];
        if (op > FIRN_ABC_ROTATE_Z || op >> 4 >= FIRN_COUNT(op_types))
            return firn_fail(error, FIRN_ERR_ARGUMENT, "there is no transform op 0x%02x", op);
        xform->ops[i] = (uint8_t)op;
        xform->channel_count += op_types[op >> 4].channels;
    }
    return FIRN_OK;
}

static firn_result add_properties(firn_abc_writer *writer, firn_abc_node node,
                                  const firn_abc_xform_def *def, firn_error *error)
{
    firn_abcw_xform_state *xform = firn_alloc_zero(sizeof *xform);
    writer->objects[node.index].xform = xform;
    if (xform == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", writer->path);
    FIRN_TRY(fill_state(xform, def, error));
    FIRN_TRY(firn_abcw_schema_add(writer, node, error));
    firn_abcw_property_def property = {.name = ".inherits",
                                       .kind = FIRN_ABCW_SCALAR,
                                       .pod = FIRN_ABCW_POD_BOOL,
                                       .extent = 1,
                                       .rank = RANK_INHERITS,
                                       .late = true,
                                       .clock = def->clock.index};
    FIRN_TRY(firn_abcw_role_add(writer, node, FIRN_ABCW_INHERITS, &property, error));
    if (xform->op_count == 0)
        return FIRN_OK;
    property.name = ".ops";
    property.pod = FIRN_ABCW_POD_U8;
    property.extent = (uint8_t)xform->op_count;
    property.rank = RANK_OPS;
    property.clock = 0;
    FIRN_TRY(firn_abcw_role_add(writer, node, FIRN_ABCW_OPS, &property, error));
    property.name = ".vals";
    property.pod = FIRN_ABCW_POD_F64;
    property.extent = (uint8_t)xform->channel_count;
    property.rank = RANK_CHANNELS;
    property.clock = def->clock.index;
    return firn_abcw_role_add(writer, node, FIRN_ABCW_CHANNELS, &property, error);
}

firn_result firn_abc_writer_add_xform(firn_abc_writer *writer, firn_abc_node parent,
                                      const char *name, const firn_abc_xform_def *def,
                                      firn_abc_node *node, firn_error *error)
{
    FIRN_TRY(firn_abcw_check_def(writer, def->cookie, sizeof *def, def->clock, error));
    FIRN_TRY(firn_abcw_object_add(writer, parent, name, FIRN_ABCW_SCHEMA_XFORM, node, error));
    firn_result result = add_properties(writer, *node, def, &writer->failure);
    return firn_abcw_settle(writer, result, error);
}

void firn_abcw_xform_note(firn_abcw_xform_state *xform, const double *channels)
{
    const double tolerance = 1e-12;
    if (!xform->started)
        memcpy(xform->first, channels, xform->channel_count * sizeof *channels);
    xform->started = true;
    uint32_t at = 0;
    for (uint32_t i = 0; i < xform->op_count; i++) {
        unsigned type = xform->ops[i] >> 4;
        for (unsigned j = 0; j < op_types[type].channels; j++, at++) {
            if (!(fabs(channels[at] - xform->first[at]) <= tolerance))
                xform->animated[at] = true;
            if (!(fabs(channels[at] - default_channel(type, j)) <= tolerance))
                xform->moved = true;
        }
    }
}

firn_result firn_abc_writer_put_xform(firn_abc_writer *writer, firn_abc_node node,
                                      const double *channels, bool inherits, firn_error *error)
{
    FIRN_TRY(firn_abcw_check_put(writer, node, FIRN_ABCW_SCHEMA_XFORM, error));
    const firn_abcw_object *object = &writer->objects[node.index];
    const unsigned char inherits_byte = inherits;
    firn_abcw_batch_add(writer, object->role1[FIRN_ABCW_INHERITS], &inherits_byte, 1);
    firn_abcw_batch_add(writer, object->role1[FIRN_ABCW_CHANNELS], channels, 1);
    firn_abcw_batch_add(writer, object->role1[FIRN_ABCW_OPS], object->xform->ops, 1);
    firn_result result = firn_abcw_batch_commit(writer, &writer->failure);
    if (result == FIRN_OK && object->xform->channel_count > 0) {
        firn_abcw_xform_note(object->xform, channels);
        firn_abcw_journal_xform(writer, node.index, channels);
    }
    return firn_abcw_settle(writer, result, error);
}

// The two properties that sum up all samples can only be added after the last one.
firn_result firn_abcw_xform_close(firn_abc_writer *writer, firn_abc_node node, firn_error *error)
{
    const firn_abcw_object *object = &writer->objects[node.index];
    const firn_abcw_xform_state *xform = object->xform;
    if (xform->moved) {
        const firn_abcw_property_def moved = {.name = "isNotConstantIdentity",
                                              .kind = FIRN_ABCW_SCALAR,
                                              .pod = FIRN_ABCW_POD_BOOL,
                                              .extent = 1,
                                              .rank = RANK_MOVED};
        FIRN_TRY(firn_abcw_role_add(writer, node, FIRN_ABCW_MOVED, &moved, error));
    }
    if (memchr(xform->animated, true, sizeof xform->animated) == NULL)
        return FIRN_OK;
    const firn_abcw_property_def animated = {
        .name = ".animChans",
        .kind = FIRN_ABCW_ARRAY,
        .pod = FIRN_ABCW_POD_U32,
        .extent = 1,
        .rank = RANK_ANIMATED,
        .clock = writer->properties[object->role1[FIRN_ABCW_INHERITS] - 1].def.clock};
    return firn_abcw_role_add(writer, node, FIRN_ABCW_ANIMATED, &animated, error);
}

firn_result firn_abcw_xform_put_summary(firn_abc_writer *writer, firn_abc_node node,
                                        firn_error *error)
{
    static const unsigned char yes = 1;
    const firn_abcw_object *object = &writer->objects[node.index];
    uint32_t animated[FIRN_ABCW_CHANNELS_MAX], count = 0;
    for (uint32_t i = 0; i < object->xform->channel_count; i++)
        if (object->xform->animated[i])
            animated[count++] = i;
    firn_abcw_batch_add(writer, object->role1[FIRN_ABCW_MOVED], &yes, 1);
    firn_abcw_batch_add(writer, object->role1[FIRN_ABCW_ANIMATED], animated, count);
    return firn_abcw_batch_commit(writer, error);
}
