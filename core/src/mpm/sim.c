#include "firn/sim.h"

#include "base/threads.h"
#include "firn/defs.h"
#include "sim_defs.h"
#include "sim_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *firn_stage_name(int stage)
{
    static const char *const names[] = {
        [FIRN_STAGE_SORT] = "sort",   [FIRN_STAGE_P2G] = "p2g",     [FIRN_STAGE_GRID] = "grid",
        [FIRN_STAGE_SOLVE] = "solve", [FIRN_STAGE_G2P] = "g2p",     [FIRN_STAGE_CYCLE] = "g2p2g",
        [FIRN_STAGE_EMIT] = "emit",   [FIRN_STAGE_OTHER] = "other",
    };
    return stage >= 0 && (size_t)stage < FIRN_COUNT(names) ? names[stage] : NULL;
}

// Row `to` becomes the matter of row `from` that breaks earlier.
static void put_bond(firn_materials *m, int to, const firn_bond *bond)
{
    const firn_model *model = firn_model_at(m->model[bond->of]);
    m->model[to] = m->model[bond->of];
    m->density[to] = m->density[bond->of];
    for (int c = 0; c < FIRN_MATERIAL_COLUMNS; c++)
        m->column[c][to] = m->column[c][bond->of];
    for (int c = 0; c < FIRN_HEAT_COLUMNS; c++)
        m->heat[c][to] = m->heat[c][bond->of];
    m->partner[to] = m->partner[bond->of] != bond->of ? m->partner[bond->of] : (uint8_t)to;
    if (!bond->loose) {
        m->column[model->bond_column][to] *= bond->share;
        return;
    }
    m->model[to] = (uint8_t)firn_model_index(model->loose);
    m->mixed = true;
    m->full_density = m->density[to];
}

// Whether the solver, as it is set, can do what the model needs.
static firn_result check_model(const firn_sim *sim, const firn_model *model, firn_error *error)
{
    bool implicit = sim->def.integrator == FIRN_INTEGRATOR_IMPLICIT;
    if (implicit && !model->is_implicit)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "material.model is %s, which has no implicit step; set solver.integrator "
                         "to explicit or auto",
                         model->name);
    if (!implicit && model->needs_affine && !firn_sim_is_apic(sim))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "material.model is %s, whose viscosity needs velocity gradients that "
                         "solver.transfer flip does not keep; set solver.transfer to apic",
                         model->name);
    return FIRN_OK;
}

firn_result firn_sim_put_material(firn_sim *sim, int index, const firn_material_def *def,
                                  firn_error *error)
{
    firn_materials *materials = &sim->materials;
    FIRN_TRY(
        firn_def_check(def->cookie, sizeof *def, firn_material_params(), def, "material", error));
    const firn_model *model = firn_model_at(def->model);
    if (model->check != NULL)
        FIRN_TRY(model->check(def, error));
    FIRN_TRY(check_model(sim, model, error));
    firn_materials_put(materials, index, def);
    for (int i = 0; i < materials->count; i++)
        if (sim->bonds[i].share > 0.0f && sim->bonds[i].of == index)
            put_bond(materials, i, &sim->bonds[i]);
    return FIRN_OK;
}

static firn_result check_domain(const firn_sim_def *def, firn_error *error)
{
    float reach = 0.0f;
    const firn_vec3 corners[2] = {def->domain_lower, def->domain_upper};
    for (int i = 0; i < 2; i++)
        reach = fmaxf(reach,
                      fmaxf(fabsf(corners[i].x), fmaxf(fabsf(corners[i].y), fabsf(corners[i].z))));
    float limit = def->cell_size * FIRN_BLOCK_EDGE * (float)(FIRN_COORD_LIMIT - 8);
    if (reach <= limit)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_ARGUMENT,
                     "the domain reaches %g m from the origin, but cells of %g m can be counted "
                     "only to %g m; shrink solver.domain_lower and solver.domain_upper or enlarge "
                     "solver.cell_size",
                     (double)reach, (double)def->cell_size, (double)limit);
}

/// A simulation and what even its readers may change; it begins with the simulation.
typedef struct sim_memory {
    firn_sim sim;
    firn_affine affine;
    firn_array joined;
} sim_memory;

// What heat needs of every particle.
static firn_result add_heat(firn_sim *sim, firn_error *error)
{
    static const char *const names[] = {"temperature", "liquid", "heat"};
    for (size_t i = 0; sim->def.heat && i < FIRN_COUNT(names); i++)
        FIRN_TRY(firn_particles_add_channel(&sim->particles, firn_channel_find(names[i]), error));
    firn_heat_find_columns(sim);
    return FIRN_OK;
}

