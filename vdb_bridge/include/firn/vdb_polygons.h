/// Polygons of a surface that is given by voxels.
#ifndef FIRN_VDB_POLYGONS_H
#define FIRN_VDB_POLYGONS_H

#include "firn/vdb_surface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A mesh that the library owns.
typedef struct firn_vdb_polygons firn_vdb_polygons;

/// Voxels of a value that is below a limit inside of the surface, and above it outside.
typedef struct firn_vdb_values {
    float voxel_size; // m; voxel (i, j, k) stands at (i + 0.5, j + 0.5, k + 0.5) * voxel_size
    size_t leaf_count;
    const firn_coord *leaf_origin; // voxels, multiples of 8
    const float *values;           // 512 for each leaf
    float outside;                 // the value where there are no leaves
} firn_vdb_values;

/// Where the values pass the limit, as quadrilaterals, and triangles where adaptivity (0 to 1) has
/// merged flat parts. The surface is closed; faces wind counter-clockwise seen from outside.
FIRN_API firn_result firn_vdb_polygons_make(const firn_vdb_values *values, float limit,
                                            float adaptivity, int thread_count,
                                            firn_vdb_polygons **polygons, firn_error *error);

/// Its arrays, valid until it is destroyed.
FIRN_API firn_vdb_mesh firn_vdb_polygons_read(const firn_vdb_polygons *polygons);
FIRN_API void firn_vdb_polygons_destroy(firn_vdb_polygons *polygons);

#ifdef __cplusplus
}
#endif

#endif
