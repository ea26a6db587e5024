/// The transfers of the particles of one model in a block: compiled for each instruction set and
/// model. What models are asked for is listed in models/matter.h.
#include "gather.h"
#include "transfer_group.h"

#include FIRN_MODEL_HEADER

typedef MODEL(group) model_group;

// What never changes.
FIRN_INLINE firn_bulk bulk_load(const firn_pass *pass, size_t first, int n)
{
    return (firn_bulk){.mass = channel_load(pass, FIRN_MASS, first, n, 0.0f),
                       .volume = channel_load(pass, FIRN_VOLUME, first, n, 0.0f),
                       .cell_size = pass->grid->cell_size};
}

FIRN_INLINE firn_matter matter_load(const firn_pass *pass, size_t first, int n)
{
    return (firn_matter){.f = matrix_load(pass, FIRN_F, first, n, 1.0f),
                         .jp = channel_load(pass, FIRN_JP, first, n, 1.0f),
                         .stiffness = channel_load(pass, FIRN_STIFFNESS, first, n, 1.0f),
                         .cell_size = pass->grid->cell_size,
                         .materials = lane_materials_load(pass, first, n)};
}

// Mass, volume and wave speed of a group.
FIRN_INLINE void state_measure(const firn_pass *pass, firn_state *s, const model_group *group)
{
    firn_bulk bulk = bulk_load(pass, s->first, s->n);
    s->mass = bulk.mass;
    s->volume = bulk.volume;
    s->wave2 = MODEL(wave2)(group, &bulk);
}

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

static void measure(const firn_pass *pass, const firn_segment *segment, firn_lane_limits *limits)
{
    for (size_t first = segment->begin; first < segment->end;) {
        int n = group_size(segment->block, segment->end, first);
        firn_state s = {.first = first,
                        .n = n,
                        .u = vector_load(pass, FIRN_U, first, n),
                        .v = vector_load(pass, FIRN_V, first, n)};
        firn_matter matter = matter_load(pass, first, n);
        model_group group = MODEL(load)(&matter);
        state_measure(pass, &s, &group);
        widen(limits, segment->block, &s);
        first += (size_t)n;
    }
}

// What a group is made of while it is at hand. The slots of F are not part of it: vectors that
// nobody reads again would go to the stack and back.
typedef struct firn_inside {
    firn_lane_materials materials;
    firn_fx jp;
    model_group group;
} firn_inside;

// The stress of a group at the start of a substep, and its share in the sums.
FIRN_INLINE void find_stress(const firn_pass *pass, firn_state *s, const firn_inside *inside,
                             firn_lane_sums *sums)
{
    firn_lane_stress stress = MODEL(stress)(&inside->group);
    sums->elastic += s->volume * stress.energy;
    if (MODEL(packs)) {
        firn_ix there = lanes_below(s->n);
        sums->jp += firn_fx_select(there, inside->jp, firn_fx_set(0.0f));
        sums->jp_min =
            firn_fx_min(sums->jp_min, firn_fx_select(there, inside->jp, firn_fx_set(FIRN_NO_JP)));
        sums->packing += (uint32_t)s->n;
    }
    s->stress = stress.tau;
    if (pass->scheme == FIRN_SCHEME_APIC) {
        firn_flow flow = {&s->c, s->wave2, pass->dt, pass->grid->cell_size};
        firn_fs3 viscous = MODEL(viscosity)(&inside->materials, &inside->group, &flow);
        s->stress = firn_fs3_add(s->stress, viscous);
    }
}

static void to_grid(const firn_pass *pass, const firn_segment *segment, firn_outbound *out)
{
    firn_affine affine = pass->scheme == FIRN_SCHEME_FLIP ? AFFINE_NONE : AFFINE_WHOLE;
    for (size_t first = segment->begin; first < segment->end;) {
        int n = group_size(segment->block, segment->end, first);
        particles_prefetch(pass, segment, first, affine, FETCH_MOTION);
        firn_state s = {.first = first,
                        .n = n,
                        .u = vector_load(pass, FIRN_U, first, n),
                        .v = vector_load(pass, FIRN_V, first, n)};
        if (affine != AFFINE_NONE)
            s.c = matrix_load(pass, FIRN_C, first, n, 0.0f);
        firn_matter matter = matter_load(pass, first, n);
        firn_inside inside = {matter.materials, matter.jp, MODEL(load)(&matter)};
        state_measure(pass, &s, &inside.group);
        particles_prefetch(pass, segment, first, affine, FETCH_DEFORMATION);
        find_stress(pass, &s, &inside, &out->sums);
        FIRN_KERNEL(outbound_add)(pass, &s, out);
        particles_prefetch(pass, segment, first, affine, FETCH_REST);
        first += (size_t)n;
    }
}

// The density around over the initial one, of models that want to know; around is the mass of a
// cell there, kg.
FIRN_INLINE firn_fx packing_of(const firn_pass *pass, const firn_state *s, firn_fx around)
{
    float h = pass->grid->cell_size;
    firn_bulk bulk = bulk_load(pass, s->first, s->n);
    // Never so small that its reciprocal overflows, in lanes without a particle neither.
    firn_fx full = firn_fx_max(firn_fx_set(1e-30f), bulk.mass * (h * h * h));
    return firn_fx_ratio(around * bulk.volume, full);
}

