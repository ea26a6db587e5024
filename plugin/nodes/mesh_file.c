#include "mesh_file.h"

#include "limit_surface.h"
#include "mesh_usd.h"
#include "shape_file.h"

#include "firn/file.h"
#include "firn/obj.h"
#include "firn/polygons.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const float POSITION_LIMIT = 1e9f; // units of the file

// clang-format off
static const firn_param subd_params[] = {
    {FIRN_PARAM(firn_subd_def, level), FIRN_INT, {-1}, -1, 6, "",
     "Steps from the cage of an Alembic or USD subdivision surface to its limit surface, each of "
     "which quarters the faces; -1 takes as many as bring edges down to two voxels, 0 the cage as "
     "it is",
     .label = "Subdivision level", .added = true},
};
// clang-format on

// clang-format off
#define ROW(field) FIRN_PARAM(firn_layer_def, field)
static const firn_param layer_params[] = {
    {ROW(layer), FIRN_PATH, {0}, 0, 0, "",
     "An Alembic archive whose objects and properties stand over those of the file: an animation "
     "over a model", .added = true},
    {ROW(layer_2), FIRN_PATH, {0}, 0, 0, "", "Another one, over both", .label = "Layer 2",
     .added = true},
};
#undef ROW
// clang-format on

firn_param_table firn_layer_params(void)
{
    firn_param_table table = {layer_params, FIRN_COUNT(layer_params)};
    return table;
}

const char *firn_layer_of(const firn_layer_def *layers, const firn_param *param)
{
    if (strcmp(param->name, "layer") == 0)
        return layers->layer;
    return strcmp(param->name, "layer_2") == 0 ? layers->layer_2 : NULL;
}

firn_param_table firn_subd_params(void)
{
    firn_param_table table = {subd_params, FIRN_COUNT(subd_params)};
    return table;
}

void firn_mesh_free(firn_mesh *mesh)
{
    firn_free(mesh->position);
    firn_free(mesh->velocity);
    firn_free(mesh->face_size);
    firn_free(mesh->corner);
    memset(mesh, 0, sizeof *mesh);
}

static void *copy_of(const void *from, size_t bytes)
{
    void *copy = firn_alloc(bytes + 1);
    if (copy != NULL && bytes > 0)
        memcpy(copy, from, bytes);
    return copy;
}

static firn_result fail_memory(const char *path, firn_error *error)
{
    return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read '%.300s'", path);
}

bool firn_mesh_same_topology(const firn_mesh *a, const firn_mesh *b)
{
    if (a->corner_count == 0)
        return b->corner_count == 0 && a->vertex_count == b->vertex_count;
    return a->vertex_count == b->vertex_count && a->face_count == b->face_count &&
           a->corner_count == b->corner_count &&
           memcmp(a->face_size, b->face_size, a->face_count * sizeof *a->face_size) == 0 &&
           memcmp(a->corner, b->corner, a->corner_count * sizeof *a->corner) == 0;
}

firn_result firn_mesh_mix(const firn_mesh *a, const firn_mesh *b, double share, firn_mesh *mesh,
                          firn_error *error)
{
    *mesh = (firn_mesh){.vertex_count = a->vertex_count,
                        .face_count = a->face_count,
                        .corner_count = a->corner_count,
                        .skipped = a->skipped};
    mesh->position = copy_of(a->position, a->vertex_count * sizeof *a->position);
    mesh->face_size = copy_of(a->face_size, a->face_count * sizeof *a->face_size);
    mesh->corner = copy_of(a->corner, a->corner_count * sizeof *a->corner);
    if (mesh->position == NULL || mesh->face_size == NULL || mesh->corner == NULL) {
        firn_mesh_free(mesh);
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot copy a mesh");
    }
    for (size_t i = 0; i < a->vertex_count && b != NULL; i++)
        mesh->position[i] = firn_lerp(a->position[i], b->position[i], (float)share);
    return FIRN_OK;
}

