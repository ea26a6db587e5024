#define _POSIX_C_SOURCE 200809L
#include "ogawa.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are used as they are stored");
_Static_assert(sizeof(off_t) >= 8, "archives beyond 2 GiB need 64-bit file offsets");

enum { PAGE_SIZE = 1 << 14, PAGE_COUNT = 16 };

struct ogawa_cache {
    uint64_t page[PAGE_COUNT]; // page number + 1 of each slot, 0 when it is empty
    unsigned char bytes[PAGE_COUNT][PAGE_SIZE];
};

int firn_ogawa_open(ogawa_source *source, const char *path)
{
    *source = (ogawa_source){.descriptor = -1};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return errno;
    struct stat info;
    int failure = fstat(descriptor, &info) != 0 ? errno : 0;
    if (failure == 0 && S_ISDIR(info.st_mode))
        failure = EISDIR;
    else if (failure == 0 && !S_ISREG(info.st_mode))
        failure = EINVAL;
    if (failure != 0) {
        close(descriptor);
        return failure;
    }
    source->descriptor = descriptor;
    source->size = (uint64_t)info.st_size;
    return 0;
}

void firn_ogawa_open_memory(ogawa_source *source, const void *bytes, size_t size)
{
    *source = (ogawa_source){.descriptor = -1, .memory = bytes, .size = size};
}

void firn_ogawa_close(ogawa_source *source)
{
    firn_ogawa_stop_cache(source);
    if (source->descriptor >= 0)
        close(source->descriptor);
    source->descriptor = -1;
}

bool firn_ogawa_start_cache(ogawa_source *source)
{
    if (source->memory != NULL)
        return true;
    source->cache = firn_alloc(sizeof *source->cache);
    if (source->cache == NULL)
        return false;
    memset(source->cache->page, 0, sizeof source->cache->page);
    return true;
}

void firn_ogawa_stop_cache(ogawa_source *source)
{
    firn_free(source->cache);
    source->cache = NULL;
}

static ogawa_status read_file(const ogawa_source *source, uint64_t offset, unsigned char *bytes,
                              size_t size)
{
    while (size > 0) {
        ssize_t got = pread(source->descriptor, bytes, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return OGAWA_READ_FAILED;
        if (got == 0)
            return OGAWA_READ_SHORTER;
        bytes += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return OGAWA_READ_OK;
}

static ogawa_status read_cached(const ogawa_source *source, uint64_t offset, unsigned char *bytes,
                                size_t size)
{
    ogawa_cache *cache = source->cache;
    while (size > 0) {
        uint64_t page = offset / PAGE_SIZE;
        size_t within = (size_t)(offset % PAGE_SIZE);
        size_t slot = (size_t)(page % PAGE_COUNT);
        size_t present = PAGE_SIZE;
        if (source->size - page * PAGE_SIZE < PAGE_SIZE)
            present = (size_t)(source->size - page * PAGE_SIZE);
        if (cache->page[slot] != page + 1) {
            cache->page[slot] = 0;
            ogawa_status status = read_file(source, page * PAGE_SIZE, cache->bytes[slot], present);
            if (status != OGAWA_READ_OK)
                return status;
            cache->page[slot] = page + 1;
        }
        size_t part = present - within < size ? present - within : size;
        memcpy(bytes, cache->bytes[slot] + within, part);
        bytes += part;
        offset += part;
        size -= part;
    }
    return OGAWA_READ_OK;
}

ogawa_status firn_ogawa_read(const ogawa_source *source, uint64_t offset, void *bytes, size_t size)
{
    FIRN_ASSERT(offset <= source->size && size <= source->size - offset);
    if (size == 0)
        return OGAWA_READ_OK;
    if (source->memory != NULL) {
        memcpy(bytes, source->memory + offset, size);
        return OGAWA_READ_OK;
    }
    if (source->cache != NULL && size <= PAGE_SIZE)
        return read_cached(source, offset, bytes, size);
    return read_file(source, offset, bytes, size);
}

bool firn_ogawa_take(ogawa_cursor *cursor, size_t size, const unsigned char **bytes)
{
    if ((size_t)(cursor->end - cursor->at) < size)
        return false;
    *bytes = cursor->at;
    cursor->at += size;
    return true;
}

bool firn_ogawa_sized(ogawa_cursor *cursor, unsigned width, uint32_t *value)
{
    const unsigned char *bytes;
    if (!firn_ogawa_take(cursor, (size_t)1 << width, &bytes))
        return false;
    *value = 0;
    memcpy(value, bytes, (size_t)1 << width);
    return true;
}

bool firn_ogawa_u8(ogawa_cursor *cursor, uint32_t *value)
{
    return firn_ogawa_sized(cursor, 0, value);
}

bool firn_ogawa_u32(ogawa_cursor *cursor, uint32_t *value)
{
    return firn_ogawa_sized(cursor, 2, value);
}

bool firn_ogawa_f64(ogawa_cursor *cursor, double *value)
{
    const unsigned char *bytes;
    if (!firn_ogawa_take(cursor, sizeof *value, &bytes))
        return false;
    memcpy(value, bytes, sizeof *value);
    return true;
}
