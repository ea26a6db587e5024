/// A level set that is filled with snow: the means to ask it, and where in space to look.
#ifndef FIRN_SEED_VOLUME_H
#define FIRN_SEED_VOLUME_H

#include "base/coord_table.h"
#include "space/sdf.h"

/// Made for one source; the arrays of the level set stay the caller's.
typedef struct firn_seed_volume {
    firn_budget budget; // of the index alone, which is small against the level set
    firn_sdf sdf;
    double block_edge; // m; 0: the blocks are not listed yet
    firn_coord_table blocks;
} firn_seed_volume;

firn_result firn_seed_volume_create(const firn_level_set *set, firn_seed_volume **volume,
                                    firn_error *error);
void firn_seed_volume_destroy(firn_seed_volume *volume);

/// Lists the blocks of the world, cubes of edge meters around whole multiples, that come within
/// margin of the inside; in a fixed order. Does nothing when they are listed.
firn_result firn_seed_volume_list(firn_seed_volume *volume, double edge, double margin,
                                  firn_error *error);

#endif
