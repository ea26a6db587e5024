/// What callers may see of the particles.
#include "sim_state.h"

#include <math.h>
#include <string.h>

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

static void read_positions(const firn_sim *sim, size_t first, size_t count, void *positions)
{
    firn_vec3 *out = positions;
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

// V0; while the grid has not told it yet (FIRN_VOLUME_GRID, before the first substep), that of the
// material's density.
static float initial_volume(const firn_sim *sim, const firn_particle_view *view, size_t p)
{
    float known = view->volume[p];
    return known > 0.0f ? known : view->mass[p] / sim->materials.density[view->material[p]];
}

// Mass over the current volume V0 J_E J_P, V0 J of a liquid.
static void read_densities(const firn_sim *sim, size_t first, size_t count, void *out)
{
    firn_particle_view view = firn_sim_particles(sim);
    for (size_t i = 0; i < count; i++) {
        size_t p = first + i;
        const firn_model *model = firn_model_at(sim->materials.model[view.material[p]]);
        float volume = initial_volume(sim, &view, p) * view.jp[p] *
                       (model->keeps_f ? determinant(sim, p) : 1.0f);
        ((float *)out)[i] = volume > 0.0f ? view.mass[p] / volume : 0.0f;
    }
}

// The radius of a sphere with the initial volume, 3 / (4 pi) of its cube.
static void read_radii(const firn_sim *sim, size_t first, size_t count, void *out)
{
    firn_particle_view view = firn_sim_particles(sim);
    for (size_t i = 0; i < count; i++)
        ((float *)out)[i] = cbrtf(0.238732415f * initial_volume(sim, &view, first + i));
}

// --- Channels ------------------------------------------------------------------------------------

/// The derived rows, and what they are made of.
static const struct {
    const char *name;
    void (*read)(const firn_sim *sim, size_t first, size_t count, void *out);
} derived[] = {{"P", read_positions}, {"pscale", read_radii}, {"density", read_densities}};

firn_result firn_sim_add_channel(firn_sim *sim, const firn_channel *channel, firn_error *error)
{
    return firn_particles_add_channel(&sim->particles, channel, error);
}

int firn_sim_channel_count(const firn_sim *sim) { return sim->particles.channels.row_count; }

const firn_channel *firn_sim_channel(const firn_sim *sim, int index)
{
    bool there = index >= 0 && index < firn_sim_channel_count(sim);
    return there ? firn_channel_set_row(&sim->particles.channels, index) : NULL;
}

int firn_sim_find_channel(const firn_sim *sim, const char *name)
{
    return firn_channel_set_find(&sim->particles.channels, name);
}

bool firn_sim_has_channel(const firn_sim *sim, int index)
{
    const firn_channel *channel = firn_sim_channel(sim, index);
    return channel != NULL && ((channel->use & FIRN_CHANNEL_DERIVED) != 0 ||
                               sim->particles.channels.column[index] != FIRN_COLUMN_NONE);
}

const void *firn_sim_values(const firn_sim *sim, int channel)
{
    if (!firn_sim_has_channel(sim, channel) || firn_sim_channel(sim, channel)->components != 1)
        return NULL;
    int column = sim->particles.channels.column[channel];
    if (column == FIRN_COLUMN_MATERIAL)
        return sim->particles.material.data;
    return column >= 0 ? firn_channel_of(&sim->particles, column) : NULL;
}

// Columns become values with their components side by side. All have 4 bytes.
static void read_columns(const firn_sim *sim, int channel, size_t first, size_t count, void *out)
{
    const firn_channel *row = firn_sim_channel(sim, channel);
    const size_t width = (size_t)row->components;
    const int column = sim->particles.channels.column[channel];
    for (size_t k = 0; k < width; k++) {
        float initial = firn_channel_initial(row, (int)k);
        const float *from =
            column >= 0 ? firn_channel_of(&sim->particles, column + (int)k) + first : NULL;
        char *to = (char *)out + k * sizeof(float);
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * width * sizeof(float), from != NULL ? &from[i] : &initial,
                   sizeof(float));
    }
}

