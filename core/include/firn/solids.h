/// How far places are from colliders, without a simulation: for whoever puts snow on them.
#ifndef FIRN_SOLIDS_H
#define FIRN_SOLIDS_H

#include "firn/collider.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_solids firn_solids;

/// Colliders as their defs say, without motion; level sets must outlive the solids.
FIRN_API firn_result firn_solids_create(const firn_collider_def *defs, size_t count,
                                        firn_solids **solids, firn_error *error);
FIRN_API void firn_solids_destroy(firn_solids *solids);

typedef struct firn_solid_distance {
    float value;      // m, negative inside; that of a level set ends at its band
    firn_vec3 normal; // away from the nearest one, unit length
    int nearest;      // which one; -1: there is none
} firn_solid_distance;

/// May be asked from any number of threads.
FIRN_API firn_solid_distance firn_solids_distance(const firn_solids *solids, firn_vec3 position);

#ifdef __cplusplus
}
#endif

#endif
