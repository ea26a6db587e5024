/// The two collision passes, method.md (15) and (16).
#include "collider_state.h"

// Slower impacts (m/s) give nothing back: snow at rest must not hum.
static const float RESTITUTION_SPEED = 0.1f;
// A true distance has a gradient of length one; below this there is no way out to be seen.
static const float FLAT_GRADIENT = 0.1f;
// Normals with a larger cosine between them count as one.
static const float SAME_NORMAL = 0.99f;

// What one surface does to a velocity.
typedef struct response {
    firn_vec3 velocity;    // m/s, after
    firn_node_state state; // FREE, SLIDING or STUCK
} response;

// A surface where something touches it.
typedef struct surface {
    const firn_collider_def *def;
    firn_vec3 velocity; // m/s
    firn_vec3 normal;
    float grip;           // m/s, that what sticks to it may be pulled away with and still be held
    float sticking_speed; // m/s, see bounce_of
} surface;

// What an impact gives back, m/s along the normal. Single grains that are slower than the sticking
// speed stay, and faster ones lose the more the closer they come to it: method.md (16a). Nodes, and
// grains on surfaces without one, bounce or do not.
static float bounce_of(const surface *at, float vn)
{
    float stays = at->sticking_speed > 0.0f ? at->sticking_speed : RESTITUTION_SPEED;
    if (!(vn < -stays))
        return 0.0f;
    float lost = at->sticking_speed / vn;
    return -at->def->restitution * vn * (lost < 0.0f ? sqrtf(1.0f - lost * lost) : 1.0f);
}

static response respond(const surface *at, firn_vec3 velocity)
{
    const firn_collider_def *def = at->def;
    firn_vec3 surface_velocity = at->velocity, normal = at->normal;
    if (def->contact == FIRN_CONTACT_STICKY)
        return (response){surface_velocity, FIRN_NODE_STUCK};
    firn_vec3 relative = firn_sub(velocity, surface_velocity);
    float vn = firn_dot(relative, normal);
    if (vn >= at->grip && def->contact == FIRN_CONTACT_SEPARATE)
        return (response){velocity, FIRN_NODE_FREE};
    firn_vec3 tangential = firn_add_scaled(relative, -vn, normal);
    float rub = def->friction * firn_larger(at->grip - vn, 0.0f);
    float speed = firn_length(tangential);
    float bounce = bounce_of(at, vn);
    firn_vec3 after = firn_add_scaled(surface_velocity, bounce, normal);
    // Without friction nothing holds a node, even one that does not slide yet.
    if (rub > 0.0f && speed <= rub)
        return (response){after, FIRN_NODE_STUCK};
    float kept = speed > 0.0f ? 1.0f - rub / speed : 0.0f;
    return (response){firn_add_scaled(after, kept, tangential), FIRN_NODE_SLIDING};
}

// A velocity component that a surface has given a node.
typedef struct constraint {
    firn_vec3 normal;
    float speed;  // m/s, along normal
    bool lets_go; // may be exceeded
} constraint;

typedef struct node {
    firn_node_contact contact;
    constraint held[2];
} node;

static void hold_one(node *n, constraint c)
{
    n->held[0] = c;
    n->contact.state = FIRN_NODE_SLIDING;
    n->contact.direction = c.normal;
}

// Gives the velocity both components and leaves the one along the edge.
static void hold_two(node *n, constraint a, constraint b, float cosine)
{
    firn_vec3 edge = firn_normalize(firn_cross(a.normal, b.normal));
    float factor = 1.0f / (1.0f - cosine * cosine);
    firn_vec3 v = firn_scale(firn_dot(n->contact.velocity, edge), edge);
    v = firn_add_scaled(v, factor * (a.speed - cosine * b.speed), a.normal);
    v = firn_add_scaled(v, factor * (b.speed - cosine * a.speed), b.normal);
    n->held[0] = a;
    n->held[1] = b;
    n->contact.velocity = v;
    n->contact.direction = edge;
    n->contact.state = FIRN_NODE_EDGE;
}

