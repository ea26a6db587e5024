#include "foam.h"

static void prepare(const firn_material_def *def, float columns[FIRN_MATERIAL_COLUMNS])
{
    columns[FIRN_FOAM_BULK] = def->young_modulus;
}

const firn_model firn_model_foam = {
    .name = "foam",
    .packs = firn_foam_packs,
    .keeps_f = firn_foam_keeps_f,
    .bond_column = FIRN_NO_COLUMN,
    .prepare = prepare,
};
