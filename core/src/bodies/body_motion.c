/// How bodies move: exact in their momenta, even in time.
///
/// A body that turns freely keeps its angular momentum, and so its axis wanders. The rotation goes
/// on by the velocity in the middle of the substep, which is found by repetition, method.md (63).
#include "bodies.h"

enum { MIDDLE_ROUNDS = 4 };

static firn_d33 world_inertia(const firn_body *body, const double rotation[4])
{
    firn_d33 own;
    memcpy(own.m, body->mass.inertia, sizeof own.m);
    return firn_d33_turned(firn_d33_rotation(rotation), own);
}

static firn_d3 momentum_of(const firn_body *body, const double rotation[4], firn_d3 spin)
{
    return firn_d33_mul(world_inertia(body, rotation), spin);
}

static bool turns_freely(const firn_body *body)
{
    firn_vec3 f = body->def.free_turn;
    return f.x > 0.0f && f.y > 0.0f && f.z > 0.0f;
}

firn_d33 firn_body_inverse(const firn_body *body, const double rotation[4])
{
    const float axes[3] = {body->def.free_turn.x, body->def.free_turn.y, body->def.free_turn.z};
    firn_d33 a = world_inertia(body, rotation);
    for (int i = 0; i < 9; i++)
        if (!(axes[i / 3] > 0.0f) || !(axes[i % 3] > 0.0f))
            a.m[i] = i % 4 == 0 ? 1.0 : 0.0;
    a = firn_d33_inverse(a);
    for (int i = 0; i < 3; i++)
        if (!(axes[i] > 0.0f))
            a.m[4 * i] = 0.0;
    return a;
}

firn_d3 firn_body_yield(const firn_body *body, firn_d3 impulse)
{
    const float axes[3] = {body->def.free_move.x, body->def.free_move.y, body->def.free_move.z};
    for (int i = 0; i < 3; i++)
        impulse.x[i] = axes[i] > 0.0f ? impulse.x[i] / body->mass.mass : 0.0;
    return impulse;
}

firn_pose firn_body_pose(const firn_body *body, const firn_body_motion *motion)
{
    firn_d3 arm =
        firn_d33_mul(firn_d33_rotation(motion->rotation), firn_d3_from(body->mass.center));
    firn_pose pose = {.scale = body->scale};
    firn_d3_put(pose.translation, firn_d3_sub(firn_d3_from(motion->center), arm));
    memcpy(pose.rotation, motion->rotation, sizeof pose.rotation);
    return pose;
}

void firn_body_put_pose(firn_body *body, const firn_pose *pose)
{
    firn_d3 arm = firn_d33_mul(firn_d33_rotation(pose->rotation), firn_d3_from(body->mass.center));
    firn_d3_put(body->now.center, firn_d3_madd(firn_d3_from(pose->translation), 1.0, arm));
    memcpy(body->now.rotation, pose->rotation, sizeof pose->rotation);
}

bool firn_body_is_released(const firn_body *body, double time)
{
    return time >= body->def.release - 1e-9;
}

// Turns by a velocity; gives that of the end.
static firn_d3 turn_freely(const firn_body *body, const double from[4], firn_d3 spin, double dt,
                           double to[4])
{
    if (!turns_freely(body)) {
        firn_pose_turned(from, spin.x, dt, to);
        return spin;
    }
    firn_d3 momentum = momentum_of(body, from, spin), middle = spin;
    for (int i = 0; i < MIDDLE_ROUNDS; i++) {
        double half[4];
        firn_pose_turned(from, middle.x, 0.5 * dt, half);
        middle = firn_d33_mul(firn_body_inverse(body, half), momentum);
    }
    firn_pose_turned(from, middle.x, dt, to);
    return firn_d33_mul(firn_body_inverse(body, to), momentum);
}

firn_body_motion firn_body_advance(const firn_body *body, const firn_twist *twist, double dt)
{
    firn_body_motion end = body->now;
    double turned[4];
    for (int i = 0; i < 3; i++)
        end.center[i] += dt * (twist->linear.x[i] + body->shift.linear.x[i]);
    firn_d3_put(end.velocity, twist->linear);
    firn_d3_put(end.spin, turn_freely(body, body->now.rotation, twist->angular, dt, turned));
    firn_pose_turned(turned, body->shift.angular.x, dt, end.rotation);
    return end;
}

