/// Nodes: momentum and stress become velocities, gravity and forces act, colliders are met.
#include "sim_state.h"

#include <string.h>

// A node with less than this share of the mean particle mass says little about the snow; its
// velocity may be high without meaning a thing.
#define NOTABLE_SHARE 0.05f

enum { AHEAD = 4 }; // blocks

static float notable_mass(const firn_sim *sim)
{
    return NOTABLE_SHARE * (float)(sim->measures.mass / (double)firn_sim_count(sim));
}

// A node that gets less than this at the very edge of a kernel, kg, is taken for empty: the inverse
// of its mass would overflow.
#define LEAST_MASS 1e-30f

// The rows of a block that particles have reached, a bit for each. All others are as they were
// cleared, if anybody has, and stay so.
static uint32_t rows_with_mass(const firn_sim *sim, size_t b)
{
    const float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
    uint32_t rows = firn_grid_rows(&sim->grid, b);
    for (int row = 0; row < FIRN_BLOCK_ROWS; row++) {
        if ((rows >> row & 1) == 0)
            continue;
        const float *v = velocity + row * FIRN_ROW_FLOATS;
        // Masses are not negative: the sum is zero, or no number, when the largest is.
        if (v[3] + v[7] + v[11] + v[15] == 0.0f)
            rows &= ~(1u << row);
    }
    return rows;
}

/// The four nodes of a row by component; w is the mass.
typedef float four __attribute__((vector_size(16), aligned(16), may_alias));
typedef int32_t four_mask __attribute__((vector_size(16)));
typedef struct node_row {
    four x, y, z, w;
} node_row;

static inline node_row transpose(node_row r)
{
    four xy_low = __builtin_shufflevector(r.x, r.y, 0, 4, 1, 5);
    four xy_high = __builtin_shufflevector(r.x, r.y, 2, 6, 3, 7);
    four zw_low = __builtin_shufflevector(r.z, r.w, 0, 4, 1, 5);
    four zw_high = __builtin_shufflevector(r.z, r.w, 2, 6, 3, 7);
    return (node_row){__builtin_shufflevector(xy_low, zw_low, 0, 1, 4, 5),
                      __builtin_shufflevector(xy_low, zw_low, 2, 3, 6, 7),
                      __builtin_shufflevector(xy_high, zw_high, 0, 1, 4, 5),
                      __builtin_shufflevector(xy_high, zw_high, 2, 3, 6, 7)};
}

static inline node_row row_of(const float *nodes)
{
    const four *node = (const four *)nodes;
    return transpose((node_row){node[0], node[1], node[2], node[3]});
}

static inline void row_put(float *nodes, node_row r)
{
    node_row by_node = transpose(r);
    memcpy(nodes, &by_node, sizeof by_node);
}

static inline four where(four_mask mask, four value) { return (four)((four_mask)value & mask); }

// v* = v + dt (f / m + g), method.md (8). With APIC the stress impulse is in the momentum already.
static void accelerate_row(float *velocity, float *old, firn_vec3 kick, float dt)
{
    node_row r = row_of(velocity);
    four_mask there = r.w > LEAST_MASS;
    four inverse = where(there, 1.0f / r.w);
    node_row v = {inverse * r.x, inverse * r.y, inverse * r.z, where(there, r.w)};
    node_row next = {v.x + where(there, kick.x - (four){0}), v.y + where(there, kick.y - (four){0}),
                     v.z + where(there, kick.z - (four){0}), v.w};
    if (old != NULL) {
        node_row force = row_of(old);
        next.x += dt * inverse * force.x;
        next.y += dt * inverse * force.y;
        next.z += dt * inverse * force.z;
        row_put(old, (node_row){v.x, v.y, v.z, force.w});
    }
    row_put(velocity, next);
}

static void accelerate_block(const firn_sim *sim, size_t b, uint32_t rows, float dt)
{
    firn_vec3 kick = firn_scale(dt, sim->def.gravity);
    float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
    bool split = !firn_sim_is_apic(sim) || firn_sim_is_implicit(sim);
    float *old = split ? firn_grid_nodes(&sim->grid, FIRN_NODE_OLD, b) : NULL;
    for (int row = 0; row < FIRN_BLOCK_ROWS; row++)
        if (rows >> row & 1)
            accelerate_row(velocity + row * FIRN_ROW_FLOATS,
                           split ? old + row * FIRN_ROW_FLOATS : NULL, kick, dt);
}

