// What a cache says about itself: manifest, times, records of single frames, lock. The first byte
// chooses which file the rest is.
#define _POSIX_C_SOURCE 200809L
#include "fuzz_file.h"

#include "firn/cache.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char manifest[] =
    "{\"firn_manifest\": 1, \"name\": \"a\", \"program\": \"firn 0.1.0\", \"fps\": 24,"
    "\"hash\": \"0123456789abcdef\", \"files\": [], \"frames\": [{\"frame\": 3, \"files\": ["
    "{\"name\": \"a.3\", \"node\": \"points\", \"size\": 1, \"checksum\": \"0000000000000000\"}],"
    "\"stats\": {\"particles\": 5}}]}";

// Every name that is read stays in the folder, and frames rise.
static void use(const firn_manifest_view *view)
{
    for (size_t i = 0; i < view->frame_count; i++) {
        if (i > 0 && view->frames[i].frame <= view->frames[i - 1].frame)
            abort();
        for (size_t k = 0; k < view->frames[i].file_count; k++) {
            const char *name = view->frames[i].files[k].name;
            if (name[0] == '.' || name[0] == '\0' || strchr(name, '/') != NULL)
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const names[] = {"manifest.json", "timing.json", "frames/points.0003.json",
                                        ".lock"};
    char path[256], owner[400];
    if (size < 1)
        return 0;
    size_t kind = bytes[0] % FIRN_COUNT(names);
    snprintf(path, sizeof path, "%s/frames", fuzz_folder());
    mkdir(path, 0777);
    fuzz_put(names[0], (const uint8_t *)manifest, sizeof manifest - 1, path);
    for (size_t i = 1; i < FIRN_COUNT(names); i++)
        fuzz_put(names[i], NULL, 0, path);
    fuzz_put(names[kind], bytes + 1, size - 1, path);
    firn_manifest *found = NULL;
    if (firn_manifest_read(fuzz_folder(), &found, NULL) == FIRN_OK) {
        firn_manifest_view view = firn_manifest_look(found);
        use(&view);
    } else if (kind != 0) {
        abort(); // nothing but the manifest is needed
    }
    firn_manifest_destroy(found);
    firn_cache_writer(fuzz_folder(), owner, sizeof owner);
    return 0;
}
