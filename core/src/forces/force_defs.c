#include "forces.h"

#include "firn/defs.h"

#define ROW(field) FIRN_PARAM(firn_force_def, field)

// clang-format off
static const firn_param force_params[] = {
    {ROW(kind), FIRN_CHOICE, {FIRN_FORCE_CONSTANT}, 0.0, 3.0, "",
     "What acts: the same acceleration everywhere, a field of accelerations on a grid, air that "
     "drags snow along, or a function of the program", "constant|field|drag|callback"},
    {ROW(acceleration), FIRN_VEC3, {0.0, 0.0, 0.0}, -1e4, 1e4, "m/s^2",
     "Acceleration of everything, beside gravity", .visible_when = "kind==constant"},
    {ROW(strength), FIRN_FLOAT, {1.0}, -1e4, 1e4, "",
     "Factor on the acceleration, the field or the velocity of the air"},
    {ROW(velocity), FIRN_VEC3, {0.0, 0.0, 0.0}, -1e3, 1e3, "m/s",
     "Velocity of the air; that of a field comes on top", .visible_when = "kind==drag"},
    {ROW(fall_speed), FIRN_FLOAT, {1.0}, 1e-3, 1e3, "m/s",
     "Speed at which single grains fall in still air: 0.5 to 3 for flakes; the smaller, the more "
     "air drags", .visible_when = "kind==drag"},
    {ROW(shelter), FIRN_FLOAT, {0.25}, 0.0, 1e3, "",
     "Share of packed snow in a cell from which on air gets neither into it nor at what is within "
     "two cells: thin snow drifts, packed snow holds; above 1 wind wears the surface of packed "
     "snow too; 0: nothing shields", .visible_when = "kind==drag"},
    {ROW(density), FIRN_FLOAT, {400.0}, 1e-3, 1e5, "kg/m^3",
     "Density of packed snow, which the shelter is measured by", .visible_when = "kind==drag"},
    {ROW(fall_spread), FIRN_FLOAT, {0.0}, 0.0, 0.9, "",
     "Share by which single grains outside the grid fall faster or slower than that, each for "
     "itself: 0.12 is what flakes do", .visible_when = "kind==drag", .added = true},
    {ROW(flutter), FIRN_FLOAT, {0.0}, 0.0, 100.0, "m/s",
     "Speed at which single grains outside the grid sway on their way down, each for itself",
     .visible_when = "kind==drag", .added = true},
    {ROW(gust), FIRN_FLOAT, {0.0}, 0.0, 1e3, "m/s",
     "Usual speed of gusts on top of it: eddies that travel with the air and change on the way, "
     "without thickening it anywhere", .visible_when = "kind==drag"},
    {ROW(gust_size), FIRN_FLOAT, {1.0}, 1e-3, 1e5, "m", "Size of the eddies",
     .visible_when = "kind==drag"},
    {ROW(gust_seed), FIRN_INT, {1}, 0.0, 2147483647.0, "", "Another number gives other gusts",
     .visible_when = "kind==drag"},
    {ROW(active_from), FIRN_DOUBLE, {-1e9}, -1e9, 1e9, "s", "Simulated time from which it acts"},
    {ROW(active_to), FIRN_DOUBLE, {1e9}, -1e9, 1e9, "s", "Simulated time until which it acts"},
};
// clang-format on

firn_param_table firn_force_params(void)
{
    firn_param_table table = {force_params, FIRN_COUNT(force_params)};
    return table;
}

void firn_force_def_reset(firn_force_def *def, size_t size)
{
    firn_force_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_force_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

firn_force_def firn_force_def_constant(firn_vec3 acceleration)
{
    firn_force_def def = firn_force_def_default();
    def.acceleration = acceleration;
    return def;
}

firn_force_def firn_force_def_field(const firn_velocity_grid *grid)
{
    firn_force_def def = firn_force_def_default();
    def.kind = FIRN_FORCE_FIELD;
    def.grid = grid;
    return def;
}

firn_force_def firn_force_def_drag(firn_vec3 velocity, float fall_speed)
{
    firn_force_def def = firn_force_def_default();
    def.kind = FIRN_FORCE_DRAG;
    def.velocity = velocity;
    def.fall_speed = fall_speed;
    return def;
}

firn_force_def firn_force_def_callback(firn_force_callback *callback, void *user)
{
    firn_force_def def = firn_force_def_default();
    def.kind = FIRN_FORCE_CALLBACK;
    def.callback = callback;
    def.user = user;
    return def;
}

firn_result firn_force_def_check(const firn_force_def *def, firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_force_params(), def, "force", error));
    if (def->active_from > def->active_to)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "force.active_from is %g s, after force.active_to, %g s", def->active_from,
                         def->active_to);
    if (def->kind == FIRN_FORCE_FIELD && (def->grid == NULL || def->grid->leaf_count == 0))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a force of kind field needs a grid of accelerations with values in it");
    if (def->kind == FIRN_FORCE_CALLBACK && def->callback == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a force of kind callback needs a function to call");
    return FIRN_OK;
}
