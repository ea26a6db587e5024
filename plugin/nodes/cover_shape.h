/// Snow that has settled on things: how deep it lies where, and the level set of it.
#ifndef FIRN_COVER_SHAPE_H
#define FIRN_COVER_SHAPE_H

#include "firn/level_set.h"
#include "firn/params.h"
#include "firn/solid_set.h"

typedef struct firn_cover_def {
    float depth;           // m, of snow under an open sky
    firn_vec3 center;      // m, of the box that is looked at
    firn_vec3 half_size;   // m
    float voxel_size;      // m
    float slope_limit;     // degrees; 0: what the friction of each collider holds
    float edge;            // degrees, of the snow at edges; 90: they are cut off
    float unevenness;      // share of the depth
    float unevenness_size; // m
    int rays;
    int seed;
} firn_cover_def;

firn_param_table firn_cover_params(void);

typedef struct firn_cover {
    firn_level_set level_set; // its arrays are owned
    double area;              // m^2, horizontal, weighted by how much of the sky it sees
    double volume;            // m^3
} firn_cover;

/// Makes the cover of solids that have these frictions. A box without anything that snow could lie
/// on gives an empty level set.
firn_result firn_cover_make(const firn_cover_def *def, const firn_solid_set *solids,
                            const float *frictions, firn_cover *cover, firn_error *error);
void firn_cover_free(firn_cover *cover);

#endif
