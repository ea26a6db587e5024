#define _POSIX_C_SOURCE 200809L
#include "graph_state.h"

#include "firn/cache.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void forget_problems(firn_graph *graph)
{
    for (size_t i = 0; i < graph->problem_count; i++)
        firn_free((void *)graph->problems[i].message);
    graph->problem_count = 0;
}

static firn_result add_problem(firn_graph *graph, const firn_problem *problem, firn_error *error)
{
    FIRN_TRY(firn_grow(&graph->problems, &graph->problem_capacity, graph->problem_count,
                       sizeof *problem, error));
    firn_problem copy = *problem;
    copy.message = firn_text_copy(problem->message);
    if (copy.message == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the problems");
    graph->problems[graph->problem_count++] = copy;
    return FIRN_OK;
}

firn_result firn_graph_problem(firn_graph *graph, firn_level level, firn_result code,
                               const char *node, firn_error *error, const char *format, ...)
{
    char message[FIRN_MESSAGE_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    firn_problem problem = {level, code, node, "", message};
    return add_problem(graph, &problem, error);
}

static firn_result check_inputs(firn_node *node, firn_error *error)
{
    const firn_node_info *info = &node->type->info;
    for (size_t s = 0; s < info->input_count; s++) {
        if (!info->inputs[s].required || node->inputs[s].count > 0)
            continue;
        char message[FIRN_MESSAGE_SIZE];
        snprintf(message, sizeof message, "%s (%s) needs a %s at its input '%s'", node->name,
                 info->name, firn_kind_name(info->inputs[s].kind), info->inputs[s].name);
        firn_problem problem = {FIRN_LEVEL_ERROR, FIRN_ERR_ARGUMENT, node->name, "", message};
        FIRN_TRY(add_problem(node->graph, &problem, error));
    }
    return FIRN_OK;
}

// Names the first file that is missing and how many there are.
static firn_result check_files(firn_node *node, const firn_param *param, firn_error *error)
{
    const firn_shot *shot = &node->graph->shot;
    char path[FIRN_PATH_SIZE], before[FIRN_PATH_SIZE] = "", first[FIRN_PATH_SIZE] = "";
    int missing = 0, unreadable = 0, present = 0;
    int last = node->type->node->time_dependent ? shot->last : shot->first;
    for (int frame = shot->first; frame <= last; frame++) {
        if (!firn_node_file(node, node->settings, param, frame, path, sizeof path) ||
            strcmp(path, before) == 0)
            break;
        // Anything that cannot be read now would end the cook when its frame comes.
        struct stat status;
        bool absent = stat(path, &status) != 0;
        bool shut =
            !absent && (!S_ISREG(status.st_mode) || status.st_size == 0 || access(path, R_OK) != 0);
        if ((absent || shut) && missing + unreadable == 0)
            memcpy(first, path, sizeof first);
        missing += absent;
        unreadable += shut;
        present += !absent && !shut;
        memcpy(before, path, sizeof before);
    }
    if (missing + unreadable == 0)
        return FIRN_OK;
    const firn_node_type *type = node->type->node;
    bool may_bridge = present > 0 && unreadable == 0 && type->bridges_gaps != NULL;
    bool bridged = may_bridge && type->bridges_gaps(node->settings, param);
    char message[FIRN_MESSAGE_SIZE], more[64] = "", text[FIRN_TEXT_SIZE];
    if (missing + unreadable > 1)
        snprintf(more, sizeof more, " (and %d more of its frames)", missing + unreadable - 1);
    bool moves = firn_graph_get_text(node->graph, node->name, "sequence_missing", 0.0, text,
                                     sizeof text, NULL) == FIRN_OK;
    const char *remedy = moves ? "; sequence_missing = hold or interpolate goes without"
                               : "; missing = hold goes without";
    snprintf(message, sizeof message, "%s.%s: %s '%.700s'%s%s", node->name, param->name,
             missing > 0 ? "there is no file" : "nothing can be read from", first, more,
             may_bridge && !bridged ? remedy : "");
    firn_problem problem = {bridged ? FIRN_LEVEL_WARNING : FIRN_LEVEL_ERROR,
                            missing > 0 ? FIRN_ERR_NOT_FOUND : FIRN_ERR_FORMAT, node->name,
                            param->name, message};
    return add_problem(node->graph, &problem, error);
}

static firn_result check_node(firn_node *node, firn_error *error)
{
    FIRN_TRY(check_inputs(node, error));
    firn_error cause;
    const firn_node_type *type = node->type->node;
    firn_result result =
        firn_node_settings(node, node->graph->shot.first, true, node->settings, &cause);
    if (result == FIRN_OK && type->check != NULL) {
        result = type->check(node->settings, &cause);
        if (result != FIRN_OK)
            firn_prefix_error(&cause, node->name);
    }
    if (result != FIRN_OK) {
        firn_problem problem = {FIRN_LEVEL_ERROR, result, node->name, "", cause.message};
        return add_problem(node->graph, &problem, error);
    }
    firn_param_table table = node->type->info.params;
    for (size_t i = 0; i < table.count; i++)
        if (table.params[i].type == FIRN_PATH)
            FIRN_TRY(check_files(node, &table.params[i], error));
    return FIRN_OK;
}

// Nodes that nothing uses do no harm but are rarely meant.
static firn_result check_uses(firn_graph *graph, firn_error *error)
{
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->reached = graph->nodes[i]->type->info.output == FIRN_KIND_NONE;
    for (size_t i = graph->node_count; i-- > 0;) {
        const firn_node *node = graph->order[i];
        for (size_t s = 0; s < node->type->info.input_count; s++)
            for (size_t k = 0; k < node->inputs[s].count; k++)
                node->inputs[s].from[k]->reached = true;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const firn_node *node = graph->nodes[i];
        bool ends = node->type->info.output == FIRN_KIND_PARTICLES ||
                    node->type->info.output == FIRN_KIND_VOLUME;
        if (node->reached || ends)
            continue;
        char message[FIRN_MESSAGE_SIZE];
        snprintf(message, sizeof message, "%s is not linked to anything and has no effect",
                 node->name);
        firn_problem problem = {FIRN_LEVEL_WARNING, FIRN_OK, node->name, "", message};
        FIRN_TRY(add_problem(graph, &problem, error));
    }
    return FIRN_OK;
}

// Where the files go, of a graph that writes any.
static firn_result check_place(firn_graph *graph, firn_error *error)
{
    char folder[FIRN_PATH_SIZE];
    firn_error cause;
    bool writes = false;
    for (size_t i = 0; i < graph->node_count; i++)
        writes = writes || graph->nodes[i]->type->info.output == FIRN_KIND_NONE;
    firn_result result = FIRN_OK;
    if (writes)
        result = firn_graph_cache_folder(graph, folder, sizeof folder, &cause);
    if (result == FIRN_OK)
        return FIRN_OK;
    firn_problem problem = {FIRN_LEVEL_ERROR, result, "", "", cause.message};
    return add_problem(graph, &problem, error);
}

firn_result firn_graph_validate(firn_graph *graph, const firn_problem **problems, size_t *count,
                                firn_error *error)
{
    forget_problems(graph);
    if (graph->shot.first > graph->shot.last) {
        char message[FIRN_MESSAGE_SIZE];
        snprintf(message, sizeof message, "the graph ends at frame %d, before it begins at %d",
                 graph->shot.last, graph->shot.first);
        firn_problem problem = {FIRN_LEVEL_ERROR, FIRN_ERR_ARGUMENT, "", "", message};
        FIRN_TRY(add_problem(graph, &problem, error));
    }
    FIRN_TRY(check_place(graph, error));
    for (size_t i = 0; i < graph->node_count; i++)
        FIRN_TRY(check_node(graph->nodes[i], error));
    FIRN_TRY(check_uses(graph, error));
    FIRN_TRY(firn_graph_check_shot(graph, error));
    if (problems != NULL)
        *problems = graph->problems;
    if (count != NULL)
        *count = graph->problem_count;
    for (size_t i = 0; i < graph->problem_count; i++)
        if (graph->problems[i].level == FIRN_LEVEL_ERROR) {
            snprintf(graph->failed, sizeof graph->failed, "%s", graph->problems[i].node);
            return firn_fail(error, graph->problems[i].code, "%s", graph->problems[i].message);
        }
    return FIRN_OK;
}
