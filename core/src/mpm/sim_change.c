/// What may change while a simulation runs, between two calls of firn_sim_step. A checkpoint does
/// not hold these values: whoever loads one sets them as they were, and the rest follows bit for
/// bit.
#include "sim_defs.h"
#include "sim_state.h"

#include <string.h>

// Snow that sleeps rests under what was; what is different wakes it.
static void disturb(firn_sim *sim, const void *before, const void *now, size_t size)
{
    if (memcmp(before, now, size) != 0)
        firn_sleep_disturb(&sim->rest);
}

firn_result firn_sim_change(firn_sim *sim, const firn_sim_def *def, firn_error *error)
{
    FIRN_TRY(firn_sim_def_check(def, error));
    disturb(sim, &sim->def.gravity, &def->gravity, sizeof def->gravity);
    sim->def.gravity = def->gravity;
    sim->def.flip_ratio = def->flip_ratio;
    sim->def.dt_min = def->dt_min;
    sim->def.dt_max = def->dt_max;
    sim->def.cfl = def->cfl;
    sim->def.wave_cfl = def->wave_cfl;
    sim->def.tolerance = def->tolerance;
    sim->def.max_iterations = def->max_iterations;
    sim->def.speed_limit = def->speed_limit;
    return FIRN_OK;
}

firn_result firn_sim_change_material(firn_sim *sim, firn_material_id id,
                                     const firn_material_def *def, firn_error *error)
{
    if (id.index1 == 0 || id.index1 > (uint32_t)sim->materials.count || id.generation != 1)
        return firn_fail(error, FIRN_ERR_STALE, "the simulation has no material %u", id.index1);
    const firn_materials before = sim->materials;
    const firn_model *model = firn_model_at(before.model[id.index1 - 1]);
    if (def->model != before.model[id.index1 - 1])
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "material %u is of the model %s, which cannot change while it is "
                         "simulated; start again or use another material",
                         id.index1, model->name);
    FIRN_TRY(firn_sim_put_material(sim, (int)id.index1 - 1, def, error));
    disturb(sim, &before, &sim->materials, sizeof before);
    return FIRN_OK;
}

firn_result firn_sim_change_source(firn_sim *sim, firn_source_id id, const firn_source_def *def,
                                   firn_error *error)
{
    firn_source *sources = sim->emission.sources.data;
    if (id.index1 == 0 || id.index1 > (uint32_t)sim->emission.source_count ||
        sources[id.index1 - 1].generation != id.generation || !sources[id.index1 - 1].alive)
        return firn_fail(error, FIRN_ERR_STALE, "the simulation has no source %u", id.index1);
    FIRN_TRY(firn_source_check(def, error));
    firn_source_change(&sources[id.index1 - 1], def, sim->time, sim->def.cell_size);
    return FIRN_OK;
}

firn_result firn_sim_change_collider(firn_sim *sim, firn_collider_id id,
                                     const firn_collider_def *def, firn_error *error)
{
    bool changed = false;
    FIRN_TRY(firn_colliders_change(&sim->colliders, id, def, &changed, error));
    if (changed) {
        firn_store_release(&sim->store, (int)id.index1 - 1);
        firn_sleep_disturb(&sim->rest);
    }
    return FIRN_OK;
}

firn_result firn_sim_change_force(firn_sim *sim, firn_force_id id, const firn_force_def *def,
                                  firn_error *error)
{
    bool everywhere = false;
    FIRN_TRY(firn_forces_change(&sim->forces, id, def, &everywhere, error));
    if (everywhere)
        sim->rest.disturbed = true;
    return FIRN_OK;
}
