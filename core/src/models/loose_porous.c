#include "loose_porous.h"

static void prepare(const firn_material_def *def, float columns[FIRN_MATERIAL_COLUMNS])
{
    firn_model_porous.prepare(def, columns);
}

const firn_model firn_model_loose_porous = {
    .name = "loose_porous",
    .packs = firn_loose_porous_packs,
    .keeps_f = firn_loose_porous_keeps_f,
    .is_implicit = true,
    .bond_column = FIRN_NO_COLUMN,
    .prepare = prepare,
};
