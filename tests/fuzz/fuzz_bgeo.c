#include "firn/bgeo.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const firn_bgeo_limits limits = {.max_unpacked = 1 << 22, .max_bytes = 1 << 22};
    firn_bgeo *geometry = NULL;
    if (firn_bgeo_read_memory(bytes, size, "fuzz", &limits, &geometry, NULL) != FIRN_OK)
        return 0;
    const firn_points *points = firn_bgeo_points(geometry);
    for (size_t i = 0; i < points->attribute_count; i++)
        if (points->attributes[i].storage != FIRN_STORAGE_STRING)
            firn_attribute_range(&points->attributes[i], points->count, 0);
    firn_bgeo_destroy(geometry);
    return 0;
}
