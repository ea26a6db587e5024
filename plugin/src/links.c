#include "graph_state.h"

#include <stdio.h>
#include <string.h>

static const char *input_name_at(const void *type, size_t index)
{
    const firn_node_info *info = type;
    return index < info->input_count ? info->inputs[index].name : NULL;
}

// The slot with that name, or the only one that takes the kind when name is NULL.
static firn_result find_slot(const firn_node *to, const firn_node *from, const char *name,
                             size_t *slot, firn_error *error)
{
    const firn_node_info *info = &to->type->info;
    for (*slot = 0; *slot < info->input_count; (*slot)++) {
        const firn_node_input *input = &info->inputs[*slot];
        if (name != NULL ? strcmp(input->name, name) == 0 : input->kind == from->type->info.output)
            return FIRN_OK;
    }
    if (name == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s has no input for what %s makes, which is a %s", to->name, from->name,
                         firn_kind_name(from->type->info.output));
    char hint[100];
    firn_did_you_mean(info, input_name_at, name, hint, sizeof hint);
    return firn_fail(error, FIRN_ERR_NOT_FOUND, "%s has no input '%.100s'%s", to->name, name, hint);
}

// Marks everything that the node depends on, itself included.
static void mark_inputs(firn_graph *graph, firn_node *node)
{
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->reached = graph->nodes[i] == node;
    for (size_t i = graph->node_count; i-- > 0;) {
        const firn_node *at = graph->order[i];
        for (size_t s = 0; at->reached && s < at->type->info.input_count; s++)
            for (size_t k = 0; k < at->inputs[s].count; k++)
                at->inputs[s].from[k]->reached = true;
    }
}

// Inputs before the nodes that use them; the order of addition where links leave a choice. Links
// that would make a loop are never made, so everything finds its place.
void firn_graph_sort(firn_graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->reached = false;
    for (size_t placed = 0; placed < graph->node_count;) {
        for (size_t i = 0; i < graph->node_count; i++) {
            firn_node *node = graph->nodes[i];
            bool ready = !node->reached;
            for (size_t s = 0; ready && s < node->type->info.input_count; s++)
                for (size_t k = 0; k < node->inputs[s].count; k++)
                    ready = ready && node->inputs[s].from[k]->reached;
            if (!ready)
                continue;
            node->reached = true;
            graph->order[placed++] = node;
        }
    }
}

firn_result firn_graph_link(firn_graph *graph, const char *from, const char *to, const char *input,
                            firn_error *error)
{
    firn_node *source = NULL, *target = NULL;
    size_t index = 0;
    FIRN_TRY(firn_graph_need(graph, from, &source, error));
    FIRN_TRY(firn_graph_need(graph, to, &target, error));
    FIRN_TRY(find_slot(target, source, input, &index, error));
    const firn_node_input *traits = &target->type->info.inputs[index];
    if (traits->kind != source->type->info.output)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "%s.%s takes a %s, but %s makes a %s", to,
                         traits->name, firn_kind_name(traits->kind), from,
                         firn_kind_name(source->type->info.output));
    mark_inputs(graph, source);
    if (target->reached)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a link from %s to %s would make a loop: %s depends on %s", from, to, from,
                         to);
    firn_slot *slot = &target->inputs[index];
    for (size_t k = 0; k < slot->count; k++)
        if (slot->from[k] == source)
            return FIRN_OK;
    if (!traits->many && slot->count > 0)
        slot->count = 0;
    FIRN_TRY(firn_grow(&slot->from, &slot->capacity, slot->count, sizeof *slot->from, error));
    slot->from[slot->count++] = source;
    firn_graph_sort(graph);
    return FIRN_OK;
}

firn_result firn_graph_unlink(firn_graph *graph, const char *from, const char *to,
                              const char *input, firn_error *error)
{
    firn_node *source = NULL, *target = NULL;
    size_t index = 0;
    FIRN_TRY(firn_graph_need(graph, from, &source, error));
    FIRN_TRY(firn_graph_need(graph, to, &target, error));
    FIRN_TRY(find_slot(target, source, input, &index, error));
    firn_slot *slot = &target->inputs[index];
    for (size_t k = 0; k < slot->count; k++) {
        if (slot->from[k] != source)
            continue;
        memmove(&slot->from[k], &slot->from[k + 1], (slot->count - k - 1) * sizeof *slot->from);
        slot->count--;
        return FIRN_OK;
    }
    return firn_fail(error, FIRN_ERR_NOT_FOUND, "%s is not linked to %s", from, to);
}

const char *firn_graph_input(const firn_graph *graph, const char *node, const char *input,
                             size_t index)
{
    const firn_node *found = firn_graph_find(graph, node);
    for (size_t i = 0; found != NULL && i < found->type->info.input_count; i++)
        if (strcmp(found->type->info.inputs[i].name, input) == 0)
            return index < found->inputs[i].count ? found->inputs[i].from[index]->name : NULL;
    return NULL;
}
