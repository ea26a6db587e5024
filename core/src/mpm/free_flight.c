/// Grains outside the grid fly, method.md (A2): under gravity and all forces, and meet colliders.
///
/// They are moved once in a slow stage, just before a sort, and at the end of a call of
/// firn_sim_step, in pieces of a few milliseconds over which forces and colliders are prepared as
/// for a substep. Threads share parts of the store of a fixed size; a part writes its own grains
/// and its own sums, which are added in the order of the parts. So nothing depends on the number of
/// threads.
#include "contact/collider_state.h"
#include "sim_state.h"

#include <math.h>
#include <string.h>

enum { PART = 4096 }; // grains

// The longest piece, s. Drag is exact for gravity alone or for drag alone.
static const double PIECE = 5e-3;
// How far around a grain colliders are looked for, cells.
static const float MARGIN = 8.0f;
// What lies must not slide, and must hardly move, m/s.
static const float REST_SPEED = 0.02f;

/// What a part finds out.
typedef struct part_sums {
    double mass, kinetic, potential;
    float speed2;
    uint32_t settled, gone;
    bool landed;
} part_sums;

/// A piece of the flight.
typedef struct flight_pass {
    firn_sim *sim;
    firn_store *store;
    double time; // s, its start
    float dt;    // s
    bool forces;
    float surface_travel; // m
    float *u[3], *v[3];
    const float *mass, *volume;
    const uint32_t *id;
    uint64_t *key;
    uint16_t *seat;
    float *clearance;
    uint8_t *marks;
} flight_pass;

/// A part at work: its colliders nearby, and what each is given.
typedef struct part_work {
    part_sums *sums;
    int *list;
    firn_impulse *taken, *given; // of the list, of all slots
} part_work;

static size_t part_count(const firn_store *store) { return (store->count + PART - 1) / PART; }

firn_result firn_flight_reserve(firn_sim *sim, firn_error *error)
{
    firn_store *s = &sim->store;
    size_t parts = part_count(s), slots = (size_t)sim->colliders.slot_count + 1;
    if (parts == 0)
        return FIRN_OK;
    FIRN_TRY(firn_array_claim(&sim->budget, &s->parts, parts, sizeof(part_sums), error));
    FIRN_TRY(firn_array_claim(&sim->budget, &s->lists, parts * slots, sizeof(int), error));
    return firn_array_claim(&sim->budget, &s->taken, 2 * parts * slots, sizeof(firn_impulse),
                            error);
}

static flight_pass make_pass(firn_sim *sim)
{
    firn_store *s = &sim->store;
    flight_pass pass = {.sim = sim,
                        .store = s,
                        .mass = firn_store_at(s, FIRN_STORE_MASS),
                        .volume = firn_store_at(s, FIRN_STORE_VOLUME),
                        .id = (const uint32_t *)firn_store_at(s, FIRN_STORE_ID),
                        .key = s->key.data,
                        .seat = s->seat.data,
                        .clearance = s->clearance.data,
                        .marks = s->marks.data};
    for (int axis = 0; axis < 3; axis++) {
        pass.u[axis] = firn_store_at(s, FIRN_STORE_U + axis);
        pass.v[axis] = firn_store_at(s, FIRN_STORE_V + axis);
    }
    return pass;
}

static part_work work_of(const firn_sim *sim, size_t part)
{
    const firn_store *s = &sim->store;
    size_t slots = (size_t)sim->colliders.slot_count + 1;
    firn_impulse *taken = (firn_impulse *)s->taken.data + 2 * part * slots;
    return (part_work){(part_sums *)s->parts.data + part, (int *)s->lists.data + part * slots,
                       taken, taken + slots};
}

static firn_vec3 place_of(const flight_pass *pass, size_t i)
{
    firn_coord c = firn_block_coord(pass->key[i]);
    double h = pass->sim->def.cell_size, shift = firn_grid_shift(&pass->sim->grid);
    return firn_vec((float)(h * (4.0 * c.x + shift + (double)pass->u[0][i])),
                    (float)(h * (4.0 * c.y + shift + (double)pass->u[1][i])),
                    (float)(h * (4.0 * c.z + shift + (double)pass->u[2][i])));
}

static firn_vec3 speed_of(const flight_pass *pass, size_t i)
{
    return firn_vec(pass->v[0][i], pass->v[1][i], pass->v[2][i]);
}

static void set_speed(const flight_pass *pass, size_t i, firn_vec3 v)
{
    pass->v[0][i] = v.x;
    pass->v[1][i] = v.y;
    pass->v[2][i] = v.z;
}

