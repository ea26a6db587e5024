// What an interrupted Alembic writer left: the first two bytes say how long the journal is, the
// rest is the archive.
#define _POSIX_C_SOURCE 200809L
#include "fuzz_file.h"

#include "firn/abc_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[256], unused[256];
    if (size < 2)
        return 0;
    size_t journal = bytes[0] + 256u * bytes[1];
    journal = journal < size - 2 ? journal : size - 2;
    fuzz_put("x.abc.journal.partial", bytes + 2, journal, unused);
    fuzz_put("x.abc.partial", bytes + 2 + journal, size - 2 - journal, unused);
    snprintf(path, sizeof path, "%s/x.abc", fuzz_folder());
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.resumable = true;
    firn_abc_writer *writer = NULL;
    uint32_t frames = 0;
    if (firn_abc_writer_create(path, &def, &writer, NULL) == FIRN_OK)
        firn_abc_writer_begin(writer, &frames, NULL);
    firn_abc_writer_destroy(writer);
    return 0;
}
