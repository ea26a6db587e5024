// The surface is where the distance to the mean place of the particles around is their mean radius
// (Zhu and Bridson 2005), moved by what makes its volume that of the particles. A particle alone
// gives a ball, a sheet of them a sheet, and a flat side comes out flat.
#include "surface_mesh.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define ROW(field) FIRN_PARAM(firn_surface_def, field)

// clang-format off
static const firn_param surface_params[] = {
    {ROW(voxel_size), FIRN_FLOAT, {0}, 0, 100, "m",
     "Edge of the voxels that the surface is found on; 0 takes half the spacing of the particles"},
    {ROW(smoothness), FIRN_FLOAT, {2}, 1, 8, "",
     "Spacings of particles over which the surface is evened out"},
    {ROW(adaptivity), FIRN_FLOAT, {0.1}, 0, 1, "", "Larger polygons where the surface is flat"},
    {ROW(thread_count), FIRN_INT, {0}, 0, 1024, "", "Number of threads; 0 uses every core"},
};
// clang-format on

firn_param_table firn_surface_params(void)
{
    firn_param_table table = {surface_params, FIRN_COUNT(surface_params)};
    return table;
}

/// What the surface is made from.
typedef struct work {
    size_t count;
    float *position, *velocity, *mass, *radius, *jp;
    firn_point_values more;
    firn_field_values values[FIRN_CHANNEL_LIST + 2]; // mean place and radius, then the channels
    firn_field *field;
    firn_field_view view;
    float *distance; // m, of each voxel
    float outside;   // m, where there is no snow
    double spacing;  // m, of the particles
} work;

static void work_free(work *w)
{
    firn_free(w->position);
    firn_free(w->velocity);
    firn_free(w->mass);
    firn_free(w->radius);
    firn_free(w->jp);
    firn_point_values_free(&w->more);
    firn_field_destroy(w->field);
    firn_free(w->distance);
}

static firn_result read_particles(work *w, const char *words, const firn_points *points,
                                  firn_error *error)
{
    const struct {
        const char *name;
        int components;
        float **values;
        bool needed;
    } columns[] = {{"P", 3, &w->position, true},
                   {"v", 3, &w->velocity, false},
                   {"mass", 1, &w->mass, true},
                   {"pscale", 1, &w->radius, true},
                   {"Jp", 1, &w->jp, true}};
    w->count = points->count;
    for (size_t i = 0; i < FIRN_COUNT(columns); i++) {
        FIRN_TRY(firn_points_floats(points, columns[i].name, columns[i].components,
                                    columns[i].values, error));
        if (columns[i].needed && *columns[i].values == NULL)
            return firn_fail(error, FIRN_ERR_NOT_FOUND,
                             "the particles have no %s; write them with it", columns[i].name);
    }
    return firn_point_values_read(&w->more, words, points, error);
}

// Radii of the volumes that particles have now; those that do not know theirs have the mean.
static firn_result find_radii(work *w, float cell_size, double *volume, firn_error *error)
{
    const double ball = 4.18879020478639098; // 4/3 pi
    double known = 0.0, number = 0.0;
    for (size_t i = 0; i < w->count; i++) {
        if (!(isfinite(w->radius[i]) && w->radius[i] >= 0.0f && isfinite(w->jp[i]) &&
              w->jp[i] > 0.0f))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "particle %zu has a radius of %g m and a plastic volume ratio of %g; "
                             "they must be finite, and the ratio above 0",
                             i, (double)w->radius[i], (double)w->jp[i]);
        known += pow((double)w->radius[i], 3.0) * ball;
        number += w->radius[i] > 0.0f;
    }
    double mean = number > 0.0 ? known / number : pow(0.5 * (double)cell_size, 3.0);
    if (!(mean > 0.0))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "no particle has a radius above 0, and the cell of their simulation is "
                         "not known; give its cell_size");
    *volume = 0.0;
    for (size_t i = 0; i < w->count; i++) {
        double own = w->radius[i] > 0.0f ? pow((double)w->radius[i], 3.0) * ball : mean;
        own *= (double)w->jp[i];
        w->radius[i] = (float)cbrt(own / ball);
        *volume += own;
    }
    w->spacing = cbrt(mean);
    return FIRN_OK;
}

static firn_result rasterize(work *w, const firn_surface_def *def, firn_error *error)
{
    w->values[0] = (firn_field_values){"mean_P", 3, false, 0.0f, w->position};
    w->values[1] = (firn_field_values){"mean_radius", 1, false, 0.0f, w->radius};
    memcpy(&w->values[2], w->more.values, w->more.list.count * sizeof w->values[0]);
    firn_field_points points = {.count = w->count,
                                .position = (const firn_vec3 *)(const void *)w->position,
                                .mass = w->mass,
                                .velocity = (const firn_vec3 *)(const void *)w->velocity,
                                .value_count = 2 + w->more.list.count,
                                .values = w->values};
    firn_field_def field = firn_field_def_default();
    field.voxel_size = def->voxel_size > 0.0f ? def->voxel_size : (float)(0.5 * w->spacing);
    field.filter_width = def->smoothness * (float)w->spacing;
    field.edge = 0.0f;
    field.velocity = w->velocity != NULL;
    field.compaction = false;
    field.thread_count = def->thread_count;
    FIRN_TRY(firn_field_create(&field, &points, &w->field, error));
    w->view = firn_field_read(w->field);
    w->outside = 4.0f * fmaxf(field.filter_width, field.voxel_size);
    return FIRN_OK;
}

