#include "nodes.h"

#include "channel_columns.h"
#include "output_file.h"

#include "firn/abc_write.h"
#include "firn/bgeo.h"
#include "firn/vdb_points.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT_ABC, FORMAT_BGEO, FORMAT_BGEO_GZ, FORMAT_VDB };

typedef struct settings {
    firn_output output;
    int format;
    bool single_file, classic;
    char attributes[FIRN_TEXT_SIZE];
    firn_vdb_points_def vdb;
} settings;

typedef struct state {
    firn_abc_writer *writer; // of an archive of all frames
    firn_abc_node object;
    uint32_t written; // frames in it, from this run or an earlier one
} state;

static const firn_node_rows rows[] = {
    {firn_output_params, offsetof(settings, output)},
    {firn_vdb_points_params, offsetof(settings, vdb), "frame fps", "vdb_", "format==vdb"},
};

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, format), FIRN_CHOICE, {FORMAT_ABC}, 0, 3, "",
     "Alembic; Houdini geometry, also compressed; or VDB points, the smallest",
     "abc|bgeo|bgeo.gz|vdb"},
    {FIRN_PARAM(settings, single_file), FIRN_BOOL, {1}, 0, 1, "",
     "One archive of all frames, which appears when the last one is done; else one for each frame",
     .visible_when = "format==abc"},
    {FIRN_PARAM(settings, classic), FIRN_BOOL, {0}, 0, 1, "",
     "The geometry format of before Houdini 12, version 5, which tools with Partio read",
     .visible_when = "format==bgeo|bgeo.gz", .added = true},
    {FIRN_PARAM(settings, attributes), FIRN_STRING, {0}, 0, 0, "",
     "Channels that go into the file beside P, with spaces between: v id pscale mass Jp density "
     "material stiffness volume F temperature Cd; dirt:1 or tint:3 for those of your own",
     .text = "v id pscale mass Jp"},
};
// clang-format on

static void reset(void *memory)
{
    settings *s = memory;
    s->vdb = firn_vdb_points_def_default();
}

static firn_result read_list(const settings *s, firn_channel_list *list, firn_error *error)
{
    return firn_channel_list_read(s->attributes, FIRN_CHANNEL_PUBLISHED, "attributes", list, error);
}

static bool wants(const firn_channel_list *list, const char *name)
{
    return firn_channel_list_find(list, name) != NULL;
}

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    FIRN_TRY(firn_output_check(&s->output, error));
    firn_channel_list list;
    return read_list(s, &list, error);
}

static void release(void *memory)
{
    state *own = memory;
    firn_abc_writer_destroy(own->writer);
}

/// A column in the type that a format wants; values that need no conversion are not copied.
typedef struct column {
    const void *values;
    void *owned;
} column;

static firn_result find_column(const firn_points *points, const firn_channel *channel,
                               const firn_attribute **found, firn_error *error)
{
    const firn_attribute *from = *found = firn_points_find(points, channel->name);
    if (from == NULL || from->storage == FIRN_STORAGE_STRING)
        return firn_fail(error, FIRN_ERR_NOT_FOUND,
                         "the particles have no %s; take it out of attributes or let the solver "
                         "make it",
                         channel->name);
    if (from->tuple_size != channel->components)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the particles have %s with %d components, attributes has it with %d",
                         channel->name, from->tuple_size, channel->components);
    return FIRN_OK;
}

