/// Subdivision surfaces, through OpenSubdiv: the limit surface of a cage, frame after frame.
///
///     firn_vdb_subdivision *body = NULL;
///     FIRN_TRY(firn_vdb_subdivision_create(&cage, 2, &body, error));
///     firn_vdb_limit limit = firn_vdb_subdivision_limit(body);
///     firn_vec3 *points = firn_alloc(limit.point_count * sizeof *points);
///     FIRN_TRY(firn_vdb_subdivision_apply(body, cage_points, points, error)); // for each frame
#ifndef FIRN_VDB_SUBDIVIDE_H
#define FIRN_VDB_SUBDIVIDE_H

#include "firn/base.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_vdb_scheme {
    FIRN_VDB_SCHEME_CATMULL_CLARK,
    FIRN_VDB_SCHEME_LOOP, // of triangles
    FIRN_VDB_SCHEME_BILINEAR,
} firn_vdb_scheme;

typedef enum firn_vdb_boundary {
    FIRN_VDB_BOUNDARY_EDGE,        // open edges are smooth curves
    FIRN_VDB_BOUNDARY_EDGE_CORNER, // and vertices of one face stay where they are
} firn_vdb_boundary;

/// The topology of a cage; only read.
typedef struct firn_vdb_cage {
    int scheme;   // firn_vdb_scheme
    int boundary; // firn_vdb_boundary
    size_t point_count;
    size_t face_count;
    const int32_t *face_sizes;
    size_t index_count;
    const int32_t *indices; // into points, face after face
    size_t crease_count;
    const int32_t *creases; // two points each
    const float *crease_sharpness;
    size_t corner_count;
    const int32_t *corners; // points
    const float *corner_sharpness;
    size_t hole_count;
    const int32_t *holes; // faces
} firn_vdb_cage;

typedef struct firn_vdb_subdivision firn_vdb_subdivision;

enum { FIRN_VDB_SUBDIVISION_LEVELS = 6, FIRN_VDB_SUBDIVISION_FACES = 1 << 23 };

/// Refines a topology so many times, each of which quarters the faces. Faces with fewer than three
/// points, or with the same point twice in a row, are left out.
FIRN_API firn_result firn_vdb_subdivision_create(const firn_vdb_cage *cage, int level,
                                                 firn_vdb_subdivision **subdivision,
                                                 firn_error *error);
FIRN_API void firn_vdb_subdivision_destroy(firn_vdb_subdivision *subdivision);

/// The refined faces, without holes; valid as long as the subdivision.
typedef struct firn_vdb_limit {
    size_t point_count;
    size_t face_count;
    const int32_t *face_sizes;
    size_t index_count;
    const int32_t *indices;
    size_t left_out; // faces of the cage
} firn_vdb_limit;

FIRN_API firn_vdb_limit firn_vdb_subdivision_limit(const firn_vdb_subdivision *subdivision);

/// What a value at each point of the cage (a position, a velocity) becomes on the limit surface.
FIRN_API firn_result firn_vdb_subdivision_apply(const firn_vdb_subdivision *subdivision,
                                                const firn_vec3 *cage, firn_vec3 *limit,
                                                firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
