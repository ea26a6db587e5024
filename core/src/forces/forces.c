#include "forces.h"

#include "base/noise.h"
#include "space/flow.h"

#include <math.h>
#include <string.h>

typedef struct firn_force {
    bool alive, acting;
    bool changed; // since snow was last told
    uint32_t generation;
    firn_force_def def;        // without its grid
    firn_flow_grid flow;       // the grid
    firn_vec3 lower, upper;    // m, box around what the grid holds; empty without a grid
    firn_vec3 old_low, old_up; // m, the same before it changed
} firn_force;

static firn_force *slot(const firn_forces *forces, int index)
{
    return (firn_force *)forces->slots.data + index;
}

static firn_result find(const firn_forces *forces, firn_force_id id, firn_force **found,
                        firn_error *error)
{
    if (id.index1 == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the force id is null");
    if (id.index1 <= (uint32_t)forces->slot_count) {
        firn_force *force = slot(forces, (int)id.index1 - 1);
        if (force->alive && force->generation == id.generation) {
            *found = force;
            return FIRN_OK;
        }
    }
    return firn_fail(error, FIRN_ERR_STALE, "force %u no longer exists", id.index1);
}

// The box around the values, a voxel wider: between the last value and none it fades.
static void find_box(firn_force *force)
{
    force->lower = firn_vec(INFINITY, INFINITY, INFINITY);
    force->upper = firn_vec(-INFINITY, -INFINITY, -INFINITY);
    const firn_velocity_grid *grid = &force->flow.grid;
    for (size_t i = 0; i < grid->leaf_count; i++)
        for (int corner = 0; corner < 8; corner++) {
            firn_coord o = grid->leaf_origin[i];
            firn_vec3 voxel = {(float)(o.x + (corner & 4 ? FIRN_LEAF_EDGE : -1)),
                               (float)(o.y + (corner & 2 ? FIRN_LEAF_EDGE : -1)),
                               (float)(o.z + (corner & 1 ? FIRN_LEAF_EDGE : -1))};
            firn_vec3 at = firn_transform_point(grid->map, voxel);
            force->lower = firn_vec(fminf(force->lower.x, at.x), fminf(force->lower.y, at.y),
                                    fminf(force->lower.z, at.z));
            force->upper = firn_vec(fmaxf(force->upper.x, at.x), fmaxf(force->upper.y, at.y),
                                    fmaxf(force->upper.z, at.z));
        }
}

static firn_result build(firn_budget *budget, firn_force *force, const firn_force_def *def,
                         firn_error *error)
{
    force->def = *def;
    force->def.grid = NULL;
    bool has_grid = def->kind == FIRN_FORCE_FIELD || def->kind == FIRN_FORCE_DRAG;
    FIRN_TRY(firn_flow_build(budget, &force->flow, has_grid ? def->grid : NULL, error));
    // Air that a file does not know is like that around it.
    force->flow.zero_counts = def->kind == FIRN_FORCE_FIELD;
    find_box(force);
    return FIRN_OK;
}

firn_result firn_forces_add(firn_forces *forces, const firn_force_def *def, firn_force_id *id,
                            firn_error *error)
{
    FIRN_TRY(firn_force_def_check(def, error));
    // Slots are taken in turn and keep the order of addition as long as none is removed.
    int index = 0;
    while (index < forces->slot_count && slot(forces, index)->alive)
        index++;
    FIRN_TRY(firn_array_reserve(forces->budget, &forces->slots, (size_t)index + 1,
                                sizeof(firn_force), error));
    firn_force added = {.alive = true, .generation = 1};
    FIRN_TRY(build(forces->budget, &added, def, error));
    if (index < forces->slot_count)
        added.generation = slot(forces, index)->generation + 1;
    else
        forces->slot_count++;
    *slot(forces, index) = added;
    if (id != NULL)
        *id = (firn_force_id){(uint32_t)index + 1, added.generation};
    return FIRN_OK;
}

firn_result firn_forces_remove(firn_forces *forces, firn_force_id id, firn_error *error)
{
    firn_force *force = NULL;
    FIRN_TRY(find(forces, id, &force, error));
    firn_flow_free(forces->budget, &force->flow);
    force->alive = force->acting = false;
    return FIRN_OK;
}

static bool is_varying(const firn_force *force)
{
    return force->def.kind == FIRN_FORCE_DRAG && (force->def.gust > 0.0f || force->def.varies);
}

firn_result firn_forces_change(firn_forces *forces, firn_force_id id, const firn_force_def *def,
                               bool *everywhere, firn_error *error)
{
    firn_force *force = NULL;
    FIRN_TRY(find(forces, id, &force, error));
    FIRN_TRY(firn_force_def_check(def, error));
    if (def->kind != force->def.kind)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "force %u cannot become one of another kind; remove it and add another",
                         id.index1);
    firn_force changed = *force;
    memset(&changed.flow, 0, sizeof changed.flow);
    FIRN_TRY(build(forces->budget, &changed, def, error));
    // Of what has a grid the rest may be everywhere too: the velocity of air.
    firn_vec3 a = force->def.velocity, b = changed.def.velocity;
    bool same_air =
        a.x == b.x && a.y == b.y && a.z == b.z && force->def.fall_speed == changed.def.fall_speed &&
        force->def.strength == changed.def.strength && force->def.gust == changed.def.gust &&
        force->def.shelter == changed.def.shelter && force->def.density == changed.def.density;
    *everywhere = def->kind == FIRN_FORCE_DRAG ? !same_air : def->kind != FIRN_FORCE_FIELD;
    if (def->kind == FIRN_FORCE_CONSTANT)
        *everywhere = !same_air || memcmp(&force->def.acceleration, &changed.def.acceleration,
                                          sizeof(firn_vec3)) != 0;
    changed.changed = def->kind == FIRN_FORCE_FIELD || def->kind == FIRN_FORCE_DRAG;
    // Snow that such air reaches has not slept.
    if (is_varying(force) && is_varying(&changed))
        *everywhere = changed.changed = false;
    changed.old_low = force->lower;
    changed.old_up = force->upper;
    firn_flow_free(forces->budget, &force->flow);
    *force = changed;
    return FIRN_OK;
}

