// Skies.
#define _POSIX_C_SOURCE 200809L
#include "fuzz_file.h"

#include "firn/exr.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[256];
    int width = 0, height = 0;
    float *rgb = NULL;
    fuzz_put("x.exr", bytes, size, path);
    if (firn_exr_read(path, &width, &height, &rgb, NULL) == FIRN_OK &&
        rgb[3 * (size_t)width * (size_t)height - 1] == 12345.0f)
        width = 0;
    firn_free(rgb);
    return 0;
}