firn_twist firn_body_pushed(const firn_body *body, const firn_twist *twist,
                            const firn_impulse *impulse)
{
    firn_d3 p = firn_d3_from(impulse->linear), l = firn_d3_from(impulse->angular);
    l = firn_d3_sub(l, firn_d3_cross(firn_d3_from(body->now.center), p));
    return (firn_twist){
        firn_d3_madd(twist->linear, 1.0, firn_body_yield(body, p)),
        firn_d3_madd(twist->angular, 1.0, firn_d33_mul(body->inverse, l)),
    };
}

static double fastest_point(const firn_body *body, const double velocity[3], const double spin[3])
{
    return firn_d3_length(firn_d3_from(velocity)) +
           firn_d3_length(firn_d3_from(spin)) * body->reach;
}

void firn_bodies_place(firn_bodies *bodies, firn_colliders *colliders, double time)
{
    for (int i = 0; i < bodies->slot_count; i++) {
        firn_body *body = firn_body_slot(bodies, i);
        if (!body->now.alive)
            continue;
        firn_collider *collider = firn_collider_slot(colliders, body->collider);
        collider->driven = firn_body_is_released(body, time);
        collider->driver = firn_body_pose(body, &body->now);
        collider->speed = 1.01f * (float)fastest_point(body, body->now.velocity, body->now.spin);
    }
}

void firn_body_steer(const firn_body *body, firn_colliders *colliders)
{
    firn_collider *collider = firn_collider_slot(colliders, body->collider);
    collider->pivot = firn_d3_vec(firn_d3_from(body->now.center));
    collider->velocity = firn_d3_vec(body->next.linear);
    collider->spin = firn_d3_vec(body->next.angular);
    collider->speed = 1.01f * (float)fastest_point(body, body->next.linear.x, body->next.angular.x);
    collider->still = false;
}

double firn_body_arrive(firn_body *body, firn_colliders *colliders, double dt)
{
    firn_collider *collider = firn_collider_slot(colliders, body->collider);
    body->then = firn_body_advance(body, &body->next, dt);
    firn_pose end = firn_body_pose(body, &body->then);
    firn_transform map = firn_collider_map(collider);
    collider->end = firn_pose_frame(&end, &map);
    firn_body_steer(body, colliders);
    double turn[3], twist[3], drift[3], from[3];
    firn_pose_turn(&collider->driver, &end, turn);
    for (int i = 0; i < 3; i++) {
        twist[i] = turn[i] - dt * body->next.angular.x[i];
        from[i] = body->then.center[i] - body->now.center[i];
        drift[i] = from[i] - dt * body->next.linear.x[i];
    }
    collider->drift = 1.01f * (float)firn_d3_length(firn_d3_from(drift));
    collider->twirl = 1.01f * (float)firn_d3_length(firn_d3_from(twist));
    double gone =
        firn_d3_length(firn_d3_from(from)) + firn_d3_length(firn_d3_from(turn)) * body->reach;
    collider->travel = 1.01f * (float)gone;
    return fmax(gone / dt, fastest_point(body, body->next.linear.x, body->next.angular.x));
}

// How its center moves along its keys.
static firn_twist keyed_twist(const firn_body *body, const firn_collider *collider)
{
    firn_d3 spin = firn_d3_of(collider->spin);
    firn_d3 arm = firn_d3_sub(firn_d3_from(body->now.center), firn_d3_of(collider->pivot));
    return (firn_twist){firn_d3_madd(firn_d3_of(collider->velocity), 1.0, firn_d3_cross(spin, arm)),
                        spin};
}