void firn_mesh_skip_faces(firn_mesh *mesh, const bool *marked)
{
    size_t faces = 0, corners = 0, at = 0;
    for (size_t f = 0; f < mesh->face_count; f++) {
        int32_t size = mesh->face_size[f];
        if (size >= 3 && (marked == NULL || !marked[f])) {
            memmove(mesh->corner + corners, mesh->corner + at, (size_t)size * sizeof *mesh->corner);
            mesh->face_size[faces++] = size;
            corners += (size_t)size;
        }
        at += (size_t)size;
    }
    mesh->skipped += marked == NULL ? mesh->face_count - faces : 0;
    mesh->face_count = faces;
    mesh->corner_count = corners;
}

static firn_result read_obj(firn_mesh_file *file, const char *object, double time, firn_mesh *mesh,
                            firn_error *error)
{
    (void)object;
    (void)time;
    firn_obj *obj = NULL;
    FIRN_TRY(firn_obj_read(file->path, &obj, error));
    const firn_obj_mesh *view = firn_obj_view(obj);
    mesh->vertex_count = view->position_count;
    mesh->face_count = view->face_count;
    mesh->corner_count = view->index_count;
    mesh->position = copy_of(view->positions, view->position_count * sizeof *view->positions);
    mesh->face_size = copy_of(view->face_counts, view->face_count * sizeof *view->face_counts);
    mesh->corner = copy_of(view->face_indices, view->index_count * sizeof *view->face_indices);
    firn_obj_destroy(obj);
    if (mesh->position == NULL || mesh->face_size == NULL || mesh->corner == NULL)
        return fail_memory(file->path, error);
    return FIRN_OK;
}

// Takes the arrays over.
static firn_result take(firn_polygons *read, const char *path, firn_mesh *mesh, firn_error *error)
{
    *mesh = (firn_mesh){.vertex_count = read->position_count,
                        .position = read->positions,
                        .velocity = read->velocities,
                        .stored = read->velocities != NULL,
                        .face_count = read->face_count,
                        .face_size = read->face_counts,
                        .corner_count = read->index_count,
                        .corner = read->face_indices};
    read->positions = read->velocities = NULL;
    read->face_counts = read->face_indices = NULL;
    firn_polygons_free(read);
    if (mesh->face_count == 0)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "'%.300s' has points but no faces; a mesh is needed here", path);
    return FIRN_OK;
}

static firn_result read_ply(firn_mesh_file *file, const char *object, double time, firn_mesh *mesh,
                            firn_error *error)
{
    (void)object;
    (void)time;
    firn_polygons read;
    FIRN_TRY(firn_ply_read(file->path, &read, error));
    return take(&read, file->path, mesh, error);
}

static firn_result read_stl(firn_mesh_file *file, const char *object, double time, firn_mesh *mesh,
                            firn_error *error)
{
    (void)object;
    (void)time;
    firn_polygons read;
    FIRN_TRY(firn_stl_read(file->path, &read, error));
    return take(&read, file->path, mesh, error);
}

// Widens the range by the times of what is animated in an object.
static void add_times(firn_mesh_file *file, const firn_abc_object *object)
{
    for (int i = 0; i < object->property_count; i++) {
        const firn_abc_property *p =
            firn_abc_property_at(file->archive, object->first_property + i);
        if (p->kind == FIRN_ABC_PROPERTY_COMPOUND || p->sample_count < 2 || p->constant)
            continue;
        const firn_abc_time_sampling *sampling =
            firn_abc_time_sampling_at(file->archive, p->time_sampling);
        double first = firn_abc_sample_time(sampling, 0);
        double last = firn_abc_sample_time(sampling, p->sample_count - 1);
        file->first_time = file->ranged ? fmin(file->first_time, first) : first;
        file->last_time = file->ranged ? fmax(file->last_time, last) : last;
        file->ranged = true;
    }
}

