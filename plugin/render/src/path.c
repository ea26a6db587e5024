#include "path.h"

#include "phase.h"

#define FAINT 0.25f     // luminance of a path's weight below which it plays roulette
#define CLEARANCE 2e-3f // voxels that light starts away from a surface
#define SELDOM 0.3f     // share of the later bounces that look for lights
enum { ROULETTE_FROM = 4, SELDOM_FROM = 6 };

/// A path on its way.
typedef struct path {
    const firn_world *world;
    const firn_grain_set *grains; // NULL: they no longer count
    firn_tracker *tracker;
    firn_random *random;
    firn_vec3 at, direction;
    firn_vec3 weight;   // of what the rest of the path brings
    firn_vec3 radiance; // so far
    firn_vec3 glint;    // of it, by way of the facet that was just met
    firn_vec3 albedo;   // of what was just met
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
    const firn_world *world = p->world;
    firn_hit hit = {.distance = INFINITY};
    if (world->solids->count > 0 && firn_solids_meet(world->solids, p->at, toward, &hit))
        return 0.0f;
    if (p->grains != NULL &&
        firn_grains_block(p->grains, p->at, toward, p->tracker->time, INFINITY))
        return 0.0f;
    return firn_tracker_transmit(p->tracker, p->random, p->at, toward, INFINITY);
}

/// What happens to light at a point: scattering in snow, or reflection by a solid or a grain.
typedef struct event {
    bool solid;
    firn_vec3 axis; // the direction that light had, or the normal
    float g;
    float mirror; // share that a facet turns to around `shine`, within a cone of this cosine
    float cosine;
    firn_vec3 shine; // unit vector
    firn_vec3 base;  // normal of a plane whose bumps gave the axis; zero: none
} event;

// Share of light per steradian within the cone of a glint.
static inline float glint_density(const event *e, firn_vec3 toward)
{
    return e->mirror > 0.0f && firn_dot(e->shine, toward) >= e->cosine
               ? e->mirror / (2.0f * FIRN_PI * (1.0f - e->cosine))
               : 0.0f;
}

// Share per steradian that goes on in a direction without the albedo and the facet; both are also
// the density with which directions are chosen.
static inline float event_density(const event *e, firn_vec3 toward)
{
    float cosine = firn_dot(e->axis, toward);
    if (!e->solid)
        return firn_phase(e->g, cosine);
    cosine = fmaxf(cosine, 0.0f);
    // What a bump would send below its plane comes back up as from a mirror: nothing is lost.
    float above = firn_dot(e->base, toward);
    if (above > 0.0f)
        cosine += fmaxf(firn_dot(e->axis, firn_add_scaled(toward, -2.0f * above, e->base)), 0.0f);
    else if (above < 0.0f)
        cosine = 0.0f;
    return (1.0f - e->mirror) * cosine * (1.0f / FIRN_PI);
}

static void add_sun(path *p, const event *e)
{
    const firn_light *light = p->world->light;
    if (!(light->irradiance.x + light->irradiance.y + light->irradiance.z > 0.0f))
        return;
    firn_vec3 toward = light->sun_cosine < 1.0f ? firn_sun_sample(light, p->random) : light->sun;
    float share = event_density(e, toward), glint = glint_density(e, toward);
    if (!(share + glint > 0.0f))
        return;
    firn_vec3 light_there = firn_scale(unblocked(p, toward), times(p->weight, light->irradiance));
    p->glint = firn_scale(glint, light_there);
    p->radiance = firn_add_scaled(p->radiance, share + glint, light_there);
}

static void add_sky(path *p, const event *e)
{
    const firn_light *light = p->world->light;
    if (!firn_sky_is_sampled(light))
        return;
    float chosen;
    firn_vec3 toward = firn_sky_sample(light, p->random, &chosen);
    float share = event_density(e, toward) + glint_density(e, toward);
    if (!(share > 0.0f && chosen > 0.0f))
        return;
    // The balance heuristic: the other half comes with the paths that leave this way.
    float weight = share / (chosen + share) * unblocked(p, toward);
    if (weight > 0.0f)
        p->radiance = firn_add(
            p->radiance, firn_scale(weight, times(p->weight, firn_sky_radiance(light, toward))));
}

