/// Storage of the particles: a structure of arrays with one count.
///
/// Positions are kept in cells, relative to the grid block that a particle was sorted into and to
/// the first node of its kernel, method.md (3): equally precise everywhere in the world.
#ifndef FIRN_PARTICLES_H
#define FIRN_PARTICLES_H

#include "base/memory.h"

#include "firn/vec.h"

/// Arrays of 4-byte values, so that sorting and checkpoints treat them alike.
typedef enum firn_channel {
    FIRN_U = 0,     // 3: position in the block, cells
    FIRN_V = 3,     // 3: velocity, m/s
    FIRN_F = 6,     // 9: elastic deformation gradient, row-major
    FIRN_JP = 15,   // plastic volume ratio
    FIRN_MASS,      // kg
    FIRN_VOLUME,    // m^3, initial; 0 until it is found from the grid
    FIRN_STIFFNESS, // factor on Young's modulus
    FIRN_ID,        // uint32
    FIRN_C,         // 9: affine velocity, 1/s; with APIC only
    FIRN_CHANNEL_MAX = FIRN_C + 9,
    // 3: position before the last move. It has the place of C while C itself is put off, from a
    // cycle to firn_transfer_recover; firn_sim.affine tells which of the two is there. Whoever
    // reads, sorts, saves or clears C has it recovered first.
    FIRN_FROM = FIRN_C,
} firn_channel;

enum {
    FIRN_PADDING = 16, // readable floats past the end, for full-width loads
    FIRN_SLOTS = FIRN_CHANNEL_MAX + 1,
    FIRN_PARTICLE_LIMIT = 1 << 30,
};

/// Channels live in slots of equal size; one slot more than there are channels is spare. Slots too
/// small for huge pages of their own share one piece of memory.
typedef struct firn_particles {
    firn_budget *budget;
    size_t count;
    int channel_count;            // FIRN_C without APIC, else FIRN_CHANNEL_MAX
    float *at[FIRN_CHANNEL_MAX];  // where the channels are
    float *spare;                 // room for one more; see firn_particles_lease_spare
    const char *spare_holder;     // NULL: free
    firn_array shared;            // the memory of all slots, or
    firn_array apart[FIRN_SLOTS]; // that of each
    size_t shared_size;           // particles that fit in a shared slot
    uint8_t slot[FIRN_SLOTS];     // of each channel, then the spare one
    firn_array material;          // uint8
    uint32_t next_id;
} firn_particles;

static inline float *firn_channel_of(const firn_particles *particles, int channel)
{
    return particles->at[channel];
}

/// Makes room for count particles in every array; channel_count is known. On failure what is there
/// stays.
firn_result firn_particles_reserve(firn_particles *particles, size_t count, firn_error *error);

/// The spare slot, a word for each particle, as scratch memory of a holder until that releases it;
/// particles neither move nor grow meanwhile. Who holds it already may ask again.
float *firn_particles_lease_spare(firn_particles *particles, const char *holder);
void firn_particles_release_spare(firn_particles *particles, const char *holder);

/// Reorders all arrays: particle i becomes the one that was at order[i]; count becomes new_count.
void firn_particles_permute(firn_particles *particles, const uint32_t *order, size_t new_count,
                            int thread_count);

void firn_particles_free(firn_particles *particles);

#endif
