/// zlib takes its memory from the project's allocator.
#ifndef FIRN_ZLIB_MEMORY_H
#define FIRN_ZLIB_MEMORY_H

#include "firn/base.h"

#include <zlib.h>

enum { FIRN_GZIP_WINDOW = 15 + 16 }; // the largest window, in a gzip wrapper

static inline voidpf firn_zlib_allocate(voidpf user, uInt count, uInt size)
{
    (void)user;
    return firn_alloc((size_t)count * size);
}

static inline void firn_zlib_release(voidpf user, voidpf memory)
{
    (void)user;
    firn_free(memory);
}

#endif
