/// Memory that several users need, but never at the same time: whoever wants it leases it by name,
/// and gives it back. Two holders at once are a bug and assert.
///
/// Memory is claimed before anything is computed (firn_scratch_reserve, which may fail); a lease
/// cannot fail, and finds what the last holder has left.
#ifndef FIRN_SCRATCH_H
#define FIRN_SCRATCH_H

#include "memory.h"

typedef struct firn_scratch {
    firn_array memory;
    const char *holder; // NULL: free
} firn_scratch;

/// Makes room for count elements, for a lease to come. The contents are lost.
firn_result firn_scratch_reserve(firn_budget *budget, firn_scratch *scratch, size_t count,
                                 size_t element, firn_error *error);

/// Leases room for count elements. Who holds it already may ask again.
void *firn_scratch_lease(firn_scratch *scratch, const char *holder, size_t count, size_t element);

void firn_scratch_release(firn_scratch *scratch, const char *holder);

void firn_scratch_free(firn_budget *budget, firn_scratch *scratch);

#endif
