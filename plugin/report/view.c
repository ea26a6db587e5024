#define _POSIX_C_SOURCE 200809L
#include "view.h"

#include "surface_points.h"

#include "firn/shot.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { THING_MAX = 64, EDGE_MAX = 8192, TRIAL_WIDTH = 96, TRIAL_HEIGHT = 54 };

/// Arrays are owned.
struct firn_view {
    char path[FIRN_PATH_SIZE];
    firn_manifest *manifest;   // of a cache, NULL: a file
    firn_graph *shot;          // of a cache
    firn_graph *reader;        // of the particles
    const firn_points *points; // of the reader
    float *radius;             // of particles that have none
    firn_vec3 *surfaces[THING_MAX];
    float *widths[THING_MAX];
    firn_picture_cloud clouds[THING_MAX + 1];
    firn_collider_def solids[THING_MAX];
    firn_picture_scene scene;
    int frame;
    float fps;
};

static void clear(firn_view *p)
{
    for (size_t i = 0; i < THING_MAX; i++) {
        firn_free(p->surfaces[i]);
        firn_free(p->widths[i]);
        p->surfaces[i] = NULL;
        p->widths[i] = NULL;
    }
    firn_free(p->radius);
    p->radius = NULL;
    firn_graph_destroy(p->reader);
    p->reader = NULL;
    p->points = NULL;
    p->scene = (firn_picture_scene){.clouds = p->clouds, .solids = p->solids};
}

void firn_view_close(firn_view *view)
{
    if (view == NULL)
        return;
    clear(view);
    firn_graph_destroy(view->shot);
    firn_manifest_destroy(view->manifest);
    firn_free(view);
}

// --- Snow ----------------------------------------------------------------------------------------

// A file without radii gets one that fits its points: 8 in a cell of their mean spacing.
static firn_result guess_radius(firn_view *p, const firn_points *points, firn_error *error)
{
    firn_vec3 lower, upper;
    p->radius = firn_alloc((points->count + 1) * sizeof *p->radius);
    if (p->radius == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the particles");
    bool any = firn_points_bounds(points, &lower, &upper);
    firn_vec3 edge = any ? firn_sub(upper, lower) : firn_vec(1.0f, 1.0f, 1.0f);
    float volume = edge.x * edge.y * edge.z;
    float radius = 0.4f * cbrtf(volume / (float)(points->count + 1));
    for (size_t i = 0; i < points->count; i++)
        p->radius[i] = radius;
    return FIRN_OK;
}

static firn_result load_snow(firn_view *p, const char *path, firn_error *error)
{
    const firn_data *data = NULL;
    char fps[32];
    snprintf(fps, sizeof fps, "fps=%.9g", (double)p->fps);
    FIRN_TRY(firn_graph_create(&p->reader, error));
    FIRN_TRY(firn_graph_set_text(p->reader, fps, error));
    FIRN_TRY(firn_graph_add(p->reader, "read_particles", "snow", error));
    FIRN_TRY(firn_graph_set_param(p->reader, "snow", "file", path, FIRN_LAYER_ALWAYS, error));
    FIRN_TRY(firn_graph_cook(p->reader, "snow", p->frame, &data, error));
    const firn_points *points = p->points = &data->particles->points;
    const firn_attribute *position = firn_points_find(points, "P");
    const firn_attribute *radius = firn_points_find(points, "pscale");
    if (position == NULL || position->storage != FIRN_STORAGE_FLOAT32 || position->tuple_size != 3)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED, "'%s' has no positions to draw", path);
    bool known = radius != NULL && radius->storage == FIRN_STORAGE_FLOAT32;
    if (!known)
        FIRN_TRY(guess_radius(p, points, error));
    p->clouds[p->scene.cloud_count++] =
        (firn_picture_cloud){.count = points->count,
                             .position = position->data,
                             .radius = known ? radius->data : p->radius,
                             .albedo = {0.93f, 0.95f, 0.98f},
                             .framed = true};
    return FIRN_OK;
}

// --- Things around it ----------------------------------------------------------------------------

static firn_result add_surface(firn_view *p, const firn_level_set *set, const firn_transform *pose,
                               firn_error *error)
{
    size_t slot = p->scene.cloud_count, count = 0;
    FIRN_TRY(firn_surface_points(set, pose, &p->surfaces[slot], &count, error));
    p->widths[slot] = firn_alloc((count + 1) * sizeof(float));
    if (p->widths[slot] == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw a collider");
    for (size_t i = 0; i < count; i++)
        p->widths[slot][i] = 0.5f * set->map.scale * pose->scale;
    p->clouds[p->scene.cloud_count++] = (firn_picture_cloud){.count = count,
                                                             .position = p->surfaces[slot],
                                                             .radius = p->widths[slot],
                                                             .albedo = {0.36f, 0.20f, 0.13f},
                                                             .framed = true};
    return FIRN_OK;
}

static firn_result add_collider(firn_view *p, const char *node, firn_error *error)
{
    const firn_data *data = NULL;
    FIRN_TRY(firn_graph_cook(p->shot, node, p->frame, &data, error));
    const firn_collider_data *solid = data->collider;
    firn_manifest_view cache = {.frame_count = 0};
    if (p->manifest != NULL)
        cache = firn_manifest_look(p->manifest);
    for (; solid != NULL; solid = firn_solid_next(solid)) {
        firn_collider_def def = firn_solid_noted(&cache, p->frame, node, solid);
        if (p->scene.cloud_count == THING_MAX || p->scene.solid_count == THING_MAX)
            return FIRN_OK;
        if (def.shape == FIRN_SHAPE_LEVEL_SET)
            FIRN_TRY(add_surface(p, def.level_set, &def.pose, error));
        else
            p->solids[p->scene.solid_count++] = def;
    }
    return FIRN_OK;
}

static firn_result load_colliders(firn_view *p, firn_error *error)
{
    for (size_t i = 0; firn_graph_node(p->shot, i) != NULL; i++) {
        const char *node = firn_graph_node(p->shot, i);
        if (firn_graph_node_type(p->shot, node)->output == FIRN_KIND_COLLIDER)
            FIRN_TRY(add_collider(p, node, error));
    }
    return FIRN_OK;
}

// --- Caches --------------------------------------------------------------------------------------

static const char *snow_file(const firn_view *p, const firn_cache_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const firn_node_info *type = firn_graph_node_type(p->shot, files[i].node);
        if (type != NULL && strcmp(type->name, "write_particles") == 0)
            return files[i].name;
    }
    return NULL;
}

