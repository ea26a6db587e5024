/// Signed distances of the plain shapes. Inside, the normal leads to the nearest face.
#include "collider_state.h"

static firn_distance plane_distance(const firn_collider_def *def, firn_vec3 p)
{
    (void)def;
    return (firn_distance){p.y, {0.0f, 1.0f, 0.0f}};
}

static float signed_one(float x) { return x < 0.0f ? -1.0f : 1.0f; }

static firn_distance box_distance(const firn_collider_def *def, firn_vec3 p)
{
    firn_vec3 beyond = {fabsf(p.x) - def->half_size.x, fabsf(p.y) - def->half_size.y,
                        fabsf(p.z) - def->half_size.z};
    firn_vec3 out = {firn_larger(beyond.x, 0.0f), firn_larger(beyond.y, 0.0f),
                     firn_larger(beyond.z, 0.0f)};
    float length = firn_length(out);
    if (length > 0.0f) {
        firn_vec3 n = firn_scale(1.0f / length, out);
        return (firn_distance){
            length, {n.x * signed_one(p.x), n.y * signed_one(p.y), n.z * signed_one(p.z)}};
    }
    if (beyond.x >= beyond.y && beyond.x >= beyond.z)
        return (firn_distance){beyond.x, {signed_one(p.x), 0.0f, 0.0f}};
    if (beyond.y >= beyond.z)
        return (firn_distance){beyond.y, {0.0f, signed_one(p.y), 0.0f}};
    return (firn_distance){beyond.z, {0.0f, 0.0f, signed_one(p.z)}};
}

static firn_distance ball_distance(firn_vec3 p, float radius)
{
    float length = firn_length(p);
    firn_vec3 up = {0.0f, 1.0f, 0.0f};
    firn_vec3 normal = length > 0.0f ? firn_scale(1.0f / length, p) : up;
    return (firn_distance){length - radius, normal};
}

static firn_distance sphere_distance(const firn_collider_def *def, firn_vec3 p)
{
    return ball_distance(p, def->radius);
}

static firn_distance capsule_distance(const firn_collider_def *def, firn_vec3 p)
{
    float along = firn_larger(-def->half_size.y, firn_smaller(p.y, def->half_size.y));
    firn_vec3 from_axis = {p.x, p.y - along, p.z};
    if (from_axis.x == 0.0f && from_axis.y == 0.0f && from_axis.z == 0.0f)
        return (firn_distance){-def->radius, {1.0f, 0.0f, 0.0f}};
    return ball_distance(from_axis, def->radius);
}

static float plane_reach(const firn_collider_def *def)
{
    (void)def;
    return 0.0f;
}

static float box_reach(const firn_collider_def *def) { return firn_length(def->half_size); }
static float sphere_reach(const firn_collider_def *def) { return def->radius; }
static float capsule_reach(const firn_collider_def *def) { return def->half_size.y + def->radius; }

typedef struct shape {
    firn_distance (*distance)(const firn_collider_def *def, firn_vec3 point);
    float (*reach)(const firn_collider_def *def);
} shape;

static const shape shapes[] = {
    [FIRN_SHAPE_PLANE] = {plane_distance, plane_reach},
    [FIRN_SHAPE_BOX] = {box_distance, box_reach},
    [FIRN_SHAPE_SPHERE] = {sphere_distance, sphere_reach},
    [FIRN_SHAPE_CAPSULE] = {capsule_distance, capsule_reach},
};

firn_distance firn_shape_distance(const firn_collider_def *def, firn_vec3 point)
{
    return shapes[def->shape].distance(def, point);
}

float firn_shape_reach(const firn_collider_def *def) { return shapes[def->shape].reach(def); }
