#include "porous.h"

#include <math.h>

static void prepare(const firn_material_def *def, float columns[FIRN_MATERIAL_COLUMNS])
{
    double mu = (double)firn_lame_mu(def), lambda = (double)firn_lame_lambda(def);
    double bulk = lambda + 2.0 / 3.0 * mu,
           angle = (double)def->friction_angle * 0.017453292519943295;
    columns[FIRN_POROUS_MU] = (float)mu;
    columns[FIRN_POROUS_LAMBDA] = (float)lambda;
    columns[FIRN_POROUS_APEX] = (float)((double)def->cohesion * cos(angle) / (tan(angle) * bulk));
    columns[FIRN_POROUS_SLOPE] = (float)(tan(angle) * bulk / (sqrt(2.0) * mu));
    columns[FIRN_POROUS_CRUSH] = (float)((double)def->crush / bulk);
    columns[FIRN_POROUS_HARDENING] = def->hardening;
    columns[FIRN_POROUS_OPEN] = (float)log((double)def->jp_max);
    columns[FIRN_POROUS_WEAR] = 1.0f / def->crack_opening;
    columns[FIRN_POROUS_DAMPING] = def->damping;
}

const firn_model firn_model_porous = {
    .name = "porous",
    .packs = firn_porous_packs,
    .keeps_f = firn_porous_keeps_f,
    .is_implicit = true,
    .loose = &firn_model_loose_porous,
    .bond_column = FIRN_POROUS_APEX,
    .prepare = prepare,
};
