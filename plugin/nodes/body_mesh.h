/// Polygons of the shapes of bodies: what goes out with them.
#ifndef FIRN_BODY_MESH_H
#define FIRN_BODY_MESH_H

#include "firn/data.h"

/// Polygons that were made for a shape; zeros hold nothing.
typedef struct firn_made_mesh {
    firn_solid_mesh view; // of the arrays below
    firn_vec3 *position;
    int32_t *face_size, *corner;
} firn_made_mesh;

/// A box, ball or capsule.
firn_result firn_body_mesh_make(const firn_collider_def *def, firn_made_mesh *mesh,
                                firn_error *error);
/// The surface of a level set, in its own space.
firn_result firn_body_mesh_from(const firn_level_set *set, firn_made_mesh *mesh, firn_error *error);
void firn_body_mesh_free(firn_made_mesh *mesh);

#endif
