#include "sky_model.h"

#include "phase.h"

#include <math.h>

// Lengths in km. Coefficients at sea level for 680, 550 and 440 nm: Bruneton and Neyret 2008 for
// air and haze, Hillaire 2020 for ozone.
#define GROUND 6360.0f
#define TOP 6420.0f
#define EYE 0.2f // height of the camera
#define AIR_HEIGHT 8.0f
#define HAZE_HEIGHT 1.2f
#define HAZE 0.021f     // 1/km for each unit of turbidity above one
#define HAZE_KEEPS 0.9f // of what haze takes out of a ray is scattered
#define HAZE_FORWARD 0.76f
static const firn_vec3 air = {0.0058f, 0.0135f, 0.0331f};
static const firn_vec3 ozone = {0.00065f, 0.00188f, 0.000085f};
enum { STEPS = 32, STEPS_TO_SUN = 16, RINGS = 32 };

/// What lies along a ray, each in km of its density at sea level.
typedef struct column {
    float air, haze, ozone;
} column;

static float height_of(firn_vec3 p) { return fmaxf(firn_length(p) - GROUND, 0.0f); }

// How far it is to the top of the air.
static float way_out(firn_vec3 from, firn_vec3 direction)
{
    float b = firn_dot(from, direction), c = firn_dot(from, from) - TOP * TOP;
    return -b + sqrtf(fmaxf(b * b - c, 0.0f));
}

static bool meets_ground(firn_vec3 from, firn_vec3 direction)
{
    float b = firn_dot(from, direction), c = firn_dot(from, from) - GROUND * GROUND;
    return b < 0.0f && b * b - c > 0.0f;
}

static void add_air(column *sum, float height, float length)
{
    sum->air += length * expf(-height / AIR_HEIGHT);
    sum->haze += length * expf(-height / HAZE_HEIGHT);
    sum->ozone += length * fmaxf(0.0f, 1.0f - fabsf(height - 25.0f) / 15.0f);
}

static column to_sun(firn_vec3 from, firn_vec3 sun)
{
    column sum = {0.0f, 0.0f, 0.0f};
    float step = way_out(from, sun) / STEPS_TO_SUN;
    for (int i = 0; i < STEPS_TO_SUN; i++)
        add_air(&sum, height_of(firn_add_scaled(from, ((float)i + 0.5f) * step, sun)), step);
    return sum;
}

static firn_vec3 pass(column c, float haze)
{
    float dust = haze * c.haze / HAZE_KEEPS;
    return firn_vec(expf(-air.x * c.air - ozone.x * c.ozone - dust),
                    expf(-air.y * c.air - ozone.y * c.ozone - dust),
                    expf(-air.z * c.air - ozone.z * c.ozone - dust));
}

// Also gives what the air lets through along the ray.
static firn_vec3 look(firn_vec3 sun, firn_vec3 direction, float haze, firn_vec3 *through)
{
    firn_vec3 eye = {0.0f, GROUND + EYE, 0.0f}, sum = {0.0f, 0.0f, 0.0f};
    float end = way_out(eye, direction), cosine = firn_dot(sun, direction), before = 0.0f;
    float of_air = 3.0f / (16.0f * FIRN_PI) * (1.0f + cosine * cosine);
    float of_haze = firn_phase(HAZE_FORWARD, cosine);
    column passed = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < STEPS; i++) {
        // Steps grow: most of the air is near.
        float part = (float)(i + 1) / STEPS, at = end * part * part, step = at - before;
        firn_vec3 p = firn_add_scaled(eye, before + 0.5f * step, direction);
        float height = height_of(p);
        before = at;
        add_air(&passed, height, step);
        if (meets_ground(p, sun))
            continue;
        column way = to_sun(p, sun);
        way.air += passed.air;
        way.haze += passed.haze;
        way.ozone += passed.ozone;
        firn_vec3 light = pass(way, haze);
        float thin = step * of_air * expf(-height / AIR_HEIGHT),
              dust = step * of_haze * haze * expf(-height / HAZE_HEIGHT);
        sum.x += light.x * (air.x * thin + dust);
        sum.y += light.y * (air.y * thin + dust);
        sum.z += light.z * (air.z * thin + dust);
    }
    *through = pass(passed, haze);
    return sum;
}

// Rows lie denser near the horizon.
static float height_at(int row)
{
    float part = (float)row / (FIRN_SKY_HEIGHTS - 1);
    return part * part;
}

// Light that was scattered before: the mean of what white ground sends up and the sky down. Air
// that cannot be seen through takes on its color, which is why the horizon is pale.
static firn_vec3 mean_light(firn_vec3 sun, float haze)
{
    firn_vec3 eye = {0.0f, GROUND + EYE, 0.0f}, up = {0.0f, 1.0f, 0.0f}, through;
    firn_vec3 direct =
        meets_ground(eye, sun) ? firn_vec(0.0f, 0.0f, 0.0f) : pass(to_sun(eye, sun), haze);
    firn_vec3 level = firn_scale(fmaxf(sun.y, 0.0f) * (1.0f / FIRN_PI), direct);
    return firn_scale(0.9f, firn_add_scaled(level, 2.0f, look(sun, up, haze, &through)));
}

