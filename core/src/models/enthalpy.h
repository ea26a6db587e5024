/// Heat of a particle: enthalpy, temperature and how much of it has melted, method.md section 13.
///
/// Enthalpy is counted from the solid at its melting point. A particle keeps temperature and liquid
/// fraction, which together say as much, and a remainder below their rounding.
#ifndef FIRN_MODELS_HEAT_H
#define FIRN_MODELS_HEAT_H

#include "models.h"

#include <string.h>

/// Temperatures are summed up as differences from this, K: more digits for those of snow.
#define FIRN_HEAT_ZERO 273.15f

/// Share of conduction by which particles are drawn to the mean around.
#define FIRN_HEAT_RELAXATION 0.2f

/// What a particle keeps of its heat.
typedef struct firn_warmth {
    float temperature; // K
    float liquid;      // share, 0 to 1
    float rest;        // J/kg
} firn_warmth;

/// J/kg, method.md (65). A solid above its melting point is one that is about to melt.
static inline double firn_enthalpy(const firn_materials *m, int material, firn_warmth w)
{
    double above = (double)w.temperature - (double)m->heat[FIRN_HEAT_MELTING][material];
    double latent = (double)m->heat[FIRN_HEAT_LATENT][material], rest = (double)w.rest;
    if (w.liquid <= 0.0f)
        return rest + (double)m->heat[FIRN_HEAT_SOLID][material] * above;
    if (w.liquid >= 1.0f)
        return rest + latent + (double)m->heat[FIRN_HEAT_LIQUID][material] * above;
    return rest + latent * (double)w.liquid;
}

static inline firn_warmth firn_warmth_of(const firn_materials *m, int material, double enthalpy)
{
    double latent = (double)m->heat[FIRN_HEAT_LATENT][material];
    double melting = (double)m->heat[FIRN_HEAT_MELTING][material];
    firn_warmth w = {(float)melting, 0.0f, 0.0f};
    if (enthalpy < 0.0)
        w.temperature = (float)(melting + enthalpy / (double)m->heat[FIRN_HEAT_SOLID][material]);
    else if (enthalpy < latent)
        w.liquid = (float)(enthalpy / latent);
    else
        w = (firn_warmth){
            (float)(melting + (enthalpy - latent) / (double)m->heat[FIRN_HEAT_LIQUID][material]),
            1.0f, 0.0f};
    w.rest = (float)(enthalpy - firn_enthalpy(m, material, w));
    return w;
}

/// The share of its stiffness that a solid has when it is warm, never nothing; 1 of a liquid.
static inline float firn_warm_stiffness(const firn_materials *m, int material, firn_warmth w)
{
    const float least = 0.1f; // of what has not melted
    float soft = m->heat[FIRN_HEAT_SOFT][material];
    if (!(soft > 0.0f))
        return 1.0f;
    float low = m->heat[FIRN_HEAT_STIFF_BELOW][material];
    float high = m->heat[FIRN_HEAT_MELTING][material], factor = soft;
    if (w.temperature <= low)
        factor = 1.0f;
    else if (w.temperature < high)
        factor = 1.0f + (soft - 1.0f) * (w.temperature - low) / (high - low);
    float solid = 1.0f - w.liquid;
    solid = solid > least ? solid : least;
    return factor * solid * solid;
}

/// Numbers that differ when stiffnesses do by some percent: what sleeps should feel that.
static inline uint32_t firn_stiffness_step(float factor)
{
    uint32_t bits;
    memcpy(&bits, &factor, sizeof bits);
    return bits >> 18;
}

#endif
