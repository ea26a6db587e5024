/// What snow did to each collider of a frame, as numbers with names: "ground.force_y", ...
#ifndef FIRN_CONTACT_STATS_H
#define FIRN_CONTACT_STATS_H

#include "firn/node.h"
#include "firn/sim.h"

enum { FIRN_CONTACT_STAT_COUNT = 7 }; // of each collider

/// Names the numbers of the colliders that an input slot holds, in their order, and gives each the
/// value 0. On failure *stats is NULL.
firn_result firn_contact_stats_create(const firn_cook *cook, const char *slot, size_t before,
                                      firn_stat **stats, firn_error *error);
void firn_contact_stats_destroy(firn_stat *stats);

/// Fills the numbers of collider number index of the slot; stats are those of the colliders alone.
firn_result firn_contact_stats_fill(const firn_sim *sim, firn_collider_id id, size_t index,
                                    firn_stat *stats, firn_error *error);

#endif
