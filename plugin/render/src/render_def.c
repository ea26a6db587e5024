#include "firn/render.h"

#include "firn/defs.h"
#include "firn/look.h"

#define ROW(field) FIRN_PARAM(firn_render_def, field)

// clang-format off
static const firn_param params[] = {
    {ROW(width), FIRN_INT, {960}, 1, 16384, "pixels", "Width of the picture"},
    {ROW(height), FIRN_INT, {540}, 1, 16384, "pixels", "Height of the picture"},
    {ROW(samples), FIRN_INT, {64}, 1, 1e6, "",
     "Most light paths for each pixel; four times as many halve the noise"},
    {ROW(time_limit), FIRN_FLOAT, {0}, 0, 1e6, "s",
     "Ends a picture after this time; 0 sets no limit. The samples then depend on the machine"},
    {ROW(noise_limit), FIRN_FLOAT, {0}, 0, 1, "",
     "Ends a picture when the error of a pixel's brightness, root mean square relative to the mean "
     "brightness, is below; 0 sets no limit"},
    {ROW(max_bounces), FIRN_INT, {512}, 0, 1e6, "",
     "Most scatterings of a path after the first, as Cycles counts them; too few make snow grey"},
    {ROW(camera), FIRN_CHOICE, {FIRN_CAMERA_FRAMED}, 0, 1, "",
     "framed shows all of the snow from azimuth and elevation; placed stands at position and looks "
     "at target", "framed|placed"},
    {ROW(azimuth), FIRN_FLOAT, {35}, -1e6, 1e6, "deg",
     "Where a framed camera stands: 0 looks along -Z, 90 along -X",
     .visible_when = "camera==framed"},
    {ROW(elevation), FIRN_FLOAT, {18}, -89, 89, "deg", "How far above the horizon it stands",
     .visible_when = "camera==framed"},
    {ROW(zoom), FIRN_FLOAT, {1}, 0.01, 100, "", "2 goes to half the distance",
     .visible_when = "camera==framed"},
    {ROW(position), FIRN_VEC3, {0, 1, 4}, -1e6, 1e6, "m", "Where a placed camera stands",
     .visible_when = "camera==placed"},
    {ROW(target), FIRN_VEC3, {0, 0.5, 0}, -1e6, 1e6, "m", "What it looks at",
     .visible_when = "camera==placed"},
    {ROW(up), FIRN_VEC3, {0, 1, 0}, -1, 1, "", "Direction that is up in the picture",
     .visible_when = "camera==placed"},
    {ROW(field_of_view), FIRN_FLOAT, {22}, 0.1, 170, "deg",
     "Angle from the lower to the upper edge"},
    {ROW(lens_radius), FIRN_FLOAT, {0}, 0, 10, "m", "Radius of the lens; 0: everything is sharp"},
    {ROW(focus_distance), FIRN_FLOAT, {0}, 0, 1e6, "m",
     "Distance that is sharp; 0: that of the target"},
    {ROW(shutter), FIRN_FLOAT, {0}, 0, 10, "frames",
     "How long the shutter is open, half before and half after the frame; needs a volume with "
     "velocity. 0: no motion blur"},
    {ROW(sun_azimuth), FIRN_FLOAT, {-40}, -1e6, 1e6, "deg", "Where the sun stands, as azimuth"},
    {ROW(sun_elevation), FIRN_FLOAT, {26}, -90, 90, "deg", "How far above the horizon it stands"},
    {ROW(sun_angle), FIRN_FLOAT, {1.0}, 0, 90, "deg",
     "Diameter of the sun; larger makes softer shadows. The real one has 0.53"},
    {ROW(sun_irradiance), FIRN_FLOAT, {5.0}, 0, 1e6, "W/m^2",
     "Light on a surface that faces the sun; 0: no sun. With a physical sky level ground gets a "
     "third of it from sun and sky together, so that pictures are as bright at any hour"},
    {ROW(sun_color), FIRN_VEC3, {1.0, 0.95, 0.86}, 0, 100, "",
     "Color of the sun, a factor", .visible_when = "sky==constant|gradient|image"},
    {ROW(sky), FIRN_CHOICE, {FIRN_SKY_PHYSICAL}, 0, 3, "",
     "constant has one color, gradient goes from the horizon to the zenith, image takes a lat-long "
     "EXR file, physical is the air of a clear or hazy day", "constant|gradient|image|physical"},
    {ROW(turbidity), FIRN_FLOAT, {3}, 1, 30, "",
     "Haze in the air: 1 is none, 2 a clear day, 10 a hazy one with soft light",
     .visible_when = "sky==physical"},
    {ROW(sky_color), FIRN_VEC3, {0.096, 0.198, 0.45}, 0, 1e6, "W/m^2/sr",
     "Radiance of the sky, of a gradient at the zenith", .visible_when = "sky==constant|gradient"},
    {ROW(sky_horizon), FIRN_VEC3, {0.30, 0.396, 0.552}, 0, 1e6, "W/m^2/sr",
     "Radiance of a gradient at the horizon and below", .visible_when = "sky==gradient"},
    {ROW(sky_file), FIRN_PATH, {0}, 0, 0, "",
     "EXR of the whole sky: the upper edge is the zenith, the center looks along -Z",
     .visible_when = "sky==image"},
    {ROW(sky_rotation), FIRN_FLOAT, {0}, -1e6, 1e6, "deg",
     "Turns the image about the vertical axis", .visible_when = "sky==image"},
    {ROW(sky_strength), FIRN_FLOAT, {1}, 0, 1e6, "", "Factor of all light from the sky"},
    {ROW(look), FIRN_CHOICE, {0}, 0, 6, "",
     "Kind of snow: sets extinction, albedo, g, translucency and glints by one name; custom leaves "
     "them as they are", FIRN_LOOK_NAMES},
    {ROW(extinction), FIRN_FLOAT, {724}, 0, 1e6, "1/m",
     "Extinction at the reference density: 724 means that light goes 1.4 mm between scatterings",
     .visible_when = "look==custom"},
    {ROW(reference_density), FIRN_FLOAT, {400}, 1e-3, 1e6, "kg/m^3",
     "Density at which the extinction holds; it is proportional"},
    {ROW(albedo), FIRN_VEC3, {0.9992, 0.9995, 0.9998}, 0, 1, "",
     "Share of light that a scattering keeps: red, green, blue", .visible_when = "look==custom"},
    {ROW(anisotropy), FIRN_FLOAT, {0.5}, -0.99, 0.99, "",
     "Mean cosine of the scattering angle: 0 scatters evenly, near 1 mostly forward", .label = "g",
     .visible_when = "look==custom"},
    {ROW(similarity), FIRN_INT, {0}, 0, 1e6, "",
     "Bounces after which forward scattering is replaced by fewer even ones: faster, and slightly "
     "wrong. 0: never", .label = "Similarity from bounce"},
    {ROW(volume), FIRN_BOOL, {1}, 0, 1, "", "Shows the density; false shows the grains alone"},
    {ROW(grains), FIRN_CHOICE, {FIRN_GRAINS_SPHERES}, 0, 2, "",
     "Shows particles, where there are any, as spheres or as flakes beside the volume; those deep "
     "inside of it are left out", "none|spheres|flakes"},
    {ROW(grain_scale), FIRN_FLOAT, {1}, 0, 100, "", "Factor of the particles' radius",
     .visible_when = "grains==spheres|flakes"},
    {ROW(grain_limit), FIRN_FLOAT, {0.002}, 0, 1, "m",
     "Largest radius of a grain: particles of a coarse simulation are shown as grains of this size "
     "on the volume, not as balls", .visible_when = "grains==spheres|flakes"},
    {ROW(grain_bounces), FIRN_INT, {4}, 0, 1e6, "",
     "Bounces after which light no longer looks for grains where there is a volume that stands for "
     "them: much faster, and hardly seen. 0: never", .visible_when = "grains==spheres|flakes"},
    {ROW(translucency), FIRN_FLOAT, {0.4}, 0, 1, "",
     "Share of light that goes through a grain and leaves it anywhere; the rest comes back from "
     "where it fell", .visible_when = "grains==spheres|flakes"},
    {ROW(sparkle), FIRN_FLOAT, {0.05}, 0, 1, "",
     "Share of light that a grain mirrors with one facet, which its id turns: glints",
     .visible_when = "grains==spheres|flakes"},
    {ROW(sparkle_angle), FIRN_FLOAT, {3}, 0.1, 60, "deg",
     "Half the width of a glint: wider ones are more and fainter",
     .visible_when = "grains==spheres|flakes"},
    {ROW(roulette), FIRN_BOOL, {1}, 0, 1, "",
     "Ends paths that carry little light at random and weighs the others up: same mean, less time"},
    {ROW(ground), FIRN_CHOICE, {FIRN_GROUND_AUTO}, 0, 2, "",
     "A plane under the snow: auto puts one there when nothing solid is in the scene",
     "none|auto|plane"},
    {ROW(ground_height), FIRN_FLOAT, {0}, -1e6, 1e6, "m", "Height of the plane",
     .visible_when = "ground==plane"},
    {ROW(ground_albedo), FIRN_VEC3, {0.14, 0.14, 0.15}, 0, 1, "",
     "Color of planes: red, green, blue", .visible_when = "ground_surface==plain|rough"},
    {ROW(ground_surface), FIRN_CHOICE, {FIRN_SURFACE_PLAIN}, 0, 2, "",
     "Surface of planes: plain, rough with patches and grit, or snow with drifts and glints and "
     "the white of the snow in the shot", "plain|rough|snow"},
    {ROW(ground_relief), FIRN_FLOAT, {1}, 0, 10, "", "Factor of its bumps",
     .visible_when = "ground_surface==rough|snow"},
    {ROW(solid_albedo), FIRN_VEC3, {0.17, 0.11, 0.08}, 0, 1, "",
     "Color of other solids: red, green, blue"},
    {ROW(solid_surface), FIRN_CHOICE, {FIRN_SURFACE_PLAIN}, 0, 2, "",
     "Surface of boxes, as ground_surface", "plain|rough|snow"},
    {ROW(exposure), FIRN_FLOAT, {0}, -20, 20, "stops", "Brightness of PNG pictures"},
    {ROW(tone), FIRN_CHOICE, {FIRN_TONE_FILMIC}, 0, 1, "",
     "How light becomes the pixels of a PNG: filmic rolls off bright snow, srgb cuts it at 1",
     "filmic|srgb"},
    {ROW(half), FIRN_BOOL, {1}, 0, 1, "", "16 bits for each value of an EXR instead of 32"},
    {ROW(denoise), FIRN_BOOL, {0}, 0, 1, "",
     "Smooths the picture within its own noise: for previews, not for measuring"},
    {ROW(seed), FIRN_INT, {0}, 0, 1e9, "", "Another number gives other noise"},
    {ROW(thread_count), FIRN_INT, {0}, 0, 1024, "",
     "Processor cores to use; 0 uses every one. The result is the same for any number",
     .label = "Threads"},
};
// clang-format on

firn_param_table firn_render_params(void)
{
    firn_param_table table = {params, FIRN_COUNT(params)};
    return table;
}

void firn_render_def_settle(firn_render_def *def)
{
    const firn_look *look = firn_look_at(def->look);
    if (look == NULL)
        return;
    def->extinction = look->extinction * def->reference_density / 400.0f;
    def->albedo = look->albedo;
    def->anisotropy = look->anisotropy;
    def->translucency = look->translucency;
    def->sparkle = look->sparkle;
    def->sparkle_angle = look->sparkle_angle;
    def->look = 0;
}

void firn_render_def_reset(firn_render_def *def, size_t size)
{
    firn_render_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_render_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}
