/// What can be known about a shot as a whole before it is cooked.
#include "graph_state.h"

#include <stdio.h>
#include <string.h>

// --- Files that are written ----------------------------------------------------------------------

static firn_result output_of(firn_node *node, size_t index, firn_node_output *output, bool *found)
{
    const firn_graph *graph = node->graph;
    *found = false;
    if (node->type->node->writes == NULL)
        return FIRN_OK;
    FIRN_TRY(firn_node_settings(node, graph->shot.first, true, node->settings, NULL));
    *found = node->type->node->writes(node->settings, index, output);
    return FIRN_OK;
}

static bool same_file(const firn_graph *graph, const firn_node_output *a, const firn_node_output *b)
{
    char first[FIRN_PATH_SIZE], second[FIRN_PATH_SIZE];
    return firn_graph_output_path(graph, "", a, graph->shot.first, first, NULL) == FIRN_OK &&
           firn_graph_output_path(graph, "", b, graph->shot.first, second, NULL) == FIRN_OK &&
           strcmp(first, second) == 0;
}

static firn_result compare_outputs(firn_node *one, firn_node *other, firn_error *error)
{
    firn_node_output a, b;
    bool found = true;
    for (size_t i = 0; output_of(one, i, &a, &found) == FIRN_OK && found; i++)
        for (size_t k = 0; output_of(other, k, &b, &found) == FIRN_OK && found; k++)
            if (same_file(one->graph, &a, &b))
                return firn_graph_problem(
                    other->graph, FIRN_LEVEL_ERROR, FIRN_ERR_ARGUMENT, other->name, error,
                    "%s and %s write the same file '%.100s.%s'; give one of "
                    "them a name",
                    one->name, other->name, a.name[0] != '\0' ? a.name : one->graph->shot.name,
                    a.extension);
    return FIRN_OK;
}

// --- Snow ----------------------------------------------------------------------------------------

/// A value of a node at the first frame, by name; what it has not stays zero.
static void value_of(const firn_node *node, const char *param, double values[3])
{
    values[0] = values[1] = values[2] = 0.0;
    firn_graph_get(node->graph, node->name, param, node->graph->shot.first, values, NULL);
}

static bool has_region(const firn_node *source, const char *name)
{
    char text[FIRN_TEXT_SIZE] = "";
    firn_graph_get_text(source->graph, source->name, "region", 0.0, text, sizeof text, NULL);
    return strcmp(text, name) == 0;
}

// Half of the edges of the box around a region; false when only its file tells.
static bool extent_of(const firn_node *source, double half[3], double *volume)
{
    value_of(source, "half_size", half);
    *volume = 8.0 * half[0] * half[1] * half[2];
    if (has_region(source, "box"))
        return true;
    double radius[3];
    value_of(source, "radius", radius);
    half[0] = half[1] = half[2] = radius[0];
    *volume = 4.18879 * radius[0] * radius[0] * radius[0];
    return has_region(source, "sphere");
}

static firn_result check_place(const firn_node *solver, const firn_node *source, firn_error *error)
{
    double half[3], volume, center[3], lower[3], upper[3], cell[3], count[3];
    if (!extent_of(source, half, &volume))
        return FIRN_OK;
    value_of(source, "center", center);
    value_of(source, "particles_per_cell", count);
    value_of(solver, "domain_lower", lower);
    value_of(solver, "domain_upper", upper);
    value_of(solver, "cell_size", cell);
    bool beyond = false, reaches = false;
    for (int a = 0; a < 3; a++) {
        beyond = beyond || center[a] + half[a] < lower[a] || center[a] - half[a] > upper[a];
        reaches = reaches || center[a] - half[a] < lower[a] || center[a] + half[a] > upper[a];
    }
    double expected = volume / (cell[0] * cell[0] * cell[0]) * count[0];
    if (beyond)
        return firn_graph_problem(source->graph, FIRN_LEVEL_ERROR, FIRN_ERR_ARGUMENT, source->name,
                                  error,
                                  "%s lies outside of the domain of %s; snow there is removed at "
                                  "once",
                                  source->name, solver->name);
    if (reaches)
        return firn_graph_problem(
            source->graph, FIRN_LEVEL_WARNING, FIRN_OK, source->name, error,
            "%s reaches out of the domain of %s; that part is removed at once", source->name,
            solver->name);
    if (expected < 1.0)
        return firn_graph_problem(source->graph, FIRN_LEVEL_WARNING, FIRN_OK, source->name, error,
                                  "%s is too small for a particle in the cells of %s", source->name,
                                  solver->name);
    return FIRN_OK;
}

static firn_result check_times(const firn_node *source, firn_error *error)
{
    const firn_shot *shot = &source->graph->shot;
    double start[3];
    value_of(source, "start", start);
    if (start[0] <= (shot->last - shot->first) / (double)shot->fps)
        return FIRN_OK;
    return firn_graph_problem(source->graph, FIRN_LEVEL_WARNING, FIRN_OK, source->name, error,
                              "%s starts at %g s, after the last frame", source->name, start[0]);
}

static firn_result check_solver(const firn_node *solver, firn_error *error)
{
    for (size_t s = 0; s < solver->type->info.input_count; s++)
        for (size_t k = 0; k < solver->inputs[s].count; k++) {
            const firn_node *from = solver->inputs[s].from[k];
            if (strcmp(from->type->info.name, "snow_source") != 0)
                continue;
            FIRN_TRY(check_place(solver, from, error));
            FIRN_TRY(check_times(from, error));
        }
    return FIRN_OK;
}

firn_result firn_graph_check_shot(firn_graph *graph, firn_error *error)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        for (size_t k = 0; k < i; k++)
            FIRN_TRY(compare_outputs(graph->nodes[k], graph->nodes[i], error));
        if (strcmp(graph->nodes[i]->type->info.name, "solver") == 0)
            FIRN_TRY(check_solver(graph->nodes[i], error));
    }
    return FIRN_OK;
}
