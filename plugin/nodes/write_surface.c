#include "nodes.h"

#include "output_file.h"
#include "surface_mesh.h"

#include "firn/abc_write.h"
#include "firn/file.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT_ABC, FORMAT_OBJ };

typedef struct settings {
    firn_output output;
    int format;
    bool single_file;
    char channels[FIRN_TEXT_SIZE];
    firn_surface_def surface;
} settings;

typedef struct state {
    firn_abc_writer *writer; // of an archive of all frames
    firn_abc_node object;
    uint32_t written; // frames in it, from this run or an earlier one
    firn_stat stats[4];
} state;

static const firn_node_rows rows[] = {
    {firn_output_params, offsetof(settings, output)},
    {firn_surface_params, offsetof(settings, surface)},
};

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, format), FIRN_CHOICE, {FORMAT_ABC}, 0, 1, "",
     "Alembic, with velocities and channels on the points; or OBJ, the shape alone", "abc|obj"},
    {FIRN_PARAM(settings, single_file), FIRN_BOOL, {1}, 0, 1, "",
     "One archive of all frames, which appears when the last one is done; else one for each frame",
     .visible_when = "format==abc"},
    {FIRN_PARAM(settings, channels), FIRN_STRING, {0}, 0, 0, "",
     "Channels that the points of the surface get beside v, with spaces between: stiffness "
     "temperature Cd; dirt:1 or tint:3 for those of your own", .visible_when = "format==abc"},
};
// clang-format on

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    firn_channel_list list;
    FIRN_TRY(firn_output_check(&s->output, error));
    return firn_point_values_list(s->channels, &list, error);
}

static void release(void *memory)
{
    state *own = memory;
    firn_abc_writer_destroy(own->writer);
}

// --- OBJ -----------------------------------------------------------------------------------------

static void put_line(firn_file_writer *file, const char *line)
{
    firn_file_write(file, line, strlen(line));
}

static firn_result write_obj(const firn_cook *cook, const firn_surface_mesh *surface,
                             const char *path, firn_error *error)
{
    const firn_vdb_mesh *mesh = &surface->mesh;
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_create(path, &file, error));
    char line[256];
    snprintf(line, sizeof line, "# %s, %s\n", cook->version, FIRN_UNITS);
    put_line(file, line);
    for (size_t i = 0; i < mesh->point_count; i++) {
        firn_vec3 p = mesh->points[i];
        snprintf(line, sizeof line, "v %.7g %.7g %.7g\n", (double)p.x, (double)p.y, (double)p.z);
        put_line(file, line);
    }
    const int32_t *corner = mesh->indices;
    for (size_t f = 0; f < mesh->face_count; f++) {
        size_t used = 0;
        for (int k = 0; k < mesh->face_sizes[f]; k++)
            used += (size_t)snprintf(line + used, sizeof line - used, "%s %d", k > 0 ? "" : "f",
                                     *corner++ + 1);
        line[used] = '\n';
        firn_file_write(file, line, used + 1);
    }
    return firn_file_commit(file, error);
}

// --- Alembic -------------------------------------------------------------------------------------

static firn_result open_archive(const firn_cook *cook, const char *path, int first_frame, int step,
                                state *archive, firn_error *error)
{
    const settings *s = cook->settings;
    firn_channel_list list;
    FIRN_TRY(firn_point_values_list(s->channels, &list, error));
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.resumable = s->single_file;
    def.fps = cook->fps;
    def.description = cook->version;
    FIRN_TRY(firn_abc_writer_create(path, &def, &archive->writer, error));
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    FIRN_TRY(firn_abc_writer_add_clock(archive->writer, first_frame / cook->fps, step / cook->fps,
                                       &mesh.clock, error));
    firn_abc_param_def declared[FIRN_CHANNEL_LIST];
    for (size_t i = 0; i < list.count; i++)
        declared[i] =
            (firn_abc_param_def){list.row[i].name,
                                 list.row[i].components == 1              ? FIRN_ABC_FLOAT
                                 : list.row[i].kind == FIRN_CHANNEL_COLOR ? FIRN_ABC_COLOR
                                                                          : FIRN_ABC_VECTOR,
                                 FIRN_ABC_VARYING};
    mesh.velocities = true;
    mesh.params = declared;
    mesh.param_count = list.count;
    FIRN_TRY(firn_abc_writer_add_mesh(archive->writer, FIRN_ABC_ROOT, "snow", &mesh,
                                      &archive->object, error));
    return firn_abc_writer_begin(archive->writer, &archive->written, error);
}

