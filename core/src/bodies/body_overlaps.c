/// Who stands inside whom before anything has moved: what a scene should be told about.
#include "bodies.h"

// Of the spacing of points, or of the narrow band of a level set: less than this is contact.
static const double NOTABLE_SHARE = 0.25;

// How deep (m) the points of a body lie in a collider.
static double depth_in(const firn_body *body, const firn_collider *collider)
{
    const firn_vec3 *points = body->points.data;
    firn_d33 turn = firn_d33_rotation(body->now.rotation);
    firn_d3 center = firn_d3_from(body->now.center);
    double depth = 0.0;
    for (int i = 0; i < body->point_count; i++) {
        firn_d3 x = firn_d3_madd(center, 1.0, firn_d33_mul(turn, firn_d3_of(points[i])));
        firn_distance d = firn_collider_distance_before(collider, firn_d3_vec(x));
        depth = fmax(depth, (double)body->point_radius - (double)d.value);
    }
    return depth;
}

static firn_body *body_of(const firn_bodies *bodies, const firn_collider *collider)
{
    return collider->body1 > 0 ? firn_body_slot(bodies, collider->body1 - 1) : NULL;
}

// Both ways: a small thing inside of a large one has its points there, not the other way round.
static double depth_of(const firn_bodies *bodies, const firn_colliders *colliders, int index,
                       int slot)
{
    const firn_body *body = firn_body_slot(bodies, index);
    const firn_collider *collider = firn_collider_slot(colliders, slot);
    const firn_body *other = body_of(bodies, collider);
    double depth = depth_in(body, collider), least = (double)body->spacing;
    if (other != NULL) {
        least = fmin(least, (double)other->spacing);
        depth = fmax(depth, depth_in(other, firn_collider_slot(colliders, body->collider)));
    }
    return depth > NOTABLE_SHARE * least ? depth : 0.0;
}

void firn_bodies_overlaps(const firn_bodies *bodies, const firn_colliders *colliders,
                          firn_bodies_overlap *found, int room, int *count)
{
    *count = 0;
    for (int i = 0; i < bodies->slot_count; i++) {
        const firn_body *body = firn_body_slot(bodies, i);
        for (int slot = 0; body->now.alive && slot < colliders->slot_count; slot++) {
            const firn_collider *collider = firn_collider_slot(colliders, slot);
            int other = collider->body1 - 1;
            if (!collider->active || slot == body->collider || (other >= 0 && other < i) ||
                (other >= 0 && firn_bodies_are_joined(bodies, i, other)))
                continue;
            double depth = depth_of(bodies, colliders, i, slot);
            if (depth > 0.0 && *count < room)
                found[*count] = (firn_bodies_overlap){i, other, slot, depth};
            *count += depth > 0.0;
        }
    }
}
