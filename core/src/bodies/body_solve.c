/// Contacts and joints of bodies: projected Gauss-Seidel in a fixed number of sweeps, forth and
/// back, so that the result is a function of the state. What moves bodies out of each other is
/// solved beside it and carries no momentum (split impulses), method.md (64).
#include "bodies.h"

#include <float.h>

enum { SWEEPS = 16, CONTACT_ROWS = 3 };

// Slower impacts (m/s) give nothing back, as with snow.
static const double RESTITUTION_SPEED = 0.1;
// Share of the depth that a substep takes away, and how fast at most (m/s).
static const double PUSH_SHARE = 0.2, PUSH_SPEED = 1.0;

static const firn_body *body_of(const firn_bodies *bodies, int index)
{
    return index < 0 ? NULL : firn_body_slot(bodies, index);
}

static firn_d3 arm_of(const firn_body *body, firn_d3 position)
{
    return firn_d3_sub(position, firn_d3_from(body->now.center));
}

static firn_d3 velocity_at(const firn_body *body, const firn_twist *twist, firn_d3 position)
{
    return firn_d3_madd(twist->linear, 1.0, firn_d3_cross(twist->angular, arm_of(body, position)));
}

static firn_twist twist_before(const firn_body *body)
{
    return (firn_twist){firn_d3_from(body->now.velocity), firn_d3_from(body->now.spin)};
}

// The velocity of what a contact touches, and with before that of the start of the substep.
static firn_d3 other_velocity(const firn_bodies *bodies, const firn_colliders *colliders,
                              const firn_body_contact *c, bool before)
{
    const firn_body *other = body_of(bodies, c->other);
    if (other == NULL)
        return firn_d3_of(firn_collider_velocity(firn_collider_slot(colliders, c->collider),
                                                 firn_d3_vec(c->position)));
    firn_twist twist = before ? twist_before(other) : other->star;
    return velocity_at(other, &twist, c->position);
}

static firn_body_row make_row(const firn_bodies *bodies, const firn_body_contact *c,
                              firn_d3 direction)
{
    const firn_body *a = firn_body_slot(bodies, c->body), *b = body_of(bodies, c->other);
    firn_body_row row = {.a = c->body, .b = c->other, .direction = direction, .normal = -1};
    row.turn[0] = firn_d3_cross(arm_of(a, c->position), direction);
    if (b != NULL)
        row.turn[1] = firn_d3_cross(arm_of(b, c->position), direction);
    return row;
}

// Along the surface, the way that it slides.
static firn_d3 slide_direction(firn_d3 relative, firn_d3 normal)
{
    firn_d3 t = firn_d3_madd(relative, -firn_d3_dot(relative, normal), normal);
    double speed = firn_d3_length(t);
    if (speed > 1e-9)
        return firn_d3_scale(1.0 / speed, t);
    firn_d3 other = {
        {fabs(normal.x[0]) < 0.5 ? 1.0 : 0.0, fabs(normal.x[0]) < 0.5 ? 0.0 : 1.0, 0.0}};
    t = firn_d3_cross(normal, other);
    return firn_d3_scale(1.0 / firn_d3_length(t), t);
}

static double normal_target(const firn_body_contact *c, double before, double bounce, double dt)
{
    if (before < -RESTITUTION_SPEED && c->gap <= -before * dt)
        return -bounce * before;
    return c->gap > 0.0 ? -c->gap / dt : 0.0;
}

static void contact_rows(const firn_bodies *bodies, const firn_colliders *colliders,
                         const firn_body_contact *c, double dt, firn_body_row *rows, int first)
{
    const firn_body *a = firn_body_slot(bodies, c->body);
    const firn_collider_def *own = &a->def.shape;
    const firn_collider_def *its = &firn_collider_slot(colliders, c->collider)->def;
    firn_twist before = twist_before(a);
    firn_d3 other = other_velocity(bodies, colliders, c, false);
    firn_d3 fixed = c->other < 0 ? other : (firn_d3){{0.0}};
    firn_d3 met = firn_d3_sub(velocity_at(a, &before, c->position),
                              other_velocity(bodies, colliders, c, true));
    firn_d3 relative = firn_d3_sub(velocity_at(a, &a->star, c->position), other);
    double bounce = (double)firn_larger(own->restitution, its->restitution);
    firn_d3 side = slide_direction(relative, c->normal);
    const firn_d3 directions[CONTACT_ROWS] = {c->normal, side, firn_d3_cross(c->normal, side)};
    for (int i = 0; i < CONTACT_ROWS; i++) {
        rows[i] = make_row(bodies, c, directions[i]);
        rows[i].target = firn_d3_dot(directions[i], fixed);
        rows[i].normal = i > 0 ? first : -1;
        rows[i].sum = dt * firn_d3_dot(directions[i], c->force);
        rows[i].friction = sqrt((double)own->friction * (double)its->friction);
    }
    rows[0].target += normal_target(c, firn_d3_dot(met, c->normal), bounce, dt);
    rows[0].bias = fmin(PUSH_SHARE * fmax(-c->gap - c->slop, 0.0) / dt, PUSH_SPEED);
    rows[0].upper = DBL_MAX;
    rows[0].sum = fmax(rows[0].sum, 0.0);
}

static bool is_free(const firn_bodies *bodies, int index)
{
    return index >= 0 && firn_body_slot(bodies, index)->free;
}

static int gather_rows(firn_bodies *bodies, const firn_colliders *colliders, double dt,
                       int *joint_rows)
{
    const firn_body_contact *contacts = bodies->contacts.data;
    firn_body_row *rows = bodies->rows.data;
    int count = *joint_rows = firn_joints_rows(bodies, dt, rows);
    for (int i = 0; i < bodies->contact_count; i++) {
        if (!is_free(bodies, contacts[i].body) && !is_free(bodies, contacts[i].other))
            continue;
        contact_rows(bodies, colliders, &contacts[i], dt, rows + count, count);
        count += CONTACT_ROWS;
    }
    return count;
}