static uint64_t held_nodes(const firn_sim *sim, size_t b)
{
    return sim->rest.asleep_count > 0 ? ((const uint64_t *)sim->rest.held.data)[b] : 0;
}

// The mass (kg) of a cell full of the lightest snow: where that covers a surface, it all sticks.
float firn_grid_full_cell(const firn_sim *sim)
{
    if (!sim->colliders.sticks)
        return 0.0f;
    float lightest = sim->materials.density[0], h = sim->grid.cell_size;
    for (int i = 1; i < sim->materials.count; i++)
        lightest = sim->materials.density[i] < lightest ? sim->materials.density[i] : lightest;
    return lightest * h * h * h;
}

firn_mass_point firn_grid_mass_point(const firn_sim *sim, firn_coord coord, int n, const float *v,
                                     float full)
{
    firn_mass_point point = {firn_grid_node_position(&sim->grid, coord, n),
                             firn_vec(v[0], v[1], v[2]), v[3]};
    if (full > 0.0f) {
        point.cell_size = sim->grid.cell_size;
        point.fill = v[3] / full;
        point.dt = sim->forces.dt;
    }
    return point;
}

// What a node's colliders take is added to taken, for nodes that sleeping snow holds to held.
static void collide_nodes(const firn_sim *sim, size_t b, uint32_t rows, const firn_near *near,
                          firn_impulse *const taken[2])
{
    const firn_grid *grid = &sim->grid;
    firn_coord coord = ((const firn_coord *)grid->node_coord.data)[b];
    float *contacts =
        firn_sim_is_implicit(sim) ? firn_grid_nodes(grid, FIRN_NODE_CONTACT, b) : NULL;
    uint64_t *open = (uint64_t *)sim->clearance.open_nodes.data + b,
             known = near->still ? *open : 0;
    uint64_t held = held_nodes(sim, b);
    float *velocity = firn_grid_nodes(grid, FIRN_NODE_VELOCITY, b);
    float full = firn_grid_full_cell(sim);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        float *v = velocity + 4 * n;
        if ((rows >> n / 4 & 1) == 0 || (known >> n & 1) != 0 || !(v[3] > 0.0f))
            continue;
        firn_mass_point point = firn_grid_mass_point(sim, coord, n, v, full);
        firn_node_contact contact =
            firn_colliders_touch_node(&sim->colliders, near, &point, taken[held >> n & 1]);
        known |= (uint64_t)contact.outside << n;
        v[0] = contact.velocity.x;
        v[1] = contact.velocity.y;
        v[2] = contact.velocity.z;
        if (contacts != NULL) {
            contacts[4 * n] = contact.direction.x;
            contacts[4 * n + 1] = contact.direction.y;
            contacts[4 * n + 2] = contact.direction.z;
            contacts[4 * n + 3] = firn_contact_pack(contact.state, contact.holders);
        }
    }
    // What moves may come to rest where a node was open.
    *open = near->still ? known : 0;
}

static void collide_block(const firn_sim *sim, size_t b, uint32_t rows)
{
    if (firn_sim_is_implicit(sim))
        memset(firn_grid_nodes(&sim->grid, FIRN_NODE_CONTACT, b), 0,
               FIRN_BLOCK_FLOATS * sizeof(float));
    firn_impulse *taken[2] = {NULL, NULL};
    firn_near near = firn_contact_list(&sim->contact.nodes, b, &taken[0]);
    if (near.count == 0)
        return;
    near.still = firn_colliders_are_still(&sim->colliders, &near);
    if (sim->rest.asleep_count > 0)
        taken[1] = (firn_impulse *)sim->contact.held.data +
                   (taken[0] - (firn_impulse *)sim->contact.nodes.taken.data);
    collide_nodes(sim, b, rows, &near, taken);
}

// Loose snow reads its density off the mass of nodes, and what is inside of a collider counts as
// full, method.md (50). From here on nobody reads the bare mass.
static float filled_node(const firn_sim *sim, const firn_near *near, firn_vec3 position, float mass)
{
    float h = sim->grid.cell_size, full = sim->materials.full_density * h * h * h;
    float share = 0.5f - firn_colliders_gap(&sim->colliders, near, position) / h;
    return mass + full * (share < 0.0f ? 0.0f : share > 1.0f ? 1.0f : share);
}