// Archives wind their faces clockwise.
static firn_result put_sample(const state *archive, const firn_surface_mesh *surface,
                              firn_error *error)
{
    const firn_vdb_mesh *mesh = &surface->mesh;
    if (surface->velocity == NULL)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "the particles have no v; write them with it");
    int32_t *indices = firn_alloc((mesh->index_count + 1) * sizeof *indices);
    if (indices == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot write a surface");
    size_t first = 0;
    for (size_t f = 0; f < mesh->face_count; f++) {
        size_t size = (size_t)mesh->face_sizes[f];
        for (size_t k = 0; k < size; k++)
            indices[first + k] = mesh->indices[first + size - 1 - k];
        first += size;
    }
    const void *params[FIRN_CHANNEL_LIST];
    for (size_t n = 0; n < surface->channels.count; n++)
        params[n] = surface->values[n];
    firn_abc_mesh_data data = {.point_count = mesh->point_count,
                               .face_count = mesh->face_count,
                               .corner_count = mesh->index_count,
                               .positions = mesh->points,
                               .face_counts = mesh->face_sizes,
                               .face_indices = indices,
                               .velocities = (const firn_vec3 *)(const void *)surface->velocity,
                               .params = params};
    firn_result result = firn_abc_writer_put_mesh(archive->writer, archive->object, &data, error);
    if (result == FIRN_OK)
        result = firn_abc_writer_end_frame(archive->writer, error);
    firn_free(indices);
    return result;
}

static firn_result write_archive(const firn_cook *cook, const firn_surface_mesh *surface,
                                 const char *path, firn_error *error)
{
    state archive = {0};
    firn_result result = open_archive(cook, path, cook->frame, 1, &archive, error);
    if (result == FIRN_OK)
        result = put_sample(&archive, surface, error);
    if (result == FIRN_OK)
        return firn_abc_writer_finish(archive.writer, error);
    firn_abc_writer_destroy(archive.writer);
    return result;
}

static bool is_single(const settings *s) { return s->format == FORMAT_ABC && s->single_file; }

static const char *const extensions[] = {[FORMAT_ABC] = "abc", [FORMAT_OBJ] = "obj"};

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

// The next sample of the archive of all frames.
static firn_result add_frame(firn_cook *cook, const firn_surface_mesh *surface, firn_error *error)
{
    state *own = cook->state;
    uint32_t index = (uint32_t)((cook->frame - cook->bake_first) / cook->bake_step);
    if (index != own->written)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the archive has %u frames; frame %d cannot follow", own->written,
                         cook->frame);
    FIRN_TRY(put_sample(own, surface, error));
    own->written++;
    return FIRN_OK;
}

static firn_result write_frame(firn_cook *cook, const firn_surface_mesh *surface, firn_error *error)
{
    const settings *s = cook->settings;
    if (is_single(s))
        return add_frame(cook, surface, error);
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_cook_output_path(cook, s->output.name, extensions[s->format], true, path, error));
    FIRN_TRY(s->format == FORMAT_OBJ ? write_obj(cook, surface, path, error)
                                     : write_archive(cook, surface, path, error));
    return firn_cook_wrote(cook, path, error);
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    uint32_t index = (uint32_t)((cook->frame - cook->bake_first) / cook->bake_step);
    if (is_single(s) && index < own->written)
        return FIRN_OK; // an earlier run wrote the same
    const firn_particle_data *from = firn_cook_input(cook, "particles", 0)->particles;
    firn_surface_mesh surface;
    firn_result result = firn_surface_mesh_make(&surface, &s->surface, s->channels, from, error);
    if (result == FIRN_OK)
        result = write_frame(cook, &surface, error);
    const firn_stat stats[] = {{"points", (double)surface.mesh.point_count},
                               {"faces", (double)surface.mesh.face_count},
                               {"volume", surface.volume},
                               {"particle_volume", surface.particle_volume}};
    firn_surface_mesh_free(&surface);
    memcpy(own->stats, stats, sizeof stats);
    cook->output->stats = own->stats;
    cook->output->stat_count = FIRN_COUNT(own->stats);
    return result;
}

static const firn_node_input inputs[] = {
    {"particles", FIRN_KIND_PARTICLES, false, true,
     "Particles with P v pscale mass Jp; fine particles make a finer surface"},
};

const firn_node_type firn_node_write_surface = {
    .size = sizeof(firn_node_type),
    .name = "write_surface",
    .label = "Write surface",
    .category = "Files",
    .help = "Writes closed polygons around the snow, with its volume, as Alembic or OBJ.",
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
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
    .begin = begin,
    .finish = finish,
    .writes = writes,
};
