/// The kernels of one instruction set as a table.
#include "rows.h"
#include "transfer_group.h"

static bool supported(void) { return firn_isa_supported(); }

// Chains enough to keep two units of latency 4 to 6 busy.
static double exercise(void)
{
    enum { CHAINS = 12, ROUNDS = 400000 };
    firn_fx chain[CHAINS], factor = firn_fx_set(0.999f);
    for (int c = 0; c < CHAINS; c++)
        chain[c] = firn_fx_set((float)c);
    for (int round = 0; round < ROUNDS; round++) {
        for (int c = 0; c < CHAINS; c++)
            chain[c] = fx_fma(chain[c], factor, factor);
    }
    // What nobody reads would not be computed.
    volatile float used = 0.0f;
    for (int c = 0; c < CHAINS; c++)
        used = used + chain[c][0];
    return 2.0 * FIRN_LANES * CHAINS * ROUNDS;
}

#define DECLARE(model)                                                                             \
    extern const firn_model_transfers FIRN_MODEL_KERNEL(transfers, model);                         \
    extern const firn_model_hessian FIRN_MODEL_KERNEL(hessian, model);
#define TRANSFERS(model) &FIRN_MODEL_KERNEL(transfers, model),
#define HESSIAN(model) &FIRN_MODEL_KERNEL(hessian, model),

FIRN_EVERY_MODEL(DECLARE)

const firn_model_transfers *const FIRN_KERNEL(transfers)[FIRN_MODEL_COUNT] = {
    FIRN_EVERY_MODEL(TRANSFERS)};
const firn_model_hessian *const FIRN_KERNEL(hessians)[FIRN_MODEL_COUNT] = {
    FIRN_EVERY_MODEL(HESSIAN)};

const firn_kernels FIRN_KERNEL(kernels) = {
    .isa = FIRN_ISA_NAME,
    .lanes = FIRN_LANES,
    .supported = supported,
    .to_grid = FIRN_KERNEL(to_grid),
    .to_particles = FIRN_KERNEL(to_particles),
    .cycle = FIRN_KERNEL(cycle),
    .recover = FIRN_KERNEL(recover),
    .measure = FIRN_KERNEL(measure),
    .find_volumes = FIRN_KERNEL(find_volumes),
    .prepare_hessian = FIRN_KERNEL(prepare_hessian),
    .apply_hessian = FIRN_KERNEL(apply_hessian),
    .diagonal_hessian = FIRN_KERNEL(diagonal_hessian),
    .heat_to_grid = FIRN_KERNEL(heat_to_grid),
    .heat_flow = FIRN_KERNEL(heat_flow),
    .heat_to_particles = FIRN_KERNEL(heat_to_particles),
    .exercise = exercise,
};
