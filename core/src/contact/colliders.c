#include "colliders.h"

#include "collider_state.h"

#include <string.h>

firn_result firn_colliders_find(const firn_colliders *colliders, firn_collider_id id,
                                firn_collider **found, firn_error *error)
{
    if (id.index1 == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the collider id is null");
    if (id.index1 <= (uint32_t)colliders->slot_count) {
        firn_collider *collider = firn_collider_slot(colliders, (int)id.index1 - 1);
        if (collider->alive && collider->generation == id.generation) {
            *found = collider;
            return FIRN_OK;
        }
    }
    return firn_fail(error, FIRN_ERR_STALE, "collider %u no longer exists", id.index1);
}

static void release_surfaces(firn_budget *budget, firn_surface surface[2])
{
    for (int i = 0; i < 2; i++) {
        firn_sdf_free(budget, &surface[i].sdf);
        firn_flow_free(budget, &surface[i].flow);
    }
}

static void release(firn_budget *budget, firn_collider *collider)
{
    firn_array_free(budget, &collider->keys);
    release_surfaces(budget, collider->surface);
}

// Beyond the narrow band the distance is not known: an offset that reaches there is everywhere.
static firn_result check_offset(float offset, float background, firn_error *error)
{
    if (offset >= background)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "collider.offset is %g m, but the level set knows distances only up to "
                         "%g m; widen its narrow band",
                         (double)offset, (double)background);
    return FIRN_OK;
}

static firn_result set_keys(firn_budget *budget, firn_array *array, const firn_pose_key *keys,
                            int count, firn_error *error)
{
    FIRN_TRY(firn_array_claim(budget, array, (size_t)count, sizeof(firn_motion_key), error));
    firn_motion_key *copy = array->data;
    for (int i = 0; i < count; i++)
        copy[i] = (firn_motion_key){keys[i].time, firn_pose_from(keys[i].pose)};
    return FIRN_OK;
}

static firn_result build_collider(firn_budget *budget, firn_collider *collider,
                                  const firn_level_set *set, firn_error *error)
{
    const firn_collider_def *def = &collider->def;
    if (def->shape == FIRN_SHAPE_LEVEL_SET) {
        FIRN_TRY(firn_sdf_build(budget, &collider->surface[0].sdf, set, error));
        FIRN_TRY(check_offset(def->offset, def->pose.scale * set->background, error));
    }
    firn_pose_key rest = {0.0, def->pose};
    collider->key_count = 1;
    return set_keys(budget, &collider->keys, &rest, 1, error);
}

static int free_slot(const firn_colliders *colliders)
{
    int index = 0;
    while (index < colliders->slot_count && firn_collider_slot(colliders, index)->alive)
        index++;
    return index;
}

firn_result firn_colliders_add(firn_colliders *colliders, const firn_collider_def *def,
                               firn_collider_id *id, firn_error *error)
{
    FIRN_TRY(firn_collider_def_check(def, error));
    int index = free_slot(colliders);
    firn_collider added = {.alive = true, .generation = 1, .def = *def};
    added.def.level_set = NULL;
    firn_result result = build_collider(colliders->budget, &added, def->level_set, error);
    if (result == FIRN_OK)
        result = firn_array_reserve(colliders->budget, &colliders->slots, (size_t)index + 1,
                                    sizeof(firn_collider), error);
    if (result != FIRN_OK) {
        release(colliders->budget, &added);
        return result;
    }
    if (index < colliders->slot_count)
        added.generation = firn_collider_slot(colliders, index)->generation + 1;
    else
        colliders->slot_count++;
    *firn_collider_slot(colliders, index) = added;
    if (id != NULL)
        *id = (firn_collider_id){(uint32_t)index + 1, added.generation};
    return FIRN_OK;
}

firn_result firn_colliders_remove(firn_colliders *colliders, firn_collider_id id, firn_error *error)
{
    firn_collider *collider = NULL;
    FIRN_TRY(firn_colliders_find(colliders, id, &collider, error));
    release(colliders->budget, collider);
    collider->alive = false;
    collider->active = false;
    return FIRN_OK;
}

void firn_colliders_free(firn_colliders *colliders)
{
    for (int i = 0; i < colliders->slot_count; i++)
        if (firn_collider_slot(colliders, i)->alive)
            release(colliders->budget, firn_collider_slot(colliders, i));
    firn_array_free(colliders->budget, &colliders->slots);
    colliders->slot_count = 0;
}

static firn_result check_pose_keys(const firn_collider *collider, const firn_pose_key *keys,
                                   int count, firn_error *error)
{
    if (keys == NULL || count < 1)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the motion of a collider needs at least a key");
    for (int i = 0; i < count; i++) {
        if (!isfinite(keys[i].time) || (i > 0 && !(keys[i].time > keys[i - 1].time)))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the times of a collider's keys must rise: key %d is at %g s", i,
                             keys[i].time);
        FIRN_TRY(firn_transform_check(&keys[i].pose, "a collider's key", error));
        if (collider->def.shape == FIRN_SHAPE_LEVEL_SET)
            FIRN_TRY(check_offset(collider->def.offset,
                                  keys[i].pose.scale * collider->surface[0].sdf.set.background,
                                  error));
    }
    return FIRN_OK;
}

