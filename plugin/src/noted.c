#include "firn/cache.h"
#include "firn/file.h"
#include "firn/node.h"

#include <string.h>

static bool find(const firn_cache_file *files, size_t count, const char *name, uint64_t *size,
                 uint64_t *checksum)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].name, name) == 0) {
            *size = files[i].size;
            *checksum = files[i].checksum;
            return true;
        }
    return false;
}

bool firn_file_noted(const char *path, uint64_t *size, uint64_t *checksum)
{
    char folder[FIRN_PATH_SIZE] = ".";
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    size_t length = slash != NULL ? (size_t)(slash - path) + (slash == path) : 0;
    if (length >= sizeof folder)
        return false;
    if (length > 0) {
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    firn_manifest *manifest = NULL;
    if (firn_manifest_read(folder, &manifest, NULL) != FIRN_OK)
        return false;
    firn_manifest_view view = firn_manifest_look(manifest);
    bool found = find(view.files, view.file_count, name, size, checksum);
    for (size_t i = 0; i < view.frame_count && !found; i++)
        found = find(view.frames[i].files, view.frames[i].file_count, name, size, checksum);
    firn_manifest_destroy(manifest);
    return found;
}
