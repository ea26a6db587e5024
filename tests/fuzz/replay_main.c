// Runs a fuzz target over files, for compilers without libFuzzer.
#include "firn/file.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int main(int argc, char **argv)
{
    int played = 0;
    for (int i = 1; i < argc; i++) {
        void *bytes;
        size_t size;
        firn_error error;
        if (firn_file_read(argv[i], (size_t)1 << 30, &bytes, &size, &error) != FIRN_OK) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
        LLVMFuzzerTestOneInput(bytes, size);
        firn_free(bytes);
        played++;
    }
    printf("%d files replayed\n", played);
    return played > 0 ? 0 : 1;
}
