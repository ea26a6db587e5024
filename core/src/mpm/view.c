/// What callers may see of the particles.
#include "sim_state.h"

#include <math.h>
#include <string.h>

/// The particles on the grid, or the grains outside it, which come behind them.
typedef struct particle_list {
    const firn_sim *sim;
    bool grains;
    size_t count;
    const uint8_t *material;
} particle_list;

static particle_list list_of(const firn_sim *sim, bool grains)
{
    return (particle_list){sim, grains, grains ? sim->store.count : sim->particles.count,
                           grains ? sim->store.material.data : sim->particles.material.data};
}

// A column of the particles; NULL: these do not have it.
static const float *column_of(const particle_list *list, int column)
{
    if (!list->grains)
        return firn_channel_of(&list->sim->particles, column);
    int own = firn_store_column_of(&list->sim->particles.channels, column);
    return own >= 0 ? firn_store_at(&list->sim->store, own) : NULL;
}

/// What reads values of a list.
typedef void list_reader(const particle_list *list, size_t first, size_t count, void *out,
                         int channel);

// Reads particles [first, first + count) of both lists; values have this size in bytes.
static void read_lists(const firn_sim *sim, size_t first, size_t count, void *out, size_t size,
                       int channel, list_reader *read)
{
    const particle_list lists[2] = {list_of(sim, false), list_of(sim, true)};
    size_t on_grid = first < lists[0].count ? lists[0].count - first : 0;
    on_grid = on_grid < count ? on_grid : count;
    if (on_grid > 0)
        read(&lists[0], first, on_grid, out, channel);
    size_t before = first > lists[0].count ? first - lists[0].count : 0;
    if (count > on_grid)
        read(&lists[1], before, count - on_grid, (char *)out + on_grid * size, channel);
}

static firn_vec3 world_position(const particle_list *list, firn_coord block, size_t p)
{
    double h = list->sim->def.cell_size, shift = firn_grid_shift(&list->sim->grid);
    const double corner[3] = {4.0 * block.x + shift, 4.0 * block.y + shift, 4.0 * block.z + shift};
    float x[3];
    for (int axis = 0; axis < 3; axis++)
        x[axis] = (float)(h * (corner[axis] + (double)column_of(list, FIRN_U + axis)[p]));
    return firn_vec(x[0], x[1], x[2]);
}

static void read_positions(const particle_list *list, size_t first, size_t count, void *positions,
                           int channel)
{
    (void)channel;
    const firn_sim *sim = list->sim;
    firn_vec3 *out = positions;
    if (list->grains) {
        const uint64_t *keys = sim->store.key.data;
        for (size_t p = first; p < first + count; p++)
            out[p - first] = world_position(list, firn_block_coord(keys[p]), p);
        return;
    }
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++) {
        size_t begin = blocks[b].begin > first ? blocks[b].begin : first;
        size_t end = blocks[b].end < first + count ? blocks[b].end : first + count;
        for (size_t p = begin; p < end; p++)
            out[p - first] = world_position(list, blocks[b].coord, p);
    }
    const uint64_t *keys = sim->emission.new_keys.data;
    for (size_t p = first > sim->order.sorted_count ? first : sim->order.sorted_count;
         p < first + count; p++)
        out[p - first] =
            world_position(list, firn_block_coord(keys[p - sim->order.sorted_count]), p);
}

static float determinant(const particle_list *list, size_t p)
{
    firn_mat3 f;
    if (list->grains)
        return 1.0f;
    for (int k = 0; k < 9; k++)
        f.m[k] = column_of(list, FIRN_F + k)[p];
    return firn_mat_det(f);
}

// V0; while the grid has not told it yet (FIRN_VOLUME_GRID, before the first substep), that of the
// material's density.
static float initial_volume(const particle_list *list, size_t p)
{
    float known = column_of(list, FIRN_VOLUME)[p];
    return known > 0.0f
               ? known
               : column_of(list, FIRN_MASS)[p] / list->sim->materials.density[list->material[p]];
}

// Mass over the current volume V0 J_E J_P, V0 J of a liquid.
static void read_densities(const particle_list *list, size_t first, size_t count, void *out,
                           int channel)
{
    (void)channel;
    for (size_t i = 0; i < count; i++) {
        size_t p = first + i;
        const firn_model *model = firn_model_at(list->sim->materials.model[list->material[p]]);
        float volume = initial_volume(list, p) * column_of(list, FIRN_JP)[p] *
                       (model->keeps_f ? determinant(list, p) : 1.0f);
        ((float *)out)[i] = volume > 0.0f ? column_of(list, FIRN_MASS)[p] / volume : 0.0f;
    }
}

// The radius of a sphere with the initial volume, 3 / (4 pi) of its cube.
static void read_radii(const particle_list *list, size_t first, size_t count, void *out,
                       int channel)
{
    (void)channel;
    for (size_t i = 0; i < count; i++)
        ((float *)out)[i] = cbrtf(0.238732415f * initial_volume(list, first + i));
}

static void read_materials(const particle_list *list, size_t first, size_t count, void *out,
                           int channel)
{
    (void)channel;
    memcpy(out, list->material + first, count);
}

