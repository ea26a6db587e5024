/// Forces on the nodes that carry snow, and what shields snow from the air: the snow and the
/// colliders around it, method.md section 5.
#include "sim_state.h"

#include <string.h>

// Snow shields nodes as far away as this, in cells: a node that packed snow just reaches is never
// farther from one that is full of it, at faces, edges and corners alike.
enum { LEE = 2, EDGE = 4 + 2 * LEE, CUBE = EDGE * EDGE * EDGE };

// Snow that sleeps is not on the grid; it shields like the densest.
#define ASLEEP_MASS 1e30f

firn_result firn_air_reserve(firn_sim *sim, firn_error *error)
{
    if (!firn_forces_have_drag(&sim->forces))
        return FIRN_OK;
    size_t count = sim->grid.node_block_count;
    FIRN_TRY(firn_array_claim(&sim->budget, &sim->air.lee, count, FIRN_BLOCK_NODES * sizeof(float),
                              error));
    return firn_array_claim(&sim->budget, &sim->air.open, count, sizeof(uint8_t), error);
}

void firn_air_free(firn_air *air, firn_budget *budget)
{
    firn_array_free(budget, &air->lee);
    firn_array_free(budget, &air->open);
}

static float mass_at(const firn_sim *sim, size_t b, int node, uint32_t rows)
{
    if (sim->rest.asleep_count > 0 && (((const uint64_t *)sim->rest.held.data)[b] >> node & 1) != 0)
        return ASLEEP_MASS;
    bool written = (rows >> node / 4 & 1) != 0;
    return written ? firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b)[4 * node + 3] : 0.0f;
}

/// The nodes of a neighbor along an axis that are in the cube, and where.
typedef struct span {
    int begin, end, shift;
} span;

static span span_of(int side)
{
    return (span){side < 0 ? 4 - LEE : 0, side > 0 ? LEE : 4, 4 * side + LEE};
}

// The masses of a node block and LEE nodes around it.
static void collect(const firn_sim *sim, size_t b, float cube[CUBE])
{
    firn_coord coord = ((const firn_coord *)sim->grid.node_coord.data)[b];
    memset(cube, 0, CUBE * sizeof(float));
    for (int n = 0; n < FIRN_NEIGHBORS; n++) {
        firn_coord place = firn_block_neighbor(coord, n);
        int32_t near = firn_block_map_find(&sim->grid.map, firn_block_key(place));
        const float *theirs = near < 0 && firn_owners_shared(&sim->owners)
                                  ? firn_lee_find(&sim->owners, firn_block_key(place))
                                  : NULL;
        if (near < 0 && theirs == NULL)
            continue;
        uint32_t rows = near >= 0 ? firn_grid_rows(&sim->grid, (size_t)near) : 0;
        const span x = span_of(n / 9 - 1), y = span_of(n / 3 % 3 - 1), z = span_of(n % 3 - 1);
        for (int i = x.begin; i < x.end; i++)
            for (int j = y.begin; j < y.end; j++)
                for (int k = z.begin; k < z.end; k++) {
                    int node = 16 * i + 4 * j + k;
                    cube[((i + x.shift) * EDGE + j + y.shift) * EDGE + k + z.shift] =
                        near >= 0 ? mass_at(sim, (size_t)near, node, rows) : theirs[node];
                }
    }
}

static float larger(float a, float b) { return a > b ? a : b; }

// The largest of each entry and the four behind it, 2 LEE, in steps.
static inline void spread(float cube[CUBE], int step)
{
    const int count = CUBE - 2 * LEE * step;
    for (int i = 0; i < count; i++) {
        float two = larger(cube[i], cube[i + step]);
        float four = larger(two, larger(cube[i + 2 * step], cube[i + 3 * step]));
        cube[i] = larger(four, cube[i + 4 * step]);
    }
}

static void find_lee(const firn_sim *sim, size_t b, float *lee)
{
    float cube[CUBE];
    collect(sim, b, cube);
    // Of the entries that are read at last none has looked beyond the end of its line.
    spread(cube, 1);
    spread(cube, EDGE);
    spread(cube, EDGE * EDGE);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++)
        lee[n] = cube[((n >> 4) * EDGE + (n >> 2 & 3)) * EDGE + (n & 3)];
}

static void put_masses(const void *user, size_t b, float mass[])
{
    const firn_sim *sim = user;
    uint32_t rows = firn_grid_rows(&sim->grid, b);
    for (int node = 0; node < FIRN_BLOCK_NODES; node++)
        mass[node] = mass_at(sim, b, node, rows);
}

void firn_air_prepare(firn_sim *sim)
{
    sim->air.acting = sim->forces.acting_count > 0 && firn_forces_drag(&sim->forces);
    if (!sim->air.acting)
        return;
    if (firn_owners_shared(&sim->owners))
        firn_lee_exchange(&sim->owners, put_masses, sim);
    size_t count = sim->grid.node_block_count;
#pragma omp parallel for schedule(dynamic, 8) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        ((uint8_t *)sim->air.open.data)[b] = 0;
        if (!firn_sim_is_idle(sim, b))
            find_lee(sim, b, (float *)sim->air.lee.data + FIRN_BLOCK_NODES * b);
    }
}

// What stands around a point: air does not blow into it.
static void find_wall(const firn_sim *sim, size_t b, firn_force_points *points)
{
    firn_impulse *unused;
    firn_near near = firn_contact_list(&sim->contact.nodes, b, &unused);
    for (int i = 0; near.count > 0 && i < points->count; i++)
        firn_colliders_wall(&sim->colliders, &near, points->position[i], sim->grid.cell_size,
                            &points->wall[i], &points->wall_velocity[i]);
}

void firn_air_apply(const firn_sim *sim, size_t b, uint32_t rows)
{
    firn_coord coord = ((const firn_coord *)sim->grid.node_coord.data)[b];
    float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
    firn_force_points points = {.count = 0};
    int number[FIRN_FORCE_NODES];
    const float *lee =
        sim->air.acting ? (const float *)sim->air.lee.data + FIRN_BLOCK_NODES * b : NULL;
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        const float *v = velocity + 4 * n;
        if ((rows >> n / 4 & 1) == 0 || !(v[3] > 0.0f))
            continue;
        int i = points.count++;
        number[i] = n;
        points.position[i] = firn_grid_node_position(&sim->grid, coord, n);
        points.velocity[i] = firn_vec(v[0], v[1], v[2]);
        points.mass[i] = v[3];
        points.lee[i] = lee != NULL ? lee[n] : 0.0f;
    }
    if (lee != NULL)
        find_wall(sim, b, &points);
    bool open = firn_forces_apply(&sim->forces, sim->def.gravity, sim->grid.cell_size, &points);
    if (lee != NULL)
        ((uint8_t *)sim->air.open.data)[b] = open;
    for (int i = 0; i < points.count; i++)
        memcpy(velocity + 4 * number[i], &points.velocity[i], sizeof(firn_vec3));
}

bool firn_air_stirs(const firn_sim *sim, const firn_block *block)
{
    const uint8_t *open = sim->air.open.data;
    if (!sim->air.acting || !firn_forces_vary(&sim->forces))
        return false;
    for (int n = 0; n < FIRN_NEIGHBORS; n++)
        if (block->near[n] >= 0 && open[block->near[n]] != 0)
            return true;
    return false;
}
