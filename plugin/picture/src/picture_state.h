/// What the stages of a picture share: the camera, the buffers and the light.
#ifndef FIRN_PICTURE_STATE_H
#define FIRN_PICTURE_STATE_H

#include "firn/picture.h"

enum { SUPERSAMPLES = 2 }; // along each edge of a pixel

/// World space seen from a place: x to the right, y up, z away from the camera.
typedef struct camera {
    firn_vec3 eye, right, up, forward;
    float focal; // pixels
    int width, height;
    firn_vec3 lower, upper; // m, the box that is seen
    float size;             // m, of that box
} camera;

enum { KIND_SKY, KIND_GROUND, KIND_SOLID, KIND_CLOUD };

/// What is seen in each pixel; a cloud's kind is KIND_CLOUD plus its index.
typedef struct canvas {
    float *depth, *scratch; // m along forward
    uint8_t *kind;
    firn_vec3 *normal;
    float *smooth; // m, radius over which the surface is smoothed
} canvas;

/// Distances from the sun to the snow, on a plane across its light.
typedef struct shadow_map {
    firn_vec3 sun, right, up; // sun: toward it
    firn_vec3 corner;
    float cell;    // m
    int edge;      // cells
    float *height; // m along sun, of the snow nearest to it
} shadow_map;

static inline float at_least(float x, float lower) { return x > lower ? x : lower; }
static inline float at_most(float x, float upper) { return x < upper ? x : upper; }
static inline float clamp01(float x) { return at_least(0.0f, at_most(x, 1.0f)); }

// camera.c
firn_result find_camera(const firn_picture_def *def, const firn_picture_scene *scene, camera *cam,
                        firn_error *error);
firn_vec3 to_view(const camera *cam, firn_vec3 world);
/// The direction through a pixel, one meter along forward.
firn_vec3 pixel_ray(const camera *cam, float x, float y);

// splat.c
void draw_clouds(const camera *cam, const firn_picture_scene *scene, canvas *seen);
void smooth_clouds(const camera *cam, canvas *seen);
void find_normals(const camera *cam, canvas *seen);

// solids.c
/// Distance to the solids that are not planes.
float solid_distance(const firn_picture_scene *scene, firn_vec3 point);
void draw_solids(const camera *cam, const firn_picture_scene *scene, canvas *seen);
/// Share of the sun that the solids let through to a point.
float solid_light(const firn_picture_scene *scene, const camera *cam, firn_vec3 point,
                  firn_vec3 sun);

// light.c
firn_result make_shadow_map(const camera *cam, const firn_picture_scene *scene, shadow_map *map,
                            firn_error *error);
/// Share of the sun that the snow lets through to a point.
float cloud_light(const shadow_map *map, firn_vec3 point, firn_vec3 normal);
/// Share of the sky that a pixel sees past its neighborhood.
float open_sky(const camera *cam, const canvas *seen, int x, int y);

#endif
