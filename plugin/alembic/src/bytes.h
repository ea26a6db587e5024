/// A growing array of bytes that remembers running out of memory, so that many small appends need
/// one check at the end.
#ifndef FIRN_ABCW_BYTES_H
#define FIRN_ABCW_BYTES_H

#include "firn/base.h"

typedef struct firn_abcw_bytes {
    unsigned char *data;
    size_t size, capacity;
    bool failed;
} firn_abcw_bytes;

void firn_abcw_bytes_put(firn_abcw_bytes *bytes, const void *data, size_t size);
void firn_abcw_bytes_free(firn_abcw_bytes *bytes);

static inline void firn_abcw_bytes_put_u32(firn_abcw_bytes *bytes, uint32_t value)
{
    firn_abcw_bytes_put(bytes, &value, sizeof value);
}

static inline void firn_abcw_bytes_put_u64(firn_abcw_bytes *bytes, uint64_t value)
{
    firn_abcw_bytes_put(bytes, &value, sizeof value);
}

/// Makes room for `count` items in *array, which holds `used` of *capacity; grows by doubling.
bool firn_abcw_reserve(void **array, size_t used, size_t *capacity, size_t count, size_t item_size);

#endif
