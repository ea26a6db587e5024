/// Who touches whom. The points of one body are held against the distances of the other, and the
/// other way round; a few contacts that lie far apart stand for all, so that what is flat lies
/// flat.
///
/// Bodies that touch or are joined are one island, which sleeps when all of it has been slow for
/// long enough, and wakes as one.
#include "bodies.h"

enum { CONTACT_LIMIT = 8, CANDIDATE_LIMIT = 256 };

// Of the spacing of points: nearer than this they are a contact, though not yet inside.
static const double NEAR_SHARE = 0.05;
// Contacts of a pair that are nearer to each other count as one.
static const double APART_SHARE = 0.3;
// Of a cell, or of a voxel: how deep contacts may be.
static const double SLOP_SHARE = 0.02, SLOP_VOXELS = 0.1;

/// A body and the collider that it may touch.
typedef struct pair {
    int body, other, collider; // other: the body of the collider, or -1
    int contact_count;
    double margin; // m
} pair;

typedef struct candidates {
    int count;
    firn_body_contact at[CANDIDATE_LIMIT];
} candidates;

static double speed_of(const firn_body *body)
{
    return firn_d3_length(firn_d3_from(body->now.velocity)) +
           firn_d3_length(firn_d3_from(body->now.spin)) * body->reach;
}

// The speed (m/s) that a collider has around a body.
static double speed_near(const firn_collider *collider, const firn_body *body)
{
    if (collider->driven)
        return (double)collider->speed;
    if (collider->deforming)
        return (double)collider->max_speed;
    firn_vec3 v = firn_collider_velocity(collider, firn_d3_vec(firn_d3_from(body->now.center)));
    return (double)firn_length(v) + (double)firn_length(collider->spin) * body->reach;
}

// Holds the points of one body against a collider.
static void add_candidates(const firn_body *body, const firn_collider *collider, double margin,
                           candidates *found)
{
    const firn_vec3 *points = body->points.data;
    firn_d33 turn = firn_d33_rotation(body->now.rotation);
    firn_d3 center = firn_d3_from(body->now.center);
    for (int i = 0; i < body->point_count && found->count < CANDIDATE_LIMIT; i++) {
        firn_d3 x = firn_d3_madd(center, 1.0, firn_d33_mul(turn, firn_d3_of(points[i])));
        firn_distance d = firn_collider_distance_before(collider, firn_d3_vec(x));
        double gap = (double)d.value - (double)body->point_radius;
        float steep = firn_length(d.gradient);
        if (gap > margin || !(steep > 0.1f))
            continue;
        firn_d3 normal = firn_d3_of(firn_scale(1.0f / steep, d.gradient));
        found->at[found->count++] = (firn_body_contact){
            .position = firn_d3_madd(x, -(double)body->point_radius - 0.5 * gap, normal),
            .normal = normal,
            .gap = gap};
    }
}

static void add_back(const firn_body *other, const firn_collider *own, double margin,
                     candidates *found)
{
    int first = found->count;
    add_candidates(other, own, margin, found);
    for (int i = first; i < found->count; i++)
        found->at[i].normal = firn_d3_scale(-1.0, found->at[i].normal);
}

// Keeps the deepest, then always the one that is farthest from all that are kept.
static int choose(const candidates *found, double apart, firn_body_contact *kept)
{
    double far[CANDIDATE_LIMIT];
    int count = 0, best = 0;
    for (int i = 0; i < found->count; i++) {
        far[i] = 1e30;
        best = found->at[i].gap < found->at[best].gap ? i : best;
    }
    while (found->count > 0 && count < CONTACT_LIMIT && far[best] > apart * apart) {
        kept[count++] = found->at[best];
        int next = 0;
        for (int i = 0; i < found->count; i++) {
            firn_d3 r = firn_d3_sub(found->at[i].position, kept[count - 1].position);
            far[i] = fmin(far[i], firn_d3_dot(r, r));
            next = far[i] > far[next] ? i : next;
        }
        best = next;
    }
    return count;
}

static double slop_of(const firn_body *body)
{
    const firn_collider_def *s = &body->def.shape;
    return s->shape == FIRN_SHAPE_LEVEL_SET ? SLOP_VOXELS * 0.5 * (double)body->spacing
                                            : SLOP_SHARE * (double)body->spacing;
}

static void touch_pair(const firn_bodies *bodies, const firn_colliders *colliders, pair *p,
                       firn_body_contact *kept)
{
    const firn_body *body = firn_body_slot(bodies, p->body);
    candidates found;
    found.count = 0;
    add_candidates(body, firn_collider_slot(colliders, p->collider), p->margin, &found);
    if (p->other >= 0)
        add_back(firn_body_slot(bodies, p->other), firn_collider_slot(colliders, body->collider),
                 p->margin, &found);
    p->contact_count = choose(&found, APART_SHARE * (double)body->spacing, kept);
    for (int i = 0; i < p->contact_count; i++) {
        kept[i].body = p->body;
        kept[i].other = p->other;
        kept[i].collider = p->collider;
        kept[i].slop = slop_of(body);
    }
}

static double fastest_of(const firn_bodies *bodies)
{
    double fastest = 0.0;
    for (int i = 0; i < bodies->slot_count; i++)
        if (firn_body_slot(bodies, i)->now.alive)
            fastest = fmax(fastest, speed_of(firn_body_slot(bodies, i)));
    return fastest;
}

bool firn_bodies_are_joined(const firn_bodies *bodies, int a, int b)
{
    const firn_joint *joints = bodies->joints.data;
    for (int i = 0; i < bodies->joint_count; i++) {
        const int *of = joints[i].body;
        if (joints[i].alive && ((of[0] == a && of[1] == b) || (of[0] == b && of[1] == a)))
            return true;
    }
    return false;
}