// One set of bits for all: AVX2 is what every processor with FMA has, and each of its operations is
// rounded as IEEE 754 says.
static firn_result choose_kernels(const firn_sim_def *def, const firn_kernels **kernels,
                                  firn_error *error)
{
    const char *isa = getenv("FIRN_ISA"), *portable = "avx2";
    bool fixed = def->isa == FIRN_ISA_PORTABLE;
    if (fixed && isa != NULL && strcmp(isa, portable) != 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "FIRN_ISA is '%s', but isa is portable, which means %s; leave one of them "
                         "out",
                         isa, portable);
    *kernels = firn_kernels_choose(fixed ? portable : isa);
    if (*kernels != NULL)
        return FIRN_OK;
    if (fixed)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "isa is portable, which needs AVX2 and FMA, and this processor or build "
                         "has none; use another machine, or isa native");
    return firn_fail(error, FIRN_ERR_ARGUMENT,
                     "FIRN_ISA is '%s', which this machine cannot run; leave it unset, or use "
                     "scalar, baseline, avx2 or avx512",
                     isa);
}

firn_result firn_sim_create(const firn_sim_def *def, firn_sim **out, firn_error *error)
{
    *out = NULL;
    FIRN_TRY(firn_sim_def_check(def, error));
    FIRN_TRY(check_domain(def, error));
    const firn_kernels *kernels = NULL;
    FIRN_TRY(choose_kernels(def, &kernels, error));
    sim_memory *memory = firn_alloc_zero(sizeof *memory);
    if (memory == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory for a simulation");
    firn_sim *sim = &memory->sim;
    sim->affine = &memory->affine;
    sim->joined = &memory->joined;
    sim->def = *def;
    sim->kernels = kernels;
    sim->thread_count = firn_thread_count(def->thread_count);
    sim->budget.limit = (size_t)(1e6 * def->memory_limit);
    sim->budget.used = sizeof *sim;
    sim->particles.budget = &sim->budget;
    firn_particles_begin(&sim->particles,
                         FIRN_NEED_ALWAYS | (firn_sim_is_apic(sim) ? FIRN_NEED_APIC : 0u));
    firn_result result = add_heat(sim, error);
    if (result != FIRN_OK) {
        firn_free(memory);
        return result;
    }
    sim->grid.budget = &sim->budget;
    sim->grid.materials = &sim->materials;
    sim->grid.cell_size = def->cell_size;
    sim->grid.order = def->kernel == FIRN_KERNEL_QUADRATIC ? 3 : 4;
    sim->implicit = def->integrator == FIRN_INTEGRATOR_IMPLICIT;
    firn_sim_choose_integrator(sim);
    sim->colliders.budget = &sim->budget;
    sim->forces.budget = &sim->budget;
    sim->bodies.budget = &sim->budget;
    sim->bodies.thread_count = sim->thread_count;
    sim->bodies.sleep_speed = (double)def->sleep_speed;
    sim->bodies.sleep_time = (double)def->sleep_time;
    sim->emission.seeds.budget = &sim->budget;
    sim->emission.seeds.channels = &sim->particles.channels;
    firn_material_def reference = firn_material_def_default();
    firn_sim_put_material(sim, 0, &reference, NULL);
    sim->materials.count = 1;
    sim->stats.mean_jp = sim->stats.min_jp = 1.0;
    sim->revision = 1;
    *out = sim;
    return FIRN_OK;
}

firn_result firn_sim_create_shared(const firn_sim_def *def, const firn_exchange *exchange,
                                   firn_sim **out, firn_error *error)
{
    FIRN_TRY(firn_sim_create(def, out, error));
    firn_sim *sim = *out;
    firn_result result = firn_owners_open(&sim->owners, exchange, &sim->budget, error);
    if (result == FIRN_OK && firn_owners_shared(&sim->owners) &&
        def->free_flight == FIRN_FLIGHT_ALL)
        result = firn_fail(error, FIRN_ERR_UNSUPPORTED,
                           "solver.free_flight is all, but spray outside the grid belongs to no "
                           "rank; set it to snowfall or off, or simulate on one rank");
    if (result != FIRN_OK) {
        firn_sim_destroy(sim);
        *out = NULL;
        return result;
    }
    sim->grid.owners = firn_owners_shared(&sim->owners) ? &sim->owners : NULL;
    return FIRN_OK;
}

void firn_sim_destroy(firn_sim *sim)
{
    if (sim == NULL)
        return;
    firn_source *sources = sim->emission.sources.data;
    for (int i = 0; i < sim->emission.source_count; i++)
        if (sources[i].alive)
            firn_source_close(&sources[i]);
    firn_particles_free(&sim->particles);
    firn_sequence_free(&sim->sequence, &sim->budget);
    firn_grid_free(&sim->grid);
    firn_owners_free(&sim->owners);
    firn_bodies_free(&sim->bodies);
    firn_coupling_free(&sim->coupling, &sim->budget);
    firn_followers_free(&sim->followers, &sim->budget);
    firn_colliders_free(&sim->colliders);
    firn_forces_free(&sim->forces);
    firn_air_free(&sim->air, &sim->budget);
    firn_contact_free(&sim->contact, &sim->budget);
    firn_seeds_free(&sim->emission.seeds);
    firn_array *arrays[] = {
        &sim->emission.new_keys, &sim->emission.sources, &sim->measures.sums,
        &sim->measures.limits,   &sim->node_limits,      &sim->clearance.block,
        &sim->clearance.group,   &sim->clearance.node,   &sim->clearance.open_nodes,
        &sim->solve.blocks,      &sim->rest.asleep,      &sim->rest.awake,
        &sim->rest.idle,         &sim->rest.held};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(&sim->budget, arrays[i]);
    firn_store_free(&sim->store, &sim->budget);
    firn_array_free(&(firn_budget){0}, sim->joined);
    firn_snapshot_free(sim);
    FIRN_ASSERT(sim->budget.used == sizeof *sim);
    firn_free(sim);
}

static firn_result check_material_count(const firn_sim *sim, firn_error *error)
{
    if (sim->materials.count < FIRN_MATERIAL_LIMIT)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_ARGUMENT,
                     "a simulation holds at most %d materials, each kind of bonds between chunks "
                     "counted as one; use per-particle stiffness and density for finer variation",
                     FIRN_MATERIAL_LIMIT);
}

