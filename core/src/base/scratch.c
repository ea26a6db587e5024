#include "scratch.h"

#include <string.h>

static bool is_held_by(const firn_scratch *scratch, const char *holder)
{
    return scratch->holder != NULL && strcmp(scratch->holder, holder) == 0;
}

firn_result firn_scratch_reserve(firn_budget *budget, firn_scratch *scratch, size_t count,
                                 size_t element, firn_error *error)
{
    FIRN_ASSERT(scratch->holder == NULL);
    return firn_array_claim(budget, &scratch->memory, count, element, error);
}

void *firn_scratch_lease(firn_scratch *scratch, const char *holder, size_t count, size_t element)
{
    const bool free_or_own = scratch->holder == NULL || is_held_by(scratch, holder);
    FIRN_ASSERT(free_or_own);
    FIRN_ASSERT(count * element <= scratch->memory.bytes);
    (void)free_or_own, (void)count, (void)element;
    scratch->holder = holder;
    return scratch->memory.data;
}

void firn_scratch_release(firn_scratch *scratch, const char *holder)
{
    const bool own = is_held_by(scratch, holder);
    FIRN_ASSERT(own);
    (void)own;
    scratch->holder = NULL;
}

void firn_scratch_free(firn_budget *budget, firn_scratch *scratch)
{
    firn_array_free(budget, &scratch->memory);
    scratch->holder = NULL;
}
