/// The kernels over all blocks, in parallel. Scatters go in the order of the colors: blocks of one
/// color share no node, and a node receives its sums in that order, whatever the threads do.
#include "sim_state.h"

#include <math.h>
#include <string.h>

firn_pass firn_sim_pass(const firn_sim *sim, float dt)
{
    firn_pass pass = {
        .grid = &sim->grid,
        .particles = &sim->particles,
        .materials = &sim->materials,
        .colliders = &sim->colliders,
        .scheme = !firn_sim_is_apic(sim)      ? FIRN_SCHEME_FLIP
                  : firn_sim_is_implicit(sim) ? FIRN_SCHEME_APIC_SPLIT
                                              : FIRN_SCHEME_APIC,
        .dt = dt,
        .strain_rate = dt > 0.0f ? 1.0f / (sim->def.beta * dt) : 0.0f,
        .velocity = FIRN_NODE_VELOCITY,
        .old = FIRN_NODE_OLD,
        // The share is given for a reference step; it compounds like a decay, method.md (14).
        .flip_share = powf(sim->def.flip_ratio, dt / sim->def.flip_reference_dt),
    };
    pass.surface_travel = sim->clearance.surface_travel;
    pass.contacts = &sim->contact.particles;
    pass.block_clearance = sim->clearance.block.data;
    pass.group_clearance = sim->clearance.group.data;
    memcpy(pass.cache, sim->solve.cache, sizeof pass.cache);
    return pass;
}

firn_result firn_transfer_reserve(firn_sim *sim, firn_error *error)
{
    firn_measures *m = &sim->measures;
    size_t count = sim->grid.block_count;
    FIRN_TRY(firn_array_claim(&sim->budget, &m->sums, count, sizeof(firn_block_sums), error));
    return firn_array_claim(&sim->budget, &m->limits, count, sizeof(firn_block_limits), error);
}

static void clear_field(firn_sim *sim, firn_node_field field)
{
    size_t count = sim->grid.node_block_count;
#pragma omp parallel for schedule(static) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        if (firn_sim_is_implicit(sim)) // its solve runs over all nodes
            memset(firn_grid_nodes(&sim->grid, field, b), 0, FIRN_BLOCK_FLOATS * sizeof(float));
        else if (!firn_sim_is_idle(sim, b))
            firn_grid_clear_rows(&sim->grid, field, b);
}

static void clear_target(firn_sim *sim, const firn_pass *pass)
{
    clear_field(sim, pass->velocity);
    if (pass->scheme != FIRN_SCHEME_APIC)
        clear_field(sim, pass->old);
}

/// Sums over all particles at the start of a substep.
typedef struct totals {
    double mass;                        // kg
    double kinetic, elastic, potential; // J
    double jp, jp_min, packing;
} totals;

// Adds the blocks of this rank, one after the other.
static void add_blocks(void *state, void *context)
{
    totals *t = state;
    const firn_sim *sim = context;
    const firn_block_sums *sums = sim->measures.sums.data;
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    double h = sim->def.cell_size, shift = firn_grid_shift(&sim->grid);
    firn_vec3 gravity = sim->def.gravity;
    if (sim->forces.acting_count > 0)
        gravity = firn_add(gravity, firn_forces_constant(&sim->forces));
    for (size_t b = 0; b < sim->grid.block_count; b++) {
        const firn_block_sums *s = &sums[b];
        firn_coord c = blocks[b].coord;
        t->mass += s->mass;
        t->kinetic += s->kinetic;
        t->elastic += s->elastic;
        t->potential -= (double)gravity.x * h * (s->moment[0] + s->mass * (4.0 * c.x + shift)) +
                        (double)gravity.y * h * (s->moment[1] + s->mass * (4.0 * c.y + shift)) +
                        (double)gravity.z * h * (s->moment[2] + s->mass * (4.0 * c.z + shift));
        t->jp += s->jp;
        t->packing += s->packing;
        if (s->jp_min < t->jp_min)
            t->jp_min = s->jp_min;
    }
}

