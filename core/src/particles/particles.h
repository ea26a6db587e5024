/// Storage of the particles: a structure of arrays with one count.
///
/// Positions are kept in cells, relative to the grid block that a particle was sorted into and to
/// the first node of its kernel, method.md (3): equally precise everywhere in the world.
#ifndef FIRN_PARTICLES_H
#define FIRN_PARTICLES_H

#include "base/memory.h"
#include "channels.h"

#include "firn/vec.h"

enum {
    FIRN_PADDING = 16, // readable floats past the end, for full-width loads
    FIRN_SLOTS = FIRN_CHANNEL_MAX + 1,
    FIRN_PARTICLE_LIMIT = 1 << 30,
};

/// Columns live in slots of equal size; one slot more than there are columns is spare. Slots too
/// small for huge pages of their own share one piece of memory.
typedef struct firn_particles {
    firn_budget *budget;
    size_t count;
    int channel_count;            // columns in use: those of the channels
    float *at[FIRN_CHANNEL_MAX];  // where the columns are
    float *spare;                 // room for one more; see firn_particles_lease_spare
    const char *spare_holder;     // NULL: free
    firn_array shared;            // the memory of all slots, or
    firn_array apart[FIRN_SLOTS]; // that of each
    size_t shared_size;           // particles that fit in a shared slot
    uint8_t slot[FIRN_SLOTS];     // of each column, then the spare one
    firn_array material;          // uint8
    uint32_t next_id;
    firn_channel_set channels; // which there are, and their columns
} firn_particles;

/// A column of the particles.
static inline float *firn_channel_of(const firn_particles *particles, int column)
{
    return particles->at[column];
}

/// The channels that somebody in the mask needs; before there is any particle.
void firn_particles_begin(firn_particles *particles, unsigned needs);

/// One channel more, while there is no particle.
firn_result firn_particles_add_channel(firn_particles *particles, const firn_channel *channel,
                                       firn_error *error);

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
