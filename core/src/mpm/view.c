/// What callers may see of the particles.
#include "sim_state.h"

firn_particle_view firn_sim_particles(const firn_sim *sim)
{
    const firn_particles *p = &sim->particles;
    firn_particle_view view = {
        .count = p->count,
        .id = (const uint32_t *)firn_channel_of(p, FIRN_ID),
        .material = p->material.data,
        .mass = firn_channel_of(p, FIRN_MASS),
        .volume = firn_channel_of(p, FIRN_VOLUME),
        .stiffness = firn_channel_of(p, FIRN_STIFFNESS),
        .jp = firn_channel_of(p, FIRN_JP),
    };
    return view;
}

static void read_vectors(const firn_sim *sim, int channel, size_t first, size_t count,
                         firn_vec3 *out)
{
    const float *x = firn_channel_of(&sim->particles, channel) + first;
    const float *y = firn_channel_of(&sim->particles, channel + 1) + first;
    const float *z = firn_channel_of(&sim->particles, channel + 2) + first;
    for (size_t i = 0; i < count; i++)
        out[i] = firn_vec(x[i], y[i], z[i]);
}

static void read_matrices(const firn_sim *sim, int channel, size_t first, size_t count,
                          firn_mat3 *out)
{
    for (int k = 0; k < 9; k++) {
        const float *from = firn_channel_of(&sim->particles, channel + k) + first;
        for (size_t i = 0; i < count; i++)
            out[i].m[k] = from[i];
    }
}

static firn_vec3 world_position(const firn_sim *sim, firn_coord block, size_t p)
{
    double h = sim->def.cell_size, shift = firn_grid_shift(&sim->grid);
    const double corner[3] = {4.0 * block.x + shift, 4.0 * block.y + shift, 4.0 * block.z + shift};
    float x[3];
    for (int axis = 0; axis < 3; axis++)
        x[axis] = (float)(h * (corner[axis] +
                               (double)firn_channel_of(&sim->particles, FIRN_U + axis)[p]));
    return firn_vec(x[0], x[1], x[2]);
}

static void read_positions(const firn_sim *sim, size_t first, size_t count, firn_vec3 *out)
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++) {
        size_t begin = blocks[b].begin > first ? blocks[b].begin : first;
        size_t end = blocks[b].end < first + count ? blocks[b].end : first + count;
        for (size_t p = begin; p < end; p++)
            out[p - first] = world_position(sim, blocks[b].coord, p);
    }
    const uint64_t *keys = sim->emission.new_keys.data;
    for (size_t p = first > sim->order.sorted_count ? first : sim->order.sorted_count;
         p < first + count; p++)
        out[p - first] =
            world_position(sim, firn_block_coord(keys[p - sim->order.sorted_count]), p);
}

static float determinant(const firn_sim *sim, size_t p)
{
    firn_mat3 f;
    for (int k = 0; k < 9; k++)
        f.m[k] = firn_channel_of(&sim->particles, FIRN_F + k)[p];
    return firn_mat_det(f);
}

// Mass over the current volume V0 J_E J_P, V0 J of a liquid; zero while the initial volume is not
// known yet.
static void read_densities(const firn_sim *sim, size_t first, size_t count, float *out)
{
    firn_particle_view view = firn_sim_particles(sim);
    for (size_t i = 0; i < count; i++) {
        size_t p = first + i;
        const firn_model *model = firn_model_at(sim->materials.model[view.material[p]]);
        float volume = view.volume[p] * view.jp[p] * (model->keeps_f ? determinant(sim, p) : 1.0f);
        out[i] = volume > 0.0f ? view.mass[p] / volume : 0.0f;
    }
}

firn_result firn_sim_read(const firn_sim *sim, firn_quantity quantity, size_t first, size_t count,
                          void *out, firn_error *error)
{
    if (first > sim->particles.count || count > sim->particles.count - first)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot read particles %zu to %zu; there are %zu", first, first + count,
                         sim->particles.count);
    switch (quantity) {
    case FIRN_POSITION:
        read_positions(sim, first, count, out);
        return FIRN_OK;
    case FIRN_VELOCITY:
        read_vectors(sim, FIRN_V, first, count, out);
        return FIRN_OK;
    case FIRN_DEFORMATION:
        read_matrices(sim, FIRN_F, first, count, out);
        return FIRN_OK;
    case FIRN_AFFINE:
        firn_transfer_recover(sim);
        if (firn_sim_is_apic(sim))
            read_matrices(sim, FIRN_C, first, count, out);
        else
            for (size_t i = 0; i < count; i++)
                ((firn_mat3 *)out)[i] = (firn_mat3){{0.0f}};
        return FIRN_OK;
    case FIRN_DENSITY:
        read_densities(sim, first, count, out);
        return FIRN_OK;
    }
    return firn_fail(error, FIRN_ERR_ARGUMENT,
                     "there is no quantity of particles with the number %d", (int)quantity);
}

firn_result firn_sim_rasterize(const firn_sim *sim, const firn_field_def *def, firn_field **field,
                               firn_error *error)
{
    *field = NULL;
    size_t count = sim->particles.count;
    firn_vec3 *vectors = firn_alloc(2 * count * sizeof *vectors);
    if (vectors == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory for %zu positions", count);
    read_positions(sim, 0, count, vectors);
    read_vectors(sim, FIRN_V, 0, count, vectors + count);
    firn_particle_view view = firn_sim_particles(sim);
    firn_field_points points = {
        .count = count,
        .position = vectors,
        .mass = view.mass,
        .velocity = vectors + count,
        .jp = view.jp,
        .cell_size = sim->def.cell_size,
    };
    firn_result result = firn_field_create(def, &points, field, error);
    firn_free(vectors);
    return result;
}