static firn_result pairs_of(firn_bodies *bodies, const firn_colliders *colliders, int index,
                            double dt, double fastest, firn_error *error)
{
    const firn_body *body = firn_body_slot(bodies, index);
    firn_near near = {.index = bodies->near.data};
    double spacing = (double)body->spacing;
    double radius = body->reach + NEAR_SHARE * spacing + 2.0 * dt * (speed_of(body) + fastest);
    firn_colliders_near(colliders, NULL, firn_d3_vec(firn_d3_from(body->now.center)), (float)radius,
                        &near);
    for (int i = 0; i < near.count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, near.index[i]);
        int other = collider->driven ? collider->body1 - 1 : -1;
        if (near.index[i] == body->collider || (other >= 0 && other < index) ||
            (collider->body1 > 0 && firn_bodies_are_joined(bodies, index, collider->body1 - 1)))
            continue;
        FIRN_TRY(firn_array_reserve(bodies->budget, &bodies->pairs, (size_t)bodies->pair_count + 1,
                                    sizeof(pair), error));
        double closing = speed_of(body) + speed_near(collider, body);
        ((pair *)bodies->pairs.data)[bodies->pair_count++] =
            (pair){index, other, near.index[i], 0, NEAR_SHARE * spacing + 1.5 * dt * closing};
    }
    return FIRN_OK;
}

static firn_result find_pairs(firn_bodies *bodies, const firn_colliders *colliders, double dt,
                              firn_error *error)
{
    double fastest = fastest_of(bodies);
    bodies->pair_count = 0;
    FIRN_TRY(firn_array_claim(bodies->budget, &bodies->near, (size_t)colliders->slot_count,
                              sizeof(int), error));
    for (int i = 0; i < bodies->slot_count; i++) {
        const firn_body *body = firn_body_slot(bodies, i);
        const firn_collider *own = firn_collider_slot(colliders, body->collider);
        if (body->now.alive && own->driven && own->active)
            FIRN_TRY(pairs_of(bodies, colliders, i, dt, fastest, error));
    }
    return firn_array_claim(bodies->budget, &bodies->contacts,
                            (size_t)bodies->pair_count * CONTACT_LIMIT, sizeof(firn_body_contact),
                            error);
}

// Contacts of all pairs one behind the other, in the order of pairs.
static void find_contacts(firn_bodies *bodies, const firn_colliders *colliders)
{
    pair *pairs = bodies->pairs.data;
    firn_body_contact *contacts = bodies->contacts.data;
#pragma omp parallel for schedule(dynamic) num_threads(bodies->thread_count)
    for (int i = 0; i < bodies->pair_count; i++)
        touch_pair(bodies, colliders, &pairs[i], contacts + (size_t)i * CONTACT_LIMIT);
    int count = 0;
    for (int i = 0; i < bodies->pair_count; i++)
        for (int k = 0; k < pairs[i].contact_count; k++)
            contacts[count++] = contacts[(size_t)i * CONTACT_LIMIT + (size_t)k];
    bodies->contact_count = count;
}

static int root_of(const int *island, int i)
{
    while (island[i] != i)
        i = island[i];
    return i;
}

static void unite(int *island, int a, int b)
{
    int low = root_of(island, a), high = root_of(island, b);
    if (low > high) {
        int swap = low;
        low = high;
        high = swap;
    }
    island[high] = low;
}

static void find_islands(firn_bodies *bodies, const firn_colliders *colliders)
{
    int *island = bodies->island.data;
    const firn_body_contact *contacts = bodies->contacts.data;
    const firn_joint *joints = bodies->joints.data;
    for (int i = 0; i < bodies->slot_count; i++) {
        island[i] = i;
        firn_body_slot(bodies, i)->calm = firn_body_slot(bodies, i)->now.rest;
    }
    for (int i = 0; i < bodies->contact_count; i++) {
        const firn_body_contact *c = &contacts[i];
        if (c->other >= 0)
            unite(island, c->body, c->other);
        else if (!firn_collider_slot(colliders, c->collider)->still)
            firn_body_slot(bodies, c->body)->calm = 0.0;
    }
    for (int i = 0; i < bodies->joint_count; i++)
        if (joints[i].alive && joints[i].body[0] >= 0)
            unite(island, joints[i].body[0], joints[i].body[1]);
}

// An island sleeps when the one that rested last has rested long enough.
static void put_to_sleep(firn_bodies *bodies)
{
    const int *island = bodies->island.data;
    bool sleeps = bodies->sleep_speed > 0.0;
    for (int i = 0; i < bodies->slot_count; i++)
        firn_body_slot(bodies, i)->asleep = sleeps;
    for (int i = 0; i < bodies->slot_count; i++) {
        const firn_body *body = firn_body_slot(bodies, i);
        if (body->now.alive && body->calm < bodies->sleep_time)
            firn_body_slot(bodies, root_of(island, i))->asleep = false;
    }
    for (int i = 0; i < bodies->slot_count; i++)
        firn_body_slot(bodies, i)->asleep = firn_body_slot(bodies, root_of(island, i))->asleep;
}

firn_result firn_bodies_touch(firn_bodies *bodies, const firn_colliders *colliders, double dt,
                              firn_error *error)
{
    FIRN_TRY(firn_array_claim(bodies->budget, &bodies->island, (size_t)bodies->slot_count,
                              sizeof(int), error));
    FIRN_TRY(find_pairs(bodies, colliders, dt, error));
    find_contacts(bodies, colliders);
    firn_touches_find(bodies);
    find_islands(bodies, colliders);
    put_to_sleep(bodies);
    return FIRN_OK;
}
