/// What the end of a substep knows of the next one.
#ifndef FIRN_FORESIGHT_H
#define FIRN_FORESIGHT_H

#include "kernels.h"
#include "owners.h"

typedef struct firn_foresight {
    double dt; // s, of the substep that the grid has been filled for in advance; 0: none
    firn_block_limits extremes; // of all particles now
    double stay;                // s, that all remain in reach of their blocks at this speed
} firn_foresight;

/// A call begins: nothing is known of the particles.
void firn_foresight_reset(firn_foresight *foresight);

/// The grid is filled for a substep of dt, by the cycle before it.
void firn_foresight_fill(firn_foresight *foresight, double dt);

/// That grid has been used, or must not be.
void firn_foresight_void(firn_foresight *foresight);

/// Finds the extremes over the blocks of all ranks.
void firn_foresight_measure(firn_foresight *foresight, firn_owners *owners,
                            const firn_block_limits *limits, size_t count, float cell_size);

/// Whether all particles are in reach of their blocks.
bool firn_foresight_in_reach(const firn_foresight *foresight);

#endif
