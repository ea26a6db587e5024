#include "usd.h"

#include "firn/collider.h"
#include "firn/graph.h"
#include "firn/shot.h"
#include "firn/vdb.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GRID_MAX = 64, PLANE_SIZE = 10 }; // meters, half of what is shown of an endless plane

// --- Volumes -------------------------------------------------------------------------------------

static const char *volume_file(const firn_cache_frame *frame)
{
    for (size_t i = 0; i < frame->file_count; i++) {
        const char *name = frame->files[i].name;
        size_t length = strlen(name);
        if (length > 4 && strcmp(name + length - 4, ".vdb") == 0)
            return name;
    }
    return NULL;
}

// A number or color of the metadata; what is not there stays.
static void read_meta(const firn_vdb_listing_view *file, const char *name, double values[3])
{
    for (size_t i = 0; i < file->meta_count; i++) {
        if (strcmp(file->meta[i].name, name) != 0)
            continue;
        char text[256];
        int length = 0;
        snprintf(text, sizeof text, "%s", file->meta[i].value);
        if (sscanf(text, " [%lf, %lf, %lf]%n", &values[0], &values[1], &values[2], &length) < 3)
            (void)sscanf(text, "%lf", &values[0]);
    }
}

static void read_look(const firn_vdb_listing_view *file, firn_usd_stage *stage)
{
    double extinction[3] = {724.0}, g[3] = {0.5}, albedo[3] = {0.9, 0.95, 1.0};
    read_meta(file, "sigma_t_per_density", extinction);
    read_meta(file, "g", g);
    read_meta(file, "albedo", albedo);
    stage->extinction = extinction[0];
    stage->anisotropy = g[0];
    stage->albedo = (firn_vec3){(float)albedo[0], (float)albedo[1], (float)albedo[2]};
}

static firn_result read_grids(const firn_vdb_listing_view *file, firn_usd_sources *sources,
                              firn_usd_stage *stage, firn_error *error)
{
    sources->grids = firn_alloc_zero(GRID_MAX * sizeof *sources->grids);
    sources->grid_names = firn_alloc_zero(GRID_MAX * sizeof *sources->grid_names);
    if (sources->grids == NULL || sources->grid_names == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the grids");
    size_t count = 0;
    for (size_t i = 0; i < file->grid_count && count < GRID_MAX; i++) {
        const firn_vdb_grid *grid = &file->grids[i];
        bool is_vector = strcmp(grid->type, "vec3s") == 0;
        if ((!is_vector && strcmp(grid->type, "float") != 0) ||
            strlen(grid->name) >= sizeof sources->grid_names[0])
            continue;
        snprintf(sources->grid_names[count], sizeof sources->grid_names[0], "%s", grid->name);
        sources->grids[count] = (firn_usd_grid){
            .name = sources->grid_names[count],
            .data_type =
                is_vector ? (grid->half ? "half3" : "float3") : (grid->half ? "half" : "float"),
            .class_name = grid->grid_class == FIRN_VDB_CLASS_FOG         ? "fogVolume"
                          : grid->grid_class == FIRN_VDB_CLASS_LEVEL_SET ? "levelSet"
                                                                         : "unknown",
            .is_vector = is_vector,
        };
        count++;
    }
    stage->grids = sources->grids;
    stage->grid_count = count;
    return FIRN_OK;
}

// The box around all grids, each voxel as large as it is.
static void read_box(const firn_vdb_listing_view *file, firn_usd_volume_frame *frame)
{
    firn_vec3 lower = {INFINITY, INFINITY, INFINITY};
    firn_vec3 upper = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < file->grid_count; i++) {
        const firn_vdb_grid *grid = &file->grids[i];
        if (!grid->counted || !grid->usable || grid->active_voxels == 0)
            continue;
        for (int corner = 0; corner < 8; corner++) {
            firn_vec3 index = {
                corner & 1 ? (float)grid->box_max.x + 0.5f : (float)grid->box_min.x - 0.5f,
                corner & 2 ? (float)grid->box_max.y + 0.5f : (float)grid->box_min.y - 0.5f,
                corner & 4 ? (float)grid->box_max.z + 0.5f : (float)grid->box_min.z - 0.5f};
            firn_vec3 at = firn_transform_point(grid->map, index);
            lower = (firn_vec3){fminf(lower.x, at.x), fminf(lower.y, at.y), fminf(lower.z, at.z)};
            upper = (firn_vec3){fmaxf(upper.x, at.x), fmaxf(upper.y, at.y), fmaxf(upper.z, at.z)};
        }
    }
    frame->lower = lower;
    frame->upper = upper;
}

