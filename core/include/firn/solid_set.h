/// How far places are from colliders, without a simulation: for whoever puts snow on them.
#ifndef FIRN_SOLID_SET_H
#define FIRN_SOLID_SET_H

#include "firn/collider.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_solid_set firn_solid_set;

/// Colliders as their defs say, without motion; level sets must outlive the solids.
FIRN_API firn_result firn_solid_set_create(const firn_collider_def *defs, size_t count,
                                           firn_solid_set **solids, firn_error *error);
FIRN_API void firn_solid_set_destroy(firn_solid_set *solids);

typedef struct firn_solid_distance {
    float value;      // m, negative inside; that of a level set ends at its band
    firn_vec3 normal; // away from the nearest one, unit length
    int nearest;      // which one; -1: there is none
} firn_solid_distance;

/// May be asked from any number of threads.
FIRN_API firn_solid_distance firn_solid_set_distance(const firn_solid_set *solids,
                                                     firn_vec3 position);

#ifdef __cplusplus
}
#endif

#endif
