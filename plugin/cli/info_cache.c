/// What `firn info` tells about caches and wedges.
#include "info.h"

#include "json.h"
#include "report/wedge_table.h"

#include "firn/cache.h"

#include <stdio.h>
#include <string.h>

static uint64_t frame_bytes(const firn_cache_frame *frame)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < frame->file_count; i++)
        bytes += frame->files[i].size;
    return bytes;
}

static double stat_of(const firn_cache_frame *frame, const char *name)
{
    for (size_t i = 0; i < frame->stat_count; i++)
        if (strcmp(frame->stats[i].name, name) == 0)
            return frame->stats[i].value;
    return 0.0;
}

// A number of a collider, such as that of "ground" and "force_x".
static double force_of(const firn_cache_frame *frame, const char *collider, const char *part)
{
    char name[256];
    snprintf(name, sizeof name, "%s.%s", collider, part);
    return stat_of(frame, name);
}

// The force on each collider that was touched: the mean of the last frame, and the peak of all.
static void print_forces(const firn_manifest_view *view)
{
    static const char ending[] = ".force_peak";
    const firn_cache_frame *last = &view->frames[view->frame_count - 1];
    for (size_t k = 0; k < last->stat_count; k++) {
        const char *stat = last->stats[k].name;
        size_t length = strlen(stat), size = sizeof ending - 1;
        char collider[200];
        if (length <= size || length - size >= sizeof collider ||
            strcmp(stat + length - size, ending) != 0)
            continue;
        snprintf(collider, sizeof collider, "%.*s", (int)(length - size), stat);
        double peak = 0.0;
        int at = last->frame;
        for (size_t i = 0; i < view->frame_count; i++)
            if (stat_of(&view->frames[i], stat) > peak) {
                peak = stat_of(&view->frames[i], stat);
                at = view->frames[i].frame;
            }
        if (peak > 0.0)
            printf("  snow on %s: force %.4g %.4g %.4g N, torque %.4g %.4g %.4g N m in the last "
                   "frame; at most %.4g N, in frame %d\n",
                   collider, force_of(last, collider, "force_x"),
                   force_of(last, collider, "force_y"), force_of(last, collider, "force_z"),
                   force_of(last, collider, "torque_x"), force_of(last, collider, "torque_y"),
                   force_of(last, collider, "torque_z"), peak, at);
    }
}

// Frames that a cook with other settings has not come to.
static void print_others(const firn_manifest_view *view)
{
    const firn_cache_frame *frames = view->frames;
    for (size_t i = 0, end = 0; i < view->frame_count; i = end) {
        bool other = frames[i].hash != view->hash;
        for (end = i + 1; end < view->frame_count && frames[end].hash == frames[i].hash;)
            end++;
        if (other && end == i + 1)
            printf("  frame %d is of other settings, not yet replaced\n", frames[i].frame);
        else if (other)
            printf("  frames %d to %d are of other settings, not yet replaced\n", frames[i].frame,
                   frames[end - 1].frame);
    }
}

// Frames that a node has written, in the range of the shot.
static size_t count_frames(const firn_manifest_view *view, const char *node, const firn_shot *shot)
{
    size_t count = 0;
    for (size_t i = 0; i < view->frame_count; i++) {
        const firn_cache_frame *frame = &view->frames[i];
        bool found = false;
        for (size_t k = 0; k < frame->file_count; k++)
            found = found || strcmp(frame->files[k].node, node) == 0;
        count += found && frame->frame >= shot->first && frame->frame <= shot->last;
    }
    return count;
}

static bool has_archive(const firn_manifest_view *view, const char *node)
{
    for (size_t i = 0; i < view->file_count; i++)
        if (strcmp(view->files[i].node, node) == 0)
            return true;
    return false;
}

// How far each node that writes has come.
static void print_stages(const char *folder, const firn_manifest_view *view)
{
    char path[FIRN_PATH_SIZE], owner[400];
    firn_graph *graph = NULL;
    snprintf(path, sizeof path, "%.4000s/resolved.firn", folder);
    if (firn_graph_load(path, &graph, NULL) == FIRN_OK) {
        const firn_shot *shot = firn_graph_shot(graph);
        int frames = shot->last - shot->first + 1;
        for (size_t i = 0; firn_graph_node(graph, i) != NULL; i++) {
            const char *node = firn_graph_node(graph, i);
            const firn_node_info *type = firn_graph_node_type(graph, node);
            size_t count = count_frames(view, node, shot);
            if (type->output == FIRN_KIND_NONE && count == 0 && has_archive(view, node))
                printf("  %s (%s): one file\n", node, type->name);
            else if (type->output == FIRN_KIND_NONE)
                printf("  %s (%s): %zu of %d frames\n", node, type->name, count, frames);
        }
    }
    firn_graph_destroy(graph);
    firn_cache_writer(folder, owner, sizeof owner);
    if (owner[0] != '\0')
        printf("  being written by %s\n", owner);
    size_t working = firn_cache_frames_in_work(folder);
    if (working > 0)
        printf("  %zu frames of later stages are being written\n", working);
}