firn_result firn_sim_read(const firn_sim *sim, int channel, size_t first, size_t count, void *out,
                          firn_error *error)
{
    if (first > sim->particles.count || count > sim->particles.count - first)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot read particles %zu to %zu; there are %zu", first, first + count,
                         sim->particles.count);
    const firn_channel *row = firn_sim_channel(sim, channel);
    if (row == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "there is no channel with the number %d",
                         channel);
    if (sim->particles.channels.column[channel] == FIRN_C)
        firn_transfer_recover(sim);
    for (size_t i = 0; i < FIRN_COUNT(derived); i++)
        if (strcmp(derived[i].name, row->name) == 0) {
            derived[i].read(sim, first, count, out);
            return FIRN_OK;
        }
    if (row->type == FIRN_CHANNEL_UINT8) {
        if (count > 0)
            memcpy(out, (const uint8_t *)firn_sim_values(sim, channel) + first, count);
        return FIRN_OK;
    }
    read_columns(sim, channel, first, count, out);
    return FIRN_OK;
}

// --- Volumes -------------------------------------------------------------------------------------

/// What a field is made from, read out of a simulation.
typedef struct raster_input {
    firn_vec3 *vectors; // positions, then velocities
    size_t value_count;
    firn_field_values values[FIRN_CHANNEL_MAX];
    float *read[FIRN_CHANNEL_MAX]; // of the values that have no array of their own
} raster_input;

static void free_input(raster_input *input)
{
    firn_free(input->vectors);
    for (size_t i = 0; i < input->value_count; i++)
        firn_free(input->read[i]);
}

static firn_result find_volume(const firn_sim *sim, const char *word, int *channel,
                               firn_error *error)
{
    *channel = firn_sim_find_channel(sim, word);
    if (*channel < 0 || !firn_sim_has_channel(sim, *channel))
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "the particles have no channel '%s'", word);
    const firn_channel *row = firn_sim_channel(sim, *channel);
    if ((row->use & FIRN_CHANNEL_VOLUME) == 0 || row->type != FIRN_CHANNEL_FLOAT)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the channel '%s' cannot become a volume", word);
    return FIRN_OK;
}

static firn_result add_values(const firn_sim *sim, const char *word, raster_input *input,
                              firn_error *error)
{
    int channel;
    size_t count = sim->particles.count, at = input->value_count;
    FIRN_TRY(find_volume(sim, word, &channel, error));
    const firn_channel *row = firn_sim_channel(sim, channel);
    for (size_t i = 0; i < at; i++)
        if (strcmp(input->values[i].name, row->name) == 0)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "the channel '%s' is named twice", word);
    const float *values = firn_sim_values(sim, channel);
    if (values == NULL) {
        input->read[at] = firn_alloc((count + 1) * (size_t)row->components * sizeof(float));
        if (input->read[at] == NULL)
            return firn_fail(error, FIRN_ERR_MEMORY, "out of memory for %zu values of '%s'", count,
                             word);
        input->value_count++;
        FIRN_TRY(firn_sim_read(sim, channel, 0, count, input->read[at], error));
        values = input->read[at];
    } else {
        input->value_count++;
    }
    input->values[at] =
        (firn_field_values){row->name, row->components, (row->use & FIRN_CHANNEL_INVERSE) != 0,
                            row->background, values};
    return FIRN_OK;
}

static firn_result read_input(const firn_sim *sim, const char *channels, raster_input *input,
                              firn_error *error)
{
    size_t count = sim->particles.count;
    char word[2 * FIRN_CHANNEL_NAME];
    for (const char *list = channels; list != NULL && firn_channel_next(&list, word, sizeof word);)
        FIRN_TRY(add_values(sim, word, input, error));
    input->vectors = firn_alloc((2 * count + 1) * sizeof *input->vectors);
    if (input->vectors == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory for %zu positions", count);
    read_positions(sim, 0, count, input->vectors);
    read_columns(sim, FIRN_VELOCITY, 0, count, input->vectors + count);
    return FIRN_OK;
}

firn_result firn_sim_rasterize(const firn_sim *sim, const firn_field_def *def, const char *channels,
                               firn_field **field, firn_error *error)
{
    *field = NULL;
    raster_input input = {.vectors = NULL};
    firn_result result = read_input(sim, channels, &input, error);
    if (result == FIRN_OK) {
        firn_particle_view view = firn_sim_particles(sim);
        firn_field_points points = {
            .count = view.count,
            .position = input.vectors,
            .mass = view.mass,
            .velocity = input.vectors + view.count,
            .jp = view.jp,
            .cell_size = sim->def.cell_size,
            .value_count = input.value_count,
            .values = input.values,
        };
        result = firn_field_create(def, &points, field, error);
    }
    free_input(&input);
    return result;
}
