/// Grid to particles: velocities, deformation, contact and positions, method.md (11)-(16).
#include "isa.h"
#include "lanes.h"
#include "stencil.h"

/// What a group of particles takes from the grid, one node for each particle.
typedef struct firn_takings {
    float value[FIRN_LANES][4];
    float gradient[3][FIRN_LANES][4]; // a column for each axis
    float old[FIRN_LANES][4];
} firn_takings;

static inline firn_block_limits no_limits(void)
{
    return (firn_block_limits){.speed2 = 0.0f, .wave2 = 0.0f, .low = 0.0f, .high = 0.0f};
}

static inline void widen(firn_block_limits *limits, firn_block_limits other)
{
    limits->speed2 = limits->speed2 > other.speed2 ? limits->speed2 : other.speed2;
    limits->wave2 = limits->wave2 > other.wave2 ? limits->wave2 : other.wave2;
    limits->low = limits->low < other.low ? limits->low : other.low;
    limits->high = limits->high > other.high ? limits->high : other.high;
}

static inline firn_block_limits group_limits(const firn_pass *pass, size_t first, int n)
{
    firn_fx3 u = vector_load(pass, FIRN_U, first, n), v = vector_load(pass, FIRN_V, first, n);
    firn_snow_moduli moduli = moduli_load(pass, first, n);
    firn_fx mass = channel_load(pass, FIRN_MASS, first, n, 1.0f);
    firn_fx volume = channel_load(pass, FIRN_VOLUME, first, n, 0.0f);
    // A velocity or place that is no number counts as infinitely fast: comparisons would lose it.
    firn_fx speed2 = v.x * v.x + v.y * v.y + v.z * v.z;
    firn_fx size2 = speed2 + (u.x * u.x + u.y * u.y + u.z * u.z);
    speed2 = firn_fx_select(size2 < INFINITY, speed2, firn_fx_set(INFINITY));
    // c^2 = (lambda + 2 mu) / rho of the hardened snow, method.md (17); volume changes cancel.
    firn_fx wave2 = (moduli.lambda + 2.0f * moduli.mu) * volume / mass;
    return (firn_block_limits){
        .speed2 = firn_fx_max_lane(speed2),
        .wave2 = firn_fx_max_lane(wave2),
        .low = firn_fx_min_lane(firn_fx_min(u.x, firn_fx_min(u.y, u.z))),
        .high = firn_fx_max_lane(firn_fx_max(u.x, firn_fx_max(u.y, u.z))),
    };
}

void FIRN_KERNEL(measure)(const firn_pass *pass, const firn_block *block, firn_block_limits *limits)
{
    *limits = no_limits();
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        widen(limits, group_limits(pass, first, n));
    }
}

FIRN_INLINE firn_fm3 gradient_of(firn_takings *takings)
{
    firn_fx3 x = lanes_from_nodes(takings->gradient[0]), y = lanes_from_nodes(takings->gradient[1]),
             z = lanes_from_nodes(takings->gradient[2]);
    return (firn_fm3){{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}};
}

// F_E and J_P, method.md (12) and (13).
FIRN_INLINE void update_deformation(const firn_pass *pass, size_t first, int n, firn_fm3 gradient)
{
    const firn_materials *m = pass->materials;
    firn_snow_limits limits = {1.0f - material_load(pass, m->compression, first, n),
                               1.0f + material_load(pass, m->stretch, first, n),
                               material_load(pass, m->jp_min, first, n),
                               material_load(pass, m->jp_max, first, n)};
    firn_fm3 f = matrix_load(pass, FIRN_F, first, n, 1.0f);
    firn_fx jp = channel_load(pass, FIRN_JP, first, n, 1.0f);
    firn_fm3 change = firn_fm3_mul(firn_fm3_scale(firn_fx_set(pass->dt), gradient), f);
    f = firn_fm3_add(f, change);
    firn_snow_return_map(&f, &jp, &limits);
    matrix_store(pass, FIRN_F, first, n, f);
    lanes_store(firn_channel_of(pass->particles, FIRN_JP) + first, jp, n);
}

// PIC with APIC's affine part, or the blend of FLIP and PIC, method.md (14).
FIRN_INLINE firn_fx3 new_velocity(const firn_pass *pass, size_t first, int n, firn_scheme scheme,
                                  firn_takings *takings)
{
    firn_fx3 pic = lanes_from_nodes(takings->value);
    if (scheme != FIRN_SCHEME_FLIP)
        return pic;
    firn_fx3 old = lanes_from_nodes(takings->old), v = vector_load(pass, FIRN_V, first, n);
    float share = pass->flip_share;
    return (firn_fx3){pic.x + share * (v.x - old.x), pic.y + share * (v.y - old.y),
                      pic.z + share * (v.z - old.z)};
}

FIRN_INLINE void store_vector(const firn_pass *pass, int channel, size_t first, int n, firn_fx3 a)
{
    lanes_store(firn_channel_of(pass->particles, channel) + first, a.x, n);
    lanes_store(firn_channel_of(pass->particles, channel + 1) + first, a.y, n);
    lanes_store(firn_channel_of(pass->particles, channel + 2) + first, a.z, n);
}

