#include "force_links.h"

firn_result firn_force_links_add(const firn_cook *cook, firn_sim *sim, firn_force_id **ids,
                                 firn_error *error)
{
    size_t count = firn_cook_input_count(cook, "forces");
    *ids = firn_alloc_zero((count + 1) * sizeof **ids);
    if (*ids == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot add the forces");
    for (size_t i = 0; i < count; i++) {
        const firn_force_data *data = firn_cook_input(cook, "forces", i)->force;
        firn_result added = firn_sim_add_force(sim, &data->def, &(*ids)[i], error);
        FIRN_TRY(firn_cook_blame(cook, "forces", i, added));
    }
    return FIRN_OK;
}

firn_result firn_force_links_change(const firn_cook *cook, firn_sim *sim, const firn_force_id *ids,
                                    firn_error *error)
{
    for (size_t i = 0; i < firn_cook_input_count(cook, "forces"); i++) {
        const firn_force_data *data = firn_cook_input(cook, "forces", i)->force;
        firn_result changed = firn_sim_change_force(sim, ids[i], &data->def, error);
        FIRN_TRY(firn_cook_blame(cook, "forces", i, changed));
    }
    return FIRN_OK;
}
