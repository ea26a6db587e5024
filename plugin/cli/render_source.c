#define _POSIX_C_SOURCE 200809L
#include "render_source.h"

#include "firn/shot.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VOLUME_NODE "render_volume"
#define GRAIN_NODE "render_grains"
#define FINE_NODE "render_fine"

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), size = strlen(ending);
    return length >= size && strcmp(path + length - size, ending) == 0;
}

// --- Opening -------------------------------------------------------------------------------------

static firn_result add_solid(firn_graph *graph, size_t number, const char *path, firn_error *error)
{
    char name[64];
    snprintf(name, sizeof name, "render_solid_%zu", number);
    FIRN_TRY(firn_graph_add(graph, "collider", name, error));
    FIRN_TRY(firn_graph_set_param(graph, name, "shape",
                                  ends_with(path, ".vdb") ? "level_set" : "mesh", FIRN_LAYER_ALWAYS,
                                  error));
    return firn_graph_set_param(graph, name, "file", path, FIRN_LAYER_ALWAYS, error);
}

static firn_result open_cache(firn_render_source *source, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/resolved.firn", source->path);
    FIRN_TRY(firn_graph_load(path, &source->shot, error));
    return firn_manifest_read(source->path, &source->manifest, error);
}

firn_result firn_render_source_open(firn_render_source *source, const char *path,
                                    const firn_render_names *names, firn_error *error)
{
    memset(source, 0, sizeof *source);
    source->path = path;
    source->fps = 24.0f;
    source->is_cache = is_folder(path);
    snprintf(source->grid, sizeof source->grid, "%s", names->grid != NULL ? names->grid : "");
    source->particles = names->particles;
    firn_vdb_reader_def reader = firn_vdb_reader_def_default();
    FIRN_TRY(firn_vdb_reader_create(&reader, &source->reader, error));
    if (source->is_cache)
        FIRN_TRY(open_cache(source, error));
    FIRN_TRY(firn_graph_create(&source->files, error));
    FIRN_TRY(firn_graph_add(source->files, "read_volume", VOLUME_NODE, error));
    FIRN_TRY(firn_graph_set_param(source->files, VOLUME_NODE, "grid", source->grid,
                                  FIRN_LAYER_ALWAYS, error));
    for (size_t i = 0; i < names->solids->count; i++)
        FIRN_TRY(add_solid(source->files, i, names->solids->words[i], error));
    FIRN_TRY(firn_graph_add(source->files, "read_particles", GRAIN_NODE, error));
    FIRN_TRY(firn_graph_add(source->files, "fine_particles", FINE_NODE, error));
    return firn_graph_link(source->files, GRAIN_NODE, FINE_NODE, "particles", error);
}

void firn_render_source_close(firn_render_source *source)
{
    firn_graph_destroy(source->files);
    firn_graph_destroy(source->shot);
    firn_manifest_destroy(source->manifest);
    firn_vdb_reader_destroy(source->reader);
    firn_grains_free(&source->grains);
    memset(source, 0, sizeof *source);
}

// --- Frames --------------------------------------------------------------------------------------

// The shot's own render node, the last one; NULL: none.
static const char *render_node(const firn_render_source *source)
{
    const char *found = NULL, *node;
    for (size_t i = 0; source->shot != NULL && (node = firn_graph_node(source->shot, i)); i++)
        if (strcmp(firn_graph_node_type(source->shot, node)->name, "render") == 0)
            found = node;
    return found;
}

// The file that a node of this type wrote, of several the one that writes what the shot's render
// node shows; NULL when there is none.
static const char *choose_file(const firn_render_source *source, const firn_cache_file *files,
                               size_t count, const char *type, const char *input)
{
    const char *shown = NULL, *name = NULL, *node = render_node(source);
    if (node != NULL)
        shown = firn_graph_input(source->shot, node, input, 0);
    for (size_t i = 0; i < count; i++) {
        const firn_node_info *writer = firn_graph_node_type(source->shot, files[i].node);
        if (writer == NULL || strcmp(writer->name, type) != 0)
            continue;
        const char *from = firn_graph_input(source->shot, files[i].node, input, 0);
        bool wanted = shown != NULL && from != NULL && strcmp(shown, from) == 0;
        if (name == NULL || wanted)
            name = files[i].name;
    }
    return name;
}