// When the meshes that a pattern selects move, or the transforms above them: an animated camera in
// the same archive is none of their business.
static firn_result open_layers(firn_mesh_file *file, firn_error *error)
{
    const char *given[2] = {file->layers.layer, file->layers.layer_2};
    char names[2][FIRN_PATH_SIZE];
    const char *paths[3] = {file->path};
    int count = 1;
    for (int i = 0; i < 2; i++) {
        if (given[i][0] == '\0')
            continue;
        FIRN_TRY(firn_path_of_frame(given[i], file->number, names[i], sizeof names[i], error));
        if (!firn_path_ends_with(names[i], ".abc"))
            return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                             "the layer '%.300s' is no Alembic archive", names[i]);
        paths[count++] = names[i];
    }
    return count > 1 ? firn_abc_open_layers(paths, count, &file->archive, error)
                     : firn_abc_open(file->path, &file->archive, error);
}

static firn_result open_abc(firn_mesh_file *file, const char *object, firn_error *error)
{
    FIRN_TRY(open_layers(file, error));
    char text[8];
    for (int i = 0; i < firn_abc_object_count(file->archive); i++) {
        const firn_abc_object *info = firn_abc_object_at(file->archive, i);
        bool is_mesh = info->kind == FIRN_ABC_KIND_POLYMESH || info->kind == FIRN_ABC_KIND_SUBD;
        bool is_instance = firn_abc_metadata_value(info->metadata, "isInstance", text, sizeof text);
        if ((!is_mesh && !is_instance) || !firn_abc_object_matches(file->archive, i, object))
            continue;
        if (is_instance) {
            // What it stands for may be anywhere.
            file->ranged = firn_abc_time_range(file->archive, &file->first_time, &file->last_time);
            return FIRN_OK;
        }
        for (int k = i; k >= 0; k = firn_abc_object_at(file->archive, k)->parent)
            add_times(file, firn_abc_object_at(file->archive, k));
    }
    return FIRN_OK;
}

