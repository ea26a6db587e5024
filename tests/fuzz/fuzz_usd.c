#define _POSIX_C_SOURCE 200809L
#include "fuzz_file.h"

#include "firn/usd.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[256];
    firn_usd_layer *layer = NULL;
    fuzz_put("x.usdc", bytes, size, path);
    if (firn_usd_open(path, &layer, NULL) == FIRN_OK) {
        const firn_usd_value *value;
        for (size_t i = 0; (value = firn_usd_look(layer, i)) != NULL; i++) {
            uint64_t sum = strlen(value->path) + strlen(value->type);
            size_t width = (size_t)value->tuple_size * firn_storage_size(value->storage);
            if (value->count > 0)
                sum += ((const uint8_t *)value->data)[value->count * width - 1];
            if (sum == UINT64_MAX)
                abort();
        }
    }
    firn_usd_close(layer);
    return 0;
}
