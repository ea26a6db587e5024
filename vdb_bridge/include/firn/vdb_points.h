/// Particles in OpenVDB's point format: the compact cache, written and read back.
///
/// Points come back in another order (by voxel); write an `id` to match them.
#ifndef FIRN_VDB_POINTS_H
#define FIRN_VDB_POINTS_H

#include "firn/vdb.h"
#include "firn/vdb_write.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_vdb_attribute_type {
    FIRN_VDB_ATTRIBUTE_FLOAT, // float
    FIRN_VDB_ATTRIBUTE_INT,   // int32_t
    FIRN_VDB_ATTRIBUTE_VEC3,  // firn_vec3
    FIRN_VDB_ATTRIBUTE_MAT3,  // firn_mat3, row-major; always with 32 bits
} firn_vdb_attribute_type;

/// One value for each point. Houdini's names: v (m/s), id, pscale (radius, m), mass (kg), Jp.
typedef struct firn_vdb_attribute {
    const char *name;
    int type; // firn_vdb_attribute_type
    const void *values;
} firn_vdb_attribute;

typedef struct firn_vdb_points {
    size_t count;
    const firn_vec3 *position; // m
    size_t attribute_count;
    const firn_vdb_attribute *attributes;
    size_t meta_count;
    const firn_vdb_meta *meta; // written: more metadata of the file, as in firn_vdb_content
} firn_vdb_points;

typedef struct firn_vdb_points_def {
    uint32_t cookie;
    bool quantize;    // positions with 16 bits: exact to voxel_size / 65,536
    bool half;        // float and vec3 attributes with 16 bits
    float voxel_size; // m, of the tree that holds the points; 0: about eight points in a voxel
    int compression;  // firn_vdb_compression, of the file
    int frame;
    float fps;        // frames/s
    int thread_count; // 0 uses every core
} firn_vdb_points_def;

FIRN_API void firn_vdb_points_def_reset(firn_vdb_points_def *def, size_t size);
FIRN_API firn_param_table firn_vdb_points_params(void);

static inline firn_vdb_points_def firn_vdb_points_def_default(void)
{
    firn_vdb_points_def def;
    firn_vdb_points_def_reset(&def, sizeof def);
    return def;
}

/// Writes the points as the grid `points`; like firn_vdb_write, whole or not at all.
FIRN_API firn_result firn_vdb_write_points(const char *path, const firn_vdb_points_def *def,
                                           const firn_vdb_points *points, firn_vdb_stamp *stamp,
                                           firn_error *error);

/// Points that were read, with every float, integer, vector and matrix attribute of the file.
typedef struct firn_vdb_cloud firn_vdb_cloud;

/// Reads the only point grid, or the one named. stamp may be NULL: not a file of ours.
FIRN_API firn_result firn_vdb_read_points(firn_vdb_reader *reader, const char *path,
                                          const firn_vdb_stamp *stamp, const char *grid,
                                          firn_vdb_cloud **cloud, firn_error *error);
FIRN_API firn_vdb_points firn_vdb_cloud_read(const firn_vdb_cloud *cloud);
FIRN_API void firn_vdb_cloud_destroy(firn_vdb_cloud *cloud);

#ifdef __cplusplus
}
#endif

#endif
