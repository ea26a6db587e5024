/// One instruction set is enough for a model that only tests know.
#include "mpm/kernels.h"

extern const firn_kernels firn_kernels_scalar;

const firn_kernels *firn_kernels_at(int index) { return index == 0 ? &firn_kernels_scalar : NULL; }

const firn_kernels *firn_kernels_choose(const char *wanted)
{
    (void)wanted;
    return &firn_kernels_scalar;
}
