#include "loose.h"

static void prepare(const firn_material_def *def, float columns[FIRN_MATERIAL_COLUMNS])
{
    firn_model_snow.prepare(def, columns);
}

const firn_model firn_model_loose = {
    .name = "loose",
    .packs = firn_loose_packs,
    .keeps_f = firn_loose_keeps_f,
    .is_implicit = true,
    .bond_column = FIRN_NO_COLUMN,
    .prepare = prepare,
};
