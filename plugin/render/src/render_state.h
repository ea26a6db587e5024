/// The inside of a render.
#ifndef FIRN_RENDER_STATE_H
#define FIRN_RENDER_STATE_H

#include "camera.h"
#include "path.h"

/// Sums over the samples of a pixel.
typedef struct firn_pixel {
    double rgb[3];
    double luminance, square; // and its square
    double depth;             // m, of those that met something
    uint32_t met;             // samples that did
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
    double noise;
    float *rgb, *alpha, *depth, *variance; // the picture
};

/// Smooths rgb within its variance; false when out of memory.
bool firn_render_denoise(firn_render *render);

#endif
