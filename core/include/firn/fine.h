/// Fine particles: every particle of a simulation in some dozen grains, for pictures.
///
/// The grains of a particle fill the deformed cell that it stands for. Where snow is dense they
/// move with it; where it is loose they are on their own, and what air does to small ones differs
/// from what it does to large ones (Takahashi and Fujishiro, section 3.3; method.md). A frame needs
/// no other frame, and a grain nothing but its particle and the snow around it:
///
///     firn_fine_def def = firn_fine_def_default();
///     size_t count = parents.count * (size_t)def.children;   // arrays of grains are the caller's
///     FIRN_TRY(firn_fine_make(&def, &parents, &grains, error));
#ifndef FIRN_FINE_H
#define FIRN_FINE_H

#include "firn/params.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_fine_def {
    uint32_t cookie;
    int children;         // of every particle
    float size_variation; // of their radii, relative
    float loose;          // of its density at rest: thinner snow lets its grains go
    float spread;         // loose cells grow up to this factor
    float scatter;        // m, of the grains of a particle that is alone
    float flight;         // s, that loose grains have been on their own
    float fall_speed;     // m/s, of a middling grain in still air
    firn_vec3 wind;       // m/s
    int seed;
    int thread_count;
} firn_fine_def;

FIRN_API void firn_fine_def_reset(firn_fine_def *def, size_t size);
FIRN_API firn_param_table firn_fine_params(void);

static inline firn_fine_def firn_fine_def_default(void)
{
    firn_fine_def def;
    firn_fine_def_reset(&def, sizeof def);
    return def;
}

/// Particles as plain arrays.
typedef struct firn_fine_parents {
    size_t count;
    const firn_vec3 *position; // m
    const firn_vec3 *velocity; // m/s
    const float *mass;         // kg
    const float *radius;       // m, of a sphere with its volume at rest; 0: as the others
    const float *jp;           // plastic volume ratio
    const uint32_t *id;        // unique
    const firn_mat3
        *deformation; // elastic, with its rotation; NULL: cells are round and never turn
    float cell_size;  // m, of the simulation; needed when no radius is above 0
} firn_fine_parents;

/// Where the grains go: arrays of parents.count * children, those of a parent side by side. Their
/// masses and momenta add up to those of the parent, to rounding.
typedef struct firn_fine_grains {
    firn_vec3 *position; // m
    firn_vec3 *velocity; // m/s
    float *mass;         // kg
    float *radius;       // m, of a sphere with its share of the volume at rest
    float *density;      // kg/m^3, of the parent: mass over current volume
    uint32_t *id;        // id of the parent * children + number
    float *sparkle;      // 0 to 1, below 1: random, the same in every frame
} firn_fine_grains;

/// Makes the grains of a frame; the same bits for any number of threads.
FIRN_API firn_result firn_fine_make(const firn_fine_def *def, const firn_fine_parents *parents,
                                    const firn_fine_grains *grains, firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
