#include "firn/solid_set.h"

#include "collider_state.h"

struct firn_solid_set {
    firn_budget budget;
    firn_colliders colliders;
};

firn_result firn_solid_set_create(const firn_collider_def *defs, size_t count,
                                  firn_solid_set **solids, firn_error *error)
{
    *solids = NULL;
    firn_solid_set *made = firn_alloc_zero(sizeof *made);
    if (made == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot look at colliders");
    made->colliders.budget = &made->budget;
    for (size_t i = 0; i < count; i++) {
        firn_collider_def def = defs[i];
        def.active_from = -1e9;
        def.active_to = 1e9;
        firn_result result = firn_colliders_add(&made->colliders, &def, NULL, error);
        if (result != FIRN_OK) {
            firn_solid_set_destroy(made);
            return result;
        }
    }
    firn_colliders_prepare(&made->colliders, 0.0, 1e-6f);
    *solids = made;
    return FIRN_OK;
}

void firn_solid_set_destroy(firn_solid_set *solids)
{
    if (solids == NULL)
        return;
    firn_colliders_free(&solids->colliders);
    firn_free(solids);
}

firn_solid_distance firn_solid_set_distance(const firn_solid_set *solids, firn_vec3 position)
{
    firn_solid_distance found = {.value = 1e9f, .nearest = -1};
    for (int i = 0; i < solids->colliders.slot_count; i++) {
        firn_distance d =
            firn_collider_distance(firn_collider_slot(&solids->colliders, i), position);
        if (!(d.value < found.value))
            continue;
        found.value = d.value;
        found.normal = firn_normalize(d.gradient);
        found.nearest = i;
    }
    return found;
}
