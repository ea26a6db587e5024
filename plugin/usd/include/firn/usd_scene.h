/// USD as input: what a layer and those that it brings in hold, as one tree of prims over time.
///
///     firn_usd_scene *scene = NULL;
///     firn_usd_mesh mesh;
///     FIRN_TRY(firn_usd_scene_open("walk.usdc", &scene, error));
///     FIRN_TRY(firn_usd_read_world_mesh(scene, "body", 0.5, &mesh, error));
///     ...
///     firn_usd_mesh_free(&mesh);
///     firn_usd_scene_close(scene);
///
/// Text (.usda) and crate (.usdc, 0.4 to 0.13) are read, with sublayers, references, payloads,
/// inherits and chosen variants. docs/inputs.md says what is taken and what is not.
#ifndef FIRN_USD_SCENE_H
#define FIRN_USD_SCENE_H

#include "firn/points.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_usd_scene firn_usd_scene;

FIRN_API firn_result firn_usd_scene_open(const char *path, firn_usd_scene **scene,
                                         firn_error *error);
FIRN_API void firn_usd_scene_close(firn_usd_scene *scene); // accepts NULL

/// "metersPerUnit=0.01;upAxis=Z", with USD's own defaults (0.01, Y) where the layer says nothing.
FIRN_API const char *firn_usd_scene_metadata(const firn_usd_scene *scene);

/// The first and last time (s) of what moves the prims that a pattern selects; false: nothing does.
FIRN_API bool firn_usd_scene_range(const firn_usd_scene *scene, const char *pattern, double *first,
                                   double *last);

/// Prims in the order of the tree; NULL past the last. The first is the root.
typedef struct firn_usd_prim_view {
    const char *path, *type; // "/actor/body", "Mesh"
    int depth;
    size_t sample_count; // of what has the most
} firn_usd_prim_view;

FIRN_API bool firn_usd_scene_prim(const firn_usd_scene *scene, size_t index,
                                  firn_usd_prim_view *view);

/// What the prims hold that colliders and sources do not take with a pattern, as
/// "1 Camera (/lens), 2 meshes not selected (/a, /b)"; "": nothing.
FIRN_API void firn_usd_scene_leftover(const firn_usd_scene *scene, const char *pattern, char *text,
                                      size_t size);

// --- Meshes --------------------------------------------------------------------------------------

typedef enum firn_usd_scheme {
    FIRN_USD_SCHEME_CATMULL_CLARK,
    FIRN_USD_SCHEME_LOOP,
    FIRN_USD_SCHEME_BILINEAR,
} firn_usd_scheme;

/// Which part of a mesh is the cage of a subdivision surface, and the rules of that; vertices and
/// faces are counted from the first of the part.
typedef struct firn_usd_cage {
    size_t first_vertex, vertex_count, first_face, face_count, first_corner, corner_count;
    firn_usd_scheme scheme;
    int boundary; // 0 none, 1 edges and corners, 2 edges only
    size_t crease_count;
    int32_t *crease; // two vertices each
    float *crease_sharpness;
    size_t peak_count;
    int32_t *peak;
    float *peak_sharpness;
    size_t hole_count;
    int32_t *hole;
} firn_usd_cage;

/// Corners run counter-clockwise seen from outside.
typedef struct firn_usd_mesh {
    size_t vertex_count;
    firn_vec3 *position;
    firn_vec3 *velocity; // units of the file per second; NULL: none are stored
    size_t face_count;
    int32_t *face_size;
    size_t corner_count;
    int32_t *corner;
    size_t cage_count;
    firn_usd_cage *cages;
} firn_usd_mesh;

/// Every mesh that the pattern selects, as one mesh in world space, at a time in seconds. A pattern
/// that selects subsets of faces and not their mesh brings these alone. What is invisible, a guide
/// or a proxy takes no part: the mesh may be empty. FIRN_ERR_NOT_FOUND: there is no such mesh.
FIRN_API firn_result firn_usd_read_world_mesh(firn_usd_scene *scene, const char *pattern,
                                              double time, firn_usd_mesh *mesh, firn_error *error);
FIRN_API void firn_usd_mesh_free(firn_usd_mesh *mesh);

// --- Points --------------------------------------------------------------------------------------

/// Points in world space as columns: P, v, id, pscale (half of the width), and primvars.
typedef struct firn_usd_cloud firn_usd_cloud;

FIRN_API firn_result firn_usd_read_points(firn_usd_scene *scene, const char *pattern, double time,
                                          firn_usd_cloud **cloud, firn_error *error);
FIRN_API const firn_points *firn_usd_cloud_points(const firn_usd_cloud *cloud);
FIRN_API void firn_usd_cloud_free(firn_usd_cloud *cloud);

#ifdef __cplusplus
}
#endif

#endif
