/// Colliders in a substep: where they are, how far they go, and which of them are near.
#include "collider_state.h"

static double rigid_speed(const firn_collider *collider, double from, double to)
{
    const firn_motion_key *keys = collider->keys.data;
    double fastest = 0.0;
    for (int i = 0; i + 1 < collider->key_count; i++)
        if (keys[i].time < to && keys[i + 1].time > from)
            fastest = fmax(fastest, firn_collider_gap(collider, &keys[i].pose, &keys[i + 1].pose) /
                                        (keys[i + 1].time - keys[i].time));
    return fastest;
}

float firn_colliders_max_speed(const firn_colliders *colliders, double from, double to)
{
    double fastest = 0.0;
    for (int i = 0; i < colliders->slot_count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, i);
        double first = fmax(from, collider->def.active_from);
        double last = fmin(to, collider->def.active_to);
        if (!collider->alive || first > last)
            continue;
        if (collider->driven)
            fastest = fmax(fastest, (double)collider->speed);
        else if (!collider->deforming)
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
    firn_transform map = firn_collider_map(collider);
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

// It stands where its body is; whoever moves that says how.
static void prepare_driven(firn_collider *collider)
{
    firn_transform map = firn_collider_map(collider);
    collider->start = collider->end = firn_pose_frame(&collider->driver, &map);
    collider->velocity = collider->spin = firn_vec(0.0f, 0.0f, 0.0f);
    collider->growth = collider->travel = collider->drift = collider->twirl = 0.0f;
    collider->still = true;
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
    colliders->prepared = true;
    colliders->sticks = false;
    for (int i = 0; i < colliders->slot_count; i++) {
        firn_collider *collider = firn_collider_slot(colliders, i);
        const firn_collider_def *def = &collider->def;
        collider->active = collider->alive && colliders->time >= def->active_from &&
                           colliders->time <= def->active_to;
        if (!collider->active)
            continue;
        collider->dt = dt;
        colliders->sticks |= def->adhesion > 0.0f;
        if (collider->driven)
            prepare_driven(collider);
        else if (collider->deforming)
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
    float travel = collider->dt * firn_length(collider->velocity) + collider->drift;
    float turn = collider->dt * firn_length(collider->spin) + collider->twirl;
    float shrink = collider->end.scale / firn_smaller(collider->start.scale, collider->end.scale);
    float growth = collider->dt * fabsf(collider->growth) * shrink;
    float arm = firn_length(firn_sub(center, collider->pivot)) + travel + radius +
                firn_larger(collider->def.offset, 0.0f);
    return travel + (turn + growth) * arm;
}

// Points of a plane that turns go any travel.
static float rigid_travel(const firn_collider *collider)
{
    const firn_collider_def *def = &collider->def;
    if (collider->driven)
        return collider->travel;
    float turn = collider->dt * firn_length(collider->spin);
    float growth = collider->dt * fabsf(collider->growth);
    if (def->shape == FIRN_SHAPE_PLANE && turn > 0.0f)
        return INFINITY;
    float voxel =
        def->shape == FIRN_SHAPE_LEVEL_SET ? collider->surface[0].sdf.set.map.scale : 1.0f;
    float arm = collider->end.scale / voxel * firn_collider_reach(collider) + fabsf(def->offset);
    return 1.01f * (collider->dt * firn_length(collider->velocity) + (turn + growth) * arm);
}

// How much the distance at a place changes: one surface fades into the other, within their bands,
// while both are carried along, and the velocity that carries them fades as well.
static float deforming_travel(const firn_collider *collider)
{
    const firn_surface *surface = collider->surface;
    float band = firn_larger(surface[0].sdf.set.background, surface[1].sdf.set.background);
    float share = collider->gamma[1] - collider->gamma[0];
    return 2.0f * share * band + 3.0f * collider->carry * collider->dt * collider->max_speed;
}

float firn_colliders_travel(const firn_colliders *colliders)
{
    float farthest = 0.0f;
    for (int i = 0; i < colliders->slot_count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, i);
        if (!collider->active || collider->still)
            continue;
        float travel = collider->deforming ? deforming_travel(collider) : rigid_travel(collider);
        farthest = firn_larger(farthest, travel);
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
    float travel =
        collider->max_speed * (float)(collider->surface_time[1] - collider->surface_time[0]);
    float carried[2] = {collider->gamma[1] * travel, (1.0f - collider->gamma[0]) * travel};
    for (int i = 0; i < 2; i++) {
        const firn_sdf *sdf = &collider->surface[i].sdf;
        firn_vec3 local = firn_transform_point_inverse(sdf->set.map, center);
        float reach = radius + carried[i] + rounding(center, radius);
        if (box_may_reach(sdf, local, reach / sdf->set.map.scale, collider->def.offset))
            return true;
    }
    return false;
}

static bool is_near(const firn_collider *collider, firn_vec3 center, float radius)
{
    return collider->active && (collider->deforming ? is_deforming_near(collider, center, radius)
                                                    : is_rigid_near(collider, center, radius));
}

void firn_colliders_near(const firn_colliders *colliders, const firn_near *among, firn_vec3 center,
                         float radius, firn_near *near)
{
    int asked = among != NULL ? among->count : colliders->slot_count;
    near->count = 0;
    near->still = true;
    for (int i = 0; i < asked; i++) {
        int index = among != NULL ? among->index[i] : i;
        const firn_collider *collider = firn_collider_slot(colliders, index);
        if (!is_near(collider, center, radius))
            continue;
        if (near->index != NULL)
            near->index[near->count] = index;
        near->count++;
        near->still = near->still && collider->still;
    }
}

bool firn_colliders_are_still(const firn_colliders *colliders, const firn_near *near)
{
    bool still = true;
    for (int i = 0; i < near->count; i++)
        still = still && firn_collider_slot(colliders, near->index[i])->still;
    return still;
}

bool firn_colliders_move_near(const firn_colliders *colliders, firn_vec3 center, float radius)
{
    for (int i = 0; i < colliders->slot_count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, i);
        if (!collider->still && is_near(collider, center, radius))
            return true;
    }
    return false;
}

bool firn_collider_comes_near(const firn_colliders *colliders, int slot, firn_vec3 center,
                              float radius)
{
    const firn_collider *collider = firn_collider_slot(colliders, slot);
    return !collider->still && is_near(collider, center, radius);
}

bool firn_colliders_bodies_near(const firn_colliders *colliders, firn_vec3 center, float radius)
{
    for (int i = 0; i < colliders->slot_count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, i);
        if (collider->alive && collider->driven && is_near(collider, center, radius))
            return true;
    }
    return false;
}

