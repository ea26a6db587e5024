#include "firn/obj.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    firn_obj *obj = NULL;
    if (firn_obj_read_memory((const char *)bytes, size, "fuzz", &obj, NULL) == FIRN_OK)
        firn_obj_destroy(obj);
    return 0;
}
