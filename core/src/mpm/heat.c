/// The stage of heat over all blocks, and what nodes do in it, method.md section 13.
#include "heat.h"

#include "models/enthalpy.h"
#include "sim_state.h"

#include <math.h>

// A node that gets less than this at the very edge of a kernel is empty, kg; of one that is less
// full than this the temperature is noise.
#define LEAST_MASS 1e-30f

// Stages are at least this far apart, s, and some of the longest substeps.
#define INTERVAL 0.01
enum { INTERVAL_STEPS = 4 };

// Share of rho c h^2 / k that the explicit step bears; a sixth at most.
#define STABLE (0.8 / 6.0)

// Passes of a stage: what takes more would look like a program that hangs.
enum { MOST_PASSES = 1000 };

void firn_heat_find_columns(firn_sim *sim)
{
    const firn_channel_set *set = &sim->particles.channels;
    firn_heat *heat = &sim->heat;
    heat->temperature = set->column[firn_channel_set_find(set, "temperature")];
    heat->liquid = set->column[firn_channel_set_find(set, "liquid")];
    heat->rest = set->column[firn_channel_set_find(set, "heat")];
    heat->age = set->column[firn_channel_set_find(set, "age")];
    heat->flows = sim->def.heat;
    heat->ages = heat->age >= 0;
}

void firn_heat_begin(firn_sim *sim) { sim->heat.until = sim->time; }

bool firn_heat_is_due(const firn_sim *sim, double dt)
{
    const firn_heat *heat = &sim->heat;
    return (heat->flows || heat->ages) && sim->time + dt >= heat->until;
}

// The next stage comes soon enough that what moves feels it, and all is done when the call ends.
static double interval_of(const firn_sim *sim, double left)
{
    double least = fmax(INTERVAL, INTERVAL_STEPS * (double)sim->def.dt_max);
    return left / fmax(1.0, floor(left / least));
}

// J/(kg K) of a material, frozen or molten, whichever warms faster.
static float least_capacity(const firn_materials *m, int material)
{
    return fminf(m->heat[FIRN_HEAT_SOLID][material], m->heat[FIRN_HEAT_LIQUID][material]);
}

// What the explicit step bears at most, s.
static double longest_pass(const firn_sim *sim)
{
    const firn_materials *m = &sim->materials;
    double fastest = 0.0, h = (double)sim->def.cell_size;
    for (int i = 0; i < m->count; i++)
        fastest = fmax(fastest, (double)m->heat[FIRN_HEAT_CONDUCTIVITY][i] /
                                    ((double)m->density[i] * (double)least_capacity(m, i)));
    return STABLE * h * h / fmax(1e-12, fastest);
}

/// One pass.
typedef struct stage {
    firn_sim *sim;
    const firn_heat_pass *heat;
    void (*kernel)(const firn_heat_pass *, const firn_block *);
    bool walls;     // lists of colliders near node blocks are there
    float capacity; // J/(kg K), the least of what may be on a node
} stage;

static void run_kernel(const void *user, size_t b, size_t following)
{
    (void)following;
    const stage *s = user;
    s->kernel(s->heat, &firn_grid_blocks(&s->sim->grid)[b]);
}

static void add_to_nodes(const stage *s, void (*kernel)(const firn_heat_pass *, const firn_block *),
                         int first_field, int field_count)
{
    stage with = *s;
    with.kernel = kernel;
    const firn_node_field fields[2] = {s->heat->pass->velocity, s->heat->pass->old};
    firn_transfer_add(s->sim, (firn_sequence_work){run_kernel, &with}, fields + first_field,
                      field_count);
}

/// What a node is to its surroundings.
typedef struct warm_node {
    firn_vec3 position, outward; // m; m^2, of the surface: volumes times slopes of weights
    float mass, fill;            // kg; share of the cell
    float temperature;           // K
} warm_node;

// J from something that gives power (W/K) for each degree: never more than to its temperature.
static float exchange(const stage *s, const warm_node *node, float power, float temperature)
{
    float capacity = node->mass * s->capacity;
    float given = power * s->heat->dt; // J/K
    return capacity * (temperature - node->temperature) * (given / (capacity + given));
}

