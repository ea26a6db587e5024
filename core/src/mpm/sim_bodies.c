/// Bodies of a simulation, as its owner sees them.
#include "firn/sim_bodies.h"

#include "sim_state.h"

#include <string.h>

firn_result firn_sim_add_body(firn_sim *sim, const firn_body_def *def, firn_body_id *id,
                              firn_error *error)
{
    FIRN_TRY(firn_bodies_add(&sim->bodies, &sim->colliders, def, sim->def.cell_size, id, error));
    firn_sleep_disturb(&sim->rest);
    firn_snapshot_void(sim);
    return FIRN_OK;
}

firn_result firn_sim_remove_body(firn_sim *sim, firn_body_id id, firn_error *error)
{
    FIRN_TRY(firn_bodies_remove(&sim->bodies, &sim->colliders, id, error));
    firn_sleep_disturb(&sim->rest);
    firn_snapshot_void(sim);
    return FIRN_OK;
}

static firn_collider_id collider_of(const firn_sim *sim, const firn_body *body)
{
    uint32_t generation = firn_collider_slot(&sim->colliders, body->collider)->generation;
    return (firn_collider_id){(uint32_t)body->collider + 1, generation};
}

firn_result firn_sim_move_body(firn_sim *sim, firn_body_id id, const firn_pose_key *keys, int count,
                               firn_error *error)
{
    firn_body *body = NULL;
    FIRN_TRY(firn_bodies_find(&sim->bodies, id, &body, error));
    for (int i = 0; keys != NULL && i < count; i++)
        if (!(fabs((double)keys[i].pose.scale - body->scale) <= 1e-4 * body->scale))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "body %u is %g times its shape, but key %d says %g: a body cannot "
                             "grow or shrink; take the scale out of its animation",
                             id.index1, body->scale, i, (double)keys[i].pose.scale);
    FIRN_TRY(firn_sim_move_collider(sim, collider_of(sim, body), keys, count, error));
    if (!body->animated && !firn_body_is_released(body, sim->time)) {
        firn_pose begin = firn_pose_from(keys[0].pose);
        firn_body_put_pose(body, &begin);
        firn_snapshot_void(sim);
    }
    body->animated = true;
    return FIRN_OK;
}

firn_result firn_sim_body(const firn_sim *sim, firn_body_id id, firn_body_state *state,
                          firn_error *error)
{
    firn_body *body = NULL;
    FIRN_TRY(firn_bodies_find(&sim->bodies, id, &body, error));
    const firn_body_motion *now = &body->now;
    firn_pose pose = firn_body_pose(body, now);
    memset(state, 0, sizeof *state);
    memcpy(state->translation, pose.translation, sizeof state->translation);
    memcpy(state->rotation, pose.rotation, sizeof state->rotation);
    state->scale = pose.scale;
    memcpy(state->center, now->center, sizeof state->center);
    memcpy(state->velocity, now->velocity, sizeof state->velocity);
    memcpy(state->angular_velocity, now->spin, sizeof state->angular_velocity);
    state->released = firn_body_is_released(body, sim->time);
    state->asleep = sim->bodies.sleep_speed > 0.0 && now->rest >= sim->bodies.sleep_time;
    return FIRN_OK;
}

firn_result firn_sim_body_overlaps(firn_sim *sim, firn_body_overlap *found, int room, int *count,
                                   firn_error *error)
{
    if (room < 0 || (room > 0 && found == NULL))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "there is no room for %d overlaps", room);
    firn_bodies_overlap *list = firn_alloc_zero(((size_t)room + 1) * sizeof *list);
    if (list == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot look for overlaps");
    firn_coupling_begin(sim);
    firn_colliders_prepare(&sim->colliders, sim->time, 1e-6f);
    firn_bodies_overlaps(&sim->bodies, &sim->colliders, list, room, count);
    for (int i = 0; i < room && i < *count; i++) {
        const firn_body *body = firn_body_slot(&sim->bodies, list[i].body);
        found[i] = (firn_body_overlap){.body = {(uint32_t)list[i].body + 1, body->now.generation},
                                       .depth = list[i].depth};
        if (list[i].other >= 0)
            found[i].other =
                (firn_body_id){(uint32_t)list[i].other + 1,
                               firn_body_slot(&sim->bodies, list[i].other)->now.generation};
        else
            found[i].collider = (firn_collider_id){
                (uint32_t)list[i].collider + 1,
                firn_collider_slot(&sim->colliders, list[i].collider)->generation};
    }
    firn_free(list);
    return FIRN_OK;
}

firn_result firn_sim_body_mass(const firn_sim *sim, firn_body_id id, firn_body_mass *mass,
                               firn_error *error)
{
    firn_body *body = NULL;
    FIRN_TRY(firn_bodies_find(&sim->bodies, id, &body, error));
    *mass = body->mass;
    return FIRN_OK;
}

firn_result firn_sim_body_force(const firn_sim *sim, firn_body_id id, firn_collider_force *force,
                                firn_error *error)
{
    firn_body *body = NULL;
    FIRN_TRY(firn_bodies_find(&sim->bodies, id, &body, error));
    return firn_sim_collider_force(sim, collider_of(sim, body), force, error);
}

firn_result firn_sim_add_joint(firn_sim *sim, const firn_joint_def *def, firn_joint_id *id,
                               firn_error *error)
{
    FIRN_TRY(firn_bodies_add_joint(&sim->bodies, def, id, error));
    firn_bodies_wake(&sim->bodies);
    return FIRN_OK;
}

firn_result firn_sim_remove_joint(firn_sim *sim, firn_joint_id id, firn_error *error)
{
    FIRN_TRY(firn_bodies_remove_joint(&sim->bodies, id, error));
    firn_bodies_wake(&sim->bodies);
    return FIRN_OK;
}