static const char *volume_of(const firn_render_source *source, const firn_cache_frame *frame)
{
    return choose_file(source, frame->files, frame->file_count, "write_volume", "volume");
}

// Particles are in a file of the frame or in one of all frames.
static const char *particles_of(const firn_render_source *source, const firn_cache_frame *frame)
{
    firn_manifest_view view = firn_manifest_look(source->manifest);
    const char *own =
        choose_file(source, frame->files, frame->file_count, "write_particles", "particles");
    return own != NULL
               ? own
               : choose_file(source, view.files, view.file_count, "write_particles", "particles");
}

// The path of a file of the loaded frame of a cache; false when there is none.
static bool find_in_cache(const firn_render_source *source,
                          const char *(*choose)(const firn_render_source *,
                                                const firn_cache_frame *),
                          char *path)
{
    firn_manifest_view view = firn_manifest_look(source->manifest);
    const char *name = NULL;
    for (size_t i = 0; i < view.frame_count && name == NULL; i++)
        if (view.frames[i].frame == source->frame)
            name = choose(source, &view.frames[i]);
    if (name != NULL)
        snprintf(path, FIRN_PATH_SIZE, "%.2000s/%.2000s", source->path, name);
    return name != NULL;
}

static firn_result find_volume(firn_render_source *source, firn_error *error)
{
    if (!source->is_cache)
        return firn_path_of_frame(source->path, source->frame, source->volume,
                                  sizeof source->volume, error);
    if (!find_in_cache(source, volume_of, source->volume))
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "the cache '%s' has no volume of frame %d",
                         source->path, source->frame);
    return FIRN_OK;
}

static const char *meta_of(const firn_vdb_listing_view *file, const char *name)
{
    for (size_t i = 0; i < file->meta_count; i++)
        if (strcmp(file->meta[i].name, name) == 0)
            return file->meta[i].value;
    return NULL;
}

bool firn_render_source_frames(firn_render_source *source, int *first, int *last)
{
    if (source->is_cache) {
        firn_manifest_view view = firn_manifest_look(source->manifest);
        if (view.frame_count == 0)
            return false;
        *first = view.frames[0].frame;
        *last = view.frames[view.frame_count - 1].frame;
        return true;
    }
    if (firn_path_has_frame(source->path))
        return false;
    firn_vdb_listing *listing = NULL;
    *first = *last = 1;
    if (firn_vdb_list(source->reader, source->path, NULL, &listing, NULL) != FIRN_OK)
        return true;
    firn_vdb_listing_view view = firn_vdb_listing_read(listing);
    const char *frame = meta_of(&view, "frame");
    if (frame != NULL && firn_read_int(frame, -1000000, 1000000, first))
        *last = *first;
    firn_vdb_listing_destroy(listing);
    return true;
}

// --- What the file says --------------------------------------------------------------------------

// Vectors come as "[0.9, 0.95, 1]".
static firn_result set_from_meta(firn_render_def *def, const char *row, const char *value,
                                 firn_error *error)
{
    char text[FIRN_TEXT_SIZE];
    size_t size = 0;
    for (; *value != '\0' && size + 1 < sizeof text; value++)
        if (*value != '[' && *value != ']')
            text[size++] = *value == ',' ? ' ' : *value;
    text[size] = '\0';
    const firn_param *param = firn_params_find(firn_render_params(), row);
    return param != NULL ? firn_param_parse(param, def, text, error) : FIRN_OK;
}

static firn_result read_material(firn_render_source *source, const firn_vdb_listing_view *file,
                                 firn_render_def *def, firn_error *error)
{
    const char *reference = meta_of(file, "density_ref_kg_m3"), *units, *value;
    const char *look = meta_of(file, "look");
    if (look != NULL && set_from_meta(def, "look", look, NULL) == FIRN_OK)
        firn_render_def_settle(def);
    if (reference != NULL)
        FIRN_TRY(set_from_meta(def, "reference_density", reference, error));
    units = meta_of(file, "density_units");
    source->relative = units == NULL || strcmp(units, "relative") == 0;
    value = meta_of(file, "sigma_t_per_density");
    double extinction;
    if (value != NULL && firn_read_number(value, &extinction))
        def->extinction =
            (float)(source->relative ? extinction : extinction * (double)def->reference_density);
    value = meta_of(file, "albedo");
    if (value != NULL)
        FIRN_TRY(set_from_meta(def, "albedo", value, error));
    value = meta_of(file, "g");
    return value != NULL ? set_from_meta(def, "anisotropy", value, error) : FIRN_OK;
}