firn_result firn_sim_add_material(firn_sim *sim, const firn_material_def *def, firn_material_id *id,
                                  firn_error *error)
{
    FIRN_TRY(check_material_count(sim, error));
    int index = sim->materials.count;
    FIRN_TRY(firn_sim_put_material(sim, index, def, error));
    sim->bonds[index] = (firn_bond){0};
    sim->materials.count++;
    if (id != NULL)
        *id = (firn_material_id){(uint32_t)index + 1, 1};
    return FIRN_OK;
}

// Finds a material that is made from another, or adds it.
static firn_result find_made(firn_sim *sim, firn_bond bond, uint8_t *found, firn_error *error)
{
    int index = 0;
    while (index < sim->materials.count &&
           (sim->bonds[index].share != bond.share || sim->bonds[index].of != bond.of ||
            sim->bonds[index].loose != bond.loose))
        index++;
    if (index == sim->materials.count) {
        FIRN_TRY(check_material_count(sim, error));
        sim->bonds[index] = bond;
        put_bond(&sim->materials, index, &bond);
        sim->materials.count++;
    }
    *found = (uint8_t)index;
    return FIRN_OK;
}

// Finds what the particles of a source begin with.
static firn_result find_loose(firn_sim *sim, firn_source *source, firn_error *error)
{
    source->loose = source->material;
    if (!source->def.loose)
        return FIRN_OK;
    const firn_model *model = firn_model_at(sim->materials.model[source->material]);
    if (model->loose == NULL || firn_model_index(model->loose) < 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "source.loose asks for loose snow, but its material is of the model %s, "
                         "which does not pack; switch it off or use snow or porous",
                         model->name);
    if (source->def.chunk_size > 0.0f)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "source.loose and source.chunk_size ask for loose snow and for chunks at "
                         "once; switch loose off or set chunk_size to 0");
    return find_made(sim, (firn_bond){1.0f, source->material, true}, &source->loose, error);
}

// Finds the material between the chunks of a source, or adds it.
static firn_result find_bond(firn_sim *sim, firn_source *source, firn_error *error)
{
    const firn_bond bond = {source->def.chunk_bond, source->material, false};
    source->bond = source->material;
    if (source->def.chunk_size == 0.0f)
        return FIRN_OK;
    const firn_model *model = firn_model_at(sim->materials.model[source->material]);
    if (model->bond_column == FIRN_NO_COLUMN)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "source.chunk_size asks for chunks, but its material is of the model %s, "
                         "which does not break; set it to 0 or use snow",
                         model->name);
    return find_made(sim, bond, &source->bond, error);
}

