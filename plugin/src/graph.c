#include "firn/graph.h"

#include "graph_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(field) FIRN_PARAM(firn_shot, field)

// clang-format off
static const firn_param shot_params[] = {
    {ROW(name), FIRN_STRING, {0}, 0, 0, "", "Name of the shot and of its cache", .text = "snow"},
    {ROW(fps), FIRN_FLOAT, {24}, 1e-3, 1e6, "1/s", "Frames in a second",
     .label = "Frames per second"},
    {ROW(first), FIRN_INT, {1}, -1e6, 1e6, "", "Where the snow is in its initial state",
     .label = "First frame"},
    {ROW(last), FIRN_INT, {48}, -1e6, 1e6, "", "Last frame", .label = "Last frame"},
    {ROW(quality), FIRN_CHOICE, {FIRN_QUALITY_PREVIEW}, 0, 1, "",
     "preview cooks soon; final also applies the values that nodes have for it", "preview|final"},
    {ROW(base), FIRN_PATH, {0}, 0, 0, "", "Folder of caches", .text = "cache"},
    {ROW(version), FIRN_INT, {1}, 0, 1e6, "", "Version of the cache"},
    {ROW(wedge), FIRN_INT, {-1}, -1, 1e6, "", "Number of the variant; -1: there are no variants"},
    {ROW(comment), FIRN_STRING, {0}, 0, 0, "", "A note to the reader"},
};
// clang-format on

firn_param_table firn_shot_params(void)
{
    firn_param_table table = {shot_params, FIRN_COUNT(shot_params)};
    return table;
}

const firn_shot *firn_graph_shot(const firn_graph *graph) { return &graph->shot; }

firn_result firn_graph_create(firn_graph **graph, firn_error *error)
{
    *graph = NULL;
    firn_graph *made = firn_alloc_zero(sizeof *made);
    if (made == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make a graph");
    firn_params_reset(firn_shot_params(), &made->shot);
    snprintf(made->folder, sizeof made->folder, ".");
    firn_result result = firn_foreign_types_load(getenv("FIRN_PLUGIN_PATH"), &made->foreign, error);
    if (result == FIRN_OK)
        result = firn_types_create(&made->foreign, &made->types, &made->type_count, error);
    if (result != FIRN_OK) {
        firn_graph_destroy(made);
        return result;
    }
    *graph = made;
    return FIRN_OK;
}

static void destroy_node(firn_node *node)
{
    if (node == NULL)
        return;
    firn_node_release(node);
    for (int l = 0; l < FIRN_LAYER_COUNT; l++)
        firn_values_clear(&node->layers[l]);
    for (size_t i = 0; node->inputs != NULL && i < node->type->info.input_count; i++)
        firn_free(node->inputs[i].from);
    firn_free(node->inputs);
    firn_free(node->settings);
    firn_free(node->state);
    firn_free(node->ui);
    firn_free(node->comment);
    firn_free(node);
}

void firn_graph_destroy(firn_graph *graph)
{
    if (graph == NULL)
        return;
    // Later nodes borrow from earlier ones.
    for (size_t i = graph->node_count; i-- > 0;)
        firn_node_release(graph->order[i]);
    for (size_t i = 0; i < graph->node_count; i++)
        destroy_node(graph->nodes[i]);
    for (size_t i = 0; i < graph->problem_count; i++)
        firn_free((void *)graph->problems[i].message);
    firn_free(graph->problems);
    firn_free(graph->memos);
    firn_free(graph->nodes);
    firn_free(graph->order);
    firn_free(graph->ui);
    for (size_t i = 0; i < graph->vary_count; i++)
        firn_free(graph->vary[i]);
    firn_free(graph->vary);
    firn_types_destroy(graph->types, graph->type_count);
    firn_free(graph->foreign.rows);
    firn_free(graph);
}

void firn_graph_set_host(firn_graph *graph, const firn_host *host)
{
    graph->host = host != NULL ? *host : (firn_host){0};
}

firn_result firn_graph_set_folder(firn_graph *graph, const char *folder, firn_error *error)
{
    if (strlen(folder) >= sizeof graph->folder)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the folder's name is too long");
    snprintf(graph->folder, sizeof graph->folder, "%s", folder[0] != '\0' ? folder : ".");
    return FIRN_OK;
}

// --- Nodes ---------------------------------------------------------------------------------------

firn_node *firn_graph_find(const firn_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i]->name, name) == 0)
            return graph->nodes[i];
    return NULL;
}

static const char *node_name_at(const void *graph, size_t index)
{
    return firn_graph_node(graph, index);
}

static const char *type_name_at(const void *graph, size_t index)
{
    const firn_node_info *type = firn_graph_type(graph, index);
    return type != NULL ? type->name : NULL;
}

firn_result firn_graph_need(const firn_graph *graph, const char *name, firn_node **node,
                            firn_error *error)
{
    *node = firn_graph_find(graph, name);
    if (*node != NULL)
        return FIRN_OK;
    char hint[100];
    firn_did_you_mean(graph, node_name_at, name, hint, sizeof hint);
    return firn_fail(error, FIRN_ERR_NOT_FOUND, "there is no node '%.100s'%s", name, hint);
}

