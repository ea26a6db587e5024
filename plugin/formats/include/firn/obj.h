/// OBJ files: the positions and faces of a static mesh.
///
///     firn_obj *obj = NULL;
///     FIRN_TRY(firn_obj_read("bunny.obj", &obj, error));
///     const firn_obj_mesh *mesh = firn_obj_view(obj);
///     ...
///     firn_obj_destroy(obj);
#ifndef FIRN_OBJ_H
#define FIRN_OBJ_H

#include "firn/base.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_obj firn_obj;

/// The mesh. Corners of all faces follow each other in face_indices; face_counts says how many
/// belong to each.
typedef struct firn_obj_mesh {
    size_t position_count;
    const firn_vec3 *positions; // in the units of the file
    size_t face_count;
    const int32_t *face_counts; // 3 or more each
    size_t index_count;
    const int32_t *face_indices;       // into positions
    size_t triangle_count, quad_count; // the other faces have five corners or more
    firn_vec3 lower, upper;            // box around the positions
} firn_obj_mesh;

/// Reads v and f; everything else (vn, vt, g, o, s, usemtl, l, ...) is passed over. A bad number or
/// an index out of range is FIRN_ERR_FORMAT and names the line.
FIRN_API firn_result firn_obj_read(const char *path, firn_obj **obj, firn_error *error);

/// The same from memory, which is needed only during the call; name is for messages.
FIRN_API firn_result firn_obj_read_memory(const char *text, size_t size, const char *name,
                                          firn_obj **obj, firn_error *error);

/// Lives as long as obj.
FIRN_API const firn_obj_mesh *firn_obj_view(const firn_obj *obj);

/// Accepts NULL.
FIRN_API void firn_obj_destroy(firn_obj *obj);

#ifdef __cplusplus
}
#endif

#endif
