/// PLY and STL files: the positions and faces of a mesh, and velocities where a PLY has them.
///
///     firn_polygons mesh;
///     FIRN_TRY(firn_ply_read("bunny.ply", &mesh, error));
///     ...
///     firn_polygons_free(&mesh);
#ifndef FIRN_POLYGONS_H
#define FIRN_POLYGONS_H

#include "firn/base.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A number of each vertex, under the name that the file gives it.
typedef struct firn_vertex_values {
    char name[64];
    float *values;
} firn_vertex_values;

/// Corners of all faces follow each other in face_indices; face_counts says how many belong to
/// each, which may be fewer than three.
typedef struct firn_polygons {
    size_t position_count;
    firn_vec3 *positions;  // in the units of the file
    firn_vec3 *velocities; // per second; NULL: none
    size_t face_count;
    int32_t *face_counts;
    size_t index_count;
    int32_t *face_indices; // into positions
    size_t value_count;
    firn_vertex_values *values; // of a PLY: what else its vertices have
} firn_polygons;

/// Reads a PLY file of format 1.0, text or binary of either byte order: x y z of its vertices, vx
/// vy vz when it has all three, other single numbers of vertices by their names, and
/// vertex_indices (or vertex_index) of its faces, which may be absent. Other elements and
/// properties are passed over.
FIRN_API firn_result firn_ply_read(const char *path, firn_polygons *mesh, firn_error *error);

/// The same from memory, which is needed only during the call; name is for messages.
FIRN_API firn_result firn_ply_read_memory(const void *bytes, size_t size, const char *name,
                                          firn_polygons *mesh, firn_error *error);

/// Reads an STL file, binary or text. Every triangle has its own three vertices.
FIRN_API firn_result firn_stl_read(const char *path, firn_polygons *mesh, firn_error *error);
FIRN_API firn_result firn_stl_read_memory(const void *bytes, size_t size, const char *name,
                                          firn_polygons *mesh, firn_error *error);

/// Leaves an empty mesh behind.
FIRN_API void firn_polygons_free(firn_polygons *mesh);

#ifdef __cplusplus
}
#endif

#endif
