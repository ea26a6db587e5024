#define _POSIX_C_SOURCE 200809L
#include "point_file.h"

#include "shape_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static firn_result claim_columns(firn_point_file *file, size_t count, firn_error *error)
{
    file->columns = firn_alloc_zero((count + 1) * sizeof *file->columns);
    if (file->columns == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the attributes");
    file->points.attributes = file->columns;
    return FIRN_OK;
}

static void add_column(firn_point_file *file, firn_attribute column)
{
    file->columns[file->points.attribute_count++] = column;
}

static firn_result read_bgeo(firn_point_file *file, const char *path, firn_error *error)
{
    FIRN_TRY(firn_stamp_check(path, error));
    FIRN_TRY(firn_bgeo_read(path, NULL, &file->bgeo, error));
    file->points = *firn_bgeo_points(file->bgeo);
    return FIRN_OK;
}

// Columns of an archive's own attributes; types that particles do not have are left out.
static void add_archive_attribute(firn_point_file *file, const firn_abc_attribute *from)
{
    static const struct {
        firn_abc_pod pod;
        firn_storage storage;
    } types[] = {
        {FIRN_ABC_POD_FLOAT32, FIRN_STORAGE_FLOAT32}, {FIRN_ABC_POD_FLOAT64, FIRN_STORAGE_FLOAT64},
        {FIRN_ABC_POD_INT32, FIRN_STORAGE_INT32},     {FIRN_ABC_POD_UINT32, FIRN_STORAGE_UINT32},
        {FIRN_ABC_POD_INT64, FIRN_STORAGE_INT64},     {FIRN_ABC_POD_UINT64, FIRN_STORAGE_UINT64},
        {FIRN_ABC_POD_UINT8, FIRN_STORAGE_UINT8},
    };
    const firn_abc_array *array = &from->array;
    if (array->count != file->points.count || firn_points_find(&file->points, from->name) != NULL)
        return;
    for (size_t i = 0; i < FIRN_COUNT(types); i++)
        if (types[i].pod == array->pod)
            add_column(file, (firn_attribute){.name = from->name,
                                              .storage = types[i].storage,
                                              .tuple_size = array->extent,
                                              .data = array->values});
}

static int find_points(const firn_abc *archive, const char *pattern)
{
    for (int i = 0; i < firn_abc_object_count(archive); i++)
        if (firn_abc_object_at(archive, i)->kind == FIRN_ABC_KIND_POINTS &&
            firn_abc_object_matches(archive, i, pattern))
            return i;
    return -1;
}

static bool has_meshes(const firn_abc *archive)
{
    for (int i = 0; i < firn_abc_object_count(archive); i++) {
        firn_abc_kind kind = firn_abc_object_at(archive, i)->kind;
        if (kind == FIRN_ABC_KIND_POLYMESH || kind == FIRN_ABC_KIND_SUBD)
            return true;
    }
    return false;
}

static void close_archive(firn_point_file *file)
{
    firn_abc_close(file->abc);
    file->abc = NULL;
    firn_usd_scene_close(file->usd);
    file->usd = NULL;
    file->archive_path[0] = '\0';
}

// Opens an archive unless it is open and still the same.
static firn_result open_archive(firn_point_file *file, const char *path, firn_error *error)
{
    struct stat status;
    int64_t changed[2] = {0, 0};
    if (stat(path, &status) == 0) {
        changed[0] = status.st_mtim.tv_sec;
        changed[1] = status.st_mtim.tv_nsec;
    }
    if (strcmp(file->archive_path, path) == 0 &&
        memcmp(changed, file->archive_changed, sizeof changed) == 0)
        return FIRN_OK;
    close_archive(file);
    FIRN_TRY(firn_stamp_check(path, error));
    FIRN_TRY(firn_path_is_usd(path) ? firn_usd_scene_open(path, &file->usd, error)
                                    : firn_abc_open(path, &file->abc, error));
    snprintf(file->archive_path, sizeof file->archive_path, "%s", path);
    memcpy(file->archive_changed, changed, sizeof changed);
    return FIRN_OK;
}

static firn_result read_abc(firn_point_file *file, const char *path, const char *pattern,
                            double time, firn_error *error)
{
    FIRN_TRY(open_archive(file, path, error));
    int object = find_points(file->abc, pattern);
    if (object < 0)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "'%s' has no particles%s%s%s", path,
                         pattern[0] != '\0' ? " under " : "", pattern,
                         has_meshes(file->abc) ? "; it has meshes, which sources fill with "
                                                 "region = mesh"
                                               : "");
    firn_abc_points *read = &file->abc_points;
    FIRN_TRY(firn_abc_read_points(file->abc, object, time, read, error));
    FIRN_TRY(claim_columns(file, 4 + (size_t)read->attribute_count, error));
    file->points.count = read->count;
    add_column(file, (firn_attribute){.name = "P",
                                      .storage = FIRN_STORAGE_FLOAT32,
                                      .type_info = FIRN_TYPE_POINT,
                                      .tuple_size = 3,
                                      .data = read->position});
    add_column(file, (firn_attribute){.name = "v",
                                      .storage = FIRN_STORAGE_FLOAT32,
                                      .type_info = FIRN_TYPE_VECTOR,
                                      .tuple_size = 3,
                                      .data = read->velocity});
    if (read->id != NULL)
        add_column(file, (firn_attribute){.name = "id",
                                          .storage = FIRN_STORAGE_UINT64,
                                          .tuple_size = 1,
                                          .data = read->id});
    if (read->width != NULL) {
        file->radius = firn_alloc((read->count + 1) * sizeof(float));
        if (file->radius == NULL)
            return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read '%s'", path);
        for (size_t i = 0; i < read->count; i++)
            file->radius[i] = 0.5f * read->width[i];
        add_column(file, (firn_attribute){.name = "pscale",
                                          .storage = FIRN_STORAGE_FLOAT32,
                                          .tuple_size = 1,
                                          .data = file->radius});
    }
    for (int i = 0; i < read->attribute_count; i++)
        add_archive_attribute(file, &read->attributes[i]);
    return FIRN_OK;
}

