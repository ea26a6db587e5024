/// The suites of `firn bench` that measure files, and what they share. Each prints CSV and ends the
/// program with a sentence when a file cannot be written or read.
#ifndef FIRN_BENCH_H
#define FIRN_BENCH_H

#include "firn/base.h"

enum { FIRN_BENCH_ROUNDS = 5 };

/// The folder is where test files go; they are removed again.
void firn_bench_alembic(const char *folder);
void firn_bench_formats(const char *folder);
void firn_bench_rasterize(const char *folder); // writes no files
void firn_bench_render(const char *folder);
void firn_bench_vdb(const char *folder);

/// True when `blender` can be run.
bool firn_bench_has_blender(void);

/// Renders <folder>/firn_bench.vdb with Cycles as the JSON in settings says; false when it failed.
bool firn_bench_cycles(const char *folder, const char *settings, double *seconds, double *noise);

/// Ends the program with the error's sentence unless the result is FIRN_OK.
void firn_bench_check(firn_result result, const firn_error *error);

/// Zeroed memory, or the end of the program.
void *firn_bench_take(size_t bytes);

/// Seconds that a plain write (synced and renamed) and a plain read of the same bytes take, the
/// least of several rounds; path is removed.
typedef struct firn_bench_plain {
    double write, read;
} firn_bench_plain;
firn_bench_plain firn_bench_measure_plain(const char *path, const void *bytes, size_t size);

#endif