// Moves a grain, and to another block when it leaves its own. One that leaves the domain is marked.
static void move(const flight_pass *pass, part_sums *sums, size_t i, firn_vec3 way)
{
    const firn_sim_def *def = &pass->sim->def;
    float scale = 1.0f / def->cell_size;
    const float by[3] = {scale * way.x, scale * way.y, scale * way.z};
    bool inside = true;
    for (int axis = 0; axis < 3; axis++) {
        pass->u[axis][i] += by[axis];
        inside &= pass->u[axis][i] >= 0.0f && pass->u[axis][i] < 4.0f;
    }
    if (inside)
        return;
    firn_coord c = firn_block_coord(pass->key[i]);
    int32_t at[3] = {c.x, c.y, c.z};
    const float far = 4.0f * (float)FIRN_COORD_LIMIT;
    for (int axis = 0; axis < 3; axis++) {
        float *u = &pass->u[axis][i];
        if (!(fabsf(*u) < far)) { // nor is it a number: the speed tells
            pass->marks[i] = FIRN_GRAIN_GOES;
            sums->gone++;
            return;
        }
        float blocks = floorf(0.25f * *u);
        *u -= 4.0f * blocks;
        at[axis] += (int32_t)blocks;
        // Just below the end of a block it may round to the beginning of the next.
        if (*u >= 4.0f) {
            *u = 0.0f;
            at[axis]++;
        }
        if (at[axis] <= 2 - FIRN_COORD_LIMIT || at[axis] >= FIRN_COORD_LIMIT - 2) {
            pass->marks[i] = FIRN_GRAIN_GOES;
            sums->gone++;
            return;
        }
    }
    pass->key[i] = firn_block_key((firn_coord){at[0], at[1], at[2]});
    firn_vec3 x = place_of(pass, i), low = def->domain_lower, high = def->domain_upper;
    if (x.x >= low.x && x.y >= low.y && x.z >= low.z && x.x <= high.x && x.y <= high.y &&
        x.z <= high.z)
        return;
    pass->marks[i] = FIRN_GRAIN_GOES;
    sums->gone++;
}

// --- What lies -----------------------------------------------------------------------------------

// A grain that lies on a collider goes where that goes; what acts no more lets it fly.
static void ride(const flight_pass *pass, part_sums *sums, size_t i)
{
    const firn_colliders *colliders = &pass->sim->colliders;
    int slot = pass->seat[i] - 1;
    const firn_collider *c =
        slot < colliders->slot_count ? firn_collider_slot(colliders, slot) : NULL;
    if (c == NULL || !c->active) {
        pass->seat[i] = 0;
        pass->clearance[i] = 0.0f;
        return;
    }
    sums->settled++;
    if (c->still) {
        set_speed(pass, i, firn_vec(0.0f, 0.0f, 0.0f));
        return;
    }
    firn_vec3 x = place_of(pass, i), to;
    if (c->deforming) {
        to = firn_add_scaled(x, pass->dt, firn_collider_velocity(c, x));
        firn_distance d = firn_collider_distance(c, to);
        float steep2 = firn_dot(d.gradient, d.gradient);
        if (steep2 > 0.01f)
            to = firn_add_scaled(to, -d.value / steep2, d.gradient);
    } else {
        firn_vec3 local = firn_frame_to_local(&c->start, x);
        to = firn_add_scaled(c->end.translation, c->end.scale, firn_mul(c->end.rotation, local));
    }
    set_speed(pass, i, firn_collider_velocity(c, to));
    move(pass, sums, i, firn_sub(to, x));
    sums->landed = true; // others may lie where it lies now
}

// Whether a grain that has touched a collider, and has this velocity now, lies on it from now on.
static bool stays_on(const firn_sim *sim, const firn_collider *c, firn_vec3 x, firn_vec3 velocity)
{
    firn_distance d = firn_collider_distance(c, x);
    if (!(d.value <= 0.02f * sim->def.cell_size))
        return false;
    firn_vec3 n = firn_normalize(d.gradient);
    firn_vec3 relative = firn_sub(velocity, firn_collider_velocity(c, x));
    float vn = firn_dot(relative, n);
    float vt = firn_length(firn_add_scaled(relative, -vn, n));
    if (!(fabsf(vn) < 1e-3f))
        return false;
    if (c->def.contact == FIRN_CONTACT_STICKY)
        return true;
    if (c->def.sticking_speed > 0.0f)
        return vt < c->def.sticking_speed;
    if (!(vt < REST_SPEED))
        return false;
    // What friction, or more than that, holds against gravity.
    firn_vec3 g = sim->def.gravity;
    float pressed = -firn_dot(g, n);
    float pulled = firn_length(firn_add_scaled(g, pressed, n));
    return c->def.adhesion > 0.0f || (pressed >= 0.0f && pulled <= c->def.friction * pressed);
}

