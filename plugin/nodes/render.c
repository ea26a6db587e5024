#include "firn/render.h"

#include "nodes.h"
#include "output_file.h"

enum { SOLID_MAX = 64 };
enum { FORMAT_PNG, FORMAT_EXR, FORMAT_BOTH };

typedef struct settings {
    firn_output output;
    bool cook;
    int format;
    firn_render_def def;
} settings;

static const firn_node_rows rows[] = {
    {firn_output_params, offsetof(settings, output)},
    {firn_render_params, offsetof(settings, def)},
};

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, cook), FIRN_BOOL, {1}, 0, 1, "",
     "Makes pictures while the shot is cooked; false leaves that to `firn render`, which takes "
     "camera, light and look from this node"},
    {FIRN_PARAM(settings, format), FIRN_CHOICE, {FORMAT_PNG}, 0, 2, "",
     "png for looking, exr for compositing with alpha, depth and variance", "png|exr|both"},
};
// clang-format on

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_render_def_default();
}

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    FIRN_TRY(firn_output_check(&s->output, error));
    if (s->def.sky == FIRN_SKY_IMAGE && s->def.sky_file[0] == '\0')
        return firn_fail(error, FIRN_ERR_ARGUMENT, "sky_file is empty; sky 'image' needs one");
    return FIRN_OK;
}

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    const settings *s = memory;
    (void)param;
    return s->def.sky == FIRN_SKY_IMAGE && s->def.sky_file[0] != '\0' &&
           firn_path_of_frame(s->def.sky_file, frame, path, size, NULL) == FIRN_OK;
}

static bool writes(const void *memory, size_t index, firn_node_output *file)
{
    const settings *s = memory;
    bool png = s->format != FORMAT_EXR && index == 0;
    *file = (firn_node_output){s->output.name, png ? "png" : "exr", true};
    return s->cook && index < (s->format == FORMAT_BOTH ? 2u : 1u);
}

static bool on_progress(const firn_render_report *report, void *user)
{
    firn_stat stats[] = {{"samples", report->samples}, {"noise", report->noise}};
    return firn_cook_progress(user, report->fraction, stats, FIRN_COUNT(stats));
}

static firn_result write(firn_cook *cook, const firn_render *render, const char *extension,
                         firn_error *error)
{
    const settings *s = cook->settings;
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_cook_output_path(cook, s->output.name, extension, true, path, error));
    FIRN_TRY(firn_render_write(render, path, error));
    return firn_cook_wrote(cook, path, error);
}

// One camera for all frames. Snow from files alone has no sources: there each frame has its own.
static firn_result frame_shot(const firn_cook *cook, firn_render_def *def, firn_error *error)
{
    firn_vec3 lower, upper;
    if (def->camera != FIRN_CAMERA_FRAMED)
        return FIRN_OK;
    firn_result result = firn_cook_shot_box(cook, &lower, &upper, error);
    if (result == FIRN_OK)
        firn_render_place(def, lower, upper);
    if (result == FIRN_ERR_NOT_FOUND && cook->frame == cook->bake_first)
        firn_cook_log(cook, FIRN_LEVEL_WARNING,
                      "the graph has no source of snow, so each frame is framed by itself; set "
                      "camera to placed for one that stands still");
    return result == FIRN_ERR_NOT_FOUND ? FIRN_OK : result;
}

// Bodies are where the simulation has them, if the volume was made of it.
static firn_collider_def where_it_is(const firn_volume_data *volume,
                                     const firn_collider_data *solid)
{
    firn_collider_def def = firn_collider_at_end(solid);
    for (size_t i = 0; i < volume->body_count; i++) {
        const firn_body_state *s = &volume->bodies[i].state;
        if (volume->bodies[i].collider != solid)
            continue;
        def.pose.translation =
            firn_vec((float)s->translation[0], (float)s->translation[1], (float)s->translation[2]);
        def.pose.rotation = (firn_quat){(float)s->rotation[0], (float)s->rotation[1],
                                        (float)s->rotation[2], (float)s->rotation[3]};
    }
    return def;
}

static firn_result show(firn_cook *cook, const firn_grains *grains, firn_error *error)
{
    const settings *s = cook->settings;
    const firn_volume_data *volume = firn_cook_input(cook, "volume", 0)->volume;
    firn_collider_def solids[SOLID_MAX];
    firn_vec3 colors[SOLID_MAX];
    firn_render_scene scene = {.field = volume->field,
                               .solids = solids,
                               .solid_colors = colors,
                               .fps = (float)cook->fps,
                               .frame = cook->frame,
                               .grains = grains};
    size_t count = 0;
    for (size_t i = 0; i < firn_cook_input_count(cook, "colliders"); i++) {
        const firn_collider_data *solid = firn_cook_input(cook, "colliders", i)->collider;
        for (; solid != NULL; solid = solid->body != NULL ? solid->body->next : NULL, count++) {
            if (count >= SOLID_MAX)
                continue;
            colors[count] = solid->color;
            solids[scene.solid_count++] = where_it_is(volume, solid);
        }
    }
    if (count > SOLID_MAX)
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "only the first %d of %zu colliders are shown",
                      SOLID_MAX, count);
    if (firn_cook_input_count(cook, "field") > 0)
        FIRN_TRY(firn_source_patch(firn_cook_input(cook, "field", 0)->source, &scene.patch, error));
    firn_render_def def = s->def;
    if (def.sky == FIRN_SKY_IMAGE)
        FIRN_TRY(firn_path_of_frame(s->def.sky_file, cook->frame, def.sky_file, sizeof def.sky_file,
                                    error));
    FIRN_TRY(frame_shot(cook, &def, error));
    firn_render *render = NULL;
    FIRN_TRY(firn_render_create(&def, &scene, &render, error));
    firn_result result = firn_render_run(render, on_progress, cook, error);
    if (result == FIRN_OK && s->format != FORMAT_EXR)
        result = write(cook, render, "png", error);
    if (result == FIRN_OK && s->format != FORMAT_PNG)
        result = write(cook, render, "exr", error);
    firn_render_destroy(render);
    return result;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    firn_grains grains = {0};
    if (firn_cook_input_count(cook, "particles") > 0 && s->def.grains != FIRN_GRAINS_NONE)
        FIRN_TRY(firn_grains_read(&firn_cook_input(cook, "particles", 0)->particles->points,
                                  &grains, error));
    firn_result result = show(cook, &grains, error);
    firn_grains_free(&grains);
    return result;
}

static const firn_node_input inputs[] = {
    {"volume", FIRN_KIND_VOLUME, false, true, "Snow to show: density, and velocity for blur"},
    {"particles", FIRN_KIND_PARTICLES, false, false, "Grains to show with it, coarse or fine"},
    {"colliders", FIRN_KIND_COLLIDER, true, false, "Solid things to show with it"},
    {"field", FIRN_KIND_SOURCE, false, false,
     "A snow_cover with a border, on level ground: its snow goes on around it, to the horizon"},
};

const firn_node_type firn_node_render = {
    .size = sizeof(firn_node_type),
    .name = "render",
    .label = "Render",
    .category = "Files",
    .help = "Path-traces the snow of every frame, with sun, sky and colliders, into pictures.",
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
    .output = FIRN_KIND_NONE,
    .time_dependent = true,
    .reset = reset,
    .check = check,
    .file = file_of,
    .cook = cook,
    .writes = writes,
};
