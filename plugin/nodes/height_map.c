#include "height_map.h"

#include "firn/points.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define ROW(field) FIRN_PARAM(firn_height_def, field)

// clang-format off
static const firn_param params[] = {
    {ROW(center), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "m",
     "Middle of the map; its height does not count"},
    {ROW(half_size), FIRN_VEC3, {1, 0, 1}, 0, 1e5, "m", "Half the edges of the map along X and Z"},
    {ROW(pixel_size), FIRN_FLOAT, {0.01}, 1e-5, 100, "m",
     "Edge of a pixel; about half the solver's cell_size"},
    {ROW(level), FIRN_FLOAT, {0}, -1e6, 1e6, "m",
     "Height of the ground where no snow lies, and of what `change` is measured from unless "
     "particles are linked to `before`"},
    {ROW(smooth), FIRN_INT, {1}, 0, 100, "px",
     "Evens out the bumps of single particles over this many pixels to each side"},
};
// clang-format on

firn_param_table firn_height_params(void)
{
    firn_param_table table = {params, FIRN_COUNT(params)};
    return table;
}

void firn_height_map_free(firn_height_map *map)
{
    firn_free(map->top);
    firn_free(map->covered);
    firn_free(map->load);
    memset(map, 0, sizeof *map);
}

// A particle stands for a cube of its volume; its top covers a disk that reaches its neighbors.
static void add_particle(const firn_height_def *def, firn_height_map *map, const float p[3],
                         float edge)
{
    float reach = 0.75f * edge, size = def->pixel_size, top = p[1] + 0.5f * edge;
    float x = (p[0] - def->center.x + def->half_size.x) / size - 0.5f;
    float z = (p[2] - def->center.z + def->half_size.z) / size - 0.5f, r = reach / size;
    r = r > 0.71f ? r : 0.71f;
    for (int k = (int)ceilf(z - r); (float)k <= z + r; k++)
        for (int i = (int)ceilf(x - r); (float)i <= x + r; i++) {
            float dx = (float)i - x, dz = (float)k - z;
            if (i < 0 || i >= map->width || k < 0 || k >= map->height || dx * dx + dz * dz > r * r)
                continue;
            float *pixel = &map->top[(size_t)k * (size_t)map->width + (size_t)i];
            *pixel = top > *pixel ? top : *pixel;
        }
}

static void add_load(const firn_height_def *def, firn_height_map *map, const float p[3], float mass)
{
    float size = def->pixel_size;
    int i = (int)floorf((p[0] - def->center.x + def->half_size.x) / size);
    int k = (int)floorf((p[2] - def->center.z + def->half_size.z) / size);
    if (i >= 0 && i < map->width && k >= 0 && k < map->height)
        map->load[(size_t)k * (size_t)map->width + (size_t)i] += mass / (size * size);
}

// The mean of covered pixels along one axis, from one array into another.
static void smooth_line(const firn_height_map *map, const float *from, float *to, int reach,
                        bool along_x)
{
    const ptrdiff_t w = map->width, h = map->height;
#pragma omp parallel for schedule(static)
    for (ptrdiff_t k = 0; k < h; k++)
        for (ptrdiff_t i = 0; i < w; i++) {
            float sum = 0.0f, weight = 0.0f;
            for (int n = -reach; n <= reach; n++) {
                ptrdiff_t a = along_x ? i + n : i, b = along_x ? k : k + n;
                if (a < 0 || a >= w || b < 0 || b >= h || map->covered[b * w + a] == 0.0f)
                    continue;
                sum += from[b * w + a];
                weight += 1.0f;
            }
            bool own = map->covered[k * w + i] != 0.0f;
            to[k * w + i] = own ? sum / weight : from[k * w + i];
        }
}

static firn_result claim(const firn_height_def *def, firn_height_map *map, firn_error *error)
{
    double width = floor(2.0 * (double)def->half_size.x / (double)def->pixel_size + 0.5);
    double height = floor(2.0 * (double)def->half_size.z / (double)def->pixel_size + 0.5);
    if (!(width >= 1.0 && height >= 1.0 && width <= 32768.0 && height <= 32768.0))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "half_size by pixel_size makes a map of %.0f x %.0f pixels; it must have "
                         "1 to 32768 along each side",
                         width, height);
    map->width = (int)width;
    map->height = (int)height;
    size_t count = (size_t)map->width * (size_t)map->height;
    map->top = firn_alloc(count * sizeof(float));
    map->covered = firn_alloc_zero(count * sizeof(float));
    map->load = firn_alloc_zero(count * sizeof(float));
    if (map->top == NULL || map->covered == NULL || map->load == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make a map of heights");
    for (size_t i = 0; i < count; i++)
        map->top[i] = -INFINITY;
    return FIRN_OK;
}

static const float *column(const firn_points *points, const char *name, int size)
{
    const firn_attribute *found = firn_points_find(points, name);
    bool fits =
        found != NULL && found->storage == FIRN_STORAGE_FLOAT32 && found->tuple_size == size;
    return fits ? found->data : NULL;
}

static firn_result finish(const firn_height_def *def, firn_height_map *map, firn_error *error)
{
    size_t count = (size_t)map->width * (size_t)map->height;
    for (size_t i = 0; i < count; i++) {
        map->covered[i] = map->top[i] > -INFINITY ? 1.0f : 0.0f;
        map->top[i] = map->covered[i] != 0.0f ? map->top[i] : def->level;
    }
    if (def->smooth == 0)
        return FIRN_OK;
    float *other = firn_alloc(count * sizeof *other);
    if (other == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot smooth a map of heights");
    smooth_line(map, map->top, other, def->smooth, true);
    smooth_line(map, other, map->top, def->smooth, false);
    firn_free(other);
    return FIRN_OK;
}

firn_result firn_height_map_make(const firn_height_def *def, const firn_points *points,
                                 firn_height_map *map, firn_error *error)
{
    memset(map, 0, sizeof *map);
    const float *p = column(points, "P", 3), *scale = column(points, "pscale", 1);
    const float *mass = column(points, "mass", 1);
    if (points->count > 0 && (p == NULL || scale == NULL))
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "the particles need P and pscale for a map");
    FIRN_TRY(claim(def, map, error));
    // pscale is the radius of a ball of the particle's volume.
    const float edge_of_radius = 1.6119920f;
    for (size_t i = 0; i < points->count; i++) {
        add_particle(def, map, p + 3 * i, edge_of_radius * scale[i]);
        if (mass != NULL)
            add_load(def, map, p + 3 * i, mass[i]);
    }
    return finish(def, map, error);
}
