/// The kernels of one instruction set as a table.
#include "isa.h"
#include "simd.h"

static bool supported(void) { return firn_isa_supported(); }

const firn_kernels FIRN_KERNEL(kernels) = {
    .isa = FIRN_ISA_NAME,
    .supported = supported,
    .to_grid = FIRN_KERNEL(to_grid),
    .to_particles = FIRN_KERNEL(to_particles),
    .measure = FIRN_KERNEL(measure),
    .find_volumes = FIRN_KERNEL(find_volumes),
    .prepare_hessian = FIRN_KERNEL(prepare_hessian),
    .apply_hessian = FIRN_KERNEL(apply_hessian),
};
