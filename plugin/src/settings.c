#define _POSIX_C_SOURCE 200809L
#include "graph_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const firn_value *firn_node_value(const firn_node *node, const firn_param *param)
{
    const firn_value *value = NULL;
    if (node->graph->shot.quality == FIRN_QUALITY_FINAL)
        value = firn_values_find(&node->layers[FIRN_LAYER_FINAL], param);
    return value != NULL ? value : firn_values_find(&node->layers[FIRN_LAYER_ALWAYS], param);
}

// What the user set, on top of what is there.
static firn_result apply_values(const firn_node *node, double frame, void *settings,
                                firn_error *error)
{
    int layers = node->graph->shot.quality == FIRN_QUALITY_FINAL ? 2 : 1;
    for (int l = 0; l < layers; l++) {
        const firn_values *values = &node->layers[l];
        for (size_t i = 0; i < values->count; i++) {
            const firn_value *value = &values->items[i];
            if (value->text != NULL) {
                FIRN_TRY(firn_param_parse(value->param, settings, value->text, error));
                continue;
            }
            double numbers[3];
            firn_value_at(value, frame, numbers);
            FIRN_TRY(firn_param_set(value->param, settings, numbers, error));
        }
    }
    return FIRN_OK;
}

static bool is_word(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// $F and $F4 are frame numbers, not variables.
static bool is_frame_token(const char *name, size_t length)
{
    return length > 0 && name[0] == 'F' && strspn(name + 1, "0123456789") >= length - 1;
}

// Replaces the variable at *at, a '$', and moves behind it.
static firn_result append_variable(const char **at, char *path, size_t *length, size_t size,
                                   firn_error *error)
{
    bool braces = (*at)[1] == '{';
    const char *name = *at + 1 + braces;
    size_t count = 0;
    while (is_word(name[count]))
        count++;
    char word[256];
    if (count == 0 || count >= sizeof word || (braces && name[count] != '}'))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "'%.200s' has a '$' that names no variable",
                         *at);
    snprintf(word, sizeof word, "%.*s", (int)count, name);
    const char *text = word;
    char token[300];
    if (!is_frame_token(word, count)) {
        text = getenv(word);
    } else {
        snprintf(token, sizeof token, "$%s", word);
        text = token;
    }
    if (text == NULL)
        return firn_fail(error, FIRN_ERR_NOT_FOUND,
                         "the environment has no variable '%s'; set it before the cook", word);
    size_t added = strlen(text);
    if (*length + added >= size)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the path is too long with '%s' resolved", word);
    memcpy(path + *length, text, added + 1);
    *length += added;
    *at = name + count + braces;
    return FIRN_OK;
}

firn_result firn_graph_resolve_path(const firn_graph *graph, const char *text, char *path,
                                    size_t size, firn_error *error)
{
    size_t length = 0;
    path[0] = '\0';
    for (const char *at = text; *at != '\0';) {
        if (*at == '$') {
            FIRN_TRY(append_variable(&at, path, &length, size, error));
            continue;
        }
        if (length + 1 >= size)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "the path '%.200s' is too long", text);
        path[length++] = *at++;
        path[length] = '\0';
    }
    if (path[0] == '/' || path[0] == '\0' || strcmp(graph->folder, ".") == 0)
        return FIRN_OK;
    size_t folder = strlen(graph->folder);
    if (folder + 1 + length >= size)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the path '%.200s' is too long", text);
    memmove(path + folder + 1, path, length + 1);
    memcpy(path, graph->folder, folder);
    path[folder] = '/';
    return FIRN_OK;
}

bool firn_absolute_path(const firn_graph *graph, const char *text, char *path, size_t size)
{
    char relative[FIRN_PATH_SIZE], here[FIRN_PATH_SIZE];
    if (firn_graph_resolve_path(graph, text, relative, sizeof relative, NULL) != FIRN_OK)
        return false;
    if (relative[0] == '/')
        return (size_t)snprintf(path, size, "%s", relative) < size;
    return getcwd(here, sizeof here) != NULL &&
           (size_t)snprintf(path, size, "%s/%s", here, relative) < size;
}

static firn_result resolve_paths(const firn_node *node, void *settings, firn_error *error)
{
    firn_param_table table = node->type->info.params;
    for (size_t i = 0; i < table.count; i++) {
        const firn_param *param = &table.params[i];
        if (param->type != FIRN_PATH)
            continue;
        char *field = (char *)settings + param->offset;
        char path[FIRN_TEXT_SIZE];
        firn_result result = firn_graph_resolve_path(node->graph, field, path, sizeof path, error);
        if (result != FIRN_OK && error != NULL) {
            firn_error cause = *error;
            return firn_fail(error, result, "%s: %s", param->name, cause.message);
        }
        FIRN_TRY(result);
        FIRN_TRY(firn_param_parse(param, settings, path, error));
    }
    return FIRN_OK;
}

firn_result firn_node_settings(const firn_node *node, double frame, bool with_paths, void *settings,
                               firn_error *error)
{
    const firn_node_type *type = node->type->node;
    memset(settings, 0, type->settings_size);
    if (type->reset != NULL)
        type->reset(settings);
    firn_params_reset(node->type->info.params, settings);
    firn_result result = apply_values(node, frame, settings, error);
    if (result == FIRN_OK && type->preset != NULL) {
        type->preset(settings);
        result = apply_values(node, frame, settings, error);
    }
    if (result == FIRN_OK && with_paths)
        result = resolve_paths(node, settings, error);
    return result == FIRN_OK ? FIRN_OK : firn_prefix_error(error, node->name);
}

bool firn_node_file(const firn_node *node, const void *settings, const firn_param *param, int frame,
                    char *path, size_t size)
{
    if (param->type != FIRN_PATH)
        return false;
    if (node->type->node->file != NULL)
        return node->type->node->file(settings, param, frame, path, size);
    const char *pattern = (const char *)settings + param->offset;
    return pattern[0] != '\0' && firn_path_of_frame(pattern, frame, path, size, NULL) == FIRN_OK;
}
