#include "shape_file.h"

#include "firn/abc.h"
#include "firn/obj.h"

#include <string.h>

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool firn_path_ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    if (length < tail)
        return false;
    for (size_t i = 0; i < tail; i++)
        if (lower(path[length - tail + i]) != lower(ending[i]))
            return false;
    return true;
}

static firn_result shape_from_obj(const char *path, const firn_vdb_mesh_def *def,
                                  firn_vdb_shape **shape, firn_error *error)
{
    firn_obj *obj = NULL;
    FIRN_TRY(firn_obj_read(path, &obj, error));
    const firn_obj_mesh *view = firn_obj_view(obj);
    firn_vdb_mesh mesh = {.point_count = view->position_count,
                          .points = view->positions,
                          .face_count = view->face_count,
                          .face_sizes = view->face_counts,
                          .index_count = view->index_count,
                          .indices = view->face_indices};
    firn_result result = firn_vdb_shape_from_mesh(def, &mesh, shape, error);
    firn_obj_destroy(obj);
    return result;
}

static firn_result shape_from_abc(const firn_mesh_file *file, const firn_vdb_mesh_def *def,
                                  firn_vdb_shape **shape, firn_error *error)
{
    firn_abc *archive = NULL;
    FIRN_TRY(firn_abc_open(file->path, &archive, error));
    firn_abc_mesh mesh = {0};
    firn_result result = firn_abc_read_world_mesh(archive, file->object, file->time, &mesh, error);
    if (result == FIRN_OK) {
        firn_vdb_mesh view = {.point_count = mesh.vertex_count,
                              .points = mesh.position,
                              .velocity = mesh.velocity,
                              .face_count = mesh.face_count,
                              .face_sizes = mesh.face_size,
                              .index_count = mesh.corner_count,
                              .indices = mesh.corner};
        result = firn_vdb_shape_from_mesh(def, &view, shape, error);
        firn_abc_mesh_free(&mesh);
    }
    firn_abc_close(archive);
    return result;
}

firn_result firn_shape_from_mesh_file(const firn_mesh_file *file, const firn_vdb_mesh_def *def,
                                      firn_vdb_shape **shape, firn_error *error)
{
    if (firn_path_ends_with(file->path, ".obj"))
        return shape_from_obj(file->path, def, shape, error);
    if (firn_path_ends_with(file->path, ".abc"))
        return shape_from_abc(file, def, shape, error);
    return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                     "'%s' is no mesh that can be read; meshes are .obj or .abc files", file->path);
}

firn_result firn_shape_from_vdb_file(const char *path, const char *grid,
                                     const firn_vdb_shape_def *def, firn_vdb_shape **shape,
                                     firn_error *error)
{
    firn_vdb_reader_def settings = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    FIRN_TRY(firn_vdb_reader_create(&settings, &reader, error));
    firn_vdb_shape_def wanted = *def;
    wanted.grid = grid[0] != '\0' ? grid : NULL;
    firn_result result = firn_vdb_read_shape(reader, path, NULL, &wanted, shape, error);
    firn_vdb_reader_destroy(reader);
    return result;
}