static firn_vec3 voxel_center(const firn_field_view *view, size_t voxel)
{
    firn_coord o = view->leaf_origin[voxel / FIRN_LEAF_VOXELS];
    int n = (int)(voxel % FIRN_LEAF_VOXELS);
    float h = view->voxel_size;
    return firn_vec(h * ((float)(o.x + n / 64) + 0.5f), h * ((float)(o.y + n / 8 % 8) + 0.5f),
                    h * ((float)(o.z + n % 8) + 0.5f));
}

static firn_result measure(work *w, firn_error *error)
{
    size_t voxels = w->view.leaf_count * FIRN_LEAF_VOXELS;
    w->distance = firn_alloc((voxels + 1) * sizeof *w->distance);
    if (w->distance == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot find the surface");
    const float *place = w->view.grids[0].values, *radius = w->view.grids[1].values;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < voxels; i++) {
        firn_vec3 mean = {place[3 * i], place[3 * i + 1], place[3 * i + 2]};
        w->distance[i] = w->view.density[i] > 0.0f
                             ? firn_length(firn_sub(voxel_center(&w->view, i), mean)) - radius[i]
                             : w->outside;
    }
    return FIRN_OK;
}

// --- Volume --------------------------------------------------------------------------------------

// Inside of a limit, from voxels.
static double volume_within(const work *w, float limit)
{
    const float h = w->view.voxel_size;
    double sum = 0.0;
    for (size_t i = 0; i < w->view.leaf_count * FIRN_LEAF_VOXELS; i++)
        sum += (double)fminf(fmaxf(0.5f - (w->distance[i] - limit) / h, 0.0f), 1.0f);
    return sum * (double)h * (double)h * (double)h;
}

static float find_limit(const work *w, double volume)
{
    float low = -(float)w->spacing, high = (float)w->spacing;
    for (int step = 0; step < 24; step++) {
        float middle = 0.5f * (low + high);
        if (volume_within(w, middle) < volume)
            low = middle;
        else
            high = middle;
    }
    return 0.5f * (low + high);
}

// Inside of the polygons, and their area.
static double volume_of(const firn_vdb_mesh *mesh, double *area)
{
    double volume = 0.0;
    const int32_t *corner = mesh->indices;
    *area = 0.0;
    for (size_t f = 0; f < mesh->face_count; f++) {
        firn_vec3 a = mesh->points[corner[0]];
        for (int k = 2; k < mesh->face_sizes[f]; k++) {
            firn_vec3 b = mesh->points[corner[k - 1]], c = mesh->points[corner[k]];
            firn_vec3 n = firn_cross(firn_sub(b, a), firn_sub(c, a));
            volume += (double)firn_dot(a, n) / 6.0;
            *area += 0.5 * (double)firn_length(n);
        }
        corner += mesh->face_sizes[f];
    }
    return volume;
}

// Polygons with about the volume of the particles: voxels know it to a percent or so, the polygons
// themselves know better. What is still missing goes to *miss, relative.
static firn_result approach(const work *w, float adaptivity, int thread_count,
                            firn_surface_mesh *to, double *miss, firn_error *error)
{
    const firn_vdb_values values = {w->view.voxel_size, w->view.leaf_count, w->view.leaf_origin,
                                    w->distance, w->outside};
    const double wanted = to->particle_volume;
    float limit = find_limit(w, wanted);
    for (int round = 0; round < 5; round++) {
        firn_vdb_polygons_destroy(to->polygons);
        to->polygons = NULL;
        FIRN_TRY(
            firn_vdb_polygons_make(&values, limit, adaptivity, thread_count, &to->polygons, error));
        to->mesh = firn_vdb_polygons_read(to->polygons);
        double area;
        to->volume = volume_of(&to->mesh, &area);
        *miss = fabs(wanted - to->volume) / wanted;
        if (*miss < 0.003 || !(area > 0.0))
            break;
        limit += (float)((wanted - to->volume) / area);
    }
    return FIRN_OK;
}

// Large polygons may not come near it; then smaller ones are made.
static firn_result make_polygons(const work *w, const firn_surface_def *def, firn_surface_mesh *to,
                                 firn_error *error)
{
    float adaptivity = def->adaptivity;
    for (;;) {
        double miss;
        FIRN_TRY(approach(w, adaptivity, def->thread_count, to, &miss, error));
        if (miss < 0.01 || adaptivity == 0.0f)
            return FIRN_OK;
        adaptivity = adaptivity > 0.02f ? 0.5f * adaptivity : 0.0f;
    }
}

