/// The stress Hessian of the semi-implicit step as a matrix-free product, method.md (18)-(20).
#include "scatter.h"
#include "transfer_group.h"

void FIRN_KERNEL(prepare_hessian)(const firn_pass *pass, const firn_block *block)
{
    for (int m = 0; m < FIRN_MODEL_COUNT; m++) {
        firn_segment segment = segment_of(block, block, m);
        if (segment.begin < segment.end)
            FIRN_KERNEL(hessians)[m]->prepare(pass, &segment);
    }
}

void FIRN_KERNEL(apply_hessian)(const firn_pass *pass, const firn_block *block)
{
    firn_tiles tiles;
    firn_tile_box box = tile_box(pass, block, pass->grid->order);
    tile_load(pass->grid, pass->input, block, tiles.old, box);
    tile_clear(tiles.velocity, box);
    for (int m = 0; m < FIRN_MODEL_COUNT; m++) {
        firn_segment segment = segment_of(block, block, m);
        if (segment.begin < segment.end)
            FIRN_KERNEL(hessians)[m]->product(pass, &segment, &tiles);
    }
    tile_add(pass->grid, pass->output, block, tiles.velocity, box);
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
        int n = plain_group_size(block->end, first);
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