static firn_result convert(const firn_points *points, const firn_channel *channel,
                           firn_storage wanted, column *out, firn_error *error)
{
    memset(out, 0, sizeof *out);
    const firn_attribute *from;
    FIRN_TRY(find_column(points, channel, &from, error));
    size_t count = points->count * (size_t)from->tuple_size;
    bool integer = wanted == FIRN_STORAGE_INT32 || wanted == FIRN_STORAGE_UINT64;
    if (from->storage == wanted) {
        out->values = from->data;
        return FIRN_OK;
    }
    size_t size = firn_storage_size(wanted);
    out->values = out->owned = firn_alloc((count + 1) * size);
    if (out->owned == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot write %s", channel->name);
    if (!integer) {
        firn_attribute_floats(from, 0, count, out->owned);
        return FIRN_OK;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        firn_attribute_integers(from, i, 1, &value);
        if (wanted == FIRN_STORAGE_INT32)
            ((int32_t *)out->owned)[i] = (int32_t)value;
        else
            ((uint64_t *)out->owned)[i] = (uint64_t)value;
    }
    return FIRN_OK;
}

// --- Houdini geometry ----------------------------------------------------------------------------

static firn_result write_bgeo(const firn_cook *cook, const firn_particle_data *data,
                              const char *path, firn_error *error)
{
    firn_channel_list list;
    FIRN_TRY(read_list(cook->settings, &list, error));
    firn_attribute columns[FIRN_CHANNEL_LIST + 1];
    size_t count = 0;
    for (size_t i = 0; i < data->points.attribute_count; i++) {
        const firn_attribute *from = &data->points.attributes[i];
        if (strcmp(from->name, "P") == 0 || wants(&list, from->name))
            columns[count++] = *from;
    }
    // Columns of the table a cache may lack; one that was declared is missed.
    for (size_t i = 0; i < list.count; i++) {
        const firn_attribute *there;
        if (firn_channel_find(list.row[i].name) == NULL)
            FIRN_TRY(find_column(&data->points, &list.row[i], &there, error));
    }
    const char *const strings[] = {cook->version, FIRN_UNITS};
    const int32_t first = 0, second = 1;
    const float fps = (float)cook->fps;
    const firn_attribute details[] = {
        {"firn_version", FIRN_STORAGE_STRING, FIRN_TYPE_NONE, 1, &first, strings, 2},
        {"firn_units", FIRN_STORAGE_STRING, FIRN_TYPE_NONE, 1, &second, strings, 2},
        {"fps", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, &fps},
        {"cell_size", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, &data->cell_size},
    };
    firn_points points = {.count = data->points.count,
                          .attributes = columns,
                          .attribute_count = count,
                          .details = details,
                          .detail_count = FIRN_COUNT(details)};
    firn_bgeo_def def = firn_bgeo_def_default();
    FIRN_TRY(firn_bgeo_def_from_path(&def, path, error));
    if (((const settings *)cook->settings)->classic)
        def.format = FIRN_BGEO_CLASSIC;
    return firn_bgeo_write(path, &points, &def, error);
}

// --- VDB points ----------------------------------------------------------------------------------

static int vdb_type_of(const firn_channel *channel)
{
    if (channel->type != FIRN_CHANNEL_FLOAT)
        return FIRN_VDB_ATTRIBUTE_INT;
    return channel->components == 1   ? FIRN_VDB_ATTRIBUTE_FLOAT
           : channel->components == 3 ? FIRN_VDB_ATTRIBUTE_VEC3
                                      : FIRN_VDB_ATTRIBUTE_MAT3;
}

static firn_result write_vdb(const firn_cook *cook, const firn_particle_data *data,
                             const char *path, firn_error *error)
{
    const settings *s = cook->settings;
    firn_channel_list list;
    FIRN_TRY(read_list(s, &list, error));
    firn_vdb_attribute attributes[FIRN_CHANNEL_LIST];
    column columns[FIRN_CHANNEL_LIST] = {{0}};
    size_t count = 0;
    firn_result result = FIRN_OK;
    for (size_t i = 0; i < list.count && result == FIRN_OK; i++) {
        if (strcmp(list.row[i].name, "P") == 0)
            continue;
        int type = vdb_type_of(&list.row[i]);
        firn_storage storage =
            type == FIRN_VDB_ATTRIBUTE_INT ? FIRN_STORAGE_INT32 : FIRN_STORAGE_FLOAT32;
        result = convert(&data->points, &list.row[i], storage, &columns[count], error);
        attributes[count] = (firn_vdb_attribute){list.row[i].name, type, columns[count].values};
        count++;
    }
    column position = {0};
    if (result == FIRN_OK)
        result = convert(&data->points, firn_channel_at(FIRN_POSITION), FIRN_STORAGE_FLOAT32,
                         &position, error);
    if (result == FIRN_OK) {
        const firn_output_meta meta = firn_output_meta_of(cook->version);
        firn_vdb_points points = {.count = data->points.count,
                                  .position = position.values,
                                  .attribute_count = count,
                                  .attributes = attributes,
                                  .meta_count = FIRN_OUTPUT_META_COUNT,
                                  .meta = meta.rows};
        firn_vdb_points_def def = s->vdb;
        def.frame = cook->frame;
        def.fps = (float)cook->fps;
        result = firn_vdb_write_points(path, &def, &points, NULL, error);
    }
    for (size_t i = 0; i < count; i++)
        firn_free(columns[i].owned);
    firn_free(position.owned);
    return result;
}

// --- Alembic -------------------------------------------------------------------------------------

// Archives have places of their own for these.
static bool has_place(const firn_channel *channel)
{
    static const char *const places[] = {"P", "v", "id", "pscale"};
    for (size_t i = 0; i < FIRN_COUNT(places); i++)
        if (strcmp(places[i], channel->name) == 0)
            return true;
    return false;
}

static firn_abc_value abc_value_of(const firn_channel *channel)
{
    if (channel->type != FIRN_CHANNEL_FLOAT)
        return FIRN_ABC_INT;
    if (channel->components == 1)
        return FIRN_ABC_FLOAT;
    if (channel->components == 9)
        return FIRN_ABC_MAT3;
    return channel->kind == FIRN_CHANNEL_COLOR ? FIRN_ABC_COLOR : FIRN_ABC_VECTOR;
}

static firn_result open_archive(const firn_cook *cook, const char *path, int first_frame, int step,
                                state *archive, firn_error *error)
{
    const settings *s = cook->settings;
    firn_channel_list list;
    FIRN_TRY(read_list(s, &list, error));
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.resumable = s->single_file;
    def.fps = cook->fps;
    def.description = cook->version;
    FIRN_TRY(firn_abc_writer_create(path, &def, &archive->writer, error));
    firn_abc_points_def points = firn_abc_points_def_default();
    FIRN_TRY(firn_abc_writer_add_clock(archive->writer, first_frame / cook->fps, step / cook->fps,
                                       &points.clock, error));
    firn_abc_param_def declared[FIRN_CHANNEL_LIST];
    for (size_t i = 0; i < list.count; i++)
        if (!has_place(&list.row[i]))
            declared[points.param_count++] = (firn_abc_param_def){
                list.row[i].name, abc_value_of(&list.row[i]), FIRN_ABC_VARYING};
    points.velocities = wants(&list, "v");
    points.widths = wants(&list, "pscale");
    points.params = declared;
    FIRN_TRY(firn_abc_writer_add_points(archive->writer, FIRN_ABC_ROOT, "snow", &points,
                                        &archive->object, error));
    return firn_abc_writer_begin(archive->writer, &archive->written, error);
}

/// Everything that one sample needs, with the copies to release.
typedef struct sample {
    firn_abc_points_data data;
    const void *params[FIRN_CHANNEL_LIST];
    column columns[FIRN_CHANNEL_LIST + 1];
    size_t count;
} sample;

static firn_result take(const firn_points *points, const firn_channel *channel,
                        firn_storage storage, sample *to, const void **values, firn_error *error)
{
    column *place = &to->columns[to->count++];
    firn_result result = convert(points, channel, storage, place, error);
    *values = place->values;
    return result;
}

// Archives have diameters.
static firn_result take_widths(const firn_points *points, sample *to, firn_error *error)
{
    const void *radius = NULL;
    FIRN_TRY(take(points, firn_channel_find("pscale"), FIRN_STORAGE_FLOAT32, to, &radius, error));
    column *place = &to->columns[to->count - 1];
    float *width = place->owned;
    if (width == NULL) {
        width = place->owned = firn_alloc((points->count + 1) * sizeof *width);
        if (width == NULL)
            return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot write pscale");
    }
    for (size_t i = 0; i < points->count; i++)
        width[i] = 2.0f * ((const float *)radius)[i];
    to->data.widths = width;
    return FIRN_OK;
}

static firn_result fill_sample(const settings *s, const firn_points *points, sample *to,
                               firn_error *error)
{
    firn_channel_list list;
    FIRN_TRY(read_list(s, &list, error));
    static const struct {
        const char *name;
        firn_storage storage;
    } places[] = {
        {"P", FIRN_STORAGE_FLOAT32}, {"v", FIRN_STORAGE_FLOAT32}, {"id", FIRN_STORAGE_UINT64}};
    const void *values[FIRN_COUNT(places)] = {NULL};
    for (size_t i = 0; i < FIRN_COUNT(places); i++)
        if (i == 0 || wants(&list, places[i].name))
            FIRN_TRY(take(points, firn_channel_find(places[i].name), places[i].storage, to,
                          &values[i], error));
    to->data.count = points->count;
    to->data.positions = values[0];
    to->data.velocities = values[1];
    to->data.ids = values[2];
    if (wants(&list, "pscale"))
        FIRN_TRY(take_widths(points, to, error));
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (has_place(&list.row[i]))
            continue;
        bool whole = abc_value_of(&list.row[i]) == FIRN_ABC_INT;
        FIRN_TRY(take(points, &list.row[i], whole ? FIRN_STORAGE_INT32 : FIRN_STORAGE_FLOAT32, to,
                      &to->params[count++], error));
    }
    to->data.params = to->params;
    return FIRN_OK;
}

