/// Grains of snow that are seen one by one: spheres or flakes in a packed tree of boxes.
///
/// Grains are sorted along a Hilbert curve; four neighbors make a pack, four packs a node, four
/// nodes a node of the next level. Where a node's children are follows from its number, so there
/// are no pointers, and the tree is the same for any number of threads.
#ifndef FIRN_RENDER_GRAINS_H
#define FIRN_RENDER_GRAINS_H

#include "density_grid.h"
#include "solids.h"

#include "firn/render.h"

enum { FIRN_GRAIN_LEVELS = 16 };

/// Four grains side by side; a radius below zero is an empty place.
typedef struct firn_grain_pack {
    float at[3][4]; // voxels
    float radius[4];
} firn_grain_pack;

/// How far four grains go while the shutter is open, voxels.
typedef struct firn_grain_motion {
    float step[3][4];
} firn_grain_motion;

/// Boxes of the four children of a node.
typedef struct firn_grain_node {
    float side[2][3][4]; // lower and upper
} firn_grain_node;

/// All zero is no grains.
typedef struct firn_grain_set {
    size_t count;
    int shape; // firn_render_grains
    firn_grain_pack *packs;
    firn_grain_motion *motion;       // of each pack; NULL: none
    uint32_t *key;                   // of each grain, for its facet
    firn_vec3 *color;                // of each grain; NULL: all the same
    firn_grain_node *nodes, *late;   // when the shutter opens and closes; late NULL: at rest
    size_t first[FIRN_GRAIN_LEVELS]; // node of each level, from the packs up
    int levels;
    firn_vec3 bounds[2]; // voxels, box around the grains without strays
} firn_grain_set;

typedef struct firn_grain_def {
    const firn_grains *grains;
    int shape;
    float scale, limit;              // factor of the radius; m, largest radius
    firn_vec3 origin;                // m, of voxel space
    float voxel_size;                // m
    float shutter;                   // s
    const firn_density_grid *volume; // grains deep inside of it are left out; NULL: none are
} firn_grain_def;

/// Refuses positions and radii that are not finite.
firn_result firn_grain_set_create(firn_grain_set *set, const firn_grain_def *def,
                                  firn_error *error);
void firn_grain_set_free(firn_grain_set *set);
size_t firn_grain_set_bytes(const firn_grain_set *set);

/// What light met: where, and which grain.
typedef struct firn_grain_hit {
    float distance;   // voxels
    uint32_t grain;   // number in the set
    firn_vec3 center; // voxels, at the time of the ray
    firn_vec3 normal; // against the light
} firn_grain_hit;

/// The nearest grain before hit->distance, entered from outside; time is -0.5 to 0.5.
bool firn_grains_meet(const firn_grain_set *set, firn_vec3 from, firn_vec3 direction, float time,
                      firn_grain_hit *hit);

/// Whether any grain is before `end`.
bool firn_grains_block(const firn_grain_set *set, firn_vec3 from, firn_vec3 direction, float time,
                       float end);

/// The mirror of a grain: a direction that only its key decides.
firn_vec3 firn_grain_facet(uint32_t key);

#endif
