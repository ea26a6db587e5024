#include "nodes.h"

#include "firn/vdb.h"

#include <string.h>

typedef struct settings {
    char file[FIRN_TEXT_SIZE];
    char grid[FIRN_TEXT_SIZE];
    firn_vdb_shape_def shape;
    bool surface;
} settings;

typedef struct state {
    firn_vdb_volume *volume;
    firn_vdb_volume_view view;
    firn_vdb_shape *shape;
    firn_volume_data data;
} state;

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, file), FIRN_PATH, {0}, 0, 0, "", "Numbered .vdb files"},
    {FIRN_PARAM(settings, grid), FIRN_STRING, {0}, 0, 0, "",
     "Name of the density grid; empty takes `density`"},
    {FIRN_PARAM(settings, surface), FIRN_BOOL, {0}, 0, 1, "", "Also read the level set"},
};
// clang-format on

static void reset(void *memory)
{
    settings *s = memory;
    s->shape = firn_vdb_shape_def_default();
}

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    return s->file[0] != '\0'
               ? FIRN_OK
               : firn_fail(error, FIRN_ERR_ARGUMENT, "file is empty; it must name a cache");
}

static void release(void *memory)
{
    state *own = memory;
    firn_vdb_volume_destroy(own->volume);
    firn_vdb_shape_destroy(own->shape);
    memset(own, 0, sizeof *own);
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    release(own);
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_path_of_frame(s->file, cook->frame, path, sizeof path, error));
    firn_vdb_reader_def def = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    FIRN_TRY(firn_vdb_reader_create(&def, &reader, error));
    firn_result result = firn_vdb_read_volume(
        reader, path, NULL, s->grid[0] != '\0' ? s->grid : NULL, &own->volume, error);
    if (result == FIRN_OK && s->surface)
        result = firn_vdb_read_shape(reader, path, NULL, &s->shape, &own->shape, error);
    firn_vdb_reader_destroy(reader);
    FIRN_TRY(result);
    own->view = firn_vdb_volume_read(own->volume);
    if (!own->view.aligned)
        firn_cook_log(cook, FIRN_LEVEL_WARNING,
                      "'%s' has voxels that are not where Firn puts them; they are taken as if "
                      "they were",
                      path);
    own->data.field = &own->view.field;
    if (own->shape != NULL) {
        own->data.surface = firn_vdb_shape_level_set(own->shape);
        own->data.velocity = firn_vdb_shape_velocity(own->shape);
    }
    cook->output->volume = &own->data;
    return FIRN_OK;
}

const firn_node_type firn_node_read_volume = {
    .size = sizeof(firn_node_type),
    .name = "read_volume",
    .label = "Read volume",
    .category = "Files",
    .help = "Reads volumes back from .vdb files, so that rendering needs no simulation.",
    .version = 1,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .settings_size = sizeof(settings),
    .output = FIRN_KIND_VOLUME,
    .time_dependent = true,
    .reset = reset,
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
