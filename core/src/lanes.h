/// What the kernels read of a group of particles, one particle per lane.
#ifndef FIRN_LANES_H
#define FIRN_LANES_H

#include "kernels.h"
#include "simd.h"

/// Material parameters of each lane.
typedef struct firn_lane_material {
    firn_fx mu, lambda; // Pa, as they are when J_P = 1
    firn_fx hardening, compression, stretch, jp_min, jp_max;
} firn_lane_material;

/// Lanes past the n valid ones are filled.
static inline firn_fx lanes_load(const float *p, int n, float fill)
{
    return n == FIRN_LANES ? firn_fx_load(p) : firn_fx_load_tail(p, n, fill);
}

static inline void lanes_store(float *p, firn_fx a, int n)
{
    if (n == FIRN_LANES)
        firn_fx_store(p, a);
    else
        firn_fx_store_tail(p, a, n);
}

static inline firn_fx channel_load(const firn_pass *pass, int channel, size_t first, int n,
                                   float fill)
{
    return lanes_load(firn_channel_of(pass->particles, channel) + first, n, fill);
}

static inline firn_fx3 vector_load(const firn_pass *pass, int channel, size_t first, int n)
{
    return (firn_fx3){channel_load(pass, channel, first, n, 0.0f),
                      channel_load(pass, channel + 1, first, n, 0.0f),
                      channel_load(pass, channel + 2, first, n, 0.0f)};
}

static inline firn_fm3 matrix_load(const firn_pass *pass, int channel, size_t first, int n,
                                   float diagonal)
{
    firn_fm3 a;
    for (int i = 0; i < 9; i++)
        a.m[i] = channel_load(pass, channel + i, first, n, i % 4 == 0 ? diagonal : 0.0f);
    return a;
}

static inline void matrix_store(const firn_pass *pass, int channel, size_t first, int n, firn_fm3 a)
{
    for (int i = 0; i < 9; i++)
        lanes_store(firn_channel_of(pass->particles, channel + i) + first, a.m[i], n);
}

static inline firn_lane_material material_load(const firn_pass *pass, size_t first, int n)
{
    const firn_materials *m = pass->materials;
    firn_fx stiffness = channel_load(pass, FIRN_STIFFNESS, first, n, 1.0f);
    if (m->count == 1)
        return (firn_lane_material){stiffness * m->mu[0],          stiffness * m->lambda[0],
                                    firn_fx_set(m->hardening[0]),  firn_fx_set(m->compression[0]),
                                    firn_fx_set(m->stretch[0]),    firn_fx_set(m->jp_min[0]),
                                    firn_fx_set(m->jp_max[0])};
    const uint8_t *material = (const uint8_t *)pass->particles->material.data + first;
    int32_t lanes[FIRN_LANES] = {0};
    for (int l = 0; l < n; l++)
        lanes[l] = material[l];
    firn_ix index = firn_ix_load(lanes);
    return (firn_lane_material){
        stiffness * firn_fx_gather(m->mu, index), stiffness * firn_fx_gather(m->lambda, index),
        firn_fx_gather(m->hardening, index),      firn_fx_gather(m->compression, index),
        firn_fx_gather(m->stretch, index),        firn_fx_gather(m->jp_min, index),
        firn_fx_gather(m->jp_max, index)};
}

#endif
