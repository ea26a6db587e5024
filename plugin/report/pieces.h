/// What stays together: pieces of snow, found from bonds between particles that were neighbors at
/// the beginning. Heaps and links of any length cannot fool it, since snow that only lies next to
/// each other has no bond.
#ifndef FIRN_PIECES_H
#define FIRN_PIECES_H

#include "firn/base.h"
#include "firn/vec.h"

/// The same particles at two times, in the same order.
typedef struct firn_pieces_input {
    size_t count;
    const firn_vec3 *before, *after; // m
    const float *volume;             // m^3, at the beginning
    const float *strength;           // that is left, relative to the first; NULL: not known
} firn_pieces_input;

/// Sizes are volumes at the beginning.
typedef struct firn_pieces_def {
    double tolerance; // share of its length by which a whole bond may have changed
    double piece;     // m^3, a piece is larger
    double dust;      // m^3, what is smaller is dust; crumbs are between
} firn_pieces_def;

firn_pieces_def firn_pieces_def_default(void);

typedef struct firn_pieces {
    size_t bonds;        // between neighbors at the beginning
    double whole;        // share of them that is whole
    double strength;     // mean of what is left in whole bonds; NAN: not known
    double pieces;       // share of the volume
    double crumbs, dust; // share of the volume
    double largest;      // share of the volume in the largest of all
    size_t piece_count;
    double *sizes; // m^3, of the pieces, largest first
} firn_pieces;

firn_result firn_pieces_find(const firn_pieces_input *input, const firn_pieces_def *def,
                             firn_pieces *pieces, firn_error *error);
void firn_pieces_free(firn_pieces *pieces);

/// m^3, the size above which this share of the volume in pieces lies; 0 without pieces.
double firn_pieces_quantile(const firn_pieces *pieces, double share);

#endif
