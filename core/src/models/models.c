#include "models.h"

#define DECLARE(name) extern const firn_model firn_model_##name;
#define LIST(name) &firn_model_##name,

FIRN_EVERY_MODEL(DECLARE)

static const firn_model *const rows[] = {FIRN_EVERY_MODEL(LIST)};

const firn_model *firn_model_at(int index)
{
    FIRN_ASSERT(index >= 0 && index < FIRN_MODEL_COUNT);
    return rows[index];
}

int firn_model_index(const firn_model *model)
{
    for (int i = 0; i < FIRN_MODEL_COUNT; i++)
        if (rows[i] == model)
            return i;
    return -1;
}

// After Calonne et al. 2011 for snow, and as measured for water.
static float conductivity_of(const firn_material_def *def, const firn_model *model)
{
    if (def->conductivity > 0.0f)
        return def->conductivity;
    float rho = def->density < 917.0f ? def->density : 917.0f;
    return model->flows ? 0.56f : 0.024f + rho * (2.5e-6f * rho - 1.23e-4f);
}

static void put_heat(firn_materials *materials, int index, const firn_material_def *def)
{
    const firn_model *model = rows[def->model];
    const float values[FIRN_HEAT_COLUMNS] = {
        [FIRN_HEAT_CONDUCTIVITY] = conductivity_of(def, model),
        [FIRN_HEAT_SOLID] = def->heat_capacity,
        [FIRN_HEAT_LIQUID] = def->liquid_heat_capacity,
        [FIRN_HEAT_LATENT] = def->latent_heat,
        [FIRN_HEAT_MELTING] = def->melting_point,
        [FIRN_HEAT_STIFF_BELOW] = def->stiff_below,
        [FIRN_HEAT_SOFT] = model->flows ? 0.0f : def->soft_stiffness,
        [FIRN_HEAT_CHANGE_AT] = model->flows ? def->freeze_at : def->melt_at,
        [FIRN_HEAT_CHANGE_AFTER] = model->flows ? def->freeze_after : 0.0f,
    };
    for (int c = 0; c < FIRN_HEAT_COLUMNS; c++)
        materials->heat[c][index] = values[c];
    if (index >= materials->count)
        materials->partner[index] = (uint8_t)index;
}

void firn_materials_put(firn_materials *materials, int index, const firn_material_def *def)
{
    float columns[FIRN_MATERIAL_COLUMNS] = {0.0f};
    rows[def->model]->prepare(def, columns);
    materials->model[index] = (uint8_t)def->model;
    materials->density[index] = def->density;
    put_heat(materials, index, def);
    for (int c = 0; c < FIRN_MATERIAL_COLUMNS; c++)
        materials->column[c][index] = columns[c];
    if (rows[def->model]->flows && def->density > materials->liquid_density)
        materials->liquid_density = def->density;
    materials->is_explicit |= !rows[def->model]->is_implicit;
    for (int i = 0; i < materials->count; i++)
        materials->mixed |= materials->model[i] != materials->model[index];
}
