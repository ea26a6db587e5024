/// Where a geometry file goes: an atomic file, compressed on the way or not.
#ifndef FIRN_SINK_H
#define FIRN_SINK_H

#include "firn/base.h"

typedef struct firn_sink firn_sink;

/// gzip_level 0 writes the bytes as they are.
firn_result firn_sink_open(const char *path, int gzip_level, firn_sink **sink, firn_error *error);

/// Appends bytes. A failure is kept and reported by commit.
void firn_sink_put(firn_sink *sink, const void *bytes, size_t size);

/// Finishes the file under its name; frees sink either way.
firn_result firn_sink_commit(firn_sink *sink, firn_error *error);

#endif
