#include "graph_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

firn_result firn_prefix_error(firn_error *error, const char *node)
{
    if (error == NULL)
        return FIRN_ERR_ARGUMENT;
    firn_error cause = *error;
    return firn_fail(error, cause.code, "%s.%s", node, cause.message);
}

static firn_result find_param(const firn_graph *graph, const char *node, const char *param,
                              firn_node **found, const firn_param **row, firn_error *error)
{
    FIRN_TRY(firn_graph_need(graph, node, found, error));
    firn_param_table table = (*found)->type->info.params;
    *row = firn_params_find(table, param);
    if (*row != NULL)
        return FIRN_OK;
    char hint[100];
    firn_did_you_mean_param(table, param, hint, sizeof hint);
    for (size_t i = 0; i < (*found)->type->info.input_count; i++)
        if (strcmp((*found)->type->info.inputs[i].name, param) == 0)
            snprintf(hint, sizeof hint, "; that is an input, and links are made under \"inputs\"");
    return firn_fail(error, FIRN_ERR_NOT_FOUND, "%s (%s) has no parameter '%.100s'%s", node,
                     (*found)->type->info.name, param, hint);
}

static firn_result find_shot_param(const char *param, const firn_param **row, firn_error *error)
{
    firn_param_table table = firn_shot_params();
    *row = firn_params_find(table, param);
    if (*row != NULL)
        return FIRN_OK;
    char hint[100];
    firn_did_you_mean_param(table, param, hint, sizeof hint);
    return firn_fail(error, FIRN_ERR_NOT_FOUND, "the graph has no setting '%.100s'%s", param,
                     strcmp(param, "frames") == 0 ? "; set first and last" : hint);
}

// A value that always counts is the last word: one for final quality gives way to it.
static firn_result put_value(firn_node *node, firn_value *value, firn_layer layer,
                             firn_error *error)
{
    firn_result result = firn_values_put(&node->layers[layer], value, error);
    if (result != FIRN_OK)
        firn_value_free(value);
    else if (layer == FIRN_LAYER_ALWAYS)
        firn_values_erase(&node->layers[FIRN_LAYER_FINAL], value->param);
    return result;
}

firn_result firn_graph_set_param(firn_graph *graph, const char *node, const char *param,
                                 const char *text, firn_layer layer, firn_error *error)
{
    const firn_param *row = NULL;
    if (node == NULL) {
        FIRN_TRY(find_shot_param(param, &row, error));
        return firn_param_parse(row, &graph->shot, text, error);
    }
    firn_node *found = NULL;
    FIRN_TRY(find_param(graph, node, param, &found, &row, error));
    firn_value value;
    if (firn_value_from_text(found->type, row, text, &value, error) != FIRN_OK)
        return firn_prefix_error(error, node);
    return put_value(found, &value, layer, error);
}

firn_result firn_graph_set_numbers(firn_graph *graph, const char *node, const char *param,
                                   const double values[3], firn_layer layer, firn_error *error)
{
    const firn_param *row = NULL;
    if (node == NULL) {
        FIRN_TRY(find_shot_param(param, &row, error));
        return firn_param_set(row, &graph->shot, values, error);
    }
    firn_node *found = NULL;
    FIRN_TRY(find_param(graph, node, param, &found, &row, error));
    if (firn_param_set(row, found->settings, values, error) != FIRN_OK)
        return firn_prefix_error(error, node);
    firn_value value = {.param = row};
    memcpy(value.number, values, sizeof value.number);
    return put_value(found, &value, layer, error);
}

firn_result firn_graph_set(firn_graph *graph, const char *node, const char *param,
                           const double values[3], firn_error *error)
{
    return firn_graph_set_numbers(graph, node, param, values, FIRN_LAYER_ALWAYS, error);
}

firn_result firn_graph_set_text(firn_graph *graph, const char *assignment, firn_error *error)
{
    const char *equals = strchr(assignment, '=');
    const char *dot = strchr(assignment, '.');
    if (equals == NULL || equals == assignment)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "'%.200s' sets nothing; write node.parameter=value", assignment);
    char node[2 * FIRN_NAME_SIZE] = "", param[2 * FIRN_NAME_SIZE];
    bool has_node = dot != NULL && dot < equals;
    if (has_node)
        snprintf(node, sizeof node, "%.*s", (int)(dot - assignment), assignment);
    const char *name = has_node ? dot + 1 : assignment;
    snprintf(param, sizeof param, "%.*s", (int)(equals - name), name);
    return firn_graph_set_param(graph, has_node ? node : NULL, param, equals + 1, FIRN_LAYER_ALWAYS,
                                error);
}

