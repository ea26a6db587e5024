#include "bake.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 3 }; // differences that are spelled out

/// What was found so far.
typedef struct listing {
    char *text;
    size_t size, length;
    int count;
} listing;

static void add(listing *to, const char *format, ...) FIRN_PRINTF(2, 3);

static void add(listing *to, const char *format, ...)
{
    if (to->count++ >= SHOWN || to->length + 1 >= to->size)
        return;
    if (to->count > 1)
        to->length += (size_t)snprintf(to->text + to->length, to->size - to->length, ", ");
    if (to->length + 1 >= to->size)
        return;
    va_list values;
    va_start(values, format);
    int length = vsnprintf(to->text + to->length, to->size - to->length, format, values);
    va_end(values);
    to->length += length > 0 ? (size_t)length : 0;
    to->length = to->length < to->size ? to->length : to->size - 1;
}

static bool has_keys(const firn_graph *graph, const char *node, const char *param)
{
    size_t count = 0;
    firn_interpolation interpolation;
    return firn_graph_keys(graph, node, param, &count, &interpolation) != NULL;
}

static bool same_keys(const firn_graph *a, const firn_graph *b, const char *node, const char *param)
{
    size_t count[2] = {0, 0};
    firn_interpolation how[2] = {FIRN_INTERPOLATION_CONSTANT, FIRN_INTERPOLATION_CONSTANT};
    const firn_key *keys[2] = {firn_graph_keys(a, node, param, &count[0], &how[0]),
                               firn_graph_keys(b, node, param, &count[1], &how[1])};
    if (keys[0] == NULL || keys[1] == NULL)
        return keys[0] == keys[1];
    return count[0] == count[1] && how[0] == how[1] &&
           memcmp(keys[0], keys[1], count[0] * sizeof *keys[0]) == 0;
}

static void value_of(const firn_graph *graph, const char *node, const firn_param *param, char *text,
                     size_t size)
{
    text[0] = '\0';
    if (param->type == FIRN_PATH)
        firn_graph_get_path(graph, node, param->name, text, size, NULL);
    else
        firn_graph_get_text(graph, node, param->name, firn_graph_shot(graph)->first, text, size,
                            NULL);
}

static void compare_values(const firn_graph *now, const firn_graph *then, const firn_node *node,
                           listing *to)
{
    firn_param_table table = node->type->info.params;
    for (size_t i = 0; i < table.count; i++) {
        const firn_param *param = &table.params[i];
        char was[FIRN_PATH_SIZE], is[FIRN_PATH_SIZE];
        if (firn_list_has(node->type->node->neutral, param->name))
            continue;
        if (!same_keys(now, then, node->name, param->name)) {
            add(to, "other keys of %s.%s", node->name, param->name);
            continue;
        }
        value_of(then, node->name, param, was, sizeof was);
        value_of(now, node->name, param, is, sizeof is);
        if (!has_keys(now, node->name, param->name) && strcmp(was, is) != 0)
            add(to, "%s.%s = %.40s, not %.40s", node->name, param->name,
                was[0] != '\0' ? was : "''", is[0] != '\0' ? is : "''");
    }
}

static bool same_links(const firn_graph *now, const firn_graph *then, const firn_node *node)
{
    const firn_node_info *info = &node->type->info;
    for (size_t s = 0; s < info->input_count; s++)
        for (size_t k = 0;; k++) {
            const char *a = firn_graph_input(now, node->name, info->inputs[s].name, k);
            const char *b = firn_graph_input(then, node->name, info->inputs[s].name, k);
            if (a == NULL && b == NULL)
                break;
            if (a == NULL || b == NULL || strcmp(a, b) != 0)
                return false;
        }
    return true;
}

static void compare_nodes(const firn_graph *now, const firn_graph *then, listing *to)
{
    for (size_t i = 0; i < now->node_count; i++) {
        const firn_node *node = now->nodes[i], *other = firn_graph_find(then, node->name);
        if (other == NULL || strcmp(other->type->info.name, node->type->info.name) != 0) {
            add(to, "a graph without %s (%s)", node->name, node->type->info.name);
            continue;
        }
        compare_values(now, then, node, to);
        if (!same_links(now, then, node))
            add(to, "other links of %s", node->name);
    }
    for (size_t i = 0; i < then->node_count; i++)
        if (firn_graph_find(now, then->nodes[i]->name) == NULL)
            add(to, "a graph with %s (%s)", then->nodes[i]->name, then->nodes[i]->type->info.name);
    if (now->shot.first != then->shot.first)
        add(to, "first = %d, not %d", then->shot.first, now->shot.first);
    if (now->shot.fps != then->shot.fps)
        add(to, "fps = %g, not %g", (double)then->shot.fps, (double)now->shot.fps);
}

void firn_graph_differences(firn_graph *graph, const char *folder, char *text, size_t size)
{
    char path[FIRN_PATH_SIZE];
    firn_graph *then = NULL;
    listing to = {.text = text, .size = size};
    snprintf(text, size, "its graph cannot be read");
    snprintf(path, sizeof path, "%.4000s/resolved.firn", folder);
    if (firn_graph_load(path, &then, NULL) != FIRN_OK)
        return;
    compare_nodes(graph, then, &to);
    if (to.count == 0)
        snprintf(text, size, "an input file has changed, or another version of Firn made it");
    else if (to.count > SHOWN)
        snprintf(text + to.length, size - to.length, " and %d more", to.count - SHOWN);
    firn_graph_destroy(then);
}