// W J^T of one of the two, as a twist per impulse.
static firn_twist response(const firn_bodies *bodies, const firn_body_row *row, int side)
{
    int index = side == 0 ? row->a : row->b;
    firn_twist change = {{{0.0}}, {{0.0}}};
    if (!is_free(bodies, index))
        return change;
    const firn_body *body = firn_body_slot(bodies, index);
    double sign = side == 0 ? 1.0 : -1.0;
    change.linear = firn_body_yield(body, firn_d3_scale(sign, row->direction));
    change.angular = firn_d33_mul(body->inverse, firn_d3_scale(sign, row->turn[side]));
    return change;
}

static double along(const firn_body_row *row, int side, const firn_twist *twist)
{
    double sign = side == 0 ? 1.0 : -1.0;
    return sign * (firn_d3_dot(row->direction, twist->linear) +
                   firn_d3_dot(row->turn[side], twist->angular));
}

static void weigh_row(const firn_bodies *bodies, firn_body_row *row)
{
    firn_twist a = response(bodies, row, 0), b = response(bodies, row, 1);
    double inverse = along(row, 0, &a) + along(row, 1, &b);
    row->weight = inverse > 1e-30 ? 1.0 / inverse : 0.0;
}

static void apply(firn_twist *twist, double impulse, const firn_twist *change)
{
    twist->linear = firn_d3_madd(twist->linear, impulse, change->linear);
    twist->angular = firn_d3_madd(twist->angular, impulse, change->angular);
}

// A row begins with the impulse that it had.
static void start_row(firn_bodies *bodies, const firn_body_row *row)
{
    firn_twist ra = response(bodies, row, 0), rb = response(bodies, row, 1);
    if (row->a >= 0)
        apply(&firn_body_slot(bodies, row->a)->star, row->sum, &ra);
    if (row->b >= 0)
        apply(&firn_body_slot(bodies, row->b)->star, row->sum, &rb);
}

// One row: its impulse becomes what its target asks for, within its bounds.
static void relax(firn_bodies *bodies, firn_body_row *rows, firn_body_row *row, bool shift)
{
    const firn_twist none = {{{0.0}}, {{0.0}}};
    firn_body *a = row->a >= 0 ? firn_body_slot(bodies, row->a) : NULL;
    firn_body *b = row->b >= 0 ? firn_body_slot(bodies, row->b) : NULL;
    firn_twist *ta = a == NULL ? NULL : shift ? &a->shift : &a->star;
    firn_twist *tb = b == NULL ? NULL : shift ? &b->shift : &b->star;
    double speed = along(row, 0, ta != NULL ? ta : &none) + along(row, 1, tb != NULL ? tb : &none);
    double target = shift ? row->bias : row->target, lower = row->lower, upper = row->upper;
    if (row->normal >= 0) {
        upper = row->friction * rows[row->normal].sum;
        lower = -upper;
    }
    double *sum = shift ? &row->shift : &row->sum;
    double next = fmin(fmax(*sum + row->weight * (target - speed), lower), upper);
    double change = next - *sum;
    *sum = next;
    firn_twist ra = response(bodies, row, 0), rb = response(bodies, row, 1);
    if (ta != NULL)
        apply(ta, change, &ra);
    if (tb != NULL)
        apply(tb, change, &rb);
}

static void sweep(firn_bodies *bodies, firn_body_row *rows, int count, bool back, bool shift)
{
    for (int i = 0; i < count; i++) {
        firn_body_row *row = &rows[back ? count - 1 - i : i];
        // What rubs does not push out.
        if (!shift || row->normal < 0)
            relax(bodies, rows, row, shift);
    }
}

// The forces of all contacts, those of bodies that sleep as they were.
static void keep_forces(firn_bodies *bodies, const firn_body_row *row, double dt)
{
    const firn_body_contact *contacts = bodies->contacts.data;
    for (int i = 0; i < bodies->contact_count; i++) {
        firn_d3 force = contacts[i].force;
        if (is_free(bodies, contacts[i].body) || is_free(bodies, contacts[i].other)) {
            force = (firn_d3){{0.0}};
            for (int k = 0; k < CONTACT_ROWS; k++, row++)
                force = firn_d3_madd(force, row->sum / dt, row->direction);
        }
        firn_touches_keep(bodies, &contacts[i], force);
    }
}

firn_result firn_bodies_solve(firn_bodies *bodies, const firn_colliders *colliders, double dt,
                              firn_error *error)
{
    size_t most = (size_t)bodies->contact_count * CONTACT_ROWS +
                  (size_t)bodies->joint_count * FIRN_JOINT_ROWS;
    FIRN_TRY(firn_array_claim(bodies->budget, &bodies->rows, most, sizeof(firn_body_row), error));
    FIRN_TRY(firn_touches_reserve(bodies, error));
    int joint_rows = 0, count = gather_rows(bodies, colliders, dt, &joint_rows);
    firn_body_row *rows = bodies->rows.data;
    bool deep = false;
    for (int i = 0; i < count; i++) {
        weigh_row(bodies, &rows[i]);
        start_row(bodies, &rows[i]);
        deep |= rows[i].bias != 0.0;
    }
    for (int i = 0; i < SWEEPS; i++)
        sweep(bodies, rows, count, i % 2 != 0, false);
    for (int i = 0; deep && i < SWEEPS; i++)
        sweep(bodies, rows, count, i % 2 != 0, true);
    keep_forces(bodies, count > 0 ? rows + joint_rows : NULL, dt);
    return FIRN_OK;
}
