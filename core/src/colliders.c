#include "colliders.h"

#include "collider_state.h"

#include <string.h>

// A turning plane has no fastest point; its points this far from the pivot are counted (m). It
// cannot be jumped over, however fast it is.
static const float PLANE_REACH = 10.0f;

static firn_collider *slot_at(const firn_colliders *colliders, int index)
{
    return (firn_collider *)colliders->slots.data + index;
}

static firn_result find_collider(const firn_colliders *colliders, firn_collider_id id,
                                 firn_collider **found, firn_error *error)
{
    if (id.index1 == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the collider id is null");
    if (id.index1 <= (uint32_t)colliders->slot_count) {
        firn_collider *collider = slot_at(colliders, (int)id.index1 - 1);
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
    while (index < colliders->slot_count && slot_at(colliders, index)->alive)
        index++;
    return index;
}

firn_result firn_colliders_add(firn_colliders *colliders, const firn_collider_def *def,
                               firn_collider_id *id, firn_error *error)
{
    FIRN_TRY(firn_collider_def_check(def, error));
    int index = free_slot(colliders);
    if (index >= FIRN_NEAR_LIMIT)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "there are %d colliders already, the most a simulation can have; join "
                         "several into one level set",
                         FIRN_NEAR_LIMIT);
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
        added.generation = slot_at(colliders, index)->generation + 1;
    else
        colliders->slot_count++;
    *slot_at(colliders, index) = added;
    if (id != NULL)
        *id = (firn_collider_id){(uint32_t)index + 1, added.generation};
    return FIRN_OK;
}

firn_result firn_colliders_remove(firn_colliders *colliders, firn_collider_id id, firn_error *error)
{
    firn_collider *collider = NULL;
    FIRN_TRY(find_collider(colliders, id, &collider, error));
    release(colliders->budget, collider);
    collider->alive = false;
    collider->active = false;
    return FIRN_OK;
}

void firn_colliders_free(firn_colliders *colliders)
{
    for (int i = 0; i < colliders->slot_count; i++)
        if (slot_at(colliders, i)->alive)
            release(colliders->budget, slot_at(colliders, i));
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

firn_result firn_colliders_move(firn_colliders *colliders, firn_collider_id id,
                                const firn_pose_key *keys, int count, firn_error *error)
{
    firn_collider *collider = NULL;
    FIRN_TRY(find_collider(colliders, id, &collider, error));
    if (collider->deforming)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "collider %u deforms: its surfaces are in world space and cannot be moved",
                         id.index1);
    FIRN_TRY(check_pose_keys(collider, keys, count, error));
    firn_array copy = {0};
    FIRN_TRY(set_keys(colliders->budget, &copy, keys, count, error));
    firn_array_free(colliders->budget, &collider->keys);
    collider->keys = copy;
    collider->key_count = count;
    return FIRN_OK;
}

firn_result firn_colliders_change(firn_colliders *colliders, firn_collider_id id,
                                  const firn_collider_def *def, bool *changed, firn_error *error)
{
    firn_collider *collider = NULL;
    FIRN_TRY(find_collider(colliders, id, &collider, error));
    FIRN_TRY(firn_collider_def_check(def, error));
    firn_collider_def *own = &collider->def;
    *changed = own->contact != def->contact || own->friction != def->friction ||
               own->restitution != def->restitution;
    own->contact = def->contact;
    own->friction = def->friction;
    own->restitution = def->restitution;
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
    FIRN_TRY(find_collider(colliders, id, &collider, error));
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

static float rigid_reach(const firn_collider *collider)
{
    switch (collider->def.shape) {
    case FIRN_SHAPE_PLANE:
        return PLANE_REACH;
    case FIRN_SHAPE_LEVEL_SET:
        return firn_sdf_reach(&collider->surface[0].sdf);
    default:
        return firn_shape_reach(&collider->def);
    }
}

static double length3(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

// Speed of the farthest point on the way from one key to the next.
static double segment_speed(const firn_collider *collider, const firn_motion_key *key, double reach)
{
    const firn_pose *a = &key[0].pose, *b = &key[1].pose;
    double way[3], turn[3];
    for (int i = 0; i < 3; i++)
        way[i] = b->translation[i] - a->translation[i];
    firn_pose_turn(a, b, turn);
    double scale = collider->def.shape == FIRN_SHAPE_PLANE ? 1.0 : fmax(a->scale, b->scale);
    double growth = collider->def.shape == FIRN_SHAPE_PLANE ? 0.0 : fabs(b->scale - a->scale);
    double arm = scale * reach + fmax(0.0, (double)collider->def.offset);
    double distance = length3(way) + length3(turn) * arm + growth * reach;
    return distance / (key[1].time - key[0].time);
}

static double rigid_speed(const firn_collider *collider, double from, double to)
{
    const firn_motion_key *keys = collider->keys.data;
    double reach = (double)rigid_reach(collider), fastest = 0.0;
    for (int i = 0; i + 1 < collider->key_count; i++)
        if (keys[i].time < to && keys[i + 1].time > from)
            fastest = fmax(fastest, segment_speed(collider, &keys[i], reach));
    return fastest;
}

float firn_colliders_max_speed(const firn_colliders *colliders, double from, double to)
{
    double fastest = 0.0;
    for (int i = 0; i < colliders->slot_count; i++) {
        const firn_collider *collider = slot_at(colliders, i);
        double first = fmax(from, collider->def.active_from);
        double last = fmin(to, collider->def.active_to);
        if (!collider->alive || first > last)
            continue;
        if (!collider->deforming)
            fastest = fmax(fastest, rigid_speed(collider, first, last));
        else if (collider->surface_time[0] < last && collider->surface_time[1] > first)
            fastest = fmax(fastest, (double)collider->max_speed);
    }
    return (float)(1.000001 * fastest);
}

static void prepare_rigid(firn_collider *collider, double time, double dt)
{
    const firn_motion_key *keys = collider->keys.data;
    firn_pose start = firn_pose_at(keys, collider->key_count, time);
    firn_pose end = firn_pose_at(keys, collider->key_count, time + dt);
    firn_transform map = collider->def.shape == FIRN_SHAPE_LEVEL_SET
                             ? collider->surface[0].sdf.set.map
                             : firn_transform_identity();
    collider->start = firn_pose_frame(&start, &map);
    collider->end = firn_pose_frame(&end, &map);
    // Mean rates of the substep: within a segment they are the exact ones, and a key inside the
    // substep leaves no jump behind.
    double rate = dt > 0.0 ? 1.0 / dt : 0.0, turn[3];
    firn_pose_turn(&start, &end, turn);
    collider->pivot =
        firn_vec((float)end.translation[0], (float)end.translation[1], (float)end.translation[2]);
    collider->velocity = firn_vec((float)(rate * (end.translation[0] - start.translation[0])),
                                  (float)(rate * (end.translation[1] - start.translation[1])),
                                  (float)(rate * (end.translation[2] - start.translation[2])));
    collider->spin =
        firn_vec((float)(rate * turn[0]), (float)(rate * turn[1]), (float)(rate * turn[2]));
    collider->growth = (float)(rate * (end.scale - start.scale) / end.scale);
    collider->still = firn_dot(collider->velocity, collider->velocity) == 0.0f &&
                      firn_dot(collider->spin, collider->spin) == 0.0f && collider->growth == 0.0f;
}

static double clamp01(double x) { return fmin(fmax(x, 0.0), 1.0); }

static void prepare_deforming(firn_collider *collider, double time, double dt)
{
    double first = collider->surface_time[0], span = collider->surface_time[1] - first;
    double start = clamp01((time - first) / span), end = clamp01((time + dt - first) / span);
    collider->gamma[0] = (float)start;
    collider->gamma[1] = (float)end;
    collider->carry = dt > 0.0 ? (float)clamp01((end - start) * span / dt) : 0.0f;
    collider->still = end == start;
}

void firn_colliders_prepare(firn_colliders *colliders, double time, float dt)
{
    colliders->time = time + (double)dt;
    for (int i = 0; i < colliders->slot_count; i++) {
        firn_collider *collider = slot_at(colliders, i);
        const firn_collider_def *def = &collider->def;
        collider->active = collider->alive && colliders->time >= def->active_from &&
                           colliders->time <= def->active_to;
        if (!collider->active)
            continue;
        collider->dt = dt;
        if (collider->deforming)
            prepare_deforming(collider, time, (double)dt);
        else
            prepare_rigid(collider, time, (double)dt);
    }
}

// Distances are floats: what is this close counts as near.
static float rounding(firn_vec3 center, float radius)
{
    return 1e-5f * (fabsf(center.x) + fabsf(center.y) + fabsf(center.z) + radius);
}

// How far the surface may have been from where it is at the end of the substep, as seen from a
// region: a frame that turns or grows moves the far away more.
static float rigid_slack(const firn_collider *collider, firn_vec3 center, float radius)
{
    float way = collider->dt * firn_length(collider->velocity);
    float turn = collider->dt * firn_length(collider->spin);
    float shrink = collider->end.scale / firn_smaller(collider->start.scale, collider->end.scale);
    float growth = collider->dt * fabsf(collider->growth) * shrink;
    float arm = firn_length(firn_sub(center, collider->pivot)) + way + radius +
                firn_larger(collider->def.offset, 0.0f);
    return way + (turn + growth) * arm;
}

// Points of a plane that turns go any way.
static float rigid_way(const firn_collider *collider)
{
    const firn_collider_def *def = &collider->def;
    float turn = collider->dt * firn_length(collider->spin);
    float growth = collider->dt * fabsf(collider->growth);
    if (def->shape == FIRN_SHAPE_PLANE && turn > 0.0f)
        return INFINITY;
    float voxel =
        def->shape == FIRN_SHAPE_LEVEL_SET ? collider->surface[0].sdf.set.map.scale : 1.0f;
    float arm = collider->end.scale / voxel * rigid_reach(collider) + fabsf(def->offset);
    return 1.01f * (collider->dt * firn_length(collider->velocity) + (turn + growth) * arm);
}

// How much the distance at a place changes: one surface fades into the other, within their bands,
// while both are carried along, and the velocity that carries them fades as well.
static float deforming_way(const firn_collider *collider)
{
    const firn_surface *surface = collider->surface;
    float band = firn_larger(surface[0].sdf.set.background, surface[1].sdf.set.background);
    float share = collider->gamma[1] - collider->gamma[0];
    return 2.0f * share * band + 3.0f * collider->carry * collider->dt * collider->max_speed;
}

float firn_colliders_way(const firn_colliders *colliders)
{
    float farthest = 0.0f;
    for (int i = 0; i < colliders->slot_count; i++) {
        const firn_collider *collider = slot_at(colliders, i);
        if (!collider->active || collider->still)
            continue;
        float way = collider->deforming ? deforming_way(collider) : rigid_way(collider);
        farthest = firn_larger(farthest, way);
    }
    return farthest;
}

static bool box_may_reach(const firn_sdf *sdf, firn_vec3 point, float radius, float limit)
{
    float r = radius * 1.0001f + 0.001f;
    firn_vec3 lower = {point.x - r, point.y - r, point.z - r};
    firn_vec3 upper = {point.x + r, point.y + r, point.z + r};
    return firn_sdf_may_reach(sdf, lower, upper, limit + 1e-4f * sdf->set.map.scale);
}

static bool is_rigid_near(const firn_collider *collider, firn_vec3 center, float radius)
{
    float reach = radius + rigid_slack(collider, center, radius) + rounding(center, radius);
    firn_vec3 local = firn_frame_to_local(&collider->end, center);
    if (collider->def.shape != FIRN_SHAPE_LEVEL_SET)
        return firn_rigid_distance(collider, local, 1.0f).value <= reach;
    const firn_sdf *sdf = &collider->surface[0].sdf;
    float voxel = sdf->set.map.scale;
    float least = firn_smaller(collider->start.scale, collider->end.scale);
    float most = firn_larger(collider->start.scale, collider->end.scale);
    // The offset in the level set's own meters, where it reaches farthest during the substep.
    float offset = collider->def.offset;
    float limit = offset * voxel / (offset > 0.0f ? least : most);
    return box_may_reach(sdf, local, reach / collider->end.scale, limit);
}

static bool is_deforming_near(const firn_collider *collider, firn_vec3 center, float radius)
{
    float way =
        collider->max_speed * (float)(collider->surface_time[1] - collider->surface_time[0]);
    float carried[2] = {collider->gamma[1] * way, (1.0f - collider->gamma[0]) * way};
    for (int i = 0; i < 2; i++) {
        const firn_sdf *sdf = &collider->surface[i].sdf;
        firn_vec3 local = firn_transform_point_inverse(sdf->set.map, center);
        float reach = radius + carried[i] + rounding(center, radius);
        if (box_may_reach(sdf, local, reach / sdf->set.map.scale, collider->def.offset))
            return true;
    }
    return false;
}

void firn_colliders_near(const firn_colliders *colliders, firn_vec3 center, float radius,
                         firn_near *near)
{
    near->count = 0;
    near->still = true;
    for (int i = 0; i < colliders->slot_count; i++) {
        const firn_collider *collider = slot_at(colliders, i);
        if (!collider->active || !(collider->deforming ? is_deforming_near(collider, center, radius)
                                                       : is_rigid_near(collider, center, radius)))
            continue;
        near->index[near->count++] = i;
        near->still = near->still && collider->still;
    }
}

bool firn_colliders_move_near(const firn_colliders *colliders, firn_vec3 center, float radius)
{
    firn_near near;
    firn_colliders_near(colliders, center, radius, &near);
    return !near.still;
}

uint64_t firn_colliders_acting(const firn_colliders *colliders, bool *moving)
{
    const firn_collider *slots = colliders->slots.data;
    uint64_t acting = 0;
    *moving = false;
    for (int i = 0; i < colliders->slot_count; i++) {
        if (!slots[i].alive || !slots[i].active)
            continue;
        acting ^= (uint64_t)1 << (i % 64);
        *moving |= !slots[i].still;
    }
    return acting;
}
