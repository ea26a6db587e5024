/// Work on blocks that share nodes, in the order of their colors, by all threads at once.
///
/// A barrier after each color would make all threads wait for the slowest one, eight times in a
/// substep or 27 times. Instead a block waits for those of its neighbors that come before it, which
/// are usually done long since; what a node receives is added in the same order.
#ifndef FIRN_SEQUENCE_H
#define FIRN_SEQUENCE_H

#include "grid.h"

#include <stdatomic.h>

typedef struct firn_sequence {
    firn_array numbers; // int32 of each node block: the block there, or -1
    firn_array begin;   // uint32 of each block: where its list of others to wait for begins
    firn_array others;  // uint32, the lists one after the other
    firn_array done;    // atomic_uint of each block: the last turn that it has taken part in
    unsigned turn;
} firn_sequence;

/// Finds out who waits for whom, after a sort.
firn_result firn_sequence_build(firn_sequence *sequence, const firn_grid *grid, int thread_count,
                                firn_error *error);

/// What is to be done with block number b; following is probably the next one of this thread.
typedef struct firn_sequence_work {
    void (*run)(const void *user, size_t b, size_t following);
    const void *user;
} firn_sequence_work;

void firn_sequence_run(firn_sequence *sequence, const firn_grid *grid, int thread_count,
                       firn_sequence_work work);

void firn_sequence_free(firn_sequence *sequence, firn_budget *budget);

#endif
