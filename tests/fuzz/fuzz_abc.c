// libFuzzer target: any bytes may be opened as an archive and read.
#include "fuzz/abc_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    firn_abc *archive;
    firn_error error;
    if (firn_abc_open_memory(bytes, size, "fuzz", &archive, &error) == FIRN_OK)
        abc_walk(archive);
    firn_abc_close(archive);
    return 0;
}