void firn_forces_free(firn_forces *forces)
{
    for (int i = 0; i < forces->slot_count; i++)
        if (slot(forces, i)->alive)
            firn_flow_free(forces->budget, &slot(forces, i)->flow);
    firn_array_free(forces->budget, &forces->slots);
    forces->slot_count = forces->acting_count = 0;
}

void firn_forces_prepare(firn_forces *forces, double time, float dt)
{
    forces->time = time;
    forces->dt = dt;
    forces->acting_count = 0;
    for (int i = 0; i < forces->slot_count; i++) {
        firn_force *force = slot(forces, i);
        double end = time + (double)dt;
        force->acting =
            force->alive && end >= force->def.active_from && end <= force->def.active_to;
        forces->acting_count += force->acting;
    }
}

uint64_t firn_forces_acting(const firn_forces *forces)
{
    uint64_t acting = 0;
    for (int i = 0; i < forces->slot_count; i++) {
        const firn_force *force = slot(forces, i);
        const uint32_t name[2] = {(uint32_t)i, force->generation};
        acting ^= force->acting ? firn_hash64(name, sizeof name, 128) : 0;
    }
    return acting;
}

static firn_vec3 constant_of(const firn_force *force)
{
    return firn_scale(force->def.strength, force->def.acceleration);
}

firn_vec3 firn_forces_constant(const firn_forces *forces)
{
    firn_vec3 sum = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < forces->slot_count; i++)
        if (slot(forces, i)->acting && slot(forces, i)->def.kind == FIRN_FORCE_CONSTANT)
            sum = firn_add(sum, constant_of(slot(forces, i)));
    return sum;
}

static bool boxes_meet(firn_vec3 lower, firn_vec3 upper, firn_vec3 other_low, firn_vec3 other_up)
{
    return lower.x <= other_up.x && upper.x >= other_low.x && lower.y <= other_up.y &&
           upper.y >= other_low.y && lower.z <= other_up.z && upper.z >= other_low.z;
}

bool firn_forces_changed_in(const firn_forces *forces, firn_vec3 lower, firn_vec3 upper)
{
    for (int i = 0; i < forces->slot_count; i++) {
        const firn_force *force = slot(forces, i);
        if (force->acting && force->changed &&
            (boxes_meet(lower, upper, force->lower, force->upper) ||
             boxes_meet(lower, upper, force->old_low, force->old_up)))
            return true;
    }
    return false;
}

