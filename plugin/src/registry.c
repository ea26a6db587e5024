#include "graph_state.h"

#include "nodes/nodes.h"

#include <stdio.h>
#include <string.h>

static const firn_node_type *const built_in[] = {
    &firn_node_snow_source,  &firn_node_material,       &firn_node_collider,
    &firn_node_solver,       &firn_node_rasterize,      &firn_node_write_particles,
    &firn_node_write_volume, &firn_node_read_particles, &firn_node_read_volume,
    &firn_node_render,       &firn_node_fine_particles, &firn_node_write_surface,
    &firn_node_wind,         &firn_node_snow_cover,     &firn_node_write_height,
    &firn_node_snowfall,     &firn_node_body,           &firn_node_joint,
    &firn_node_write_bodies,
};

const char *firn_kind_name(firn_kind kind)
{
    static const char *const names[FIRN_KIND_COUNT] = {
        "nothing", "material", "source", "collider", "particles", "volume", "force", "joint",
    };
    return kind >= 0 && kind < FIRN_KIND_COUNT ? names[kind] : "unknown";
}

static size_t count_rows(const firn_node_type *node)
{
    size_t count = node->param_count;
    for (size_t r = 0; r < node->row_count; r++)
        count += node->rows[r].table().count;
    return count;
}

static void add_rows(firn_type *type, const firn_node_rows *rows)
{
    firn_param_table table = rows->table();
    for (size_t i = 0; i < table.count; i++) {
        const firn_param *row = &table.params[i];
        if (firn_list_has(rows->omit, row->name))
            continue;
        size_t index = type->info.params.count++;
        firn_param *param = &type->params[index];
        *param = *row;
        param->offset += rows->offset;
        if (rows->prefix != NULL) {
            char *name = type->names[index];
            snprintf(name, FIRN_NAME_SIZE, "%s%s", rows->prefix, row->name);
            param->name = name;
            param->label = NULL; // made from the whole name
            param->visible_when = NULL;
        }
        if (param->visible_when == NULL)
            param->visible_when = rows->visible_when;
    }
}

static firn_result flatten(firn_type *type, const firn_node_type *node, firn_error *error)
{
    type->node = node;
    type->params = firn_alloc_zero((count_rows(node) + 1) * sizeof *type->params);
    type->names = firn_alloc_zero((count_rows(node) + 1) * sizeof *type->names);
    if (type->params == NULL || type->names == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the node types");
    firn_node_info *info = &type->info;
    info->name = node->name;
    info->label = node->label;
    info->category = node->category;
    info->help = node->help;
    info->inputs = node->inputs;
    info->input_count = node->input_count;
    info->output = node->output;
    info->sequential = node->sequential;
    info->params.params = type->params;
    for (size_t i = 0; i < node->param_count; i++)
        type->params[info->params.count++] = node->params[i];
    for (size_t r = 0; r < node->row_count; r++)
        add_rows(type, &node->rows[r]);
    return FIRN_OK;
}

static bool is_known(const firn_type *types, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(types[i].node->name, name) == 0)
            return true;
    return false;
}

firn_result firn_types_create(const firn_foreign_types *foreign, firn_type **types, size_t *count,
                              firn_error *error)
{
    *count = FIRN_COUNT(built_in) + foreign->count;
    *types = firn_alloc_zero(sizeof **types * *count);
    if (*types == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the node types");
    for (size_t i = 0; i < FIRN_COUNT(built_in); i++)
        FIRN_TRY(flatten(&(*types)[i], built_in[i], error));
    for (size_t i = 0; i < foreign->count; i++) {
        const firn_foreign_type *row = &foreign->rows[i];
        size_t known = FIRN_COUNT(built_in) + i;
        if (is_known(*types, known, row->type.name))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the plugin '%s' brings a node type '%s', which there is already; "
                             "rename it or take the plugin out of FIRN_PLUGIN_PATH",
                             row->origin, row->type.name);
        FIRN_TRY(flatten(&(*types)[known], &row->type, error));
    }
    return FIRN_OK;
}

void firn_types_destroy(firn_type *types, size_t count)
{
    for (size_t i = 0; types != NULL && i < count; i++) {
        firn_free(types[i].params);
        firn_free(types[i].names);
    }
    firn_free(types);
}

const firn_type *firn_type_find(const firn_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->type_count; i++)
        if (strcmp(graph->types[i].info.name, name) == 0)
            return &graph->types[i];
    return NULL;
}

const firn_node_info *firn_graph_type(const firn_graph *graph, size_t index)
{
    return index < graph->type_count ? &graph->types[index].info : NULL;
}

const firn_node_info *firn_graph_type_find(const firn_graph *graph, const char *name)
{
    const firn_type *type = firn_type_find(graph, name);
    return type != NULL ? &type->info : NULL;
}

bool firn_graph_param_is_animated(const firn_graph *graph, const char *type, const char *param)
{
    const firn_type *found = firn_type_find(graph, type);
    const firn_param *row = found != NULL ? firn_params_find(found->info.params, param) : NULL;
    return row != NULL && !firn_param_is_text(row) && firn_list_has(found->node->animated, param);
}

void firn_did_you_mean_param(firn_param_table table, const char *name, char *text, size_t size)
{
    const char *near = firn_params_suggest(table, name);
    if (near != NULL)
        snprintf(text, size, "; did you mean '%s'?", near);
    else
        snprintf(text, size, "%s", "");
}

void firn_did_you_mean(const void *owner, firn_name_at *name_at, const char *name, char *text,
                       size_t size)
{
    // The search for parameters serves all names; the first 64 are enough to be helpful.
    firn_param rows[64];
    size_t count = 0;
    memset(rows, 0, sizeof rows);
    for (const char *at; count < FIRN_COUNT(rows) && (at = name_at(owner, count)) != NULL; count++)
        rows[count].name = at;
    firn_did_you_mean_param((firn_param_table){rows, count}, name, text, size);
}