static void add_to_one(node *n, constraint c)
{
    constraint first = n->held[0];
    float cosine = firn_dot(first.normal, c.normal);
    float along = firn_dot(n->contact.velocity, first.normal);
    float tolerance = 1e-5f * (firn_length(n->contact.velocity) + fabsf(first.speed));
    bool released = first.lets_go && along > first.speed + tolerance;
    if (released || fabsf(cosine) > SAME_NORMAL)
        hold_one(n, c);
    else
        hold_two(n, first, c, cosine);
}

// before is the velocity that met the three.
static void add_to_two(node *n, constraint c, firn_vec3 before)
{
    firn_vec3 edge = n->contact.direction;
    float across = firn_dot(edge, c.normal);
    n->contact.velocity = before;
    if (fabsf(across) < 1.0f - SAME_NORMAL)
        return;
    float missing = c.speed - firn_dot(before, c.normal);
    n->contact.velocity = firn_add_scaled(before, missing / across, edge);
    n->contact.state = FIRN_NODE_STUCK;
}

// The share of a node's mass in a full cell when snow fills all that is farther than depth (cells)
// from it, less than a cell: the integral of the quadratic kernel, by its middle part.
static float share_beyond(float depth) { return 0.5f - depth * (0.75f - depth * depth / 3.0f); }

// Of every column of nodes across a surface one is between these distances (cells) from it. They
// are such that surfaces at nodes or in the middle between them are far from both, and a little
// more than a cell apart, so that rounding leaves no column without.
static const float STICKS_FROM = -0.625f, STICKS_TO = 0.38f;

// The speed (m/s) that adhesion takes from a node in a substep, method.md (15a).
static float grip_of(const firn_collider *collider, const firn_mass_point *point, float distance)
{
    float h = point->cell_size;
    if (!(collider->def.adhesion > 0.0f) || !(h > 0.0f))
        return 0.0f;
    float far = distance / h;
    if (!(far > STICKS_FROM && far <= STICKS_TO))
        return 0.0f;
    float covered = firn_smaller(point->fill / share_beyond(-far), 1.0f);
    return point->dt * collider->def.adhesion * h * h * covered / point->mass;
}

firn_contact_law firn_collider_law(const firn_collider_def *def, const firn_contact_site *site,
                                   firn_vec3 relative)
{
    firn_contact_law law = {.isotropic = 1.0f, .normal = site->normal};
    if (site->flat || def->contact == FIRN_CONTACT_STICKY)
        return law;
    float vn = firn_dot(relative, site->normal);
    bool closing = vn < 0.0f;
    if ((vn >= site->grip && def->contact == FIRN_CONTACT_SEPARATE) ||
        (site->distance > 0.0f && closing))
        return (firn_contact_law){.normal = site->normal};
    firn_vec3 tangential = firn_add_scaled(relative, -vn, site->normal);
    float speed = firn_length(tangential);
    float rub = def->friction * firn_larger(site->grip - vn, 0.0f);
    float bounce = vn < -RESTITUTION_SPEED ? def->restitution : 0.0f;
    if (rub > 0.0f && speed <= rub) {
        law.along = firn_scale(bounce, site->normal);
        return law;
    }
    // A = (n (1 + e) - mu t) n^T and what grip adds.
    law.isotropic = 0.0f;
    firn_vec3 t = firn_normalize(tangential);
    float mu = vn < site->grip ? def->friction : 0.0f;
    law.along = firn_add_scaled(firn_scale(1.0f + bounce, site->normal), -mu, t);
    law.constant = firn_scale(mu * site->grip, t);
    return law;
}

bool firn_collider_site(const firn_collider *collider, const firn_mass_point *point,
                        firn_contact_site *site)
{
    firn_distance d = firn_collider_distance(collider, point->position);
    site->distance = d.value;
    site->grip = grip_of(collider, point, d.value);
    if (!(d.value <= 0.0f) && !(site->grip > 0.0f))
        return false;
    float steep = firn_length(d.gradient);
    site->flat = steep < FLAT_GRADIENT;
    site->normal = site->flat ? d.gradient : firn_scale(1.0f / steep, d.gradient);
    return true;
}

