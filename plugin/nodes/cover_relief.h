/// How deep snow lies under an open sky from place to place: waves, drifts and ripples that the
/// wind has left, a border that runs out to nothing, or a picture of all of it.
#ifndef FIRN_COVER_RELIEF_H
#define FIRN_COVER_RELIEF_H

#include "firn/params.h"
#include "firn/patch.h"
#include "firn/vec.h"

typedef struct firn_cover_def {
    float depth;           // m, of snow under an open sky
    firn_vec3 center;      // m, of the box that is looked at
    firn_vec3 half_size;   // m
    float voxel_size;      // m
    float slope_limit;     // degrees; 0: what the friction of each collider holds
    float edge;            // degrees, of the snow at edges; 90: they are cut off
    float border;          // m, along the sides of the box
    float unevenness;      // share of the depth
    float unevenness_size; // m
    float drifts;          // share of the depth
    float drift_size;      // m
    float ripples;         // m, from trough to crest
    float ripple_size;     // m
    float wind_direction;  // degrees, from +X towards +Z
    char depth_file[FIRN_TEXT_SIZE];
    int rays;
    int seed;
} firn_cover_def;

firn_param_table firn_cover_params(void);

/// The picture of depth_file: factors of the depth.
typedef struct firn_cover_picture {
    int width, height; // 0: there is none
    float *rgb;        // owned; red counts
} firn_cover_picture;

typedef struct firn_cover_relief {
    const firn_cover_def *def; // borrowed
    firn_cover_picture picture;
} firn_cover_relief;

/// Reads the picture, if there is to be one.
firn_result firn_cover_relief_make(const firn_cover_def *def, firn_cover_relief *relief,
                                   firn_error *error);
void firn_cover_relief_free(firn_cover_relief *relief);

/// The box of the cover as a patch; its height is not known yet.
firn_patch firn_cover_patch(const firn_cover_def *def);

/// m, never negative; the mean over many waves is `depth` times the mean of the picture.
float firn_cover_depth(const firn_cover_relief *relief, float x, float z);

#endif
