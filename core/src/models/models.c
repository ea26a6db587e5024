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

void firn_materials_put(firn_materials *materials, int index, const firn_material_def *def)
{
    float columns[FIRN_MATERIAL_COLUMNS] = {0.0f};
    rows[def->model]->prepare(def, columns);
    materials->model[index] = (uint8_t)def->model;
    materials->density[index] = def->density;
    for (int c = 0; c < FIRN_MATERIAL_COLUMNS; c++)
        materials->column[c][index] = columns[c];
    materials->is_explicit |= !rows[def->model]->is_implicit;
    for (int i = 0; i < materials->count; i++)
        materials->mixed |= materials->model[i] != materials->model[index];
}
