/// A simulation on several ranks as one: what firn_sim_create_shared has made.
#ifndef FIRN_SIM_RANKS_H
#define FIRN_SIM_RANKS_H

#include "firn/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What all ranks hold, in the order of one rank. Collective: out and path are those of the first
/// rank, which alone reads and writes. A checkpoint has the bytes that one rank writes, and is
/// loaded by any number of ranks. Of a simulation that is alone these are its own particles.
FIRN_API firn_result firn_sim_gather_count(firn_sim *sim, size_t *count, firn_error *error);
FIRN_API firn_result firn_sim_gather(firn_sim *sim, int channel, void *out, firn_error *error);
FIRN_API firn_result firn_sim_gather_save(firn_sim *sim, const char *path, firn_error *error);
FIRN_API firn_result firn_sim_scatter_load(firn_sim *sim, const char *path, firn_error *error);

/// What this rank has had to do with the others since it was made.
typedef struct firn_rank_stats {
    double waited;                   // s, in calls of the exchange
    uint64_t sent;                   // bytes to others
    uint64_t halo;                   // bytes of them that were pieces of tiles
    uint64_t folds, maxima, parcels; // calls that go from rank to rank, to all, to neighbors
    uint64_t cuts;                   // how often the intervals of blocks were cut again
    double halo_seconds;             // s of waited, for pieces of tiles
    size_t particles;                // that this rank holds
} firn_rank_stats;
FIRN_API firn_rank_stats firn_sim_rank_stats(const firn_sim *sim);

#ifdef __cplusplus
}
#endif

#endif
