#include "nodes.h"

#include "firn/body.h"

typedef struct settings {
    firn_joint_def def;
} settings;

typedef struct state {
    firn_joint_data data;
} state;

static const firn_node_rows rows[] = {{firn_joint_params, offsetof(settings, def)}};

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_joint_def_default();
}

static firn_result find_body(const firn_cook *cook, const char *slot,
                             const firn_collider_data **body, firn_error *error)
{
    *body = NULL;
    if (firn_cook_input_count(cook, slot) == 0)
        return FIRN_OK;
    const firn_collider_data *data = firn_cook_input(cook, slot, 0)->collider;
    const char *name = firn_cook_input_name(cook, slot, 0);
    if (data->body == NULL)
        return firn_fail(
            error, FIRN_ERR_ARGUMENT,
            "%s is linked to '%s', which is animated; a joint holds bodies: use a body "
            "node, with a release_frame that is never reached if it shall be animated",
            slot, name);
    if (data->body->next != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s is linked to '%s', which is several bodies; use a node for each of "
                         "those that are joined",
                         slot, name);
    *body = data;
    return FIRN_OK;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    own->data.def = s->def;
    FIRN_TRY(find_body(cook, "first", &own->data.first, error));
    FIRN_TRY(find_body(cook, "second", &own->data.second, error));
    if (own->data.first == own->data.second)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "first and second are the same body");
    cook->output->joint = &own->data;
    return FIRN_OK;
}

static const firn_node_input inputs[] = {
    {"first", FIRN_KIND_COLLIDER, false, false,
     "The body that the other is held to; none: the world"},
    {"second", FIRN_KIND_COLLIDER, false, true, "The body that is held, and that a motor turns"},
};

const firn_node_type firn_node_joint = {
    .size = sizeof(firn_node_type),
    .name = "joint",
    .label = "Joint",
    .category = "Simulation",
    .help = "Holds two bodies together, or one to the world: fixed, by a hinge with limits and a "
            "motor, or by a ball.",
    .version = 1,
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_JOINT,
    .reset = reset,
    .state_size = sizeof(state),
    .cook = cook,
};
