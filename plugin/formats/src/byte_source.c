#define _POSIX_C_SOURCE 200809L
#include "byte_source.h"

#include "firn/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Deflate cannot shrink bytes by more than this.
enum { WINDOW = 1 << 18, MOST_PACKING = 1032 };

firn_result firn_geo_source_damaged(const firn_byte_source *source, const char *what)
{
    return firn_fail(source->error, FIRN_ERR_FORMAT, "cannot read '%s': %s (near byte %llu)",
                     source->name, what, (unsigned long long)firn_geo_source_offset(source));
}

static firn_result out_of_memory(const firn_byte_source *source)
{
    return firn_fail(source->error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory",
                     source->name);
}

static firn_result read_descriptor(firn_byte_source *source, unsigned char *bytes, size_t size,
                                   size_t *got)
{
    ssize_t count;
    do
        count = read(source->descriptor, bytes, size);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return firn_fail_errno(source->error, errno, "read", source->name);
    if (count == 0)
        return firn_geo_source_damaged(source, "it became shorter while being read");
    source->file_left -= (uint64_t)count < source->file_left ? (uint64_t)count : source->file_left;
    *got = (size_t)count;
    return FIRN_OK;
}

static firn_result fill_raw(firn_byte_source *source)
{
    if (source->file_left == 0)
        return FIRN_OK;
    size_t size = source->file_left < WINDOW ? (size_t)source->file_left : WINDOW;
    size_t got = 0;
    FIRN_TRY(read_descriptor(source, source->raw_buffer, size, &got));
    source->raw = source->raw_buffer;
    source->raw_end = source->raw_buffer + got;
    return FIRN_OK;
}

static void expose(firn_byte_source *source, const unsigned char *bytes, size_t size)
{
    source->at = bytes;
    source->end = bytes + size;
    source->end_offset += size;
}

// A member of a gzip file has ended: another may follow, anything else is padding.
static firn_result next_member(firn_byte_source *source)
{
    if (source->raw == source->raw_end)
        FIRN_TRY(fill_raw(source));
    if (source->raw == source->raw_end || *source->raw != 0x1F) {
        source->drained = true;
        return FIRN_OK;
    }
    return inflateReset(&source->stream) == Z_OK ? FIRN_OK : out_of_memory(source);
}

static firn_result fill_unpacked(firn_byte_source *source)
{
    size_t produced = 0;
    while (produced == 0 && !source->drained) {
        if (source->raw == source->raw_end)
            FIRN_TRY(fill_raw(source));
        if (source->raw == source->raw_end)
            return firn_geo_source_damaged(source, "its compressed data ends too early");
        size_t available = (size_t)(source->raw_end - source->raw);
        uInt given = available < (1u << 30) ? (uInt)available : (1u << 30);
        source->stream.next_in = (Bytef *)(uintptr_t)source->raw;
        source->stream.avail_in = given;
        source->stream.next_out = source->unpacked_buffer;
        source->stream.avail_out = WINDOW;
        int status = inflate(&source->stream, Z_NO_FLUSH);
        source->raw += given - source->stream.avail_in;
        produced = WINDOW - source->stream.avail_out;
        if (status == Z_MEM_ERROR)
            return out_of_memory(source);
        if (status != Z_OK && status != Z_STREAM_END)
            return firn_geo_source_damaged(source, "its compressed data is damaged");
        if (source->end_offset + produced > source->max_unpacked)
            return firn_geo_source_damaged(source,
                                           "it unpacks to more bytes than the limit allows");
        if (status == Z_STREAM_END)
            FIRN_TRY(next_member(source));
    }
    expose(source, source->unpacked_buffer, produced);
    return FIRN_OK;
}

firn_result firn_geo_source_fill(firn_byte_source *source)
{
    if (source->at < source->end)
        return FIRN_OK;
    if (source->gzip)
        return fill_unpacked(source);
    if (source->raw == source->raw_end)
        FIRN_TRY(fill_raw(source));
    expose(source, source->raw, (size_t)(source->raw_end - source->raw));
    source->raw = source->raw_end;
    return FIRN_OK;
}

