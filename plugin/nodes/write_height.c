#include "nodes.h"

#include "height_map.h"
#include "output_file.h"

#include "firn/exr.h"

#include <string.h>

typedef struct settings {
    firn_output output;
    firn_height_def height;
} settings;

typedef struct state {
    firn_stat stats[3];
} state;

static const firn_node_rows rows[] = {
    {firn_output_params, offsetof(settings, output)},
    {firn_height_params, offsetof(settings, height)},
};

static firn_result check(const void *memory, firn_error *error)
{
    return firn_output_check(&((const settings *)memory)->output, error);
}

static bool writes(const void *memory, size_t index, firn_node_output *file)
{
    const settings *s = memory;
    *file = (firn_node_output){s->output.name, "exr", true};
    return index == 0;
}

// The map as a picture: what a program that blends it with a set needs to know is in the header.
static firn_result write_map(const firn_cook *cook, const firn_height_map *map, const float *change,
                             firn_error *error)
{
    const settings *s = cook->settings;
    const firn_height_def *def = &s->height;
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_cook_output_path(cook, s->output.name, "exr", true, path, error));
    const firn_exr_channel channels[] = {{"A", map->covered, 1, false},
                                         {"change", change, 1, false},
                                         {"height", map->top, 1, false},
                                         {"load", map->load, 1, false}};
    const firn_exr_fact facts[] = {
        {"software", cook->version, 0},
        {"units", FIRN_UNITS, 0},
        {"firn_map",
         "pixel (i, k) is the square from (world_x + i pixel_size, world_z + k "
         "pixel_size); heights along Y",
         0},
        {"world_x", NULL, def->center.x - def->half_size.x},
        {"world_z", NULL, def->center.z - def->half_size.z},
        {"pixel_size", NULL, def->pixel_size},
        {"level", NULL, def->level},
    };
    const firn_exr_picture picture = {map->width,           map->height, channels,
                                      FIRN_COUNT(channels), facts,       FIRN_COUNT(facts)};
    FIRN_TRY(firn_exr_write(path, &picture, error));
    return firn_cook_wrote(cook, path, error);
}

static firn_result find_change(const firn_cook *cook, const firn_height_map *map, float *change,
                               firn_error *error)
{
    const settings *s = cook->settings;
    size_t count = (size_t)map->width * (size_t)map->height;
    firn_height_map before = {0};
    bool linked = firn_cook_input_count(cook, "before") > 0;
    firn_result result = FIRN_OK;
    if (linked)
        result = firn_height_map_make(
            &s->height, &firn_cook_input(cook, "before", 0)->particles->points, &before, error);
    for (size_t i = 0; i < count && result == FIRN_OK; i++)
        change[i] = map->top[i] - (linked ? before.top[i] : s->height.level);
    firn_height_map_free(&before);
    return result;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    const firn_particle_data *from = firn_cook_input(cook, "particles", 0)->particles;
    firn_height_map map;
    firn_result result = firn_height_map_make(&s->height, &from->points, &map, error);
    size_t count = (size_t)map.width * (size_t)map.height;
    float *change = result == FIRN_OK ? firn_alloc((count + 1) * sizeof *change) : NULL;
    if (result == FIRN_OK && change == NULL)
        result = firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot write a map of heights");
    if (result == FIRN_OK)
        result = find_change(cook, &map, change, error);
    if (result == FIRN_OK)
        result = write_map(cook, &map, change, error);
    double covered = 0.0, volume = 0.0, square = (double)s->height.pixel_size;
    for (size_t i = 0; i < count && result == FIRN_OK; i++) {
        covered += (double)map.covered[i] * square * square;
        volume += (double)map.covered[i] * ((double)map.top[i] - (double)s->height.level) * square *
                  square;
    }
    const firn_stat stats[] = {{"area", covered}, {"volume", volume}, {"pixels", (double)count}};
    memcpy(own->stats, stats, sizeof stats);
    cook->output->stats = own->stats;
    cook->output->stat_count = FIRN_COUNT(own->stats);
    firn_free(change);
    firn_height_map_free(&map);
    return result;
}

static const firn_node_input inputs[] = {
    {"particles", FIRN_KIND_PARTICLES, false, true, "Snow, with P and pscale"},
    {"before", FIRN_KIND_PARTICLES, false, false,
     "Snow that `change` is measured from, such as a cache of the first frame"},
};

const firn_node_type firn_node_write_height = {
    .size = sizeof(firn_node_type),
    .name = "write_height",
    .label = "Write height map",
    .category = "Files",
    .help = "Writes maps of the snow seen from above (EXR, aligned to the world): height, its "
            "change, load and cover, to blend tracks and drifts with a larger set.",
    .version = 1,
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_NONE,
    .time_dependent = true,
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
    .writes = writes,
};
