/// What snow is made of, the constitutive parameters of Stomakhin et al. 2013, Table 2; and other
/// matter that may meet it.
#ifndef FIRN_MATERIAL_H
#define FIRN_MATERIAL_H

#include "firn/params.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The constitutive models, method.md section 4.
typedef enum firn_model_kind {
    FIRN_MODEL_SNOW,     // packs, hardens and breaks
    FIRN_MODEL_ELASTIC,  // springs back
    FIRN_MODEL_GRANULAR, // grains that slide: sand, gravel
    FIRN_MODEL_LIQUID,   // water, honey, mud
    FIRN_MODEL_POROUS,   // snow that crushes, slides and breaks
} firn_model_kind;

typedef struct firn_material_def {
    uint32_t cookie;
    int model;           // firn_model_kind
    float density;       // kg/m^3, initial
    float young_modulus; // Pa, initial
    float poisson_ratio;
    float hardening;            // xi
    float critical_compression; // theta_c
    float critical_stretch;     // theta_s
    float jp_min;               // bounds of the plastic volume ratio J_P
    float jp_max;
    float damping;        // s, time constant of the viscosity
    float friction_angle; // degrees
    float cohesion;       // Pa
    float sound_speed;    // m/s
    float viscosity;      // Pa s
    float yield_stress;   // Pa
    float crush;          // Pa, pressure at which pores collapse
    float crack_opening;  // m, in which cohesion falls by a factor e
    // Heat, firn/sim_heat.h:
    float conductivity;         // W/(m K); 0: after model and density
    float heat_capacity;        // J/(kg K), solid
    float liquid_heat_capacity; // J/(kg K)
    float latent_heat;          // J/kg
    float melting_point;        // K
    float soft_stiffness;       // share of the stiffness that is left at the melting point
    float stiff_below;          // K, up to which all of it is there
    float melt_at, freeze_at;   // liquid fraction at which it becomes its partner
    float freeze_after;         // s, after which a liquid becomes its partner anyway; 0: never
} firn_material_def;

FIRN_API void firn_material_def_reset(firn_material_def *def, size_t size);
FIRN_API firn_param_table firn_material_params(void);

/// The reference snow of the paper.
static inline firn_material_def firn_material_def_default(void)
{
    firn_material_def def;
    firn_material_def_reset(&def, sizeof def);
    return def;
}

/// A named kind of snow, or of other matter, and a sentence about it; NULL past the last index.
typedef struct firn_material_preset {
    const char *name;
    const char *help;
} firn_material_preset;
FIRN_API const firn_material_preset *firn_material_presets(int index);

/// Fills def with a named preset: paper, powder, packing, wet, icy, muddy, snowball, fresh, jelly,
/// sand, water, mud, slush, chocolate, honey, ice.
FIRN_API firn_result firn_material_def_preset(const char *name, firn_material_def *def,
                                              firn_error *error);

/// Names a material of one simulation; {0} is the default material.
typedef struct firn_material_id {
    uint32_t index1;
    uint32_t generation;
} firn_material_id;

#ifdef __cplusplus
}
#endif

#endif
