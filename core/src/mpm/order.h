/// How far the order of the particles can be trusted, and the sort.
#ifndef FIRN_ORDER_H
#define FIRN_ORDER_H

#include "foresight.h"

#include "firn/sim.h"

typedef struct firn_order {
    size_t sorted_count; // particles that are in blocks; the others are new
    bool must_sort;
    int since_sort; // substeps
} firn_order;

/// The next substep sorts: a call begins, particles are new or come from elsewhere.
void firn_order_void(firn_order *order);

/// A substep has passed.
void firn_order_advance(firn_order *order);

/// Whether it is as long ago as it may be.
bool firn_order_is_old(const firn_order *order);

/// Whether a sort is due now, or, as far as can be told, after a substep of dt.
bool firn_order_is_due(const firn_order *order, const firn_foresight *foresight);
bool firn_order_is_due_after(const firn_order *order, const firn_foresight *foresight, double dt);

/// Sorts the particles and builds the blocks and their sequence.
firn_result firn_sim_sort(firn_sim *sim, firn_error *error);

#endif