static firn_result put_sample(const firn_cook *cook, state *archive, const firn_particle_data *data,
                              firn_error *error)
{
    sample one;
    memset(&one, 0, sizeof one);
    firn_result result = fill_sample(cook->settings, &data->points, &one, error);
    if (result == FIRN_OK)
        result = firn_abc_writer_put_points(archive->writer, archive->object, &one.data, error);
    if (result == FIRN_OK)
        result = firn_abc_writer_end_frame(archive->writer, error);
    for (size_t i = 0; i < one.count; i++)
        firn_free(one.columns[i].owned);
    return result;
}

static firn_result write_archive(const firn_cook *cook, const firn_particle_data *data,
                                 const char *path, firn_error *error)
{
    state archive = {0};
    firn_result result = open_archive(cook, path, cook->frame, 1, &archive, error);
    if (result == FIRN_OK)
        result = put_sample(cook, &archive, data, error);
    if (result == FIRN_OK)
        return firn_abc_writer_finish(archive.writer, error);
    firn_abc_writer_destroy(archive.writer);
    return result;
}

static bool is_single(const settings *s) { return s->format == FORMAT_ABC && s->single_file; }

static const char *const extensions[] = {[FORMAT_ABC] = "abc",
                                         [FORMAT_BGEO] = "bgeo",
                                         [FORMAT_BGEO_GZ] = "bgeo.gz",
                                         [FORMAT_VDB] = "vdb"};

