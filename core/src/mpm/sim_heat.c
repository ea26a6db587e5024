#include "firn/sim_heat.h"

#include "models/enthalpy.h"
#include "sim_state.h"

static firn_result find_material(const firn_sim *sim, firn_material_id id, int *index,
                                 firn_error *error)
{
    *index = (int)id.index1 - 1;
    if (id.index1 == 0 || id.index1 > (uint32_t)sim->materials.count || id.generation != 1)
        return firn_fail(error, FIRN_ERR_STALE, "the simulation has no material %u", id.index1);
    return FIRN_OK;
}

// What a particle has of heat must mean the same before and after.
static firn_result check_substance(const firn_materials *m, int one, int other, firn_error *error)
{
    static const struct {
        firn_heat_column column;
        const char *name, *unit;
    } same[] = {{FIRN_HEAT_SOLID, "heat_capacity", "J/(kg K)"},
                {FIRN_HEAT_LIQUID, "liquid_heat_capacity", "J/(kg K)"},
                {FIRN_HEAT_LATENT, "latent_heat", "J/kg"},
                {FIRN_HEAT_MELTING, "melting_point", "K"}};
    for (size_t i = 0; i < FIRN_COUNT(same); i++) {
        float a = m->heat[same[i].column][one], b = m->heat[same[i].column][other];
        if (a != b)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "materials that melt and freeze to each other must be of one "
                             "substance, but material.%s is %g %s of one and %g %s of the other; "
                             "give both the same",
                             same[i].name, (double)a, same[i].unit, (double)b, same[i].unit);
    }
    return FIRN_OK;
}

// Material `from` becomes the other one. What only ages needs a channel for that.
static firn_result add_age(firn_sim *sim, int one, int other, firn_error *error)
{
    const float *after = sim->materials.heat[FIRN_HEAT_CHANGE_AFTER];
    if (!(after[one] > 0.0f) && !(after[other] > 0.0f))
        return FIRN_OK;
    FIRN_TRY(firn_particles_add_channel(&sim->particles, firn_channel_find("age"), error));
    firn_heat_find_columns(sim);
    return FIRN_OK;
}

firn_result firn_sim_pair_materials(firn_sim *sim, firn_material_id one, firn_material_id other,
                                    firn_error *error)
{
    int a, b;
    firn_materials *m = &sim->materials;
    FIRN_TRY(find_material(sim, one, &a, error));
    FIRN_TRY(find_material(sim, other, &b, error));
    if (sim->emission.source_count > 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "materials must be paired before the first source is added");
    bool flows[2] = {firn_model_at(m->model[a])->flows, firn_model_at(m->model[b])->flows};
    if (flows[0] == flows[1])
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a material melts to a liquid and freezes to a solid, but both are of %s "
                         "(%s and %s); material.model of one of them must be %s",
                         flows[0] ? "the model liquid" : "solid models",
                         firn_model_at(m->model[a])->name, firn_model_at(m->model[b])->name,
                         flows[0] ? "another" : "liquid");
    int solid = flows[0] ? b : a, liquid = flows[0] ? a : b;
    float melt = m->heat[FIRN_HEAT_CHANGE_AT][solid], freeze = m->heat[FIRN_HEAT_CHANGE_AT][liquid];
    if (!(freeze < melt))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "material.freeze_at is %g, not below material.melt_at of its partner, %g; "
                         "it would melt and freeze again and again",
                         (double)freeze, (double)melt);
    FIRN_TRY(check_substance(m, a, b, error));
    FIRN_TRY(add_age(sim, a, b, error));
    m->partner[a] = (uint8_t)b;
    m->partner[b] = (uint8_t)a;
    return FIRN_OK;
}

double firn_sim_enthalpy(const firn_sim *sim)
{
    const firn_particles *particles = &sim->particles;
    const uint8_t *material = particles->material.data;
    double sum = 0.0;
    for (size_t p = 0; sim->heat.flows && p < particles->count; p++) {
        firn_warmth w = {firn_channel_of(particles, sim->heat.temperature)[p],
                         firn_channel_of(particles, sim->heat.liquid)[p],
                         firn_channel_of(particles, sim->heat.rest)[p]};
        sum += (double)firn_channel_of(particles, FIRN_MASS)[p] *
               firn_enthalpy(&sim->materials, material[p], w);
    }
    return sum;
}
