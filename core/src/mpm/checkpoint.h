/// The bytes of a checkpoint: a header, the channels of the particles, the arrays of the state.
/// checkpoint.c writes and reads them alone, ranks_state.c and ranks_load.c together
/// with other ranks.
#ifndef FIRN_CHECKPOINT_H
#define FIRN_CHECKPOINT_H

#include "state.h"

/// Large arrays are hashed in chunks, and the hashes of these in turn, a group at a time.
enum {
    FIRN_HASH_CHUNK = 1 << 18, // bytes that a thread takes at a time
    FIRN_HASH_CHUNKS = 64,     // of a group
    FIRN_HASH_GROUP = FIRN_HASH_CHUNK * FIRN_HASH_CHUNKS,
};

/// The first bytes; all numbers little-endian as on every machine Firn is built for.
typedef struct firn_checkpoint_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint64_t total_size; // bytes of the whole checkpoint
    uint64_t models;     // hash of those of the materials, zero for snow alone
    uint64_t checksum;   // of everything else
    char program[16];    // version of Firn
    // What the simulation must share.
    float cell_size;
    int32_t kernel, transfer, integrator;
    int32_t material_count, source_count;
    uint32_t channel_count; // of the particles; firn_saved_channel of each follow the header
    int32_t body_count, unused;
    uint32_t origin;          // of what made it, folded; 0: nobody said
    firn_state_scalars state; // what is restored
} firn_checkpoint_header;

/// The channels of the particles, as they stand behind the header.
typedef struct firn_channel_list {
    firn_saved_channel row[FIRN_ROW_LIMIT];
    size_t count;
} firn_channel_list;

static inline size_t firn_channel_list_size(size_t count)
{
    return count * sizeof(firn_saved_channel);
}

firn_channel_list firn_checkpoint_channels(const firn_sim *sim);

/// The header of a checkpoint with these scalars, without its checksum.
firn_checkpoint_header firn_checkpoint_begin(const firn_sim *sim, const firn_state_scalars *state);

/// The checksum that that of the arrays goes on from.
uint64_t firn_checkpoint_seed(const firn_sim *sim, const firn_checkpoint_header *header);

/// Goes on with at most a group of a large array.
uint64_t firn_checkpoint_hash_group(const void *bytes, size_t size, uint64_t seed,
                                    int thread_count);

/// Room for the largest of the arrays that ranks pack, with so many blocks.
size_t firn_checkpoint_packed(const firn_sim *sim, size_t block_count);

/// Looks through the bytes of a whole checkpoint; name is what messages call them. FIRN_OK: they
/// are one of this simulation and can be used.
firn_result firn_checkpoint_check(const firn_sim *sim, const void *bytes, size_t size,
                                  const char *name, firn_checkpoint_header *header,
                                  firn_error *error);

#endif