static bool writes(const void *memory, size_t index, firn_node_output *file)
{
    const settings *s = memory;
    *file = (firn_node_output){s->output.name, extensions[s->format], !is_single(s)};
    return index == 0;
}

static firn_result begin(firn_cook *cook, int *frames, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    *frames = -1;
    if (!is_single(s))
        return FIRN_OK;
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_cook_output_path(cook, s->output.name, "abc", false, path, error));
    if (own->writer == NULL) {
        if (!cook->resume)
            FIRN_TRY(firn_abc_writer_forget(path, error));
        FIRN_TRY(open_archive(cook, path, cook->bake_first, cook->bake_step, own, error));
    }
    *frames = (int)own->written;
    return FIRN_OK;
}

static firn_result add_frame(firn_cook *cook, const firn_particle_data *data, firn_error *error)
{
    state *own = cook->state;
    uint32_t index = (uint32_t)((cook->frame - cook->bake_first) / cook->bake_step);
    if (index < own->written)
        return FIRN_OK; // an earlier run wrote the same
    if (index > own->written)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the archive has %u frames; frame %d cannot follow", own->written,
                         cook->frame);
    FIRN_TRY(put_sample(cook, own, data, error));
    own->written++;
    return FIRN_OK;
}

static firn_result finish(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    if (own->writer == NULL)
        return FIRN_OK;
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_cook_output_path(cook, s->output.name, "abc", false, path, error));
    firn_result result = firn_abc_writer_finish(own->writer, error);
    own->writer = NULL;
    own->written = 0;
    return result == FIRN_OK ? firn_cook_wrote(cook, path, error) : result;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    typedef firn_result write_file(const firn_cook *cook, const firn_particle_data *data,
                                   const char *path, firn_error *error);
    static write_file *const formats[] = {[FORMAT_ABC] = write_archive,
                                          [FORMAT_BGEO] = write_bgeo,
                                          [FORMAT_BGEO_GZ] = write_bgeo,
                                          [FORMAT_VDB] = write_vdb};
    const settings *s = cook->settings;
    const firn_particle_data *data = firn_cook_input(cook, "particles", 0)->particles;
    if (is_single(s))
        return add_frame(cook, data, error);
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_cook_output_path(cook, s->output.name, extensions[s->format], true, path, error));
    FIRN_TRY(formats[s->format](cook, data, path, error));
    return firn_cook_wrote(cook, path, error);
}

static const firn_node_input inputs[] = {
    {"particles", FIRN_KIND_PARTICLES, false, true, "What to write"},
};

const firn_node_type firn_node_write_particles = {
    .size = sizeof(firn_node_type),
    .name = "write_particles",
    .label = "Write particles",
    .category = "Files",
    .help = "Writes particles as Alembic, Houdini geometry or VDB points.",
    .version = 1,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .neutral = "vdb_thread_count",
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_NONE,
    .time_dependent = true,
    .reset = reset,
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
    .begin = begin,
    .finish = finish,
    .writes = writes,
};
