#include "nodes.h"

#include "clip.h"
#include "placement.h"
#include "point_file.h"

#include <math.h>
#include <string.h>

typedef struct settings {
    char file[FIRN_TEXT_SIZE];
    char object[FIRN_TEXT_SIZE];
    float cell_size;
    firn_axes_def axes;
    firn_place_def place;
    firn_clip_def clip;
} settings;

typedef struct state {
    firn_point_file file;
    firn_attribute *columns; // of particles that were placed
    float *position, *velocity, *radius;
    firn_particle_data data;
    firn_stat stat;
} state;

static const firn_node_rows rows[] = {
    {firn_axes_params, offsetof(settings, axes), NULL, "file_"},
    {firn_place_params, offsetof(settings, place)},
    {firn_clip_params, offsetof(settings, clip), NULL, "time_"},
};

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, file), FIRN_PATH, {0}, 0, 0, "",
     "A particle cache: numbered .bgeo, .vdb or .ply files, or an Alembic or USD file"},
    {FIRN_PARAM(settings, object), FIRN_STRING, {0}, 0, 0, "",
     "A pattern of paths in Alembic or USD, or the name of a VDB grid; empty takes the first"},
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

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    const settings *s = memory;
    (void)param;
    return firn_clip_file(&s->clip, s->file, 0, frame, path, size);
}

// What was placed; the file stays open for the next frame.
static void forget(state *own)
{
    firn_free(own->columns);
    firn_free(own->position);
    firn_free(own->velocity);
    firn_free(own->radius);
    own->columns = NULL;
    own->position = own->velocity = own->radius = NULL;
}

static void release(void *memory)
{
    state *own = memory;
    forget(own);
    firn_point_file_close(&own->file);
}

// The frame of the file that the cooked frame shows, and its name.
static firn_result find_file(const firn_cook *cook, double *frame, char path[FIRN_PATH_SIZE],
                             firn_error *error)
{
    const settings *s = cook->settings;
    int first = 0, last = 0;
    bool numbered = firn_path_has_frame(s->file);
    firn_clip clip = firn_clip_make(&s->clip, numbered, cook->start_frame, cook->fps);
    if (numbered && s->clip.outside != FIRN_OUTSIDE_AUTO) {
        clip.ranged = firn_clip_find_range(s->file, &first, &last);
        clip.first = first;
        clip.last = last;
    }
    *frame = firn_clip_frame(&clip, cook->frame);
    return firn_path_of_frame(s->file, (int)floor(*frame + 0.5), path, FIRN_PATH_SIZE, error);
}

// Positions, velocities and radii at their place; the other columns stay as they are.
static firn_result place(const firn_cook *cook, const char *path, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    firn_points *points = &own->data.points;
    const firn_axes_def axes = firn_point_file_axes(&own->file, &s->axes);
    bool still =
        firn_axes_are_ours(&axes) && firn_transform_is_identity(firn_place_transform(&s->place));
    if (still || points->count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_points_floats(points, "P", 3, &own->position, error));
    FIRN_TRY(firn_points_floats(points, "v", 3, &own->velocity, error));
    FIRN_TRY(firn_points_floats(points, "pscale", 1, &own->radius, error));
    if (own->position == NULL)
        return firn_fail(error, FIRN_ERR_FORMAT, "'%.300s' has no positions", path);
    FIRN_TRY(firn_points_place(points->count, own->position, own->velocity, &axes, &s->place, path,
                               error));
    float factor = s->place.scale * firn_axes_transform(&axes).scale;
    for (size_t i = 0; i < points->count && own->radius != NULL; i++)
        own->radius[i] *= factor;
    own->columns = firn_alloc((points->attribute_count + 1) * sizeof *own->columns);
    if (own->columns == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot place particles");
    const struct {
        const char *name;
        const float *values;
    } placed[] = {{"P", own->position}, {"v", own->velocity}, {"pscale", own->radius}};
    for (size_t i = 0; i < points->attribute_count; i++) {
        own->columns[i] = points->attributes[i];
        for (size_t k = 0; k < FIRN_COUNT(placed); k++)
            if (placed[k].values != NULL && strcmp(own->columns[i].name, placed[k].name) == 0) {
                own->columns[i].storage = FIRN_STORAGE_FLOAT32;
                own->columns[i].data = placed[k].values;
            }
    }
    points->attributes = own->columns;
    return FIRN_OK;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    forget(own);
    char path[FIRN_PATH_SIZE];
    double frame;
    FIRN_TRY(find_file(cook, &frame, path, error));
    FIRN_TRY(firn_point_file_read(&own->file, path, s->object, frame / cook->fps, error));
    own->data.points = own->file.points;
    FIRN_TRY(place(cook, path, error));
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
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .output = FIRN_KIND_PARTICLES,
    .time_dependent = true,
    .check = check,
    .file = file_of,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
