#include "bodies.h"

#include "firn/defs.h"

#define ROW(field) FIRN_PARAM(firn_body_def, field)

// clang-format off
static const firn_param body_params[] = {
    {ROW(density), FIRN_FLOAT, {700.0}, 1e-3, 1e6, "kg/m^3",
     "Density of the inside of the shape: wood 700, ice 917, rock 2600; snow carries what is "
     "lighter"},
    {ROW(mass), FIRN_FLOAT, {0.0}, 0.0, 1e9, "kg",
     "Mass of the whole body; 0 takes it from the density"},
    {ROW(own_center), FIRN_BOOL, {0}, 0.0, 1.0, "",
     "The center of mass is the one given, not that of the shape"},
    {ROW(center), FIRN_VEC3, {0.0, 0.0, 0.0}, -1e5, 1e5, "m",
     "Center of mass, from the origin of the shape"},
    {ROW(inertia), FIRN_VEC3, {0.0, 0.0, 0.0}, 0.0, 1e12, "kg m^2",
     "Moments of inertia about the center along the shape's axes; 0 takes those of the shape"},
    {ROW(velocity), FIRN_VEC3, {0.0, 0.0, 0.0}, -1e4, 1e4, "m/s",
     "Velocity of the center when it is let go; one that was animated goes on as it moved"},
    {ROW(angular_velocity), FIRN_VEC3, {0.0, 0.0, 0.0}, -1e4, 1e4, "rad/s",
     "How it turns when it is let go, about the axes of the world"},
    {ROW(free_move), FIRN_VEC3, {1.0, 1.0, 1.0}, 0.0, 1.0, "",
     "Axes of the world along which it moves: 0 holds it"},
    {ROW(free_turn), FIRN_VEC3, {1.0, 1.0, 1.0}, 0.0, 1.0, "",
     "Axes of the world about which it turns: 0 holds it"},
    {ROW(release), FIRN_DOUBLE, {-1e9}, -1e9, 1e9, "s",
     "Simulated time from which it moves on its own; until then it stands or follows its "
     "animation, and is let go with its velocity"},
};
// clang-format on

firn_param_table firn_body_params(void)
{
    firn_param_table table = {body_params, FIRN_COUNT(body_params)};
    return table;
}

void firn_body_def_reset(firn_body_def *def, size_t size)
{
    firn_body_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_body_params(), &full);
    full.shape = firn_collider_def_default();
    full.shape.shape = FIRN_SHAPE_SPHERE;
    full.shape.friction = 0.05f;
    firn_def_copy(def, size, &full, sizeof full);
}

#undef ROW
#define ROW(field) FIRN_PARAM(firn_joint_def, field)

// clang-format off
static const firn_param joint_params[] = {
    {ROW(kind), FIRN_CHOICE, {FIRN_JOINT_HINGE}, 0.0, 2.0, "",
     "fixed holds two bodies as they begin; a hinge lets them turn about an axis, a ball about a "
     "point", "fixed|hinge|ball"},
    {ROW(anchor), FIRN_VEC3, {0.0, 0.0, 0.0}, -1e6, 1e6, "m",
     "Where they are joined, in the world in which they begin"},
    {ROW(axis), FIRN_VEC3, {0.0, 0.0, 1.0}, -1.0, 1.0, "",
     "Axis of a hinge; the middle of the cone of a limited ball joint"},
    {ROW(limited), FIRN_BOOL, {0}, 0.0, 1.0, "", "The angle stays in a range"},
    {ROW(lower), FIRN_FLOAT, {-0.5}, -3.1, 3.1, "rad",
     "Least angle of a hinge; 0 is how it begins"},
    {ROW(upper), FIRN_FLOAT, {0.5}, -3.1, 3.1, "rad",
     "Largest angle of a hinge, or by which a ball joint swings from its axis"},
    {ROW(motor_torque), FIRN_FLOAT, {0.0}, 0.0, 1e9, "N m",
     "Largest torque of a hinge's motor; 0: it has none"},
    {ROW(motor_speed), FIRN_FLOAT, {0.0}, -1e4, 1e4, "rad/s",
     "Speed about the axis that the motor brings the second body to, against the first"},
};
// clang-format on

firn_param_table firn_joint_params(void)
{
    firn_param_table table = {joint_params, FIRN_COUNT(joint_params)};
    return table;
}

void firn_joint_def_reset(firn_joint_def *def, size_t size)
{
    firn_joint_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_joint_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}
