/// Where the bytes of a geometry file come from: a file or memory, unpacked on the way.
///
/// Reading is a stream: what is held at a time does not grow with the file.
#ifndef FIRN_BYTE_SOURCE_H
#define FIRN_BYTE_SOURCE_H

#include "zlib_memory.h"

#include "firn/base.h"

typedef struct firn_byte_source {
    const char *name;
    firn_error *error;             // never NULL here
    const unsigned char *at, *end; // unpacked bytes at hand
    uint64_t end_offset;           // unpacked offset of end
    uint64_t max_unpacked;
    const unsigned char *raw, *raw_end; // bytes of the file at hand
    uint64_t file_left;                 // bytes of the file beyond raw_end
    int descriptor;                     // -1: everything is in memory
    bool gzip, drained;
    z_stream stream;
    unsigned char *raw_buffer, *unpacked_buffer;
} firn_byte_source;

/// Opens a file, or memory when path is NULL; close it even after a failure.
firn_result firn_geo_source_open_file(firn_byte_source *source, const char *path,
                                      uint64_t max_unpacked, firn_error *error);
firn_result firn_geo_source_open_memory(firn_byte_source *source, const void *bytes, size_t size,
                                        const char *name, uint64_t max_unpacked, firn_error *error);
void firn_geo_source_close(firn_byte_source *source);

/// Makes at least one byte available at `at`; at == end afterwards means the end of the file.
firn_result firn_geo_source_fill(firn_byte_source *source);

/// Copies or passes over exactly size bytes; a file that ends before is damaged.
firn_result firn_geo_source_read(firn_byte_source *source, void *bytes, size_t size);
firn_result firn_geo_source_skip(firn_byte_source *source, uint64_t size);

/// Reads what is left, so that the checksum of a packed file is checked.
firn_result firn_geo_source_finish(firn_byte_source *source);

/// No more bytes than these can follow.
uint64_t firn_geo_source_left(const firn_byte_source *source);

/// Unpacked bytes consumed so far.
uint64_t firn_geo_source_offset(const firn_byte_source *source);

/// FIRN_ERR_FORMAT with a sentence that names the file and the place.
firn_result firn_geo_source_damaged(const firn_byte_source *source, const char *what);

static inline firn_result firn_geo_source_byte(firn_byte_source *source, unsigned char *byte)
{
    if (source->at == source->end)
        return firn_geo_source_read(source, byte, 1);
    *byte = *source->at++;
    return FIRN_OK;
}

#endif
