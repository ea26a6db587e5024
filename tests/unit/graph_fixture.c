#define _XOPEN_SOURCE 700
#include "graph_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char fixture_scene[] =
    "{\n"
    "  \"firn\": 1,\n"
    "  \"name\": \"drop\",\n"
    "  \"fps\": 24,\n"
    "  \"frames\": [1, 6],\n"
    "  \"base\": \"cache\",\n"
    "  \"nodes\": {\n"
    "    \"snow\": {\"type\": \"material\", \"params\": {\"preset\": \"packing\", "
    "\"young_modulus\": 2e4}},\n"
    "    \"ball\": {\n"
    "      \"type\": \"snow_source\",\n"
    "      \"params\": {\"center\": [0, 0.2, 0], \"radius\": 0.15, \"velocity\": [1, -2, 0]},\n"
    "      \"inputs\": {\"material\": \"snow\"}\n"
    "    },\n"
    "    \"ground\": {\"type\": \"collider\"},\n"
    "    \"solver\": {\n"
    "      \"type\": \"solver\",\n"
    "      \"params\": {\"cell_size\": 0.05, \"checkpoint_frames\": 2, \"thread_count\": 1},\n"
    "      \"inputs\": {\"sources\": [\"ball\"], \"colliders\": [\"ground\"]}\n"
    "    },\n"
    "    \"points\": {\n"
    "      \"type\": \"write_particles\",\n"
    "      \"params\": {\"format\": \"bgeo\"},\n"
    "      \"inputs\": {\"particles\": \"solver\"}\n"
    "    }\n"
    "  }\n"
    "}\n";

char *fixture_scene_with(const char *old_text, const char *new_text)
{
    const char *at = strstr(fixture_scene, old_text);
    assert_non_null(at);
    size_t size = sizeof fixture_scene + strlen(new_text);
    char *text = firn_alloc(size);
    assert_non_null(text);
    snprintf(text, size, "%.*s%s%s", (int)(at - fixture_scene), fixture_scene, new_text,
             at + strlen(old_text));
    return text;
}

firn_graph *fixture_load(const char *text, const char *folder)
{
    firn_graph *graph = NULL;
    firn_error error = {0};
    if (firn_graph_load_memory(text, strlen(text), "test.firn", folder, &graph, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return graph;
}

void fixture_folder(char *path, size_t size)
{
    snprintf(path, size, "firn_graph_XXXXXX");
    assert_non_null(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

void fixture_remove(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

uint64_t fixture_hash_files(const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, by_name);
    uint64_t hash = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char path[FIRN_PATH_SIZE];
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        bool counts =
            name[0] != '.' && strcmp(name, "timing.json") != 0 && stat(path, &status) == 0;
        if (counts && S_ISDIR(status.st_mode)) {
            uint64_t below = fixture_hash_files(path);
            hash = firn_hash64(&below, sizeof below, hash);
        } else if (counts && strcmp(name, "resolved.firn") != 0) {
            void *bytes = NULL;
            size_t size = 0;
            assert_int_equal(firn_file_read(path, 1u << 30, &bytes, &size, NULL), FIRN_OK);
            hash = firn_hash64(name, strlen(name), hash);
            hash = firn_hash64(bytes, size, hash);
            firn_free(bytes);
        }
        free(entries[i]);
    }
    free(entries);
    return hash;
}
