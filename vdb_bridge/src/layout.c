#define _POSIX_C_SOURCE 200809L
#include "layout.h"

#include "firn/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OLDEST_VERSION = 222, // of the file format; OpenVDB 2.3, 2014
    NEWEST_VERSION = 225, // OpenVDB 13, 2025; only grids of 16-bit floats are new in it
    UUID_SIZE = 36,
    STRING_LIMIT = 1 << 16,
    NAME_LIMIT = 256,        // bytes of a name that are kept
    META_LIMIT = 1 << 16,    // entries
    META_BYTES = 1 << 26,    // bytes of one entry
    GRID_LIMIT = 1 << 12,    // grids in a file
    CHECKSUM_PIECE = 1 << 20 // bytes
};

static const uint64_t MAGIC = 0x56444220; // " BDV"

/// Reads an open file through a window; every read knows where the file ends.
typedef struct cursor {
    int descriptor;
    const char *path;
    uint64_t at, end;
    uint64_t window_start;
    size_t window_size;
    unsigned char window[4096];
    int failure; // errno of a read that failed, else 0
} cursor;

static bool fill_window(cursor *c)
{
    ssize_t got;
    do
        got = pread(c->descriptor, c->window, sizeof c->window, (off_t)c->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        c->failure = errno;
    if (got <= 0)
        return false;
    c->window_start = c->at;
    c->window_size = (size_t)got;
    return true;
}

static bool read_bytes(cursor *c, void *bytes, size_t size)
{
    if (size > c->end - c->at)
        return false;
    unsigned char *out = bytes;
    while (size > 0) {
        bool inside = c->at >= c->window_start && c->at - c->window_start < c->window_size;
        if (!inside && !fill_window(c))
            return false;
        size_t offset = (size_t)(c->at - c->window_start);
        size_t part = c->window_size - offset < size ? c->window_size - offset : size;
        memcpy(out, c->window + offset, part);
        out += part;
        c->at += part;
        size -= part;
    }
    return true;
}

static bool read_u32(cursor *c, uint32_t *value) { return read_bytes(c, value, sizeof *value); }
static bool read_u64(cursor *c, uint64_t *value) { return read_bytes(c, value, sizeof *value); }

static bool skip(cursor *c, uint64_t size)
{
    if (size > c->end - c->at)
        return false;
    c->at += size;
    return true;
}

static bool skip_string(cursor *c)
{
    uint32_t length;
    return read_u32(c, &length) && length <= STRING_LIMIT && skip(c, length);
}

/// The beginning of a string; the rest of a long one is passed over.
static bool read_string(cursor *c, char *text, size_t size)
{
    uint32_t length;
    if (!read_u32(c, &length) || length > STRING_LIMIT)
        return false;
    size_t kept = length < size ? length : size - 1;
    text[kept] = '\0';
    return read_bytes(c, text, kept) && skip(c, length - kept);
}

static bool skip_metadata(cursor *c)
{
    uint32_t count;
    if (!read_u32(c, &count) || count > META_LIMIT)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        if (!skip_string(c) || !skip_string(c) || !read_u32(c, &size) || size > META_BYTES ||
            !skip(c, size))
            return false;
    }
    return true;
}

static firn_result damaged(const cursor *c, const char *where, firn_error *error)
{
    if (c->failure != 0)
        return firn_fail_errno(error, c->failure, "read", c->path);
    return firn_fail(
        error, FIRN_ERR_FORMAT,
        "'%s' is damaged or cut short: its %s cannot be read (the file has %llu bytes)", c->path,
        where, (unsigned long long)c->end);
}

static firn_result check_header(cursor *c, firn_error *error)
{
    uint64_t magic;
    uint32_t version, library[2];
    unsigned char has_positions;
    if (c->end == 0)
        return firn_fail(error, FIRN_ERR_FORMAT, "'%s' is empty (0 bytes)", c->path);
    if (!read_u64(c, &magic) || magic != MAGIC)
        return c->failure != 0
                   ? damaged(c, "header", error)
                   : firn_fail(error, FIRN_ERR_FORMAT, "'%s' is not an OpenVDB file", c->path);
    if (!read_u32(c, &version))
        return damaged(c, "header", error);
    if (version < OLDEST_VERSION || version > NEWEST_VERSION)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "'%s' has version %u of the OpenVDB format; %d to %d can be read", c->path,
                         (unsigned)version, OLDEST_VERSION, NEWEST_VERSION);
    if (!read_bytes(c, library, sizeof library) || !read_bytes(c, &has_positions, 1) ||
        !skip(c, UUID_SIZE))
        return damaged(c, "header", error);
    if (has_positions != 1)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "'%s' was written as a stream, without the positions of its grids, so a "
                         "missing part would go unnoticed; write it again as a file, for example "
                         "with vdb_tool",
                         c->path);
    return FIRN_OK;
}