// What air and sun give, J. Of a flat surface the areas of its nodes add up to its own.
static float open_energy(const stage *s, const warm_node *node)
{
    const firn_sim_def *def = &s->sim->def;
    float empty = 1.0f - node->fill;
    if (!(empty > 0.0f))
        return 0.0f;
    firn_vec3 outward = firn_scale(2.0f * empty, node->outward);
    float energy = 0.0f, facing = firn_dot(outward, firn_normalize(def->sun_direction));
    if (def->air_exchange > 0.0f)
        energy += exchange(s, node, def->air_exchange * firn_length(outward), def->air_temperature);
    if (facing > 0.0f)
        energy += s->heat->dt * def->sun * facing;
    return energy;
}

// What a collider gives, J: to the one node of each column that is nearest to its surface, and to
// the little that is inside. In reach: no air is here.
static float wall_energy(const stage *s, const firn_near *near, const warm_node *node,
                         bool *in_reach)
{
    firn_warm_wall wall;
    float h = s->sim->def.cell_size;
    *in_reach = near->count > 0 && firn_colliders_gap(&s->sim->colliders, near, node->position) < h;
    if (!s->walls || near->count == 0 ||
        !firn_colliders_warmth(&s->sim->colliders, near, node->position, &wall))
        return 0.0f;
    if (!(wall.gap < 0.5f * h))
        return 0.0f;
    float share = wall.gap > -0.5f * h ? 1.0f : fminf(1.0f, node->fill);
    return exchange(s, node, wall.exchange * h * h * share, wall.temperature);
}

// From sums to temperatures, and J/kg from outside.
static void find_temperatures(const stage *s, size_t b)
{
    const firn_grid *grid = &s->sim->grid;
    float *nodes = firn_grid_nodes(grid, s->heat->pass->velocity, b), h = grid->cell_size;
    const float *surface = firn_grid_nodes(grid, s->heat->pass->old, b);
    const firn_coord coord = ((const firn_coord *)grid->node_coord.data)[b];
    uint32_t rows = firn_grid_rows(grid, b);
    firn_impulse *unused;
    firn_near near = {.count = 0};
    if (s->heat->surface)
        near = firn_contact_list(&s->sim->contact.nodes, b, &unused);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        float *at = nodes + 4 * n, energy = 0.0f;
        if ((rows >> n / 4 & 1) == 0 || !(at[3] > LEAST_MASS))
            continue;
        warm_node node = {.mass = at[3], .temperature = at[0] / at[3] + FIRN_HEAT_ZERO};
        at[0] = at[0] / at[3];
        at[1] = at[2] > 0.0f ? at[1] / at[2] : at[0];
        if (s->heat->surface) {
            const float *side = surface + 4 * n;
            bool in_reach;
            node.position = firn_grid_node_position(grid, coord, n);
            node.outward = firn_vec(side[0], side[1], side[2]);
            node.fill = side[3] / (h * h * h);
            energy = wall_energy(s, &near, &node, &in_reach);
            energy += in_reach ? 0.0f : open_energy(s, &node);
        }
        at[2] = energy / at[3];
    }
}

// What a kilogram has gained.
static void find_gains(const stage *s, size_t b)
{
    const firn_grid *grid = &s->sim->grid;
    float *nodes = firn_grid_nodes(grid, s->heat->pass->velocity, b);
    const float *energy = firn_grid_nodes(grid, s->heat->pass->old, b);
    uint32_t rows = firn_grid_rows(grid, b);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        float *at = nodes + 4 * n;
        if ((rows >> n / 4 & 1) != 0 && at[3] > LEAST_MASS)
            at[0] = at[2] + energy[4 * n] / at[3];
    }
}

static void for_nodes(const stage *s, void (*work)(const stage *, size_t))
{
    size_t count = s->sim->grid.node_block_count;
#pragma omp parallel for schedule(dynamic, 8) num_threads(s->sim->thread_count)
    for (size_t b = 0; b < count; b++)
        work(s, b);
}