firn_result firn_geo_source_read(firn_byte_source *source, void *out, size_t size)
{
    unsigned char *bytes = out;
    while (size > 0) {
        size_t at_hand = (size_t)(source->end - source->at);
        bool direct = at_hand == 0 && !source->gzip && source->raw == source->raw_end &&
                      size >= WINDOW && source->file_left >= size;
        size_t piece = at_hand < size ? at_hand : size;
        if (direct) {
            // Large arrays go from the file to their place without a stop in between.
            FIRN_TRY(read_descriptor(source, bytes, size, &piece));
            source->end_offset += piece;
        } else if (at_hand == 0) {
            FIRN_TRY(firn_geo_source_fill(source));
            if (source->at == source->end)
                return firn_geo_source_damaged(source, "it ends too early");
        } else {
            memcpy(bytes, source->at, piece);
            source->at += piece;
        }
        bytes += piece;
        size -= piece;
    }
    return FIRN_OK;
}

firn_result firn_geo_source_skip(firn_byte_source *source, uint64_t size)
{
    while (size > 0) {
        FIRN_TRY(firn_geo_source_fill(source));
        size_t at_hand = (size_t)(source->end - source->at);
        if (at_hand == 0)
            return firn_geo_source_damaged(source, "it ends too early");
        size_t piece = at_hand < size ? at_hand : (size_t)size;
        source->at += piece;
        size -= piece;
    }
    return FIRN_OK;
}

firn_result firn_geo_source_finish(firn_byte_source *source)
{
    while (source->gzip && !source->drained) {
        source->at = source->end;
        FIRN_TRY(fill_unpacked(source));
    }
    return FIRN_OK;
}

uint64_t firn_geo_source_left(const firn_byte_source *source)
{
    uint64_t at_hand = (uint64_t)(source->end - source->at);
    uint64_t raw = (uint64_t)(source->raw_end - source->raw) + source->file_left;
    if (!source->gzip)
        return at_hand + raw;
    uint64_t allowed = source->max_unpacked - source->end_offset;
    // A window of output may be waiting inside zlib.
    uint64_t most = raw < UINT64_MAX / (2 * MOST_PACKING) ? MOST_PACKING * raw + 32768 : allowed;
    return at_hand + (most < allowed ? most : allowed);
}

uint64_t firn_geo_source_offset(const firn_byte_source *source)
{
    return source->end_offset - (uint64_t)(source->end - source->at);
}

static firn_result begin(firn_byte_source *source)
{
    if (source->descriptor >= 0) {
        source->raw_buffer = firn_alloc(WINDOW);
        if (source->raw_buffer == NULL)
            return out_of_memory(source);
        FIRN_TRY(fill_raw(source));
    }
    if (source->raw_end - source->raw < 2 || source->raw[0] != 0x1F || source->raw[1] != 0x8B)
        return FIRN_OK;
    source->unpacked_buffer = firn_alloc(WINDOW);
    source->stream = (z_stream){.zalloc = firn_zlib_allocate, .zfree = firn_zlib_release};
    if (source->unpacked_buffer == NULL || inflateInit2(&source->stream, FIRN_GZIP_WINDOW) != Z_OK)
        return out_of_memory(source);
    source->gzip = true;
    return FIRN_OK;
}

firn_result firn_geo_source_open_file(firn_byte_source *source, const char *path,
                                      uint64_t max_unpacked, firn_error *error)
{
    *source = (firn_byte_source){
        .name = path, .error = error, .max_unpacked = max_unpacked, .descriptor = -1};
    source->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (source->descriptor < 0 || fstat(source->descriptor, &info) != 0)
        return firn_fail_errno(error, errno, "read", path);
    if (!S_ISREG(info.st_mode))
        return firn_fail(error, FIRN_ERR_IO, "cannot read '%s': not a regular file", path);
    source->file_left = (uint64_t)info.st_size;
    return begin(source);
}

firn_result firn_geo_source_open_memory(firn_byte_source *source, const void *bytes, size_t size,
                                        const char *name, uint64_t max_unpacked, firn_error *error)
{
    *source = (firn_byte_source){
        .name = name, .error = error, .max_unpacked = max_unpacked, .descriptor = -1};
    source->raw = bytes;
    source->raw_end = source->raw + size;
    return begin(source);
}

void firn_geo_source_close(firn_byte_source *source)
{
    if (source->gzip)
        inflateEnd(&source->stream);
    if (source->descriptor >= 0)
        close(source->descriptor);
    firn_free(source->raw_buffer);
    firn_free(source->unpacked_buffer);
}
