// The layout of VDB files, which is checked before OpenVDB sees them.
#define _POSIX_C_SOURCE 200809L
#include "fuzz_file.h"

#include "layout.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[256];
    firn_vdb_stamp stamp;
    fuzz_put("x.vdb", bytes, size, path);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    firn_vdb_layout_check(file, path, NULL, NULL);
    firn_vdb_stamp_descriptor(file, path, &stamp, NULL);
    close(file);
    return 0;
}
