#include "granular.h"

#include <math.h>

static void prepare(const firn_material_def *def, float columns[FIRN_MATERIAL_COLUMNS])
{
    double mu = (double)firn_lame_mu(def), lambda = (double)firn_lame_lambda(def);
    double bulk = lambda + 2.0 / 3.0 * mu,
           angle = (double)def->friction_angle * 0.017453292519943295;
    columns[FIRN_GRANULAR_MU] = (float)mu;
    columns[FIRN_GRANULAR_LAMBDA] = (float)lambda;
    columns[FIRN_GRANULAR_APEX] = (float)((double)def->cohesion * cos(angle) / (tan(angle) * bulk));
    columns[FIRN_GRANULAR_SLOPE] = (float)(tan(angle) * bulk / (sqrt(2.0) * mu));
    columns[FIRN_GRANULAR_OPEN] = (float)log((double)def->jp_max);
}

const firn_model firn_model_granular = {
    .name = "granular",
    .packs = firn_granular_packs,
    .keeps_f = firn_granular_keeps_f,
    .is_implicit = true,
    .bond_column = FIRN_GRANULAR_APEX,
    .prepare = prepare,
};
