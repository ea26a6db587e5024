#include "nodes.h"

#include "mesh_reader.h"
#include "point_file.h"
#include "shape_file.h"
#include "source_channels.h"
#include "source_flow.h"

#include "firn/source.h"

#include <math.h>
#include <string.h>

enum { REGION_SPHERE, REGION_BOX, REGION_MESH, REGION_LEVEL_SET, REGION_POINTS };

typedef struct settings {
    int region;
    char file[FIRN_TEXT_SIZE];
    char object[FIRN_TEXT_SIZE];
    firn_axes_def axes;
    firn_place_def place;
    firn_clip_def clip;
    firn_subd_def subd;
    firn_layer_def layers;
    char channels[FIRN_TEXT_SIZE];
    int point_material;
    firn_source_def def;
    firn_vdb_mesh_def mesh;
    firn_vdb_shape_def shape;
} settings;

#define ANIMATED "center velocity angular_velocity stiffness_noise density_noise"

typedef struct state {
    firn_source_data data;
    firn_material_def material;
    bool made; // but for what has keys
    firn_vdb_shape *shape;
    firn_placed_surface placed;
    firn_source_flow flow;
    float *position;
    firn_source_channels channels;
} state;

#define FROM_FILE "region==mesh|level_set|points"

static const float FASTEST = 300.0f; // m/s, of a mesh; beyond it jumps

static const firn_node_rows rows[] = {
    {firn_source_params, offsetof(settings, def), "region"},
    {firn_axes_params, offsetof(settings, axes), NULL, "file_", FROM_FILE},
    {firn_place_params, offsetof(settings, place), NULL, NULL, FROM_FILE},
    {firn_clip_params, offsetof(settings, clip), "speed fps outside", "time_", FROM_FILE},
    {firn_layer_params, offsetof(settings, layers), NULL, NULL, "region==mesh"},
    {firn_subd_params, offsetof(settings, subd), NULL, "subd_", "region==mesh"},
    {firn_vdb_mesh_params, offsetof(settings, mesh), "half_width memory_limit thread_count",
     "mesh_", "region==mesh"},
    {firn_vdb_shape_params, offsetof(settings, shape), "velocity half_width", "vdb_",
     "region==level_set"},
};

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, region), FIRN_CHOICE, {REGION_SPHERE}, 0, 4, "",
     "What the snow fills: a sphere, a box, a closed mesh (.obj, .ply, .stl, .abc, .usd), a level "
     "set or fog (.vdb); or the points of a cache as they are",
     "sphere|box|mesh|level_set|points"},
    {FIRN_PARAM(settings, file), FIRN_PATH, {0}, 0, 0, "",
     "Mesh, level set or particle cache; a frame number in it is that of the first frame",
     .visible_when = FROM_FILE},
    {FIRN_PARAM(settings, object), FIRN_STRING, {0}, 0, 0, "",
     "Which part of the file: patterns of paths in Alembic or USD, or the name of a grid; empty "
     "takes all",
     .visible_when = FROM_FILE},
    {FIRN_PARAM(settings, point_material), FIRN_INT, {-1}, -1, 255, "",
     "Takes the points with this number in their column `material` alone, so that a source for "
     "each number gives each its material; -1 takes all",
     .visible_when = "region==points", .added = true},
    {FIRN_PARAM(settings, channels), FIRN_STRING, {0}, 0, 0, "",
     "What the particles carry beside what they need, with spaces between: temperature=268, "
     "temperature=268~2 with lumps of 2 K, Cd=0.9,0.95,1; dirt:1=0.5 or tint:3=1,0,0 for channels "
     "of your own; a name alone takes the values of points, or the default", .added = true},
};
// clang-format on

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_source_def_default();
    s->mesh = firn_vdb_mesh_def_default();
    s->shape = firn_vdb_shape_def_default();
}

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    if (s->region >= REGION_MESH && s->file[0] == '\0')
        return firn_fail(error, FIRN_ERR_ARGUMENT, "file is empty; it must name what to fill");
    if (s->region == REGION_LEVEL_SET)
        FIRN_TRY(firn_check_level_set_name(s->file, "region", error));
    firn_source_channels channels = {0};
    return firn_source_channels_read(s->channels, &channels, error);
}

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    const settings *s = memory;
    firn_clip_def clip = {.offset = floor(s->clip.offset), .speed = 1.0};
    const char *layer = firn_layer_of(&s->layers, param);
    if (layer != NULL)
        return s->region == REGION_MESH && firn_clip_file(&clip, layer, 0, frame, path, size);
    return s->region >= REGION_MESH && firn_clip_file(&clip, s->file, 0, frame, path, size);
}

static void release(void *memory)
{
    state *own = memory;
    firn_vdb_shape_destroy(own->shape);
    firn_surface_release(&own->placed);
    firn_free((void *)own->flow.values);
    firn_free(own->position);
    firn_source_channels_free(&own->channels);
}