void firn_forces_settle(firn_forces *forces)
{
    for (int i = 0; i < forces->slot_count; i++)
        if (slot(forces, i)->acting)
            slot(forces, i)->changed = false;
}

bool firn_forces_have_drag(const firn_forces *forces)
{
    for (int i = 0; i < forces->slot_count; i++)
        if (slot(forces, i)->alive && slot(forces, i)->def.kind == FIRN_FORCE_DRAG)
            return true;
    return false;
}

bool firn_forces_drag(const firn_forces *forces)
{
    for (int i = 0; i < forces->slot_count; i++)
        if (slot(forces, i)->acting && slot(forces, i)->def.kind == FIRN_FORCE_DRAG)
            return true;
    return false;
}

bool firn_forces_vary(const firn_forces *forces)
{
    for (int i = 0; i < forces->slot_count; i++)
        if (slot(forces, i)->acting && is_varying(slot(forces, i)))
            return true;
    return false;
}

/// What is at work on points: their accelerations so far, gravity among them.
typedef struct acting {
    const firn_forces *forces;
    firn_force_points *points;
    firn_vec3 *acceleration; // m/s^2
    float cell_size;         // m
} acting;

static void apply_constant(const acting *a, const firn_force *force)
{
    firn_vec3 constant = constant_of(force);
    for (int i = 0; i < a->points->count; i++)
        a->acceleration[i] = firn_add(a->acceleration[i], constant);
}

static void apply_field(const acting *a, const firn_force *force)
{
    for (int i = 0; i < a->points->count; i++)
        a->acceleration[i] =
            firn_add_scaled(a->acceleration[i], force->def.strength,
                            firn_flow_sample(&force->flow, a->points->position[i]));
}

static void apply_callback(const acting *a, const firn_force *force)
{
    firn_vec3 own[FIRN_FORCE_NODES];
    memset(own, 0, sizeof own);
    const firn_force_points *points = a->points;
    firn_force_nodes nodes = {a->forces->time,
                              a->forces->dt,
                              points->count,
                              points->position,
                              points->velocity,
                              points->mass,
                              own};
    force->def.callback(&nodes, force->def.user);
    for (int i = 0; i < points->count; i++)
        a->acceleration[i] = firn_add_scaled(a->acceleration[i], force->def.strength, own[i]);
}

// Standard gravity, m/s^2: fall_speed is that of the weather report, whatever gravity a shot has.
#define STANDARD_GRAVITY 9.81f

// Eddies turn over in the time in which their own speed crosses two of them.
#define TURNS_PER_SIZE 0.5

// Gusts at a place, method.md (43): carried along by the air, divergence-free.
static firn_vec3 gust_at(const firn_force_def *def, double time, firn_vec3 position)
{
    double since = time - def->gust_time, size = def->gust_size;
    double age = def->gust_age + TURNS_PER_SIZE * def->gust * since / size;
    const float x[3] = {position.x, position.y, position.z};
    const float gone[3] = {def->gust_travel.x, def->gust_travel.y, def->gust_travel.z};
    const float wind[3] = {def->velocity.x, def->velocity.y, def->velocity.z};
    double place[3], swirl[3];
    for (int k = 0; k < 3; k++)
        place[k] = ((double)x[k] - (double)gone[k] - (double)wind[k] * since) / size;
    firn_noise_swirl(place, age, (uint64_t)def->gust_seed, swirl);
    return firn_vec(def->gust * (float)swirl[0], def->gust * (float)swirl[1],
                    def->gust * (float)swirl[2]);
}

// From -1 to 1, equal for equal grains.
static float share_of(const firn_force_def *def, uint32_t id, uint32_t stream)
{
    const uint32_t name[2] = {id, stream};
    uint64_t bits = firn_hash64(name, sizeof name, (uint64_t)def->gust_seed);
    return (float)(bits >> 40) * 0x1p-23f - 1.0f;
}

float firn_force_fall_speed(const firn_force_def *def, uint32_t id)
{
    return def->fall_speed * (1.0f + def->fall_spread * share_of(def, id, 1));
}

// A wave of parabolas, with period and amplitude 1: without the math library, the same everywhere.
static float wave(double turns)
{
    double x = 2.0 * (turns - floor(turns)) - 1.0;
    return (float)(4.0 * x * (1.0 - fabs(x)));
}

