/// The forces that are linked to a solver.
#ifndef FIRN_FORCE_LINKS_H
#define FIRN_FORCE_LINKS_H

#include "firn/node.h"
#include "firn/sim.h"

/// Adds what is linked to the input "forces"; *ids, one for each, is released with firn_free.
firn_result firn_force_links_add(const firn_cook *cook, firn_sim *sim, firn_force_id **ids,
                                 firn_error *error);

/// Takes over what they are in this frame.
firn_result firn_force_links_change(const firn_cook *cook, firn_sim *sim, const firn_force_id *ids,
                                    firn_error *error);

#endif
