#include "sink.h"

#include "zlib_memory.h"

#include "firn/file.h"

#include <string.h>

enum { STAGE = 1 << 16 };

struct firn_sink {
    firn_file_writer *file;
    bool gzip;
    size_t staged;
    z_stream stream;
    unsigned char plain[STAGE]; // gathered before zlib sees them, for its calls are not free
    unsigned char packed[STAGE];
};

firn_result firn_sink_open(const char *path, int gzip_level, firn_sink **out, firn_error *error)
{
    *out = NULL;
    firn_sink *sink = firn_alloc(sizeof *sink);
    if (sink == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", path);
    sink->gzip = gzip_level > 0;
    sink->staged = 0;
    sink->stream = (z_stream){.zalloc = firn_zlib_allocate, .zfree = firn_zlib_release};
    // zlib's own header has no name and no time in it, so equal data gives equal files.
    if (sink->gzip && deflateInit2(&sink->stream, gzip_level, Z_DEFLATED, FIRN_GZIP_WINDOW, 9,
                                   Z_DEFAULT_STRATEGY) != Z_OK) {
        firn_free(sink);
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot compress '%s': out of memory", path);
    }
    firn_result result = firn_file_create(path, &sink->file, error);
    if (result != FIRN_OK) {
        if (sink->gzip)
            deflateEnd(&sink->stream);
        firn_free(sink);
        return result;
    }
    *out = sink;
    return FIRN_OK;
}

static void compress_bytes(firn_sink *sink, const unsigned char *bytes, size_t size, int flush)
{
    do {
        size_t piece = size < (1u << 30) ? size : (1u << 30);
        size -= piece;
        sink->stream.next_in = (Bytef *)(uintptr_t)bytes; // zlib reads only, but lacks the const
        sink->stream.avail_in = (uInt)piece;
        bytes += piece;
        do {
            sink->stream.next_out = sink->packed;
            sink->stream.avail_out = STAGE;
            (void)deflate(&sink->stream, size > 0 ? Z_NO_FLUSH : flush);
            firn_file_write(sink->file, sink->packed, STAGE - sink->stream.avail_out);
        } while (sink->stream.avail_out == 0);
    } while (size > 0);
}

static void flush_stage(firn_sink *sink, int flush)
{
    compress_bytes(sink, sink->plain, sink->staged, flush);
    sink->staged = 0;
}

void firn_sink_put(firn_sink *sink, const void *bytes, size_t size)
{
    if (!sink->gzip) {
        firn_file_write(sink->file, bytes, size);
        return;
    }
    if (size > STAGE - sink->staged)
        flush_stage(sink, Z_NO_FLUSH);
    if (size >= STAGE) {
        compress_bytes(sink, bytes, size, Z_NO_FLUSH);
        return;
    }
    memcpy(sink->plain + sink->staged, bytes, size);
    sink->staged += size;
}

firn_result firn_sink_commit(firn_sink *sink, firn_error *error)
{
    if (sink->gzip) {
        flush_stage(sink, Z_FINISH);
        deflateEnd(&sink->stream);
    }
    firn_result result = firn_file_commit(sink->file, error);
    firn_free(sink);
    return result;
}