static firn_result read_usd(firn_point_file *file, const char *path, const char *pattern,
                            double time, firn_error *error)
{
    FIRN_TRY(open_archive(file, path, error));
    FIRN_TRY(firn_usd_read_points(file->usd, pattern, time, &file->cloud_of_usd, error));
    file->points = *firn_usd_cloud_points(file->cloud_of_usd);
    return FIRN_OK;
}

static firn_result read_ply(firn_point_file *file, const char *path, firn_error *error)
{
    firn_polygons *read = &file->cloud_of_ply;
    FIRN_TRY(firn_ply_read(path, read, error));
    FIRN_TRY(claim_columns(file, 2 + read->value_count, error));
    file->points.count = read->position_count;
    add_column(file, (firn_attribute){.name = "P",
                                      .storage = FIRN_STORAGE_FLOAT32,
                                      .type_info = FIRN_TYPE_POINT,
                                      .tuple_size = 3,
                                      .data = read->positions});
    if (read->velocities != NULL)
        add_column(file, (firn_attribute){.name = "v",
                                          .storage = FIRN_STORAGE_FLOAT32,
                                          .type_info = FIRN_TYPE_VECTOR,
                                          .tuple_size = 3,
                                          .data = read->velocities});
    for (size_t i = 0; i < read->value_count; i++) {
        // What programs that scan call a radius is Houdini's pscale.
        const char *name = read->values[i].name;
        name = strcmp(name, "radius") == 0 ? "pscale" : name;
        if (firn_points_find(&file->points, name) == NULL)
            add_column(file, (firn_attribute){.name = name,
                                              .storage = FIRN_STORAGE_FLOAT32,
                                              .tuple_size = 1,
                                              .data = read->values[i].values});
    }
    return FIRN_OK;
}