// The share of a node's kernel that is outside of a plane as far from it, in cells.
static float share_outside(float far)
{
    if (!(far < 1.5f))
        return 1.0f;
    if (far >= 0.5f)
        return 1.0f - (1.5f - far) * (1.5f - far) * (1.5f - far) / 6.0f;
    if (far > -0.5f)
        return 0.5f + far * (0.75f - far * far / 3.0f);
    float left = far > -1.5f ? 1.5f + far : 0.0f;
    return left * left * left / 6.0f;
}

// Liquids: what there is, over the share of the node that is open to it, method.md section 4. To
// count solids as full would draw a liquid that is too dense into walls.
static float dense_node(const firn_sim *sim, const firn_near *near, firn_vec3 position, float mass)
{
    const float least = 0.02f; // that of a node one cell inside
    float cells = (sim->grid.order == 3 ? 1.0f : 0.866f) / sim->grid.cell_size, open = 1.0f;
    for (int i = 0; i < near->count; i++) {
        const firn_near one = {.count = 1, .index = near->index + i};
        open *= share_outside(cells * firn_colliders_gap(&sim->colliders, &one, position));
    }
    return mass / (open > least ? open : least);
}

static void fill_solids(const firn_sim *sim, size_t b, uint32_t rows)
{
    const firn_grid *grid = &sim->grid;
    bool liquid = sim->materials.liquid_density > 0.0f;
    firn_impulse *unused;
    firn_near near = firn_contact_list(&sim->contact.nodes, b, &unused);
    if (near.count == 0)
        return;
    firn_coord coord = ((const firn_coord *)grid->node_coord.data)[b];
    float *velocity = firn_grid_nodes(grid, FIRN_NODE_VELOCITY, b);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        float *mass = velocity + 4 * n + 3;
        if ((rows >> n / 4 & 1) == 0 || !(*mass > 0.0f))
            continue;
        firn_vec3 position = firn_grid_node_position(grid, coord, n);
        *mass = liquid ? dense_node(sim, &near, position, *mass)
                       : filled_node(sim, &near, position, *mass);
    }
}

// What sleeps is not on the grid, but liquids beside it must not spread for that.
static void fill_sleeping(const firn_sim *sim, size_t b, float full)
{
    uint64_t held = held_nodes(sim, b);
    float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
    for (int n = 0; held != 0 && n < FIRN_BLOCK_NODES; n++)
        if ((held >> n & 1) != 0 && velocity[4 * n + 3] < full)
            velocity[4 * n + 3] = full;
}

// For those who read their density.
static void fill_block(const firn_sim *sim, size_t b, uint32_t rows)
{
    const firn_materials *m = &sim->materials;
    float h = sim->grid.cell_size;
    if (m->full_density > 0.0f || m->liquid_density > 0.0f)
        fill_solids(sim, b, rows);
    if (m->liquid_density > 0.0f)
        fill_sleeping(sim, b, m->liquid_density * h * h * h);
}

// Nodes that sleeping snow holds stand still.
static void hold_block(const firn_sim *sim, size_t b)
{
    uint64_t held = held_nodes(sim, b);
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
            contacts[4 * n + 3] = firn_contact_pack(FIRN_NODE_STUCK, 0);
    }
}

static firn_node_limits measure_block(const firn_sim *sim, size_t b, uint32_t rows, float notable)
{
    const float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
    four_mask finite = {-1, -1, -1, -1};
    four fastest = {0.0f}, any = {0.0f};
    for (int row = 0; row < FIRN_BLOCK_ROWS; row++) {
        if ((rows >> row & 1) == 0)
            continue;
        node_row r = row_of(velocity + row * FIRN_ROW_FLOATS);
        four speed2 = r.x * r.x + r.y * r.y + r.z * r.z;
        four noted = where(r.w > notable, speed2);
        four_mask faster = noted > fastest;
        finite &= speed2 <= 1e30f;
        fastest = where(faster, noted) + where(~faster, fastest);
        four_mask more = speed2 > any;
        any = where(more, speed2) + where(~more, any);
    }
    firn_node_limits limits = {.finite = true};
    for (int i = 0; i < 4; i++) {
        limits.any_speed2 = any[i] > limits.any_speed2 ? any[i] : limits.any_speed2;
        limits.finite &= finite[i] != 0;
        limits.speed2 = fastest[i] > limits.speed2 ? fastest[i] : limits.speed2;
    }
    return limits;
}