// Columns become values with their components side by side. All have 4 bytes.
static void read_columns(const particle_list *list, size_t first, size_t count, void *out,
                         int channel)
{
    const firn_sim *sim = list->sim;
    const firn_channel *row = firn_sim_channel(sim, channel);
    const size_t width = (size_t)row->components;
    const int column = sim->particles.channels.column[channel];
    for (size_t k = 0; k < width; k++) {
        float initial = firn_channel_initial(row, (int)k);
        const float *values = column >= 0 ? column_of(list, column + (int)k) : NULL;
        char *to = (char *)out + k * sizeof(float);
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * width * sizeof(float), values != NULL ? &values[first + i] : &initial,
                   sizeof(float));
    }
}

// --- The view ------------------------------------------------------------------------------------

// The arrays of the view that have a column.
static const int view_columns[] = {FIRN_ID, FIRN_MASS, FIRN_VOLUME, FIRN_STIFFNESS, FIRN_JP};

// Both lists one behind the other, in memory that readers may change.
static bool join_lists(const firn_sim *sim, const void *joined[FIRN_COUNT(view_columns) + 1])
{
    size_t total = firn_sim_particle_count(sim), arrays = FIRN_COUNT(view_columns);
    firn_array *memory = sim->joined;
    firn_budget uncounted = {0};
    if (firn_array_reserve(&uncounted, memory, total * (arrays * sizeof(float) + 1), 1, NULL) !=
        FIRN_OK)
        return false;
    float *at = memory->data;
    for (size_t a = 0; a < arrays; a++, at += total) {
        joined[a] = at;
        for (int grains = 0; grains < 2; grains++) {
            const particle_list list = list_of(sim, grains != 0);
            size_t first = grains ? sim->particles.count : 0;
            if (list.count > 0)
                memcpy(at + first, column_of(&list, view_columns[a]), list.count * sizeof(float));
        }
    }
    joined[arrays] = at;
    read_lists(sim, 0, total, at, sizeof(uint8_t), 0, read_materials);
    return true;
}

firn_particle_view firn_sim_particles(const firn_sim *sim)
{
    const firn_particles *p = &sim->particles;
    const void *at[FIRN_COUNT(view_columns) + 1];
    for (size_t a = 0; a < FIRN_COUNT(view_columns); a++)
        at[a] = firn_channel_of(p, view_columns[a]);
    at[FIRN_COUNT(view_columns)] = p->material.data;
    if (sim->store.count > 0 && !join_lists(sim, at))
        return (firn_particle_view){.count = 0};
    return (firn_particle_view){.count = firn_sim_particle_count(sim),
                                .id = at[0],
                                .mass = at[1],
                                .volume = at[2],
                                .stiffness = at[3],
                                .jp = at[4],
                                .material = at[FIRN_COUNT(view_columns)]};
}

// --- Channels ------------------------------------------------------------------------------------

/// The derived rows, and what they are made of.
static const struct {
    const char *name;
    list_reader *read;
    size_t size; // bytes
} derived[] = {{"P", read_positions, sizeof(firn_vec3)},
               {"pscale", read_radii, sizeof(float)},
               {"density", read_densities, sizeof(float)}};

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
    if (sim->store.count > 0)
        return NULL;
    if (!firn_sim_has_channel(sim, channel) || firn_sim_channel(sim, channel)->components != 1)
        return NULL;
    int column = sim->particles.channels.column[channel];
    if (column == FIRN_COLUMN_MATERIAL)
        return sim->particles.material.data;
    return column >= 0 ? firn_channel_of(&sim->particles, column) : NULL;
}

firn_result firn_sim_read(const firn_sim *sim, int channel, size_t first, size_t count, void *out,
                          firn_error *error)
{
    size_t total = firn_sim_particle_count(sim);
    if (first > total || count > total - first)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot read particles %zu to %zu; there are %zu", first, first + count,
                         total);
    const firn_channel *row = firn_sim_channel(sim, channel);
    if (row == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "there is no channel with the number %d",
                         channel);
    if (sim->particles.channels.column[channel] == FIRN_C)
        firn_transfer_recover(sim);
    for (size_t i = 0; i < FIRN_COUNT(derived); i++)
        if (strcmp(derived[i].name, row->name) == 0) {
            read_lists(sim, first, count, out, derived[i].size, channel, derived[i].read);
            return FIRN_OK;
        }
    if (row->type == FIRN_CHANNEL_UINT8)
        read_lists(sim, first, count, out, sizeof(uint8_t), channel, read_materials);
    else
        read_lists(sim, first, count, out, (size_t)row->components * sizeof(float), channel,
                   read_columns);
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
    size_t count = firn_sim_particle_count(sim), at = input->value_count;
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
    size_t count = firn_sim_particle_count(sim);
    char word[2 * FIRN_CHANNEL_NAME];
    for (const char *list = channels; list != NULL && firn_channel_next(&list, word, sizeof word);)
        FIRN_TRY(add_values(sim, word, input, error));
    input->vectors = firn_alloc((2 * count + 1) * sizeof *input->vectors);
    if (input->vectors == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory for %zu positions", count);
    read_lists(sim, 0, count, input->vectors, sizeof(firn_vec3), FIRN_POSITION, read_positions);
    read_lists(sim, 0, count, input->vectors + count, sizeof(firn_vec3), FIRN_VELOCITY,
               read_columns);
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
