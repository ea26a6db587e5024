#define _POSIX_C_SOURCE 200809L
#include "graph_state.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    PIECE = 128 << 10, // bytes of a file that are read at either end
    MTIME_GRAIN = 2,   // s, of the coarsest clock that file systems have
};

static uint64_t add_text(uint64_t hash, const char *text)
{
    return firn_hash64(text, strlen(text) + 1, hash);
}

static uint64_t hash_ends(const char *path, int64_t size)
{
    uint64_t hash = 0;
    char *piece = firn_alloc(PIECE);
    FILE *file = fopen(path, "rb");
    for (int end = 0; end < 2 && piece != NULL && file != NULL; end++) {
        int64_t start = end == 0 ? 0 : (size > PIECE ? size - PIECE : size);
        if (fseek(file, (long)start, SEEK_SET) == 0)
            hash = firn_hash64(piece, fread(piece, 1, PIECE, file), hash);
    }
    if (file != NULL)
        fclose(file);
    firn_free(piece);
    return hash;
}

// The two ends of a file, remembered as long as size and time of change stay. A file that was
// changed a moment ago may change again within the grain of the clock, so it is read once more.
static uint64_t known_ends(firn_graph *graph, const char *path, const struct stat *status)
{
    firn_file_memo now = {.path = firn_hash64(path, strlen(path), 0),
                          .size = (int64_t)status->st_size,
                          .seconds = (int64_t)status->st_mtim.tv_sec,
                          .nanoseconds = (int64_t)status->st_mtim.tv_nsec};
    firn_file_memo *memo = NULL;
    for (size_t i = 0; i < graph->memo_count && memo == NULL; i++)
        memo = graph->memos[i].path == now.path ? &graph->memos[i] : NULL;
    if (memo != NULL && (int64_t)time(NULL) - now.seconds > MTIME_GRAIN && memo->size == now.size &&
        memo->seconds == now.seconds && memo->nanoseconds == now.nanoseconds)
        return memo->ends;
    now.ends = hash_ends(path, now.size);
    if (memo == NULL && firn_grow(&graph->memos, &graph->memo_capacity, graph->memo_count,
                                  sizeof *graph->memos, NULL) == FIRN_OK)
        memo = &graph->memos[graph->memo_count++];
    if (memo != NULL)
        *memo = now;
    return now.ends;
}

// A small file counts by its contents, so that copying and touching it change nothing; a large one
// by its ends, size and time of change. A file that is not there counts as well.
static uint64_t add_file(firn_graph *graph, uint64_t hash, const char *path)
{
    struct stat status;
    int64_t facts[4] = {-1, 0, 0, 0};
    if (stat(path, &status) == 0) {
        bool small = status.st_size <= 2 * PIECE;
        facts[0] = (int64_t)status.st_size;
        facts[1] = small ? 0 : (int64_t)status.st_mtim.tv_sec;
        facts[2] = small ? 0 : (int64_t)status.st_mtim.tv_nsec;
        facts[3] = (int64_t)known_ends(graph, path, &status);
    }
    return firn_hash64(facts, sizeof facts, hash);
}

static uint64_t add_files(const firn_node *node, const firn_param *param, uint64_t hash)
{
    const firn_shot *shot = &node->graph->shot;
    char path[FIRN_PATH_SIZE], before[FIRN_PATH_SIZE] = "";
    int last = node->type->node->time_dependent ? shot->last : shot->first;
    for (int frame = shot->first; frame <= last; frame++) {
        if (!firn_node_file(node, node->settings, param, frame, path, sizeof path))
            break;
        if (strcmp(path, before) == 0)
            break;
        hash = add_file(node->graph, hash, path);
        memcpy(before, path, sizeof before);
    }
    return hash;
}