// Whether other keys begin elsewhere than the present ones end, by more than rounding.
static bool jumps(const firn_colliders *colliders, const firn_collider *collider,
                  const firn_motion_key *keys, int count)
{
    if (!colliders->prepared || !collider->active)
        return false;
    firn_pose before = firn_pose_at(collider->keys.data, collider->key_count, colliders->time);
    firn_pose after = firn_pose_at(keys, count, colliders->time);
    const double *at = before.translation;
    double size = fabs(at[0]) + fabs(at[1]) + fabs(at[2]) +
                  (double)firn_collider_reach(collider) * before.scale;
    return firn_collider_gap(collider, &before, &after) > 1e-5 * (size + 0.1);
}

firn_result firn_colliders_move(firn_colliders *colliders, firn_collider_id id,
                                const firn_pose_key *keys, int count, firn_error *error)
{
    firn_collider *collider = NULL;
    FIRN_TRY(firn_colliders_find(colliders, id, &collider, error));
    if (collider->deforming)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "collider %u deforms: its surfaces are in world space and cannot be moved",
                         id.index1);
    FIRN_TRY(check_pose_keys(collider, keys, count, error));
    firn_array copy = {0};
    FIRN_TRY(set_keys(colliders->budget, &copy, keys, count, error));
    colliders->jumped |= jumps(colliders, collider, copy.data, count);
    firn_array_free(colliders->budget, &collider->keys);
    collider->keys = copy;
    collider->key_count = count;
    return FIRN_OK;
}

firn_result firn_colliders_change(firn_colliders *colliders, firn_collider_id id,
                                  const firn_collider_def *def, bool *changed, firn_error *error)
{
    firn_collider *collider = NULL;
    FIRN_TRY(firn_colliders_find(colliders, id, &collider, error));
    FIRN_TRY(firn_collider_def_check(def, error));
    firn_collider_def *own = &collider->def;
    *changed = own->contact != def->contact || own->friction != def->friction ||
               own->restitution != def->restitution || own->adhesion != def->adhesion ||
               own->sticking_speed != def->sticking_speed;
    own->contact = def->contact;
    own->friction = def->friction;
    own->restitution = def->restitution;
    own->adhesion = def->adhesion;
    own->sticking_speed = def->sticking_speed;
    own->temperature = def->temperature;
    own->heat_exchange = def->heat_exchange;
    return FIRN_OK;
}

static firn_result build_surface(firn_budget *budget, firn_surface *surface,
                                 const firn_surface_key *key, float offset, firn_error *error)
{
    FIRN_TRY(firn_sdf_build(budget, &surface->sdf, key->level_set, error));
    FIRN_TRY(check_offset(offset, key->level_set->background, error));
    return firn_flow_build(budget, &surface->flow, key->velocity, error);
}

static float fastest_flow(const firn_surface surface[2])
{
    return firn_larger(surface[0].flow.max_speed, surface[1].flow.max_speed);
}

static firn_result build_surfaces(firn_budget *budget, firn_surface surface[2],
                                  const firn_surface_key *from, const firn_surface_key *to,
                                  float offset, firn_error *error)
{
    FIRN_TRY(build_surface(budget, &surface[0], from, offset, error));
    FIRN_TRY(build_surface(budget, &surface[1], to, offset, error));
    float reach = fastest_flow(surface) * (float)(to->time - from->time);
    FIRN_TRY(firn_flow_continue(budget, &surface[0].flow, reach, error));
    return firn_flow_continue(budget, &surface[1].flow, reach, error);
}

firn_result firn_colliders_deform(firn_colliders *colliders, firn_collider_id id,
                                  const firn_surface_key *from, const firn_surface_key *to,
                                  firn_error *error)
{
    firn_collider *collider = NULL;
    FIRN_TRY(firn_colliders_find(colliders, id, &collider, error));
    if (collider->def.shape != FIRN_SHAPE_LEVEL_SET)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "only a level set deforms; collider %u is none",
                         id.index1);
    if (from == NULL || to == NULL || from->level_set == NULL || to->level_set == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a deforming collider needs two level sets");
    if (!isfinite(from->time) || !isfinite(to->time) || !(from->time < to->time))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the surfaces of a deforming collider must rise in time: %g s, %g s",
                         from->time, to->time);
    firn_surface surface[2];
    memset(surface, 0, sizeof surface);
    firn_result result =
        build_surfaces(colliders->budget, surface, from, to, collider->def.offset, error);
    if (result != FIRN_OK) {
        release_surfaces(colliders->budget, surface);
        return result;
    }
    release_surfaces(colliders->budget, collider->surface);
    memcpy(collider->surface, surface, sizeof surface);
    collider->deforming = true;
    collider->surface_time[0] = from->time;
    collider->surface_time[1] = to->time;
    collider->max_speed = fastest_flow(surface);
    return FIRN_OK;
}