// The frame of the file that is shown at the start, and its name.
static firn_result path_of(const firn_cook *cook, double *frame, char path[FIRN_PATH_SIZE],
                           firn_error *error)
{
    const settings *s = cook->settings;
    *frame = cook->start_frame + s->clip.offset;
    return firn_path_of_frame(s->file, (int)floor(*frame), path, FIRN_PATH_SIZE, error);
}

static firn_result load_mesh(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    firn_mesh_reader_def input = {
        .file = s->file,
        .object = s->object,
        .layers = &s->layers,
        .axes = s->axes,
        .clip = {.offset = s->clip.offset, .speed = 1.0},
        .subd_level = s->subd.level,
        .voxel_size = s->mesh.voxel_size,
        .velocity_from = s->def.inherit_velocity != 0.0f ? FIRN_VELOCITY_AUTO : FIRN_VELOCITY_REST,
        .max_speed = FASTEST,
        .start_frame = cook->start_frame,
        .last_frame = cook->start_frame,
        .fps = cook->fps};
    firn_vdb_mesh_def def = s->mesh;
    float band = 2.0f + s->def.shell_thickness / def.voxel_size;
    def.half_width = band > def.half_width ? band : def.half_width;
    firn_mesh_reader *reader = NULL;
    FIRN_TRY(firn_mesh_reader_create(&input, &reader, error));
    firn_result result =
        firn_mesh_reader_shape(reader, cook->start_frame, &def, &own->shape, error);
    char unused[FIRN_MESSAGE_SIZE / 2];
    firn_mesh_reader_leftover(reader, unused, sizeof unused);
    if (unused[0] != '\0')
        firn_cook_log(cook, FIRN_LEVEL_INFO, "not used of '%.300s': %s", s->file, unused);
    const char *sentence = "";
    if (result == FIRN_OK && firn_mesh_reader_note(reader, &sentence) != FIRN_NOTE_NONE)
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%s", sentence);
    firn_mesh_reader_destroy(reader);
    return result;
}

// What the snow has of the motion of the thing that it is made from.
static firn_result find_flow(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    if (s->def.inherit_velocity == 0.0f)
        return FIRN_OK;
    if (own->placed.velocity.leaf_count > 0)
        FIRN_TRY(firn_source_flow_make(&own->placed.level_set, &own->placed.velocity, &own->flow,
                                       error));
    if (own->flow.values != NULL)
        own->data.def.flow = &own->flow;
    else
        firn_cook_log(cook, FIRN_LEVEL_WARNING,
                      "'%.300s' does not move at its first frame; inherit_velocity does nothing",
                      s->file);
    return FIRN_OK;
}

static firn_result load_shape(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    firn_placing placing = {.now = firn_place_transform(&s->place), .velocity_factor = 1.0f};
    if (s->region == REGION_MESH) {
        FIRN_TRY(load_mesh(cook, error));
    } else {
        char path[FIRN_PATH_SIZE];
        double frame;
        FIRN_TRY(path_of(cook, &frame, path, error));
        firn_vdb_shape_def def = s->shape;
        def.velocity = s->def.inherit_velocity != 0.0f;
        FIRN_TRY(firn_shape_from_vdb_file(path, s->object, &def, &own->shape, error));
        placing.now = firn_transform_after(placing.now, firn_axes_transform(&s->axes));
    }
    const char *warning = firn_vdb_shape_warning(own->shape);
    if (warning[0] != '\0')
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%s", warning);
    FIRN_TRY(firn_surface_place(&own->placed, firn_vdb_shape_level_set(own->shape),
                                firn_vdb_shape_velocity(own->shape), &placing, error));
    FIRN_TRY(find_flow(cook, error));
    char text[FIRN_MESSAGE_SIZE];
    if (firn_size_is_odd(s->file, firn_surface_extent(&own->placed.level_set), &s->axes, text,
                         sizeof text))
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%s", text);
    own->data.def.region = FIRN_REGION_LEVEL_SET;
    own->data.def.level_set = &own->placed.level_set;
    return FIRN_OK;
}