static firn_result read_meta(firn_render_source *source, const firn_vdb_listing_view *file,
                             firn_render_def *def, firn_error *error)
{
    static const char prefix[] = "render_";
    double fps;
    FIRN_TRY(read_material(source, file, def, error));
    const char *value = meta_of(file, "fps");
    if (value != NULL && firn_read_number(value, &fps) && fps > 0.0)
        source->fps = (float)fps;
    for (size_t i = 0; i < file->meta_count; i++)
        if (strncmp(file->meta[i].name, prefix, sizeof prefix - 1) == 0)
            FIRN_TRY(set_from_meta(def, file->meta[i].name + sizeof prefix - 1, file->meta[i].value,
                                   error));
    return FIRN_OK;
}

// What the shot's own render node says at the frame, as far as it is not the default.
static firn_result read_shot(firn_render_source *source, firn_render_def *def, firn_error *error)
{
    firn_param_table table = firn_render_params();
    firn_render_def plain = firn_render_def_default();
    const char *node = render_node(source);
    for (size_t i = 0; node != NULL && i < table.count; i++) {
        const firn_param *row = &table.params[i];
        char usual[FIRN_TEXT_SIZE], text[FIRN_TEXT_SIZE];
        firn_param_print(row, &plain, usual, sizeof usual);
        FIRN_TRY(firn_graph_get_text(source->shot, node, row->name, source->frame, text,
                                     sizeof text, error));
        if (strcmp(usual, text) == 0)
            continue;
        FIRN_TRY(firn_param_parse(row, def, text, error));
        firn_render_def_settle(def);
    }
    return FIRN_OK;
}

static firn_result read_listing(firn_render_source *source, firn_render_def *def, firn_error *error)
{
    firn_vdb_listing *listing = NULL;
    FIRN_TRY(firn_vdb_list(source->reader, source->volume, NULL, &listing, error));
    firn_vdb_listing_view view = firn_vdb_listing_read(listing);
    firn_result result = read_meta(source, &view, def, error);
    firn_vdb_listing_destroy(listing);
    return result;
}

// --- A frame -------------------------------------------------------------------------------------

static firn_result cook_solids(firn_render_source *source, firn_graph *graph, firn_error *error)
{
    for (size_t i = 0; graph != NULL && firn_graph_node(graph, i) != NULL; i++) {
        const char *node = firn_graph_node(graph, i);
        if (firn_graph_node_type(graph, node)->output != FIRN_KIND_COLLIDER)
            continue;
        const firn_data *data = NULL;
        FIRN_TRY(firn_graph_cook(graph, node, source->frame, &data, error));
        const firn_collider_data *solid = data->collider;
        firn_manifest_view cache = {.frame_count = 0};
        if (source->manifest != NULL)
            cache = firn_manifest_look(source->manifest);
        for (; solid != NULL && source->scene.solid_count < FIRN_SOLID_MAX;
             solid = firn_solid_next(solid)) {
            source->colors[source->scene.solid_count] = solid->color;
            source->solids[source->scene.solid_count++] =
                firn_solid_noted(&cache, source->frame, node, solid);
        }
    }
    return FIRN_OK;
}

static firn_result cook_field(firn_render_source *source, firn_error *error)
{
    const char *node = render_node(source), *field = NULL;
    const firn_data *data = NULL;
    source->scene.patch = NULL;
    if (node != NULL)
        field = firn_graph_input(source->shot, node, "field", 0);
    if (field == NULL)
        return FIRN_OK;
    FIRN_TRY(firn_graph_cook(source->shot, field, source->frame, &data, error));
    return firn_source_patch(data->source, &source->scene.patch, error);
}

firn_result firn_render_source_load(firn_render_source *source, int frame, firn_render_def *def,
                                    firn_error *error)
{
    const firn_data *data = NULL;
    source->frame = frame;
    FIRN_TRY(find_volume(source, error));
    FIRN_TRY(read_listing(source, def, error));
    FIRN_TRY(read_shot(source, def, error));
    FIRN_TRY(firn_graph_set_param(source->files, VOLUME_NODE, "file", source->volume,
                                  FIRN_LAYER_ALWAYS, error));
    source->scene.solid_count = 0;
    source->scene.solids = source->solids;
    source->scene.solid_colors = source->colors;
    FIRN_TRY(cook_solids(source, source->shot, error));
    FIRN_TRY(cook_solids(source, source->files, error));
    FIRN_TRY(firn_graph_cook(source->files, VOLUME_NODE, frame, &data, error));
    source->scene.field = data->volume->field;
    source->scene.fps = source->fps;
    source->scene.frame = frame;
    return cook_field(source, error);
}

