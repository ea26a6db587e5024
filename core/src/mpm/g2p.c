/// Grid to particles: velocities, deformation, contact and positions, method.md (11)-(16).
#include "gather.h"
#include "transfer_group.h"

// Widens limits by a group; gives which lanes have their kernels in the tile of the block.
static inline firn_ix widen(firn_lane_limits *limits, const firn_block *block, const firn_state *s)
{
    firn_fx3 u = s->u;
    const int8_t *low = block->low, *high = block->high;
    firn_fx past_low =
        firn_fx_min(u.x - (float)low[0], firn_fx_min(u.y - (float)low[1], u.z - (float)low[2]));
    firn_fx past_high =
        firn_fx_max(u.x - (float)high[0], firn_fx_max(u.y - (float)high[1], u.z - (float)high[2]));
    // A velocity or place that is no number counts as infinitely fast: comparisons would lose it.
    firn_fx speed2 = firn_fx3_dot(s->v, s->v);
    firn_ix finite = speed2 + firn_fx3_dot(u, u) < INFINITY;
    firn_ix inside = (past_low >= 0.0f) & (past_high < 0.0f) & finite;
    if (s->n < FIRN_LANES) {
        // Lanes past the end are nowhere and at rest.
        firn_ix there = lanes_below(s->n);
        speed2 = firn_fx_select(there, speed2, firn_fx_set(0.0f));
        past_low = firn_fx_select(there, past_low, firn_fx_set(INFINITY));
        past_high = firn_fx_select(there, past_high, firn_fx_set(-INFINITY));
        inside |= ~there;
    }
    limits->speed2 =
        firn_fx_max(limits->speed2, firn_fx_select(finite, speed2, firn_fx_set(INFINITY)));
    limits->wave2 = firn_fx_max(limits->wave2, s->wave2);
    limits->low = firn_fx_min(limits->low, past_low);
    limits->high = firn_fx_max(limits->high, past_high);
    return inside;
}

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
    for (size_t first = block->begin; first < block->end;) {
        int n = group_size(block, first);
        firn_state s = {.first = first,
                        .n = n,
                        .materials = lane_materials_load(pass, first, n),
                        .u = vector_load(pass, FIRN_U, first, n),
                        .v = vector_load(pass, FIRN_V, first, n),
                        .jp = channel_load(pass, FIRN_JP, first, n, 1.0f)};
        state_harden(pass, &s);
        widen(&lanes, block, &s);
        first += (size_t)n;
    }
    *limits = finish_limits(&lanes);
}

// F_E and J_P, method.md (12) and (13).
FIRN_INLINE void update_deformation(const firn_pass *pass, firn_state *s, firn_fm3 gradient)
{
    const firn_materials *m = pass->materials;
    size_t first = s->first;
    int n = s->n;
    firn_snow_limits limits = {1.0f - material_of(m->compression, &s->materials),
                               1.0f + material_of(m->stretch, &s->materials),
                               material_of(m->jp_min, &s->materials),
                               material_of(m->jp_max, &s->materials)};
    firn_fm3 f = matrix_load(pass, FIRN_F, first, n, 1.0f);
    s->jp = channel_load(pass, FIRN_JP, first, n, 1.0f);
    f = firn_fm3_mul_add(firn_fm3_scale(firn_fx_set(pass->dt), gradient), f, f);
    s->deformation = firn_snow_return_map(&f, &s->jp, &limits);
    matrix_store(pass, FIRN_F, first, n, f);
    lanes_store(firn_channel_of(pass->particles, FIRN_JP) + first, s->jp, n);
}

// The blend of FLIP and PIC, method.md (14).
FIRN_INLINE firn_fx3 blend(const firn_pass *pass, size_t first, int n, firn_fx3 pic, firn_fx3 old)
{
    firn_fx3 v = vector_load(pass, FIRN_V, first, n);
    float share = pass->flip_share;
    return (firn_fx3){pic.x + share * (v.x - old.x), pic.y + share * (v.y - old.y),
                      pic.z + share * (v.z - old.z)};
}

// Moves a group with its velocities, method.md (16).
FIRN_INLINE void move_group(const firn_pass *pass, firn_state *s)
{
    firn_fx cells = firn_fx_set(pass->dt / pass->grid->cell_size);
    s->u = firn_fx3_add_scaled(s->u, cells, s->v);
    vector_store(pass, FIRN_U, s->first, s->n, s->u);
}

