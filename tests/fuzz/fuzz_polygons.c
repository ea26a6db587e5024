#include "firn/polygons.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    firn_polygons mesh;
    if (firn_ply_read_memory(bytes, size, "fuzz", &mesh, NULL) == FIRN_OK)
        firn_polygons_free(&mesh);
    if (firn_stl_read_memory(bytes, size, "fuzz", &mesh, NULL) == FIRN_OK)
        firn_polygons_free(&mesh);
    return 0;
}
