// Runs a fuzz target over the files and folders of files given, where libFuzzer is not at hand;
// with
// --mutations N, over that many mutations of them.
#define _POSIX_C_SOURCE 200809L
#include "mutate_corpus.h"

#include "firn/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static mutate_corpus corpus;
static long mutations;

// Keeps the bytes for mutations.
static void gather(const void *bytes, size_t size)
{
    mutate_file file = {malloc(size + 1), size};
    corpus.files = realloc(corpus.files, (corpus.count + 1) * sizeof *corpus.files);
    memcpy(file.bytes, bytes, size);
    corpus.files[corpus.count++] = file;
}

static int replay_file(const char *path)
{
    void *bytes = NULL;
    size_t size = 0;
    firn_error error;
    if (firn_file_read(path, SIZE_MAX, &bytes, &size, &error) != FIRN_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    if (mutations == 0) {
        unsigned char *exact = malloc(size > 0 ? size : 1);
        memcpy(exact, bytes, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    } else if (size > 0) {
        gather(bytes, size);
    }
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
    const char *folder = ".";
    uint64_t seed = 1;
    for (int i = 1; i < count; i++) {
        const char *next = i + 1 < count ? names[i + 1] : "";
        if (strcmp(names[i], "--mutations") == 0) {
            mutations = strtol(next, NULL, 10);
            i++;
            continue;
        }
        if (strcmp(names[i], "--seed") == 0) {
            seed = strtoull(next, NULL, 10);
            i++;
            continue;
        }
        if (strcmp(names[i], "--keep") == 0) {
            folder = next;
            i++;
            continue;
        }
        DIR *listing = opendir(names[i]);
        failures +=
            listing != NULL ? replay_folder(listing, names[i], &files) : replay_file(names[i]);
        files += listing == NULL;
    }
    if (mutations > 0 && corpus.count > 0)
        failures += mutate_corpus_run(&corpus, mutations, seed, folder);
    for (size_t i = 0; i < corpus.count; i++)
        free(corpus.files[i].bytes);
    free(corpus.files);
    printf("%d files\n", files);
    return failures > 0 || files == 0;
}
