#include "firn/shot.h"

#include <string.h>

// A node that brings something from outside: nothing but materials comes before it.
static bool is_input(const firn_node_info *type)
{
    return type->output == FIRN_KIND_COLLIDER || type->output == FIRN_KIND_SOURCE ||
           strncmp(type->name, "read_", 5) == 0;
}

static firn_result read_input(firn_graph *graph, const char *node, bool all, firn_error *error)
{
    const firn_shot *shot = firn_graph_shot(graph);
    for (int frame = shot->first; frame <= shot->last; frame++) {
        const firn_data *data = NULL;
        if (all || frame == shot->first || frame == shot->last)
            FIRN_TRY(firn_graph_cook(graph, node, frame, &data, error));
    }
    return FIRN_OK;
}

firn_result firn_graph_check_inputs(firn_graph *graph, bool all_frames, firn_input_tell *tell,
                                    void *user, size_t *count, firn_error *error)
{
    firn_result result = FIRN_OK;
    const char *node;
    size_t read = 0;
    for (size_t i = 0; (node = firn_graph_node(graph, i)) != NULL; i++) {
        firn_error cause;
        if (!is_input(firn_graph_node_type(graph, node)))
            continue;
        read++;
        firn_result one = read_input(graph, node, all_frames, &cause);
        if (one != FIRN_OK && tell != NULL)
            tell(node, one, cause.message, user);
        if (one != FIRN_OK && result == FIRN_OK)
            result = firn_fail(error, one, "%s", cause.message);
    }
    if (count != NULL)
        *count = read;
    return result;
}