static firn_result find_snow(const firn_view *p, char *path, firn_error *error)
{
    firn_manifest_view view = firn_manifest_look(p->manifest);
    const firn_cache_frame *frame = NULL;
    for (size_t i = 0; i < view.frame_count && frame == NULL; i++)
        frame = view.frames[i].frame == p->frame ? &view.frames[i] : NULL;
    // An archive of all frames, else a file of this one.
    const char *name = frame != NULL ? snow_file(p, view.files, view.file_count) : NULL;
    if (frame != NULL && name == NULL)
        name = snow_file(p, frame->files, frame->file_count);
    if (name == NULL)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "the cache '%s' has no particles of frame %d",
                         p->path, p->frame);
    snprintf(path, FIRN_PATH_SIZE, "%.2000s/%.2000s", p->path, name);
    return FIRN_OK;
}

firn_result firn_view_open(const char *path, firn_view **view, firn_error *error)
{
    firn_view *p = *view = firn_alloc_zero(sizeof *p);
    if (p == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot open '%s'", path);
    struct stat status;
    snprintf(p->path, sizeof p->path, "%s", path);
    p->fps = 24.0f;
    clear(p);
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return FIRN_OK;
    char resolved[FIRN_PATH_SIZE];
    snprintf(resolved, sizeof resolved, "%.4000s/resolved.firn", path);
    FIRN_TRY(firn_graph_load(resolved, &p->shot, error));
    FIRN_TRY(firn_manifest_read(path, &p->manifest, error));
    p->fps = firn_manifest_look(p->manifest).fps;
    return FIRN_OK;
}

int firn_view_first(const firn_view *view)
{
    if (view->manifest == NULL)
        return 1;
    firn_manifest_view look = firn_manifest_look(view->manifest);
    return look.frame_count > 0 ? look.frames[0].frame : 1;
}

int firn_view_last(const firn_view *view)
{
    if (view->manifest == NULL)
        return 1;
    firn_manifest_view look = firn_manifest_look(view->manifest);
    return look.frame_count > 0 ? look.frames[look.frame_count - 1].frame : 1;
}

firn_result firn_view_load(firn_view *view, int frame, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    clear(view);
    view->frame = frame;
    snprintf(path, sizeof path, "%s", view->path);
    if (view->manifest != NULL)
        FIRN_TRY(find_snow(view, path, error));
    FIRN_TRY(load_snow(view, path, error));
    return view->shot != NULL ? load_colliders(view, error) : FIRN_OK;
}

const firn_picture_scene *firn_view_scene(const firn_view *view) { return &view->scene; }

const firn_points *firn_view_points(const firn_view *view) { return view->points; }

firn_result firn_view_draw(const firn_view *view, const firn_picture_def *def, uint8_t **rgb,
                           firn_error *error)
{
    *rgb = NULL;
    if (def->width < 1 || def->height < 1 || def->width > EDGE_MAX || def->height > EDGE_MAX)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a picture has 1 to %d pixels each way",
                         EDGE_MAX);
    *rgb = firn_alloc((size_t)def->width * (size_t)def->height * 3);
    if (*rgb == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the picture");
    firn_result result = firn_picture_render(def, &view->scene, *rgb, error);
    if (result == FIRN_OK)
        return FIRN_OK;
    firn_free(*rgb);
    *rgb = NULL;
    return result;
}

// How many pixels of a small picture the snow changes, seen from an azimuth.
static firn_result count_snow(const firn_view *view, firn_picture_def def, float azimuth,
                              size_t *pixels, firn_error *error)
{
    uint8_t rgb[2][3 * TRIAL_WIDTH * TRIAL_HEIGHT];
    firn_picture_scene with = *firn_view_scene(view), without = with;
    without.clouds = with.clouds + 1;
    without.cloud_count = with.cloud_count - 1;
    def.width = TRIAL_WIDTH;
    def.height = TRIAL_HEIGHT;
    def.azimuth = azimuth;
    FIRN_TRY(firn_picture_render(&def, &with, rgb[0], error));
    FIRN_TRY(firn_picture_render(&def, &without, rgb[1], error));
    *pixels = 0;
    for (size_t i = 0; i < sizeof rgb[0]; i += 3)
        *pixels += memcmp(&rgb[0][i], &rgb[1][i], 3) != 0;
    return FIRN_OK;
}

firn_result firn_view_choose_side(const firn_view *view, firn_picture_def *def, firn_error *error)
{
    static const float sides[] = {-35.0f, 145.0f, -145.0f};
    size_t most = 0, pixels = 0;
    FIRN_TRY(count_snow(view, *def, def->azimuth, &most, error));
    float best = def->azimuth;
    most += most / 3;
    for (size_t i = 0; i < FIRN_COUNT(sides); i++) {
        FIRN_TRY(count_snow(view, *def, sides[i], &pixels, error));
        if (pixels <= most)
            continue;
        most = pixels;
        best = sides[i];
    }
    def->azimuth = best;
    return FIRN_OK;
}