// The value as text, except that files count by what they are, not by where.
static uint64_t add_param(const firn_node *node, const firn_param *param, uint64_t hash)
{
    hash = add_text(hash, param->name);
    if (param->type == FIRN_PATH)
        return add_files(node, param, hash);
    char text[FIRN_TEXT_SIZE];
    firn_param_print(param, node->settings, text, sizeof text);
    hash = add_text(hash, text);
    const firn_value *value = firn_node_value(node, param);
    if (value == NULL || value->keys == NULL)
        return hash;
    hash = firn_hash64(&value->interpolation, sizeof value->interpolation, hash);
    return firn_hash64(value->keys, value->key_count * sizeof *value->keys, hash);
}

// What a parameter stands for that the scene's author could not know yet.
static bool is_as_before(const firn_node *node, const firn_param *param)
{
    double values[3];
    if (firn_param_is_text(param)) {
        const char *text = (const char *)node->settings + param->offset;
        return param->added && strcmp(text, param->text != NULL ? param->text : "") == 0;
    }
    firn_param_get(param, node->settings, values);
    const firn_value *value = firn_node_value(node, param);
    bool same = param->added && (value == NULL || value->keys == NULL);
    for (int i = 0; i < 3; i++)
        same = same && (float)values[i] == (float)param->initial[i];
    return same;
}

static uint64_t hash_node(firn_node *node)
{
    const firn_shot *shot = &node->graph->shot;
    const firn_node_type *type = node->type->node;
    uint64_t hash = add_text((uint64_t)type->version, type->name);
    if (type->sequential || type->time_dependent) {
        hash = firn_hash64(&shot->fps, sizeof shot->fps, hash);
        hash = firn_hash64(&shot->first, sizeof shot->first, hash);
    }
    firn_error error;
    if (firn_node_settings(node, shot->first, true, node->settings, &error) != FIRN_OK)
        hash = add_text(hash, error.message);
    firn_param_table table = node->type->info.params;
    for (size_t i = 0; i < table.count; i++)
        if (!firn_list_has(type->neutral, table.params[i].name) &&
            !is_as_before(node, &table.params[i]))
            hash = add_param(node, &table.params[i], hash);
    for (size_t s = 0; s < node->type->info.input_count; s++) {
        const char *name = node->type->info.inputs[s].name;
        if (node->inputs[s].count == 0 && firn_list_has(type->added_inputs, name))
            continue;
        hash = add_text(hash, name);
        for (size_t k = 0; k < node->inputs[s].count; k++)
            hash = firn_hash64(&node->inputs[s].from[k]->fresh, sizeof hash, hash);
    }
    return hash != 0 ? hash : 1;
}

static bool has_keys(const firn_node *node)
{
    for (int l = 0; l < FIRN_LAYER_COUNT; l++)
        for (size_t i = 0; i < node->layers[l].count; i++)
            if (node->layers[l].items[i].keys != NULL)
                return true;
    return false;
}

static bool varies(const firn_node *node)
{
    if (node->type->node->sequential || node->type->node->time_dependent || has_keys(node))
        return true;
    for (size_t s = 0; s < node->type->info.input_count; s++)
        for (size_t k = 0; k < node->inputs[s].count; k++)
            if (node->inputs[s].from[k]->varies)
                return true;
    return false;
}

void firn_graph_refresh(firn_graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        graph->order[i]->fresh = hash_node(graph->order[i]);
        graph->order[i]->varies = varies(graph->order[i]);
    }
}

uint64_t firn_graph_hash(firn_graph *graph, const char *node)
{
    firn_graph_refresh(graph);
    if (node != NULL) {
        const firn_node *found = firn_graph_find(graph, node);
        return found != NULL ? found->fresh : 0;
    }
    uint64_t hash = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const firn_node *at = graph->nodes[i];
        if (at->type->info.output != FIRN_KIND_NONE || firn_node_is_idle(at))
            continue;
        hash = firn_hash64(&at->fresh, sizeof hash, add_text(hash, at->name));
    }
    return hash;
}
