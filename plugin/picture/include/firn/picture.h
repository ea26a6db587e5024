/// A quick shaded picture of snow particles and the things they meet: sun, sky, shadows, contact.
///
///     firn_picture_def def = firn_picture_def_default();
///     firn_picture_cloud snow = {.count = n, .position = position, .radius = radius,
///                                .albedo = {0.95f, 0.96f, 0.98f}};
///     firn_picture_scene scene = {.clouds = &snow, .cloud_count = 1};
///     FIRN_TRY(firn_picture_render(&def, &scene, rgb, error)); // 3 bytes per pixel
///     FIRN_TRY(firn_png_write("snow.png", def.width, def.height, rgb, error));
///
/// It is for looking at a simulation, not for film: particles are drawn as balls whose surface is
/// smoothed on the screen. Equal input gives equal pixels for any number of threads.
#ifndef FIRN_PICTURE_H
#define FIRN_PICTURE_H

#include "firn/collider.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_picture_def {
    int width, height;      // pixels
    float azimuth;          // deg, where the camera stands: 0 looks along -Z, 90 along -X
    float elevation;        // deg above the horizon
    float field_of_view;    // deg, of the width
    float zoom;             // 1: what is to be seen just fits
    firn_vec3 lower, upper; // m, the box to be seen; lower.x > upper.x: found from the particles
} firn_picture_def;

static inline firn_picture_def firn_picture_def_default(void)
{
    firn_picture_def def = {960, 540, 35.0f, 18.0f, 36.0f, 1.0f, {1, 1, 1}, {0, 0, 0}};
    return def;
}

/// Balls of one color.
typedef struct firn_picture_cloud {
    size_t count;
    const firn_vec3 *position; // m
    const float *radius;       // m
    firn_vec3 albedo;          // red, green, blue, linear, 0 to 1
    bool framed;               // counts when the box to be seen is found
} firn_picture_cloud;

/// Solids are plain shapes where their pose says; level sets come as clouds. Without solids the
/// snow stands on a plane at the foot of what is seen.
typedef struct firn_picture_scene {
    size_t cloud_count;
    const firn_picture_cloud *clouds;
    size_t solid_count;
    const firn_collider_def *solids;
} firn_picture_scene;

/// The box that a picture shows when its def names none: all that is framed but the strays, with a
/// rim. Several pictures of one shot are drawn from the same place with the box around theirs.
FIRN_API firn_result firn_picture_box(const firn_picture_scene *scene, firn_vec3 *lower,
                                      firn_vec3 *upper, firn_error *error);

/// Widens the box of a def to hold another one.
FIRN_API void firn_picture_include(firn_picture_def *def, firn_vec3 lower, firn_vec3 upper);

/// Draws into rgb, width * height * 3 bytes, rows from the top.
FIRN_API firn_result firn_picture_render(const firn_picture_def *def,
                                         const firn_picture_scene *scene, uint8_t *rgb,
                                         firn_error *error);

/// Pixels to write on: width * height * 3 bytes, rows from the top.
typedef struct firn_picture_canvas {
    int width, height;
    uint8_t *rgb;
} firn_picture_canvas;

/// Writes a line of ASCII text; x and y are its upper left corner. A letter is 6 * size pixels
/// wide, with its gap, and 7 * size high. What lies outside the canvas is left out.
FIRN_API void firn_picture_label(const firn_picture_canvas *canvas, int x, int y, int size,
                                 const uint8_t color[3], const char *text);

#ifdef __cplusplus
}
#endif

#endif
