/// What contacts carried: a stack stands because each substep begins with the forces that held it
/// in the last one. Part of the state.
#include "bodies.h"

// Of the spacing of points: a contact this near to where one was is that one.
static const double SAME_SHARE = 0.5;

static firn_d3 own_place(const firn_body *body, firn_d3 position)
{
    firn_d33 back = firn_d33_transpose(firn_d33_rotation(body->now.rotation));
    return firn_d33_mul(back, firn_d3_sub(position, firn_d3_from(body->now.center)));
}

// Touches of a body stand together, in the order of bodies.
static const firn_body_touch *first_of(const firn_bodies *bodies, int body)
{
    const firn_body_touch *touches = bodies->touches.data;
    size_t low = 0, high = bodies->touch_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (touches[middle].body < body)
            low = middle + 1;
        else
            high = middle;
    }
    return touches + low;
}

static void find_force(const firn_bodies *bodies, firn_body_contact *c)
{
    const firn_body *body = firn_body_slot(bodies, c->body);
    const firn_body_touch *end =
        (const firn_body_touch *)bodies->touches.data + bodies->touch_count;
    firn_d3 place = own_place(body, c->position);
    double nearest = SAME_SHARE * (double)body->spacing;
    for (const firn_body_touch *t = first_of(bodies, c->body); t < end && t->body == c->body; t++) {
        double far = firn_d3_length(firn_d3_sub(firn_d3_from(t->place), place));
        if (t->collider != c->collider || !(far < nearest))
            continue;
        nearest = far;
        c->force = firn_d3_from(t->force);
    }
}

void firn_touches_find(const firn_bodies *bodies)
{
    firn_body_contact *contacts = bodies->contacts.data;
    for (int i = 0; i < bodies->contact_count; i++) {
        contacts[i].force = (firn_d3){{0.0}};
        if (bodies->touch_count > 0)
            find_force(bodies, &contacts[i]);
    }
}

firn_result firn_touches_reserve(firn_bodies *bodies, firn_error *error)
{
    size_t count = (size_t)bodies->contact_count;
    bodies->fresh_count = 0;
    // Both, as they change places.
    FIRN_TRY(firn_array_reserve(bodies->budget, &bodies->touches, count, sizeof(firn_body_touch),
                                error));
    return firn_array_reserve(bodies->budget, &bodies->fresh, count, sizeof(firn_body_touch),
                              error);
}

void firn_touches_keep(firn_bodies *bodies, const firn_body_contact *contact, firn_d3 force)
{
    firn_body_touch touch = {.body = contact->body, .collider = contact->collider};
    const firn_body *body = firn_body_slot(bodies, contact->body);
    firn_d3_put(touch.place, own_place(body, contact->position));
    firn_d3_put(touch.force, force);
    ((firn_body_touch *)bodies->fresh.data)[bodies->fresh_count++] = touch;
}

void firn_touches_commit(firn_bodies *bodies)
{
    firn_array swap = bodies->touches;
    bodies->touches = bodies->fresh;
    bodies->fresh = swap;
    bodies->touch_count = bodies->fresh_count;
}
