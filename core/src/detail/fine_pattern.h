/// Where the grains of a particle are in its cell, how heavy each is, and how the air holds it.
///
/// All particles share the cell of one pattern, each turned by its id. What they do not share is
/// how that cell comes apart where snow is loose: into crumbs of all sizes and single grains, in
/// one of several ways, since an eye finds the same cluster of dots twice.
#ifndef FIRN_FINE_PATTERN_H
#define FIRN_FINE_PATTERN_H

#include "firn/fine.h"

enum { FIRN_FINE_MOST = 200, FIRN_FINE_WAYS = 16 };

/// Farthest offset in a cell, in its edges: cells overlap a little, so that no gaps show.
#define FIRN_FINE_REACH 0.75

/// Of each grain. Means that are weighed by mass are zero, so that mass, center and momentum of a
/// particle stay what they are.
typedef struct firn_fine_pattern {
    float offset[FIRN_FINE_MOST][3];                // from the particle, in edges of its cell
    float apart[FIRN_FINE_WAYS][FIRN_FINE_MOST][3]; // added to it as the cell of loose snow grows
    float share[FIRN_FINE_MOST];                    // of the particle's mass
    float radius[FIRN_FINE_MOST];                   // over that of the particle
    float lag[FIRN_FINE_MOST];   // share of the air's relative velocity that it takes over
    float trail[FIRN_FINE_MOST]; // s, that it is behind for that
} firn_fine_pattern;

void firn_fine_pattern_make(const firn_fine_def *def, firn_fine_pattern *pattern);

#endif