static firn_result check_grid(cursor *c, unsigned number, const firn_vdb_grid_list *list,
                              firn_error *error)
{
    uint64_t position[3]; // of the grid, of its voxel buffers, of its end
    char name[NAME_LIMIT], type[NAME_LIMIT], parent[NAME_LIMIT];
    if (!read_string(c, name, sizeof name) || !read_string(c, type, sizeof type) ||
        !read_string(c, parent, sizeof parent) || !read_bytes(c, position, sizeof position))
        return damaged(c, "list of grids", error);
    if (list != NULL)
        list->add(name, type, list->user);
    // A grid that has the voxels of another has no buffers, and no position of them.
    if (parent[0] != '\0' && position[1] == 0)
        position[1] = position[0];
    bool rising = position[0] == c->at && position[0] <= position[1] && position[1] <= position[2];
    if (!rising)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "'%s' is damaged: the positions of grid %u contradict each other", c->path,
                         number + 1);
    if (position[2] > c->end)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "'%s' is cut short: at least %llu bytes expected, %llu found", c->path,
                         (unsigned long long)position[2], (unsigned long long)c->end);
    c->at = position[2];
    return FIRN_OK;
}

firn_result firn_vdb_layout_check(int descriptor, const char *path, const firn_vdb_grid_list *list,
                                  firn_error *error)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return firn_fail_errno(error, errno, "read", path);
    if (!S_ISREG(info.st_mode))
        return firn_fail(error, FIRN_ERR_IO, "cannot read '%s': not a regular file", path);
    cursor c = {.descriptor = descriptor, .path = path, .end = (uint64_t)info.st_size};
    FIRN_TRY(check_header(&c, error));
    if (!skip_metadata(&c))
        return damaged(&c, "metadata", error);
    uint32_t grid_count;
    if (!read_u32(&c, &grid_count) || grid_count > GRID_LIMIT)
        return damaged(&c, "list of grids", error);
    for (uint32_t i = 0; i < grid_count; i++)
        FIRN_TRY(check_grid(&c, i, list, error));
    if (c.at != c.end)
        return firn_fail(error, FIRN_ERR_FORMAT, "'%s' is damaged: %llu bytes expected, %llu found",
                         path, (unsigned long long)c.at, (unsigned long long)c.end);
    return FIRN_OK;
}

firn_result firn_vdb_check(const char *path, firn_error *error)
{
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return firn_fail_errno(error, errno, "read", path);
    firn_result result = firn_vdb_layout_check(descriptor, path, NULL, error);
    close(descriptor);
    return result;
}

firn_result firn_vdb_stamp_descriptor(int descriptor, const char *path, firn_vdb_stamp *stamp,
                                      firn_error *error)
{
    unsigned char *piece = firn_alloc(CHECKSUM_PIECE);
    if (piece == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory", path);
    stamp->size = 0;
    stamp->checksum = 0;
    size_t filled = 0;
    firn_result result = FIRN_OK;
    for (;;) {
        ssize_t got = pread(descriptor, piece + filled, CHECKSUM_PIECE - filled,
                            (off_t)(stamp->size + filled));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            result = firn_fail_errno(error, errno, "read", path);
            break;
        }
        filled += (size_t)got;
        if (filled == CHECKSUM_PIECE || (got == 0 && filled > 0)) {
            stamp->checksum = firn_hash64(piece, filled, stamp->checksum);
            stamp->size += filled;
            filled = 0;
        }
        if (got == 0)
            break;
    }
    firn_free(piece);
    return result;
}

firn_result firn_vdb_stamp_file(const char *path, firn_vdb_stamp *stamp, firn_error *error)
{
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return firn_fail_errno(error, errno, "read", path);
    firn_result result = firn_vdb_stamp_descriptor(descriptor, path, stamp, error);
    close(descriptor);
    return result;
}