firn_result firn_sim_add_source(firn_sim *sim, const firn_source_def *def, firn_source_id *id,
                                firn_error *error)
{
    FIRN_TRY(firn_source_check(def, error));
    bool stale = def->material.index1 > 0 && def->material.generation != 1;
    if (stale || def->material.index1 > (uint32_t)sim->materials.count)
        return firn_fail(error, FIRN_ERR_STALE,
                         "the source names material %u, but the simulation has %d; add the "
                         "material first",
                         def->material.index1, sim->materials.count);
    firn_error sentence;
    if (error == NULL)
        error = &sentence; // other ranks may want it
    firn_source source = {0};
    firn_result result =
        firn_array_reserve(&sim->budget, &sim->emission.sources,
                           (size_t)sim->emission.source_count + 1, sizeof(firn_source), error);
    if (result == FIRN_OK)
        result = firn_source_open(&source, def, &sim->particles.channels, sim->time, error);
    source.generation = 1;
    source.material = (uint8_t)(def->material.index1 > 0 ? def->material.index1 - 1 : 0);
    source.alive = true;
    const int material_count = sim->materials.count;
    if (result == FIRN_OK)
        result = find_bond(sim, &source, error);
    if (result == FIRN_OK)
        result = find_loose(sim, &source, error);
    if (result == FIRN_OK)
        result = firn_flight_check(sim, &source, error);
    result = firn_sim_emit(sim, &source, result, error);
    if (result != FIRN_OK) {
        sim->materials.count = material_count;
        firn_source_close(&source);
        return result;
    }
    firn_snapshot_void(sim);
    ((firn_source *)sim->emission.sources.data)[sim->emission.source_count++] = source;
    if (id != NULL)
        *id = (firn_source_id){(uint32_t)sim->emission.source_count, source.generation};
    return FIRN_OK;
}

firn_result firn_sim_remove_source(firn_sim *sim, firn_source_id id, firn_error *error)
{
    firn_source *sources = sim->emission.sources.data;
    if (id.index1 == 0 || id.index1 > (uint32_t)sim->emission.source_count ||
        !sources[id.index1 - 1].alive || sources[id.index1 - 1].generation != id.generation)
        return firn_fail(error, FIRN_ERR_STALE, "the source id names no source of this simulation");
    firn_snapshot_void(sim);
    firn_source_close(&sources[id.index1 - 1]);
    sources[id.index1 - 1].alive = false;
    return FIRN_OK;
}

firn_result firn_sim_add_collider(firn_sim *sim, const firn_collider_def *def, firn_collider_id *id,
                                  firn_error *error)
{
    FIRN_TRY(firn_colliders_add(&sim->colliders, def, id, error));
    firn_sleep_disturb(&sim->rest);
    return FIRN_OK;
}

firn_result firn_sim_remove_collider(firn_sim *sim, firn_collider_id id, firn_error *error)
{
    FIRN_TRY(firn_colliders_remove(&sim->colliders, id, error));
    firn_store_release(&sim->store, (int)id.index1 - 1);
    firn_sleep_disturb(&sim->rest);
    return FIRN_OK;
}

firn_result firn_sim_move_collider(firn_sim *sim, firn_collider_id id, const firn_pose_key *keys,
                                   int count, firn_error *error)
{
    FIRN_TRY(firn_colliders_move(&sim->colliders, id, keys, count, error));
    if (sim->colliders.jumped)
        firn_sleep_disturb(&sim->rest);
    sim->colliders.jumped = false;
    return FIRN_OK;
}

firn_result firn_sim_deform_collider(firn_sim *sim, firn_collider_id id,
                                     const firn_surface_key *from, const firn_surface_key *to,
                                     firn_error *error)
{
    return firn_colliders_deform(&sim->colliders, id, from, to, error);
}

firn_result firn_sim_add_force(firn_sim *sim, const firn_force_def *def, firn_force_id *id,
                               firn_error *error)
{
    sim->owners.needs_lee = sim->owners.needs_lee || def->kind == FIRN_FORCE_DRAG;
    return firn_forces_add(&sim->forces, def, id, error);
}

firn_result firn_sim_remove_force(firn_sim *sim, firn_force_id id, firn_error *error)
{
    return firn_forces_remove(&sim->forces, id, error);
}

void firn_sim_set_progress(firn_sim *sim, firn_progress *progress, void *user)
{
    sim->progress = progress;
    sim->progress_user = user;
}

size_t firn_sim_particle_count(const firn_sim *sim)
{
    return sim->particles.count + sim->store.count;
}

double firn_sim_time(const firn_sim *sim) { return sim->time; }

firn_step_stats firn_sim_stats(const firn_sim *sim) { return sim->stats; }

const char *firn_sim_isa(const firn_sim *sim) { return sim->kernels->isa; }

double firn_sim_peak(const firn_sim *sim)
{
    double best = 0.0;
    for (int round = 0; round < 5; round++) {
        double start = firn_seconds(), flops = sim->kernels->exercise();
        best = fmax(best, 1e-9 * flops / (firn_seconds() - start));
    }
    return best;
}