static firn_result gather_volumes(const char *folder, const firn_manifest_view *manifest,
                                  firn_usd_sources *sources, firn_usd_stage *stage,
                                  firn_error *error)
{
    sources->volumes = firn_alloc_zero((manifest->frame_count + 1) * sizeof *sources->volumes);
    if (sources->volumes == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the volumes");
    stage->volumes = sources->volumes;
    firn_vdb_reader_def def = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    FIRN_TRY(firn_vdb_reader_create(&def, &reader, error));
    firn_result result = FIRN_OK;
    for (size_t i = 0; i < manifest->frame_count && result == FIRN_OK; i++) {
        const char *file = volume_file(&manifest->frames[i]);
        if (file == NULL)
            continue;
        char path[FIRN_PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s", folder, file);
        firn_vdb_listing *listing = NULL;
        result = firn_vdb_list(reader, path, NULL, &listing, error);
        if (result != FIRN_OK)
            break;
        firn_vdb_listing_view view = firn_vdb_listing_read(listing);
        firn_usd_volume_frame *frame = &sources->volumes[stage->volume_count++];
        *frame = (firn_usd_volume_frame){.frame = manifest->frames[i].frame, .file = file};
        read_box(&view, frame);
        read_look(&view, stage);
        if (stage->grids == NULL)
            result = read_grids(&view, sources, stage, error);
        firn_vdb_listing_destroy(listing);
    }
    firn_vdb_reader_destroy(reader);
    return result;
}

// --- Colliders -----------------------------------------------------------------------------------

static bool describe_shape(const firn_collider_def *def, firn_usd_solid *solid)
{
    solid->size = def->half_size;
    solid->radius = def->radius;
    switch (def->shape) {
    case FIRN_SHAPE_PLANE:
        solid->shape = FIRN_USD_PLANE;
        solid->size = (firn_vec3){PLANE_SIZE, 0.0f, PLANE_SIZE};
        return true;
    case FIRN_SHAPE_BOX:
        solid->shape = FIRN_USD_CUBE;
        return true;
    case FIRN_SHAPE_SPHERE:
        solid->shape = FIRN_USD_SPHERE;
        return true;
    case FIRN_SHAPE_CAPSULE:
        solid->shape = FIRN_USD_CAPSULE;
        return true;
    default:
        return false; // meshes and level sets come from the files of the shot
    }
}

static bool same_pose(const firn_transform *a, const firn_transform *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

// The pose of a collider in every frame; one is enough when it stands still.
static firn_result gather_poses(firn_usd_sources *sources, const firn_manifest_view *manifest,
                                firn_usd_solid *solid, firn_transform *poses, firn_error *error)
{
    bool moves = false;
    for (size_t i = 0; i < manifest->frame_count; i++) {
        const firn_data *data = NULL;
        FIRN_TRY(
            firn_graph_cook(sources->graph, solid->name, manifest->frames[i].frame, &data, error));
        firn_collider_def def =
            firn_solid_noted(manifest, manifest->frames[i].frame, solid->name, data->collider);
        poses[i] = def.pose;
        moves = moves || !same_pose(&poses[i], &poses[0]);
    }
    solid->poses = poses;
    solid->frames = sources->frames;
    solid->pose_count = moves ? manifest->frame_count : 1;
    return FIRN_OK;
}

static firn_result gather_solids(const firn_manifest_view *manifest, firn_usd_sources *sources,
                                 firn_usd_stage *stage, firn_error *error)
{
    size_t node_count = 0, frames = manifest->frame_count;
    while (firn_graph_node(sources->graph, node_count) != NULL)
        node_count++;
    sources->solids = firn_alloc_zero((node_count + 1) * sizeof *sources->solids);
    sources->frames = firn_alloc_zero(frames * sizeof *sources->frames);
    sources->poses = firn_alloc_zero((node_count + 1) * frames * sizeof *sources->poses);
    if (sources->solids == NULL || sources->frames == NULL || sources->poses == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the colliders");
    for (size_t i = 0; i < frames; i++)
        sources->frames[i] = manifest->frames[i].frame;
    stage->solids = sources->solids;
    for (size_t i = 0; i < node_count; i++) {
        const char *name = firn_graph_node(sources->graph, i);
        const firn_data *data = NULL;
        // A collider whose files are gone is no reason to fail: the cache is whole.
        if (firn_graph_node_type(sources->graph, name)->output != FIRN_KIND_COLLIDER ||
            firn_graph_cook(sources->graph, name, manifest->frames[0].frame, &data, NULL) !=
                FIRN_OK)
            continue;
        firn_usd_solid *solid = &sources->solids[stage->solid_count];
        solid->name = name;
        if (!describe_shape(&data->collider->def, solid))
            continue;
        FIRN_TRY(gather_poses(sources, manifest, solid,
                              sources->poses + stage->solid_count * frames, error));
        stage->solid_count++;
    }
    return FIRN_OK;
}

firn_result firn_usd_gather(const char *folder, const firn_manifest_view *manifest,
                            firn_usd_sources *sources, firn_usd_stage *stage, firn_error *error)
{
    FIRN_TRY(gather_volumes(folder, manifest, sources, stage, error));
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/resolved.firn", folder);
    if (firn_graph_load(path, &sources->graph, NULL) != FIRN_OK)
        return FIRN_OK; // an old cache, or one whose nodes this program does not know
    return gather_solids(manifest, sources, stage, error);
}

void firn_usd_sources_release(firn_usd_sources *sources)
{
    firn_free(sources->volumes);
    firn_free(sources->grids);
    firn_free(sources->grid_names);
    firn_free(sources->solids);
    firn_free(sources->frames);
    firn_free(sources->poses);
    firn_graph_destroy(sources->graph);
}
