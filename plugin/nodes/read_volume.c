#include "nodes.h"

#include "clip.h"
#include "placement.h"
#include "shape_file.h"
#include "volume_place.h"

#include "firn/vdb.h"

#include <math.h>
#include <string.h>

typedef struct settings {
    char file[FIRN_TEXT_SIZE];
    char grid[FIRN_TEXT_SIZE];
    firn_axes_def axes;
    firn_place_def place;
    firn_clip_def clip;
    firn_vdb_shape_def shape;
    bool surface;
} settings;

typedef struct state {
    firn_vdb_volume *volume;
    firn_vdb_volume_view view;
    firn_vdb_shape *shape;
    firn_placed_volume placed;
    firn_placed_surface surface;
    firn_volume_data data;
} state;

static const firn_node_rows rows[] = {
    {firn_axes_params, offsetof(settings, axes), NULL, "file_"},
    {firn_place_params, offsetof(settings, place)},
    {firn_clip_params, offsetof(settings, clip), NULL, "time_"},
};

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

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    const settings *s = memory;
    (void)param;
    return firn_clip_file(&s->clip, s->file, 0, frame, path, size);
}

static void release(void *memory)
{
    state *own = memory;
    firn_vdb_volume_destroy(own->volume);
    firn_vdb_shape_destroy(own->shape);
    firn_volume_release(&own->placed);
    firn_surface_release(&own->surface);
    memset(own, 0, sizeof *own);
}

// The number of the file that the cooked frame shows.
static int number_of(const firn_cook *cook)
{
    const settings *s = cook->settings;
    int first = 0, last = 0;
    firn_clip clip = firn_clip_make(&s->clip, true, cook->start_frame, cook->fps);
    if (s->clip.outside != FIRN_OUTSIDE_AUTO) {
        clip.ranged = firn_clip_find_range(s->file, &first, &last);
        clip.first = first;
        clip.last = last;
    }
    return (int)floor(firn_clip_frame(&clip, cook->frame) + 0.5);
}

// Voxels anywhere come to stand where ours do.
static firn_result place(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    firn_transform pose =
        firn_transform_after(firn_place_transform(&s->place), firn_axes_transform(&s->axes));
    bool moved = !firn_transform_is_identity(pose);
    firn_transform map = moved ? firn_transform_after(pose, own->view.map) : own->view.map;
    own->data.field = &own->view.field;
    if (!firn_volume_is_aligned(map) || (moved && pose.scale != 1.0f)) {
        FIRN_TRY(firn_volume_place(&own->placed, &own->view.field, map, pose.rotation, pose.scale,
                                   error));
        own->data.field = &own->placed.field;
    }
    if (own->shape == NULL)
        return FIRN_OK;
    const firn_placing placing = {.now = pose, .velocity_factor = 1.0f};
    FIRN_TRY(firn_surface_place(&own->surface, firn_vdb_shape_level_set(own->shape),
                                firn_vdb_shape_velocity(own->shape), &placing, error));
    own->data.surface = &own->surface.level_set;
    own->data.velocity = own->surface.velocity.leaf_count > 0 ? &own->surface.velocity : NULL;
    return FIRN_OK;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    release(own);
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_path_of_frame(s->file, number_of(cook), path, sizeof path, error));
    firn_vdb_reader_def def = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    FIRN_TRY(firn_vdb_reader_create(&def, &reader, error));
    firn_vdb_stamp room;
    const firn_vdb_stamp *stamp = firn_stamp_of(path, &room);
    firn_result result = firn_vdb_read_volume(
        reader, path, stamp, s->grid[0] != '\0' ? s->grid : NULL, &own->volume, error);
    if (result == FIRN_OK && s->surface)
        result = firn_vdb_read_shape(reader, path, stamp, &s->shape, &own->shape, error);
    firn_vdb_reader_destroy(reader);
    FIRN_TRY(result);
    own->view = firn_vdb_volume_read(own->volume);
    FIRN_TRY(place(cook, error));
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
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .output = FIRN_KIND_VOLUME,
    .time_dependent = true,
    .reset = reset,
    .check = check,
    .file = file_of,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