static firn_result check_name(const firn_graph *graph, const char *name, firn_error *error)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t length = strlen(name);
    if (length == 0 || length >= FIRN_NAME_SIZE || strspn(name, others) != length ||
        strspn(name, letters) == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "'%.100s' is not a name for a node: up to %d letters, digits and '_', "
                         "beginning with a letter",
                         name, FIRN_NAME_SIZE - 1);
    if (firn_graph_find(graph, name) != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "there is a node '%s' already", name);
    return FIRN_OK;
}

static firn_result make_room(firn_graph *graph, firn_error *error)
{
    if (graph->node_count < graph->node_capacity)
        return FIRN_OK;
    size_t capacity = graph->node_capacity;
    FIRN_TRY(firn_grow(&graph->order, &capacity, graph->node_count, sizeof *graph->order, error));
    return firn_grow(&graph->nodes, &graph->node_capacity, graph->node_count, sizeof *graph->nodes,
                     error);
}

firn_result firn_graph_add(firn_graph *graph, const char *type, const char *name, firn_error *error)
{
    const firn_type *found = firn_type_find(graph, type);
    if (found == NULL) {
        char hint[100];
        firn_did_you_mean(graph, type_name_at, type, hint, sizeof hint);
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "there is no node type '%.100s'%s", type,
                         hint[0] != '\0' ? hint : "; plugins are looked for in FIRN_PLUGIN_PATH");
    }
    FIRN_TRY(check_name(graph, name, error));
    FIRN_TRY(make_room(graph, error));
    firn_node *node = firn_alloc_zero(sizeof *node);
    if (node != NULL) {
        const firn_node_type *traits = found->node;
        node->graph = graph;
        node->type = found;
        snprintf(node->name, sizeof node->name, "%s", name);
        node->inputs = firn_alloc_zero((traits->input_count + 1) * sizeof *node->inputs);
        node->settings = firn_alloc_zero(traits->settings_size + 1);
        node->state = firn_alloc_zero(traits->state_size + 1);
    }
    if (node == NULL || node->inputs == NULL || node->settings == NULL || node->state == NULL) {
        destroy_node(node);
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot add the node '%s'", name);
    }
    graph->nodes[graph->node_count] = graph->order[graph->node_count] = node;
    graph->node_count++;
    return FIRN_OK;
}

static void drop_links(firn_node *node, const firn_node *from)
{
    for (size_t i = 0; i < node->type->info.input_count; i++) {
        firn_slot *slot = &node->inputs[i];
        size_t kept = 0;
        for (size_t k = 0; k < slot->count; k++)
            if (slot->from[k] != from)
                slot->from[kept++] = slot->from[k];
        slot->count = kept;
    }
}

firn_result firn_graph_remove(firn_graph *graph, const char *name, firn_error *error)
{
    firn_node *node = NULL;
    FIRN_TRY(firn_graph_need(graph, name, &node, error));
    // Nodes that come after it may hold what it owns.
    for (size_t i = graph->node_count; i-- > 0 && graph->order[i] != node;)
        firn_node_release(graph->order[i]);
    size_t kept = 0, kept_order = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        drop_links(graph->nodes[i], node);
        if (graph->order[i] != node)
            graph->order[kept_order++] = graph->order[i];
    }
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i] != node)
            graph->nodes[kept++] = graph->nodes[i];
    graph->node_count = kept;
    destroy_node(node);
    return FIRN_OK;
}

firn_result firn_graph_rename(firn_graph *graph, const char *name, const char *new_name,
                              firn_error *error)
{
    firn_node *node = NULL;
    FIRN_TRY(firn_graph_need(graph, name, &node, error));
    if (strcmp(name, new_name) == 0)
        return FIRN_OK;
    FIRN_TRY(check_name(graph, new_name, error));
    snprintf(node->name, sizeof node->name, "%s", new_name);
    return FIRN_OK;
}

const char *firn_graph_node(const firn_graph *graph, size_t index)
{
    return index < graph->node_count ? graph->nodes[index]->name : NULL;
}

const firn_node_info *firn_graph_node_type(const firn_graph *graph, const char *name)
{
    const firn_node *node = firn_graph_find(graph, name);
    return node != NULL ? &node->type->info : NULL;
}

firn_result firn_graph_set_ui(firn_graph *graph, const char *node, const char *json,
                              firn_error *error)
{
    firn_node *found = NULL;
    if (node != NULL)
        FIRN_TRY(firn_graph_need(graph, node, &found, error));
    char **place = found != NULL ? &found->ui : &graph->ui;
    char *copy = json != NULL ? firn_text_copy(json) : NULL;
    if (json != NULL && copy == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot keep the host's notes");
    firn_free(*place);
    *place = copy;
    return FIRN_OK;
}

const char *firn_graph_ui(const firn_graph *graph, const char *node)
{
    const firn_node *found = node != NULL ? firn_graph_find(graph, node) : NULL;
    return node == NULL ? graph->ui : found != NULL ? found->ui : NULL;
}

firn_result firn_graph_add_vary(firn_graph *graph, const char *text, firn_error *error)
{
    FIRN_TRY(firn_grow(&graph->vary, &graph->vary_capacity, graph->vary_count, sizeof *graph->vary,
                       error));
    char *copy = firn_text_copy(text);
    if (copy == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot keep what is varied");
    graph->vary[graph->vary_count++] = copy;
    return FIRN_OK;
}

const char *firn_graph_vary(const firn_graph *graph, size_t index)
{
    return index < graph->vary_count ? graph->vary[index] : NULL;
}
