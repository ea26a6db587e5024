/// How snow was packed: what sank and what rose, column by column, and how dense it became.
#ifndef FIRN_PACKING_H
#define FIRN_PACKING_H

#include "firn/base.h"
#include "firn/vec.h"

/// The same particles at two times, in the same order.
typedef struct firn_packing_input {
    size_t count;
    const firn_vec3 *before, *after;             // m, Y up
    const float *volume;                         // m^3, at the beginning
    const float *density_before, *density_after; // kg/m^3; NULL: not known
} firn_packing_input;

typedef struct firn_packing {
    double height_before, height_after; // m, from the lowest to the highest particle
    double imprint;        // m^3, between the old surface and the new one where that is lower
    double depth;          // m, of the deepest tenth of it, by area
    double rim;            // m^3, above the old surface
    double density_before; // kg/m^3, of all snow; NAN: not known
    double density_after;
    double density_below; // kg/m^3, one depth of snow under the deeper half of the imprint; NAN:
                          // none, or not known
} firn_packing;

firn_result firn_packing_find(const firn_packing_input *input, firn_packing *packing,
                              firn_error *error);

#endif