static firn_result check_keys(const firn_node *node, const firn_param *row, const firn_key *keys,
                              size_t count, firn_error *error)
{
    const char *animated = node->type->node->animated;
    if (firn_param_is_text(row))
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "%s.%s cannot be animated: it is a text; a path may have a frame number",
                         node->name, row->name);
    if (animated == NULL)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "%s.%s cannot be animated: a %s works in the same way in every frame",
                         node->name, row->name, node->type->info.name);
    if (!firn_list_has(animated, row->name))
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "%s.%s cannot be animated: the whole simulation is built on its value; of "
                         "a %s these can: %s",
                         node->name, row->name, node->type->info.name, animated);
    if (count == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "%s.%s has an animation without keys",
                         node->name, row->name);
    for (size_t k = 0; k < count; k++) {
        if (!isfinite(keys[k].frame) || (k > 0 && keys[k].frame <= keys[k - 1].frame))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "%s.%s: key %zu is at frame %g; frames of keys must rise", node->name,
                             row->name, k + 1, keys[k].frame);
        if (firn_param_set(row, node->settings, keys[k].value, error) != FIRN_OK)
            return firn_prefix_error(error, node->name);
    }
    return FIRN_OK;
}

firn_result firn_graph_set_keys(firn_graph *graph, const char *node, const char *param,
                                const firn_key *keys, size_t count,
                                firn_interpolation interpolation, firn_layer layer,
                                firn_error *error)
{
    firn_node *found = NULL;
    const firn_param *row = NULL;
    FIRN_TRY(find_param(graph, node, param, &found, &row, error));
    FIRN_TRY(check_keys(found, row, keys, count, error));
    firn_value value = {.param = row, .key_count = count, .interpolation = interpolation};
    value.keys = firn_alloc(count * sizeof *keys);
    if (value.keys == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot keep the keys of %s.%s",
                         node, param);
    memcpy(value.keys, keys, count * sizeof *keys);
    return put_value(found, &value, layer, error);
}

firn_result firn_graph_reset(firn_graph *graph, const char *node, const char *param,
                             firn_error *error)
{
    firn_node *found = NULL;
    const firn_param *row = NULL;
    if (node == NULL) {
        FIRN_TRY(find_shot_param(param, &row, error));
        firn_params_reset((firn_param_table){row, 1}, &graph->shot);
        return FIRN_OK;
    }
    FIRN_TRY(find_param(graph, node, param, &found, &row, error));
    for (int l = 0; l < FIRN_LAYER_COUNT; l++)
        firn_values_erase(&found->layers[l], row);
    return FIRN_OK;
}

// Where the value that counts can be read from.
static firn_result evaluate(const firn_graph *graph, const char *node, const char *param,
                            double frame, const firn_param **row, const void **settings,
                            firn_error *error)
{
    *settings = &graph->shot;
    if (node == NULL)
        return find_shot_param(param, row, error);
    firn_node *found = NULL;
    FIRN_TRY(find_param(graph, node, param, &found, row, error));
    *settings = found->settings;
    return firn_node_settings(found, frame, false, found->settings, error);
}

firn_result firn_graph_get(const firn_graph *graph, const char *node, const char *param,
                           double frame, double values[3], firn_error *error)
{
    const firn_param *row = NULL;
    const void *settings = NULL;
    FIRN_TRY(evaluate(graph, node, param, frame, &row, &settings, error));
    firn_param_get(row, settings, values);
    return FIRN_OK;
}

firn_result firn_graph_get_text(const firn_graph *graph, const char *node, const char *param,
                                double frame, char *text, size_t size, firn_error *error)
{
    const firn_param *row = NULL;
    const void *settings = NULL;
    FIRN_TRY(evaluate(graph, node, param, frame, &row, &settings, error));
    firn_param_print(row, settings, text, size);
    return FIRN_OK;
}

firn_result firn_graph_get_path(const firn_graph *graph, const char *node, const char *param,
                                char *path, size_t size, firn_error *error)
{
    char text[FIRN_TEXT_SIZE];
    FIRN_TRY(firn_graph_get_text(graph, node, param, 0.0, text, sizeof text, error));
    return firn_graph_resolve_path(graph, text, path, size, error);
}

const firn_key *firn_graph_keys(const firn_graph *graph, const char *node, const char *param,
                                size_t *count, firn_interpolation *interpolation)
{
    firn_node *found = NULL;
    const firn_param *row = NULL;
    *count = 0;
    if (find_param(graph, node, param, &found, &row, NULL) != FIRN_OK)
        return NULL;
    const firn_value *value = firn_node_value(found, row);
    if (value == NULL || value->keys == NULL)
        return NULL;
    *count = value->key_count;
    *interpolation = value->interpolation;
    return value->keys;
}
