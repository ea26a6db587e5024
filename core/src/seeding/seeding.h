/// Turns sources into particles.
///
/// A region is filled with the points of a lattice of cubes, spacing = cell / cbrt(particles per
/// cell), that is aligned to the world; each point is moved by a random offset that depends on seed
/// and lattice index alone. A continuous source carries its lattice along with the velocity of the
/// source: every point that enters the region later becomes a particle, once. All of this is seen
/// from the region, so that one that moves differs only in the velocity of its lattice.
#ifndef FIRN_SEEDING_H
#define FIRN_SEEDING_H

#include "base/memory.h"
#include "particles/channels.h"

#include "firn/source.h"

/// Particle numbers fit 31 bits.
#define FIRN_SEED_LIMIT 2147483647u

/// New particles as plain arrays, in an order that depends on nothing but the source.
typedef struct firn_seeds {
    firn_budget *budget;
    const firn_channel_set *channels; // that the particles will have
    size_t count;
    firn_array position;                 // firn_vec3, m
    firn_array bond;                     // uint8, 1: between two chunks
    firn_array column[FIRN_CHANNEL_MAX]; // float, those of channels that sources give

    // Where somebody chooses: seeds that are not wanted are counted and let go. Asked by many
    // threads; NULL: all are wanted.
    bool (*wants)(void *user, firn_vec3 position);
    // Is shown the position of each, one after the other; NULL: nobody looks.
    void (*look)(void *user, firn_vec3 position);
    void *user;
    firn_array number; // uint32, of each that was wanted among all
    size_t total;      // wanted or not
} firn_seeds;

/// A channel that a source gives by value.
typedef struct firn_seed_value {
    int column, components;
    bool adds; // to what is there
    float value[FIRN_CHANNEL_COMPONENTS];
    float noise;
    uint64_t stream; // of its random numbers, before the seed of the source
    float *points;   // owned; NULL: none
} firn_seed_value;

/// A source and how far its emission has come. The points in def are an owned copy.
typedef struct firn_source {
    firn_source_def def;
    uint32_t generation;
    uint8_t material; // index of def.material
    uint8_t bond;     // index of the material between its chunks
    uint8_t loose;    // index of the material that its particles begin with
    bool alive;
    bool started;    // the first filling is done
    double begun;    // s, simulated time of the first filling: def.start, or later if added later
    double emitted;  // s, simulated time up to which the emission is complete
    double moved;    // s, simulated time at which the region was at def.travel
    double shift[3]; // m, that the lattice had traveled at `begun`, as seen from the region
    struct firn_seed_volume *volume; // owned, of a level set, else NULL
    firn_seed_value *values; // owned: what def.values says, and channels at their initial value
    int value_count;
} firn_source;

/// What a source needs to know of its simulation.
typedef struct firn_seeding {
    float cell_size; // m
    float density;   // kg/m^3, of the source's material
    firn_vec3 up;    // unit, against gravity; zero without gravity
    int thread_count;
} firn_seeding;

/// Refuses a definition that is not initialized, out of range or without its region's data.
firn_result firn_source_check(const firn_source_def *def, firn_error *error);

/// Makes a source of a checked definition, with copies of its points, that is added at time, for
/// particles with these channels. generation, material, bond and alive are the caller's.
firn_result firn_source_open(firn_source *source, const firn_source_def *def,
                             const firn_channel_set *channels, double time, firn_error *error);
void firn_source_close(firn_source *source);

/// seed_values.c: what a definition says of channels; put writes the values of seed i of the whole
/// list and number `point` of the source, whose place in the snow is origin (m).
firn_result firn_seed_values_open(firn_source *source, const firn_source_def *def,
                                  const firn_channel_set *channels, firn_error *error);
void firn_seed_values_close(firn_source *source);
void firn_seed_values_put(const firn_source *source, const firn_seeds *seeds, size_t i,
                          size_t point, const double origin[3]);

/// True for a channel that sources give and the particles have.
bool firn_seeds_have(const firn_channel_set *channels, int row);

/// Appends what the source emits up to time, at the positions the snow has at that time, and moves
/// its started/begun/emitted marks; putting the marks back undoes the call. A source that fills
/// only once and holds not one particle is refused. On failure neither source nor seeds change.
/// What is emitted in all does not depend on how time is cut into calls.
firn_result firn_source_emit(firn_source *source, const firn_seeding *seeding, double time,
                             firn_seeds *seeds, firn_error *error);

/// Takes over velocity, spin, noise and motion of another definition for what is emitted from time
/// on. The lattice goes on from where it is; sideways and at a stop, to half a spacing.
void firn_source_change(firn_source *source, const firn_source_def *def, double time,
                        float cell_size);

void firn_seeds_free(firn_seeds *seeds);

/// Forgets the seeds; memory stays for the next ones unless it is large.
void firn_seeds_clear(firn_seeds *seeds);

#endif