static void fill(firn_sky_model *sky, float haze)
{
    firn_vec3 sun = sky->sun;
    float level = sqrtf(fmaxf(sun.x * sun.x + sun.z * sun.z, 1e-12f));
    firn_vec3 ahead = {sun.x / level, 0.0f, sun.z / level}, aside = {-ahead.z, 0.0f, ahead.x};
    firn_vec3 ambient = mean_light(sun, haze);
#pragma omp parallel for schedule(dynamic)
    for (int row = 0; row < FIRN_SKY_HEIGHTS; row++)
        for (int i = 0; i < FIRN_SKY_TURNS; i++) {
            float y = fmaxf(height_at(row), 1e-3f), wide = sqrtf(fmaxf(0.0f, 1.0f - y * y));
            float turn = FIRN_PI * (float)i / (FIRN_SKY_TURNS - 1);
            firn_vec3 d = firn_scale(wide * cosf(turn), ahead);
            d = firn_add_scaled(d, wide * sinf(turn), aside);
            d.y = y;
            firn_vec3 through, once = look(sun, d, haze, &through);
            sky->radiance[row][i] = firn_vec(once.x + (1.0f - through.x) * ambient.x,
                                             once.y + (1.0f - through.y) * ambient.y,
                                             once.z + (1.0f - through.z) * ambient.z);
        }
}

// What the sky alone gives level ground.
static firn_vec3 on_level_ground(const firn_sky_model *sky)
{
    firn_vec3 sum = {0.0f, 0.0f, 0.0f};
    for (int ring = 0; ring < RINGS; ring++)
        for (int i = 0; i < 2 * RINGS; i++) {
            // Evenly by the cosine law.
            float y = sqrtf(((float)ring + 0.5f) / RINGS), wide = sqrtf(1.0f - y * y);
            float turn = FIRN_PI * ((float)i + 0.5f) / RINGS;
            firn_vec3 d = {wide * cosf(turn), y, wide * sinf(turn)};
            sum = firn_add(sum, firn_sky_model_radiance(sky, d));
        }
    return firn_scale(FIRN_PI / (2.0f * RINGS * RINGS), sum);
}

void firn_sky_model_make(firn_sky_model *sky, firn_vec3 sun, float turbidity, float level)
{
    float haze = HAZE * fmaxf(turbidity - 1.0f, 0.0f);
    firn_vec3 eye = {0.0f, GROUND + EYE, 0.0f};
    sky->sun = sun;
    fill(sky, haze);
    firn_vec3 none = {0.0f, 0.0f, 0.0f};
    sky->direct = meets_ground(eye, sun) ? none : pass(to_sun(eye, sun), haze);
    firn_vec3 all = firn_add_scaled(on_level_ground(sky), fmaxf(sun.y, 0.0f), sky->direct);
    firn_vec3 gain = {level / fmaxf(all.x, 1e-9f), level / fmaxf(all.y, 1e-9f),
                      level / fmaxf(all.z, 1e-9f)};
    sky->direct = firn_vec(sky->direct.x * gain.x, sky->direct.y * gain.y, sky->direct.z * gain.z);
    for (int row = 0; row < FIRN_SKY_HEIGHTS; row++)
        for (int i = 0; i < FIRN_SKY_TURNS; i++) {
            firn_vec3 *r = &sky->radiance[row][i];
            *r = firn_vec(r->x * gain.x, r->y * gain.y, r->z * gain.z);
        }
}

firn_vec3 firn_sky_model_radiance(const firn_sky_model *sky, firn_vec3 direction)
{
    float row = sqrtf(fminf(fmaxf(direction.y, 0.0f), 1.0f)) * (FIRN_SKY_HEIGHTS - 1);
    float level = sqrtf((direction.x * direction.x + direction.z * direction.z) *
                        (sky->sun.x * sky->sun.x + sky->sun.z * sky->sun.z));
    float cosine = direction.x * sky->sun.x + direction.z * sky->sun.z;
    cosine = level > 1e-12f ? fmaxf(-1.0f, fminf(cosine / level, 1.0f)) : 1.0f;
    float turn = acosf(cosine) * ((FIRN_SKY_TURNS - 1) / FIRN_PI);
    int y = (int)fminf(row, FIRN_SKY_HEIGHTS - 2), x = (int)fminf(turn, FIRN_SKY_TURNS - 2);
    float v = row - (float)y, u = turn - (float)x;
    firn_vec3 low = firn_lerp(sky->radiance[y][x], sky->radiance[y][x + 1], u);
    firn_vec3 high = firn_lerp(sky->radiance[y + 1][x], sky->radiance[y + 1][x + 1], u);
    return firn_lerp(low, high, v);
}