static void settle(const flight_pass *pass, part_sums *sums, const firn_near *near, size_t i,
                   firn_vec3 velocity)
{
    const firn_colliders *colliders = &pass->sim->colliders;
    firn_vec3 x = place_of(pass, i);
    for (int k = 0; k < near->count; k++) {
        const firn_collider *c = firn_collider_slot(colliders, near->index[k]);
        if (near->index[k] >= UINT16_MAX || c->driven || !stays_on(pass->sim, c, x, velocity))
            continue;
        pass->seat[i] = (uint16_t)(near->index[k] + 1);
        set_speed(pass, i, firn_collider_velocity(c, x));
        sums->landed = true;
        return;
    }
}

// --- What flies ----------------------------------------------------------------------------------

// Lets a grain meet the colliders around it on its way with the mean velocity. Returns false, and
// has done nothing, when it meets none.
static bool meet(const flight_pass *pass, const part_work *work, size_t i, firn_vec3 mean,
                 firn_vec3 after)
{
    const firn_sim *sim = pass->sim;
    float h = sim->def.cell_size, margin = MARGIN * h;
    float travel = 1.001f * pass->dt * firn_length(mean) + pass->surface_travel;
    if (pass->clearance[i] > travel) {
        pass->clearance[i] -= travel;
        return false;
    }
    firn_near near = {.index = work->list};
    firn_mass_point point = {place_of(pass, i), mean, pass->mass[i], 0.0f, 0.0f, 0.0f};
    firn_colliders_near(&sim->colliders, NULL, point.position, travel + margin, &near);
    pass->clearance[i] = margin;
    if (near.count == 0)
        return false;
    if (sim->colliders.sticks) {
        point.cell_size = h;
        point.fill = pass->volume[i] / (h * h * h);
        point.dt = pass->dt;
    }
    memset(work->taken, 0, (size_t)near.count * sizeof *work->taken);
    firn_particle_contact c =
        firn_colliders_touch_particle(&sim->colliders, &near, &point, pass->dt, work->taken);
    pass->clearance[i] = c.clearance - travel < margin ? c.clearance - travel : margin;
    bool same = c.velocity.x == mean.x && c.velocity.y == mean.y && c.velocity.z == mean.z &&
                firn_dot(c.push, c.push) == 0.0f;
    if (same)
        return false;
    for (int k = 0; k < near.count; k++)
        firn_impulse_add_scaled(&work->given[near.index[k]], 1.0, &work->taken[k]);
    pass->clearance[i] = 0.0f;
    // Half of what the forces do comes after the way.
    set_speed(pass, i, firn_add(c.velocity, firn_sub(after, mean)));
    move(pass, work->sums, i, firn_add_scaled(c.push, pass->dt, c.velocity));
    settle(pass, work->sums, &near, i, c.velocity);
    return true;
}

// Some grains in the air: their velocities after the piece.
static void accelerate(const flight_pass *pass, const size_t *who, firn_force_points *points)
{
    const firn_sim *sim = pass->sim;
    for (int k = 0; k < points->count; k++)
        points->velocity[k] = firn_add_scaled(speed_of(pass, who[k]), pass->dt, sim->def.gravity);
    if (!pass->forces)
        return;
    for (int k = 0; k < points->count; k++) {
        points->position[k] = place_of(pass, who[k]);
        points->mass[k] = pass->mass[who[k]];
        points->id[k] = pass->id[who[k]];
        points->wall[k] = firn_vec(0.0f, 0.0f, 0.0f);
        points->lee[k] = 0.0f;
    }
    points->grains = true;
    firn_forces_apply(&sim->forces, sim->def.gravity, sim->def.cell_size, points);
}

static void fly_some(const flight_pass *pass, const part_work *work, const size_t *who,
                     firn_force_points *points)
{
    accelerate(pass, who, points);
    for (int k = 0; k < points->count; k++) {
        size_t i = who[k];
        firn_vec3 before = speed_of(pass, i), after = points->velocity[k];
        firn_vec3 mean = firn_scale(0.5f, firn_add(before, after));
        if (meet(pass, work, i, mean, after))
            continue;
        set_speed(pass, i, after);
        move(pass, work->sums, i, firn_scale(pass->dt, mean));
    }
    points->count = 0;
}

