/// Joints as rows of the solver: a point that two bodies share, directions that they share, limits
/// and motors. What has drifted apart goes back as split impulses.
#include "bodies.h"

#include <float.h>

// Share of the error that a substep takes away.
static const double PULL_SHARE = 0.2;

/// A joint where its bodies are.
typedef struct place {
    int body[2];
    firn_d3 arm[2], axis[2], side[2]; // m, unit length
    firn_d3 apart;                    // m, from the first anchor to the second
} place;

static place find_place(const firn_bodies *bodies, const firn_joint *joint)
{
    place p;
    firn_d3 anchor[2];
    for (int i = 0; i < 2; i++) {
        p.body[i] = joint->body[i];
        p.arm[i] = (firn_d3){{0.0}};
        p.axis[i] = joint->axis[i];
        p.side[i] = joint->side[i];
        anchor[i] = joint->anchor[i];
        if (joint->body[i] < 0)
            continue;
        const firn_body *body = firn_body_slot(bodies, joint->body[i]);
        firn_d33 turn = firn_d33_rotation(body->now.rotation);
        p.arm[i] = firn_d33_mul(turn, joint->anchor[i]);
        p.axis[i] = firn_d33_mul(turn, joint->axis[i]);
        p.side[i] = firn_d33_mul(turn, joint->side[i]);
        anchor[i] = firn_d3_madd(firn_d3_from(body->now.center), 1.0, p.arm[i]);
    }
    p.apart = firn_d3_sub(anchor[1], anchor[0]);
    return p;
}

static firn_body_row row_of(const place *p, double error, double dt)
{
    return (firn_body_row){.a = p->body[1],
                           .b = p->body[0],
                           .bias = -PULL_SHARE * error / dt,
                           .lower = -DBL_MAX,
                           .upper = DBL_MAX,
                           .normal = -1};
}

// The second body does not move against the first along a direction.
static firn_body_row point_row(const place *p, int axis, double dt)
{
    firn_d3 direction = {{axis == 0 ? 1.0 : 0.0, axis == 1 ? 1.0 : 0.0, axis == 2 ? 1.0 : 0.0}};
    firn_body_row row = row_of(p, p->apart.x[axis], dt);
    row.direction = direction;
    row.turn[0] = firn_d3_cross(p->arm[1], direction);
    row.turn[1] = firn_d3_cross(p->arm[0], direction);
    return row;
}

// It does not turn against the first about a direction; error is the angle it has.
static firn_body_row turn_row(const place *p, firn_d3 direction, double error, double dt)
{
    firn_body_row row = row_of(p, error, dt);
    row.turn[0] = row.turn[1] = direction;
    return row;
}

// What it has turned about the axis, from -pi to pi.
static double angle_of(const place *p)
{
    firn_d3 third = firn_d3_cross(p->axis[0], p->side[0]);
    return atan2(firn_d3_dot(p->side[1], third), firn_d3_dot(p->side[1], p->side[0]));
}

// An angle that may grow only so far: rows that push one way. room: rad, until it is reached.
static firn_body_row stop_row(const place *p, firn_d3 direction, double room, double dt)
{
    firn_body_row row = turn_row(p, direction, 0.0, dt);
    row.upper = 0.0;
    row.target = fmax(room, 0.0) / dt;
    row.bias = room < 0.0 ? PULL_SHARE * room / dt : 0.0;
    return row;
}

static int hinge_rows(const place *p, const firn_joint_def *def, double dt, firn_body_row *rows)
{
    int count = 0;
    firn_d3 axis = p->axis[0], bent = firn_d3_cross(axis, p->axis[1]);
    const firn_d3 across[2] = {p->side[0], firn_d3_cross(axis, p->side[0])};
    for (int i = 0; i < 2; i++)
        rows[count++] = turn_row(p, across[i], firn_d3_dot(bent, across[i]), dt);
    if (def->motor_torque > 0.0f) {
        firn_body_row row = turn_row(p, axis, 0.0, dt);
        row.target = (double)def->motor_speed;
        row.upper = (double)def->motor_torque * dt;
        row.lower = -row.upper;
        rows[count++] = row;
    }
    if (def->limited) {
        double angle = angle_of(p);
        rows[count++] = stop_row(p, axis, (double)def->upper - angle, dt);
        rows[count++] = stop_row(p, firn_d3_scale(-1.0, axis), angle - (double)def->lower, dt);
    }
    return count;
}

static int fixed_rows(const place *p, double dt, firn_body_row *rows)
{
    firn_d3 third[2] = {firn_d3_cross(p->axis[0], p->side[0]),
                        firn_d3_cross(p->axis[1], p->side[1])};
    firn_d3 turned = firn_d3_cross(p->axis[0], p->axis[1]);
    turned = firn_d3_madd(turned, 1.0, firn_d3_cross(p->side[0], p->side[1]));
    turned = firn_d3_scale(0.5, firn_d3_madd(turned, 1.0, firn_d3_cross(third[0], third[1])));
    for (int i = 0; i < 3; i++) {
        firn_d3 direction = {{i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0, i == 2 ? 1.0 : 0.0}};
        rows[i] = turn_row(p, direction, turned.x[i], dt);
    }
    return 3;
}

// The axis of the second stays in a cone around that of the first.
static int ball_rows(const place *p, const firn_joint_def *def, double dt, firn_body_row *rows)
{
    firn_d3 about = firn_d3_cross(p->axis[0], p->axis[1]);
    double sine = firn_d3_length(about), cosine = firn_d3_dot(p->axis[0], p->axis[1]);
    if (!def->limited || !(sine > 1e-9))
        return 0;
    double swing = atan2(sine, cosine);
    rows[0] = stop_row(p, firn_d3_scale(1.0 / sine, about), (double)def->upper - swing, dt);
    return 1;
}

static bool is_free(const firn_bodies *bodies, int index)
{
    return index >= 0 && firn_body_slot(bodies, index)->free;
}

int firn_joints_rows(const firn_bodies *bodies, double dt, firn_body_row *rows)
{
    const firn_joint *joints = bodies->joints.data;
    int count = 0;
    for (int i = 0; i < bodies->joint_count; i++) {
        const firn_joint *joint = &joints[i];
        if (!joint->alive || (!is_free(bodies, joint->body[0]) && !is_free(bodies, joint->body[1])))
            continue;
        place p = find_place(bodies, joint);
        for (int axis = 0; axis < 3; axis++)
            rows[count++] = point_row(&p, axis, dt);
        if (joint->def.kind == FIRN_JOINT_HINGE)
            count += hinge_rows(&p, &joint->def, dt, rows + count);
        else if (joint->def.kind == FIRN_JOINT_FIXED)
            count += fixed_rows(&p, dt, rows + count);
        else
            count += ball_rows(&p, &joint->def, dt, rows + count);
    }
    return count;
}
