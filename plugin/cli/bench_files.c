#include "bench.h"

#include "command.h"

#include "firn/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void firn_bench_check(firn_result result, const firn_error *error)
{
    if (result != FIRN_OK)
        exit(firn_exit_of(result, error));
}

void *firn_bench_take(size_t bytes)
{
    firn_error error;
    void *memory = firn_alloc_zero(bytes);
    if (memory == NULL)
        firn_bench_check(firn_fail(&error, FIRN_ERR_MEMORY, "out of memory for a benchmark"),
                         &error);
    return memory;
}

firn_bench_plain firn_bench_measure_plain(const char *path, const void *bytes, size_t size)
{
    firn_bench_plain best = {INFINITY, INFINITY};
    for (int round = 0; round < FIRN_BENCH_ROUNDS; round++) {
        firn_error error;
        firn_file_writer *file = NULL;
        double start = firn_seconds();
        firn_bench_check(firn_file_create(path, &file, &error), &error);
        firn_file_write(file, bytes, size);
        firn_bench_check(firn_file_commit(file, &error), &error);
        best.write = fmin(best.write, firn_seconds() - start);
        void *back = NULL;
        size_t back_size;
        start = firn_seconds();
        firn_bench_check(firn_file_read(path, SIZE_MAX, &back, &back_size, &error), &error);
        best.read = fmin(best.read, firn_seconds() - start);
        firn_free(back);
        remove(path);
    }
    return best;
}
