#include "nodes.h"

#include "output_file.h"

#include "firn/look.h"
#include "firn/vdb_write.h"

typedef struct settings {
    firn_output output;
    int look; // of the table in firn/look.h
    firn_vdb_write_def def;
} settings;

static const firn_node_rows rows[] = {
    {firn_output_params, offsetof(settings, output)},
    {firn_vdb_write_params, offsetof(settings, def), "frame fps"},
};

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, look), FIRN_CHOICE, {0}, 0, 6, "",
     "Kind of snow: extinction, albedo and anisotropy by one name, for every renderer; custom "
     "takes the numbers of the rows below", FIRN_LOOK_NAMES},
};
// clang-format on

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_vdb_write_def_default();
}

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    return firn_output_check(&s->output, error);
}

static bool writes(const void *memory, size_t index, firn_node_output *file)
{
    const settings *s = memory;
    *file = (firn_node_output){s->output.name, "vdb", true};
    return index == 0;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    const firn_volume_data *data = firn_cook_input(cook, "volume", 0)->volume;
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_cook_output_path(cook, s->output.name, "vdb", true, path, error));
    firn_vdb_write_def def = s->def;
    def.frame = cook->frame;
    def.fps = (float)cook->fps;
    const firn_output_meta meta = firn_output_meta_of(cook->version);
    firn_vdb_meta rows_of_file[FIRN_OUTPUT_META_COUNT + 1];
    size_t count = 0;
    for (; count < FIRN_OUTPUT_META_COUNT; count++)
        rows_of_file[count] = meta.rows[count];
    const firn_look *look = firn_look_at(s->look);
    if (look != NULL) {
        def.extinction = look->extinction * def.reference_density / 400.0f;
        def.albedo = look->albedo;
        def.anisotropy = look->anisotropy;
        rows_of_file[count++] = (firn_vdb_meta){"look", "string", look->name};
    }
    firn_vdb_content content = {.field = data->field,
                                .surface = data->surface,
                                .velocity = data->velocity,
                                .meta_count = count,
                                .meta = rows_of_file};
    FIRN_TRY(firn_vdb_write(path, &def, &content, NULL, error));
    return firn_cook_wrote(cook, path, error);
}

static const firn_node_input inputs[] = {
    {"volume", FIRN_KIND_VOLUME, false, true, "What to write"},
};

const firn_node_type firn_node_write_volume = {
    .size = sizeof(firn_node_type),
    .name = "write_volume",
    .label = "Write volume",
    .category = "Files",
    .help = "Writes a .vdb file for every frame, with the numbers that shaders need.",
    .version = 1,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .neutral = "thread_count",
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_NONE,
    .time_dependent = true,
    .reset = reset,
    .check = check,
    .cook = cook,
    .writes = writes,
};