// --- Values of points ----------------------------------------------------------------------------

// The leaf at an origin, or leaf_count: leaves are in the order of x, y, z.
static size_t find_leaf(const firn_field_view *view, firn_coord origin)
{
    size_t low = 0, high = view->leaf_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        firn_coord c = view->leaf_origin[middle];
        bool below = c.x != origin.x   ? c.x < origin.x
                     : c.y != origin.y ? c.y < origin.y
                                       : c.z < origin.z;
        low = below ? middle + 1 : low;
        high = below ? high : middle;
    }
    bool found =
        low < view->leaf_count && memcmp(&view->leaf_origin[low], &origin, sizeof origin) == 0;
    return found ? low : view->leaf_count;
}

/// The eight voxels around a point that hold snow, with their shares.
typedef struct around {
    int count;
    size_t voxel[8];
    float share[8]; // of the mass
} around;

static around around_point(const firn_field_view *view, firn_vec3 p)
{
    const float x[3] = {p.x / view->voxel_size - 0.5f, p.y / view->voxel_size - 0.5f,
                        p.z / view->voxel_size - 0.5f};
    around a = {.count = 0};
    float sum = 0.0f;
    for (int i = 0; i < 8; i++) {
        int32_t at[3];
        float weight = 1.0f;
        for (int axis = 0; axis < 3; axis++) {
            float low = floorf(x[axis]);
            int step = i >> axis & 1;
            weight *= step ? x[axis] - low : 1.0f - (x[axis] - low);
            at[axis] = (int32_t)low + step;
        }
        firn_coord origin = {at[0] & ~7, at[1] & ~7, at[2] & ~7};
        size_t leaf = find_leaf(view, origin);
        if (leaf == view->leaf_count)
            continue;
        size_t voxel =
            leaf * FIRN_LEAF_VOXELS + (size_t)(((at[0] & 7) * 8 + (at[1] & 7)) * 8 + (at[2] & 7));
        a.voxel[a.count] = voxel;
        a.share[a.count] = weight * view->density[voxel];
        sum += a.share[a.count++];
    }
    for (int i = 0; i < a.count; i++)
        a.share[i] = sum > 0.0f ? a.share[i] / sum : 0.0f;
    return a;
}

static void put_values(const around *a, const float *from, int components, float *to)
{
    for (int k = 0; k < components; k++) {
        to[k] = 0.0f;
        for (int i = 0; i < a->count; i++)
            to[k] += a->share[i] * from[a->voxel[i] * (size_t)components + (size_t)k];
    }
}

static firn_result fill_points(const work *w, firn_surface_mesh *to, firn_error *error)
{
    size_t count = to->mesh.point_count;
    to->channels = w->more.list;
    bool enough = true;
    if (w->velocity != NULL)
        enough = (to->velocity = firn_alloc((3 * count + 1) * sizeof(float))) != NULL;
    for (size_t n = 0; n < to->channels.count; n++) {
        size_t width = (size_t)to->channels.row[n].components;
        to->values[n] = firn_alloc((width * count + 1) * sizeof(float));
        enough = enough && to->values[n] != NULL;
    }
    if (!enough)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: a surface of %zu points", count);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        around a = around_point(&w->view, to->mesh.points[i]);
        if (to->velocity != NULL)
            put_values(&a, &w->view.velocity[0].x, 3, &to->velocity[3 * i]);
        for (size_t n = 0; n < to->channels.count; n++) {
            int width = to->channels.row[n].components;
            put_values(&a, w->view.grids[2 + n].values, width, &to->values[n][(size_t)width * i]);
        }
    }
    return FIRN_OK;
}

static firn_result make(firn_surface_mesh *mesh, work *w, const firn_surface_def *def,
                        const char *words, const firn_particle_data *from, firn_error *error)
{
    FIRN_TRY(read_particles(w, words, &from->points, error));
    if (w->count == 0)
        return fill_points(w, mesh, error);
    FIRN_TRY(find_radii(w, from->cell_size, &mesh->particle_volume, error));
    FIRN_TRY(rasterize(w, def, error));
    FIRN_TRY(measure(w, error));
    FIRN_TRY(make_polygons(w, def, mesh, error));
    return fill_points(w, mesh, error);
}

firn_result firn_surface_mesh_make(firn_surface_mesh *mesh, const firn_surface_def *def,
                                   const char *words, const firn_particle_data *from,
                                   firn_error *error)
{
    memset(mesh, 0, sizeof *mesh);
    work *w = firn_alloc_zero(sizeof *w);
    if (w == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make a surface");
    firn_result result = make(mesh, w, def, words, from, error);
    work_free(w);
    firn_free(w);
    return result;
}

void firn_surface_mesh_free(firn_surface_mesh *mesh)
{
    firn_vdb_polygons_destroy(mesh->polygons);
    firn_free(mesh->velocity);
    for (size_t n = 0; n < mesh->channels.count; n++)
        firn_free(mesh->values[n]);
    memset(mesh, 0, sizeof *mesh);
}
