// USD as input: whatever opens is composed, and meshes, points and ranges are read at some times.
#define _POSIX_C_SOURCE 200809L
#include "fuzz_file.h"

#include "firn/usd_scene.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_all(firn_usd_scene *scene)
{
    static const double times[] = {-1.0, 0.0, 0.1, 0.2, 1e9};
    static const char *const patterns[] = {"", "boots", "** ^boots"};
    char text[200];
    double first, last;
    firn_usd_scene_range(scene, "", &first, &last);
    firn_usd_scene_leftover(scene, "m", text, sizeof text);
    for (size_t i = 0; i < FIRN_COUNT(times); i++) {
        firn_usd_mesh mesh;
        firn_usd_cloud *cloud = NULL;
        if (firn_usd_read_world_mesh(scene, patterns[i % 3], times[i], &mesh, NULL) == FIRN_OK) {
            for (size_t k = 0; k < mesh.corner_count; k++)
                if (!firn_vec_is_finite(mesh.position[mesh.corner[k]]))
                    abort();
            firn_usd_mesh_free(&mesh);
        }
        if (firn_usd_read_points(scene, "", times[i], &cloud, NULL) == FIRN_OK) {
            const firn_points *points = firn_usd_cloud_points(cloud);
            for (size_t k = 0; k < points->attribute_count; k++)
                for (int c = 0; c < points->attributes[k].tuple_size; c++)
                    firn_attribute_range(&points->attributes[k], points->count, c);
            firn_usd_cloud_free(cloud);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[256];
    firn_usd_scene *scene = NULL;
    fuzz_put("x.usd", bytes, size, path);
    if (firn_usd_scene_open(path, &scene, NULL) == FIRN_OK)
        read_all(scene);
    firn_usd_scene_close(scene);
    return 0;
}