// Particle-based collisions, method.md (16): changes v, and u by the push.
static void touch_particles(const firn_pass *pass, const firn_block *block, const firn_near *near)
{
    float *u[3], *v[3];
    for (int axis = 0; axis < 3; axis++) {
        u[axis] = firn_channel_of(pass->particles, FIRN_U + axis);
        v[axis] = firn_channel_of(pass->particles, FIRN_V + axis);
    }
    float h = pass->grid->cell_size, shift = (float)firn_grid_shift(pass->grid);
    firn_vec3 corner = firn_vec(h * ((float)(4 * block->coord.x) + shift),
                                h * ((float)(4 * block->coord.y) + shift),
                                h * ((float)(4 * block->coord.z) + shift));
    for (size_t p = block->begin; p < block->end; p++) {
        firn_vec3 position = firn_add_scaled(corner, h, firn_vec(u[0][p], u[1][p], u[2][p]));
        firn_vec3 velocity = firn_vec(v[0][p], v[1][p], v[2][p]);
        firn_particle_contact contact =
            firn_colliders_touch_particle(pass->colliders, near, position, velocity, pass->dt);
        v[0][p] = contact.velocity.x;
        v[1][p] = contact.velocity.y;
        v[2][p] = contact.velocity.z;
        u[0][p] += contact.push.x / h;
        u[1][p] += contact.push.y / h;
        u[2][p] += contact.push.z / h;
    }
}

FIRN_INLINE void move_particles(const firn_pass *pass, const firn_block *block,
                                firn_block_limits *limits)
{
    float cells = pass->dt / pass->grid->cell_size;
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        firn_fx3 u = vector_load(pass, FIRN_U, first, n), v = vector_load(pass, FIRN_V, first, n);
        u = (firn_fx3){u.x + cells * v.x, u.y + cells * v.y, u.z + cells * v.z};
        store_vector(pass, FIRN_U, first, n, u);
        widen(limits, group_limits(pass, first, n));
    }
}

FIRN_INLINE void block_to_particles(const firn_pass *pass, const firn_block *block,
                                    firn_scheme scheme, int order, firn_block_limits *limits)
{
    _Alignas(64) float fresh[TILE_FLOATS], old[TILE_FLOATS];
    tile_load(pass->grid, FIRN_NODE_VELOCITY, block, fresh);
    if (scheme == FIRN_SCHEME_FLIP)
        tile_load(pass->grid, FIRN_NODE_OLD, block, old);
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        _Alignas(64) firn_stencils st;
        _Alignas(64) firn_takings takings;
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, scheme != FIRN_SCHEME_FLIP,
                      1.0f / pass->grid->cell_size);
        for (int l = 0; l < n; l++) {
            gather(fresh, &st, l, order, takings.value[l], takings.gradient[0][l],
                   takings.gradient[1][l], takings.gradient[2][l]);
            if (scheme == FIRN_SCHEME_FLIP)
                gather_value(old, &st, l, order, takings.old[l]);
        }
        firn_fm3 gradient = gradient_of(&takings);
        store_vector(pass, FIRN_V, first, n, new_velocity(pass, first, n, scheme, &takings));
        if (scheme != FIRN_SCHEME_FLIP)
            matrix_store(pass, FIRN_C, first, n, gradient);
        update_deformation(pass, first, n, gradient);
    }
    firn_near near;
    float h = pass->grid->cell_size, center = 2.0f + (float)firn_grid_shift(pass->grid);
    firn_colliders_near(pass->colliders,
                        firn_vec(h * ((float)(4 * block->coord.x) + center),
                                 h * ((float)(4 * block->coord.y) + center),
                                 h * ((float)(4 * block->coord.z) + center)),
                        FIRN_BLOCK_REACH * h, &near);
    if (near.count > 0)
        touch_particles(pass, block, &near);
    *limits = no_limits();
    move_particles(pass, block, limits);
}

void FIRN_KERNEL(to_particles)(const firn_pass *pass, const firn_block *block,
                               firn_block_limits *limits)
{
    bool quadratic = pass->grid->order == 3;
    if (pass->scheme == FIRN_SCHEME_FLIP) {
        if (quadratic)
            block_to_particles(pass, block, FIRN_SCHEME_FLIP, 3, limits);
        else
            block_to_particles(pass, block, FIRN_SCHEME_FLIP, 4, limits);
    } else {
        if (quadratic)
            block_to_particles(pass, block, FIRN_SCHEME_APIC, 3, limits);
        else
            block_to_particles(pass, block, FIRN_SCHEME_APIC, 4, limits);
    }
}

FIRN_INLINE void block_volumes(const firn_pass *pass, const firn_block *block, int order)
{
    _Alignas(64) float tile[TILE_FLOATS];
    tile_load(pass->grid, FIRN_NODE_VELOCITY, block, tile);
    float h = pass->grid->cell_size;
    float *volume = firn_channel_of(pass->particles, FIRN_VOLUME);
    const float *mass = firn_channel_of(pass->particles, FIRN_MASS);
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        _Alignas(64) firn_stencils st;
        make_stencils(&st, vector_load(pass, FIRN_U, first, n), order, false, 1.0f / h);
        for (int l = 0; l < n; l++) {
            float value[4];
            if (volume[first + (size_t)l] > 0.0f)
                continue;
            gather_value(tile, &st, l, order, value);
            volume[first + (size_t)l] = mass[first + (size_t)l] / value[3] * h * h * h;
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
