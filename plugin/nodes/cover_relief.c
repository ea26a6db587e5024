#include "cover_relief.h"

#include "firn/exr.h"
#include "firn/noise.h"

#include <math.h>
#include <string.h>

#define ROW(field) FIRN_PARAM(firn_cover_def, field)

// clang-format off
static const firn_param params[] = {
    {ROW(depth), FIRN_FLOAT, {0.1}, 1e-4, 100, "m",
     "Depth of the snow, measured upright, where it sees all of the sky"},
    {ROW(center), FIRN_VEC3, {0, 1, 0}, -1e6, 1e6, "m", "Middle of the box that is snowed in"},
    {ROW(half_size), FIRN_VEC3, {1, 1, 1}, 1e-3, 1e5, "m",
     "Half its edges; snow falls through its top and lies on the colliders inside"},
    {ROW(voxel_size), FIRN_FLOAT, {0.02}, 1e-4, 10, "m",
     "How finely colliders are looked at; about the solver's cell_size"},
    {ROW(slope_limit), FIRN_FLOAT, {0}, 0, 90, "deg",
     "Steeper ground stays bare; 0 takes the angle that each collider's friction holds"},
    {ROW(edge), FIRN_FLOAT, {50}, 1, 90, "deg",
     "Slope of the snow where its support ends: it thins out there; 90 cuts it off"},
    {ROW(border), FIRN_FLOAT, {0}, 0, 1e5, "m",
     "Along the sides of the box the snow runs out to nothing over this length, in a ragged line, "
     "and is even there; 0 ends it with the slope `edge`"},
    {ROW(unevenness), FIRN_FLOAT, {0.15}, 0, 1, "",
     "Waves of the surface, as a share of the depth; the mean depth stays"},
    {ROW(unevenness_size), FIRN_FLOAT, {0.4}, 1e-3, 1e5, "m", "Length of the waves"},
    {ROW(drifts), FIRN_FLOAT, {0}, 0, 1, "",
     "Share of the depth that wind has moved from hollows to ridges across its way; the mean depth "
     "stays"},
    {ROW(drift_size), FIRN_FLOAT, {1.5}, 1e-2, 1e5, "m", "From one ridge to the next, or so"},
    {ROW(ripples), FIRN_FLOAT, {0}, 0, 1, "m",
     "Height of ripples, as wind leaves them: gentle before the wind, steep behind; snow "
     "is never thinner than nothing"},
    {ROW(ripple_size), FIRN_FLOAT, {0.2}, 1e-3, 100, "m",
     "From one crest to the next; four cells of the solver at least, or it cannot show them"},
    {ROW(wind_direction), FIRN_FLOAT, {0}, -360, 360, "deg",
     "Where the wind blew to that made drifts and ripples: 0 is +X, 90 is +Z"},
    {ROW(depth_file), FIRN_PATH, {0}, 0, 0, "",
     "Picture (.exr) over the whole box, seen from above, its upper left corner at the lowest x "
     "and z: red is a factor of the depth"},
    {ROW(rays), FIRN_INT, {13}, 1, 64, "",
     "Directions in which each place looks for the sky; 1 looks straight up"},
    {ROW(seed), FIRN_INT, {1}, 0, 2147483647.0, "", "Another number gives other waves"},
};
// clang-format on

firn_param_table firn_cover_params(void)
{
    firn_param_table table = {params, FIRN_COUNT(params)};
    return table;
}

// What each use of the noise adds to the seed.
enum { DRIFTS = 101, BEND = 211, PATCHES = 307 };

static double noise_at(const firn_cover_def *def, int use, double u, double v)
{
    const double point[3] = {u, 0.37, v};
    return firn_noise(point, (uint64_t)def->seed + (uint64_t)use);
}

// Two waves across each other, turned and bent by the seed; mean 0, between -1 and 1.
static double wave(const firn_cover_def *def, float px, float pz)
{
    double x = px / (double)def->unevenness_size, z = pz / (double)def->unevenness_size, sum = 0;
    for (int octave = 0; octave < 4; octave++) {
        double turn = 2.399963 * (def->seed + 3 * octave), scale = 6.2831853 * pow(1.7, octave);
        double u = x * cos(turn) + z * sin(turn), v = z * cos(turn) - x * sin(turn);
        sum += pow(0.6, octave) * sin(scale * u + 1.3 * sin(0.6 * scale * v + turn));
    }
    return sum / 2.2;
}

// Ridges lie across the wind, a little longer than they are wide; mean 0, between -1 and 1.
static double drift(const firn_cover_def *def, double along, double across)
{
    double u = 2.0 * along / (double)def->drift_size, v = 1.2 * across / (double)def->drift_size;
    double bent = u + 0.5 * noise_at(def, BEND, 0.4 * u, 0.4 * v);
    double sum = 0.0;
    for (int octave = 0; octave < 3; octave++) {
        double scale = pow(2.1, octave);
        sum += pow(0.4, octave) * noise_at(def, DRIFTS + octave, scale * bent, scale * v);
    }
    return fmin(fmax(1.1 * sum, -1.0), 1.0);
}

