/// Reading OpenVDB files: what is in them, level sets with velocities, volumes.
///
///     firn_vdb_reader_def settings = firn_vdb_reader_def_default();
///     firn_vdb_reader *reader = NULL;
///     FIRN_TRY(firn_vdb_reader_create(&settings, &reader, error));
///
///     firn_vdb_shape_def def = firn_vdb_shape_def_default();
///     firn_vdb_shape *shape = NULL;
///     FIRN_TRY(firn_vdb_read_shape(reader, "walk.0001.vdb", NULL, &def, &shape, error));
///     firn_collider_def collider = firn_collider_def_level_set(firn_vdb_shape_level_set(shape));
///
/// OpenVDB trusts the bytes it reads, so a damaged file can crash the process that reads it. A file
/// whose stamp (size and checksum, noted when Firn wrote it) matches is read in this process; any
/// other file is read by a helper process with limits on memory and time, and a crash there is an
/// error here. Either way the layout of the file is checked first, which finds truncated files.
#ifndef FIRN_VDB_H
#define FIRN_VDB_H

#include "firn/base.h"
#include "firn/field.h"
#include "firn/level_set.h"
#include "firn/params.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Reads files, one call at a time. Keeps one helper process and starts another when that dies.
typedef struct firn_vdb_reader firn_vdb_reader;

typedef struct firn_vdb_reader_def {
    uint32_t cookie;
    const char *helper;  // path of firn-vdb-helper. NULL: the environment variable FIRN_VDB_HELPER,
                         // else beside this library, else beside the running program
    double memory_limit; // MB of address space of the helper, and of what it may send; 0: no limit
    float timeout;       // s, for one file
} firn_vdb_reader_def;

FIRN_API void firn_vdb_reader_def_reset(firn_vdb_reader_def *def, size_t size);
FIRN_API firn_param_table firn_vdb_reader_params(void);

static inline firn_vdb_reader_def firn_vdb_reader_def_default(void)
{
    firn_vdb_reader_def def;
    firn_vdb_reader_def_reset(&def, sizeof def);
    return def;
}

FIRN_API firn_result firn_vdb_reader_create(const firn_vdb_reader_def *def,
                                            firn_vdb_reader **reader, firn_error *error);
FIRN_API void firn_vdb_reader_destroy(firn_vdb_reader *reader);

/// How to know a file again: noted when it was written, compared before it is trusted.
typedef struct firn_vdb_stamp {
    uint64_t size;     // bytes
    uint64_t checksum; // firn_hash64 over pieces of 1 MiB, each seeded with the one before
} firn_vdb_stamp;

/// The stamp of a file as it is on disk now.
FIRN_API firn_result firn_vdb_stamp_file(const char *path, firn_vdb_stamp *stamp,
                                         firn_error *error);

/// Checks that a file is whole (header, positions of its grids, size) without reading its voxels.
/// The message for a damaged file has the size it should have and the size it has.
FIRN_API firn_result firn_vdb_check(const char *path, firn_error *error);

// ---- what is in a file
// ---------------------------------------------------------------------------

typedef enum firn_vdb_class {
    FIRN_VDB_CLASS_UNKNOWN,
    FIRN_VDB_CLASS_LEVEL_SET,
    FIRN_VDB_CLASS_FOG,
    FIRN_VDB_CLASS_STAGGERED,
} firn_vdb_class;

/// A metadata entry: its type as OpenVDB names it ("float", "string", "vec3s") and its value as
/// text, of which at most 1,000 bytes are kept.
typedef struct firn_vdb_meta {
    const char *name;
    const char *type;
    const char *value;
} firn_vdb_meta;

typedef struct firn_vdb_grid {
    const char *name;
    const char *type;       // "float", "double", "vec3s", "points", ... as OpenVDB names it
    int grid_class;         // firn_vdb_class
    bool half;              // values are stored with 16 bits
    bool usable;            // Firn can read it: rotation and uniform scale only
    double matrix[16];      // voxel index to world, row-major, for column vectors
    firn_transform map;     // the same, when usable
    firn_vec3 voxel_size;   // m
    bool counted;           // the file says how many voxels are active, and where
    firn_coord box_min;     // voxels, when counted
    firn_coord box_max;     // voxels, inclusive, when counted
    uint64_t active_voxels; // when counted
    size_t meta_count;
    const firn_vdb_meta *meta;
} firn_vdb_grid;

typedef struct firn_vdb_listing firn_vdb_listing;

