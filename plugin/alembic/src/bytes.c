#include "bytes.h"

#include <string.h>

bool firn_abcw_reserve(void **array, size_t used, size_t *capacity, size_t count, size_t item_size)
{
    if (count <= *capacity)
        return true;
    size_t grown = *capacity < 8 ? 8 : *capacity;
    while (grown < count && grown <= SIZE_MAX / 2 / item_size)
        grown *= 2;
    if (grown < count)
        return false;
    void *memory = firn_alloc(grown * item_size);
    if (memory == NULL)
        return false;
    if (used > 0)
        memcpy(memory, *array, used * item_size);
    firn_free(*array);
    *array = memory;
    *capacity = grown;
    return true;
}

void firn_abcw_bytes_put(firn_abcw_bytes *bytes, const void *data, size_t size)
{
    if (size == 0 || bytes->failed)
        return;
    void *memory = bytes->data;
    bytes->failed =
        size > SIZE_MAX - bytes->size ||
        !firn_abcw_reserve(&memory, bytes->size, &bytes->capacity, bytes->size + size, 1);
    bytes->data = memory;
    if (bytes->failed)
        return;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void firn_abcw_bytes_free(firn_abcw_bytes *bytes)
{
    firn_free(bytes->data);
    *bytes = (firn_abcw_bytes){0};
}
