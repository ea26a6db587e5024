#include "nodes.h"

#include "point_values.h"

#include "firn/field.h"
#include "firn/vdb_surface.h"

#include <string.h>

typedef struct settings {
    bool surface, surface_mask;
    char channels[FIRN_TEXT_SIZE];
    firn_field_def field;
    firn_vdb_skin_def skin;
} settings;

typedef struct state {
    firn_field *field;
    firn_field_view view;
    firn_vdb_shape *shape;
    firn_volume_data data;
    firn_stat stats[2];
} state;

static const firn_node_rows rows[] = {
    {firn_field_params, offsetof(settings, field)},
    {firn_vdb_skin_params, offsetof(settings, skin), "voxel_size thread_count", "surface_",
     "surface==true"},
};

static const firn_param params[] = {
    {FIRN_PARAM(settings, surface), FIRN_BOOL, .max = 1.0, .unit = "",
     .help = "Also make a level set around the particles, for shading"},
    {FIRN_PARAM(settings, surface_mask), FIRN_BOOL, .max = 1.0, .unit = "",
     .help = "Keep the density inside of that level set; mass beyond moves in",
     .visible_when = "surface==true"},
    {FIRN_PARAM(settings, channels), FIRN_STRING, .unit = "",
     .help = "Channels of the particles that also become volumes, with spaces between: stiffness "
             "temperature Cd; dirt:1 or tint:3 for those of your own",
     .added = true},
};

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    firn_channel_list list;
    return firn_point_values_list(s->channels, &list, error);
}

static void reset(void *memory)
{
    settings *s = memory;
    s->field = firn_field_def_default();
    s->skin = firn_vdb_skin_def_default();
}

static void release(void *memory)
{
    state *own = memory;
    firn_field_destroy(own->field);
    firn_vdb_shape_destroy(own->shape);
    memset(own, 0, sizeof *own);
}

/// The columns of a table as arrays of floats, those of the table where it has floats.
typedef struct arrays {
    const float *position, *velocity, *mass, *jp;
    float *copies[4];
    firn_point_values more;
} arrays;

static void free_arrays(arrays *a)
{
    for (size_t i = 0; i < FIRN_COUNT(a->copies); i++)
        firn_free(a->copies[i]);
    firn_point_values_free(&a->more);
}

static firn_result read_arrays(const firn_points *points, arrays *a, firn_error *error)
{
    FIRN_TRY(firn_points_borrow(points, "P", 3, &a->position, &a->copies[0], error));
    FIRN_TRY(firn_points_borrow(points, "v", 3, &a->velocity, &a->copies[1], error));
    FIRN_TRY(firn_points_borrow(points, "mass", 1, &a->mass, &a->copies[2], error));
    FIRN_TRY(firn_points_borrow(points, "Jp", 1, &a->jp, &a->copies[3], error));
    if (a->position == NULL || a->mass == NULL)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "the particles have no %s; write them with it",
                         a->position == NULL ? "P" : "mass");
    return FIRN_OK;
}

static firn_result make_surface(const settings *s, const firn_field_points *points, state *own,
                                firn_error *error)
{
    firn_vdb_skin_def skin = s->skin;
    skin.voxel_size = s->field.voxel_size;
    skin.thread_count = s->field.thread_count;
    firn_vdb_spheres spheres = {points->count, points->position, NULL};
    FIRN_TRY(firn_vdb_shape_from_particles(&skin, &spheres, &own->shape, error));
    own->data.surface = firn_vdb_shape_level_set(own->shape);
    return FIRN_OK;
}

static firn_result make_volumes(const firn_cook *cook, const firn_particle_data *from,
                                const arrays *a, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    firn_field_points points = {.count = from->points.count,
                                .position = (const firn_vec3 *)(const void *)a->position,
                                .mass = a->mass,
                                .velocity = (const firn_vec3 *)(const void *)a->velocity,
                                .jp = a->jp,
                                .cell_size = from->cell_size,
                                .value_count = a->more.list.count,
                                .values = a->more.values};
    firn_field_def field = s->field;
    field.velocity = field.velocity && a->velocity != NULL;
    field.compaction = field.compaction && a->jp != NULL;
    if (!(points.cell_size > 0.0f) && field.filter_width == 0.0f)
        field.filter_width = field.voxel_size;
    // Without particles too: renderers ask for the grid in every frame.
    if (s->surface)
        FIRN_TRY(make_surface(s, &points, own, error));
    if (s->surface_mask && own->shape != NULL && points.count > 0)
        points.mask = own->data.surface;
    FIRN_TRY(firn_field_create(&field, &points, &own->field, error));
    own->view = firn_field_read(own->field);
    own->data.field = &own->view;
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
        result = firn_point_values_read(&a.more, s->channels, &from->points, error);
    if (result == FIRN_OK)
        result = make_volumes(cook, from, &a, error);
    free_arrays(&a);
    FIRN_TRY(result);
    own->stats[0] = (firn_stat){"leaves", (double)own->view.leaf_count};
    own->stats[1] = (firn_stat){"seconds", firn_seconds() - begun};
    own->data.bodies = from->bodies;
    own->data.body_count = from->body_count;
    cook->output->volume = &own->data;
    cook->output->stats = own->stats;
    cook->output->stat_count = FIRN_COUNT(own->stats);
    return FIRN_OK;
}

static const firn_node_input inputs[] = {
    {"particles", FIRN_KIND_PARTICLES, false, true, "Particles with P and mass; v and Jp if there"},
};

const firn_node_type firn_node_rasterize = {
    .size = sizeof(firn_node_type),
    .name = "rasterize",
    .label = "Rasterize",
    .category = "Volumes",
    .help = "Turns particles into density, velocity, compaction and other channels on voxels, and "
            "into a level set if wanted.",
    .version = 2, // 2: sums of voxels in another order
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .animated = "*",
    .neutral = "thread_count",
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_VOLUME,
    .reset = reset,
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
