#include "nodes.h"

#include "channel_columns.h"
#include "point_file.h"

#include "firn/fine.h"

#include <math.h>
#include <string.h>

typedef struct settings {
    firn_fine_def fine;
    char channels[FIRN_TEXT_SIZE];
} settings;

// Columns that the node makes itself.
enum { POSITION, VELOCITY, ID, RADIUS, MASS, DENSITY, SPARKLE, OWN_COUNT };
static const char *const own_names[OWN_COUNT] = {"P",    "v",       "id",     "pscale",
                                                 "mass", "density", "sparkle"};

enum { COLUMNS = OWN_COUNT + FIRN_CHANNEL_LIST };

typedef struct state {
    void *memory[COLUMNS]; // of the columns
    firn_channel_list list;
    firn_attribute columns[COLUMNS];
    firn_particle_data data;
    firn_stat stats[2];
} state;

static const firn_node_rows rows[] = {{firn_fine_params, offsetof(settings, fine)}};

static const firn_param params[] = {
    {FIRN_PARAM(settings, channels), FIRN_STRING, .unit = "",
     .help = "What grains inherit beside P v id pscale mass density sparkle, with spaces between: "
             "Jp stiffness temperature Cd material; dirt:1 or tint:3 for those of your own",
     .text = "Jp"},
};

static firn_result read_list(const settings *s, firn_channel_list *list, firn_error *error)
{
    FIRN_TRY(firn_channel_list_read(s->channels, FIRN_CHANNEL_PUBLISHED, "channels", list, error));
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->row[i].name;
        for (int k = 0; k < OWN_COUNT; k++)
            if (strcmp(name, own_names[k]) == 0)
                return firn_fail(error, FIRN_ERR_ARGUMENT,
                                 "channels has %s, which grains have anyway; take it out", name);
        if (strcmp(name, "F") == 0 || strcmp(name, "volume") == 0)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "channels has %s, which a grain cannot take from a particle; take it "
                             "out",
                             name);
    }
    return FIRN_OK;
}

static firn_result check(const void *memory, firn_error *error)
{
    firn_channel_list list;
    return read_list(memory, &list, error);
}

static void reset(void *memory)
{
    settings *s = memory;
    s->fine = firn_fine_def_default();
}

static void release(void *memory)
{
    state *own = memory;
    for (size_t i = 0; i < COLUMNS; i++)
        firn_free(own->memory[i]);
    memset(own, 0, sizeof *own);
}

/// Particles as the core wants them.
typedef struct arrays {
    float *position, *velocity, *mass, *radius, *jp, *deformation;
    uint32_t *id;
} arrays;

static void free_arrays(arrays *a)
{
    firn_free(a->position);
    firn_free(a->velocity);
    firn_free(a->mass);
    firn_free(a->radius);
    firn_free(a->jp);
    firn_free(a->deformation);
    firn_free(a->id);
}

static firn_result read_ids(const firn_points *points, uint32_t **ids, firn_error *error)
{
    const firn_attribute *from = firn_points_find(points, "id");
    if (from == NULL || from->tuple_size != 1 || from->storage == FIRN_STORAGE_STRING)
        return FIRN_OK;
    *ids = firn_alloc((points->count + 1) * sizeof **ids);
    if (*ids == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read id");
    for (size_t i = 0; i < points->count; i++) {
        int64_t value;
        firn_attribute_integers(from, i, 1, &value);
        if (value < 0 || value > UINT32_MAX)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "particle %zu has the id %lld; it must be 0 to 4294967295", i,
                             (long long)value);
        (*ids)[i] = (uint32_t)value;
    }
    return FIRN_OK;
}

static firn_result read_arrays(const firn_points *points, arrays *a, firn_error *error)
{
    const struct {
        const char *name;
        int components;
        float **values;
        bool needed;
    } columns[] = {{"P", 3, &a->position, true}, {"v", 3, &a->velocity, true},
                   {"mass", 1, &a->mass, true},  {"pscale", 1, &a->radius, true},
                   {"Jp", 1, &a->jp, true},      {"F", 9, &a->deformation, false}};
    for (size_t i = 0; i < FIRN_COUNT(columns); i++) {
        FIRN_TRY(firn_points_floats(points, columns[i].name, columns[i].components,
                                    columns[i].values, error));
        if (columns[i].needed && *columns[i].values == NULL)
            return firn_fail(error, FIRN_ERR_NOT_FOUND,
                             "the particles have no %s; write them with it", columns[i].name);
    }
    FIRN_TRY(read_ids(points, &a->id, error));
    return a->id != NULL ? FIRN_OK
                         : firn_fail(error, FIRN_ERR_NOT_FOUND,
                                     "the particles have no id; write them with it");
}

