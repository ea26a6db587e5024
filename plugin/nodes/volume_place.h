/// A volume whose voxels stand anywhere, brought to the lattice that every volume of ours has.
#ifndef FIRN_VOLUME_PLACE_H
#define FIRN_VOLUME_PLACE_H

#include "firn/field.h"

typedef struct firn_placed_volume {
    firn_field_view field;
    firn_coord *origins;
    uint64_t *mask, *velocity_mask;
    float *density, *compaction;
    firn_vec3 *velocity;
} firn_placed_volume;

/// Samples the volume between its voxels, with the voxel size of map. map leads from voxel indices
/// to the world; rotation turns and factor scales the velocities. Density is that of the nearest
/// voxels, weighted; compaction and velocity are weighted by mass.
firn_result firn_volume_place(firn_placed_volume *placed, const firn_field_view *field,
                              firn_transform map, firn_quat rotation, float factor,
                              firn_error *error);
void firn_volume_release(firn_placed_volume *placed);

/// True when voxels of a map stand where those of a firn_field_view do.
bool firn_volume_is_aligned(firn_transform map);

#endif
