/// Pictures of snow as light makes them: a path tracer for sparse density grids.
///
///     firn_render_def def = firn_render_def_default();
///     firn_render_scene scene = {0};
///     scene.field = &view; // density in kg/m^3, as firn_field_read or firn_vdb_volume_read gives
///     it firn_render *render = NULL; FIRN_TRY(firn_render_create(&def, &scene, &render, error));
///     FIRN_TRY(firn_render_run(render, NULL, NULL, error));
///     FIRN_TRY(firn_render_write(render, "snow.png", error)); // or .exr
///     firn_render_destroy(render);
///
/// Unbiased up to max_bounces: delta tracking with a bound for each block of voxels. Equal input
/// gives equal bytes for any number of threads, unless a limit of time ends the work.
#ifndef FIRN_RENDER_H
#define FIRN_RENDER_H

#include "firn/collider.h"
#include "firn/field.h"
#include "firn/params.h"
#include "firn/patch.h"
#include "firn/points.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_render_camera { FIRN_CAMERA_FRAMED, FIRN_CAMERA_PLACED } firn_render_camera;

typedef enum firn_render_sky {
    FIRN_SKY_CONSTANT,
    FIRN_SKY_GRADIENT, // from the horizon to the zenith
    FIRN_SKY_IMAGE,    // a lat-long EXR
    FIRN_SKY_PHYSICAL, // air and haze that the sun lights
} firn_render_sky;

typedef enum firn_render_ground {
    FIRN_GROUND_NONE,
    FIRN_GROUND_AUTO, // below the snow when there are no solids
    FIRN_GROUND_PLANE,
} firn_render_ground;

typedef enum firn_render_surface {
    FIRN_SURFACE_PLAIN,
    FIRN_SURFACE_ROUGH, // patches and grit
    FIRN_SURFACE_SNOW,  // white as the snow, with drifts, lumps and glints
} firn_render_surface;

typedef enum firn_render_grains {
    FIRN_GRAINS_NONE,
    FIRN_GRAINS_SPHERES,
    FIRN_GRAINS_FLAKES, // disks, each turned its own way
} firn_render_grains;

typedef enum firn_render_tone { FIRN_TONE_FILMIC, FIRN_TONE_SRGB } firn_render_tone;

typedef struct firn_render_def {
    uint32_t cookie;
    int width, height;          // pixels
    int samples;                // most for each pixel
    float time_limit;           // s, 0: none
    float noise_limit;          // mean error of a pixel, relative to the mean; 0: none
    int max_bounces;            // after the first scattering
    int camera;                 // firn_render_camera
    float azimuth, elevation;   // deg, from where a framed camera looks
    float zoom;                 // 1: the snow just fits
    firn_vec3 position, target; // m, of a placed camera
    firn_vec3 up;               // what is up in the picture
    float field_of_view;        // deg, of the height
    float lens_radius;          // m, 0: all is sharp
    float focus_distance;       // m, 0: the target
    float shutter;              // frames that it is open, centered on the frame; 0: no blur
    float sun_azimuth;          // deg, like that of the camera
    float sun_elevation;        // deg
    float sun_angle;            // deg, diameter of the disk
    float sun_irradiance;       // W/m^2 on a surface that faces it
    firn_vec3 sun_color;        // red, green, blue
    int sky;                    // firn_render_sky
    firn_vec3 sky_color;        // radiance, at the zenith for a gradient
    firn_vec3 sky_horizon;      // radiance of a gradient at the horizon and below
    char sky_file[FIRN_TEXT_SIZE];
    float turbidity;         // of a physical sky: 2 is a clear day, 10 haze
    float sky_rotation;      // deg about the vertical axis
    float sky_strength;      // factor of all that the sky sends
    int look;                // of the table in firn/look.h; what it says stands above the next
    float extinction;        // 1/m at the reference density
    float reference_density; // kg/m^3
    firn_vec3 albedo;        // red, green, blue, of a scattering
    float anisotropy;        // mean cosine of the scattering angle
    int similarity;          // bounces after which scattering is taken as even; 0: never
    bool volume;             // shows the density
    int grains;              // firn_render_grains, where there are particles
    float grain_scale;       // factor of their radius
    float grain_limit;       // m, largest radius
    int grain_bounces;       // after which the volume stands for the grains; 0: never
    float translucency;      // share of light that goes through a grain
    float sparkle;           // share of light that the facet of a grain mirrors
    float sparkle_angle;     // deg, half the width of a glint
    bool roulette;           // ends paths that carry little, without bias
    int ground;              // firn_render_ground
    float ground_height;     // m
    firn_vec3 ground_albedo;
    int ground_surface;  // firn_render_surface
    float ground_relief; // factor of its bumps
    firn_vec3 solid_albedo;
    int solid_surface; // firn_render_surface of boxes
    float exposure;    // stops, of PNG
    int tone;          // firn_render_tone, of PNG
    bool half;         // 16 bits for each value of an EXR
    bool denoise;      // smooths within the noise, biased
    int seed;
    int thread_count; // 0 uses every core
} firn_render_def;

FIRN_API void firn_render_def_reset(firn_render_def *def, size_t size);
FIRN_API firn_param_table firn_render_params(void);

