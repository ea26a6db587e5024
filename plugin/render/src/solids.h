/// Diffuse things that light bounces off: planes, boxes, spheres, capsules and level sets.
#ifndef FIRN_RENDER_SOLIDS_H
#define FIRN_RENDER_SOLIDS_H

#include "block_index.h"

#include "firn/collider.h"
#include "firn/patch.h"

/// A solid in voxel space: world there means voxel space, local the space of the shape.
typedef struct firn_solid {
    int shape;           // firn_shape
    firn_transform pose; // local to voxel space
    firn_vec3 half_size;
    float radius, offset;
    firn_vec3 albedo;
    firn_vec3 lower, upper; // voxels, box around it; planes have none

    // Of a plane that is open where a patch is.
    const firn_patch *patch; // NULL: it has no end
    firn_vec3 origin;        // m, of voxel space
    float voxel_size;        // m

    // Of a level set.
    const firn_level_set *set;
    firn_block_index index;
    uint32_t *leaf;   // number of the leaf of each block
    firn_vec3 box[2]; // corners of the leaves, in its own voxels
} firn_solid;

typedef struct firn_solids {
    firn_solid *list;
    size_t count;
} firn_solids;

/// Where light meets a solid.
typedef struct firn_hit {
    float distance;   // voxels
    firn_vec3 normal; // against the light
    firn_vec3 albedo;
    const firn_solid *solid;
    firn_vec3 local; // in the space of the solid
} firn_hit;

/// Makes room for `count` solids; each is then prepared with its def, in a voxel space with this
/// origin and voxel size (m).
firn_result firn_solids_open(firn_solids *solids, size_t count, firn_error *error);
firn_result firn_solids_add(firn_solids *solids, const firn_collider_def *def, firn_vec3 albedo,
                            firn_vec3 origin, float voxel_size, firn_error *error);
void firn_solids_free(firn_solids *solids);

/// The nearest solid before hit->distance, which it lowers; false when there is none.
bool firn_solids_meet(const firn_solids *solids, firn_vec3 from, firn_vec3 direction,
                      firn_hit *hit);

/// The same for one level set in its own space, where the direction may have any length.
bool firn_level_set_meet(const firn_solid *solid, firn_vec3 from, firn_vec3 direction, float *t,
                         firn_vec3 *normal);
firn_result firn_level_set_open(firn_solid *solid, const firn_level_set *set, firn_error *error);

#endif