static void print_cache(const char *folder, const firn_manifest_view *view)
{
    uint64_t bytes = 0;
    double seconds = 0.0;
    for (size_t i = 0; i < view->frame_count; i++) {
        bytes += frame_bytes(&view->frames[i]);
        seconds += stat_of(&view->frames[i], "seconds");
    }
    for (size_t i = 0; i < view->file_count; i++)
        bytes += view->files[i].size;
    printf("%s: cache of '%s' by %s%s%s, graph %016llx\n", folder, view->name, view->program,
           view->isa[0] != '\0' ? " with " : "", view->isa, (unsigned long long)view->hash);
    printf("  %zu frames at %g per second, %.1f MB, simulated in %.1f s\n", view->frame_count,
           (double)view->fps, 1e-6 * (double)bytes, seconds);
    for (size_t i = 0; i < view->file_count; i++)
        printf("  %s (%s): %llu bytes\n", view->files[i].name, view->files[i].node,
               (unsigned long long)view->files[i].size);
    print_stages(folder, view);
    print_others(view);
    printf("  %8s %12s %9s %9s %12s  files\n", "frame", "particles", "substeps", "seconds",
           "bytes");
    for (size_t i = 0; i < view->frame_count; i++) {
        const firn_cache_frame *frame = &view->frames[i];
        printf("  %8d %12.0f %9.0f %9.2f %12llu", frame->frame, stat_of(frame, "particles"),
               stat_of(frame, "substeps"), stat_of(frame, "seconds"),
               (unsigned long long)frame_bytes(frame));
        for (size_t k = 0; k < frame->file_count; k++)
            printf("  %s", frame->files[k].name);
        printf("\n");
    }
    if (view->frame_count > 0)
        print_forces(view);
}

static void print_cache_json(const char *folder, const firn_manifest_view *view)
{
    int members = 0;
    char hash[24];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)view->hash);
    fputc('{', stdout);
    firn_print_member_text(stdout, &members, "folder", folder);
    firn_print_member_text(stdout, &members, "name", view->name);
    firn_print_member_text(stdout, &members, "program", view->program);
    firn_print_member_text(stdout, &members, "isa", view->isa);
    firn_print_member_text(stdout, &members, "hash", hash);
    firn_print_member_number(stdout, &members, "fps", (double)view->fps);
    firn_print_key(stdout, &members, "frames");
    fputc('[', stdout);
    for (size_t i = 0; i < view->frame_count; i++) {
        int inner = 0;
        fputs(i > 0 ? ",\n{" : "\n{", stdout);
        firn_print_member_number(stdout, &inner, "frame", view->frames[i].frame);
        firn_print_member_number(stdout, &inner, "file_bytes",
                                 (double)frame_bytes(&view->frames[i]));
        for (size_t k = 0; k < view->frames[i].stat_count; k++)
            firn_print_member_number(stdout, &inner, view->frames[i].stats[k].name,
                                     view->frames[i].stats[k].value);
        fputc('}', stdout);
    }
    fputs("]}\n", stdout);
}

/// What a comparison with checksums has found.
typedef struct verdict {
    size_t count, missing, damaged;
} verdict;

static void verify_files(const char *folder, const firn_cache_file *files, size_t count, verdict *v)
{
    for (size_t i = 0; i < count; i++) {
        firn_error error;
        firn_result result = firn_cache_file_check(folder, &files[i], &error);
        v->count++;
        v->missing += result == FIRN_ERR_NOT_FOUND;
        v->damaged += result != FIRN_OK && result != FIRN_ERR_NOT_FOUND;
        if (result != FIRN_OK)
            fprintf(stderr, "firn: %s\n", error.message);
    }
}

// Compares every file with its checksum and lists all that is wrong.
static firn_result verify(const char *folder, const firn_manifest_view *view, firn_error *error)
{
    verdict v = {0, 0, 0};
    verify_files(folder, view->files, view->file_count, &v);
    for (size_t i = 0; i < view->frame_count; i++)
        verify_files(folder, view->frames[i].files, view->frames[i].file_count, &v);
    if (v.missing + v.damaged == 0)
        printf("  all %zu files are whole\n", v.count);
    if (v.missing + v.damaged == 0)
        return FIRN_OK;
    return firn_fail(error, v.damaged > 0 ? FIRN_ERR_FORMAT : FIRN_ERR_NOT_FOUND,
                     "%zu of %zu files are missing and %zu damaged; `firn resume` makes them anew",
                     v.missing, v.count, v.damaged);
}

static firn_result info_cache(const char *folder, bool json, bool check, firn_error *error)
{
    firn_manifest *manifest = NULL;
    FIRN_TRY(firn_manifest_read(folder, &manifest, error));
    firn_manifest_view view = firn_manifest_look(manifest);
    if (json)
        print_cache_json(folder, &view);
    else
        print_cache(folder, &view);
    firn_result result = check ? verify(folder, &view, error) : FIRN_OK;
    firn_manifest_destroy(manifest);
    return result;
}

// --- Wedges --------------------------------------------------------------------------------------

// Every variant that has a cache, one after the other; the first thing that is wrong.
static firn_result info_wedge(const char *folder, bool json, bool check, firn_error *error)
{
    firn_wedge_table *table = NULL;
    firn_result result = firn_wedge_table_read(folder, &table, error);
    if (result == FIRN_OK && !json)
        printf("%s: wedge with %zu variants\n", folder, table->count);
    for (size_t v = 0; result == FIRN_OK && !json && v < table->count; v++)
        printf("  w%zu  %s  %s\n", v, table->rows[v].status, table->rows[v].values);
    firn_result worst = result;
    for (size_t v = 0; result == FIRN_OK && v < table->count; v++) {
        char variant[FIRN_PATH_SIZE];
        firn_error cause;
        snprintf(variant, sizeof variant, "%.4000s/w%zu", folder, v);
        firn_result one = info_cache(variant, json, check, &cause);
        if (one != FIRN_OK && one != FIRN_ERR_NOT_FOUND && worst == FIRN_OK && error != NULL)
            *error = cause;
        worst = worst == FIRN_OK && one != FIRN_ERR_NOT_FOUND ? one : worst;
    }
    firn_wedge_table_free(table);
    return worst;
}

firn_result firn_info_folder(const char *folder, bool json, bool check, firn_error *error)
{
    return firn_wedge_has_table(folder) ? info_wedge(folder, json, check, error)
                                        : info_cache(folder, json, check, error);
}
