#include "snow.h"

static void prepare(const firn_material_def *def, float columns[FIRN_MATERIAL_COLUMNS])
{
    columns[FIRN_SNOW_MU] = firn_lame_mu(def);
    columns[FIRN_SNOW_LAMBDA] = firn_lame_lambda(def);
    columns[FIRN_SNOW_HARDENING] = def->hardening;
    columns[FIRN_SNOW_COMPRESSION] = def->critical_compression;
    columns[FIRN_SNOW_STRETCH] = def->critical_stretch;
    columns[FIRN_SNOW_JP_MIN] = def->jp_min;
    columns[FIRN_SNOW_JP_MAX] = def->jp_max;
    columns[FIRN_SNOW_DAMPING] = def->damping;
}

static firn_result check(const firn_material_def *def, firn_error *error)
{
    if (def->jp_min <= def->jp_max)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_ARGUMENT,
                     "material.jp_min is above material.jp_max; swap them");
}

const firn_model firn_model_snow = {
    .name = "snow",
    .packs = firn_snow_packs,
    .keeps_f = firn_snow_keeps_f,
    .is_implicit = true,
    .loose = &firn_model_loose,
    .bond_column = FIRN_SNOW_STRETCH,
    .prepare = prepare,
    .check = check,
};
