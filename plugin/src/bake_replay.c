/// Stages after the simulation, from what it left in the cache: a change of theirs does not make it
/// run again.
#include "bake.h"

#include <stdio.h>
#include <string.h>

static bool has_frame(const firn_cache_file *file, int frame)
{
    return file->step > 0 && frame >= file->first && frame <= file->last &&
           (frame - file->first) % file->step == 0;
}

static bool is_straight(const firn_node *node, const firn_node *marcher)
{
    return node->type->info.output == FIRN_KIND_NONE && node->type->info.input_count == 1 &&
           node->inputs[0].count == 1 && node->inputs[0].from[0] == marcher;
}

// Whether a file of many frames is whole. One that this bake writes itself is not, or not yet.
static bool is_whole(firn_bake *bake, const firn_node *node, const firn_cache_file *file)
{
    for (size_t t = 0; t < bake->target_count && !bake->from_cache; t++)
        if (bake->targets[t].node == node)
            return bake->targets[t].kept;
    if (bake->verified != file->checksum &&
        firn_cache_file_check(bake->folder, file, NULL) == FIRN_OK)
        bake->verified = file->checksum;
    return bake->verified == file->checksum;
}

// A file of the cache that a node wrote straight from a marcher.
static const firn_cache_file *find_file(firn_bake *bake, const firn_node *marcher, int frame)
{
    const firn_manifest *manifest = bake->manifest;
    const firn_cache_frame *found = firn_manifest_find(manifest, frame);
    for (size_t n = 0; n < bake->graph->node_count; n++) {
        const firn_node *node = bake->graph->order[n];
        if (!is_straight(node, marcher))
            continue;
        for (size_t i = 0; found != NULL && i < found->file_count; i++)
            if (firn_bake_fits(bake, &found->files[i], node) &&
                firn_file_is_exact(found->files[i].name))
                return &found->files[i];
        for (size_t i = 0; i < manifest->file_count; i++)
            if (firn_bake_fits(bake, &manifest->files[i], node) &&
                has_frame(&manifest->files[i], frame) && is_whole(bake, node, &manifest->files[i]))
                return &manifest->files[i];
    }
    return NULL;
}

// What is written straight from a marcher may want all that it has, not only what files keep.
static bool is_behind(const firn_bake *bake, const firn_node *node)
{
    for (size_t m = 0; m < bake->marcher_count; m++)
        for (size_t s = 0; s < node->type->info.input_count; s++)
            for (size_t k = 0; k < node->inputs[s].count; k++)
                if (node->inputs[s].from[k] == bake->marchers[m])
                    return false;
    return true;
}

bool firn_bake_is_later(const firn_bake *bake, const firn_bake_target *target)
{
    return !target->spans && is_behind(bake, target->node);
}

bool firn_bake_has_simulated(firn_bake *bake, int frame)
{
    for (size_t m = 0; m < bake->marcher_count; m++)
        if (find_file(bake, bake->marchers[m], frame) == NULL)
            return false;
    return true;
}

firn_result firn_bake_replay_path(void *user, const firn_node *node, char *path, size_t size)
{
    firn_bake *bake = user;
    const firn_cache_file *file = find_file(bake, node, bake->frame);
    if (file == NULL)
        return FIRN_ERR_NOT_FOUND;
    snprintf(path, size, "%.3500s/%.500s", bake->folder, file->name);
    return FIRN_OK;
}

// Reads the first frame to see whether the files have what is needed.
static bool try_frame(firn_bake *bake, int frame)
{
    bake->frame = frame;
    firn_cook_pass pass = {.frame = frame, .replay = firn_bake_replay_path, .user = bake};
    bool fine =
        firn_graph_run(bake->graph, bake->marchers, bake->marcher_count, &pass, NULL) == FIRN_OK;
    for (size_t m = bake->marcher_count; m-- > 0;)
        firn_node_release(bake->marchers[m]);
    bake->graph->failed[0] = '\0';
    return fine;
}

bool firn_bake_can_replay(firn_bake *bake)
{
    bool tried = false;
    for (size_t m = 0; m < bake->marcher_count; m++)
        if (bake->marchers[m]->type->node->replay == NULL)
            return false;
    for (int frame = bake->first; frame <= bake->last; frame += bake->step) {
        size_t wanted = firn_bake_find_wanted(bake, frame);
        for (size_t i = 0; i < wanted; i++)
            if (!is_behind(bake, bake->wanted[i]))
                return false;
        if (wanted > 0 && !firn_bake_has_simulated(bake, frame))
            return false;
        if (wanted > 0 && !tried && !try_frame(bake, frame))
            return false;
        tried = tried || wanted > 0;
    }
    return bake->marcher_count > 0;
}
