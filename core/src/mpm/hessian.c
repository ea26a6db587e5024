/// The stress Hessian of the semi-implicit step as a matrix-free product, method.md (18)-(20).
#include "gather.h"
#include "isa.h"
#include "scatter.h"
#include "tile.h"

void FIRN_KERNEL(prepare_hessian)(const firn_pass *pass, const firn_block *block)
{
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        firn_fs3 e = firn_snow_strain(matrix_load(pass, FIRN_F, first, n, 1.0f));
        firn_lane_materials materials = lane_materials_load(pass, first, n);
        firn_snow_moduli moduli =
            moduli_of(pass, &materials, first, n, channel_load(pass, FIRN_JP, first, n, 1.0f));
        firn_fx volume = channel_load(pass, FIRN_VOLUME, first, n, 0.0f);
        const firn_fx values[FIRN_CACHE_CHANNELS] = {
            e.xx, e.xy, e.xz, e.yy, e.yz, e.zz, volume * moduli.mu, volume * moduli.lambda};
        for (int c = 0; c < FIRN_CACHE_CHANNELS; c++)
            lanes_store(pass->cache[c] + first, values[c], n);
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
    firn_fs3 strain = {c[0], c[1], c[2], c[3], c[4], c[5]};
    firn_snow_moduli moduli = {factor * c[6], factor * c[7]};
    return firn_snow_hessian(strain, moduli, gradient);
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

FIRN_INLINE void block_hessian(const firn_pass *pass, const firn_block *block, firn_slopes slopes,
                               int order)
{
    _Alignas(64) float in[TILE_FLOATS], out[TILE_FLOATS];
    firn_tile_box box = tile_box(pass, block, order);
    firn_fx zero = {0};
    tile_load(pass->grid, pass->input, block, in, box);
    tile_clear(out, box);
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        _Alignas(64) firn_stencils st;
        _Alignas(64) firn_columns columns;
        cache_prefetch(pass, first + AHEAD);
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, slopes,
                      1.0f / pass->grid->cell_size);
        firn_sample sample = gather_group(in, &st, n, order, slopes);
        firn_fm3 k = group_product(pass, first, n, sample.gradient, st.slope_scale);
        make_scatter(&st, order, slopes);
        columns_from_lanes(&columns, &st, slopes, (firn_fx3){zero, zero, zero}, zero, k);
        scatter_group(out, &st, &columns, n, order,
                      slopes == FIRN_SLOPES_MOMENTS ? SCATTER_MOMENTS : SCATTER_GRADIENTS);
    }
    tile_add(pass->grid, pass->output, block, out, box);
}

void FIRN_KERNEL(apply_hessian)(const firn_pass *pass, const firn_block *block)
{
    bool quadratic = pass->grid->order == 3, moments = pass->scheme != FIRN_SCHEME_FLIP;
    if (quadratic && moments)
        block_hessian(pass, block, FIRN_SLOPES_MOMENTS, 3);
    else if (quadratic)
        block_hessian(pass, block, FIRN_SLOPES_GRADIENTS, 3);
    else if (moments)
        block_hessian(pass, block, FIRN_SLOPES_MOMENTS, 4);
    else
        block_hessian(pass, block, FIRN_SLOPES_GRADIENTS, 4);
}

// Weights and slopes squared, as the diagonal has them; all products of weights remain products.
FIRN_INLINE void square_stencils(firn_stencils *st, int order, firn_slopes slopes)
{
    const firn_fx first[3] = {st->first_node.x, st->first_node.y, st->first_node.z};
    for (int axis = 0; axis < 3; axis++) {
        for (int k = 0; k < order; k++) {
            firn_fx w = firn_fx_load(st->w[axis][k]);
            firn_fx s = slopes == FIRN_SLOPES_MOMENTS ? ((float)k - first[axis]) * w
                                                      : firn_fx_load(st->s[axis][k]);
            firn_fx_store(st->w[axis][k], w * w);
            firn_fx_store(st->s[axis][k], s * s);
        }
    }
}

// sum V0 (mu |g|^2 + (mu + lambda) g_k^2) for each axis k, g the slope of the node.
FIRN_INLINE void block_diagonal(const firn_pass *pass, const firn_block *block, firn_slopes slopes,
                                int order)
{
    _Alignas(64) float out[TILE_FLOATS];
    firn_tile_box box = tile_box(pass, block, order);
    firn_fx zero = {0};
    tile_clear(out, box);
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        _Alignas(64) firn_stencils st;
        _Alignas(64) firn_columns columns;
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, slopes,
                      1.0f / pass->grid->cell_size);
        square_stencils(&st, order, slopes);
        make_scatter(&st, order, FIRN_SLOPES_GRADIENTS);
        firn_fx scale = firn_fx_set(st.slope_scale * st.slope_scale);
        firn_fx mu = scale * lanes_load(pass->cache[6] + first, n, 0.0f);
        firn_fx along = 2.0f * mu + scale * lanes_load(pass->cache[7] + first, n, 0.0f);
        firn_fm3 k = {{along, mu, mu, mu, along, mu, mu, mu, along}};
        columns_from_lanes(&columns, &st, FIRN_SLOPES_GRADIENTS, (firn_fx3){zero, zero, zero}, zero,
                           k);
        scatter_group(out, &st, &columns, n, order, SCATTER_GRADIENTS);
    }
    tile_add(pass->grid, pass->output, block, out, box);
}

void FIRN_KERNEL(diagonal_hessian)(const firn_pass *pass, const firn_block *block)
{
    bool quadratic = pass->grid->order == 3, moments = pass->scheme != FIRN_SCHEME_FLIP;
    if (quadratic && moments)
        block_diagonal(pass, block, FIRN_SLOPES_MOMENTS, 3);
    else if (quadratic)
        block_diagonal(pass, block, FIRN_SLOPES_GRADIENTS, 3);
    else if (moments)
        block_diagonal(pass, block, FIRN_SLOPES_MOMENTS, 4);
    else
        block_diagonal(pass, block, FIRN_SLOPES_GRADIENTS, 4);
}