// Lets a node collide a collider; false when it is left alone.
static bool touch(node *n, const firn_collider *collider, const firn_mass_point *point)
{
    firn_contact_site site;
    if (!firn_collider_site(collider, point, &site))
        return false;
    n->contact.outside = false;
    firn_vec3 surface_velocity = firn_collider_velocity(collider, point->position);
    if (site.flat) {
        n->contact.velocity = surface_velocity;
        n->contact.state = FIRN_NODE_STUCK;
        return true;
    }
    firn_vec3 normal = site.normal, before = n->contact.velocity;
    float grip = site.grip;
    // What is still outside may come closer.
    if (site.distance > 0.0f && firn_dot(firn_sub(before, surface_velocity), normal) < 0.0f)
        return false;
    const surface at = {&collider->def, surface_velocity, normal, grip, 0.0f};
    response hit = respond(&at, before);
    if (hit.state == FIRN_NODE_FREE)
        return false;
    n->contact.velocity = hit.velocity;
    if (hit.state == FIRN_NODE_STUCK || n->contact.state == FIRN_NODE_STUCK) {
        n->contact.state = FIRN_NODE_STUCK;
        return true;
    }
    constraint c = {normal, firn_dot(hit.velocity, normal),
                    collider->def.contact == FIRN_CONTACT_SEPARATE && !(grip > 0.0f)};
    if (n->contact.state == FIRN_NODE_FREE)
        hold_one(n, c);
    else if (n->contact.state == FIRN_NODE_SLIDING)
        add_to_one(n, c);
    else
        add_to_two(n, c, before);
    return true;
}

// Lets a node collide all colliders of near in turn; gives how many did something.
static int touch_all(node *n, const firn_colliders *colliders, const firn_near *near,
                     const firn_mass_point *point, firn_impulse *taken)
{
    int contacts = 0;
    for (int i = 0; i < near->count; i++) {
        firn_vec3 before = n->contact.velocity;
        if (!touch(n, firn_collider_slot(colliders, near->index[i]), point))
            continue;
        contacts++;
        n->contact.holders |= 1u << (i < FIRN_HOLDER_LIMIT ? i : FIRN_HOLDER_LIMIT - 1);
        if (taken != NULL)
            firn_impulse_add(&taken[i], point->position, point->mass, before, n->contact.velocity);
    }
    return contacts;
}

firn_node_contact firn_colliders_touch_node(const firn_colliders *colliders, const firn_near *near,
                                            const firn_mass_point *point, firn_impulse *taken)
{
    node n = {.contact = {.velocity = point->velocity, .state = FIRN_NODE_FREE, .outside = true}};
    // What one surface has done may lead back into another that had let go.
    if (touch_all(&n, colliders, near, point, taken) > 1)
        touch_all(&n, colliders, near, point, taken);
    return n.contact;
}

float firn_colliders_gap(const firn_colliders *colliders, const firn_near *near, firn_vec3 position)
{
    float gap = 1e30f;
    for (int i = 0; i < near->count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, near->index[i]);
        gap = firn_smaller(gap, firn_collider_distance(collider, position).value);
    }
    return gap;
}

bool firn_colliders_warmth(const firn_colliders *colliders, const firn_near *near,
                           firn_vec3 position, firn_warm_wall *wall)
{
    *wall = (firn_warm_wall){.gap = 1e30f};
    for (int i = 0; i < near->count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, near->index[i]);
        if (!(collider->def.temperature > 0.0f))
            continue;
        float gap = firn_collider_distance(collider, position).value;
        if (gap < wall->gap)
            *wall = (firn_warm_wall){gap, collider->def.temperature, collider->def.heat_exchange};
    }
    return wall->temperature > 0.0f;
}

bool firn_colliders_are_warm(const firn_colliders *colliders)
{
    for (int i = 0; i < colliders->slot_count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, i);
        if (collider->alive && collider->def.temperature > 0.0f)
            return true;
    }
    return false;
}

// The way of a particle as a collider sees it: in the collider's frame, which moves, or in the
// world when the surface deforms.
typedef struct path {
    const firn_collider *collider;
    firn_vec3 from, to;
    float length; // m, relative to the collider
} path;

