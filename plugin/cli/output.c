#define _POSIX_C_SOURCE 200809L
#include "output.h"

#include "firn/cache.h"
#include "firn/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool firn_output_ends(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

static bool is_named(const firn_cache_file *files, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].name, name) == 0)
            return true;
    return false;
}

// Whether a cache in a folder has written a file of that name.
static bool is_of_cache(const char *folder, const char *name)
{
    static const char *const own[] = {"manifest.json", "timing.json", "resolved.firn"};
    firn_manifest *manifest = NULL;
    if (firn_manifest_read(folder, &manifest, NULL) != FIRN_OK)
        return false;
    firn_manifest_view view = firn_manifest_look(manifest);
    bool found = is_named(view.files, view.file_count, name);
    for (size_t i = 0; i < FIRN_COUNT(own); i++)
        found = found || strcmp(own[i], name) == 0;
    for (size_t i = 0; !found && i < view.frame_count; i++)
        found = is_named(view.frames[i].files, view.frames[i].file_count, name);
    firn_manifest_destroy(manifest);
    return found;
}

firn_result firn_output_check(const char *path, firn_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char folder[FIRN_PATH_SIZE] = ".";
    if (slash != NULL)
        snprintf(folder, sizeof folder, "%.*s", slash > path ? (int)(slash - path) : 1, path);
    if (access(path, F_OK) != 0 || !is_of_cache(folder, name))
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_EXISTS,
                     "'%.700s' is a file of the cache in '%.100s'; -o takes another name", path,
                     folder);
}

firn_result firn_output_check_frames(const char *pattern, int first, int last, int step,
                                     firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    bool numbered = firn_path_has_frame(pattern);
    for (int frame = first; frame <= (numbered ? last : first); frame += step) {
        FIRN_TRY(firn_path_of_frame(pattern, frame, path, sizeof path, error));
        FIRN_TRY(firn_output_check(path, error));
    }
    return FIRN_OK;
}
