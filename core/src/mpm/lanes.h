/// What the kernels read of a group of particles, one particle per lane.
#ifndef FIRN_LANES_H
#define FIRN_LANES_H

#include "base/simd.h"
#include "kernels.h"
#include "models/matter.h"

/// Whether loads and stores need no mask. With AVX-512 masks are free: there is nothing to choose.
static inline bool lanes_are_full(int n) { return FIRN_LANES < 16 && n == FIRN_LANES; }

/// Lanes past the n valid ones are filled.
static inline firn_fx lanes_load(const float *p, int n, float fill)
{
    return lanes_are_full(n) ? firn_fx_load(p) : firn_fx_load_tail(p, n, fill);
}

/// A mask of the first n lanes.
static inline firn_ix lanes_below(int n)
{
    static const int32_t count[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return firn_ix_load(count) < n;
}

static inline void lanes_store(float *p, firn_fx a, int n)
{
    if (lanes_are_full(n))
        firn_fx_store(p, a);
    else
        firn_fx_store_tail(p, a, n);
}

enum {
    LINE = FIRN_LINE, // floats
    AHEAD = 2 * LINE, // particles between those at work and those being fetched
};

// Few enough at once for the compiler to unroll them.
FIRN_INLINE void channels_prefetch(const firn_pass *pass, int begin, int end, size_t first)
{
    for (int c = begin; c < end; c++)
        __builtin_prefetch(firn_channel_of(pass->particles, c) + first);
}

/// The particles of one model in a block.
typedef struct firn_segment {
    const firn_block *block, *following; // the latter comes next, or is the same again
    size_t begin, end;
    int model;
} firn_segment;

/// What of the affine velocity a pass reads or writes, FIRN_FROM in place of it where it is left
/// out.
typedef enum firn_affine { AFFINE_NONE, AFFINE_LEFT_OUT, AFFINE_WHOLE } firn_affine;

/// Parts of the particles that are fetched one after the other, with work between them: a processor
/// can wait for 10 to 16 lines at a time, and for all of the particles they are twice as many.
typedef enum firn_fetch { FETCH_MOTION, FETCH_DEFORMATION, FETCH_REST } firn_fetch;

/// Brings particles near the processor, as far as a line of each channel goes, those that are going
/// to be at work AHEAD particles after first: in the block or in the one that follows. There are
/// more streams than the processor's own prefetching follows.
FIRN_INLINE void particles_prefetch(const firn_pass *pass, const firn_segment *segment,
                                    size_t first, firn_affine affine, firn_fetch part)
{
    const firn_block *block = segment->block;
    if (FIRN_LANES < LINE && first % LINE >= FIRN_LANES)
        return;
    first += AHEAD;
    if (first >= block->end)
        first = first - block->end + segment->following->begin;
    if (part == FETCH_DEFORMATION)
        channels_prefetch(pass, FIRN_F, FIRN_F + 9, first);
    else if (part == FETCH_REST)
        channels_prefetch(pass, FIRN_F + 9, FIRN_ID, first);
    if (part != FETCH_MOTION)
        return;
    channels_prefetch(pass, FIRN_U, FIRN_F, first);
    if (affine != AFFINE_NONE)
        channels_prefetch(pass, FIRN_FROM, FIRN_FROM + 3, first);
    if (affine == AFFINE_WHOLE)
        channels_prefetch(pass, FIRN_C + 3, FIRN_C + 9, first);
}

/// Blocks with fewer particles take no notice of where lines begin.
enum { ALIGNED_BLOCK = 4 * LINE };

/// The segment of a model; empty where the block has none of it.
static inline firn_segment segment_of(const firn_block *block, const firn_block *following,
                                      int model)
{
    size_t begin = model > 0 ? block->model_end[model - 1] : block->begin;
    return (firn_segment){block, following, begin, block->model_end[model], model};
}

/// How many particles from first on form a group: as many as there are lanes, but in large blocks
/// groups end where a line of the channels does, so that no load needs two.
static inline int group_size(const firn_block *block, size_t end, size_t first)
{
    size_t left = end - first, room = FIRN_LANES;
    if (block->end - block->begin >= ALIGNED_BLOCK)
        room -= (first + block->phase) % FIRN_LANES;
    return (int)(left < room ? left : room);
}

/// As many as there are lanes, wherever lines end.
static inline int plain_group_size(size_t end, size_t first)
{
    return end - first < FIRN_LANES ? (int)(end - first) : FIRN_LANES;
}

static inline firn_fx channel_load(const firn_pass *pass, int channel, size_t first, int n,
                                   float fill)
{
    return lanes_load(firn_channel_of(pass->particles, channel) + first, n, fill);
}

static inline firn_fx3 vector_load(const firn_pass *pass, int channel, size_t first, int n)
{
    const firn_particles *p = pass->particles;
    const float *x = firn_channel_of(p, channel) + first;
    const float *y = firn_channel_of(p, channel + 1) + first;
    const float *z = firn_channel_of(p, channel + 2) + first;
    if (lanes_are_full(n))
        return (firn_fx3){firn_fx_load(x), firn_fx_load(y), firn_fx_load(z)};
    return (firn_fx3){firn_fx_load_tail(x, n, 0.0f), firn_fx_load_tail(y, n, 0.0f),
                      firn_fx_load_tail(z, n, 0.0f)};
}

static inline void vector_store(const firn_pass *pass, int channel, size_t first, int n, firn_fx3 a)
{
    const firn_particles *p = pass->particles;
    float *x = firn_channel_of(p, channel) + first;
    float *y = firn_channel_of(p, channel + 1) + first;
    float *z = firn_channel_of(p, channel + 2) + first;
    if (lanes_are_full(n)) {
        firn_fx_store(x, a.x);
        firn_fx_store(y, a.y);
        firn_fx_store(z, a.z);
    } else {
        firn_fx_store_tail(x, a.x, n);
        firn_fx_store_tail(y, a.y, n);
        firn_fx_store_tail(z, a.z, n);
    }
}

static inline firn_fm3 matrix_load(const firn_pass *pass, int channel, size_t first, int n,
                                   float diagonal)
{
    const firn_particles *p = pass->particles;
    firn_fm3 a;
    if (lanes_are_full(n))
        for (int i = 0; i < 9; i++)
            a.m[i] = firn_fx_load(firn_channel_of(p, channel + i) + first);
    else
        for (int i = 0; i < 9; i++)
            a.m[i] = firn_fx_load_tail(firn_channel_of(p, channel + i) + first, n,
                                       i % 4 == 0 ? diagonal : 0.0f);
    return a;
}

static inline void matrix_store(const firn_pass *pass, int channel, size_t first, int n, firn_fm3 a)
{
    const firn_particles *p = pass->particles;
    if (lanes_are_full(n))
        for (int i = 0; i < 9; i++)
            firn_fx_store(firn_channel_of(p, channel + i) + first, a.m[i]);
    else
        for (int i = 0; i < 9; i++)
            firn_fx_store_tail(firn_channel_of(p, channel + i) + first, a.m[i], n);
}

FIRN_INLINE firn_lane_materials lane_materials_load(const firn_pass *pass, size_t first, int n)
{
    typedef uint8_t bytes __attribute__((vector_size(FIRN_LANES), aligned(1), may_alias));
    firn_lane_materials materials = {pass->materials, {0}, true};
    if (pass->materials->count == 1)
        return materials;
    const uint8_t *material = (const uint8_t *)pass->particles->material.data + first;
    firn_ix there = lanes_below(n);
    // Lanes past the end take the first one's: another might be of another model.
    materials.lane =
        firn_ix_select(there, __builtin_convertvector(*(const bytes *)material, firn_ix),
                       firn_ix_set(material[0]));
    materials.same = firn_ix_all(materials.lane == material[0]);
    return materials;
}

#endif
