/// For fuzz targets whose readers want files: a folder of this process in memory.
#ifndef FIRN_FUZZ_FILE_H
#define FIRN_FUZZ_FILE_H

#include "firn/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static inline const char *fuzz_folder(void)
{
    static char folder[64];
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "%s/firn_fuzz.%ld",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
        mkdir(folder, 0777);
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