// Light that has turned often looks for lights less often, and counts them for the times that it
// does not: what it finds is little.
static void look_for_light(path *p, const event *e, int bounce)
{
    firn_vec3 weight = p->weight;
    if (bounce >= SELDOM_FROM) {
        if (!(firn_random_unit(p->random) < SELDOM))
            return;
        p->weight = firn_scale(1.0f / SELDOM, weight);
    }
    add_sun(p, e);
    add_sky(p, e);
    p->weight = weight;
}

static void leave(path *p)
{
    const firn_light *light = p->world->light;
    firn_vec3 sky = firn_sky_radiance(light, p->direction);
    if (!(p->density > 0.0f))
        sky = firn_add(sky, firn_sun_radiance(light, p->direction));
    if (p->density > 0.0f && firn_sky_is_sampled(light))
        sky = firn_scale(p->density / (p->density + firn_sky_density(light, p->direction)), sky);
    p->radiance = firn_add(p->radiance, times(p->weight, sky));
}

static void turn(path *p, const event *e)
{
    float unit = firn_random_unit(p->random);
    firn_vec3 axis = e->axis;
    float cosine;
    if (unit < e->mirror) {
        axis = e->shine;
        cosine = 1.0f - unit / e->mirror * (1.0f - e->cosine);
    } else {
        unit = (unit - e->mirror) / (1.0f - e->mirror);
        cosine = e->solid ? sqrtf(unit) : firn_phase_cosine(e->g, unit);
    }
    firn_vec3 d = firn_around(axis, cosine, p->random);
    float above = firn_dot(e->base, d);
    if (above < 0.0f)
        d = firn_add_scaled(d, -2.0f * above, e->base);
    // One step of Newton's method keeps hundreds of turns at unit length.
    p->direction = firn_scale(1.5f - 0.5f * firn_dot(d, d), d);
    p->density = event_density(e, p->direction) + glint_density(e, p->direction);
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

// Light that meets a grain is mirrored by its facet, comes back, or goes through it and leaves it
// anywhere, as from a hollow ball with a diffuse shell.
static void meet_grain(path *p, const firn_grain_hit *hit, event *e)
{
    const firn_world *world = p->world;
    const firn_grain_set *set = world->grains;
    e->axis = hit->normal;
    e->mirror = world->grain.sparkle;
    // A glint of a glint is one in a million, and noise: light that was scattered sees dull facets.
    e->cosine = p->density > 0.0f ? world->grain.blunt : world->grain.cosine;
    firn_vec3 facet = firn_grain_facet(set->key[hit->grain]);
    e->shine = firn_add_scaled(p->direction, -2.0f * firn_dot(p->direction, facet), facet);
    p->albedo = world->snow.albedo;
    if (set->color != NULL)
        p->albedo = times(p->albedo, set->color[hit->grain]);
    if (firn_random_unit(p->random) < world->grain.translucency) {
        bool flake = set->shape == FIRN_GRAINS_FLAKES;
        float radius = set->packs[hit->grain / 4].radius[hit->grain % 4];
        e->axis =
            flake ? firn_scale(-1.0f, hit->normal)
                  : firn_around(hit->normal, 1.0f - 2.0f * firn_random_unit(p->random), p->random);
        if (!flake)
            p->at = firn_add_scaled(hit->center, radius, e->axis);
        e->mirror = 0.0f;
    }
}

// The surface of a plane or a face, with the details that are seen from here.
static void meet_surface(path *p, const firn_hit *hit, const firn_surface *surface, event *e)
{
    const firn_world *world = p->world;
    firn_quat turn = hit->solid->pose.rotation;
    firn_vec3 out = firn_rotate(firn_quat_conjugate(turn), hit->normal), at = hit->local;
    // Along the face: its first two axes, and the third one out of it.
    float x = at.x, z = at.z;
    firn_vec3 right = {1.0f, 0.0f, 0.0f}, ahead = {0.0f, 0.0f, 1.0f};
    if (fabsf(out.x) > 0.5f) {
        right = firn_vec(0.0f, 1.0f, 0.0f);
        x = at.y;
    } else if (fabsf(out.z) > 0.5f) {
        ahead = firn_vec(0.0f, 1.0f, 0.0f);
        z = at.y;
    }
    bool seen = !(p->density > 0.0f);
    firn_surface_point point =
        firn_surface_look(surface, hit->albedo, x, z, seen ? world->detail * hit->distance : 0.02f);
    firn_vec3 n = point.normal, f = point.facet;
    n = firn_add(firn_scale(n.y, out), firn_add(firn_scale(n.x, right), firn_scale(n.z, ahead)));
    f = firn_add(firn_scale(f.y, out), firn_add(firn_scale(f.x, right), firn_scale(f.z, ahead)));
    firn_vec3 facet = firn_rotate(turn, f);
    p->albedo = point.albedo;
    e->axis = firn_rotate(turn, n);
    e->base = hit->normal;
    e->shine = firn_add_scaled(p->direction, -2.0f * firn_dot(p->direction, facet), facet);
    e->cosine = world->grain.cosine;
    e->mirror = firn_dot(e->shine, e->base) > 0.2f ? point.mirror : 0.0f;
}

// What a solid shows: planes and boxes have surfaces of their own.
static void meet_solid(path *p, const firn_hit *hit, event *e)
{
    const firn_world *world = p->world;
    e->axis = hit->normal;
    p->albedo = hit->albedo;
    if (hit->solid->shape == FIRN_SHAPE_PLANE && world->ground.kind != FIRN_SURFACE_PLAIN)
        meet_surface(p, hit, &world->ground, e);
    if (hit->solid->shape == FIRN_SHAPE_BOX && world->faces.kind != FIRN_SURFACE_PLAIN)
        meet_surface(p, hit, &world->faces, e);
}

// Flies to the next event; false when there is none.
static bool fly(path *p, const firn_scatter *snow, float tau, event *e, float *distance)
{
    const firn_world *world = p->world;
    p->tracker->strength = snow->strength;
    *distance = firn_tracker_fly(p->tracker, p->random, tau, p->at, p->direction, INFINITY);
    firn_hit hit = {.distance = *distance};
    bool solid =
        world->solids->count > 0 && firn_solids_meet(world->solids, p->at, p->direction, &hit);
    firn_grain_hit grain = {.distance = hit.distance};
    bool met = p->grains != NULL &&
               firn_grains_meet(p->grains, p->at, p->direction, p->tracker->time, &grain);
    *distance = grain.distance;
    if (isinf(grain.distance))
        return false;
    p->at = firn_add_scaled(p->at, grain.distance, p->direction);
    *e = (event){.solid = solid || met, .axis = p->direction, .g = snow->g};
    p->albedo = snow->albedo;
    if (met) {
        meet_grain(p, &grain, e);
    } else if (solid) {
        meet_solid(p, &hit, e);
    }
    if (e->solid)
        p->at = firn_add_scaled(p->at, CLEARANCE, met ? e->axis : hit.normal);
    p->weight = times(p->weight, p->albedo);
    return true;
}

firn_path_sample firn_path_trace(const firn_world *world, firn_tracker *tracker,
                                 firn_random *random, firn_vec3 from, firn_vec3 direction,
                                 float unit)
{
    path p = {.world = world,
              .grains = world->grains,
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
        if (bounce == 0) {
            sample.depth = distance;
            sample.albedo = p.albedo;
            sample.normal = e.solid ? e.axis : firn_vec(0.0f, 0.0f, 0.0f);
        }
        if (bounce > world->max_bounces)
            break;
        if (world->grain_bounces > 0 && bounce >= world->grain_bounces)
            p.grains = NULL;
        look_for_light(&p, &e, bounce);
        if (bounce == 0)
            sample.glint = p.glint;
        if (world->roulette && bounce >= ROULETTE_FROM && !survives(&p))
            break;
        turn(&p, &e);
        tau = -logf(1.0f - firn_random_unit(random));
    }
    sample.radiance = p.radiance;
    return sample;
}
