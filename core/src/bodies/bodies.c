#include "bodies.h"

#include "firn/defs.h"

firn_result firn_bodies_find(const firn_bodies *bodies, firn_body_id id, firn_body **found,
                             firn_error *error)
{
    if (id.index1 == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the body id is null");
    if (id.index1 <= (uint32_t)bodies->slot_count) {
        firn_body *body = firn_body_slot(bodies, (int)id.index1 - 1);
        if (body->now.alive && body->now.generation == id.generation) {
            *found = body;
            return FIRN_OK;
        }
    }
    return firn_fail(error, FIRN_ERR_STALE, "body %u no longer exists", id.index1);
}

static firn_result check_def(const firn_body_def *def, firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_body_params(), def, "body", error));
    FIRN_TRY(firn_collider_def_check(&def->shape, error));
    if (def->shape.shape == FIRN_SHAPE_PLANE)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "body.shape is a plane, which has no mass; use a collider for it");
    const float i[3] = {def->inertia.x, def->inertia.y, def->inertia.z};
    bool none = i[0] == 0.0f && i[1] == 0.0f && i[2] == 0.0f;
    bool right = i[0] <= i[1] + i[2] && i[1] <= i[2] + i[0] && i[2] <= i[0] + i[1] && i[0] > 0.0f &&
                 i[1] > 0.0f && i[2] > 0.0f;
    if (!none && !right)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "body.inertia is %g %g %g kg m^2, which no body has: each must be above 0 "
                         "and at most the sum of the two others; 0 0 0 takes those of the shape",
                         (double)i[0], (double)i[1], (double)i[2]);
    return FIRN_OK;
}

static void release(firn_budget *budget, firn_body *body)
{
    firn_array_free(budget, &body->points);
}

static firn_result build(firn_bodies *bodies, const firn_collider *collider, float h,
                         firn_body *body, firn_error *error)
{
    const firn_sdf *sdf = &collider->surface[0].sdf;
    FIRN_TRY(firn_body_weigh(&body->def, sdf, &body->mass, error));
    FIRN_TRY(firn_body_find_points(bodies->budget, body, sdf, h, error));
    firn_pose pose = firn_pose_from(body->def.shape.pose);
    body->scale = pose.scale;
    firn_body_put_pose(body, &pose);
    firn_d3_put(body->now.velocity, firn_d3_of(body->def.velocity));
    firn_d3_put(body->now.spin, firn_d3_of(body->def.angular_velocity));
    return FIRN_OK;
}

static int free_slot(const firn_bodies *bodies)
{
    int index = 0;
    while (index < bodies->slot_count && firn_body_slot(bodies, index)->now.alive)
        index++;
    return index;
}

static firn_result add_to_collider(firn_bodies *bodies, firn_colliders *colliders,
                                   firn_collider_id id, const firn_body_def *def, float h,
                                   firn_body_id *out, firn_error *error)
{
    int index = free_slot(bodies), slot = (int)id.index1 - 1;
    firn_body body = {.def = *def, .collider = slot};
    body.def.shape.level_set = NULL;
    firn_result result = build(bodies, firn_collider_slot(colliders, slot), h, &body, error);
    if (result == FIRN_OK)
        result = firn_array_reserve(bodies->budget, &bodies->slots, (size_t)index + 1,
                                    sizeof(firn_body), error);
    if (result != FIRN_OK) {
        release(bodies->budget, &body);
        return result;
    }
    uint32_t before =
        index < bodies->slot_count ? firn_body_slot(bodies, index)->now.generation : 0;
    body.now.alive = 1;
    body.now.generation = before + 1;
    if (index == bodies->slot_count)
        bodies->slot_count++;
    bodies->live_count++;
    *firn_body_slot(bodies, index) = body;
    firn_collider_slot(colliders, slot)->body1 = index + 1;
    if (out != NULL)
        *out = (firn_body_id){(uint32_t)index + 1, body.now.generation};
    return FIRN_OK;
}

firn_result firn_bodies_add(firn_bodies *bodies, firn_colliders *colliders,
                            const firn_body_def *def, float h, firn_body_id *id, firn_error *error)
{
    FIRN_TRY(check_def(def, error));
    firn_collider_id collider;
    FIRN_TRY(firn_colliders_add(colliders, &def->shape, &collider, error));
    firn_result result = add_to_collider(bodies, colliders, collider, def, h, id, error);
    if (result != FIRN_OK)
        firn_colliders_remove(colliders, collider, NULL);
    return result;
}

static bool is_joined(const firn_bodies *bodies, int index)
{
    const firn_joint *joints = bodies->joints.data;
    for (int i = 0; i < bodies->joint_count; i++)
        if (joints[i].alive && (joints[i].body[0] == index || joints[i].body[1] == index))
            return true;
    return false;
}

