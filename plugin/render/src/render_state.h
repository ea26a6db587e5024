/// The inside of a render.
#ifndef FIRN_RENDER_STATE_H
#define FIRN_RENDER_STATE_H

#include "camera.h"
#include "path.h"

/// What a pixel shows beside its light, for the denoiser: depth, albedo and the normal.
enum {
    FIRN_FEATURE_DEPTH,
    FIRN_FEATURE_ALBEDO,
    FIRN_FEATURE_NORMAL,
    FIRN_FEATURES = FIRN_FEATURE_NORMAL + 3
};

/// Sums over the samples of a pixel.
typedef struct firn_pixel {
    double rgb[3];
    double luminance, square;                                    // and its square
    double depth;                                                // m, of those that met something
    uint32_t met;                                                // samples that did
    firn_vec3 glint;                                             // of rgb
    float feature[FIRN_FEATURES], feature_square[FIRN_FEATURES]; // of those that met something
} firn_pixel;

struct firn_render {
    firn_render_def def;
    int frame; // for files
    firn_density_grid grid;
    firn_grain_set grains;
    firn_solids solids;
    firn_light light;
    firn_lens lens;
    firn_world world;
    firn_render_setup setup;
    firn_pixel *pixels;
    int samples;       // of each pixel so far
    int *tile_samples; // of the pixels of each tile: more than that in a pass that was stopped
    bool *tile_done;   // as quiet as was asked for
    bool quiet;        // all of them are
    double noise;
    float *rgb, *alpha, *depth, *variance; // the picture
};

/// Tiles of the picture, which threads take one by one.
int firn_tile_count(const firn_render_def *def);

/// Samples of a pixel so far.
int firn_pixel_samples(const firn_render *render, size_t pixel);

/// Smooths rgb within its variance; false when out of memory.
bool firn_render_denoise(firn_render *render);

#endif
