/// Making level sets: from meshes, for colliders and sources, and from particles, for shading.
#ifndef FIRN_VDB_SURFACE_H
#define FIRN_VDB_SURFACE_H

#include "firn/vdb.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A polygon mesh in world space as plain arrays; only read.
typedef struct firn_vdb_mesh {
    size_t point_count;
    const firn_vec3 *points;   // m
    const firn_vec3 *velocity; // m/s, one for each point; NULL: none
    size_t face_count;
    const int32_t *face_sizes; // points of each face, 3 or more; NULL: all triangles
    size_t index_count;
    const int32_t *indices; // into points, face after face
} firn_vdb_mesh;

typedef enum firn_vdb_solid {
    FIRN_VDB_SOLID_AUTO,  // a closed mesh is filled; an open one is filled and has a shell as well
    FIRN_VDB_SOLID_FILL,  // inside is what the surface encloses
    FIRN_VDB_SOLID_SHELL, // inside is what is near the surface
} firn_vdb_solid;

typedef struct firn_vdb_mesh_def {
    uint32_t cookie;
    float voxel_size;      // m
    float half_width;      // voxels, of the band on either side of the surface
    int solid;             // firn_vdb_solid
    float shell_thickness; // m, of the shell around an open surface; 0: two voxels
    double memory_limit;   // MB that the voxels may take; 0: no limit
    int thread_count;      // 0 uses every core

    /// True ends the conversion with FIRN_ERR_CANCELLED. Asked often, from several threads. NULL:
    /// it goes on to the end.
    bool (*stop)(void *user);
    void *user;
} firn_vdb_mesh_def;

FIRN_API void firn_vdb_mesh_def_reset(firn_vdb_mesh_def *def, size_t size);
FIRN_API firn_param_table firn_vdb_mesh_params(void);

static inline firn_vdb_mesh_def firn_vdb_mesh_def_default(void)
{
    firn_vdb_mesh_def def;
    firn_vdb_mesh_def_reset(&def, sizeof def);
    return def;
}

enum { FIRN_VDB_EXTENT_LIMIT = 4096 }; // voxels along an edge of the box around mesh or particles

/// Converts a mesh; the velocities of its points are carried to the voxels around the surface.
/// Points that are not finite, indices that are out of range and meshes that are too large for the
/// voxel size are refused by name before any work.
FIRN_API firn_result firn_vdb_shape_from_mesh(const firn_vdb_mesh_def *def,
                                              const firn_vdb_mesh *mesh, firn_vdb_shape **shape,
                                              firn_error *error);

/// Particles as spheres; only read.
typedef struct firn_vdb_spheres {
    size_t count;
    const firn_vec3 *position; // m
    const float *radius;       // m; NULL: that of the settings
} firn_vdb_spheres;

typedef struct firn_vdb_skin_def {
    uint32_t cookie;
    float voxel_size; // m
    float half_width; // voxels, of the band on either side of the surface
    float radius;     // m, of every particle, unless each has its own; at least 1.5 voxels are used
    int smoothing;    // passes of a mean filter; each evens out bumps of about a voxel
    int thread_count; // 0 uses every core
} firn_vdb_skin_def;

FIRN_API void firn_vdb_skin_def_reset(firn_vdb_skin_def *def, size_t size);
FIRN_API firn_param_table firn_vdb_skin_params(void);

static inline firn_vdb_skin_def firn_vdb_skin_def_default(void)
{
    firn_vdb_skin_def def;
    firn_vdb_skin_def_reset(&def, sizeof def);
    return def;
}

/// The surface around particles; voxels are aligned to the world origin.
FIRN_API firn_result firn_vdb_shape_from_particles(const firn_vdb_skin_def *def,
                                                   const firn_vdb_spheres *spheres,
                                                   firn_vdb_shape **shape, firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
