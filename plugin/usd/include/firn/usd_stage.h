/// A USD stage (.usda) over the files of a cache: the volume with its grids, the particles as value
/// clips, materials and colliders. It names files and holds no particles or voxels itself.
#ifndef FIRN_USD_STAGE_H
#define FIRN_USD_STAGE_H

#include "firn/usd.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A grid of the volume's files.
typedef struct firn_usd_grid {
    const char *name;       // "density"
    const char *data_type;  // "half", "float", "half3", "float3"
    const char *class_name; // "fogVolume", "levelSet", "unknown"
    bool is_vector;
} firn_usd_grid;

/// A file of the volume and the box around what it holds.
typedef struct firn_usd_volume_frame {
    int frame;
    const char *file; // relative to the stage
    firn_vec3 lower, upper;
} firn_usd_volume_frame;

typedef enum firn_usd_shape {
    FIRN_USD_PLANE, // y = 0, as wide as `size` says
    FIRN_USD_CUBE,  // `size` are half edges
    FIRN_USD_SPHERE,
    FIRN_USD_CAPSULE, // along y, size.y is half of its segment
} firn_usd_shape;

/// A collider as a proxy: simple shapes that move.
typedef struct firn_usd_solid {
    const char *name;
    firn_usd_shape shape;
    firn_vec3 size;
    float radius;
    size_t pose_count; // 1: it stands still
    const double *frames;
    const firn_transform *poses;
} firn_usd_solid;

typedef struct firn_usd_stage {
    const char *name;    // of the shot
    const char *program; // "firn 0.1.0"
    const char *hash;    // of the graph that made the cache
    double fps;
    int first, last; // frames

    size_t grid_count; // 0: no volume
    const firn_usd_grid *grids;
    size_t volume_count;
    const firn_usd_volume_frame *volumes;
    double extinction; // 1/m, for a density of 1
    firn_vec3 albedo;
    double anisotropy;

    const firn_points *points; // its columns are declared; NULL: no particles
    const char *clips;         // "./snow_points.####.usdc"
    const char *clip_manifest; // "./snow_points.manifest.usda"

    size_t solid_count;
    const firn_usd_solid *solids;
} firn_usd_stage;

/// A name that USD takes: letters, digits and '_', not beginning with a digit.
FIRN_API void firn_usd_name(const char *text, char *name, size_t size);

/// The path of the particles in a stage of that name.
FIRN_API void firn_usd_points_path(const char *stage, char *path, size_t size);

FIRN_API firn_result firn_usd_write_stage(const char *path, const firn_usd_stage *stage,
                                          firn_error *error);

/// The manifest of the value clips: which attributes they have.
FIRN_API firn_result firn_usd_write_clip_manifest(const char *path, const firn_usd_stage *stage,
                                                  firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
