// Runs a fuzz target over mutations of the files of its corpus, in a process of their own, so that
// what kills, hangs or takes too much memory is counted and kept:
//
//     fuzz_obj --mutations 20000 --seed 7 --keep found tests/fixtures/fuzz_obj
#define _GNU_SOURCE
#include "mutate_corpus.h"

#include "fuzz_file.h"

#include "firn/base.h"
#include "firn/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
    HANG = 20,         // s, of one file
    MEMORY_MB = 1024,  // beyond what the process has to begin with
    FINDINGS_MAX = 40, // a target that fails so often has one fault
};

/// What both processes see.
typedef struct shared {
    long next; // the mutation in work
    double slowest;
    long slowest_at;
} shared;

static uint64_t random_state;

static size_t random_below(size_t limit)
{
    random_state = firn_hash64(&random_state, sizeof random_state, 77);
    return limit > 0 ? (size_t)(random_state % limit) : 0;
}

static void put_number(unsigned char *bytes, size_t size, size_t at)
{
    static const uint64_t numbers[] = {0,          1,          0x7fffffff,         0x80000000,
                                       0xffffffff, 0x10000,    0x7fffffffffffffff, 0x3ff,
                                       0x7f800000, 0x7fc00000, 0x5d5e0b6b};
    uint64_t number = numbers[random_below(FIRN_COUNT(numbers))];
    size_t width = (size_t)1 << random_below(4);
    if (width <= size - at)
        memcpy(bytes + at, &number, width);
}

// Digits and signs of text become others: "1e5" and "-3" rather than noise.
static void put_letter(unsigned char *bytes, size_t size)
{
    static const char letters[] = "0123456789-+.eE,:;{}[]()<>\"'@#/= \n_nNiIaA";
    for (size_t tries = 0, at; tries < 64; tries++) {
        at = random_below(size);
        if (bytes[at] >= ' ' && bytes[at] < 127) {
            bytes[at] = (unsigned char)letters[random_below(sizeof letters - 1)];
            return;
        }
    }
}

static size_t mutate_once(unsigned char *bytes, size_t size)
{
    size_t at = random_below(size), other = random_below(size), length = 1 + random_below(64);
    switch (random_below(9)) {
    case 0:
        bytes[at] = (unsigned char)random_below(256);
        break;
    case 1:
        bytes[at] ^= (unsigned char)(1u << random_below(8));
        break;
    case 2:
        put_number(bytes, size, at);
        break;
    case 3: // cut; rarely, for little is left to look at
        return random_below(4) == 0 ? at + 1 : size;
    case 4: // the head, where the structure often is
        bytes[random_below(size < 1500 ? size : 1500)] ^= (unsigned char)(1 + random_below(255));
        break;
    case 5: // the end, where it is of others
        bytes[size - 1 - random_below(size < 1500 ? size : 1500)] ^=
            (unsigned char)(1 + random_below(255));
        break;
    case 6: // zeros
        memset(bytes + at, 0, length < size - at ? length : size - at);
        break;
    case 7: // one part stands for another
        length = length < size - at ? length : size - at;
        memmove(bytes + at, bytes + other, length < size - other ? length : size - other);
        break;
    default:
        put_letter(bytes, size);
    }
    return size;
}

// The bytes of a mutation, which its number and the seed alone decide.
static unsigned char *make(const mutate_corpus *corpus, uint64_t seed, long number, size_t *size)
{
    uint64_t begin[2] = {seed, (uint64_t)number};
    random_state = firn_hash64(begin, sizeof begin, 3);
    const mutate_file *file = &corpus->files[random_below(corpus->count)];
    unsigned char *bytes = malloc(file->size + 1);
    memcpy(bytes, file->bytes, file->size);
    *size = file->size;
    for (size_t i = 0, n = 1 + random_below(4); i<n && * size> 0; i++)
        *size = mutate_once(bytes, *size);
    // Exactly as much memory as there are bytes, for sanitizers to see what goes beyond.
    unsigned char *exact = malloc(*size > 0 ? *size : 1);
    memcpy(exact, bytes, *size);
    free(bytes);
    return exact;
}

static void limit_memory(void)
{
#ifndef FIRN_SANITIZED
    long pages = 0;
    FILE *status = fopen("/proc/self/statm", "r");
    if (status != NULL && fscanf(status, "%ld", &pages) == 1) {
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)MEMORY_MB << 20);
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
    if (status != NULL)
        fclose(status);
#endif
}

static void run_child(const mutate_corpus *corpus, uint64_t seed, long count, shared *state)
{
    limit_memory();
    for (; state->next < count; state->next++) {
        size_t size;
        unsigned char *bytes = make(corpus, seed, state->next, &size);
        double begin = firn_seconds();
        alarm(HANG);
        LLVMFuzzerTestOneInput(bytes, size);
        alarm(0);
        double took = firn_seconds() - begin;
        if (took > state->slowest) {
            state->slowest = took;
            state->slowest_at = state->next;
        }
        free(bytes);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    // No way out through libraries that wait for threads which the child does not have.
    _Exit(usage.ru_maxrss > MEMORY_MB * 1024L ? 9 : 0);
}

static void keep(const mutate_corpus *corpus, uint64_t seed, long number, const char *folder,
                 int status)
{
    char path[FIRN_PATH_SIZE];
    size_t size;
    unsigned char *bytes = make(corpus, seed, number, &size);
    snprintf(path, sizeof path, "%s/%llu_%ld", folder, (unsigned long long)seed, number);
    fprintf(stderr, "mutation %ld ends with %s %d: %s\n", number,
            WIFSIGNALED(status) ? "signal" : "code",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), path);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        fprintf(stderr, "cannot write '%s'\n", path);
    free(bytes);
}

int mutate_corpus_run(const mutate_corpus *corpus, long count, uint64_t seed, const char *folder)
{
    shared *state =
        mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED)
        return 1;
    int findings = 0;
    *state = (shared){0};
    while (state->next < count && findings < FINDINGS_MAX) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            run_child(corpus, seed, count, state);
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 1;
        fuzz_forget((long)child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
        keep(corpus, seed, state->next, folder, status);
        findings++;
        state->next++;
    }
    printf("%ld mutations of %zu files with seed %llu: %d findings, slowest %.3f s (number %ld)\n",
           state->next, corpus->count, (unsigned long long)seed, findings, state->slowest,
           state->slowest_at);
    munmap(state, sizeof *state);
    return findings > 0;
}
