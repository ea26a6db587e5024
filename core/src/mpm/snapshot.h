/// One copy of the state in memory, for retries and for hosts that go back.
#ifndef FIRN_SNAPSHOT_H
#define FIRN_SNAPSHOT_H

#include "state.h"

/// What changes of the state without its arrays.
typedef struct firn_moment {
    firn_state_scalars scalars;
    firn_array sources; // firn_source, whole: keys may change their settings between two steps
} firn_moment;

/// What a retry goes back to, and who has marked the state.
typedef struct firn_snapshot {
    firn_array bytes;  // the arrays of the state, as in a checkpoint
    uint64_t revision; // of the simulation's arrays that these are; 0: none
    size_t new_count;  // particles among them that wait for the next sort
    firn_moment start; // of the last call of firn_sim_step, with retries
    firn_moment mark;  // of firn_sim_mark
    bool marked;
} firn_snapshot;

/// Keeps the state that a step starts from, if anybody may go back to it.
firn_result firn_snapshot_begin(firn_sim *sim, firn_error *error);

/// Goes back to it.
void firn_snapshot_undo(firn_sim *sim);

/// Something else than a step is about to change the arrays of the state: there is no mark any
/// more.
void firn_snapshot_void(firn_sim *sim);

/// Whether new particles may be brought back that wait for their block.
bool firn_snapshot_has_new(const firn_sim *sim);

void firn_snapshot_free(firn_sim *sim);

#endif