// The shot's fine_particles node that its render node shows and that no file holds; NULL: none.
static const char *fine_node(const firn_render_source *source)
{
    const char *node = render_node(source), *shown = NULL, *writer;
    if (node != NULL && source->particles == NULL)
        shown = firn_graph_input(source->shot, node, "particles", 0);
    if (shown == NULL ||
        strcmp(firn_graph_node_type(source->shot, shown)->name, "fine_particles") != 0)
        return NULL;
    for (size_t i = 0; (writer = firn_graph_node(source->shot, i)) != NULL; i++) {
        const char *from = firn_graph_input(source->shot, writer, "particles", 0);
        if (from != NULL && strcmp(from, shown) == 0 &&
            strcmp(firn_graph_node_type(source->shot, writer)->name, "write_particles") == 0)
            return NULL;
    }
    return shown;
}

// Grains that nobody wrote are made again, from the particles that they come from.
static firn_result set_fine(firn_render_source *source, const char *node, firn_error *error)
{
    firn_param_table table = firn_graph_node_type(source->shot, node)->params;
    for (size_t i = 0; i < table.count; i++) {
        char text[FIRN_TEXT_SIZE];
        FIRN_TRY(firn_graph_get_text(source->shot, node, table.params[i].name, source->frame, text,
                                     sizeof text, error));
        FIRN_TRY(firn_graph_set_param(source->files, FINE_NODE, table.params[i].name, text,
                                      FIRN_LAYER_ALWAYS, error));
    }
    return FIRN_OK;
}

firn_result firn_render_source_load_grains(firn_render_source *source, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    const firn_data *data = NULL;
    firn_grains_free(&source->grains);
    source->scene.grains = NULL;
    if (source->particles != NULL)
        snprintf(path, sizeof path, "%s", source->particles);
    else if (!source->is_cache || !find_in_cache(source, particles_of, path))
        return FIRN_OK;
    FIRN_TRY(
        firn_graph_set_param(source->files, GRAIN_NODE, "file", path, FIRN_LAYER_ALWAYS, error));
    const char *fine = fine_node(source);
    if (fine != NULL)
        FIRN_TRY(set_fine(source, fine, error));
    FIRN_TRY(firn_graph_cook(source->files, fine != NULL ? FINE_NODE : GRAIN_NODE, source->frame,
                             &data, error));
    FIRN_TRY(firn_grains_read(&data->particles->points, &source->grains, error));
    source->scene.grains = &source->grains;
    return FIRN_OK;
}

// --- All frames ----------------------------------------------------------------------------------

static bool is_there(const firn_render_source *source, int frame)
{
    char path[FIRN_PATH_SIZE];
    return firn_path_of_frame(source->path, frame, path, sizeof path, NULL) == FIRN_OK &&
           access(path, F_OK) == 0;
}

size_t firn_render_source_landmarks(const firn_render_source *source, int frame, int landmarks[3])
{
    int *all = NULL, first = frame, last = frame;
    if (!source->is_cache) {
        while (firn_path_has_frame(source->path) && is_there(source, first - 1))
            first--;
        while (firn_path_has_frame(source->path) && is_there(source, last + 1))
            last++;
        landmarks[0] = first;
        landmarks[1] = first + (last - first) / 2;
        landmarks[2] = last;
        return first < last ? 3 : 1;
    }
    firn_manifest_view view = firn_manifest_look(source->manifest);
    size_t count = 0;
    all = firn_alloc((view.frame_count + 1) * sizeof *all);
    for (size_t i = 0; all != NULL && i < view.frame_count; i++)
        if (view.frames[i].hash == view.hash && volume_of(source, &view.frames[i]) != NULL)
            all[count++] = view.frames[i].frame;
    const size_t places[3] = {0, count / 2, count - 1};
    for (size_t i = 0; i < 3; i++)
        landmarks[i] = count > 0 ? all[places[i]] : frame;
    firn_free(all);
    return count > 1 ? 3 : 1;
}