// What has become softer or stiffer feels its load anew.
static void give_to_particles(const stage *s)
{
    firn_block *blocks = firn_grid_blocks(&s->sim->grid);
    size_t count = s->sim->grid.block_count;
#pragma omp parallel for schedule(guided, 4) num_threads(s->sim->thread_count)
    for (size_t b = 0; b < count; b++)
        if (s->sim->kernels->heat_to_particles(s->heat, &blocks[b]))
            blocks[b].rest = 0.0f;
}

static void run_pass(const stage *s)
{
    const firn_kernels *kernels = s->sim->kernels;
    add_to_nodes(s, kernels->heat_to_grid, 0, s->heat->surface ? 2 : 1);
    for_nodes(s, find_temperatures);
    add_to_nodes(s, kernels->heat_flow, 1, 1);
    for_nodes(s, find_gains);
    give_to_particles(s);
}

static void grow_older(firn_sim *sim, double seconds)
{
    float *age = firn_channel_of(&sim->particles, sim->heat.age);
    for (size_t p = 0; p < sim->particles.count; p++)
        age[p] += (float)seconds;
}

// Lists of the colliders near node blocks, where they are now.
static firn_result find_walls(firn_sim *sim, firn_error *error)
{
    firn_result result = firn_clearance_prepare(sim, sim->def.dt_min, error);
    FIRN_TRY(firn_owners_agree(&sim->owners, result, error));
    firn_clearance_forget(sim);
    return FIRN_OK;
}

static firn_result count_passes(const firn_sim *sim, double heated, int *passes, firn_error *error)
{
    double count = ceil(heated / longest_pass(sim));
    if (!(count <= MOST_PASSES))
        return firn_fail(
            error, FIRN_ERR_ARGUMENT,
            "heat would need %.3g passes at once, %d at most: lower heat_speed (%g) or "
            "the conductivity of materials, or make cell_size (%g m) larger",
            count, MOST_PASSES, (double)sim->def.heat_speed, (double)sim->def.cell_size);
    *passes = (int)fmax(1.0, count);
    return FIRN_OK;
}

firn_result firn_heat_run(firn_sim *sim, double left, firn_error *error)
{
    double seconds = interval_of(sim, left), heated = seconds * (double)sim->def.heat_speed;
    int passes = 0;
    if (sim->heat.flows)
        FIRN_TRY(count_passes(sim, heated, &passes, error));
    bool open = sim->def.air_exchange > 0.0f || sim->def.sun > 0.0f;
    bool walls = firn_colliders_are_warm(&sim->colliders);
    sim->rest.asleep_count = 0; // all take part; who sleeps is found anew after this
    if (sim->heat.flows && (walls || open))
        FIRN_TRY(find_walls(sim, error));
    sim->heat.until = left - seconds < 1e-9 * left ? sim->time + 2.0 * left : sim->time + seconds;
    if (sim->heat.ages)
        grow_older(sim, seconds);
    if (!sim->heat.flows || !(heated > 0.0) || firn_sim_count(sim) == 0)
        return FIRN_OK;
    firn_pass pass = firn_sim_pass(sim, 0.0f);
    pass.old = firn_sim_is_implicit(sim) ? FIRN_NODE_RESIDUAL : FIRN_NODE_NEXT;
    firn_heat_pass heat = {.pass = &pass,
                           .temperature = sim->heat.temperature,
                           .liquid = sim->heat.liquid,
                           .rest = sim->heat.rest,
                           .dt = (float)(heated / passes),
                           .surface = walls || open};
    stage s = {.sim = sim, .heat = &heat, .walls = walls, .capacity = INFINITY};
    for (int i = 0; i < sim->materials.count; i++)
        s.capacity = fminf(s.capacity, least_capacity(&sim->materials, i));
    float h = sim->def.cell_size;
    heat.most_flow = 1.05f * (float)STABLE * h * h * s.capacity;
    for (int i = 0; i < passes; i++)
        run_pass(&s);
    return FIRN_OK;
}
