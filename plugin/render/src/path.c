#include "path.h"

#include "phase.h"

#define FAINT 0.25f     // luminance of a path's weight below which it plays roulette
#define CLEARANCE 2e-3f // voxels that light starts away from a surface
enum { ROULETTE_FROM = 4 };

/// A path on its way.
typedef struct path {
    const firn_world *world;
    firn_tracker *tracker;
    firn_random *random;
    firn_vec3 at, direction;
    firn_vec3 weight;   // of what the rest of the path brings
    firn_vec3 radiance; // so far
    float density;      // per steradian, with which the direction was chosen; 0: the camera's
} path;

static inline firn_vec3 times(firn_vec3 a, firn_vec3 b)
{
    return firn_vec(a.x * b.x, a.y * b.y, a.z * b.z);
}

firn_scatter firn_scatter_even(firn_scatter snow)
{
    float best = fmaxf(snow.albedo.x, fmaxf(snow.albedo.y, snow.albedo.z));
    float factor = 1.0f - snow.g * best;
    firn_scatter even = {snow.strength * factor,
                         0.0f,
                         {fmaxf(0.0f, 1.0f - (1.0f - snow.albedo.x) / factor),
                          fmaxf(0.0f, 1.0f - (1.0f - snow.albedo.y) / factor),
                          fmaxf(0.0f, 1.0f - (1.0f - snow.albedo.z) / factor)}};
    return even;
}

static float unblocked(const path *p, firn_vec3 toward)
{
    firn_hit hit = {.distance = INFINITY};
    if (p->world->solids->count > 0 && firn_solids_meet(p->world->solids, p->at, toward, &hit))
        return 0.0f;
    return firn_tracker_transmit(p->tracker, p->random, p->at, toward, INFINITY);
}

/// What happens to light at a point: scattering in snow, or reflection by a solid.
typedef struct event {
    bool solid;
    firn_vec3 axis; // the direction that light had, or the normal
    float g;
} event;

// Share per steradian that goes on in a direction, without the albedo; both are also the density
// with which directions are chosen.
static inline float event_density(const event *e, firn_vec3 toward)
{
    float cosine = firn_dot(e->axis, toward);
    if (e->solid)
        return fmaxf(cosine, 0.0f) * (1.0f / FIRN_PI);
    return firn_phase(e->g, cosine);
}

static void add_sun(path *p, const event *e)
{
    const firn_light *light = p->world->light;
    if (!(light->irradiance.x + light->irradiance.y + light->irradiance.z > 0.0f))
        return;
    firn_vec3 toward = light->sun_cosine < 1.0f ? firn_sun_sample(light, p->random) : light->sun;
    float share = event_density(e, toward);
    if (share > 0.0f)
        share *= unblocked(p, toward);
    if (share > 0.0f)
        p->radiance = firn_add(p->radiance, firn_scale(share, times(p->weight, light->irradiance)));
}

static void add_sky(path *p, const event *e)
{
    const firn_light *light = p->world->light;
    if (!firn_sky_is_sampled(light))
        return;
    float chosen;
    firn_vec3 toward = firn_sky_sample(light, p->random, &chosen);
    float share = event_density(e, toward);
    if (!(share > 0.0f && chosen > 0.0f))
        return;
    // The balance heuristic: the other half comes with the paths that leave this way.
    float weight = share / (chosen + share) * unblocked(p, toward);
    if (weight > 0.0f)
        p->radiance = firn_add(
            p->radiance, firn_scale(weight, times(p->weight, firn_sky_radiance(light, toward))));
}

static void leave(path *p)
{
    const firn_light *light = p->world->light;
    firn_vec3 sky = firn_sky_radiance(light, p->direction);
    if (p->density > 0.0f && firn_sky_is_sampled(light))
        sky = firn_scale(p->density / (p->density + firn_sky_density(light, p->direction)), sky);
    p->radiance = firn_add(p->radiance, times(p->weight, sky));
}

static void turn(path *p, const event *e)
{
    float unit = firn_random_unit(p->random);
    float cosine = e->solid ? sqrtf(unit) : firn_phase_cosine(e->g, unit);
    firn_vec3 d = firn_around(e->axis, cosine, p->random);
    // One step of Newton's method keeps hundreds of turns at unit length.
    p->direction = firn_scale(1.5f - 0.5f * firn_dot(d, d), d);
    p->density = event_density(e, p->direction);
}

// Unbiased: what survives weighs more. A channel that snow does not absorb bounds the weights.
static bool survives(path *p)
{
    float worth = firn_luminance(p->weight);
    if (worth >= FAINT)
        return true;
    float chance = worth / FAINT;
    if (!(firn_random_unit(p->random) < chance))
        return false;
    p->weight = firn_scale(1.0f / chance, p->weight);
    return true;
}

// Flies to the next event; false when there is none.
static bool fly(path *p, const firn_scatter *snow, float tau, event *e, float *distance)
{
    p->tracker->strength = snow->strength;
    *distance = firn_tracker_fly(p->tracker, p->random, tau, p->at, p->direction, INFINITY);
    firn_hit hit = {.distance = *distance};
    e->solid = p->world->solids->count > 0 &&
               firn_solids_meet(p->world->solids, p->at, p->direction, &hit);
    *distance = hit.distance;
    if (isinf(hit.distance))
        return false;
    p->at = firn_add_scaled(p->at, hit.distance, p->direction);
    e->axis = p->direction;
    e->g = snow->g;
    if (e->solid) {
        e->axis = hit.normal;
        p->at = firn_add_scaled(p->at, CLEARANCE, hit.normal);
    }
    p->weight = times(p->weight, e->solid ? hit.albedo : snow->albedo);
    return true;
}

firn_path_sample firn_path_trace(const firn_world *world, firn_tracker *tracker,
                                 firn_random *random, firn_vec3 from, firn_vec3 direction,
                                 float unit)
{
    path p = {.world = world,
              .tracker = tracker,
              .random = random,
              .at = from,
              .direction = direction,
              .weight = {1.0f, 1.0f, 1.0f}};
    firn_path_sample sample = {.depth = INFINITY};
    float tau = -logf(1.0f - unit);
    for (int bounce = 0;; bounce++) {
        const firn_scatter *snow =
            world->similarity > 0 && bounce >= world->similarity ? &world->even : &world->snow;
        event e;
        float distance;
        if (!fly(&p, snow, tau, &e, &distance)) {
            leave(&p);
            break;
        }
        if (bounce == 0)
            sample.depth = distance;
        if (bounce > world->max_bounces)
            break;
        add_sun(&p, &e);
        add_sky(&p, &e);
        if (world->roulette && bounce >= ROULETTE_FROM && !survives(&p))
            break;
        turn(&p, &e);
        tau = -logf(1.0f - firn_random_unit(random));
    }
    sample.radiance = p.radiance;
    return sample;
}