// Leaves the points of one material, with their values.
static firn_result keep_material(const settings *s, state *own, const firn_points *points,
                                 const char *path, firn_error *error)
{
    float *number = NULL;
    size_t kept = 0, *which = firn_alloc((points->count + 1) * sizeof *which);
    if (which == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read '%.300s'", path);
    firn_result result = firn_points_floats(points, "material", 1, &number, error);
    if (result == FIRN_OK && number == NULL)
        result = firn_fail(error, FIRN_ERR_NOT_FOUND,
                           "point_material is %d, but the points of '%.300s' have no column of "
                           "numbers named material; set it to -1",
                           s->point_material, path);
    for (size_t i = 0; i < points->count && result == FIRN_OK; i++) {
        if (number[i] != (float)s->point_material)
            continue;
        memmove(own->position + 3 * kept, own->position + 3 * i, 3 * sizeof *own->position);
        which[kept++] = i;
    }
    if (result == FIRN_OK && kept == 0)
        result = firn_fail(error, FIRN_ERR_NOT_FOUND,
                           "no point of '%.300s' has the material %d; `firn info` prints the "
                           "range of the numbers",
                           path, s->point_material);
    firn_source_channels_select(&own->channels, which, kept);
    own->data.def.point_count = kept;
    firn_free(number);
    firn_free(which);
    return result;
}

static firn_result take_points(const settings *s, state *own, const firn_points *points,
                               const char *path, firn_error *error)
{
    FIRN_TRY(firn_points_floats(points, "P", 3, &own->position, error));
    FIRN_TRY(firn_source_channels_take(&own->channels, points, error));
    firn_source_def *def = &own->data.def;
    def->region = FIRN_REGION_POINTS;
    def->point_count = points->count;
    def->points = (const firn_vec3 *)(const void *)own->position;
    return s->point_material >= 0 ? keep_material(s, own, points, path, error) : FIRN_OK;
}

static firn_result load_points(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    char path[FIRN_PATH_SIZE];
    double frame;
    FIRN_TRY(path_of(cook, &frame, path, error));
    firn_point_file file = {0};
    firn_result result = firn_point_file_read(&file, path, s->object, frame / cook->fps, error);
    if (result == FIRN_OK)
        result = take_points(s, own, &file.points, path, error);
    const firn_axes_def axes = firn_point_file_axes(&file, &s->axes);
    if (result == FIRN_OK)
        result = firn_points_place(own->data.def.point_count, own->position,
                                   firn_source_channels_points(&own->channels, "v"), &axes,
                                   &s->place, path, error);
    firn_point_file_close(&file);
    return result;
}

// The region stands at the first frame and goes evenly from each frame to the next, to where it is
// just before that, so that a value that holds and jumps leaves no trail.
static firn_result follow_center(const firn_cook *cook, firn_error *error)
{
    static const double just_before = 1e-6; // frames
    state *own = cook->state;
    settings s;
    FIRN_TRY(firn_cook_evaluate(cook, cook->start_frame, &s, error));
    const firn_vec3 first = s.def.center;
    own->data.def.center = first;
    if (cook->frame == cook->start_frame)
        return FIRN_OK;
    FIRN_TRY(firn_cook_evaluate(cook, cook->frame - 1, &s, error));
    const firn_vec3 from = s.def.center;
    FIRN_TRY(firn_cook_evaluate(cook, cook->frame - just_before, &s, error));
    own->data.def.travel = firn_sub(from, first);
    own->data.def.region_velocity = firn_scale((float)cook->fps, firn_sub(s.def.center, from));
    return FIRN_OK;
}

// What has keys is that in the middle of the interval that ends with the frame; the rest stays.
static firn_result follow_keys(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    settings now;
    double frame = cook->frame > cook->start_frame ? cook->frame - 0.5 : cook->frame;
    FIRN_TRY(firn_cook_evaluate(cook, frame, &now, error));
    FIRN_TRY(follow_center(cook, error));
    own->data.def.velocity = now.def.velocity;
    own->data.def.angular_velocity = now.def.angular_velocity;
    own->data.def.stiffness_noise = now.def.stiffness_noise;
    own->data.def.density_noise = now.def.density_noise;
    return FIRN_OK;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    if (firn_cook_input_count(cook, "material") > 0) {
        own->material = *firn_cook_input(cook, "material", 0)->material;
        own->data.material = &own->material;
        own->data.partner = firn_cook_input(cook, "material", 0)->partner;
    }
    cook->output->source = &own->data;
    bool moves = firn_cook_is_animated(cook, ANIMATED);
    if (own->made)
        return moves ? follow_keys(cook, error) : FIRN_OK;
    own->data.def = s->def;
    own->data.def.region = s->region == REGION_BOX ? FIRN_REGION_BOX : FIRN_REGION_SPHERE;
    firn_source_channels_free(&own->channels);
    FIRN_TRY(firn_source_channels_read(s->channels, &own->channels, error));
    if (s->region == REGION_POINTS)
        FIRN_TRY(load_points(cook, error));
    else if (s->region >= REGION_MESH)
        FIRN_TRY(load_shape(cook, error));
    own->data.def.values = own->channels.values;
    own->data.def.value_count = own->channels.value_count;
    own->data.channels = own->channels.asked.row;
    own->data.channel_count = own->channels.asked.count;
    own->made = true;
    return moves ? follow_keys(cook, error) : FIRN_OK;
}

static const firn_node_input inputs[] = {
    {"material", FIRN_KIND_MATERIAL, false, false, "What the snow is made of"},
};

const firn_node_type firn_node_snow_source = {
    .size = sizeof(firn_node_type),
    .name = "snow_source",
    .label = "Snow source",
    .category = "Simulation",
    .help = "Fills a sphere, box, mesh or level set with snow, once or over time, or takes the "
            "points of a cache as they are.",
    .version = 1,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .animated = ANIMATED,
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_SOURCE,
    .reset = reset,
    .check = check,
    .file = file_of,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
