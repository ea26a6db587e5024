/// Bytes of an archive: from a file through pread, or from memory; and a cursor over loaded bytes.
#ifndef FIRN_OGAWA_H
#define FIRN_OGAWA_H

#include "firn/base.h"

typedef struct ogawa_cache ogawa_cache;

typedef struct ogawa_source {
    int descriptor;              // -1 when the bytes are in memory
    const unsigned char *memory; // NULL when they are in a file
    uint64_t size;
    ogawa_cache *cache; // while the table of contents is read; NULL later, for threads
} ogawa_source;

typedef enum ogawa_status {
    OGAWA_READ_OK,
    OGAWA_READ_SHORTER, // the file lost bytes since it was opened
    OGAWA_READ_FAILED,  // see errno
} ogawa_status;

/// Opens a regular file. Returns 0 or an errno value.
int firn_ogawa_open(ogawa_source *source, const char *path);
void firn_ogawa_open_memory(ogawa_source *source, const void *bytes, size_t size);
void firn_ogawa_close(ogawa_source *source);

/// Keeps recently read pages of a file until it is stopped. False when there is no memory.
bool firn_ogawa_start_cache(ogawa_source *source);
void firn_ogawa_stop_cache(ogawa_source *source);

/// Reads bytes that lie within the size of the source.
ogawa_status firn_ogawa_read(const ogawa_source *source, uint64_t offset, void *bytes, size_t size);

typedef struct ogawa_cursor {
    const unsigned char *at, *end;
} ogawa_cursor;

/// Each returns false, and does not move, when fewer bytes remain.
bool firn_ogawa_u8(ogawa_cursor *cursor, uint32_t *value);
bool firn_ogawa_u32(ogawa_cursor *cursor, uint32_t *value);
bool firn_ogawa_f64(ogawa_cursor *cursor, double *value);
/// A number of 1, 2 or 4 bytes, for width 0, 1 or 2.
bool firn_ogawa_sized(ogawa_cursor *cursor, unsigned width, uint32_t *value);
bool firn_ogawa_take(ogawa_cursor *cursor, size_t size, const unsigned char **bytes);

#endif
