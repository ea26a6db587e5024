#include "contact_stats.h"

#include <stdio.h>
#include <string.h>

static const char *const parts[FIRN_CONTACT_STAT_COUNT] = {
    "force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z", "force_peak"};

// Numbers and names in one piece of memory.
firn_result firn_contact_stats_create(const firn_cook *cook, const char *slot, size_t before,
                                      firn_stat **stats, firn_error *error)
{
    size_t colliders = firn_cook_input_count(cook, slot), bytes = 0;
    size_t count = before + FIRN_CONTACT_STAT_COUNT * colliders;
    for (size_t i = 0; i < colliders; i++)
        bytes += strlen(firn_cook_input_name(cook, slot, i)) + sizeof ".force_peak";
    *stats = firn_alloc_zero((count + 1) * sizeof **stats + FIRN_CONTACT_STAT_COUNT * bytes);
    if (*stats == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot keep numbers");
    char *name = (char *)(*stats + count + 1);
    for (size_t i = 0; i < colliders; i++)
        for (int k = 0; k < FIRN_CONTACT_STAT_COUNT; k++) {
            const char *node = firn_cook_input_name(cook, slot, i);
            size_t size = strlen(node) + 1 + strlen(parts[k]) + 1;
            snprintf(name, size, "%s.%s", node, parts[k]);
            (*stats)[before + FIRN_CONTACT_STAT_COUNT * i + (size_t)k].name = name;
            name += size;
        }
    return FIRN_OK;
}

void firn_contact_stats_destroy(firn_stat *stats) { firn_free(stats); }

firn_result firn_contact_stats_fill(const firn_sim *sim, firn_collider_id id, size_t index,
                                    firn_stat *stats, firn_error *error)
{
    firn_collider_force f;
    FIRN_TRY(firn_sim_collider_force(sim, id, &f, error));
    const double values[FIRN_CONTACT_STAT_COUNT] = {
        f.force[0], f.force[1], f.force[2], f.torque[0], f.torque[1], f.torque[2], f.peak};
    for (int k = 0; k < FIRN_CONTACT_STAT_COUNT; k++)
        stats[FIRN_CONTACT_STAT_COUNT * index + (size_t)k].value = values[k];
    return FIRN_OK;
}
