#include "elastic.h"

static void prepare(const firn_material_def *def, float columns[FIRN_MATERIAL_COLUMNS])
{
    columns[FIRN_ELASTIC_MU] = firn_lame_mu(def);
    columns[FIRN_ELASTIC_LAMBDA] = firn_lame_lambda(def);
    columns[FIRN_ELASTIC_DAMPING] = def->damping;
}

const firn_model firn_model_elastic = {
    .name = "elastic",
    .packs = firn_elastic_packs,
    .keeps_f = firn_elastic_keeps_f,
    .is_implicit = true,
    .bond_column = FIRN_NO_COLUMN,
    .prepare = prepare,
};
