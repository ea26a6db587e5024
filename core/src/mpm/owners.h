/// Who computes a block: the rank whose interval of block keys it is in. Design note in owners.c.
#ifndef FIRN_OWNERS_H
#define FIRN_OWNERS_H

#include "base/memory.h"
#include "grid.h"

#include "firn/sim_ranks.h"

/// Particles, or any other entries of a list, that belong to a rank.
typedef struct firn_rank_range {
    size_t begin, end;
} firn_rank_range;

/// What a rank and another know of each other's blocks since the last sort.
typedef struct firn_peer {
    firn_rank_range ghosts;  // of owners.ghosts: blocks of that rank
    firn_rank_range borders; // of owners.borders: own blocks that are ghosts there
    firn_rank_range out;     // of owners.out: pieces of own tiles that go there
    firn_rank_range floats;  // of the tile memory: pieces that come from there
    size_t out_floats;       // of the pieces that go there
    firn_rank_range lee_in;  // of owners.lee_keys: node blocks of that rank, whose masses come
    firn_rank_range lee_out; // of owners.lee_nodes: own ones, whose masses go there
} firn_peer;

typedef struct firn_owners {
    firn_exchange exchange; // rank_count 0 or 1: alone
    firn_budget *budget;
    bool lost;  // another rank could not be reached
    bool fixed; // intervals stay as they are
    firn_rank_stats account;
    // The work of this rank in firn_sim_step, waiting left out, since it was last measured.
    double clock; // s, firn_seconds less account.waited when it began to run; 0: it stands
    double busy;  // s
    double cost;  // of a particle here over the mean of all ranks; 0: not known since the last cut
    // Particles that wait for a sort are with every rank, or scattered: with the rank alone that
    // owns them by the cuts in `filled`, which never change. Ids of the latter are below
    // scattered_end, 0: there have been none. fill.c.
    uint32_t scattered_end;
    firn_array filled; // uint64
    // Of all ranks, since the last sort.
    size_t particle_count, node_block_count;

    firn_array cuts;  // uint64 of each rank but the first: the first key of its interval
    firn_array peers; // firn_peer of each rank
    firn_array numbers, parcels, counts; // scratch, of each rank

    firn_array ghosts;  // firn_block: blocks of other ranks near own ones, their ranks in order
    firn_array borders; // uint32, own blocks
    firn_array flags;   // uint8 of each ghost, see firn_ghosts_tell
    size_t ghost_count, border_count;
    size_t first_node_block, end_node_block; // own ones among the node blocks

    // Pieces of tiles, halo.c.
    firn_array shared; // shared_node, node blocks that other ranks hold too
    size_t shared_count;
    firn_array shared_at; // int32 of each node block: number in shared, or -1
    firn_array pieces;    // piece, those of a shared node block together
    firn_array out;       // out_piece, those to a rank together
    firn_array places;    // uint32 of each own block: first of its entries in offsets
    firn_array offsets;   // uint32 of each neighbor of own blocks at shared node blocks
    firn_array tiles;     // float: own pieces, then those of other ranks
    size_t own_floats, all_floats;
    size_t border_slots, piece_count; // blocks that touch shared node blocks; pieces
    firn_node_field field[2];         // that the scatter at work adds to
    int layer_count;

    // Masses of node blocks that shield own ones, lee.c.
    bool needs_lee;
    size_t lee_count;
    firn_array lee_keys, lee_nodes; // uint64 of those of others; uint32, own ones
    firn_array lee_mass, lee_out;   // floats of their nodes

    firn_array send, receive, scratch; // bytes
    firn_array codes, order;           // uint32 of each particle while a sort runs
} firn_owners;

static inline bool firn_owners_shared(const firn_owners *owners)
{
    return owners->exchange.rank_count > 1;
}

/// Takes over the exchange of a simulation that is being made.
firn_result firn_owners_open(firn_owners *owners, const firn_exchange *exchange,
                             firn_budget *budget, firn_error *error);
void firn_owners_free(firn_owners *owners);

