/// Grid to particles: velocities, deformation, contact and positions, method.md (11)-(16).
#include "isa.h"
#include "tile.h"

/// firn_block_limits of each lane.
typedef struct firn_lane_limits {
    firn_fx speed2, wave2;
    firn_fx3 low, high; // cells, of the positions
} firn_lane_limits;

/// What the limits need to know of a group.
typedef struct firn_group {
    firn_fx3 u, v;
    firn_fx jp;
} firn_group;

static inline void widen(firn_lane_limits *limits, const firn_pass *pass, size_t first, int n,
                         const firn_group *group)
{
    firn_fx3 u = group->u, v = group->v;
    if (n < FIRN_LANES) {
        // Lanes past the end stand where the first one does.
        firn_fx3 first_u = {firn_fx_set(u.x[0]), firn_fx_set(u.y[0]), firn_fx_set(u.z[0])};
        u = firn_fx3_select(lanes_below(n), u, first_u);
    }
    firn_snow_moduli moduli = moduli_of(pass, first, n, group->jp);
    firn_fx mass = channel_load(pass, FIRN_MASS, first, n, 1.0f);
    firn_fx volume = channel_load(pass, FIRN_VOLUME, first, n, 0.0f);
    // A velocity or place that is no number counts as infinitely fast: comparisons would lose it.
    firn_fx speed2 = v.x * v.x + v.y * v.y + v.z * v.z;
    firn_fx size2 = speed2 + (u.x * u.x + u.y * u.y + u.z * u.z);
    speed2 = firn_fx_select(size2 < INFINITY, speed2, firn_fx_set(INFINITY));
    // c^2 = (lambda + 2 mu) / rho of the hardened snow, method.md (17); volume changes cancel.
    firn_fx wave2 = (moduli.lambda + 2.0f * moduli.mu) * volume / mass;
    limits->speed2 = firn_fx_max(limits->speed2, speed2);
    limits->wave2 = firn_fx_max(limits->wave2, wave2);
    limits->low.x = firn_fx_min(limits->low.x, u.x);
    limits->low.y = firn_fx_min(limits->low.y, u.y);
    limits->low.z = firn_fx_min(limits->low.z, u.z);
    limits->high.x = firn_fx_max(limits->high.x, u.x);
    limits->high.y = firn_fx_max(limits->high.y, u.y);
    limits->high.z = firn_fx_max(limits->high.z, u.z);
}

static inline firn_lane_limits no_limits(void)
{
    firn_fx zero = {0}, far = firn_fx_set(INFINITY);
    return (firn_lane_limits){zero, zero, {far, far, far}, {-far, -far, -far}};
}

static firn_block_limits finish_limits(const firn_lane_limits *lanes, const firn_block *block)
{
    const int8_t *low = block->low, *high = block->high;
    firn_fx past_low =
        firn_fx_min(lanes->low.x - (float)low[0],
                    firn_fx_min(lanes->low.y - (float)low[1], lanes->low.z - (float)low[2]));
    firn_fx past_high =
        firn_fx_max(lanes->high.x - (float)high[0],
                    firn_fx_max(lanes->high.y - (float)high[1], lanes->high.z - (float)high[2]));
    return (firn_block_limits){.speed2 = firn_fx_max_lane(lanes->speed2),
                               .wave2 = firn_fx_max_lane(lanes->wave2),
                               .low = firn_fx_min_lane(past_low),
                               .high = firn_fx_max_lane(past_high)};
}

void FIRN_KERNEL(measure)(const firn_pass *pass, const firn_block *block, firn_block_limits *limits)
{
    firn_lane_limits lanes = no_limits();
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        const firn_group group = {vector_load(pass, FIRN_U, first, n),
                                  vector_load(pass, FIRN_V, first, n),
                                  channel_load(pass, FIRN_JP, first, n, 1.0f)};
        widen(&lanes, pass, first, n, &group);
    }
    *limits = finish_limits(&lanes, block);
}

// F_E and J_P, method.md (12) and (13); gives the new J_P.
FIRN_INLINE firn_fx update_deformation(const firn_pass *pass, size_t first, int n,
                                       firn_fm3 gradient)
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
    return jp;
}

// The blend of FLIP and PIC, method.md (14).
FIRN_INLINE firn_fx3 blend(const firn_pass *pass, size_t first, int n, firn_fx3 pic, firn_fx3 old)
{
    firn_fx3 v = vector_load(pass, FIRN_V, first, n);
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

/// Particles [begin, end) of a block and a sphere that holds their ways.
typedef struct firn_bunch {
    size_t begin, end;
    firn_vec3 center; // m
    float radius;     // m
} firn_bunch;

enum { BUNCH = 16 };

static firn_vec3 block_corner(const firn_pass *pass, const firn_block *block)
{
    float h = pass->grid->cell_size, shift = (float)firn_grid_shift(pass->grid);
    return firn_vec(h * ((float)(4 * block->coord.x) + shift),
                    h * ((float)(4 * block->coord.y) + shift),
                    h * ((float)(4 * block->coord.z) + shift));
}

static firn_bunch make_bunch(const firn_pass *pass, const firn_block *block, size_t begin)
{
    firn_bunch bunch = {.begin = begin};
    bunch.end = block->end - begin < BUNCH ? block->end : begin + BUNCH;
    float h = pass->grid->cell_size, middle[3], size2 = 0.0f, speed2 = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        const float *u = firn_channel_of(pass->particles, FIRN_U + axis);
        const float *v = firn_channel_of(pass->particles, FIRN_V + axis);
        float low = u[begin], high = low, fastest = 0.0f;
        for (size_t p = begin; p < bunch.end; p++) {
            low = u[p] < low ? u[p] : low;
            high = u[p] > high ? u[p] : high;
            fastest = v[p] * v[p] > fastest ? v[p] * v[p] : fastest;
        }
        middle[axis] = 0.5f * (low + high);
        size2 += (high - low) * (high - low);
        speed2 += fastest;
    }
    bunch.center =
        firn_add_scaled(block_corner(pass, block), h, firn_vec(middle[0], middle[1], middle[2]));
    // A little more than needed, for rounding.
    bunch.radius = h * (0.5f * sqrtf(size2) + 0.01f) + 1.001f * pass->dt * sqrtf(speed2);
    return bunch;
}