/// Puts the numbers of the look into their rows, and makes it custom.
FIRN_API void firn_render_def_settle(firn_render_def *def);

static inline firn_render_def firn_render_def_default(void)
{
    firn_render_def def;
    firn_render_def_reset(&def, sizeof def);
    return def;
}

/// Grains of snow that are seen one by one. The id decides where a grain glints: a grain that keeps
/// its id keeps its glints.
typedef struct firn_grains {
    size_t count;
    const float *position; // m, three for each
    const float *velocity; // m/s, three for each; NULL: at rest
    const float *radius;   // m
    const uint32_t *id;    // NULL: their number
    const float *color;    // factor of the albedo, three for each; NULL: white
} firn_grains;

/// Grains from the columns P v pscale id Cd of particles, as far as they are there: without pscale
/// the grains are as large as grain_limit, without id `sparkle` tells them apart. The arrays are
/// new and are released with firn_grains_free, which accepts all zero.
FIRN_API firn_result firn_grains_read(const firn_points *points, firn_grains *grains,
                                      firn_error *error);
FIRN_API void firn_grains_free(firn_grains *grains);

/// What is to be seen; everything is borrowed until the render is destroyed.
typedef struct firn_render_scene {
    const firn_field_view *field; // density in kg/m^3, velocity in m/s if it has one
    firn_vec3 offset;             // m, added to where firn_field_view says that voxels are
    size_t solid_count;
    const firn_collider_def *solids; // diffuse things where their pose says, level sets too
    float fps;                       // frames/s, for motion blur; 0: 24
    int frame;                       // that files name
    const firn_grains *grains;       // NULL: none
    const firn_vec3 *solid_colors;   // of each solid; zero, or NULL: as the settings say
    const firn_patch *patch;         // a field of snow lies around it to the horizon; NULL: none
} firn_render_scene;

typedef struct firn_render firn_render;

/// Refuses values that are out of range, densities that are not finite, skies that cannot be read.
FIRN_API firn_result firn_render_create(const firn_render_def *def, const firn_render_scene *scene,
                                        firn_render **render, firn_error *error);
FIRN_API void firn_render_destroy(firn_render *render); // accepts NULL

/// What the settings came to.
typedef struct firn_render_setup {
    firn_vec3 position, target, up; // m, of the camera
    float field_of_view;            // deg, of the height
    float focus_distance;           // m
    firn_vec3 sun_direction;        // toward the sun
    firn_vec3 sun_irradiance;       // W/m^2, red, green, blue
    firn_vec3 zenith, horizon;      // radiance of the sky there; of an image zero
    bool has_ground;
    float ground_height;    // m
    size_t voxels;          // active ones
    size_t blocks;          // of 8^3 voxels
    size_t grid_bytes;      // of the density grid with its index and majorants
    size_t majorant_bytes;  // of these, for the majorants
    size_t grains;          // that can be seen
    size_t grain_bytes;     // of the tree that holds them
    firn_vec3 lower, upper; // m, box around the snow without strays
} firn_render_setup;

/// The albedo of a solid of the scene.
FIRN_API firn_vec3 firn_render_solid_albedo(const firn_render_def *def,
                                            const firn_render_scene *scene, size_t solid);

FIRN_API firn_render_setup firn_render_read_setup(const firn_render *render);

/// Turns a framed camera into a placed one that shows a box (m), so that many frames share it.
FIRN_API void firn_render_place(firn_render_def *def, firn_vec3 lower, firn_vec3 upper);

/// How far a render is.
typedef struct firn_render_report {
    double fraction; // 0 to 1, by samples, time or noise, whichever ends it first
    int samples;     // of each pixel so far
    double noise;    // as noise_limit counts it; infinite while unknown
    double seconds;
} firn_render_report;

/// Returns false to stop. Called by one thread, several times a second where possible.
typedef bool firn_render_progress(const firn_render_report *report, void *user);

/// Adds samples until the first limit is reached; FIRN_ERR_CANCELLED when progress says so, and the
/// picture is then what was finished.
FIRN_API firn_result firn_render_run(firn_render *render, firn_render_progress *progress,
                                     void *user, firn_error *error);

/// The picture so far; rows from the top, valid until the next run.
typedef struct firn_render_image {
    int width, height;
    int samples;
    double noise;          // as noise_limit counts it
    const float *rgb;      // radiance, three for each pixel
    const float *alpha;    // share of what is not sky
    const float *depth;    // m from the camera to what is first met, mean; infinite for sky
    const float *variance; // of the mean luminance of a pixel
} firn_render_image;

FIRN_API firn_render_image firn_render_picture(const firn_render *render);

/// Bytes for a screen, by the exposure and tone of the settings: width * height * 3.
FIRN_API void firn_render_develop(const firn_render *render, uint8_t *rgb);

/// Writes the picture by the ending of the name: .exr with channels R G B A Z variance, .png.
FIRN_API firn_result firn_render_write(const firn_render *render, const char *path,
                                       firn_error *error);

/// True when the ending is one that firn_render_write knows.
FIRN_API bool firn_render_can_write(const char *path);

#ifdef __cplusplus
}
#endif

#endif
