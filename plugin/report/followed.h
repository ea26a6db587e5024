/// The particles of a cache at two frames, matched by their ids.
#ifndef FIRN_FOLLOWED_H
#define FIRN_FOLLOWED_H

#include "packing.h"
#include "pieces.h"

/// Arrays are owned. Particles that one of the frames does not have are left out.
typedef struct firn_followed {
    size_t count;
    size_t lost; // particles of the first frame that the second does not have
    int from, to;
    firn_vec3 *before, *after;
    float *volume; // m^3, initial
    float *density_before, *density_after;
    float *strength; // that is left, relative to the first frame; NULL: the cache does not tell
} firn_followed;

/// from and to may be FIRN_FOLLOW_END: the first and the last frame of the cache.
enum { FIRN_FOLLOW_END = INT32_MIN };
firn_result firn_followed_read(const char *cache, int from, int to, firn_followed *followed,
                               firn_error *error);
void firn_followed_free(firn_followed *followed);

firn_pieces_input firn_followed_pieces(const firn_followed *followed);
firn_packing_input firn_followed_packing(const firn_followed *followed);

#endif
