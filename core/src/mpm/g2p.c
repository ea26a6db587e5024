/// Grid to particles: velocities, deformation, contact and positions, method.md (11)-(16).
#include "gather.h"
#include "transfer_group.h"

static inline firn_lane_limits no_limits(void)
{
    firn_fx zero = {0}, far = firn_fx_set(INFINITY);
    return (firn_lane_limits){zero, zero, far, -far};
}

static firn_block_limits finish_limits(const firn_lane_limits *lanes)
{
    return (firn_block_limits){.speed2 = firn_fx_max_lane(lanes->speed2),
                               .wave2 = firn_fx_max_lane(lanes->wave2),
                               .low = firn_fx_min_lane(lanes->low),
                               .high = firn_fx_max_lane(lanes->high)};
}

void FIRN_KERNEL(measure)(const firn_pass *pass, const firn_block *block, firn_block_limits *limits)
{
    firn_lane_limits lanes = no_limits();
    for (int m = 0; m < FIRN_MODEL_COUNT; m++) {
        firn_segment segment = segment_of(block, block, m);
        if (segment.begin < segment.end)
            FIRN_KERNEL(transfers)[m]->measure(pass, &segment, &lanes);
    }
    *limits = finish_limits(&lanes);
}

// Moves a block. When out is not NULL, groups go on to the grid of the next substep as long as they
// are at hand, except for what drifted out of the tile: that makes a sort necessary, and what was
// scattered here will not be used. Their affine velocities are done with then and left out; who
// needs them after all has them recovered.
static firn_block_limits block_to_particles(const firn_pass *pass, const firn_block *block,
                                            const firn_block *following, const firn_pass *next,
                                            firn_outbound *out)
{
    firn_inbound in;
    firn_tile_box box = tile_box(pass, block, pass->grid->order);
    tile_load(pass->grid, pass->velocity, block, in.tiles.velocity, box);
    if (pass->scheme == FIRN_SCHEME_FLIP)
        tile_load(pass->grid, pass->old, block, in.tiles.old, box);
    in.contact = block_is_near_colliders(pass, block);
    in.affine = pass->scheme == FIRN_SCHEME_FLIP ? AFFINE_NONE
                : out != NULL                    ? AFFINE_LEFT_OUT
                                                 : AFFINE_WHOLE;
    in.limits = no_limits();
    for (int m = 0; m < FIRN_MODEL_COUNT; m++) {
        firn_segment segment = segment_of(block, following, m);
        if (segment.begin < segment.end)
            FIRN_KERNEL(transfers)[m]->to_particles(pass, &segment, &in, next, out);
    }
    return finish_limits(&in.limits);
}

void FIRN_KERNEL(to_particles)(const firn_pass *pass, const firn_block *block,
                               const firn_block *following, firn_block_limits *limits)
{
    *limits = block_to_particles(pass, block, following, NULL, NULL);
}

void FIRN_KERNEL(cycle)(const firn_pass *pass, const firn_pass *next, const firn_block *block,
                        const firn_block *following, firn_block_limits *limits,
                        firn_block_sums *sums)
{
    // The tile of a few particles depends on where they end.
    if (tile_is_sparse(block)) {
        *limits = block_to_particles(pass, block, following, NULL, NULL);
        if (limits->low >= 0.0f && limits->high < 0.0f && limits->speed2 < INFINITY)
            FIRN_KERNEL(to_grid)(next, block, following, sums);
        return;
    }
    firn_outbound out;
    FIRN_KERNEL(outbound_begin)(next, block, &out);
    *limits = block_to_particles(pass, block, following, next, &out);
    FIRN_KERNEL(outbound_end)(next, block, &out, sums);
}

FIRN_INLINE void recover_block(const firn_pass *pass, const firn_block *block, int order)
{
    _Alignas(64) float tile[TILE_FLOATS];
    tile_load(pass->grid, pass->velocity, block, tile, tile_box(pass, block, order));
    for (size_t first = block->begin; first < block->end;) {
        int n = group_size(block, block->end, first);
        _Alignas(64) firn_stencils st;
        make_stencils(&st, vector_load(pass, FIRN_FROM, first, n), order, FIRN_SLOPES_MOMENTS,
                      1.0f / pass->grid->cell_size);
        firn_sample sample = gather_group(tile, &st, n, order, FIRN_SLOPES_MOMENTS);
        matrix_store(pass, FIRN_C, first, n, sample.gradient);
        first += (size_t)n;
    }
}

void FIRN_KERNEL(recover)(const firn_pass *pass, const firn_block *block)
{
    if (tile_is_sparse(block))
        return; // went to the grid by itself, all of it
    if (pass->grid->order == 3)
        recover_block(pass, block, 3);
    else
        recover_block(pass, block, 4);
}

FIRN_INLINE void block_volumes(const firn_pass *pass, const firn_block *block, int order)
{
    _Alignas(64) float tile[TILE_FLOATS];
    tile_load(pass->grid, FIRN_NODE_VELOCITY, block, tile, tile_box(pass, block, order));
    float h = pass->grid->cell_size;
    float *volume = firn_channel_of(pass->particles, FIRN_VOLUME);
    const float *mass = firn_channel_of(pass->particles, FIRN_MASS);
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = plain_group_size(block->end, first);
        _Alignas(64) firn_stencils st;
        _Alignas(64) firn_lines lines;
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, FIRN_SLOPES_GRADIENTS,
                      1.0f / h);
        make_products(&st, order);
        gather_values(tile, &st, n, order, &lines);
        for (int l = 0; l < n; l++) {
            float around = 0.0f;
            for (int k = 0; k < order; k++)
                around += st.w[2][k][l] * lines.node[0][l][4 * k + 3];
            if (!(volume[first + (size_t)l] > 0.0f))
                volume[first + (size_t)l] = mass[first + (size_t)l] / around * h * h * h;
        }
    }
}

void FIRN_KERNEL(find_volumes)(const firn_pass *pass, const firn_block *block)
{
    if (pass->grid->order == 3)
        block_volumes(pass, block, 3);
    else
        block_volumes(pass, block, 4);
}