typedef struct firn_vdb_listing_view {
    uint64_t bytes; // of the whole file
    size_t grid_count;
    const firn_vdb_grid *grids;
    size_t meta_count;
    const firn_vdb_meta *meta; // of the file
} firn_vdb_listing_view;

/// Lists grids and metadata without loading voxels. stamp may be NULL: not a file of ours.
FIRN_API firn_result firn_vdb_list(firn_vdb_reader *reader, const char *path,
                                   const firn_vdb_stamp *stamp, firn_vdb_listing **listing,
                                   firn_error *error);
FIRN_API firn_vdb_listing_view firn_vdb_listing_read(const firn_vdb_listing *listing);
FIRN_API void firn_vdb_listing_destroy(firn_vdb_listing *listing);

// ---- level sets
// ----------------------------------------------------------------------------------

/// A surface as signed distance, and the velocity of its points where known.
typedef struct firn_vdb_shape firn_vdb_shape;

typedef enum firn_vdb_region {
    FIRN_VDB_REGION_LEVEL_SET, // the grid `surface`, else the only level set
    FIRN_VDB_REGION_FOG,       // the grid `density`, else the only fog volume; rebuilt as distance
    FIRN_VDB_REGION_ANY,       // a level set if there is one, else a fog volume
} firn_vdb_region;

typedef struct firn_vdb_shape_def {
    uint32_t cookie;
    int region;                // firn_vdb_region
    const char *grid;          // NULL: by the rules above
    bool velocity;             // also read velocities, when there are any
    const char *velocity_grid; // NULL: `vel`, `v` or `velocity`, or their three scalars `vel.x` ...
    float threshold;           // of a fog volume: denser is inside
    float half_width;          // voxels, of the band around the surface of a fog volume
} firn_vdb_shape_def;

FIRN_API void firn_vdb_shape_def_reset(firn_vdb_shape_def *def, size_t size);
FIRN_API firn_param_table firn_vdb_shape_params(void);

static inline firn_vdb_shape_def firn_vdb_shape_def_default(void)
{
    firn_vdb_shape_def def;
    firn_vdb_shape_def_reset(&def, sizeof def);
    return def;
}

/// Reads a surface. Float, half and double; any rotation with uniform scale. Staggered velocities
/// are brought to the cell centers. stamp may be NULL: not a file of ours.
FIRN_API firn_result firn_vdb_read_shape(firn_vdb_reader *reader, const char *path,
                                         const firn_vdb_stamp *stamp, const firn_vdb_shape_def *def,
                                         firn_vdb_shape **shape, firn_error *error);

/// Reads velocities alone, such as those of air, from a file that need not have a surface; grid
/// NULL: by the rules of velocity_grid. The shape has an empty level set. A file without is an
/// error.
FIRN_API firn_result firn_vdb_read_velocity(firn_vdb_reader *reader, const char *path,
                                            const firn_vdb_stamp *stamp, const char *grid,
                                            firn_vdb_shape **shape, firn_error *error);

/// Views of a shape; valid until it is destroyed. The velocity is NULL when there is none.
FIRN_API const firn_level_set *firn_vdb_shape_level_set(const firn_vdb_shape *shape);
FIRN_API const firn_velocity_grid *firn_vdb_shape_velocity(const firn_vdb_shape *shape);

/// A sentence about something unexpected that was worked around, or "".
FIRN_API const char *firn_vdb_shape_warning(const firn_vdb_shape *shape);
FIRN_API void firn_vdb_shape_destroy(firn_vdb_shape *shape);

// ---- density volumes
// -----------------------------------------------------------------------------

/// A density volume with what else is on its voxels: the way back from firn_vdb_write.
typedef struct firn_vdb_volume firn_vdb_volume;

typedef struct firn_vdb_volume_view {
    firn_field_view field;   // density in kg/m^3; velocity and compaction when the file has them
    firn_transform map;      // voxel index to world
    bool aligned;            // voxels stand where firn_field_view says
    float reference_density; // kg/m^3, that the file's density of 1 means
} firn_vdb_volume_view;

/// Reads `density` (or the only fog volume, or the grid of that name), `vel` and `compaction`. A
/// file that does not say its units holds density relative to 400 kg/m^3.
FIRN_API firn_result firn_vdb_read_volume(firn_vdb_reader *reader, const char *path,
                                          const firn_vdb_stamp *stamp, const char *grid,
                                          firn_vdb_volume **volume, firn_error *error);
FIRN_API firn_vdb_volume_view firn_vdb_volume_read(const firn_vdb_volume *volume);
FIRN_API void firn_vdb_volume_destroy(firn_vdb_volume *volume);

#ifdef __cplusplus
}
#endif

#endif