/// The rank that owns a block with this key, whether or not there is such a block; and by cuts of
/// so many ranks.
int firn_owners_rank(const firn_owners *owners, uint64_t key);
int firn_cuts_rank(const uint64_t *cuts, int rank_count, uint64_t key);

/// Those of count node blocks that this rank owns, in their order; alone it owns all. Sums over
/// node blocks are of these.
static inline firn_rank_range firn_owners_nodes(const firn_owners *owners, size_t count)
{
    firn_rank_range all = {0, count}, own = {owners->first_node_block, owners->end_node_block};
    return firn_owners_shared(owners) ? own : all;
}

/// True when this rank does; alone it owns all.
static inline bool firn_owners_own(const firn_owners *owners, uint64_t key)
{
    return !firn_owners_shared(owners) || firn_owners_rank(owners, key) == owners->exchange.rank;
}

/// Calls of the exchange; alone they do what one rank needs. A state that is folded goes through
/// the ranks in the order of their blocks: sums get the bits of one rank.
void firn_owners_largest(firn_owners *owners, double *values, int count);
void firn_owners_fold(firn_owners *owners, void *state, size_t size, firn_fold *add, void *context);
size_t firn_owners_sum(firn_owners *owners, size_t value);
bool firn_owners_any(firn_owners *owners, bool value);

/// One result for all: the first rank that failed tells the others its sentence.
firn_result firn_owners_agree(firn_owners *owners, firn_result result, firn_error *error);

/// Sends to[r] to each rank r and gets from[r]; both are arrays of rank_count.
void firn_owners_numbers(firn_owners *owners, const uint64_t *to, uint64_t *from);
/// Sends and receives parcels, one of each for every rank.
void firn_owners_send(firn_owners *owners, const firn_parcel *send, const firn_parcel *receive);
/// Room for those parcels: the first rank_count to be sent, then those to be received.
firn_parcel *firn_owners_parcels(const firn_owners *owners);

/// A call of firn_sim_step begins and ends: work is counted in between.
void firn_owners_start_clock(firn_owners *owners);
void firn_owners_stop_clock(firn_owners *owners);

/// Cuts the world into intervals of about as much work, at the blocks that are there and the new
/// particles; scattered: this rank has some that wait and are with it alone. Collective.
firn_result firn_owners_cut(firn_owners *owners, const firn_grid *grid, const uint64_t *new_keys,
                            size_t new_count, bool scattered, int thread_count, firn_error *error);

/// Finds what is known of all ranks after a sort: numbers, and the phases of own blocks.
/// Collective.
void firn_owners_count(firn_owners *owners, const firn_grid *grid, size_t particles);

/// ghosts.c: tells other ranks of new blocks that are near theirs, and gets theirs. Collective.
firn_result firn_ghosts_gather(firn_owners *owners, const firn_block *blocks, size_t count,
                               firn_result result, firn_error *error);
/// A byte of each own block becomes known for each ghost, in owners->flags. Collective.
void firn_ghosts_tell(firn_owners *owners, const uint8_t *of_blocks);

/// lee.c, where needs_lee: after a sort, who needs masses of whom; in a substep, their exchange,
/// with a function that fills in those of an own node block; those of another's by its key, NULL:
/// it has no such block. The first two are collective.
typedef void firn_lee_mass(const void *user, size_t node_block, float mass[]);
firn_result firn_lee_link(firn_owners *owners, const firn_grid *grid, int thread_count,
                          firn_error *error);
void firn_lee_exchange(firn_owners *owners, firn_lee_mass *mass, const void *user);
const float *firn_lee_find(const firn_owners *owners, uint64_t key);

/// halo.c: finds out which node blocks are shared and which pieces of tiles go where, when the
/// blocks have found their nodes.
firn_result firn_halo_link(firn_owners *owners, firn_grid *grid, firn_block *blocks, size_t count,
                           int thread_count, firn_error *error);
/// Before a scatter to one field or two, and behind it: exchanges pieces and adds them all up.
/// Collective.
void firn_halo_begin(firn_owners *owners, const firn_node_field *fields, int field_count);
void firn_halo_end(firn_owners *owners, const firn_grid *grid, int thread_count);

#endif
