/// Animation of colliders: poses between keys, frames, deforming surfaces.
#include "collider_state.h"

static void normalize4(double q[4])
{
    double factor = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        q[i] *= factor;
}

static void multiply(const double a[4], const double b[4], double product[4])
{
    product[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    product[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    product[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    product[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

firn_pose firn_pose_from(firn_transform t)
{
    firn_pose pose = {{t.translation.x, t.translation.y, t.translation.z},
                      {t.rotation.x, t.rotation.y, t.rotation.z, t.rotation.w},
                      t.scale};
    normalize4(pose.rotation);
    return pose;
}

void firn_pose_turn(const firn_pose *from, const firn_pose *to, double turn[3])
{
    const double *r = from->rotation;
    double back[4] = {-r[0], -r[1], -r[2], r[3]}, q[4];
    multiply(to->rotation, back, q);
    double sign = q[3] < 0.0 ? -1.0 : 1.0; // q and -q are the same rotation
    double sine = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
    double angle = 2.0 * atan2(sine, fabs(q[3]));
    double factor = sine > 1e-30 ? sign * angle / sine : 2.0 * sign;
    for (int i = 0; i < 3; i++)
        turn[i] = factor * q[i];
}

void firn_pose_turned(const double rotation[4], const double turn[3], double share,
                      double result[4])
{
    double angle = sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
    double half = 0.5 * share * angle;
    double factor = angle > 1e-30 ? sin(half) / angle : 0.5 * share;
    double q[4] = {factor * turn[0], factor * turn[1], factor * turn[2], cos(half)};
    multiply(q, rotation, result);
    normalize4(result);
}

firn_pose firn_pose_at(const firn_motion_key *keys, int count, double time)
{
    if (time <= keys[0].time)
        return keys[0].pose;
    if (time >= keys[count - 1].time)
        return keys[count - 1].pose;
    int first = 0, last = count - 1; // keys[first].time <= time < keys[last].time
    while (last - first > 1) {
        int middle = first + (last - first) / 2;
        if (keys[middle].time <= time)
            first = middle;
        else
            last = middle;
    }
    const firn_pose *a = &keys[first].pose, *b = &keys[last].pose;
    double share = (time - keys[first].time) / (keys[last].time - keys[first].time);
    firn_pose pose;
    for (int i = 0; i < 3; i++)
        pose.translation[i] = a->translation[i] + share * (b->translation[i] - a->translation[i]);
    pose.scale = a->scale + share * (b->scale - a->scale);
    double turn[3];
    firn_pose_turn(a, b, turn);
    firn_pose_turned(a->rotation, turn, share, pose.rotation);
    return pose;
}

static firn_mat3 matrix_of(const double q[4])
{
    double x = q[0], y = q[1], z = q[2], w = q[3];
    firn_mat3 matrix = {{
        (float)(1.0 - 2.0 * (y * y + z * z)),
        (float)(2.0 * (x * y - w * z)),
        (float)(2.0 * (x * z + w * y)),
        (float)(2.0 * (x * y + w * z)),
        (float)(1.0 - 2.0 * (x * x + z * z)),
        (float)(2.0 * (y * z - w * x)),
        (float)(2.0 * (x * z - w * y)),
        (float)(2.0 * (y * z + w * x)),
        (float)(1.0 - 2.0 * (x * x + y * y)),
    }};
    return matrix;
}

firn_frame firn_pose_frame(const firn_pose *pose, const firn_transform *map)
{
    firn_pose inner = firn_pose_from(*map);
    double rotation[4];
    multiply(pose->rotation, inner.rotation, rotation);
    firn_mat3 turn = matrix_of(pose->rotation);
    firn_vec3 offset = firn_mul(turn, map->translation);
    firn_frame frame = {
        .translation = {(float)(pose->translation[0] + pose->scale * (double)offset.x),
                        (float)(pose->translation[1] + pose->scale * (double)offset.y),
                        (float)(pose->translation[2] + pose->scale * (double)offset.z)},
        .rotation = matrix_of(rotation),
        .scale = (float)(pose->scale * inner.scale),
        .inverse_scale = (float)(1.0 / (pose->scale * inner.scale)),
    };
    return frame;
}

static firn_distance surface_distance(const firn_surface *surface, firn_vec3 world)
{
    const firn_transform *map = &surface->sdf.set.map;
    firn_distance d = firn_sdf_sample(&surface->sdf, firn_transform_point_inverse(*map, world));
    return (firn_distance){map->scale * d.value, firn_rotate(map->rotation, d.gradient)};
}

static firn_vec3 surface_velocity(const firn_collider *collider, float gamma, firn_vec3 world)
{
    return firn_lerp(firn_flow_sample(&collider->surface[0].flow, world),
                     firn_flow_sample(&collider->surface[1].flow, world), gamma);
}

firn_distance firn_deforming_distance(const firn_collider *collider, float gamma, firn_vec3 world)
{
    firn_vec3 v = surface_velocity(collider, gamma, world);
    float span = (float)(collider->surface_time[1] - collider->surface_time[0]);
    firn_distance a =
        surface_distance(&collider->surface[0], firn_add_scaled(world, -gamma * span, v));
    firn_distance b =
        surface_distance(&collider->surface[1], firn_add_scaled(world, (1.0f - gamma) * span, v));
    return (firn_distance){a.value + gamma * (b.value - a.value) - collider->def.offset,
                           firn_lerp(a.gradient, b.gradient, gamma)};
}

firn_vec3 firn_collider_velocity(const firn_collider *collider, firn_vec3 world)
{
    if (collider->deforming)
        return firn_scale(collider->carry, surface_velocity(collider, collider->gamma[1], world));
    firn_vec3 arm = firn_sub(world, collider->pivot);
    firn_vec3 v = firn_add(collider->velocity, firn_cross(collider->spin, arm));
    return firn_add_scaled(v, collider->growth, arm);
}

firn_distance firn_rigid_distance(const firn_collider *collider, firn_vec3 local, float s)
{
    firn_distance d = collider->def.shape == FIRN_SHAPE_LEVEL_SET
                          ? firn_sdf_sample(&collider->surface[0].sdf, local)
                          : firn_shape_distance(&collider->def, local);
    float scale = collider->start.scale + s * (collider->end.scale - collider->start.scale);
    return (firn_distance){scale * d.value - collider->def.offset,
                           firn_mul(collider->end.rotation, d.gradient)};
}

firn_distance firn_collider_distance(const firn_collider *collider, firn_vec3 world)
{
    if (collider->deforming)
        return firn_deforming_distance(collider, collider->gamma[1], world);
    return firn_rigid_distance(collider, firn_frame_to_local(&collider->end, world), 1.0f);
}

firn_distance firn_collider_distance_before(const firn_collider *collider, firn_vec3 world)
{
    if (collider->deforming)
        return firn_deforming_distance(collider, collider->gamma[0], world);
    firn_distance d =
        firn_rigid_distance(collider, firn_frame_to_local(&collider->start, world), 0.0f);
    // It came turned as at the end.
    firn_vec3 own = firn_mul(firn_mat_transpose(collider->end.rotation), d.gradient);
    return (firn_distance){d.value, firn_mul(collider->start.rotation, own)};
}

firn_transform firn_collider_map(const firn_collider *collider)
{
    return collider->def.shape == FIRN_SHAPE_LEVEL_SET ? collider->surface[0].sdf.set.map
                                                       : firn_transform_identity();
}

// A turning plane has no fastest point; its points this far from the pivot are counted (m). It
// cannot be jumped over, however fast it is.
static const float PLANE_REACH = 10.0f;

float firn_collider_reach(const firn_collider *collider)
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

double firn_collider_gap(const firn_collider *collider, const firn_pose *a, const firn_pose *b)
{
    double travel[3], turn[3], reach = (double)firn_collider_reach(collider);
    for (int i = 0; i < 3; i++)
        travel[i] = b->translation[i] - a->translation[i];
    firn_pose_turn(a, b, turn);
    bool plane = collider->def.shape == FIRN_SHAPE_PLANE;
    double scale = plane ? 1.0 : fmax(a->scale, b->scale);
    double growth = plane ? 0.0 : fabs(b->scale - a->scale);
    double arm = scale * reach + fmax(0.0, (double)collider->def.offset);
    return length3(travel) + length3(turn) * arm + growth * reach;
}
