/// Nodes: momentum and force become velocities, gravity acts, colliders are met.
#include "sim_state.h"

#include <math.h>

// A node with less than this share of the mean particle mass says little about the snow; its
// velocity may be high without meaning a thing.
#define NOTABLE_SHARE 0.05f

static float notable_mass(const firn_sim *sim)
{
    const firn_block_sums *sums = sim->sums.data;
    double mass = 0.0;
    for (size_t b = 0; b < sim->grid.block_count; b++)
        mass += sums[b].mass;
    return NOTABLE_SHARE * (float)(mass / (double)sim->particles.count);
}

// A node that gets less than this at the very edge of a kernel, kg, is taken for empty: the inverse
// of its mass would overflow.
#define LEAST_MASS 1e-30f

// v* = v + dt (f / m + g), method.md (8). With APIC the stress impulse is in the momentum already.
static void accelerate_block(const firn_sim *sim, size_t b, float dt)
{
    firn_vec3 kick = firn_scale(dt, sim->def.gravity);
    float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
    bool split = !firn_sim_is_apic(sim) || firn_sim_is_implicit(sim);
    float *old = split ? firn_grid_nodes(&sim->grid, FIRN_NODE_OLD, b) : NULL;
    for (int n = 0; n < FIRN_BLOCK_FLOATS; n += 4) {
        float mass = velocity[n + 3] = velocity[n + 3] <= LEAST_MASS ? 0.0f : velocity[n + 3];
        float inverse = mass > 0.0f ? 1.0f / mass : 0.0f;
        float there = mass > 0.0f ? 1.0f : 0.0f;
        float v[3] = {inverse * velocity[n], inverse * velocity[n + 1], inverse * velocity[n + 2]};
        float g[3] = {there * kick.x, there * kick.y, there * kick.z};
        for (int k = 0; k < 3; k++) {
            velocity[n + k] = v[k] + g[k];
            if (split) {
                velocity[n + k] += dt * inverse * old[n + k];
                old[n + k] = v[k];
            }
        }
    }
}

// How far around a node block colliders are looked for, cells.
#define NODE_MARGIN 2.0f

// In node_room: there is a collider.
#define NEAR_COLLIDER (-1.0f)

// The colliders that nodes of the block may be inside of; false when there are none.
static bool find_near(const firn_sim *sim, size_t b, firn_coord coord, firn_near *near)
{
    float *room = (float *)sim->node_room.data + b, h = sim->grid.cell_size;
    firn_vec3 middle = firn_add(firn_grid_node_position(&sim->grid, coord, 0),
                                firn_vec(1.5f * h, 1.5f * h, 1.5f * h));
    if (*room >= 0.0f && !(*room > sim->surface_way)) {
        firn_colliders_near(&sim->colliders, middle, (2.7f + NODE_MARGIN) * h, near);
        *room = near->count > 0 ? NEAR_COLLIDER : NODE_MARGIN * h;
    }
    if (*room >= 0.0f) {
        *room -= sim->surface_way;
        return false;
    }
    firn_colliders_near(&sim->colliders, middle, 2.7f * h, near);
    return near->count > 0;
}

static void collide_block(const firn_sim *sim, size_t b)
{
    const firn_grid *grid = &sim->grid;
    firn_coord coord = ((const firn_coord *)grid->node_coord.data)[b];
    float *contacts =
        firn_sim_is_implicit(sim) ? firn_grid_nodes(grid, FIRN_NODE_CONTACT, b) : NULL;
    for (int n = 0; contacts != NULL && n < FIRN_BLOCK_FLOATS; n++)
        contacts[n] = 0.0f;
    firn_near near;
    if (!find_near(sim, b, coord, &near))
        return;
    uint64_t *open = (uint64_t *)sim->open_nodes.data + b, known = near.still ? *open : 0;
    float *velocity = firn_grid_nodes(grid, FIRN_NODE_VELOCITY, b);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        float *v = velocity + 4 * n;
        if ((known >> n & 1) != 0 || !(v[3] > 0.0f))
            continue;
        firn_node_contact contact = firn_colliders_touch_node(
            &sim->colliders, &near, firn_grid_node_position(grid, coord, n),
            firn_vec(v[0], v[1], v[2]));
        known |= (uint64_t)contact.outside << n;
        v[0] = contact.velocity.x;
        v[1] = contact.velocity.y;
        v[2] = contact.velocity.z;
        if (contacts != NULL) {
            contacts[4 * n] = contact.direction.x;
            contacts[4 * n + 1] = contact.direction.y;
            contacts[4 * n + 2] = contact.direction.z;
            contacts[4 * n + 3] = (float)contact.state;
        }
    }
    if (near.still)
        *open = known;
}

// Nodes that sleeping snow holds stand still.
static void hold_block(const firn_sim *sim, size_t b)
{
    uint64_t held = sim->asleep_count > 0 ? ((const uint64_t *)sim->held.data)[b] : 0;
    if (held == 0)
        return;
    float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
    float *contacts =
        firn_sim_is_implicit(sim) ? firn_grid_nodes(&sim->grid, FIRN_NODE_CONTACT, b) : NULL;
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        if ((held >> n & 1) == 0)
            continue;
        velocity[4 * n] = velocity[4 * n + 1] = velocity[4 * n + 2] = 0.0f;
        if (contacts != NULL)
            contacts[4 * n + 3] = (float)FIRN_NODE_STUCK;
    }
}

static firn_node_limits measure_block(const firn_sim *sim, size_t b, float notable)
{
    const float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
    firn_node_limits limits = {0.0f, true};
    for (int n = 0; n < FIRN_BLOCK_FLOATS; n += 4) {
        const float *v = velocity + n;
        float speed2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        limits.finite &= speed2 <= 1e30f;
        if (v[3] > notable && speed2 > limits.speed2)
            limits.speed2 = speed2;
    }
    return limits;
}

static firn_node_limits all_limits(const firn_sim *sim)
{
    const firn_node_limits *limits = sim->node_limits.data;
    firn_node_limits all = {0.0f, true};
    for (size_t b = 0; b < sim->grid.node_block_count; b++) {
        all.finite &= limits[b].finite;
        if (limits[b].speed2 > all.speed2)
            all.speed2 = limits[b].speed2;
    }
    return all;
}

firn_node_limits firn_grid_update(firn_sim *sim, float dt)
{
    firn_node_limits *limits = sim->node_limits.data;
    float notable = notable_mass(sim);
    size_t count = sim->grid.node_block_count;
#pragma omp parallel for schedule(dynamic, 8) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        limits[b] = (firn_node_limits){0.0f, true};
        if (firn_sim_is_idle(sim, b))
            continue;
        accelerate_block(sim, b, dt);
        collide_block(sim, b);
        hold_block(sim, b);
        limits[b] = measure_block(sim, b, notable);
    }
    return all_limits(sim);
}

firn_node_limits firn_grid_collide(firn_sim *sim)
{
    firn_node_limits *limits = sim->node_limits.data;
    float notable = notable_mass(sim);
    size_t count = sim->grid.node_block_count;
#pragma omp parallel for schedule(dynamic, 8) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        collide_block(sim, b);
        hold_block(sim, b);
        limits[b] = measure_block(sim, b, notable);
    }
    return all_limits(sim);
}
