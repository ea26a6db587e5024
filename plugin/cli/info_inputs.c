/// What `firn info` says of USD layers and of PLY and STL files.
#include "info.h"

#include "firn/polygons.h"
#include "firn/usd_scene.h"

#include <stdio.h>
#include <string.h>

static void print_bounds(const firn_vec3 *position, size_t count)
{
    const firn_attribute column = {.name = "P",
                                   .storage = FIRN_STORAGE_FLOAT32,
                                   .type_info = FIRN_TYPE_POINT,
                                   .tuple_size = 3,
                                   .data = position};
    const firn_points points = {.count = count, .attributes = &column, .attribute_count = 1};
    firn_vec3 lower, upper;
    if (firn_points_bounds(&points, &lower, &upper))
        printf("  bounds (%g %g %g) to (%g %g %g)\n", (double)lower.x, (double)lower.y,
               (double)lower.z, (double)upper.x, (double)upper.y, (double)upper.z);
}

static void print_prims(const firn_usd_scene *scene)
{
    firn_usd_prim_view prim;
    for (size_t i = 1; firn_usd_scene_prim(scene, i, &prim); i++) {
        const char *name = strrchr(prim.path, '/');
        printf("%*s%s", 2 * prim.depth, "", name != NULL ? name + 1 : prim.path);
        if (prim.type[0] != '\0')
            printf("  %s", prim.type);
        if (prim.sample_count > 1)
            printf(", %zu samples", prim.sample_count);
        printf("\n");
    }
}

static firn_result print_mesh(firn_usd_scene *scene, double time, firn_error *error)
{
    firn_usd_mesh mesh;
    firn_result result = firn_usd_read_world_mesh(scene, "", time, &mesh, error);
    if (result == FIRN_ERR_NOT_FOUND)
        return FIRN_OK;
    FIRN_TRY(result);
    printf("  meshes at %g s: %zu points, %zu faces%s%s\n", time, mesh.vertex_count,
           mesh.face_count, mesh.cage_count > 0 ? ", subdivision surfaces" : "",
           mesh.velocity != NULL ? ", velocities" : "");
    print_bounds(mesh.position, mesh.vertex_count);
    firn_usd_mesh_free(&mesh);
    return FIRN_OK;
}

firn_result firn_info_usd(const char *path, firn_error *error)
{
    firn_usd_scene *scene = NULL;
    FIRN_TRY(firn_usd_scene_open(path, &scene, error));
    double first = 0.0, last = 0.0;
    char unused[2000];
    printf("%s: USD\n  %s\n", path, firn_usd_scene_metadata(scene));
    if (firn_usd_scene_range(scene, "", &first, &last))
        printf("  animated from %g to %g s\n", first, last);
    print_prims(scene);
    firn_result result = print_mesh(scene, first, error);
    firn_usd_scene_leftover(scene, "", unused, sizeof unused);
    if (result == FIRN_OK && unused[0] != '\0')
        printf("  not used by colliders and sources: %s\n", unused);
    firn_usd_scene_close(scene);
    return result;
}

firn_result firn_info_polygons(const char *path, firn_error *error)
{
    firn_polygons mesh;
    size_t length = strlen(path);
    bool ply = length > 4 && strcmp(path + length - 4, ".ply") == 0;
    FIRN_TRY(ply ? firn_ply_read(path, &mesh, error) : firn_stl_read(path, &mesh, error));
    printf("%s: %s\n  %zu points, %zu faces%s\n", path, ply ? "PLY" : "STL", mesh.position_count,
           mesh.face_count, mesh.velocities != NULL ? ", velocities" : "");
    print_bounds(mesh.positions, mesh.position_count);
    for (size_t i = 0; i < mesh.value_count; i++) {
        firn_attribute column = {.name = mesh.values[i].name,
                                 .storage = FIRN_STORAGE_FLOAT32,
                                 .tuple_size = 1,
                                 .data = mesh.values[i].values};
        firn_range range = firn_attribute_range(&column, mesh.position_count, 0);
        printf("  point  %-12s %g to %g\n", column.name, range.lower, range.upper);
    }
    firn_polygons_free(&mesh);
    return FIRN_OK;
}