static firn_distance path_distance(const path *p, float s)
{
    const firn_collider *collider = p->collider;
    firn_vec3 point = firn_lerp(p->from, p->to, s);
    if (!collider->deforming)
        return firn_rigid_distance(collider, point, s);
    float gamma = collider->gamma[0] + s * (collider->gamma[1] - collider->gamma[0]);
    return firn_deforming_distance(collider, gamma, point);
}

enum { PATH_SAMPLES = 16, PATH_REFINEMENTS = 6, PUSH_LIMIT = 64, SWEEPS = 4 };

// Distances sampled on a grid may be steeper than one: a step goes this share of the distance.
static const float SAFE_STEP = 0.6f;

// Narrows down where the way goes in, from outside at s and inside at inside.
static void refine_entry(const path *p, float *s, firn_distance *at, float inside, float depth)
{
    for (int i = 0; i < PATH_REFINEMENTS; i++) {
        float share = firn_smaller(firn_larger(at->value / (at->value - depth), 0.1f), 0.9f);
        float middle = *s + share * (inside - *s);
        firn_distance d = path_distance(p, middle);
        if (d.value > 0.0f) {
            *s = middle;
            *at = d;
        } else {
            inside = middle;
            depth = d.value;
        }
    }
}

// Looks for the first place where a way that begins outside goes in; at is its distance at s.
static bool find_entry(const path *p, float *s, firn_distance *at)
{
    while (*s < 1.0f) {
        float step = firn_larger(SAFE_STEP * at->value / p->length, 1.0f / PATH_SAMPLES);
        float next = firn_smaller(*s + step, 1.0f);
        firn_distance d = path_distance(p, next);
        if (d.value <= 0.0f) {
            refine_entry(p, s, at, next, d.value);
            return true;
        }
        *s = next;
        *at = d;
    }
    return false;
}

typedef struct flight {
    firn_vec3 start, end; // m
    firn_vec3 velocity;   // m/s
    float dt;             // s
    float clearance;      // m, the least that it was safe to go from the start
} flight;

// How far outside a particle is set down (m): rounding must not bring it back in.
static float margin_at(const firn_collider *collider, firn_vec3 x)
{
    firn_vec3 t = collider->pivot;
    float size = firn_larger(firn_larger(fabsf(x.x), fabsf(x.y)), fabsf(x.z));
    size = firn_larger(size, firn_larger(firn_larger(fabsf(t.x), fabsf(t.y)), fabsf(t.z)));
    return 1e-6f * (size + 0.1f);
}

static firn_vec3 push_out(const firn_collider *collider, firn_vec3 x, firn_vec3 direction)
{
    float margin = margin_at(collider, x);
    firn_vec3 out = x;
    for (int i = 0; i < PUSH_LIMIT; i++) {
        float distance = firn_collider_distance(collider, out).value;
        if (distance >= 0.5f * margin)
            return out;
        out = firn_add_scaled(out, margin - distance, direction);
    }
    return x;
}

