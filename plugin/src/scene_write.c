#include "graph_state.h"
#include "json_text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The shortest decimal that reads back to what the field holds. Fifteen digits go into the file; a
/// double that needs more is written as text, which is read like a number.
static json_t *number_json(const firn_param *param, double value)
{
    if (param->type == FIRN_INT)
        return json_integer((json_int_t)value);
    bool single = param->type != FIRN_DOUBLE;
    char text[64];
    for (int digits = 6; digits <= 15; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (single ? (float)back == (float)value : back == value)
            return json_real(back);
    }
    char *point;
    snprintf(text, sizeof text, "%.17g", value);
    if ((point = strchr(text, ',')) != NULL)
        *point = '.';
    return json_string(text);
}

/// Numbers of a parameter: the shortest decimal of what the field can hold.
static json_t *numbers_json(const firn_param *param, const double values[3])
{
    if (param->type == FIRN_BOOL)
        return json_boolean(values[0] != 0.0);
    char choice[FIRN_NAME_SIZE];
    if (param->type == FIRN_CHOICE &&
        firn_param_choice(param, (int)values[0], choice, sizeof choice))
        return json_string(choice);
    if (firn_param_components(param) == 1)
        return number_json(param, values[0]);
    json_t *list = json_array();
    for (int c = 0; c < 3; c++)
        json_array_append_new(list, number_json(param, values[c]));
    return list;
}

static json_t *value_json(const firn_graph *graph, const firn_value *value, bool resolved)
{
    static const char *const words[] = {"constant", "linear", "smooth"};
    const firn_param *param = value->param;
    if (value->text != NULL) {
        char path[FIRN_PATH_SIZE];
        bool resolve = resolved && param->type == FIRN_PATH && value->text[0] != '\0';
        if (resolve && firn_absolute_path(graph, value->text, path, sizeof path))
            return json_string(path);
        return json_string(value->text);
    }
    if (value->keys == NULL)
        return numbers_json(param, value->number);
    json_t *keys = json_array();
    for (size_t k = 0; k < value->key_count; k++) {
        json_t *numbers = param->type == FIRN_BOOL || param->type == FIRN_CHOICE
                              ? json_integer((json_int_t)value->keys[k].value[0])
                              : numbers_json(param, value->keys[k].value);
        json_array_append_new(keys, json_pack("[f, o]", value->keys[k].frame, numbers));
    }
    return json_pack("{s:o, s:s}", "keys", keys, "interpolation", words[value->interpolation]);
}

static json_t *layer_json(const firn_node *node, firn_layer layer, bool resolved)
{
    json_t *object = json_object();
    firn_param_table table = node->type->info.params;
    for (size_t i = 0; i < table.count; i++) {
        const firn_param *param = &table.params[i];
        const firn_value *value =
            resolved ? firn_node_value(node, param) : firn_values_find(&node->layers[layer], param);
        if (value != NULL)
            json_object_set_new(object, param->name, value_json(node->graph, value, resolved));
    }
    return object;
}

static json_t *inputs_json(const firn_node *node)
{
    json_t *object = json_object();
    for (size_t s = 0; s < node->type->info.input_count; s++) {
        const firn_slot *slot = &node->inputs[s];
        const firn_node_input *input = &node->type->info.inputs[s];
        if (slot->count == 0)
            continue;
        json_t *list = json_array();
        for (size_t k = 0; k < slot->count; k++)
            json_array_append_new(list, json_string(slot->from[k]->name));
        if (input->many) {
            json_object_set_new(object, input->name, list);
        } else {
            json_object_set(object, input->name, json_array_get(list, 0));
            json_decref(list);
        }
    }
    return object;
}

// An object without members says nothing and is left out.
static void set_unless_empty(json_t *object, const char *key, json_t *value)
{
    if (json_object_size(value) > 0)
        json_object_set_new(object, key, value);
    else
        json_decref(value);
}

static void set_ui(json_t *object, const char *text)
{
    json_t *ui = text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    if (ui != NULL)
        json_object_set_new(object, "ui", ui);
}

static json_t *node_json(const firn_node *node, bool resolved)
{
    json_t *object = json_object();
    json_object_set_new(object, "type", json_string(node->type->info.name));
    set_unless_empty(object, "params", layer_json(node, FIRN_LAYER_ALWAYS, resolved));
    if (!resolved)
        set_unless_empty(object, "final", layer_json(node, FIRN_LAYER_FINAL, false));
    set_unless_empty(object, "inputs", inputs_json(node));
    if (node->comment != NULL)
        json_object_set_new(object, "comment", json_string(node->comment));
    set_ui(object, node->ui);
    return object;
}

static json_t *graph_json(const firn_graph *graph, bool resolved)
{
    static const char *const plain[] = {"name",    "fps",   "quality", "base",
                                        "version", "wedge", "comment"};
    json_t *root = json_object();
    json_object_set_new(root, "firn", json_integer(1));
    for (size_t i = 0; i < FIRN_COUNT(plain); i++) {
        const firn_param *param = firn_params_find(firn_shot_params(), plain[i]);
        firn_shot initial;
        firn_params_reset(firn_shot_params(), &initial);
        char text[FIRN_TEXT_SIZE], usual[FIRN_TEXT_SIZE], path[FIRN_PATH_SIZE];
        firn_param_print(param, &graph->shot, text, sizeof text);
        firn_param_print(param, &initial, usual, sizeof usual);
        bool always = i < 3;
        double values[3];
        firn_param_get(param, &graph->shot, values);
        if (resolved && param->type == FIRN_PATH &&
            firn_absolute_path(graph, text, path, sizeof path))
            json_object_set_new(root, plain[i], json_string(path));
        else if (firn_param_is_text(param) && (always || strcmp(text, usual) != 0))
            json_object_set_new(root, plain[i], json_string(text));
        else if (!firn_param_is_text(param) && (always || strcmp(text, usual) != 0))
            json_object_set_new(root, plain[i], numbers_json(param, values));
    }
    json_object_set_new(root, "frames", json_pack("[i, i]", graph->shot.first, graph->shot.last));
    json_t *nodes = json_object();
    for (size_t i = 0; i < graph->node_count; i++)
        json_object_set_new(nodes, graph->nodes[i]->name, node_json(graph->nodes[i], resolved));
    json_object_set_new(root, "nodes", nodes);
    // A resolved graph is one of the variants.
    json_t *vary = json_array();
    for (size_t i = 0; !resolved && i < graph->vary_count; i++)
        json_array_append_new(vary, json_string(graph->vary[i]));
    if (json_array_size(vary) > 0)
        json_object_set(root, "vary", vary);
    json_decref(vary);
    set_ui(root, graph->ui);
    return root;
}

firn_result firn_graph_print(const firn_graph *graph, bool resolved, char **text, firn_error *error)
{
    json_t *root = graph_json(graph, resolved);
    *text = firn_json_text(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(root);
    return *text != NULL ? FIRN_OK
                         : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot print a graph");
}

static firn_result write_scene(const firn_graph *graph, const char *path, bool resolved,
                               firn_error *error)
{
    json_t *root = graph_json(graph, resolved);
    firn_result result = firn_json_write(root, path, error);
    json_decref(root);
    return result;
}

firn_result firn_graph_save(const firn_graph *graph, const char *path, firn_error *error)
{
    return write_scene(graph, path, false, error);
}

firn_result firn_graph_save_resolved(const firn_graph *graph, const char *path, firn_error *error)
{
    return write_scene(graph, path, true, error);
}
