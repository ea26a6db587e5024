#include "liquid.h"

#include <math.h>

/// Shear modulus below the yield stress, as a share of the bulk modulus: shear waves are slower
/// than sound, and the strain at yield stays small.
#define RIGIDITY_SHARE 0.1f

/// Three cells that viscosity crosses count as one that a wave crosses: with half a cell a
/// substep, dt <= rho h^2 / (6 eta).
#define VISCOUS_CELLS 3.0f

static void prepare(const firn_material_def *def, float columns[FIRN_MATERIAL_COLUMNS])
{
    float bulk = def->density * def->sound_speed * def->sound_speed;
    columns[FIRN_LIQUID_BULK] = bulk;
    columns[FIRN_LIQUID_VISCOSITY] = def->viscosity;
    columns[FIRN_LIQUID_RIGIDITY] = def->yield_stress > 0.0f ? RIGIDITY_SHARE * bulk : 0.0f;
    columns[FIRN_LIQUID_YIELD] = sqrtf(2.0f) * def->yield_stress;
    columns[FIRN_LIQUID_IMPEDANCE] = def->density * def->sound_speed;
    columns[FIRN_LIQUID_WAVE_FACTOR] = VISCOUS_CELLS / def->density;
}

const firn_model firn_model_liquid = {
    .name = "liquid",
    .packs = firn_liquid_packs,
    .keeps_f = firn_liquid_keeps_f,
    .is_implicit = true,
    .flows = true,
    .needs_affine = true,
    .bond_column = FIRN_NO_COLUMN,
    .prepare = prepare,
};
