/// `firn picture`: a shaded view of a cache or a particle file.
#define _POSIX_C_SOURCE 200809L
#include "firn/picture.h"

#include "command.h"

#include "firn/cache.h"
#include "firn/png.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { THING_MAX = 64 };

typedef struct request {
    const char *frame, *size, *view, *zoom, *output;
} request;

/// What is drawn; arrays are owned.
typedef struct picture {
    firn_graph *shot;   // of a cache, NULL: none
    firn_graph *reader; // of the particles
    float *radius;      // of particles that have none
    firn_vec3 *surfaces[THING_MAX];
    float *widths[THING_MAX];
    firn_picture_cloud clouds[THING_MAX + 1];
    firn_collider_def solids[THING_MAX];
    firn_picture_scene scene;
    int frame;
    float fps;
} picture;

static void release(picture *p)
{
    for (size_t i = 0; i < THING_MAX; i++) {
        firn_free(p->surfaces[i]);
        firn_free(p->widths[i]);
    }
    firn_free(p->radius);
    firn_graph_destroy(p->reader);
    firn_graph_destroy(p->shot);
}

// --- Snow ----------------------------------------------------------------------------------------

// A file without radii gets one that fits its points: 8 in a cell of their mean spacing.
static firn_result guess_radius(picture *p, const firn_points *points, firn_error *error)
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

static firn_result load_snow(picture *p, const char *path, firn_error *error)
{
    const firn_data *data = NULL;
    char fps[32];
    snprintf(fps, sizeof fps, "fps=%.9g", (double)p->fps);
    FIRN_TRY(firn_graph_create(&p->reader, error));
    FIRN_TRY(firn_graph_set_text(p->reader, fps, error));
    FIRN_TRY(firn_graph_add(p->reader, "read_particles", "snow", error));
    FIRN_TRY(firn_graph_set_param(p->reader, "snow", "file", path, FIRN_LAYER_ALWAYS, error));
    FIRN_TRY(firn_graph_cook(p->reader, "snow", p->frame, &data, error));
    const firn_points *points = &data->particles->points;
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

// The slope of a leaf's values along one axis, from the neighbor that the leaf has.
static float slope(const float *leaf, size_t voxel, size_t stride)
{
    bool last = voxel / stride % FIRN_LEAF_EDGE == FIRN_LEAF_EDGE - 1;
    return last ? leaf[voxel] - leaf[voxel - stride] : leaf[voxel + stride] - leaf[voxel];
}

// The point of the surface that is nearest to a voxel.
static firn_vec3 surface_point(const firn_level_set *set, size_t leaf, size_t voxel)
{
    const float *values = set->values + leaf * FIRN_LEAF_VOXELS;
    firn_coord origin = set->leaf_origin[leaf];
    firn_vec3 index = {(float)(origin.x + (int)(voxel / 64)),
                       (float)(origin.y + (int)(voxel / 8 % 8)),
                       (float)(origin.z + (int)(voxel % 8))};
    firn_vec3 normal = {slope(values, voxel, 64), slope(values, voxel, 8), slope(values, voxel, 1)};
    firn_vec3 away = firn_scale(-values[voxel] / set->map.scale, firn_normalize(normal));
    return firn_transform_point(set->map, firn_add(index, away));
}

static size_t near_voxels(const firn_level_set *set, const firn_transform *pose, firn_vec3 *points)
{
    size_t count = 0;
    for (size_t i = 0; i < set->leaf_count * FIRN_LEAF_VOXELS; i++) {
        if (fabsf(set->values[i]) > 0.9f * set->map.scale)
            continue;
        if (points != NULL)
            points[count] = firn_transform_point(
                *pose, surface_point(set, i / FIRN_LEAF_VOXELS, i % FIRN_LEAF_VOXELS));
        count++;
    }
    return count;
}

static firn_result add_surface(picture *p, const firn_level_set *set, const firn_transform *pose,
                               firn_error *error)
{
    size_t slot = p->scene.cloud_count, count = near_voxels(set, pose, NULL);
    p->surfaces[slot] = firn_alloc((count + 1) * sizeof(firn_vec3));
    p->widths[slot] = firn_alloc((count + 1) * sizeof(float));
    if (p->surfaces[slot] == NULL || p->widths[slot] == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw a collider");
    near_voxels(set, pose, p->surfaces[slot]);
    for (size_t i = 0; i < count; i++)
        p->widths[slot][i] = 0.5f * set->map.scale * pose->scale;
    p->clouds[p->scene.cloud_count++] = (firn_picture_cloud){.count = count,
                                                             .position = p->surfaces[slot],
                                                             .radius = p->widths[slot],
                                                             .albedo = {0.36f, 0.20f, 0.13f},
                                                             .framed = true};
    return FIRN_OK;
}

static firn_result add_collider(picture *p, const char *node, firn_error *error)
{
    const firn_data *data = NULL;
    FIRN_TRY(firn_graph_cook(p->shot, node, p->frame, &data, error));
    const firn_collider_data *collider = data->collider;
    firn_collider_def def = firn_collider_at_end(collider);
    if (def.shape == FIRN_SHAPE_LEVEL_SET)
        return add_surface(p, def.level_set, &def.pose, error);
    p->solids[p->scene.solid_count++] = def;
    return FIRN_OK;
}

static firn_result load_colliders(picture *p, firn_error *error)
{
    for (size_t i = 0; firn_graph_node(p->shot, i) != NULL; i++) {
        const char *node = firn_graph_node(p->shot, i);
        bool room = p->scene.cloud_count < THING_MAX && p->scene.solid_count < THING_MAX;
        if (firn_graph_node_type(p->shot, node)->output == FIRN_KIND_COLLIDER && room)
            FIRN_TRY(add_collider(p, node, error));
    }
    return FIRN_OK;
}

// --- Caches --------------------------------------------------------------------------------------

static const char *snow_file(const picture *p, const firn_cache_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const firn_node_info *type = firn_graph_node_type(p->shot, files[i].node);
        if (type != NULL && strcmp(type->name, "write_particles") == 0)
            return files[i].name;
    }
    return NULL;
}

static firn_result find_snow(picture *p, const char *folder, const firn_manifest_view *view,
                             char *path, firn_error *error)
{
    const char *name = snow_file(p, view->files, view->file_count);
    for (size_t i = 0; i < view->frame_count && name == NULL; i++)
        if (view->frames[i].frame == p->frame)
            name = snow_file(p, view->frames[i].files, view->frames[i].file_count);
    if (name == NULL)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "the cache '%s' has no particles of frame %d",
                         folder, p->frame);
    snprintf(path, FIRN_PATH_SIZE, "%.2000s/%.2000s", folder, name);
    return FIRN_OK;
}