static firn_result claim(void **memory, size_t count, size_t size, const char *name,
                         firn_error *error)
{
    *memory = firn_alloc((count + 1) * size);
    return *memory != NULL ? FIRN_OK
                           : firn_fail(error, FIRN_ERR_MEMORY,
                                       "out of memory: cannot make %s of %zu grains", name, count);
}

static firn_result make_grains(const settings *s, const firn_particle_data *from, const arrays *a,
                               state *own, firn_error *error)
{
    size_t count = from->points.count * (size_t)s->fine.children;
    for (int i = 0; i < OWN_COUNT; i++) {
        const firn_channel *channel = firn_channel_find(own_names[i]);
        size_t size = (size_t)channel->components * firn_channel_type_size(channel->type);
        FIRN_TRY(claim(&own->memory[i], count, size, own_names[i], error));
        own->columns[i] = firn_channel_column(channel, own->memory[i]);
    }
    firn_fine_parents parents = {.count = from->points.count,
                                 .position = (const firn_vec3 *)(const void *)a->position,
                                 .velocity = (const firn_vec3 *)(const void *)a->velocity,
                                 .mass = a->mass,
                                 .radius = a->radius,
                                 .jp = a->jp,
                                 .id = a->id,
                                 .deformation = (const firn_mat3 *)(const void *)a->deformation,
                                 .cell_size = from->cell_size};
    firn_fine_grains grains = {own->memory[POSITION], own->memory[VELOCITY], own->memory[MASS],
                               own->memory[RADIUS],   own->memory[DENSITY],  own->memory[ID],
                               own->memory[SPARKLE]};
    FIRN_TRY(firn_fine_make(&s->fine, &parents, &grains, error));
    own->data.points.count = count;
    return FIRN_OK;
}

// Every grain has the value of its particle.
static void repeat(const firn_attribute *from, size_t count, size_t times, void *to)
{
    size_t size = (size_t)from->tuple_size * firn_storage_size(from->storage);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < times; k++)
            memcpy((char *)to + (i * times + k) * size, (const char *)from->data + i * size, size);
}

static firn_result inherit(const settings *s, const firn_points *points, state *own,
                           firn_error *error)
{
    FIRN_TRY(read_list(s, &own->list, error));
    for (size_t i = 0; i < own->list.count; i++) {
        const firn_channel *channel = &own->list.row[i];
        const firn_attribute *from = firn_points_find(points, channel->name);
        if (from == NULL || from->storage == FIRN_STORAGE_STRING ||
            from->tuple_size != channel->components)
            return firn_fail(error, FIRN_ERR_NOT_FOUND,
                             "the particles have no %s of %d components; take it out of channels "
                             "or write them with it",
                             channel->name, channel->components);
        size_t at = OWN_COUNT + i;
        size_t size = (size_t)from->tuple_size * firn_storage_size(from->storage);
        FIRN_TRY(claim(&own->memory[at], own->data.points.count, size, channel->name, error));
        repeat(from, points->count, (size_t)s->fine.children, own->memory[at]);
        own->columns[at] = *from;
        own->columns[at].name = channel->name;
        own->columns[at].data = own->memory[at];
    }
    own->data.points.attributes = own->columns;
    own->data.points.attribute_count = OWN_COUNT + own->list.count;
    return FIRN_OK;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    release(own);
    double begun = firn_seconds();
    const firn_particle_data *from = firn_cook_input(cook, "particles", 0)->particles;
    arrays a = {.position = NULL};
    firn_result result = read_arrays(&from->points, &a, error);
    if (result == FIRN_OK)
        result = make_grains(s, from, &a, own, error);
    free_arrays(&a);
    FIRN_TRY(result);
    FIRN_TRY(inherit(s, &from->points, own, error));
    // As many grains are in such a cell as particles in a cell of the simulation.
    own->data.cell_size = from->cell_size / cbrtf((float)s->fine.children);
    own->stats[0] = (firn_stat){"particles", (double)own->data.points.count};
    own->stats[1] = (firn_stat){"seconds", firn_seconds() - begun};
    cook->output->particles = &own->data;
    cook->output->stats = own->stats;
    cook->output->stat_count = FIRN_COUNT(own->stats);
    return FIRN_OK;
}

static const firn_node_input inputs[] = {
    {"particles", FIRN_KIND_PARTICLES, false, true,
     "Particles with P v id pscale mass Jp; with F their cells turn and deform"},
};

const firn_node_type firn_node_fine_particles = {
    .size = sizeof(firn_node_type),
    .name = "fine_particles",
    .label = "Fine particles",
    .category = "Detail",
    .help = "Turns each particle into many grains for pictures, which move with dense snow and "
            "fly on their own where it is loose. It works on caches, frame by frame.",
    .version = 2,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .animated = "*",
    .neutral = "thread_count",
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_PARTICLES,
    .reset = reset,
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
