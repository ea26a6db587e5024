#include "graph_state.h"
#include "manifest.h"

#include <stdio.h>
#include <string.h>

firn_result firn_graph_cache_folder(const firn_graph *graph, char *path, size_t size,
                                    firn_error *error)
{
    const firn_shot *shot = &graph->shot;
    char base[FIRN_PATH_SIZE], wedge[32] = "";
    firn_result result = firn_graph_resolve_path(graph, shot->base, base, sizeof base, error);
    if (result != FIRN_OK) {
        firn_error cause = error != NULL ? *error : (firn_error){0};
        return firn_fail(error, result, "base: %s", cause.message);
    }
    if (shot->wedge >= 0)
        snprintf(wedge, sizeof wedge, "/w%d", shot->wedge);
    if (shot->name[0] == '\0' || shot->name[0] == '.' || strchr(shot->name, '/') != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "name is '%s'; a cache needs a name, without '/' and with no '.' first",
                         shot->name);
    int length = snprintf(path, size, "%s/%s/v%d%s", base[0] != '\0' ? base : ".", shot->name,
                          shot->version, wedge);
    if (length < 0 || (size_t)length >= size || length > 3500)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the cache is too long");
    return FIRN_OK;
}

const char *firn_cache_state_name(firn_cache_state state)
{
    static const char *const names[] = {"none", "stale", "partial", "complete"};
    return (size_t)state < FIRN_COUNT(names) ? names[state] : "unknown";
}

bool firn_node_spans(const firn_node *node)
{
    firn_node_output file;
    const firn_node_type *type = node->type->node;
    return type->writes != NULL && type->writes(node->settings, 0, &file) && !file.every_frame;
}

bool firn_node_is_idle(const firn_node *node)
{
    firn_node_output file;
    const firn_node_type *type = node->type->node;
    return type->writes != NULL &&
           firn_node_settings(node, node->graph->shot.first, true, node->settings, NULL) ==
               FIRN_OK &&
           !type->writes(node->settings, 0, &file);
}

static bool has_archive(const firn_graph *graph, const firn_node *node,
                        const firn_manifest *manifest)
{
    for (size_t k = 0; k < manifest->file_count; k++) {
        const firn_cache_file *file = &manifest->files[k];
        if (file->hash != 0 ? file->hash == node->fresh && file->last >= graph->shot.last
                            : strcmp(file->node, node->name) == 0)
            return true;
    }
    return false;
}

static size_t count_frames(const firn_node *node, const firn_manifest *manifest)
{
    const firn_shot *shot = &node->graph->shot;
    size_t count = 0;
    for (size_t i = 0; i < manifest->frame_count; i++) {
        const firn_cache_frame *frame = &manifest->frames[i];
        bool found = false;
        for (size_t k = 0; k < frame->file_count && !found; k++)
            found = frame->files[k].hash != 0 ? frame->files[k].hash == node->fresh
                                              : strcmp(frame->files[k].node, node->name) == 0;
        count += found && frame->frame >= shot->first && frame->frame <= shot->last;
    }
    return count;
}

// Whether every node that writes has written all that the graph's frames need.
static bool has_files(firn_graph *graph, const firn_manifest *manifest)
{
    const firn_shot *shot = &graph->shot;
    for (size_t i = 0; i < graph->node_count; i++) {
        const firn_node *node = graph->nodes[i];
        if (node->type->node->writes == NULL || firn_node_is_idle(node) ||
            firn_node_settings(node, shot->first, true, node->settings, NULL) != FIRN_OK)
            continue;
        size_t frames = (size_t)(shot->last - shot->first + 1);
        if (firn_node_spans(node) ? !has_archive(graph, node, manifest)
                                  : count_frames(node, manifest) < frames)
            return false;
    }
    return true;
}

firn_result firn_graph_cache_state(firn_graph *graph, firn_cache_state *state, firn_error *error)
{
    char folder[FIRN_PATH_SIZE];
    firn_manifest *manifest = NULL;
    *state = FIRN_CACHE_NONE;
    FIRN_TRY(firn_graph_cache_folder(graph, folder, sizeof folder, error));
    firn_result result = firn_manifest_read(folder, &manifest, error);
    if (result == FIRN_ERR_NOT_FOUND)
        return FIRN_OK;
    FIRN_TRY(result);
    *state = FIRN_CACHE_COMPLETE;
    for (int frame = graph->shot.first; frame <= graph->shot.last; frame++) {
        const firn_cache_frame *found = firn_manifest_find(manifest, frame);
        if (found == NULL || found->hash != manifest->hash)
            *state = FIRN_CACHE_PARTIAL;
    }
    if (manifest->hash != firn_graph_hash(graph, NULL))
        *state = FIRN_CACHE_STALE;
    else if (!has_files(graph, manifest))
        *state = FIRN_CACHE_PARTIAL;
    firn_manifest_destroy(manifest);
    return FIRN_OK;
}
