#include "info.h"

#include "firn/abc_scene.h"
#include "firn/bgeo.h"
#include "firn/obj.h"
#include "firn/vdb.h"

#include <math.h>
#include <stdio.h>

static void print_box(firn_vec3 lower, firn_vec3 upper)
{
    printf("  bounds (%g %g %g) to (%g %g %g)\n", (double)lower.x, (double)lower.y, (double)lower.z,
           (double)upper.x, (double)upper.y, (double)upper.z);
}

// --- Alembic -------------------------------------------------------------------------------------

static const char *const kind_names[] = {
    [FIRN_ABC_KIND_GROUP] = "group",   [FIRN_ABC_KIND_XFORM] = "transform",
    [FIRN_ABC_KIND_POLYMESH] = "mesh", [FIRN_ABC_KIND_SUBD] = "subdivision mesh",
    [FIRN_ABC_KIND_POINTS] = "points", [FIRN_ABC_KIND_FACESET] = "face set",
    [FIRN_ABC_KIND_CAMERA] = "camera", [FIRN_ABC_KIND_OTHER] = "not handled",
};

static void print_count(const char *what, size_t min, size_t max)
{
    if (max > 0 && min == max)
        printf(", %zu %s", max, what);
    else if (max > 0)
        printf(", %zu to %zu %s", min, max, what);
}

static void print_params(const firn_abc *archive, const firn_abc_object *object, int indent)
{
    for (int i = 0; i < object->property_count; i++) {
        const firn_abc_property *p = firn_abc_property_at(archive, object->first_property + i);
        if (p->kind == FIRN_ABC_PROPERTY_COMPOUND || p->sample_count == 0)
            continue;
        printf("%*s%s  %s", indent, "", p->path, firn_abc_pod_name(p->pod));
        if (p->extent > 1)
            printf("[%d]", p->extent);
        printf("%s, %u samples%s\n", p->kind == FIRN_ABC_PROPERTY_ARRAY ? " array" : "",
               p->sample_count, p->constant && p->sample_count > 1 ? ", constant" : "");
    }
}

static void print_camera(const firn_abc *archive, int index, int indent)
{
    firn_abc_camera camera;
    if (firn_abc_object_at(archive, index)->kind != FIRN_ABC_KIND_CAMERA ||
        firn_abc_read_camera(archive, index, 0.0, &camera, NULL) != FIRN_OK)
        return;
    double half = 5.0 * camera.aperture[0] * camera.lens_squeeze / camera.focal_length;
    printf("%*s%g mm lens, film of %g x %g cm, %.1f degrees wide, f/%g, near %g, far %g\n", indent,
           "", camera.focal_length, camera.aperture[0], camera.aperture[1],
           2.0 * 57.29577951308232 * atan(half), camera.f_stop, camera.near_clip, camera.far_clip);
}

static firn_result print_object(const firn_abc *archive, int index, firn_error *error)
{
    const firn_abc_object *object = firn_abc_object_at(archive, index);
    int indent = 2 * object->depth;
    printf("%*s%s  %s", indent, "", object->depth > 0 ? object->name : "/",
           kind_names[object->kind]);
    firn_abc_summary summary;
    FIRN_TRY(firn_abc_summarize(archive, index, &summary, error));
    print_count("points", summary.min_points, summary.max_points);
    print_count("faces", summary.min_faces, summary.max_faces);
    if (summary.sample_count > 0)
        printf(", %u samples", summary.sample_count);
    if (summary.sample_count > 1)
        printf(" from %g to %g s", summary.first_time, summary.last_time);
    printf("\n");
    const double *b = summary.bounds;
    if (summary.has_bounds)
        printf("%*sbounds (%g %g %g) to (%g %g %g)\n", indent + 4, "", b[0], b[1], b[2], b[3], b[4],
               b[5]);
    print_camera(archive, index, indent + 4);
    print_params(archive, object, indent + 4);
    return FIRN_OK;
}

firn_result firn_info_abc(const char *path, firn_error *error)
{
    firn_abc *archive = NULL;
    FIRN_TRY(firn_abc_open(path, &archive, error));
    int version = firn_abc_library_version(archive);
    printf("%s: Alembic (Ogawa), library %d.%d.%d\n  %s\n", path, version / 10000,
           version / 100 % 100, version % 100, firn_abc_metadata(archive));
    double first, last;
    if (firn_abc_time_range(archive, &first, &last))
        printf("  animated from %g to %g s\n", first, last);
    firn_result result = FIRN_OK;
    for (int i = 0; result == FIRN_OK && i < firn_abc_object_count(archive); i++)
        result = print_object(archive, i, error);
    char unused[2000];
    firn_abc_leftover(archive, "", unused, sizeof unused);
    if (result == FIRN_OK && unused[0] != '\0')
        printf("  not used by colliders and sources: %s\n", unused);
    firn_abc_close(archive);
    return result;
}