firn_result firn_bodies_remove(firn_bodies *bodies, firn_colliders *colliders, firn_body_id id,
                               firn_error *error)
{
    firn_body *body = NULL;
    FIRN_TRY(firn_bodies_find(bodies, id, &body, error));
    if (is_joined(bodies, (int)id.index1 - 1))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "body %u is joined to others; remove its joints first", id.index1);
    firn_collider *collider = firn_collider_slot(colliders, body->collider);
    collider->body1 = 0;
    firn_collider_id its = {(uint32_t)body->collider + 1, collider->generation};
    FIRN_TRY(firn_colliders_remove(colliders, its, error));
    release(bodies->budget, body);
    body->now.alive = 0;
    bodies->live_count--;
    return FIRN_OK;
}

static firn_d3 from_world(const firn_body *body, firn_d3 world)
{
    firn_d33 back = firn_d33_transpose(firn_d33_rotation(body->now.rotation));
    return firn_d33_mul(back, firn_d3_sub(world, firn_d3_from(body->now.center)));
}

static firn_d3 turn_back(const firn_body *body, firn_d3 world)
{
    return firn_d33_mul(firn_d33_transpose(firn_d33_rotation(body->now.rotation)), world);
}

// Anchors and axes as each of the two sees them; the world sees them as they are.
static void attach(const firn_bodies *bodies, firn_joint *joint)
{
    firn_d3 anchor = firn_d3_of(joint->def.anchor), axis = firn_d3_of(joint->def.axis);
    axis = firn_d3_scale(1.0 / firn_d3_length(axis), axis);
    firn_d3 other = {{fabs(axis.x[0]) < 0.5 ? 1.0 : 0.0, fabs(axis.x[0]) < 0.5 ? 0.0 : 1.0, 0.0}};
    firn_d3 side = firn_d3_cross(axis, other);
    side = firn_d3_scale(1.0 / firn_d3_length(side), side);
    for (int i = 0; i < 2; i++) {
        const firn_body *body = joint->body[i] < 0 ? NULL : firn_body_slot(bodies, joint->body[i]);
        joint->anchor[i] = body != NULL ? from_world(body, anchor) : anchor;
        joint->axis[i] = body != NULL ? turn_back(body, axis) : axis;
        joint->side[i] = body != NULL ? turn_back(body, side) : side;
    }
}

firn_result firn_bodies_add_joint(firn_bodies *bodies, const firn_joint_def *def, firn_joint_id *id,
                                  firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_joint_params(), def, "joint", error));
    if (!(firn_length(def->axis) > 0.0f))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "joint.axis is zero; give it a direction");
    firn_body *body = NULL;
    if (def->first.index1 != 0)
        FIRN_TRY(firn_bodies_find(bodies, def->first, &body, error));
    FIRN_TRY(firn_bodies_find(bodies, def->second, &body, error));
    if (def->limited && def->lower > def->upper)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "joint.lower is %g rad, above joint.upper, %g rad", (double)def->lower,
                         (double)def->upper);
    if (def->first.index1 == def->second.index1)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a joint needs two different bodies");
    firn_joint *joints = bodies->joints.data;
    int index = 0;
    while (index < bodies->joint_count && joints[index].alive)
        index++;
    FIRN_TRY(firn_array_reserve(bodies->budget, &bodies->joints, (size_t)index + 1,
                                sizeof(firn_joint), error));
    joints = bodies->joints.data;
    uint32_t before = index < bodies->joint_count ? joints[index].generation : 0;
    firn_joint joint = {.def = *def,
                        .alive = true,
                        .generation = before + 1,
                        .body = {(int)def->first.index1 - 1, (int)def->second.index1 - 1}};
    attach(bodies, &joint);
    joints[index] = joint;
    bodies->joint_count += index == bodies->joint_count;
    if (id != NULL)
        *id = (firn_joint_id){(uint32_t)index + 1, joint.generation};
    return FIRN_OK;
}

firn_result firn_bodies_remove_joint(firn_bodies *bodies, firn_joint_id id, firn_error *error)
{
    firn_joint *joints = bodies->joints.data;
    if (id.index1 == 0 || id.index1 > (uint32_t)bodies->joint_count ||
        !joints[id.index1 - 1].alive || joints[id.index1 - 1].generation != id.generation)
        return firn_fail(error, FIRN_ERR_STALE, "joint %u does not exist", id.index1);
    joints[id.index1 - 1].alive = false;
    return FIRN_OK;
}

void firn_bodies_free(firn_bodies *bodies)
{
    for (int i = 0; i < bodies->slot_count; i++)
        if (firn_body_slot(bodies, i)->now.alive)
            release(bodies->budget, firn_body_slot(bodies, i));
    firn_array *arrays[] = {&bodies->slots,    &bodies->joints,  &bodies->pairs,
                            &bodies->contacts, &bodies->rows,    &bodies->near,
                            &bodies->island,   &bodies->touches, &bodies->fresh};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(bodies->budget, arrays[i]);
    bodies->slot_count = bodies->live_count = bodies->joint_count = 0;
}