static void fly_part(const flight_pass *pass, size_t part)
{
    part_work work = work_of(pass->sim, part);
    size_t begin = part * PART, end = begin + PART;
    end = end < pass->store->count ? end : pass->store->count;
    firn_force_points points = {.count = 0};
    size_t who[FIRN_FORCE_NODES];
    work.sums->settled = 0;
    memset(work.given, 0, (size_t)pass->sim->colliders.slot_count * sizeof *work.given);
    for (size_t i = begin; i < end; i++) {
        if (pass->marks[i] != FIRN_GRAIN_STAYS)
            continue;
        if (pass->seat[i] != 0) {
            ride(pass, work.sums, i);
            continue;
        }
        who[points.count++] = i;
        if (points.count == FIRN_FORCE_NODES)
            fly_some(pass, &work, who, &points);
    }
    if (points.count > 0)
        fly_some(pass, &work, who, &points);
}

static void fly(firn_sim *sim, double time, float dt)
{
    firn_store *s = &sim->store;
    bool moving;
    firn_forces_prepare(&sim->forces, time, dt);
    firn_colliders_prepare(&sim->colliders, time, dt);
    uint64_t acting = firn_colliders_acting(&sim->colliders, &moving);
    if (acting != s->acting)
        firn_store_forget(s);
    s->acting = acting;
    flight_pass pass = make_pass(sim);
    pass.time = time;
    pass.dt = dt;
    pass.forces = sim->forces.acting_count > 0;
    pass.surface_travel = firn_colliders_travel(&sim->colliders);
    size_t parts = part_count(s);
#pragma omp parallel for schedule(dynamic) num_threads(sim->thread_count)
    for (size_t p = 0; p < parts; p++)
        fly_part(&pass, p);
    for (int slot = 0; slot < sim->colliders.slot_count; slot++)
        for (size_t p = 0; p < parts; p++)
            firn_contact_add(sim, slot, &work_of(sim, p).given[slot]);
}

// --- Sums ----------------------------------------------------------------------------------------

static void measure_part(const flight_pass *pass, size_t part)
{
    part_sums *sums = work_of(pass->sim, part).sums;
    size_t begin = part * PART, end = begin + PART;
    end = end < pass->store->count ? end : pass->store->count;
    const firn_vec3 g = pass->sim->def.gravity;
    *sums = (part_sums){.speed2 = 0.0f};
    for (size_t i = begin; i < end; i++) {
        firn_vec3 v = speed_of(pass, i), x = place_of(pass, i);
        float speed2 = firn_dot(v, v);
        double m = (double)pass->mass[i];
        sums->mass += m;
        sums->kinetic += 0.5 * m * (double)speed2;
        sums->potential -=
            m * ((double)g.x * (double)x.x + (double)g.y * (double)x.y + (double)g.z * (double)x.z);
        sums->settled += pass->seat[i] != 0;
        if (!(speed2 <= sums->speed2)) // also what is no number
            sums->speed2 = speed2 < INFINITY ? speed2 : INFINITY;
    }
}

void firn_flight_measure(firn_sim *sim)
{
    firn_store *s = &sim->store;
    const flight_pass pass = make_pass(sim);
    size_t parts = part_count(s);
    if (s->parts.bytes < parts * sizeof(part_sums))
        return; // the call has failed for want of memory
#pragma omp parallel for schedule(dynamic) num_threads(sim->thread_count)
    for (size_t p = 0; p < parts; p++)
        measure_part(&pass, p);
    s->mass = s->kinetic = s->potential = 0.0;
    s->speed2 = 0.0f;
    s->settled = 0;
    for (size_t p = 0; p < parts; p++) {
        const part_sums *sums = work_of(sim, p).sums;
        s->mass += sums->mass;
        s->kinetic += sums->kinetic;
        s->potential += sums->potential;
        s->settled += sums->settled;
        s->speed2 = sums->speed2 > s->speed2 ? sums->speed2 : s->speed2;
    }
}

void firn_flight_advance(firn_sim *sim)
{
    firn_store *s = &sim->store;
    double from = s->time, span = sim->time - from;
    s->time = sim->time;
    if (s->count == 0 || !(span > 0.0))
        return;
    size_t parts = part_count(s), gone = 0;
    memset(s->parts.data, 0, parts * sizeof(part_sums));
    memset(s->marks.data, FIRN_GRAIN_STAYS, s->count);
    int pieces = (int)ceil(span / PIECE - 1e-6);
    pieces = pieces < 1 ? 1 : pieces;
    for (int k = 0; k < pieces; k++)
        fly(sim, from + span * k / pieces, (float)(span / pieces));
    for (size_t p = 0; p < parts; p++) {
        gone += work_of(sim, p).sums->gone;
        s->crowded |= work_of(sim, p).sums->landed;
    }
    if (gone > 0)
        firn_store_compact(sim);
}

bool firn_flight_is_due(const firn_sim *sim, double dt)
{
    const firn_store *s = &sim->store;
    return s->count > 0 && sim->time + dt - s->time >= s->promise;
}
