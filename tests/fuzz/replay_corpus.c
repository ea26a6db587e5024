// Runs a fuzz target over the files and folders of files given, where libFuzzer is not at hand.
#define _POSIX_C_SOURCE 200809L
#include "firn/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int replay_file(const char *path)
{
    void *bytes = NULL;
    size_t size = 0;
    firn_error error;
    if (firn_file_read(path, SIZE_MAX, &bytes, &size, &error) != FIRN_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    unsigned char *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    firn_free(bytes);
    return 0;
}

static int replay_folder(DIR *folder, const char *name, int *files)
{
    int failures = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[FIRN_PATH_SIZE];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
        failures += replay_file(path);
        ++*files;
    }
    closedir(folder);
    return failures;
}

int main(int count, char **names)
{
    int failures = 0, files = 0;
    for (int i = 1; i < count; i++) {
        DIR *folder = opendir(names[i]);
        failures +=
            folder != NULL ? replay_folder(folder, names[i], &files) : replay_file(names[i]);
        files += folder == NULL;
    }
    printf("%d files\n", files);
    return failures > 0 || files == 0;
}
