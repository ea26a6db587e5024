// Points of a scene as columns.
#include "scene.h"

#include "firn/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMN_MAX = 132, TUPLE_MAX = 16 };

struct firn_usd_cloud {
    firn_usd_numbers numbers[COLUMN_MAX];
    firn_attribute columns[COLUMN_MAX];
    firn_points points;
};

static bool add_column(firn_usd_cloud *cloud, const char *name, firn_type_info info,
                       firn_usd_numbers numbers, int tuple)
{
    size_t count = cloud->points.attribute_count;
    if (count == COLUMN_MAX || firn_points_find(&cloud->points, name) != NULL) {
        firn_free(numbers.data);
        return false;
    }
    cloud->numbers[count] = numbers;
    cloud->columns[count] =
        (firn_attribute){.name = name,
                         .storage = numbers.kind == FIRN_USD_F32   ? FIRN_STORAGE_FLOAT32
                                    : numbers.kind == FIRN_USD_I64 ? FIRN_STORAGE_INT64
                                                                   : FIRN_STORAGE_INT32,
                         .type_info = info,
                         .tuple_size = tuple,
                         .data = numbers.data};
    cloud->points.attribute_count++;
    return true;
}

static firn_result read_positions(const firn_usd_scene *scene, int prim, double code,
                                  firn_usd_cloud *cloud, firn_error *error)
{
    firn_usd_numbers position, velocity;
    firn_usd_matrix world, rate;
    bool moves;
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "points", code, FIRN_USD_F32, &position, error));
    cloud->points.count = position.count;
    add_column(cloud, "P", FIRN_TYPE_POINT, position, 3);
    if (position.count > 0 && position.tuple != 3)
        return firn_usd_fail_prim(scene, prim, "its points are no vectors", error);
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "velocities", code, FIRN_USD_F32, &velocity, error));
    bool stored = velocity.count == position.count && velocity.tuple == 3;
    firn_vec3 *p = position.data, *v = velocity.data;
    if (stored)
        add_column(cloud, "v", FIRN_TYPE_VECTOR, velocity, 3);
    else
        firn_free(velocity.data);
    FIRN_TRY(firn_usd_world_matrix(scene, prim, code, &world, error));
    FIRN_TRY(firn_usd_world_rate(scene, prim, code, &rate, &moves, error));
    for (size_t i = 0; i < position.count; i++) {
        if (stored)
            v[i] =
                firn_add(firn_usd_matrix_vector(&world, v[i]), firn_usd_matrix_point(&rate, p[i]));
        p[i] = firn_usd_matrix_point(&world, p[i]);
        if (!firn_vec_is_finite(p[i]))
            return firn_usd_fail_prim(scene, prim, "its points are not finite", error);
    }
    return FIRN_OK;
}

// A column by another name: radii are half of widths, ids are whole.
static firn_result read_known(const firn_usd_scene *scene, int prim, double code,
                              firn_usd_cloud *cloud, firn_error *error)
{
    firn_usd_numbers width, id;
    firn_usd_matrix world;
    FIRN_TRY(firn_usd_world_matrix(scene, prim, code, &world, error));
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "widths", code, FIRN_USD_F32, &width, error));
    float factor = 0.5f * (float)cbrt(fabs(firn_usd_matrix_det(&world)));
    for (size_t i = 0; i < width.count * (size_t)width.tuple; i++)
        ((float *)width.data)[i] *= factor;
    if (width.count == cloud->points.count && width.tuple == 1)
        add_column(cloud, "pscale", FIRN_TYPE_NONE, width, 1);
    else
        firn_free(width.data);
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "ids", code, FIRN_USD_I64, &id, error));
    if (id.count == cloud->points.count && id.tuple == 1)
        add_column(cloud, "id", FIRN_TYPE_NONE, id, 1);
    else
        firn_free(id.data);
    return FIRN_OK;
}

static bool is_whole(const char *type)
{
    return strncmp(type, "int", 3) == 0 || strncmp(type, "uint", 4) == 0 ||
           strncmp(type, "bool", 4) == 0 || strncmp(type, "uchar", 5) == 0;
}

// Primvars with as many values as there are points, or a whole multiple.
static firn_result read_primvars(const firn_usd_scene *scene, int prim, double code,
                                 firn_usd_cloud *cloud, firn_error *error)
{
    for (int o = scene->prims[prim].first_opinion; o >= 0; o = scene->opinions[o].next) {
        const firn_usd_opinion *from = &scene->opinions[o];
        const firn_usd_doc *doc = scene->docs[from->doc];
        for (int k = doc->specs[from->spec].first_property; k >= 0; k = doc->properties[k].next) {
            const firn_usd_property *p = &doc->properties[k];
            if (strncmp(p->name, "primvars:", 9) != 0 || strchr(p->name + 9, ':') != NULL)
                continue;
            firn_usd_numbers numbers;
            FIRN_TRY(firn_usd_numbers_at(scene, prim, p->name, code,
                                         is_whole(p->type) ? FIRN_USD_I32 : FIRN_USD_F32, &numbers,
                                         error));
            size_t all = numbers.count * (size_t)numbers.tuple, n = cloud->points.count;
            if (n == 0 || all == 0 || all % n != 0 || all / n > TUPLE_MAX || numbers.count < n)
                firn_free(numbers.data);
            else
                add_column(cloud, p->name + 9, FIRN_TYPE_NONE, numbers, (int)(all / n));
        }
    }
    return FIRN_OK;
}

firn_result firn_usd_read_points(firn_usd_scene *scene, const char *pattern, double time,
                                 firn_usd_cloud **out, firn_error *error)
{
    *out = NULL;
    double code = time * scene->codes_per_second;
    int prim = -1;
    bool meshes = false;
    for (size_t i = 1; i < scene->prim_count && prim < 0; i++) {
        meshes = meshes || firn_usd_is_mesh(scene, (int)i);
        if (firn_usd_is_points(scene, (int)i) && firn_path_matches(pattern, scene->prims[i].path))
            prim = (int)i;
    }
    if (prim < 0)
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "'%.300s' has no points%s%.200s%s",
                         scene->docs[0]->path, pattern[0] != '\0' ? " under " : "", pattern,
                         meshes ? "; it has meshes, which sources fill with region = mesh" : "");
    firn_usd_cloud *cloud = firn_alloc_zero(sizeof *cloud);
    if (cloud == NULL)
        return firn_usd_fail_memory(scene, error);
    cloud->points.attributes = cloud->columns;
    firn_result result = read_positions(scene, prim, code, cloud, error);
    if (result == FIRN_OK)
        result = read_known(scene, prim, code, cloud, error);
    if (result == FIRN_OK)
        result = read_primvars(scene, prim, code, cloud, error);
    if (result != FIRN_OK) {
        firn_usd_cloud_free(cloud);
        return result;
    }
    *out = cloud;
    return FIRN_OK;
}

const firn_points *firn_usd_cloud_points(const firn_usd_cloud *cloud) { return &cloud->points; }

void firn_usd_cloud_free(firn_usd_cloud *cloud)
{
    if (cloud == NULL)
        return;
    for (size_t i = 0; i < COLUMN_MAX; i++)
        firn_free(cloud->numbers[i].data);
    firn_free(cloud);
}