static void add_sums(firn_sim *sim)
{
    firn_step_stats *stats = &sim->stats;
    stats->kinetic = stats->elastic = stats->potential = 0.0;
    stats->mean_jp = stats->min_jp = 1.0;
    if (sim->store.count > 0) {
        stats->kinetic = sim->store.kinetic;
        stats->potential = sim->store.potential;
    }
    if (firn_sim_count(sim) == 0)
        return;
    totals t = {.jp_min = (double)FIRN_NO_JP};
    firn_owners_fold(&sim->owners, &t, sizeof t, add_blocks, sim);
    sim->measures.mass = t.mass;
    stats->kinetic += t.kinetic;
    stats->elastic = t.elastic;
    stats->potential += t.potential;
    if (t.packing > 0.0) {
        stats->mean_jp = t.jp / t.packing;
        stats->min_jp = t.jp_min;
    }
}

/// What the kernels of one stage need.
typedef struct stage {
    const firn_sim *sim;
    const firn_pass *pass, *next;
    firn_block_sums *sums;
    firn_block_limits *limits;
    void (*scatter)(const firn_pass *, const firn_block *);
} stage;

static void block_to_grid(const void *user, size_t b, size_t following)
{
    const stage *s = user;
    const firn_block *blocks = firn_grid_blocks(&s->sim->grid);
    if (s->sim->order.since_sort == 0 || !firn_sim_sleeps(s->sim, b))
        s->sim->kernels->to_grid(s->pass, &blocks[b], &blocks[following], &s->sums[b]);
}

// Runs a stage over all blocks, those that share nodes in the order of their colors. It adds to a
// field, or to two.
static void run_stage(firn_sim *sim, firn_sequence_work work, const firn_node_field *fields,
                      int field_count)
{
    firn_halo_begin(&sim->owners, fields, field_count);
    firn_sequence_run(&sim->sequence, &sim->grid, sim->thread_count, work);
    firn_halo_end(&sim->owners, &sim->grid, sim->thread_count);
}

void firn_transfer_add(firn_sim *sim, firn_sequence_work work, const firn_node_field *fields,
                       int field_count)
{
    for (int i = 0; i < field_count; i++)
        clear_field(sim, fields[i]);
    run_stage(sim, work, fields, field_count);
}

// Runs a stage that adds what the particles have to the fields of a pass.
static void run_transfer(firn_sim *sim, void (*run)(const void *, size_t, size_t), const stage *s,
                         const firn_pass *target)
{
    const firn_node_field fields[2] = {target->velocity, target->old};
    clear_target(sim, target);
    run_stage(sim, (firn_sequence_work){run, s}, fields,
              target->scheme == FIRN_SCHEME_APIC ? 1 : 2);
}

void firn_transfer_to_grid(firn_sim *sim, float dt)
{
    firn_transfer_recover(sim);
    firn_pass pass = firn_sim_pass(sim, dt);
    stage s = {.sim = sim, .pass = &pass, .sums = sim->measures.sums.data};
    firn_foresight_void(&sim->foresight);
    run_transfer(sim, block_to_grid, &s, &pass);
    add_sums(sim);
}

static void measure_all(firn_sim *sim)
{
    firn_foresight_measure(&sim->foresight, &sim->owners, sim->measures.limits.data,
                           sim->grid.block_count, sim->grid.cell_size);
}

void firn_transfer_to_particles(firn_sim *sim, float dt)
{
    firn_pass pass = firn_sim_pass(sim, dt);
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    firn_block_limits *limits = sim->measures.limits.data;
    size_t count = sim->grid.block_count;
// Threads work far from each other: a thread that fetches ahead must not take lines that another
// one writes.
#pragma omp parallel for schedule(guided, 4) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        if (!firn_sim_sleeps(sim, b))
            sim->kernels->to_particles(&pass, &blocks[b], &blocks[b + 1 < count ? b + 1 : b],
                                       &limits[b]);
    *sim->affine = FIRN_AFFINE_THERE;
    measure_all(sim);
}

static void block_cycle(const void *user, size_t b, size_t following)
{
    const stage *s = user;
    const firn_block *blocks = firn_grid_blocks(&s->sim->grid);
    if (!firn_sim_sleeps(s->sim, b))
        s->sim->kernels->cycle(s->pass, s->next, &blocks[b], &blocks[following], &s->limits[b],
                               &s->sums[b]);
}