// The slots of the model, method.md (12) and (13).
FIRN_INLINE firn_inside update_matter(const firn_pass *pass, const firn_state *s, firn_fm3 gradient,
                                      firn_fx around)
{
    firn_matter matter = matter_load(pass, s->first, s->n);
    if (MODEL(weighs)) {
        float h = pass->grid->cell_size;
        matter.packing = packing_of(pass, s, around);
        matter.cells = (1.0f / (h * h * h)) * channel_load(pass, FIRN_VOLUME, s->first, s->n, 0.0f);
    }
    model_group group = MODEL(update)(&matter, gradient, pass->dt);
    if (MODEL(moves_f)(&matter))
        matrix_store(pass, FIRN_F, s->first, s->n, matter.f);
    lanes_store(firn_channel_of(pass->particles, FIRN_JP) + s->first, matter.jp, s->n);
    if (MODEL(wears))
        lanes_store(firn_channel_of(pass->particles, FIRN_STIFFNESS) + s->first, matter.stiffness,
                    s->n);
    return (firn_inside){matter.materials, matter.jp, group};
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

// The mass that nodes have at the particles of a group, as values have; the stencils are changed.
FIRN_INLINE firn_fx gather_mass(const float *tile, firn_stencils *st, int n, int order)
{
    _Alignas(64) firn_lines lines;
    _Alignas(64) float mass[FIRN_LANES];
    make_products(st, order);
    gather_values(tile, st, n, order, &lines);
    for (int l = 0; l < FIRN_LANES; l++) {
        mass[l] = 0.0f;
        for (int k = 0; k < order; k++)
            mass[l] += st->w[2][k][l] * lines.node[0][l][4 * k + 3];
    }
    return firn_fx_load(mass);
}

// What comes from the grid to a group, beside its velocity.
typedef struct firn_arrival {
    firn_fm3 gradient;
    firn_fx around; // kg, see gather_mass; of models that want to know
} firn_arrival;

// Velocity of a group and its gradient.
FIRN_INLINE firn_arrival group_from_grid(const firn_pass *pass, firn_state *s, firn_scheme scheme,
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
    firn_arrival arrival = {sample.gradient, firn_fx_set(0.0f)};
    if (MODEL(weighs))
        arrival.around = gather_mass(in->velocity, &st, s->n, order);
    return arrival;
}

FIRN_INLINE void group_to_particles(const firn_pass *pass, firn_state *s, firn_scheme scheme,
                                    int order, const firn_inbound *in, firn_inside *inside)
{
    firn_arrival from = group_from_grid(pass, s, scheme, order, &in->tiles, in->affine);
    *inside = update_matter(pass, s, from.gradient, from.around);
    vector_store(pass, FIRN_V, s->first, s->n, s->v);
    state_measure(pass, s, &inside->group);
}

FIRN_INLINE void any_to_particles(const firn_pass *pass, firn_state *s, const firn_inbound *in,
                                  firn_inside *inside)
{
    bool quadratic = pass->grid->order == 3;
    if (pass->scheme == FIRN_SCHEME_FLIP && quadratic)
        group_to_particles(pass, s, FIRN_SCHEME_FLIP, 3, in, inside);
    else if (pass->scheme == FIRN_SCHEME_FLIP)
        group_to_particles(pass, s, FIRN_SCHEME_FLIP, 4, in, inside);
    else if (quadratic)
        group_to_particles(pass, s, FIRN_SCHEME_APIC, 3, in, inside);
    else
        group_to_particles(pass, s, FIRN_SCHEME_APIC, 4, in, inside);
}

// Lets a group meet the colliders.
FIRN_INLINE void touch(const firn_pass *pass, const firn_segment *segment, firn_state *s)
{
    firn_fx3 v = firn_fx3_select(lanes_below(s->n), s->v, (firn_fx3){{0}, {0}, {0}});
    float speed = sqrtf(firn_fx_max_lane(firn_fx3_dot(v, v)));
    if (!FIRN_KERNEL(touch_group)(pass, segment, s->first, s->n, speed))
        return;
    s->u = vector_load(pass, FIRN_U, s->first, s->n);
    s->v = vector_load(pass, FIRN_V, s->first, s->n);
}

// Moves a segment. When out is not NULL, groups go on to the grid of the next substep as long as
// they are at hand.
static void to_particles(const firn_pass *pass, const firn_segment *segment, firn_inbound *in,
                         const firn_pass *next, firn_outbound *out)
{
    firn_lane_limits limits = in->limits;
    for (size_t first = segment->begin; first < segment->end;) {
        firn_state s;
        firn_inside inside;
        s.first = first;
        s.n = group_size(segment->block, segment->end, first);
        first += (size_t)s.n;
        particles_prefetch(pass, segment, s.first, in->affine, FETCH_MOTION);
        any_to_particles(pass, &s, in, &inside);
        if (in->contact)
            touch(pass, segment, &s);
        move_group(pass, &s);
        particles_prefetch(pass, segment, s.first, in->affine, FETCH_DEFORMATION);
        firn_ix in_reach = widen(&limits, segment->block, &s);
        if (out != NULL && firn_ix_all(in_reach)) {
            find_stress(next, &s, &inside, &out->sums);
            FIRN_KERNEL(outbound_add)(next, &s, out);
        }
        particles_prefetch(pass, segment, s.first, in->affine, FETCH_REST);
    }
    in->limits = limits;
}

const firn_model_transfers FIRN_MODEL_KERNEL(transfers, FIRN_MODEL) = {
    .to_grid = to_grid, .to_particles = to_particles, .measure = measure};
