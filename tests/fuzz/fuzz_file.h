/// For fuzz targets whose readers want files: a folder of this process in memory.
#ifndef FIRN_FUZZ_FILE_H
#define FIRN_FUZZ_FILE_H

#include "firn/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static inline char *fuzz_place(void)
{
    static char folder[64];
    return folder;
}

static inline void fuzz_remove(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    rmdir(path);
}

static inline void fuzz_name(char *folder, size_t size, long process)
{
    snprintf(folder, size, "%s/firn_fuzz.%ld", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             process);
}

/// Removes the folder of a process.
static inline void fuzz_forget(long process)
{
    char folder[64], inner[128];
    fuzz_name(folder, sizeof folder, process);
    snprintf(inner, sizeof inner, "%s/frames", folder);
    fuzz_remove(inner);
    fuzz_remove(folder);
}

static inline void fuzz_clean(void) { fuzz_forget((long)getpid()); }

static inline const char *fuzz_folder(void)
{
    char *folder = fuzz_place();
    if (folder[0] == '\0') {
        fuzz_name(folder, 64, (long)getpid());
        mkdir(folder, 0777);
        atexit(fuzz_clean);
    }
    return folder;
}

/// Puts bytes into a file of the folder; NULL: there is none.
static inline void fuzz_put(const char *name, const uint8_t *bytes, size_t size, char path[256])
{
    snprintf(path, 256, "%s/%s", fuzz_folder(), name);
    if (bytes == NULL) {
        unlink(path);
        return;
    }
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
}

#endif