static firn_result load_cache(picture *p, const char *folder, bool last, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/resolved.firn", folder);
    FIRN_TRY(firn_graph_load(path, &p->shot, error));
    firn_manifest *manifest = NULL;
    FIRN_TRY(firn_manifest_read(folder, &manifest, error));
    firn_manifest_view view = firn_manifest_look(manifest);
    p->fps = view.fps;
    if (last && view.frame_count > 0)
        p->frame = view.frames[view.frame_count - 1].frame;
    firn_result result = find_snow(p, folder, &view, path, error);
    firn_manifest_destroy(manifest);
    FIRN_TRY(result);
    FIRN_TRY(load_snow(p, path, error));
    return load_colliders(p, error);
}

// --- The command ---------------------------------------------------------------------------------

static bool read_def(const request *r, firn_picture_def *def)
{
    double zoom = 1.0;
    if (r->size != NULL && sscanf(r->size, "%dx%d", &def->width, &def->height) != 2)
        return false;
    if (r->view != NULL && sscanf(r->view, "%f,%f", &def->azimuth, &def->elevation) != 2)
        return false;
    if (r->zoom != NULL && !firn_read_number(r->zoom, &zoom))
        return false;
    def->zoom = (float)zoom;
    return true;
}

static firn_result draw(picture *p, const firn_picture_def *def, const char *output,
                        firn_error *error)
{
    bool fits = def->width > 0 && def->height > 0 && def->width <= 8192 && def->height <= 8192;
    uint8_t *rgb = fits ? firn_alloc((size_t)def->width * (size_t)def->height * 3) : NULL;
    if (fits && rgb == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the picture");
    p->scene.clouds = p->clouds;
    p->scene.solids = p->solids;
    firn_result result = firn_picture_render(def, &p->scene, rgb, error);
    if (result == FIRN_OK)
        result = firn_png_write(output, def->width, def->height, rgb, error);
    firn_free(rgb);
    return result;
}

static int run(const void *memory, const firn_words *words)
{
    const request *r = memory;
    const char *path = words->words[0], *output = r->output != NULL ? r->output : "picture.png";
    firn_picture_def def = firn_picture_def_default();
    picture p = {.frame = 1, .fps = 24.0f};
    if (!read_def(r, &def))
        return firn_usage("picture", "--size must be like 960x540, --view like 35,18 and --zoom a "
                                     "number");
    if (r->frame != NULL && !firn_read_int(r->frame, -1000000, 1000000, &p.frame))
        return firn_usage("picture", "--frame must be a whole number");
    struct stat status;
    bool folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    firn_error error;
    firn_result result =
        folder ? load_cache(&p, path, r->frame == NULL, &error) : load_snow(&p, path, &error);
    if (result == FIRN_OK)
        result = draw(&p, &def, output, &error);
    if (result == FIRN_OK)
        printf("%s: %zu particles, frame %d\n", output, p.clouds[0].count, p.frame);
    release(&p);
    return firn_exit_of(result, &error);
}

static const firn_option rows[] = {
    {"--frame", "N", "the frame; of a cache the last one unless given", offsetof(request, frame)},
    {"--size", "WxH", "pixels; 960x540 unless given", offsetof(request, size)},
    {"--view", "AZIMUTH,ELEVATION", "degrees from which to look; 35,18 unless given",
     offsetof(request, view)},
    {"--zoom", "FACTOR", "2 goes to half the distance", offsetof(request, zoom)},
    {"-o", "FILE.png", "picture.png unless given", offsetof(request, output)},
};

const firn_command firn_command_picture = {
    .name = "picture",
    .summary = "draws a frame of a cache",
    .usage = "CACHE|PARTICLES [OPTIONS]",
    .about = "Draws the particles of a cache, with the colliders of its shot, or those of one\n"
             "particle file (.abc, .bgeo, .vdb) as a shaded PNG.\n",
    .example = "  firn picture cache/snowball_smash/v1 --frame 12 -o smash.png\n",
    .own = {rows, FIRN_COUNT(rows)},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run,
};
