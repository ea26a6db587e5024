#include "collider_state.h"
#include "firn/defs.h"

#define ROW(field) FIRN_PARAM(firn_collider_def, field)

// clang-format off
static const firn_param collider_params[] = {
    {ROW(shape), FIRN_CHOICE, {FIRN_SHAPE_PLANE}, 0.0, 4.0, "",
     "What stands in the way: the half space below a plane, a box, a sphere, a capsule along its "
     "Y axis, or a level set", "plane|box|sphere|capsule|level_set"},
    {ROW(half_size), FIRN_VEC3, {0.5, 0.5, 0.5}, 0.0, 1e5, "m",
     "Half the edges of a box; half the length of a capsule's axis is the Y component"},
    {ROW(radius), FIRN_FLOAT, {0.5}, 1e-6, 1e5, "m", "Radius of a sphere or capsule"},
    {"translation", offsetof(firn_collider_def, pose.translation), FIRN_VEC3, {0.0, 0.0, 0.0},
     -1e6, 1e6, "m", "Where the shape stands"},
    {"scale", offsetof(firn_collider_def, pose.scale), FIRN_FLOAT, {1.0}, 1e-6, 1e6, "",
     "Enlarges the shape"},
    {ROW(contact), FIRN_CHOICE, {FIRN_CONTACT_SEPARATE}, 0.0, 2.0, "",
     "separate pushes, rubs and lets go; slip rubs but never lets go; sticky holds whatever "
     "touches it", "separate|slip|sticky"},
    {ROW(friction), FIRN_FLOAT, {0.5}, 0.0, 100.0, "",
     "Coulomb's coefficient: snow starts to slide on a slope steeper than this tangent"},
    {ROW(restitution), FIRN_FLOAT, {0.0}, 0.0, 1.0, "",
     "Share of the normal speed that an impact gives back; slower than 0.1 m/s nothing bounces"},
    {ROW(adhesion), FIRN_FLOAT, {0.0}, 0.0, 1e9, "Pa",
     "Traction that it takes to pull snow off; it also adds to what friction holds. A layer of "
     "depth d hangs from a ceiling while this is above density x gravity x d: 196 Pa for 5 cm of "
     "packed snow. Without end it is sticky"},
    {ROW(sticking_speed), FIRN_FLOAT, {0.0}, 0.0, 1e3, "m/s",
     "Single grains that hit slower than this stay; faster ones get restitution x sqrt(1 - (this / "
     "speed)^2) of their speed back. 0.3 with a restitution of 0.3 suits flakes; 0: all above 0.1 "
     "m/s bounce alike", .added = true},
    {ROW(offset), FIRN_FLOAT, {0.0}, -100.0, 100.0, "m", "Grows the surface outward"},
    {ROW(temperature), FIRN_FLOAT, {0.0}, 0.0, 1e4, "K",
     "Temperature of its surface, for heat of the solver: 0 C is 273.15 K; 0: no heat passes",
     .added = true},
    {ROW(heat_exchange), FIRN_FLOAT, {500.0}, 0.0, 1e9, "W/(m^2 K)",
     "Heat that passes between it and what touches it, for each degree between them: 500 for snow "
     "on metal; very large holds what touches at its temperature", .added = true},
    {ROW(active_from), FIRN_DOUBLE, {-1e9}, -1e9, 1e9, "s",
     "Simulated time from which it collides"},
    {ROW(active_to), FIRN_DOUBLE, {1e9}, -1e9, 1e9, "s",
     "Simulated time until which it collides"},
};
// clang-format on

firn_param_table firn_collider_params(void)
{
    firn_param_table table = {collider_params, FIRN_COUNT(collider_params)};
    return table;
}

void firn_collider_def_reset(firn_collider_def *def, size_t size)
{
    firn_collider_def full = {.cookie = firn_def_cookie(size),
                              .pose.rotation = firn_quat_identity()};
    firn_params_reset(firn_collider_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

// Turns the y axis to a direction of unit length; a zero vector gives no rotation at all, which
// firn_collider_def_check refuses.
static firn_quat quat_from_y(firn_vec3 n)
{
    if (firn_dot(n, n) == 0.0f)
        return (firn_quat){0.0f, 0.0f, 0.0f, 0.0f};
    float sine2 = n.x * n.x + n.z * n.z;
    // 1 + n.y without cancellation when the direction is almost -y.
    float w = n.y > 0.0f ? 1.0f + n.y : sine2 / (1.0f - n.y);
    float length = sqrtf(sine2 + w * w);
    if (!(length > 0.0f))
        return (firn_quat){1.0f, 0.0f, 0.0f, 0.0f};
    return (firn_quat){n.z / length, 0.0f, -n.x / length, w / length};
}

firn_collider_def firn_collider_def_plane(firn_vec3 normal, float distance)
{
    firn_collider_def def = firn_collider_def_default();
    firn_vec3 n = firn_normalize(normal);
    float length = firn_length(normal);
    def.pose.rotation = quat_from_y(n);
    def.pose.translation = firn_scale(length > 0.0f ? distance / length : 0.0f, n);
    return def;
}

firn_collider_def firn_collider_def_box(firn_vec3 center, firn_vec3 half_size)
{
    firn_collider_def def = firn_collider_def_default();
    def.shape = FIRN_SHAPE_BOX;
    def.pose.translation = center;
    def.half_size = half_size;
    return def;
}

firn_collider_def firn_collider_def_sphere(firn_vec3 center, float radius)
{
    firn_collider_def def = firn_collider_def_default();
    def.shape = FIRN_SHAPE_SPHERE;
    def.pose.translation = center;
    def.radius = radius;
    return def;
}

firn_collider_def firn_collider_def_capsule(firn_vec3 from, firn_vec3 to, float radius)
{
    firn_collider_def def = firn_collider_def_default();
    firn_vec3 axis = firn_sub(to, from);
    float length = firn_length(axis);
    def.shape = FIRN_SHAPE_CAPSULE;
    def.pose.translation = firn_lerp(from, to, 0.5f);
    if (length > 0.0f)
        def.pose.rotation = quat_from_y(firn_scale(1.0f / length, axis));
    def.half_size = firn_vec(radius, 0.5f * length, radius);
    def.radius = radius;
    return def;
}

firn_collider_def firn_collider_def_level_set(const firn_level_set *level_set)
{
    firn_collider_def def = firn_collider_def_default();
    def.shape = FIRN_SHAPE_LEVEL_SET;
    def.level_set = level_set;
    return def;
}

firn_result firn_collider_def_check(const firn_collider_def *def, firn_error *error)
{
    FIRN_TRY(
        firn_def_check(def->cookie, sizeof *def, firn_collider_params(), def, "collider", error));
    FIRN_TRY(firn_transform_check(&def->pose, "a collider's pose", error));
    if (def->active_from > def->active_to)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "collider.active_from is %g s, after collider.active_to, %g s",
                         def->active_from, def->active_to);
    if (def->shape == FIRN_SHAPE_BOX &&
        !(def->half_size.x > 0.0f && def->half_size.y > 0.0f && def->half_size.z > 0.0f))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "collider.half_size of a box must be above 0 in every direction");
    if (def->shape == FIRN_SHAPE_LEVEL_SET && def->level_set == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a level set collider needs a level set");
    return FIRN_OK;
}