void firn_transfer_cycle(firn_sim *sim, double dt, double next_dt)
{
    FIRN_ASSERT(firn_grid_has(&sim->grid, FIRN_NODE_NEXT)); // explicit
    firn_pass pass = firn_sim_pass(sim, (float)dt), next = firn_sim_pass(sim, (float)next_dt);
    next.velocity = FIRN_NODE_NEXT;
    next.old = FIRN_NODE_NEXT_OLD;
    stage s = {sim, &pass, &next, sim->measures.sums.data, sim->measures.limits.data, NULL};
    run_transfer(sim, block_cycle, &s, &next);
    measure_all(sim);
    firn_foresight_fill(&sim->foresight, next_dt);
    *sim->affine = firn_sim_is_apic(sim) ? FIRN_AFFINE_IN_NODE_VELOCITY : FIRN_AFFINE_THERE;
}

void firn_transfer_take_ahead(firn_sim *sim)
{
    firn_array *field = sim->grid.field;
    firn_array velocity = field[FIRN_NODE_VELOCITY], old = field[FIRN_NODE_OLD];
    field[FIRN_NODE_VELOCITY] = field[FIRN_NODE_NEXT];
    field[FIRN_NODE_NEXT] = velocity;
    field[FIRN_NODE_OLD] = field[FIRN_NODE_NEXT_OLD];
    field[FIRN_NODE_NEXT_OLD] = old;
    firn_foresight_void(&sim->foresight);
    if (*sim->affine == FIRN_AFFINE_IN_NODE_VELOCITY)
        *sim->affine = FIRN_AFFINE_IN_NODE_NEXT;
    add_sums(sim);
}

void firn_transfer_recover(const firn_sim *sim)
{
    if (*sim->affine == FIRN_AFFINE_THERE)
        return;
    firn_pass pass = firn_sim_pass(sim, 0.0f);
    pass.velocity = *sim->affine == FIRN_AFFINE_IN_NODE_NEXT ? FIRN_NODE_NEXT : FIRN_NODE_VELOCITY;
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    size_t count = sim->grid.block_count;
#pragma omp parallel for schedule(guided, 4) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        if (!firn_sim_sleeps(sim, b))
            sim->kernels->recover(&pass, &blocks[b]);
    *sim->affine = FIRN_AFFINE_THERE;
}

void firn_transfer_measure(firn_sim *sim)
{
    firn_pass pass = firn_sim_pass(sim, 0.0f);
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    firn_block_limits *limits = sim->measures.limits.data;
    size_t count = sim->grid.block_count;
#pragma omp parallel for schedule(guided, 4) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        sim->kernels->measure(&pass, &blocks[b], &limits[b]);
    measure_all(sim);
}

static void for_blocks(firn_sim *sim, const firn_pass *pass,
                       void (*kernel)(const firn_pass *, const firn_block *))
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    size_t count = sim->grid.block_count;
#pragma omp parallel for schedule(guided, 4) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        kernel(pass, &blocks[b]);
}

void firn_transfer_find_volumes(firn_sim *sim)
{
    firn_transfer_to_grid(sim, 0.0f);
    firn_pass pass = firn_sim_pass(sim, 0.0f);
    for_blocks(sim, &pass, sim->kernels->find_volumes);
}

static void block_scatter(const void *user, size_t b, size_t following)
{
    (void)following;
    const stage *s = user;
    if (!firn_sim_sleeps(s->sim, b))
        s->scatter(s->pass, &firn_grid_blocks(&s->sim->grid)[b]);
}

// Clears the output field and adds to it from all blocks.
static void scatter(firn_sim *sim, const firn_pass *pass,
                    void (*kernel)(const firn_pass *, const firn_block *))
{
    stage s = {.sim = sim, .pass = pass, .scatter = kernel};
    firn_transfer_add(sim, (firn_sequence_work){block_scatter, &s}, &pass->output, 1);
}

void firn_transfer_prepare_hessian(firn_sim *sim, float dt)
{
    firn_implicit_lease_cache(sim);
    firn_pass pass = firn_sim_pass(sim, dt);
    for_blocks(sim, &pass, sim->kernels->prepare_hessian);
    pass.output = FIRN_NODE_DIAGONAL;
    scatter(sim, &pass, sim->kernels->diagonal_hessian);
}

void firn_transfer_apply_hessian(firn_sim *sim, float dt, firn_node_field input,
                                 firn_node_field output)
{
    FIRN_ASSERT(sim->solve.cache[0] != NULL); // leased by firn_transfer_prepare_hessian
    firn_pass pass = firn_sim_pass(sim, dt);
    pass.input = input;
    pass.output = output;
    scatter(sim, &pass, sim->kernels->apply_hessian);
}
