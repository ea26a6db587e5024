/// The stress Hessian of the semi-implicit step as a matrix-free product, method.md (18)-(20).
#include "isa.h"
#include "lanes.h"
#include "stencil.h"

void FIRN_KERNEL(prepare_hessian)(const firn_pass *pass, const firn_block *block)
{
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        firn_fs3 e = firn_snow_strain(matrix_load(pass, FIRN_F, first, n, 1.0f));
        const firn_fx values[FIRN_CACHE_CHANNELS] = {e.xx, e.xy, e.xz, e.yy, e.yz, e.zz};
        for (int c = 0; c < FIRN_CACHE_CHANNELS; c++)
            lanes_store(pass->cache[c] + first, values[c], n);
    }
}

// V0 * K of the group, where K grad(w) is the change of force for the velocity gradient.
FIRN_INLINE firn_fm3 group_product(const firn_pass *pass, size_t first, int n, firn_fm3 gradient)
{
    firn_fx e[FIRN_CACHE_CHANNELS];
    for (int c = 0; c < FIRN_CACHE_CHANNELS; c++)
        e[c] = lanes_load(pass->cache[c] + first, n, 0.0f);
    firn_snow_moduli moduli = moduli_load(pass, first, n);
    firn_fx volume = channel_load(pass, FIRN_VOLUME, first, n, 0.0f);
    moduli = (firn_snow_moduli){volume * moduli.mu, volume * moduli.lambda};
    firn_fs3 strain = {e[0], e[1], e[2], e[3], e[4], e[5]};
    return firn_snow_hessian(strain, moduli, gradient);
}

FIRN_INLINE void block_hessian(const firn_pass *pass, const firn_block *block, bool moments,
                               int order)
{
    _Alignas(64) float in[TILE_FLOATS], out[TILE_FLOATS];
    tile_load(pass->grid, pass->input, block, in);
    memset(out, 0, sizeof out);
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        _Alignas(64) firn_stencils st;
        _Alignas(64) float value[FIRN_LANES][4], column[3][FIRN_LANES][4];
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, moments,
                      1.0f / pass->grid->cell_size);
        for (int l = 0; l < n; l++)
            gather(in, &st, l, order, value[l], column[0][l], column[1][l], column[2][l]);
        firn_fx3 x = lanes_from_nodes(column[0]), y = lanes_from_nodes(column[1]),
                 z = lanes_from_nodes(column[2]);
        firn_fm3 k = group_product(pass, first, n,
                                   (firn_fm3){{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}});
        for (int c = 0; c < 3; c++)
            nodes_from_lanes(column[c], k.m[c], k.m[3 + c], k.m[6 + c], (firn_fx){0});
        for (int l = 0; l < n; l++)
            scatter(out, &st, l, order, (firn_node){0}, node_load(column[0][l]),
                    node_load(column[1][l]), node_load(column[2][l]));
    }
    tile_add(pass->grid, pass->output, block, out);
}

void FIRN_KERNEL(apply_hessian)(const firn_pass *pass, const firn_block *block)
{
    bool quadratic = pass->grid->order == 3, moments = pass->scheme != FIRN_SCHEME_FLIP;
    if (quadratic && moments)
        block_hessian(pass, block, true, 3);
    else if (quadratic)
        block_hessian(pass, block, false, 3);
    else if (moments)
        block_hessian(pass, block, true, 4);
    else
        block_hessian(pass, block, false, 4);
}