// What is free goes on from where it is, with gravity; what sleeps lies.
static void begin(firn_body *body, const firn_collider *collider, firn_d3 kick)
{
    const firn_twist none = {{{0.0}}, {{0.0}}};
    body->free = collider->driven && collider->active && !body->asleep;
    body->shift = none;
    body->then = body->now;
    body->star = none;
    body->next = none;
    if (!collider->driven && collider->active)
        body->star = keyed_twist(body, collider);
    if (!body->free)
        return;
    body->inverse = firn_body_inverse(body, body->now.rotation);
    firn_d3 fall = firn_body_yield(body, firn_d3_scale(body->mass.mass, kick));
    body->star.linear = firn_d3_madd(firn_d3_from(body->now.velocity), 1.0, fall);
    body->star.angular = firn_d3_from(body->now.spin);
}

firn_result firn_bodies_predict(firn_bodies *bodies, firn_colliders *colliders, double dt,
                                firn_vec3 gravity, firn_error *error)
{
    FIRN_TRY(firn_bodies_touch(bodies, colliders, dt, error));
    firn_d3 kick = firn_d3_scale(dt, firn_d3_of(gravity));
    for (int i = 0; i < bodies->slot_count; i++) {
        firn_body *body = firn_body_slot(bodies, i);
        if (body->now.alive)
            begin(body, firn_collider_slot(colliders, body->collider), kick);
    }
    FIRN_TRY(firn_bodies_solve(bodies, colliders, dt, error));
    for (int i = 0; i < bodies->slot_count; i++) {
        firn_body *body = firn_body_slot(bodies, i);
        if (!body->now.alive || !body->free)
            continue;
        body->next = body->star;
        firn_body_arrive(body, colliders, dt);
    }
    return FIRN_OK;
}

static void follow_keys(firn_body *body, const firn_collider *collider, double time)
{
    if (!body->animated || !collider->active)
        return;
    firn_pose end = firn_pose_at(collider->keys.data, collider->key_count, time);
    firn_body_put_pose(body, &end);
    firn_twist twist = keyed_twist(body, collider);
    firn_d3_put(body->now.velocity, twist.linear);
    firn_d3_put(body->now.spin, twist.angular);
}

static void join_late(firn_body *body, const firn_impulse *late)
{
    firn_body_motion *then = &body->then;
    firn_d3 p = firn_d3_from(late->linear), l = firn_d3_from(late->angular);
    l = firn_d3_sub(l, firn_d3_cross(firn_d3_from(then->center), p));
    firn_d33 inverse = firn_body_inverse(body, then->rotation);
    firn_d3_put(then->velocity,
                firn_d3_madd(firn_d3_from(then->velocity), 1.0, firn_body_yield(body, p)));
    firn_d3_put(then->spin, firn_d3_madd(firn_d3_from(then->spin), 1.0, firn_d33_mul(inverse, l)));
}

static void arrive(firn_bodies *bodies, firn_body *body, firn_collider *collider, double dt,
                   const firn_impulse *late)
{
    if (body->asleep) {
        memset(body->now.velocity, 0, sizeof body->now.velocity);
        memset(body->now.spin, 0, sizeof body->now.spin);
    }
    if (!body->free)
        return;
    join_late(body, late);
    body->now = body->then;
    double speed = fastest_point(body, body->now.velocity, body->now.spin);
    collider->speed = 1.01f * (float)speed;
    body->now.rest = speed < bodies->sleep_speed ? fmin(body->calm + dt, bodies->sleep_time) : 0.0;
}

void firn_bodies_commit(firn_bodies *bodies, firn_colliders *colliders, double time, double dt,
                        const firn_impulse *late)
{
    firn_touches_commit(bodies);
    for (int i = 0; i < bodies->slot_count; i++) {
        firn_body *body = firn_body_slot(bodies, i);
        if (!body->now.alive)
            continue;
        firn_collider *collider = firn_collider_slot(colliders, body->collider);
        if (collider->driven)
            arrive(bodies, body, collider, dt, &late[i]);
        else
            follow_keys(body, collider, time);
    }
}

void firn_bodies_wake(firn_bodies *bodies)
{
    for (int i = 0; i < bodies->slot_count; i++)
        firn_body_slot(bodies, i)->now.rest = 0.0;
}
