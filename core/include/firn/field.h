/// Particles as volumes: density, velocity, compaction and any channel on a sparse voxel grid.
///
///     firn_field_def def = firn_field_def_default();
///     def.voxel_size = 0.01f;
///     firn_field *field = NULL;
///     FIRN_TRY(firn_sim_rasterize(sim, &def, NULL, &field, error));
///     firn_field_view view = firn_field_read(field); // leaves of 8^3, ready for OpenVDB
///     firn_field_destroy(field);
#ifndef FIRN_FIELD_H
#define FIRN_FIELD_H

#include "firn/base.h"
#include "firn/level_set.h"
#include "firn/params.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_field firn_field;

typedef struct firn_field_def {
    uint32_t cookie;
    float voxel_size;   // m
    int kernel;         // firn_kernel
    float filter_width; // m, one unit of the kernel, at least a voxel; 0 takes the larger of voxel
                        // and cell
    float anisotropy;   // longest over shortest axis of a kernel; 1: all are round
    float edge;         // voxels, width of the boundary of the snow; 0: as wide as the kernel
    float clip;         // kg/m^3; voxels that are thinner are left out, and their mass with them
    bool velocity;      // also rasterize velocity
    float shutter;      // s; velocity also where snow comes from and goes to in this time
    int dilation;       // voxels; velocity also this far around all that
    bool compaction;    // also rasterize compaction
    int thread_count;   // 0 uses every core
    bool layers;        // density also apart: packed body and loose powder
    float powder_density; // kg/m^3; snow that is thinner around a particle is powder
} firn_field_def;

FIRN_API void firn_field_def_reset(firn_field_def *def, size_t size);
FIRN_API firn_param_table firn_field_params(void);

static inline firn_field_def firn_field_def_default(void)
{
    firn_field_def def;
    firn_field_def_reset(&def, sizeof def);
    return def;
}

/// Values of particles that become one more grid, the mean weighted by mass.
typedef struct firn_field_values {
    const char *name;    // of the grid
    int components;      // 1 or 3
    bool inverse;        // the mean of 1 / value, which must be above 0
    float background;    // where there is no snow
    const float *values; // of each particle, with its components side by side
} firn_field_values;

/// Particles to rasterize, as plain arrays; compaction and velocity may be NULL when not wanted.
typedef struct firn_field_points {
    size_t count;
    const firn_vec3 *position;  // m
    const float *mass;          // kg
    const firn_vec3 *velocity;  // m/s
    const float *jp;            // plastic volume ratio
    float cell_size;            // m, of the simulation they come from
    const firn_level_set *mask; // in world space; snow is kept inside of it. NULL: none
    size_t value_count;
    const firn_field_values *values; // for more grids, any number
} firn_field_points;

/// Rasterizes arrays of particles, from a cache or a simulation. Mass is conserved exactly (to
/// rounding), with any kernel, edge and mask: the sum of density * voxel volume equals the sum of
/// masses. Only clip loses some.
FIRN_API firn_result firn_field_create(const firn_field_def *def, const firn_field_points *points,
                                       firn_field **field, firn_error *error);
FIRN_API void firn_field_destroy(firn_field *field);

/// Layers of the density that renderers want apart; together they are the density.
typedef enum firn_field_layer {
    FIRN_FIELD_OTHER,  // another quantity
    FIRN_FIELD_BODY,   // "body": packed snow, with the edge that was asked for
    FIRN_FIELD_POWDER, // "powder": a fog of loose snow, as wide as its kernels
} firn_field_layer;

/// A grid beside density, velocity and compaction.
typedef struct firn_field_grid {
    const char *name;
    int components;         // 1 or 3
    float background;       // where there is no snow
    const float *values;    // 512 for each leaf, with their components side by side
    firn_field_layer layer; // of the density, kg/m^3
} firn_field_grid;

/// Read-only arrays of a field; valid until it is destroyed. Voxel (i, j, k) stands at the world
/// point ((i + 0.5), (j + 0.5), (k + 0.5)) * voxel_size in every frame.
typedef struct firn_field_view {
    float voxel_size; // m
    size_t leaf_count;
    const firn_coord *leaf_origin; // voxels, multiples of 8, in a fixed order
    const uint64_t *mask; // 8 words for each leaf: bit z of byte y of word x is an active voxel
    const float *density; // kg/m^3, 512 for each leaf
    const firn_vec3 *velocity;     // m/s, momentum over mass, or NULL
    const uint64_t *velocity_mask; // like mask: where velocity is known; NULL: where there is snow
    const float *compaction;       // mass-weighted mean of 1/J_P (1: fresh, above: packed), or NULL
    size_t grid_count;
    const firn_field_grid *grids; // the others, in the order of firn_field_points
} firn_field_view;

FIRN_API firn_field_view firn_field_read(const firn_field *field);

#ifdef __cplusplus
}
#endif

#endif