static bool same(firn_vec3 a, firn_vec3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// Where no way out can be seen, it is the way the particle came; zero when it hardly moved.
static firn_vec3 direction_back(const firn_collider *collider, const flight *f,
                                firn_vec3 surface_velocity)
{
    float margin = margin_at(collider, f->start);
    firn_vec3 way = firn_sub(firn_scale(f->dt, surface_velocity), firn_sub(f->end, f->start));
    return firn_length(way) > 10.0f * margin ? firn_normalize(way) : firn_vec(0.0f, 0.0f, 0.0f);
}

static void set_end(path *p, firn_vec3 start, firn_vec3 end)
{
    const firn_collider *collider = p->collider;
    if (collider->deforming) {
        float carried = collider->carry * collider->dt * collider->max_speed;
        p->to = end;
        p->length = firn_length(firn_sub(end, start)) + carried;
        return;
    }
    p->to = firn_frame_to_local(&collider->end, end);
    float scale = firn_larger(collider->start.scale, collider->end.scale);
    p->length = scale * firn_length(firn_sub(p->to, p->from));
}

// Finds where a flight touches a collider: at its start or, coming from outside, s of the way.
static bool find_contact(const firn_collider *collider, flight *f, float *s, firn_distance *at)
{
    path p = {.collider = collider, .from = f->start};
    *s = 0.0f;
    if (collider->deforming) {
        *at = firn_deforming_distance(collider, collider->gamma[0], p.from);
    } else {
        p.from = firn_frame_to_local(&collider->start, f->start);
        *at = firn_rigid_distance(collider, p.from, 0.0f);
    }
    firn_vec3 way = firn_sub(f->end, f->start);
    float safe = SAFE_STEP * at->value;
    // On a surface that holds it, to be this close is contact.
    float clearance = safe - 2.0f * margin_at(collider, f->start);
    f->clearance = clearance < f->clearance ? clearance : f->clearance;
    if (collider->still && at->value > 0.0f && safe * safe > firn_dot(way, way))
        return false;
    // What has been set down on a surface that holds it still touches it.
    bool holds = collider->def.contact != FIRN_CONTACT_SEPARATE || collider->def.adhesion > 0.0f;
    if (at->value <= (holds ? 2.0f * margin_at(collider, f->start) : 0.0f))
        return true;
    set_end(&p, f->start, f->end);
    return safe < p.length && find_entry(&p, s, at);
}

// The same of a particle, which has the area of the cube that it fills.
static float particle_grip(const firn_collider *collider, const firn_mass_point *particle)
{
    float h = particle->cell_size;
    if (!(collider->def.adhesion > 0.0f) || !(h > 0.0f))
        return 0.0f;
    float edge = h * cbrtf(particle->fill);
    return particle->dt * collider->def.adhesion * edge * edge / particle->mass;
}

// Lets a flight collide a collider; true when that changed it.
static bool collide(const firn_collider *collider, flight *f, const firn_mass_point *particle,
                    firn_impulse *taken)
{
    float s;
    firn_distance at;
    if (!find_contact(collider, f, &s, &at))
        return false;
    firn_vec3 impact = firn_lerp(f->start, f->end, s);
    firn_vec3 surface_velocity = firn_collider_velocity(collider, impact);
    float steep = firn_length(at.gradient);
    bool flat = !(steep >= FLAT_GRADIENT);
    firn_vec3 normal = flat ? direction_back(collider, f, surface_velocity)
                            : firn_scale(1.0f / steep, at.gradient);
    const surface met = {&collider->def, surface_velocity, normal,
                         particle_grip(collider, particle), collider->def.sticking_speed};
    firn_vec3 velocity = flat ? surface_velocity : respond(&met, f->velocity).velocity;
    // Until the impact it flies as it did, from there on with its new velocity.
    firn_vec3 change = firn_sub(velocity, f->velocity);
    firn_vec3 end = firn_add_scaled(f->end, (1.0f - s) * f->dt, change);
    if (firn_dot(normal, normal) > 0.0f)
        end = push_out(collider, end, normal);
    bool changed = !same(velocity, f->velocity) || !same(end, f->end);
    if (taken != NULL)
        firn_impulse_add(taken, impact, particle->mass, f->velocity, velocity);
    f->velocity = velocity;
    f->end = end;
    return changed;
}

firn_particle_contact firn_colliders_touch_particle(const firn_colliders *colliders,
                                                    const firn_near *near,
                                                    const firn_mass_point *particle, float dt,
                                                    firn_impulse *taken)
{
    firn_vec3 position = particle->position, velocity = particle->velocity;
    flight f = {position, firn_add_scaled(position, dt, velocity), velocity, dt, INFINITY};
    firn_particle_contact contact = {.velocity = velocity};
    // Pushed out of one, it may be inside of another: look again until nothing changes.
    bool touched = false, changed = near->count > 0;
    for (int sweep = 0; changed && sweep < SWEEPS; sweep++) {
        changed = false;
        for (int i = 0; i < near->count; i++)
            changed |= collide(firn_collider_slot(colliders, near->index[i]), &f, particle,
                               taken != NULL ? &taken[i] : NULL);
        touched |= changed;
        changed &= near->count > 1;
    }
    if (!touched) {
        contact.clearance = f.clearance;
        return contact;
    }
    contact.velocity = f.velocity;
    contact.push = firn_add_scaled(firn_sub(f.end, position), -dt, f.velocity);
    return contact;
}