uint64_t firn_colliders_acting(const firn_colliders *colliders, bool *moving)
{
    uint64_t acting = 0;
    *moving = false;
    for (int i = 0; i < colliders->slot_count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, i);
        if (!collider->alive || !collider->active)
            continue;
        acting ^= i < 64 ? (uint64_t)1 << i : firn_hash64(&i, sizeof i, 64);
        *moving |= !collider->still;
    }
    return acting;
}

int firn_colliders_active_count(const firn_colliders *colliders)
{
    int count = 0;
    for (int i = 0; i < colliders->slot_count; i++)
        count += firn_collider_slot(colliders, i)->active;
    return count;
}

void firn_colliders_active(const firn_colliders *colliders, int *index)
{
    for (int i = 0; i < colliders->slot_count; i++)
        if (firn_collider_slot(colliders, i)->active)
            *index++ = i;
}

firn_vec3 firn_collider_pivot(const firn_colliders *colliders, int index)
{
    const firn_collider *collider = firn_collider_slot(colliders, index);
    return collider->deforming ? firn_vec(0.0f, 0.0f, 0.0f) : collider->pivot;
}

bool firn_colliders_wall(const firn_colliders *colliders, const firn_near *near, firn_vec3 position,
                         float reach, firn_vec3 *normal, firn_vec3 *velocity)
{
    const firn_collider *nearest = NULL;
    for (int i = 0; i < near->count; i++) {
        const firn_collider *collider = firn_collider_slot(colliders, near->index[i]);
        firn_distance d = firn_collider_distance(collider, position);
        if (!(d.value < reach))
            continue;
        reach = d.value;
        *normal = firn_normalize(d.gradient);
        nearest = collider;
    }
    if (nearest != NULL)
        *velocity = firn_collider_velocity(nearest, position);
    return nearest != NULL;
}

firn_vec3 firn_collider_normal(const firn_colliders *colliders, int index, firn_vec3 position)
{
    return firn_normalize(
        firn_collider_distance(firn_collider_slot(colliders, index), position).gradient);
}