// --- Geometry files ------------------------------------------------------------------------------

static void print_attribute(const firn_attribute *a, size_t count, const char *owner)
{
    printf("  %-6s %-12s %s", owner, a->name, firn_storage_name(a->storage));
    if (a->tuple_size > 1)
        printf("[%d]", a->tuple_size);
    if (a->storage == FIRN_STORAGE_STRING) {
        printf(", %zu strings", a->string_count);
    } else if (count > 0 && a->tuple_size <= 4) {
        for (int c = 0; c < a->tuple_size; c++) {
            firn_range range = firn_attribute_range(a, count, c);
            printf(", %g to %g", range.lower, range.upper);
            if (range.not_finite > 0)
                printf(" (%zu not finite)", range.not_finite);
        }
    }
    printf("\n");
}

firn_result firn_info_bgeo(const char *path, firn_error *error)
{
    static const char *const formats[] = {"binary JSON", "text", "classic"};
    firn_bgeo *geometry = NULL;
    FIRN_TRY(firn_bgeo_read(path, NULL, &geometry, error));
    const firn_bgeo_info *info = firn_bgeo_describe(geometry);
    const firn_points *points = firn_bgeo_points(geometry);
    printf("%s: Houdini geometry, %s%s%s%s\n", path, formats[info->format],
           info->gzip ? ", compressed" : "", info->software[0] != '\0' ? ", by " : "",
           info->software);
    printf("  %zu points, %llu primitives\n", points->count,
           (unsigned long long)info->primitive_count);
    firn_vec3 lower, upper;
    if (firn_points_bounds(points, &lower, &upper))
        print_box(lower, upper);
    for (size_t i = 0; i < points->attribute_count; i++)
        print_attribute(&points->attributes[i], points->count, "point");
    for (size_t i = 0; i < points->detail_count; i++)
        print_attribute(&points->details[i], 1, "detail");
    for (size_t i = 0; i < info->skipped_count; i++)
        printf("  not read: %s\n", info->skipped[i]);
    firn_bgeo_destroy(geometry);
    return FIRN_OK;
}

firn_result firn_info_obj(const char *path, firn_error *error)
{
    firn_obj *obj = NULL;
    FIRN_TRY(firn_obj_read(path, &obj, error));
    const firn_obj_mesh *mesh = firn_obj_view(obj);
    printf("%s: OBJ mesh\n  %zu points, %zu faces: %zu triangles, %zu quads, %zu larger\n", path,
           mesh->position_count, mesh->face_count, mesh->triangle_count, mesh->quad_count,
           mesh->face_count - mesh->triangle_count - mesh->quad_count);
    if (mesh->position_count > 0)
        print_box(mesh->lower, mesh->upper);
    firn_obj_destroy(obj);
    return FIRN_OK;
}

// --- Volumes -------------------------------------------------------------------------------------

static void print_meta(const firn_vdb_meta *meta, size_t count, int indent)
{
    for (size_t i = 0; i < count; i++)
        printf("%*s%s (%s): %s\n", indent, "", meta[i].name, meta[i].type, meta[i].value);
}

static void print_grid(const firn_vdb_grid *grid)
{
    static const char *const classes[] = {"", ", level set", ", fog volume", ", staggered"};
    printf("  %s  %s%s%s%s\n", grid->name, grid->type, classes[grid->grid_class],
           grid->half ? ", half" : "", grid->usable ? "" : ", not usable: it is sheared");
    printf("    voxels of %g m", (double)grid->voxel_size.x);
    if (grid->counted)
        printf(", %llu active, (%d %d %d) to (%d %d %d)", (unsigned long long)grid->active_voxels,
               grid->box_min.x, grid->box_min.y, grid->box_min.z, grid->box_max.x, grid->box_max.y,
               grid->box_max.z);
    printf("\n");
    print_meta(grid->meta, grid->meta_count, 4);
}

firn_result firn_info_vdb(const char *path, firn_error *error)
{
    firn_vdb_reader_def def = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    firn_vdb_listing *listing = NULL;
    FIRN_TRY(firn_vdb_reader_create(&def, &reader, error));
    firn_result result = firn_vdb_list(reader, path, NULL, &listing, error);
    if (result == FIRN_OK) {
        firn_vdb_listing_view view = firn_vdb_listing_read(listing);
        printf("%s: OpenVDB, %llu bytes, %zu grids\n", path, (unsigned long long)view.bytes,
               view.grid_count);
        print_meta(view.meta, view.meta_count, 2);
        for (size_t i = 0; i < view.grid_count; i++)
            print_grid(&view.grids[i]);
    }
    firn_vdb_listing_destroy(listing);
    firn_vdb_reader_destroy(reader);
    return result;
}