static firn_node_limits all_limits(firn_sim *sim)
{
    const firn_node_limits *limits = sim->node_limits.data;
    firn_node_limits all = {.finite = true};
    for (size_t b = 0; b < sim->grid.node_block_count; b++) {
        all.finite &= limits[b].finite;
        if (limits[b].speed2 > all.speed2)
            all.speed2 = limits[b].speed2;
        if (limits[b].any_speed2 > all.any_speed2)
            all.any_speed2 = limits[b].any_speed2;
    }
    double most[3] = {(double)all.speed2, (double)all.any_speed2, all.finite ? 0.0 : 1.0};
    firn_owners_largest(&sim->owners, most, FIRN_COUNT(most));
    return (firn_node_limits){
        .speed2 = (float)most[0], .any_speed2 = (float)most[1], .finite = most[2] == 0.0};
}

// Of sparse snow the rows lie apart: they are fetched while other blocks are at work.
static void prefetch_rows(const firn_sim *sim, size_t b)
{
    if (b >= sim->grid.node_block_count)
        return;
    const float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
    uint32_t rows = firn_grid_rows(&sim->grid, b);
    for (int row = 0; row < FIRN_BLOCK_ROWS; row++)
        if (rows >> row & 1)
            __builtin_prefetch(velocity + row * FIRN_ROW_FLOATS, 1);
}

firn_result firn_grid_update_reserve(firn_sim *sim, firn_error *error)
{
    FIRN_TRY(firn_air_reserve(sim, error));
    return firn_array_claim(&sim->budget, &sim->node_limits, sim->grid.node_block_count,
                            sizeof(firn_node_limits), error);
}

// The nodes of a block meet what they meet.
static void meet_block(firn_sim *sim, size_t b, uint32_t rows, bool fills)
{
    collide_block(sim, b, rows);
    hold_block(sim, b);
    ((firn_node_limits *)sim->node_limits.data)[b] = measure_block(sim, b, rows, notable_mass(sim));
    if (fills)
        fill_block(sim, b, rows);
}

// Blocks with bodies have waited for all others: bodies give way, and are met then.
static void meet_bodies(firn_sim *sim, bool again, bool fills)
{
    firn_coupling_solve(sim, again);
    size_t count = firn_coupling_count(&sim->coupling);
#pragma omp parallel for schedule(dynamic, 4) num_threads(sim->thread_count)
    for (size_t i = 0; i < count; i++) {
        size_t b = firn_coupling_block(&sim->coupling, i);
        meet_block(sim, b, rows_with_mass(sim, b), fills);
    }
}

firn_node_limits firn_grid_update(firn_sim *sim, float dt)
{
    firn_node_limits *limits = sim->node_limits.data;
    size_t count = sim->grid.node_block_count;
    bool fills = !firn_sim_is_implicit(sim);
    firn_air_prepare(sim);
#pragma omp parallel for schedule(dynamic, 8) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        limits[b] = (firn_node_limits){.finite = true};
        if (firn_sim_is_idle(sim, b))
            continue;
        prefetch_rows(sim, b + AHEAD);
        uint32_t rows = rows_with_mass(sim, b);
        if (rows == 0 && !firn_sim_is_implicit(sim))
            continue;
        accelerate_block(sim, b, rows, dt);
        if (sim->forces.acting_count > 0)
            firn_air_apply(sim, b, rows);
        if (!firn_coupling_gather(sim, b, rows))
            meet_block(sim, b, rows, fills);
    }
    meet_bodies(sim, false, fills);
    return all_limits(sim);
}

firn_node_limits firn_grid_collide(firn_sim *sim)
{
    size_t count = sim->grid.node_block_count;
#pragma omp parallel for schedule(dynamic, 8) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        uint32_t rows = rows_with_mass(sim, b);
        if (!firn_coupling_gather(sim, b, rows))
            meet_block(sim, b, rows, true);
    }
    meet_bodies(sim, true, true);
    return all_limits(sim);
}
