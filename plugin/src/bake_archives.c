#define _POSIX_C_SOURCE 200809L
#include "bake.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool has_frames(const firn_cache_file *file, const firn_bake *bake)
{
    int last = bake->last - (bake->last - bake->first) % bake->step;
    return bake->first >= file->first && last <= file->last &&
           (bake->first - file->first) % file->step == 0 &&
           (bake->step % file->step == 0 || last == bake->first);
}

static bool is_within(const firn_cache_file *file, const firn_bake *bake)
{
    return file->first >= bake->first && file->last <= bake->last &&
           (file->first - bake->first) % bake->step == 0 &&
           (file->step % bake->step == 0 || file->first == file->last);
}

static bool is_whole_shot(const firn_bake *bake)
{
    const firn_shot *shot = firn_graph_shot(bake->graph);
    return bake->first <= shot->first && bake->last >= shot->last && bake->step == 1;
}

static void say_kept(const firn_bake *bake, const firn_cache_file *file, const char *why)
{
    char message[FIRN_MESSAGE_SIZE];
    snprintf(message, sizeof message,
             "'%.600s' stays as it is, with frames %d to %d%s; bake all frames to %s it",
             file->name, file->first, file->last, why, why[0] != '\0' ? "replace" : "lengthen");
    firn_bake_warn(bake, message);
}

// One of other settings goes when the whole shot takes its place, or all the frames that it has.
static bool keeps_other(const firn_bake *bake, const firn_cache_file *file, const firn_node *node)
{
    if (strcmp(file->node, node->name) != 0 || file->step == 0 || is_whole_shot(bake) ||
        is_within(file, bake))
        return false;
    say_kept(bake, file, " of other settings");
    return true;
}

// An archive stays when it has every frame of the range, and when the bake would leave it shorter.
static bool keeps_archive(firn_bake *bake, const firn_node *node)
{
    const firn_manifest *manifest = bake->manifest;
    for (size_t i = 0; i < manifest->file_count; i++) {
        firn_cache_file file = manifest->files[i];
        if (firn_cache_file_check(bake->folder, &file, NULL) != FIRN_OK)
            continue;
        if (!firn_bake_fits(bake, &file, node)) {
            if (keeps_other(bake, &file, node))
                return true;
            continue;
        }
        if (file.step == 0 && manifest->frame_count > 0) { // an earlier Firn did not tell
            file.first = manifest->frames[0].frame;
            file.last = manifest->frames[manifest->frame_count - 1].frame;
            file.step = 1;
        }
        if (file.step == 0)
            return false;
        if (is_within(&file, bake))
            return bake->resume && has_frames(&file, bake);
        if (!has_frames(&file, bake))
            say_kept(bake, &file, "");
        return true;
    }
    return false;
}

firn_result firn_bake_open_archives(firn_bake *bake, firn_error *error)
{
    for (size_t i = 0; i < bake->target_count; i++) {
        firn_bake_target *target = &bake->targets[i];
        firn_node *node = target->node;
        if (!target->spans)
            continue;
        if (target->kept)
            continue;
        FIRN_TRY(firn_node_settings(node, bake->first, true, node->settings, error));
        firn_cook cook = firn_node_cook_context(node, bake->first);
        cook.resume = bake->resume && bake->continues;
        FIRN_TRY(firn_node_failed(node, node->type->node->begin(&cook, &target->written, error)));
        node->cooked = false;
    }
    return FIRN_OK;
}

firn_result firn_bake_begin_archives(firn_bake *bake, firn_error *error)
{
    for (size_t i = 0; i < bake->target_count; i++)
        bake->targets[i].kept =
            bake->targets[i].spans && keeps_archive(bake, bake->targets[i].node);
    return bake->turned ? firn_bake_open_archives(bake, error) : FIRN_OK;
}

// Removes what a node wrote under another name when it had other settings.
static void remove_other_archives(const firn_bake *bake, const firn_cache_file *fresh)
{
    firn_manifest *manifest = bake->manifest;
    for (size_t i = 0; i < manifest->file_count;) {
        char path[FIRN_PATH_SIZE], name[FIRN_PATH_SIZE];
        const firn_cache_file *old = &manifest->files[i++];
        if (strcmp(old->node, fresh->node) != 0 || strcmp(old->name, fresh->name) == 0)
            continue;
        snprintf(name, sizeof name, "%.500s", old->name);
        snprintf(path, sizeof path, "%.3500s/%.500s", bake->folder, name);
        unlink(path);
        firn_manifest_drop_file(manifest, name);
        i = 0;
    }
}

firn_result firn_bake_finish_archives(firn_bake *bake, firn_error *error)
{
    firn_bake_forget_files(bake);
    for (size_t i = 0; i < bake->target_count; i++) {
        firn_node *node = bake->targets[i].node;
        if (!bake->targets[i].spans || bake->targets[i].kept)
            continue;
        FIRN_TRY(firn_bake_turn(bake, error));
        FIRN_TRY(firn_node_settings(node, bake->last, true, node->settings, error));
        firn_cook cook = firn_node_cook_context(node, bake->last);
        FIRN_TRY(firn_node_failed(node, node->type->node->finish(&cook, error)));
    }
    for (size_t i = 0; i < bake->file_count; i++) {
        firn_cache_file *file = &bake->files[i];
        file->first = bake->first;
        file->last = bake->last - (bake->last - bake->first) % bake->step;
        file->step = bake->step;
        remove_other_archives(bake, file);
        FIRN_TRY(firn_manifest_put_file(bake->manifest, file, error));
    }
    return bake->file_count > 0 ? firn_manifest_write(bake->manifest, bake->folder, error)
                                : FIRN_OK;
}
