/// Mutations of a corpus, for fuzz targets without libFuzzer.
#ifndef FIRN_TESTS_MUTATE_CORPUS_H
#define FIRN_TESTS_MUTATE_CORPUS_H

#include <stddef.h>
#include <stdint.h>

typedef struct mutate_file {
    unsigned char *bytes;
    size_t size;
} mutate_file;

typedef struct mutate_corpus {
    mutate_file *files; // none of them empty
    size_t count;
} mutate_corpus;

/// Runs the target over mutations 0 .. count - 1; what fails is written into the folder.
/// 0: nothing did.
int mutate_corpus_run(const mutate_corpus *corpus, long count, uint64_t seed, const char *folder);

#endif
