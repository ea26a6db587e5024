#include "solver_materials.h"

/// What a source, or the solver, has linked.
typedef struct linked {
    const firn_material_def *own, *partner; // NULL: there is none
} linked;

// Of source number i; past the last: of those without.
static linked linked_at(const firn_cook *cook, size_t i)
{
    if (i < firn_cook_input_count(cook, "sources")) {
        const firn_source_data *source = firn_cook_input(cook, "sources", i)->source;
        return (linked){source->material, source->partner};
    }
    if (firn_cook_input_count(cook, "material") == 0)
        return (linked){NULL, NULL};
    const firn_data *data = firn_cook_input(cook, "material", 0);
    return (linked){data->material, data->partner};
}

const firn_material_def *firn_solver_common(const firn_cook *cook)
{
    return linked_at(cook, SIZE_MAX).own;
}

// A liquid may be so thick that substeps shrink for it: who waits should know why.
static void tell_of_thickness(const firn_cook *cook, const firn_sim_def *sim,
                              const firn_material_def *def)
{
    float h = sim->cell_size;
    bool implicit = sim->integrator == FIRN_INTEGRATOR_IMPLICIT;
    if (def->model != FIRN_MODEL_LIQUID || implicit || !(def->viscosity > 0.0f))
        return;
    double bound = (double)(def->density * h * h / (6.0f * def->viscosity));
    if (bound < 0.5 * (double)(h / def->sound_speed))
        firn_cook_log(cook, FIRN_LEVEL_INFO,
                      "a viscosity of %g Pa s at cells of %g m bounds explicit substeps to %.3g s; "
                      "solver.integrator implicit is not bound by it",
                      (double)def->viscosity, (double)h, bound);
}

firn_result firn_solver_materials_add(const firn_cook *cook, const firn_sim_def *def, firn_sim *sim,
                                      size_t source, firn_solver_pair *pair, firn_error *error)
{
    linked of = linked_at(cook, source);
    firn_solver_pair *to = &pair[source];
    if (of.own == NULL || to->own.index1 > 0)
        return FIRN_OK;
    tell_of_thickness(cook, def, of.own);
    FIRN_TRY(firn_sim_add_material(sim, of.own, &to->own, error));
    if (of.partner == NULL)
        return FIRN_OK;
    tell_of_thickness(cook, def, of.partner);
    FIRN_TRY(firn_sim_add_material(sim, of.partner, &to->partner, error));
    return firn_sim_pair_materials(sim, to->own, to->partner, error);
}

firn_result firn_solver_materials_begin(const firn_cook *cook, const firn_sim_def *def,
                                        firn_sim *sim, firn_solver_pair *pair, firn_error *error)
{
    size_t count = firn_cook_input_count(cook, "sources");
    bool paired = false;
    FIRN_TRY(firn_solver_materials_add(cook, def, sim, count, pair, error));
    for (size_t i = 0; i <= count; i++)
        paired = paired || linked_at(cook, i).partner != NULL;
    for (size_t i = 0; paired && i < count; i++) {
        firn_result added = firn_solver_materials_add(cook, def, sim, i, pair, error);
        FIRN_TRY(firn_cook_blame(cook, "sources", i, added));
    }
    return FIRN_OK;
}

firn_result firn_solver_materials_change(const firn_cook *cook, firn_sim *sim,
                                         const firn_solver_pair *pair, firn_error *error)
{
    for (size_t i = 0; i <= firn_cook_input_count(cook, "sources"); i++) {
        linked of = linked_at(cook, i);
        if (pair[i].own.index1 > 0)
            FIRN_TRY(firn_sim_change_material(sim, pair[i].own, of.own, error));
        if (pair[i].partner.index1 > 0)
            FIRN_TRY(firn_sim_change_material(sim, pair[i].partner, of.partner, error));
    }
    return FIRN_OK;
}