// Particle-based collisions, method.md (16): changes v, and u by the push.
static void touch_bunch(const firn_pass *pass, const firn_block *block, const firn_bunch *bunch,
                        const firn_near *near)
{
    float *u[3], *v[3];
    for (int axis = 0; axis < 3; axis++) {
        u[axis] = firn_channel_of(pass->particles, FIRN_U + axis);
        v[axis] = firn_channel_of(pass->particles, FIRN_V + axis);
    }
    float h = pass->grid->cell_size;
    firn_vec3 corner = block_corner(pass, block);
    for (size_t p = bunch->begin; p < bunch->end; p++) {
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

// Most bunches of a block near a collider are still too far from it for any contact.
static void touch_particles(const firn_pass *pass, const firn_block *block)
{
    for (size_t p = block->begin; p < block->end; p += BUNCH) {
        firn_bunch bunch = make_bunch(pass, block, p);
        firn_near near;
        firn_colliders_near(pass->colliders, bunch.center, bunch.radius, &near);
        if (near.count > 0)
            touch_bunch(pass, block, &bunch, &near);
    }
}

// Moves a group with its velocities, method.md (16).
FIRN_INLINE void move_group(const firn_pass *pass, size_t first, int n, firn_group *group,
                            firn_lane_limits *limits)
{
    firn_fx cells = firn_fx_set(pass->dt / pass->grid->cell_size);
    group->u = firn_fx3_add_scaled(group->u, cells, group->v);
    store_vector(pass, FIRN_U, first, n, group->u);
    widen(limits, pass, first, n, group);
}

FIRN_INLINE firn_group group_to_particles(const firn_pass *pass, size_t first, int n,
                                          firn_scheme scheme, int order, const float *fresh,
                                          const float *old)
{
    const firn_slopes slopes =
        scheme == FIRN_SCHEME_FLIP ? FIRN_SLOPES_GRADIENTS : FIRN_SLOPES_MOMENTS;
    _Alignas(64) firn_stencils st;
    _Alignas(64) firn_lines lines;
    firn_group group = {.u = vector_load(pass, FIRN_U, first, n)};
    make_stencils(&st, group.u, order, slopes, 1.0f / pass->grid->cell_size);
    gather_group(fresh, &st, n, order, slopes, &lines);
    firn_sample sample = sample_of(&lines, &st, order, slopes);
    group.v = sample.value;
    if (scheme == FIRN_SCHEME_FLIP) {
        make_products(&st, order);
        gather_values(old, &st, n, order, &lines);
        group.v = blend(pass, first, n, sample.value, value_of(&lines, &st, order));
    } else {
        matrix_store(pass, FIRN_C, first, n, sample.gradient);
    }
    group.jp = update_deformation(pass, first, n, sample.gradient);
    store_vector(pass, FIRN_V, first, n, group.v);
    return group;
}

// Whether particles of the block may meet a collider in this substep.
static bool is_near_colliders(const firn_pass *pass, const firn_block *block)
{
    float h = pass->grid->cell_size;
    firn_near near;
    firn_colliders_near(pass->colliders,
                        firn_add(block_corner(pass, block), firn_vec(2.0f * h, 2.0f * h, 2.0f * h)),
                        FIRN_BLOCK_REACH * h, &near);
    return near.count > 0;
}

// Contact, and then the moves that waited for it.
static void touch_and_move(const firn_pass *pass, const firn_block *block, firn_lane_limits *limits)
{
    touch_particles(pass, block);
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        firn_group group = {vector_load(pass, FIRN_U, first, n),
                            vector_load(pass, FIRN_V, first, n),
                            channel_load(pass, FIRN_JP, first, n, 1.0f)};
        move_group(pass, first, n, &group, limits);
    }
}

FIRN_INLINE void block_to_particles(const firn_pass *pass, const firn_block *block,
                                    firn_scheme scheme, int order, firn_block_limits *limits)
{
    _Alignas(64) float fresh[TILE_FLOATS], old[TILE_FLOATS];
    for (size_t first = block->begin; first < block->begin + AHEAD; first += FIRN_LANES)
        particles_prefetch(pass, first, scheme);
    firn_tile_box box = tile_box(pass, block, order);
    tile_load(pass->grid, FIRN_NODE_VELOCITY, block, fresh, box);
    if (scheme == FIRN_SCHEME_FLIP)
        tile_load(pass->grid, FIRN_NODE_OLD, block, old, box);
    bool contact = is_near_colliders(pass, block);
    firn_lane_limits lanes = no_limits();
    for (size_t first = block->begin; first < block->end; first += FIRN_LANES) {
        int n = block->end - first < FIRN_LANES ? (int)(block->end - first) : FIRN_LANES;
        particles_prefetch(pass, first + AHEAD, scheme);
        firn_group group = group_to_particles(pass, first, n, scheme, order, fresh, old);
        if (!contact)
            move_group(pass, first, n, &group, &lanes);
    }
    if (contact)
        touch_and_move(pass, block, &lanes);
    *limits = finish_limits(&lanes, block);
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