// The air that a grain sways with, about once in a second, on a path of its own.
static firn_vec3 sway_of(const firn_force_def *def, double time, uint32_t id)
{
    double rate = 1.0 + 0.4 * (double)share_of(def, id, 2), turns = rate * time;
    float x = wave(turns + (double)share_of(def, id, 3));
    float z = wave(1.3 * turns + (double)share_of(def, id, 4));
    return firn_vec(def->flutter * x, 0.0f, def->flutter * z);
}

static firn_vec3 air_at(const acting *a, const firn_force *force, int i)
{
    const firn_force_def *def = &force->def;
    firn_vec3 place = a->points->position[i];
    firn_vec3 air = firn_add(def->velocity, firn_flow_sample_held(&force->flow, place));
    if (def->gust > 0.0f)
        air = firn_add(air, gust_at(def, a->forces->time + 0.5 * (double)a->forces->dt, place));
    air = firn_scale(def->strength, air);
    if (a->points->grains && def->flutter > 0.0f)
        air = firn_add(
            air, sway_of(def, a->forces->time + 0.5 * (double)a->forces->dt, a->points->id[i]));
    // It does not blow into what is solid.
    firn_vec3 wall = a->points->wall[i];
    float into = firn_dot(firn_sub(air, a->points->wall_velocity[i]), wall);
    return into < 0.0f ? firn_add_scaled(air, -into, wall) : air;
}

// Quadratic drag in closed form, stable for any step, at the velocity in the middle of what the
// accelerations do: method.md (42).
static bool apply_drag(const acting *a, const firn_force *force)
{
    const firn_force_def *def = &force->def;
    bool grains = a->points->grains, alike = !grains || !(def->fall_spread > 0.0f);
    float k = STANDARD_GRAVITY / (def->fall_speed * def->fall_speed), dt = a->forces->dt;
    float packed = def->shelter * def->density * a->cell_size * a->cell_size * a->cell_size;
    bool any = false;
    for (int i = 0; i < a->points->count; i++) {
        float most =
            a->points->lee[i] > a->points->mass[i] ? a->points->lee[i] : a->points->mass[i];
        float open = packed > 0.0f && !grains ? 1.0f - most / packed : 1.0f;
        if (!(open > 0.0f))
            continue;
        any = true;
        float fall = alike ? def->fall_speed : firn_force_fall_speed(def, a->points->id[i]);
        k = STANDARD_GRAVITY / (fall * fall);
        firn_vec3 air = air_at(a, force, i);
        firn_vec3 half = firn_scale(0.5f * dt, a->acceleration[i]);
        firn_vec3 relative = firn_sub(firn_sub(a->points->velocity[i], half), air);
        float slower = 1.0f / (1.0f + dt * k * open * open * firn_length(relative));
        a->points->velocity[i] = firn_add(firn_add_scaled(air, slower, relative), half);
    }
    return any;
}

/// Those that accelerate; air comes after them and must know what they do.
static void (*const kinds[4])(const acting *, const firn_force *) = {
    [FIRN_FORCE_CONSTANT] = apply_constant,
    [FIRN_FORCE_FIELD] = apply_field,
    [FIRN_FORCE_CALLBACK] = apply_callback,
};

bool firn_forces_apply(const firn_forces *forces, firn_vec3 gravity, float cell_size,
                       firn_force_points *points)
{
    firn_vec3 acceleration[FIRN_FORCE_NODES];
    memset(acceleration, 0, sizeof acceleration);
    const acting a = {forces, points, acceleration, cell_size};
    for (int i = 0; i < forces->slot_count; i++) {
        const firn_force *force = slot(forces, i);
        if (force->acting && kinds[force->def.kind] != NULL)
            kinds[force->def.kind](&a, force);
    }
    for (int i = 0; i < points->count; i++) {
        points->velocity[i] = firn_add_scaled(points->velocity[i], forces->dt, acceleration[i]);
        acceleration[i] = firn_add(gravity, acceleration[i]);
    }
    bool open = false;
    for (int i = 0; i < forces->slot_count; i++)
        if (slot(forces, i)->acting && slot(forces, i)->def.kind == FIRN_FORCE_DRAG)
            open |= apply_drag(&a, slot(forces, i));
    return open;
}
