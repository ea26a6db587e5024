/// Snow that has settled on things: how deep it lies where, and the level set of it.
#ifndef FIRN_COVER_SHAPE_H
#define FIRN_COVER_SHAPE_H

#include "cover_relief.h"

#include "firn/level_set.h"
#include "firn/solid_set.h"

typedef struct firn_cover {
    firn_level_set level_set; // its arrays are owned
    double area;              // m^2, horizontal, weighted by how much of the sky it sees
    double volume;            // m^3
    float rim[2]; // m, lowest and highest snow where its border ends; rim[1] < rim[0]: none
} firn_cover;

/// Makes the cover of solids that have these frictions. A box without anything that snow could lie
/// on gives an empty level set.
firn_result firn_cover_make(const firn_cover_relief *relief, const firn_solid_set *solids,
                            const float *frictions, firn_cover *cover, firn_error *error);
void firn_cover_free(firn_cover *cover);

#endif
