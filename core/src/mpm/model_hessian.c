/// The stress Hessian of the particles of one model in a block: compiled for each instruction set
/// and model.
#include "gather.h"
#include "scatter.h"
#include "transfer_group.h"

#include FIRN_MODEL_HEADER

typedef MODEL(group) model_group;

static void prepare(const firn_pass *pass, const firn_segment *segment)
{
    for (size_t first = segment->begin; first < segment->end; first += FIRN_LANES) {
        int n = plain_group_size(segment->end, first);
        firn_matter matter = {.f = matrix_load(pass, FIRN_F, first, n, 1.0f),
                              .jp = channel_load(pass, FIRN_JP, first, n, 1.0f),
                              .stiffness = channel_load(pass, FIRN_STIFFNESS, first, n, 1.0f),
                              .materials = lane_materials_load(pass, first, n)};
        firn_implicit_bulk bulk = {channel_load(pass, FIRN_VOLUME, first, n, 0.0f),
                                   pass->strain_rate};
        model_group group = MODEL(load)(&matter);
        firn_fx cache[FIRN_CACHE_CHANNELS];
        MODEL(prepare)(&matter, &group, bulk, cache);
        for (int c = 0; c < FIRN_CACHE_CHANNELS; c++)
            lanes_store(pass->cache[c] + first, cache[c], n);
    }
}

// V0 * K of the group times a factor, where K grad(w) is the change of force for the velocity
// gradient.
FIRN_INLINE firn_fm3 group_product(const firn_pass *pass, size_t first, int n, firn_fm3 gradient,
                                   float factor)
{
    firn_fx c[FIRN_CACHE_CHANNELS];
    for (int i = 0; i < FIRN_CACHE_CHANNELS; i++)
        c[i] = lanes_load(pass->cache[i] + first, n, 0.0f);
    return MODEL(product)(c, factor, gradient);
}

FIRN_INLINE void cache_prefetch(const firn_pass *pass, size_t first)
{
    if (FIRN_LANES < LINE && first % LINE >= FIRN_LANES)
        return;
    for (int c = FIRN_U; c < FIRN_U + 3; c++)
        __builtin_prefetch(firn_channel_of(pass->particles, c) + first);
    for (int i = 0; i < FIRN_CACHE_CHANNELS; i++)
        __builtin_prefetch(pass->cache[i] + first);
}

FIRN_INLINE void segment_product(const firn_pass *pass, const firn_segment *segment,
                                 firn_tiles *tiles, firn_slopes slopes, int order)
{
    firn_fx zero = {0};
    for (size_t first = segment->begin; first < segment->end; first += FIRN_LANES) {
        int n = plain_group_size(segment->end, first);
        _Alignas(64) firn_stencils st;
        _Alignas(64) firn_columns columns;
        cache_prefetch(pass, first + AHEAD);
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, slopes,
                      1.0f / pass->grid->cell_size);
        firn_sample sample = gather_group(tiles->old, &st, n, order, slopes);
        firn_fm3 k = group_product(pass, first, n, sample.gradient, st.slope_scale);
        make_scatter(&st, order, slopes);
        columns_from_lanes(&columns, &st, slopes, (firn_fx3){zero, zero, zero}, zero, k);
        scatter_group(tiles->velocity, &st, &columns, n, order,
                      slopes == FIRN_SLOPES_MOMENTS ? SCATTER_MOMENTS : SCATTER_GRADIENTS);
    }
}

// From the old tile to the other one.
static void product(const firn_pass *pass, const firn_segment *segment, firn_tiles *tiles)
{
    bool quadratic = pass->grid->order == 3, moments = pass->scheme != FIRN_SCHEME_FLIP;
    if (quadratic && moments)
        segment_product(pass, segment, tiles, FIRN_SLOPES_MOMENTS, 3);
    else if (quadratic)
        segment_product(pass, segment, tiles, FIRN_SLOPES_GRADIENTS, 3);
    else if (moments)
        segment_product(pass, segment, tiles, FIRN_SLOPES_MOMENTS, 4);
    else
        segment_product(pass, segment, tiles, FIRN_SLOPES_GRADIENTS, 4);
}

const firn_model_hessian FIRN_MODEL_KERNEL(hessian, FIRN_MODEL) = {.prepare = prepare,
                                                                   .product = product};
