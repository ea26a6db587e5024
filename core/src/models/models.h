/// The table of constitutive models, and the table of materials that they fill.
///
/// A model is a header with its functions for a group of particles (matter.h says which), a file
/// with its row, and its name in list.h.
#ifndef FIRN_MODELS_H
#define FIRN_MODELS_H

#include "models/list.h" // by the path of includes: a test puts its own in place

#include "firn/material.h"

#define FIRN_COUNT_MODEL(name) +1

enum {
    FIRN_MODEL_COUNT = 0 FIRN_EVERY_MODEL(FIRN_COUNT_MODEL),
    FIRN_CHOSEN_COUNT = 0 FIRN_CHOSEN_MODELS(FIRN_COUNT_MODEL),
    FIRN_MATERIAL_LIMIT = 256,
    FIRN_MATERIAL_COLUMNS = 9,
    FIRN_NO_COLUMN = -1,
    FIRN_LOOSE_JP = 8,       // J_P of loose snow before anybody has looked at its density
    FIRN_CACHE_CHANNELS = 8, // of the Hessian product, floats of each particle
};

/// Columns of a material for heat, models/enthalpy.h.
typedef enum firn_heat_column {
    FIRN_HEAT_CONDUCTIVITY, // W/(m K)
    FIRN_HEAT_SOLID,        // J/(kg K)
    FIRN_HEAT_LIQUID,       // J/(kg K)
    FIRN_HEAT_LATENT,       // J/kg
    FIRN_HEAT_MELTING,      // K
    FIRN_HEAT_STIFF_BELOW,  // K
    FIRN_HEAT_SOFT,         // share of the stiffness at the melting point; 0: it flows
    FIRN_HEAT_CHANGE_AT,    // liquid fraction at which it becomes its partner
    FIRN_HEAT_CHANGE_AFTER, // s, after which it does so anyway; 0: never
    FIRN_HEAT_COLUMNS,
} firn_heat_column;

/// What the rest of the core knows of a model.
typedef struct firn_model {
    const char *name;
    bool packs;        // the slot of J_P is the plastic volume ratio of snow: sources and
                       // statistics speak of it
    bool keeps_f;      // the slots of F are a deformation gradient: V = V0 det(F) J_P, else V0 J_P
    bool is_implicit;  // has a Hessian product
    bool flows;        // a liquid: it may freeze, others may melt to it
    bool needs_affine; // reads the velocity gradient in the explicit step: no FLIP
    const struct firn_model *loose; // what it is before it has packed; NULL: no such thing
    int bond_column; // what the bonds between chunks have less of; FIRN_NO_COLUMN: no bonds
    /// Fills the columns of a material with what the lanes read.
    void (*prepare)(const firn_material_def *def, float columns[FIRN_MATERIAL_COLUMNS]);
    /// Refuses what ranges of single parameters cannot; NULL: all is well.
    firn_result (*check)(const firn_material_def *def, firn_error *error);
} firn_model;

/// Those that other rows name.
extern const firn_model firn_model_snow, firn_model_porous;
extern const firn_model firn_model_loose, firn_model_loose_porous;

/// Row number index; it exists.
const firn_model *firn_model_at(int index);

/// The number of a row; -1: it is not in the list.
int firn_model_index(const firn_model *model);

/// Materials as columns, indexed by a particle's material.
typedef struct firn_materials {
    int count;
    bool mixed;                         // they are of more than one model
    bool is_explicit;                   // one of them has no implicit step
    float full_density;                 // kg/m^3, of loose snow at rest; 0: none of them is loose
    float liquid_density;               // kg/m^3, of the heaviest liquid; 0: there is none
    uint8_t model[FIRN_MATERIAL_LIMIT]; // index of the row
    float density[FIRN_MATERIAL_LIMIT]; // kg/m^3
    float column[FIRN_MATERIAL_COLUMNS][FIRN_MATERIAL_LIMIT]; // what the model says
    float heat[FIRN_HEAT_COLUMNS][FIRN_MATERIAL_LIMIT];       // models/enthalpy.h
    uint8_t partner[FIRN_MATERIAL_LIMIT]; // what it melts or freezes to; itself: nothing
} firn_materials;

/// Fills the columns at an index, 0 to count, from a def that has been checked.
void firn_materials_put(firn_materials *materials, int index, const firn_material_def *def);

/// Lame's parameters of Young's modulus and Poisson's ratio, Pa.
static inline float firn_lame_mu(const firn_material_def *def)
{
    return def->young_modulus / (2.0f * (1.0f + def->poisson_ratio));
}
static inline float firn_lame_lambda(const firn_material_def *def)
{
    float nu = def->poisson_ratio;
    return def->young_modulus * nu / ((1.0f + nu) * (1.0f - 2.0f * nu));
}

#endif
