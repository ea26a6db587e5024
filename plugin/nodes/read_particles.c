#include "nodes.h"

#include "point_file.h"

#include <string.h>

typedef struct settings {
    char file[FIRN_TEXT_SIZE];
    char object[FIRN_TEXT_SIZE];
    float cell_size;
} settings;

typedef struct state {
    firn_point_file file;
    firn_particle_data data;
    firn_stat stat;
} state;

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, file), FIRN_PATH, {0}, 0, 0, "",
     "A particle cache: numbered .bgeo or .vdb files, or an Alembic archive"},
    {FIRN_PARAM(settings, object), FIRN_STRING, {0}, 0, 0, "",
     "A pattern of Alembic paths, or the name of a VDB grid; empty takes the first"},
    {FIRN_PARAM(settings, cell_size), FIRN_FLOAT, {0}, 0, 1, "m",
     "Cell of the simulation that made them, for rasterizing; 0: what the file says"},
};
// clang-format on

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
    firn_point_file_close(&own->file);
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    release(own);
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_path_of_frame(s->file, cook->frame, path, sizeof path, error));
    FIRN_TRY(
        firn_point_file_read(&own->file, path, s->object, (double)cook->frame / cook->fps, error));
    own->data.points = own->file.points;
    own->data.cell_size = s->cell_size;
    const firn_attribute *stored = firn_points_find_detail(&own->file.points, "cell_size");
    if (stored != NULL && s->cell_size == 0.0f && stored->storage != FIRN_STORAGE_STRING)
        firn_attribute_floats(stored, 0, 1, &own->data.cell_size);
    own->stat = (firn_stat){"particles", (double)own->data.points.count};
    cook->output->particles = &own->data;
    cook->output->stats = &own->stat;
    cook->output->stat_count = 1;
    return FIRN_OK;
}

const firn_node_type firn_node_read_particles = {
    .size = sizeof(firn_node_type),
    .name = "read_particles",
    .label = "Read particles",
    .category = "Files",
    .help = "Reads particles back from a cache, so that later stages need no simulation.",
    .version = 1,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .settings_size = sizeof(settings),
    .output = FIRN_KIND_PARTICLES,
    .time_dependent = true,
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