static firn_result read_vdb(firn_point_file *file, const char *path, const char *grid,
                            firn_error *error)
{
    static const struct {
        firn_storage storage;
        int tuple_size;
    } types[] = {
        [FIRN_VDB_ATTRIBUTE_FLOAT] = {FIRN_STORAGE_FLOAT32, 1},
        [FIRN_VDB_ATTRIBUTE_INT] = {FIRN_STORAGE_INT32, 1},
        [FIRN_VDB_ATTRIBUTE_VEC3] = {FIRN_STORAGE_FLOAT32, 3},
        [FIRN_VDB_ATTRIBUTE_MAT3] = {FIRN_STORAGE_FLOAT32, 9},
    };
    firn_vdb_reader_def settings = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    FIRN_TRY(firn_vdb_reader_create(&settings, &reader, error));
    firn_vdb_stamp room;
    firn_result result = firn_vdb_read_points(reader, path, firn_stamp_of(path, &room),
                                              grid[0] != '\0' ? grid : NULL, &file->cloud, error);
    firn_vdb_reader_destroy(reader);
    FIRN_TRY(result);
    firn_vdb_points read = firn_vdb_cloud_read(file->cloud);
    FIRN_TRY(claim_columns(file, 1 + read.attribute_count, error));
    file->points.count = read.count;
    add_column(file, (firn_attribute){.name = "P",
                                      .storage = FIRN_STORAGE_FLOAT32,
                                      .type_info = FIRN_TYPE_POINT,
                                      .tuple_size = 3,
                                      .data = read.position});
    for (size_t i = 0; i < read.attribute_count; i++) {
        const firn_vdb_attribute *from = &read.attributes[i];
        add_column(file, (firn_attribute){.name = from->name,
                                          .storage = types[from->type].storage,
                                          .tuple_size = types[from->type].tuple_size,
                                          .data = from->values});
    }
    return FIRN_OK;
}

// All but an open archive.
static void give_up(firn_point_file *file)
{
    firn_bgeo_destroy(file->bgeo);
    firn_abc_points_free(&file->abc_points);
    firn_vdb_cloud_destroy(file->cloud);
    firn_usd_cloud_free(file->cloud_of_usd);
    file->cloud_of_usd = NULL;
    firn_polygons_free(&file->cloud_of_ply);
    firn_free(file->radius);
    firn_free(file->columns);
    file->bgeo = NULL;
    file->cloud = NULL;
    file->radius = NULL;
    file->columns = NULL;
    file->points = (firn_points){0};
}

static bool is_geometry(const char *path)
{
    static const char *const endings[] = {".bgeo", ".geo", ".bgeo.gz", ".geo.gz", ".bgeo.sc"};
    for (size_t i = 0; i < FIRN_COUNT(endings); i++)
        if (firn_path_ends_with(path, endings[i]))
            return true;
    return false;
}

firn_result firn_point_file_read(firn_point_file *file, const char *path, const char *object,
                                 double time, firn_error *error)
{
    give_up(file);
    if (firn_path_ends_with(path, ".abc"))
        return read_abc(file, path, object, time, error);
    if (firn_path_is_usd(path))
        return read_usd(file, path, object, time, error);
    close_archive(file);
    if (firn_path_ends_with(path, ".vdb"))
        return read_vdb(file, path, object, error);
    if (firn_path_ends_with(path, ".ply"))
        return read_ply(file, path, error);
    if (is_geometry(path))
        return read_bgeo(file, path, error);
    struct stat status;
    if (stat(path, &status) != 0)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "there is no file '%.300s'", path);
    return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                     "'%.300s' is no file of points that can be read; points are .bgeo, .geo, "
                     ".abc, .usd, .vdb or .ply files",
                     path);
}

void firn_point_file_close(firn_point_file *file)
{
    give_up(file);
    close_archive(file);
}

firn_axes_def firn_point_file_axes(const firn_point_file *file, const firn_axes_def *axes)
{
    return firn_axes_recorded(axes, file->usd != NULL   ? firn_usd_scene_metadata(file->usd)
                                    : file->abc != NULL ? firn_abc_metadata(file->abc)
                                                        : "");
}
