#include "graph_state.h"
#include "json_text.h"

#include <string.h>

static json_t *number_json(const firn_param *param, double value)
{
    return param->type == FIRN_INT ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *default_json(const firn_param *param)
{
    char choice[FIRN_NAME_SIZE];
    if (firn_param_is_text(param))
        return json_string(param->text != NULL ? param->text : "");
    if (param->type == FIRN_BOOL)
        return json_boolean(param->initial[0] != 0.0);
    if (param->type == FIRN_CHOICE)
        return firn_param_choice(param, (int)param->initial[0], choice, sizeof choice)
                   ? json_string(choice)
                   : NULL;
    if (param->type == FIRN_VEC3)
        return json_pack("[f, f, f]", param->initial[0], param->initial[1], param->initial[2]);
    return number_json(param, param->initial[0]);
}

static json_t *choices_json(const firn_param *param)
{
    json_t *list = json_array();
    char name[FIRN_NAME_SIZE];
    for (int i = 0; firn_param_choice(param, i, name, sizeof name); i++)
        json_array_append_new(list, json_string(name));
    return list;
}

static json_t *param_json(const firn_graph *graph, const char *type, const firn_param *param)
{
    char label[FIRN_TEXT_SIZE];
    firn_param_label(param, label, sizeof label);
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(param->name));
    json_object_set_new(object, "label", json_string(label));
    json_object_set_new(object, "type", json_string(firn_param_type_name(param->type)));
    json_object_set_new(object, "default", default_json(param));
    if (param->type == FIRN_CHOICE) {
        json_object_set_new(object, "choices", choices_json(param));
    } else if (param->type != FIRN_BOOL && !firn_param_is_text(param)) {
        json_object_set_new(object, "min", number_json(param, param->min));
        json_object_set_new(object, "max", number_json(param, param->max));
    }
    json_object_set_new(object, "unit", json_string(param->unit));
    json_object_set_new(object, "help", json_string(param->help));
    if (param->visible_when != NULL)
        json_object_set_new(object, "visible_when", json_string(param->visible_when));
    bool animated = firn_graph_param_is_animated(graph, type, param->name);
    json_object_set_new(object, "animated", json_boolean(animated));
    return object;
}

static json_t *inputs_json(const firn_node_info *info)
{
    json_t *list = json_array();
    for (size_t i = 0; i < info->input_count; i++) {
        const firn_node_input *input = &info->inputs[i];
        json_t *object = json_object();
        json_object_set_new(object, "name", json_string(input->name));
        json_object_set_new(object, "kind", json_string(firn_kind_name(input->kind)));
        json_object_set_new(object, "many", json_boolean(input->many));
        json_object_set_new(object, "required", json_boolean(input->required));
        json_object_set_new(object, "help", json_string(input->help));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *type_json(const firn_graph *graph, const firn_node_info *info)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(info->name));
    json_object_set_new(object, "label", json_string(info->label));
    json_object_set_new(object, "category", json_string(info->category));
    json_object_set_new(object, "help", json_string(info->help));
    json_object_set_new(object, "inputs", inputs_json(info));
    json_object_set_new(object, "output", json_string(firn_kind_name(info->output)));
    json_object_set_new(object, "sequential", json_boolean(info->sequential));
    json_t *params = json_array();
    for (size_t i = 0; i < info->params.count; i++)
        json_array_append_new(params, param_json(graph, info->name, &info->params.params[i]));
    json_object_set_new(object, "params", params);
    return object;
}

static json_t *tables_json(const firn_graph *graph, const firn_node_info *shot)
{
    json_t *root = json_object();
    json_object_set_new(root, "version", json_string(FIRN_VERSION));
    json_object_set_new(root, "shot", type_json(graph, shot));
    json_t *nodes = json_array();
    for (size_t i = 0; i < graph->type_count; i++)
        json_array_append_new(nodes, type_json(graph, &graph->types[i].info));
    json_object_set_new(root, "nodes", nodes);
    return root;
}

firn_node_info firn_shot_info(void)
{
    firn_node_info info = {.name = "shot",
                           .label = "Shot",
                           .category = "Graph",
                           .help = "Settings of the whole graph.",
                           .params = firn_shot_params(),
                           .output = FIRN_KIND_NONE};
    return info;
}

firn_result firn_graph_describe(const firn_graph *graph, const char *type, char **text,
                                firn_error *error)
{
    *text = NULL;
    firn_node_info shot = firn_shot_info();
    const firn_node_info *info = NULL;
    if (type != NULL) {
        info = strcmp(type, shot.name) == 0 ? &shot : firn_graph_type_find(graph, type);
        if (info == NULL)
            return firn_fail(error, FIRN_ERR_NOT_FOUND, "there is no node type '%s'", type);
    }
    json_t *root = info != NULL ? type_json(graph, info) : tables_json(graph, &shot);
    *text = firn_json_text(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(root);
    return *text != NULL ? FIRN_OK
                         : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot describe");
}