// A cage that is taken as it is has no faces where its surface has holes.
static firn_result skip_holes(const firn_abc_mesh *read, firn_mesh *mesh, firn_error *error)
{
    bool *marked = firn_alloc_zero(mesh->face_count + 1);
    if (marked == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read a mesh");
    for (size_t i = 0; i < read->cage_count; i++)
        for (size_t k = 0; k < read->cages[i].hole_count; k++)
            marked[read->cages[i].first_face + (size_t)read->cages[i].hole[k]] = true;
    firn_mesh_skip_faces(mesh, marked);
    firn_free(marked);
    return FIRN_OK;
}

static firn_result read_abc(firn_mesh_file *file, const char *object, double time, firn_mesh *mesh,
                            firn_error *error)
{
    firn_abc_mesh read = {0};
    FIRN_TRY(firn_abc_read_world_mesh(file->archive, object, time, &read, error));
    if (read.cage_count > 0 && file->subd.level != 0) {
        firn_result result =
            firn_limit_surfaces_apply(&file->limits, &file->subd, &read, file->path, mesh, error);
        firn_abc_mesh_free(&read);
        return result;
    }
    *mesh = (firn_mesh){.vertex_count = read.vertex_count,
                        .position = read.position,
                        .velocity = read.velocity,
                        .stored = read.velocity_stored,
                        .face_count = read.face_count,
                        .face_size = read.face_size,
                        .corner_count = read.corner_count,
                        .corner = read.corner};
    read.position = read.velocity = NULL;
    read.face_size = read.corner = NULL;
    firn_result result = read.cage_count > 0 ? skip_holes(&read, mesh, error) : FIRN_OK;
    firn_abc_mesh_free(&read);
    return result;
}

static const struct {
    const char *ending;
    firn_result (*open)(firn_mesh_file *file, const char *object,
                        firn_error *error); // NULL: nothing stays open
    firn_result (*read)(firn_mesh_file *file, const char *object, double time, firn_mesh *mesh,
                        firn_error *error);
} formats[] = {
    {".obj", NULL, read_obj},
    {".ply", NULL, read_ply},
    {".stl", NULL, read_stl},
    {".abc", open_abc, read_abc},
    {".usd", firn_mesh_usd_open, firn_mesh_usd_read},
    {".usda", firn_mesh_usd_open, firn_mesh_usd_read},
    {".usdc", firn_mesh_usd_open, firn_mesh_usd_read},
};

static int format_of(const char *path)
{
    for (size_t i = 0; i < FIRN_COUNT(formats); i++)
        if (firn_path_ends_with(path, formats[i].ending))
            return (int)i;
    return -1;
}

// What was refined stays, for the next of numbered files.
static void forget(firn_mesh_file *file)
{
    firn_abc_close(file->archive);
    file->archive = NULL;
    firn_usd_scene_close(file->usd);
    file->usd = NULL;
    file->path[0] = '\0';
    file->ranged = false;
}

void firn_mesh_file_close(firn_mesh_file *file)
{
    forget(file);
    firn_limit_surfaces_destroy(file->limits);
    file->limits = NULL;
}

static const char *advice_for(const char *path)
{
    static const struct {
        const char *ending, *advice;
    } others[] = {
        {".fbx", ": export the FBX as Alembic, which has the motion of its points"},
        {".usdz", ": unpack the package (unzip) and name the layer in it"},
        {".glb", ": export the glTF as Alembic or PLY"},
        {".gltf", ": export the glTF as Alembic or PLY"},
        {".vdb", ": set the shape or region to level_set"},
        {".bgeo", ": it holds points here; export the mesh as Alembic or OBJ"},
    };
    for (size_t i = 0; i < FIRN_COUNT(others); i++)
        if (firn_path_ends_with(path, others[i].ending))
            return others[i].advice;
    return "";
}

firn_result firn_mesh_file_open(firn_mesh_file *file, const char *path, const char *object,
                                firn_error *error)
{
    if (strcmp(file->path, path) == 0)
        return FIRN_OK;
    forget(file);
    int format = format_of(path);
    if (format < 0)
        return firn_fail(
            error, FIRN_ERR_UNSUPPORTED,
            "'%.300s' is no mesh that can be read; meshes are .obj, .ply, .stl, .abc or "
            ".usd files%s",
            path, advice_for(path));
    if ((size_t)snprintf(file->path, sizeof file->path, "%s", path) >= sizeof file->path)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name '%.100s...' is too long", path);
    firn_result result =
        formats[format].open != NULL ? formats[format].open(file, object, error) : FIRN_OK;
    if (result != FIRN_OK)
        forget(file);
    return result;
}

void firn_mesh_file_leftover(const firn_mesh_file *file, const char *object, char *text,
                             size_t size)
{
    text[0] = '\0';
    if (file->archive != NULL)
        firn_abc_leftover(file->archive, object, text, size);
    if (file->usd != NULL)
        firn_usd_scene_leftover(file->usd, object, text, size);
}

const char *firn_mesh_file_metadata(const firn_mesh_file *file)
{
    if (file->usd != NULL)
        return firn_usd_scene_metadata(file->usd);
    return file->archive != NULL ? firn_abc_metadata(file->archive) : "";
}

static firn_result check_positions(const firn_mesh *mesh, const char *path, firn_error *error)
{
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        firn_vec3 p = mesh->position[i];
        if (!(firn_length(p) <= POSITION_LIMIT))
            return firn_fail(error, FIRN_ERR_FORMAT,
                             "point %zu of '%.300s' is at (%g, %g, %g); nothing farther than %g "
                             "from the origin is taken",
                             i, path, (double)p.x, (double)p.y, (double)p.z,
                             (double)POSITION_LIMIT);
        if (mesh->velocity != NULL && !firn_vec_is_finite(mesh->velocity[i]))
            return firn_fail(error, FIRN_ERR_FORMAT,
                             "the velocity of point %zu of '%.300s' is not finite", i, path);
    }
    return FIRN_OK;
}

firn_result firn_mesh_file_read(firn_mesh_file *file, const char *object, double time,
                                firn_mesh *mesh, firn_error *error)
{
    *mesh = (firn_mesh){0};
    firn_result result = formats[format_of(file->path)].read(file, object, time, mesh, error);
    if (result == FIRN_OK) {
        firn_mesh_skip_faces(mesh, NULL);
        result = check_positions(mesh, file->path, error);
    }
    if (result != FIRN_OK)
        firn_mesh_free(mesh);
    return result;
}