// Crests wander and end, as they do; mean 0, between -1/2 and 1/2.
static double ripple(const firn_cover_def *def, double along, double across)
{
    const double lee = 0.3; // share of a ripple that falls
    double u = along / (double)def->ripple_size, v = across / (double)def->ripple_size;
    double phase = u + 0.9 * noise_at(def, BEND + 1, 0.22 * u, 0.16 * v);
    double t = phase - floor(phase);
    double rise = t < 1.0 - lee ? t / (1.0 - lee) : (1.0 - t) / lee;
    double patch = 0.65 + 0.7 * noise_at(def, PATCHES, 0.13 * u, 0.1 * v);
    return fmin(fmax(patch, 0.0), 1.0) * (rise * rise * (3.0 - 2.0 * rise) - 0.5);
}

// 0 below `from`, 1 above from + FIRN_PATCH_FULL.
static double grown(double inset, double from)
{
    double t = fmin(fmax((inset - from) / (double)FIRN_PATCH_FULL, 0.0), 1.0);
    return t * t * (3.0 - 2.0 * t);
}

static double red(const firn_cover_picture *p, int i, int k)
{
    i = i < 0 ? 0 : i >= p->width ? p->width - 1 : i;
    k = k < 0 ? 0 : k >= p->height ? p->height - 1 : k;
    return (double)p->rgb[3 * ((size_t)k * (size_t)p->width + (size_t)i)];
}

// Between the middles of pixels it is linear.
static double picture_at(const firn_cover_relief *relief, float x, float z)
{
    const firn_cover_picture *p = &relief->picture;
    const firn_cover_def *def = relief->def;
    if (p->width == 0)
        return 1.0;
    double u = (0.5 + 0.5 * (double)((x - def->center.x) / def->half_size.x)) * p->width - 0.5;
    double v = (0.5 + 0.5 * (double)((z - def->center.z) / def->half_size.z)) * p->height - 0.5;
    int i = (int)floor(u), k = (int)floor(v);
    double s = u - i, t = v - k;
    return (1.0 - t) * ((1.0 - s) * red(p, i, k) + s * red(p, i + 1, k)) +
           t * ((1.0 - s) * red(p, i, k + 1) + s * red(p, i + 1, k + 1));
}

firn_patch firn_cover_patch(const firn_cover_def *def)
{
    firn_patch patch = {def->center, def->half_size, def->border, def->seed};
    return patch;
}

// Beyond the border snow goes on flat, in pictures: what is uneven begins within it.
float firn_cover_depth(const firn_cover_relief *relief, float x, float z)
{
    const firn_cover_def *def = relief->def;
    double full = 1.0, uneven = 1.0;
    if (def->border > 0.0f) {
        firn_patch patch = firn_cover_patch(def);
        double inset = (double)firn_patch_inset(&patch, x, z);
        full = grown(inset, 0.0);
        uneven = grown(inset, (double)FIRN_PATCH_FULL);
    }
    double turn = 0.017453292519943295 * (double)def->wind_direction;
    double along = x * cos(turn) + z * sin(turn), across = z * cos(turn) - x * sin(turn);
    double share = (double)def->unevenness * wave(def, x, z);
    if (def->drifts > 0.0f)
        share += (double)def->drifts * drift(def, along, across);
    double height = (double)def->depth * share;
    if (def->ripples > 0.0f)
        height += (double)def->ripples * ripple(def, along, across);
    double depth = full * ((double)def->depth + uneven * height);
    return (float)fmax(depth * picture_at(relief, x, z), 0.0);
}

static firn_result check_picture(const firn_cover_def *def, const firn_cover_picture *p,
                                 firn_error *error)
{
    const float most = 1000.0f;
    for (size_t n = 0; n < (size_t)p->width * (size_t)p->height; n++)
        if (!(p->rgb[3 * n] >= 0.0f && p->rgb[3 * n] <= most))
            return firn_fail(error, FIRN_ERR_FORMAT,
                             "depth_file '%.300s': red is %g in column %zu of row %zu; a factor of "
                             "the depth must be 0 to %g",
                             def->depth_file, (double)p->rgb[3 * n], n % (size_t)p->width,
                             n / (size_t)p->width, (double)most);
    return FIRN_OK;
}

firn_result firn_cover_relief_make(const firn_cover_def *def, firn_cover_relief *relief,
                                   firn_error *error)
{
    *relief = (firn_cover_relief){.def = def};
    firn_cover_picture *p = &relief->picture;
    if (def->depth_file[0] == '\0')
        return FIRN_OK;
    FIRN_TRY(firn_exr_read(def->depth_file, &p->width, &p->height, &p->rgb, error));
    firn_result result = check_picture(def, p, error);
    if (result != FIRN_OK)
        firn_cover_relief_free(relief);
    return result;
}

void firn_cover_relief_free(firn_cover_relief *relief)
{
    firn_free(relief->picture.rgb);
    relief->picture = (firn_cover_picture){0};
}
