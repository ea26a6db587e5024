/// Chooses the kernels that fit the machine.
#include "kernels.h"

#include <string.h>

// FIRN_EVERY_ISA comes from the build, which may leave instruction sets out.
#define DECLARE(isa) extern const firn_kernels firn_kernels_##isa;
#define LIST(isa) &firn_kernels_##isa,

FIRN_EVERY_ISA(DECLARE)

static const firn_kernels *const tables[] = {FIRN_EVERY_ISA(LIST)};

const firn_kernels *firn_kernels_at(int index)
{
    return index >= 0 && (size_t)index < FIRN_COUNT(tables) ? tables[index] : NULL;
}

const firn_kernels *firn_kernels_choose(const char *wanted)
{
    const firn_kernels *best = NULL;
    for (size_t i = 0; i < FIRN_COUNT(tables); i++) {
        bool named = wanted == NULL || strcmp(wanted, tables[i]->isa) == 0;
        if (named && tables[i]->supported())
            best = tables[i];
    }
    return best;
}