FIRN_INLINE void group_to_particles(const firn_pass *pass, firn_state *s, firn_scheme scheme,
                                    int order, const firn_tiles *in, firn_affine affine)
{
    const firn_slopes slopes =
        scheme == FIRN_SCHEME_FLIP ? FIRN_SLOPES_GRADIENTS : FIRN_SLOPES_MOMENTS;
    _Alignas(64) firn_stencils st;
    s->u = vector_load(pass, FIRN_U, s->first, s->n);
    make_stencils(&st, s->u, order, slopes, 1.0f / pass->grid->cell_size);
    firn_sample sample = gather_group(in->velocity, &st, s->n, order, slopes);
    s->v = sample.value;
    if (scheme == FIRN_SCHEME_FLIP) {
        _Alignas(64) firn_lines lines;
        make_products(&st, order);
        gather_values(in->old, &st, s->n, order, &lines);
        s->v = blend(pass, s->first, s->n, sample.value, value_of(&lines, &st, order));
    } else {
        s->c = sample.gradient;
        if (affine == AFFINE_WHOLE)
            matrix_store(pass, FIRN_C, s->first, s->n, s->c);
        else
            vector_store(pass, FIRN_FROM, s->first, s->n, s->u);
    }
    update_deformation(pass, s, sample.gradient);
    vector_store(pass, FIRN_V, s->first, s->n, s->v);
    state_harden(pass, s);
}

FIRN_INLINE void any_to_particles(const firn_pass *pass, firn_state *s, const firn_tiles *in,
                                  firn_affine affine)
{
    bool quadratic = pass->grid->order == 3;
    if (pass->scheme == FIRN_SCHEME_FLIP && quadratic)
        group_to_particles(pass, s, FIRN_SCHEME_FLIP, 3, in, affine);
    else if (pass->scheme == FIRN_SCHEME_FLIP)
        group_to_particles(pass, s, FIRN_SCHEME_FLIP, 4, in, affine);
    else if (quadratic)
        group_to_particles(pass, s, FIRN_SCHEME_APIC, 3, in, affine);
    else
        group_to_particles(pass, s, FIRN_SCHEME_APIC, 4, in, affine);
}

// Lets a group meet the colliders.
FIRN_INLINE void touch(const firn_pass *pass, const firn_block *block, firn_state *s)
{
    firn_fx3 v = firn_fx3_select(lanes_below(s->n), s->v, (firn_fx3){{0}, {0}, {0}});
    float speed = sqrtf(firn_fx_max_lane(firn_fx3_dot(v, v)));
    if (!FIRN_KERNEL(touch_group)(pass, block, s->first, s->n, speed))
        return;
    s->u = vector_load(pass, FIRN_U, s->first, s->n);
    s->v = vector_load(pass, FIRN_V, s->first, s->n);
}

// Moves a block. When out is not NULL, groups go on to the grid of the next substep as long as they
// are at hand, except for what drifted out of the tile: that makes a sort necessary, and what was
// scattered here will not be used. Their affine velocities are done with then and left out; who
// needs them after all has them recovered.
static firn_block_limits block_to_particles(const firn_pass *pass, const firn_block *block,
                                            const firn_block *following, const firn_pass *next,
                                            firn_outbound *out)
{
    firn_tiles tiles;
    firn_tile_box box = tile_box(pass, block, pass->grid->order);
    tile_load(pass->grid, pass->velocity, block, tiles.velocity, box);
    if (pass->scheme == FIRN_SCHEME_FLIP)
        tile_load(pass->grid, pass->old, block, tiles.old, box);
    bool contact = block_is_near_colliders(pass, block);
    firn_affine affine = pass->scheme == FIRN_SCHEME_FLIP ? AFFINE_NONE
                         : out != NULL                    ? AFFINE_LEFT_OUT
                                                          : AFFINE_WHOLE;
    firn_lane_limits limits = no_limits();
    for (size_t first = block->begin; first < block->end;) {
        firn_state s;
        s.first = first;
        s.n = group_size(block, first);
        s.materials = lane_materials_load(pass, first, s.n);
        first += (size_t)s.n;
        particles_prefetch(pass, block, following, s.first, affine, FETCH_MOTION);
        any_to_particles(pass, &s, &tiles, affine);
        if (contact)
            touch(pass, block, &s);
        move_group(pass, &s);
        particles_prefetch(pass, block, following, s.first, affine, FETCH_DEFORMATION);
        firn_ix inside = widen(&limits, block, &s);
        if (out != NULL && firn_ix_all(inside))
            FIRN_KERNEL(outbound_add)(next, &s, out);
        particles_prefetch(pass, block, following, s.first, affine, FETCH_REST);
    }
    return finish_limits(&limits);
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
        int n = group_size(block, first);
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
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
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
