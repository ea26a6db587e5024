/// Chooses the kernels that fit the machine.
#include "kernels.h"

#include <string.h>

extern const firn_kernels firn_kernels_scalar, firn_kernels_baseline;
#ifdef FIRN_X86
extern const firn_kernels firn_kernels_avx2, firn_kernels_avx512;
#endif

// Slowest first, so that the last one that the machine can run is the best.
static const firn_kernels *const tables[] = {
    &firn_kernels_scalar,
    &firn_kernels_baseline,
#ifdef FIRN_X86
    &firn_kernels_avx2,
    &firn_kernels_avx512,
#endif
};

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
