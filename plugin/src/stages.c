/// How the nodes of a shot that write may be cooked apart from each other.
#include "folder.h"
#include "graph_state.h"

#include "firn/cache.h"

#include <stdio.h>
#include <string.h>

bool firn_file_is_exact(const char *name)
{
    return firn_ends_with(name, ".bgeo") || firn_ends_with(name, ".bgeo.gz") ||
           firn_ends_with(name, ".abc");
}

static bool is_after_simulation(const firn_node *node)
{
    for (size_t s = 0; s < node->type->info.input_count; s++)
        for (size_t k = 0; k < node->inputs[s].count; k++)
            if (node->inputs[s].from[k]->type->info.sequential)
                return true;
    return false;
}

static bool is_writer(const firn_node *node)
{
    return node->type->info.output == FIRN_KIND_NONE && !firn_node_is_idle(node);
}

static bool append(char *list, size_t size, const char *name)
{
    size_t length = strlen(list);
    int more = snprintf(list + length, size - length, "%s%s", length > 0 ? "," : "", name);
    return more >= 0 && (size_t)more < size - length;
}

// Whether what the simulation leaves can be read again: its particles, in every bit.
static bool leaves_particles(const firn_graph *graph)
{
    bool found = false;
    for (size_t i = 0; i < graph->node_count; i++) {
        const firn_node *node = graph->order[i];
        if (node->type->info.sequential && node->type->node->replay == NULL)
            return false;
        if (!is_writer(node) || !is_after_simulation(node))
            continue;
        firn_node_output file;
        const firn_node_type *type = node->type->node;
        for (size_t k = 0; type->writes != NULL && type->writes(node->settings, k, &file); k++) {
            char name[FIRN_NAME_SIZE];
            snprintf(name, sizeof name, ".%s", file.extension);
            found = found || firn_file_is_exact(name);
        }
    }
    return found;
}

firn_result firn_graph_stages(firn_graph *graph, char *simulated, char *later, size_t size,
                              firn_error *error)
{
    simulated[0] = later[0] = '\0';
    FIRN_TRY(firn_graph_validate(graph, NULL, NULL, error));
    bool apart = leaves_particles(graph);
    for (size_t i = 0; i < graph->node_count; i++) {
        const firn_node *node = graph->order[i];
        if (!is_writer(node))
            continue;
        FIRN_TRY(firn_node_settings(node, graph->shot.first, true, node->settings, error));
        bool behind = apart && !is_after_simulation(node) && !firn_node_spans(node);
        if (!append(behind ? later : simulated, size, node->name))
            return firn_fail(error, FIRN_ERR_ARGUMENT, "the names of the nodes are too long");
    }
    return FIRN_OK;
}
