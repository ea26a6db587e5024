#define _POSIX_C_SOURCE 200809L
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

firn_result firn_folder_make(const char *path, firn_error *error)
{
    char part[FIRN_PATH_SIZE];
    int length = snprintf(part, sizeof part, "%s", path);
    if (length < 0 || (size_t)length >= sizeof part)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the folder is too long");
    for (char *at = part + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char kept = *at;
        *at = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return firn_fail_errno(error, errno, "create", part);
        *at = kept;
        if (kept == '\0')
            return FIRN_OK;
    }
}

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length >= tail && strcmp(name + length - tail, ending) == 0;
}

static void remove_files(const char *path, const char *part, const char *ending)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        bool chosen =
            part != NULL ? strstr(entry->d_name, part) != NULL : ends_with(entry->d_name, ending);
        if (chosen)
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
}

void firn_folder_sweep(const char *path) { remove_files(path, ".tmp.", NULL); }

void firn_folder_clear(const char *path, const char *ending) { remove_files(path, NULL, ending); }

bool firn_folder_last(const char *path, const char *stem, int limit, int *number)
{
    DIR *folder = opendir(path);
    bool found = false;
    size_t length = strlen(stem);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        int frame = 0, end = 0;
        const char *name = entry->d_name;
        if (strncmp(name, stem, length) != 0 || name[length] != '.' ||
            sscanf(name + length + 1, "%d.chk%n", &frame, &end) != 1 || end == 0 ||
            name[length + 1 + (size_t)end] != '\0')
            continue;
        if (frame < limit && (!found || frame > *number)) {
            *number = frame;
            found = true;
        }
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}
