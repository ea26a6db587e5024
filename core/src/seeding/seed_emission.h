/// What parts of seeding share: the emission of one call, the places of new particles, and how a
/// point of the lattice becomes one of them.
#ifndef FIRN_SEED_EMISSION_H
#define FIRN_SEED_EMISSION_H

#include "seed_region.h"
#include "seeding.h"

/// Streams of random numbers that share a seed.
enum { STREAM_JITTER, STREAM_STIFFNESS, STREAM_DENSITY, STREAM_COUNT };

/// A lattice and the part of the emission that one call makes of it. Times count from the filling.
typedef struct firn_seed_emission {
    const firn_source *source;
    const firn_source_def *def;
    const firn_seeding *seeding;
    firn_seeds *seeds;
    firn_seed_region region;
    double spacing;     // m
    double share;       // m^3, of snow in a particle
    double velocity[3]; // m/s, of the lattice as seen from the region
    double shift[3];    // m, of the lattice at time zero
    double travel[3];   // m, of the region when the particles are born
    double tick;        // s, in which the lattice moves by half a spacing or voxel
    int64_t from, to;   // ticks: wanted are the points that enter after from, up to to
    double now;         // s, when the particles are born
    size_t count;       // of seeds, with the new ones
} firn_seed_emission;

/// A particle before it is one.
typedef struct firn_seed {
    double origin[3];          // m, when the region was filled
    double mass;               // kg, before variation
    double volume;             // m^3
    double stiffness, density; // factors
} firn_seed;

/// The seed of a stream of random numbers.
static inline uint64_t firn_seed_stream(const firn_source_def *def, int stream)
{
    return (uint64_t)def->seed * STREAM_COUNT + (uint64_t)stream;
}

/// More particles than there may be.
firn_result firn_seeds_refuse(double count, firn_error *error);

/// Room for so many.
firn_result firn_seeds_reserve(firn_seeds *seeds, size_t count, firn_error *error);

/// In the place of a seed's number, until the others get theirs: nobody wants it.
enum { FIRN_SEED_UNWANTED = 1 };

/// Lets go of those from first on that are not wanted; gives how many there are then.
size_t firn_seeds_choose(firn_seeds *seeds, size_t first, size_t count);

/// Makes number i of all seeds, and number `point` of the source's list if it has one.
void firn_seed_put(const firn_seed_emission *e, size_t i, size_t point, const firn_seed *s);

/// Shell and crust, of what fills the region at first: what streams in later all comes through the
/// surface.
void firn_seed_add_layers(const firn_seed_emission *e, firn_seed *s);

#endif
