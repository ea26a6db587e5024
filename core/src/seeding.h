/// Turns sources into particles.
#ifndef FIRN_SEEDING_H
#define FIRN_SEEDING_H

#include "memory.h"

#include "firn/source.h"

/// New particles as plain arrays, in an order that depends on nothing but the source.
typedef struct firn_seeds {
    firn_budget *budget;
    size_t count;
    firn_array position;  // firn_vec3, m
    firn_array velocity;  // firn_vec3, m/s
    firn_array mass;      // float, kg
    firn_array volume;    // float, m^3; 0: to be found from the grid density
    firn_array stiffness; // float, factor on Young's modulus
    firn_array jp;        // float, plastic volume ratio
} firn_seeds;

/// A source and how far its emission has come. Arrays of points in def are owned copies.
typedef struct firn_source {
    firn_source_def def;
    uint32_t generation;
    uint8_t material; // index of def.material
    bool alive;
    bool started;   // the first filling is done
    double emitted; // s, simulated time up to which the emission is complete
} firn_source;

/// What a source needs to know of its simulation.
typedef struct firn_seeding {
    float cell_size; // m
    float density;   // kg/m^3, of the source's material
    firn_vec3 up;    // unit, against gravity; zero without gravity
} firn_seeding;

/// Appends what the source emits up to time, at the positions the snow has at that time, and moves
/// its emitted/started marks. On failure neither source nor seeds change.
firn_result firn_source_emit(firn_source *source, const firn_seeding *seeding, double time,
                             firn_seeds *seeds, firn_error *error);

void firn_seeds_free(firn_seeds *seeds);

#endif
