#include "seed_region.h"

#include <float.h>
#include <math.h>

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static firn_vec3 to_vec(const double point[3])
{
    return firn_vec((float)point[0], (float)point[1], (float)point[2]);
}

static void set_bounds(firn_seed_region *region)
{
    for (int axis = 0; axis < 3; axis++) {
        region->lower[axis] = region->center[axis] - region->half[axis];
        region->upper[axis] = region->center[axis] + region->half[axis];
    }
}

static firn_seed_region level_set_region(const firn_sdf *sdf)
{
    firn_seed_region region = {.kind = FIRN_REGION_LEVEL_SET, .sdf = sdf};
    for (int axis = 0; axis < 3; axis++) {
        region.lower[axis] = INFINITY;
        region.upper[axis] = -INFINITY;
    }
    // Interpolation reaches one voxel beyond what is stored.
    firn_coord lower = sdf->index.lower, upper = sdf->index.upper;
    for (int i = 0; i < 8; i++) {
        firn_vec3 corner = {(float)(i & 1 ? upper.x : lower.x - 1),
                            (float)(i & 2 ? upper.y : lower.y - 1),
                            (float)(i & 4 ? upper.z : lower.z - 1)};
        firn_vec3 world = firn_transform_point(sdf->set.map, corner);
        const double values[3] = {(double)world.x, (double)world.y, (double)world.z};
        for (int axis = 0; axis < 3; axis++) {
            region.lower[axis] = fmin(region.lower[axis], values[axis]);
            region.upper[axis] = fmax(region.upper[axis], values[axis]);
        }
    }
    return region;
}

firn_seed_region firn_seed_region_make(const firn_source_def *def, const firn_sdf *sdf)
{
    if (def->region == FIRN_REGION_LEVEL_SET)
        return level_set_region(sdf);
    firn_vec3 half = def->half_size;
    if (def->region == FIRN_REGION_SPHERE)
        half = firn_vec(def->radius, def->radius, def->radius);
    firn_seed_region region = {
        .kind = def->region,
        .center = {(double)def->center.x, (double)def->center.y, (double)def->center.z},
        .half = {(double)half.x, (double)half.y, (double)half.z},
        .radius = (double)def->radius,
    };
    set_bounds(&region);
    return region;
}

static double distance_to_box(const firn_seed_region *region, const double point[3])
{
    double outside = 0.0, inside = -INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        double beyond = fabs(point[axis] - region->center[axis]) - region->half[axis];
        inside = fmax(inside, beyond);
        outside += beyond > 0.0 ? beyond * beyond : 0.0;
    }
    return outside > 0.0 ? sqrt(outside) : inside;
}

double firn_seed_region_distance(const firn_seed_region *region, const double point[3])
{
    if (region->kind == FIRN_REGION_BOX)
        return distance_to_box(region, point);
    if (region->kind == FIRN_REGION_LEVEL_SET) {
        const firn_transform *map = &region->sdf->set.map;
        firn_vec3 voxel = firn_transform_point_inverse(*map, to_vec(point));
        return (double)(map->scale * firn_sdf_sample(region->sdf, voxel).value);
    }
    double offset[3];
    for (int axis = 0; axis < 3; axis++)
        offset[axis] = point[axis] - region->center[axis];
    return sqrt(dot(offset, offset)) - region->radius;
}

bool firn_seed_region_inside(const firn_seed_region *region, const double point[3])
{
    if (region->kind != FIRN_REGION_BOX)
        return firn_seed_region_distance(region, point) < 0.0;
    for (int axis = 0; axis < 3; axis++)
        if (!(point[axis] >= region->lower[axis] && point[axis] < region->upper[axis]))
            return false;
    return true;
}

static double sphere_entry(const firn_seed_region *region, const double point[3],
                           const double velocity[3])
{
    double offset[3];
    for (int axis = 0; axis < 3; axis++)
        offset[axis] = point[axis] - region->center[axis];
    double speed2 = dot(velocity, velocity);
    double approach = -dot(offset, velocity);
    double outside = dot(offset, offset) - region->radius * region->radius;
    double discriminant = approach * approach - speed2 * outside;
    if (!(approach > 0.0) || !(discriminant >= 0.0))
        return INFINITY;
    return (approach - sqrt(discriminant)) / speed2;
}

static double box_entry(const firn_seed_region *region, const double point[3],
                        const double velocity[3])
{
    double enter = -INFINITY, leave = INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        double lower = region->lower[axis] - point[axis];
        double upper = region->upper[axis] - point[axis];
        if (velocity[axis] == 0.0) {
            if (!(lower <= 0.0 && upper > 0.0))
                return INFINITY;
            continue;
        }
        double near = (velocity[axis] > 0.0 ? lower : upper) / velocity[axis];
        double far = (velocity[axis] > 0.0 ? upper : lower) / velocity[axis];
        enter = fmax(enter, near);
        leave = fmin(leave, far);
    }
    return enter < leave && leave > 0.0 ? enter : INFINITY;
}

double firn_seed_region_entry(const firn_seed_region *region, const double point[3],
                              const double velocity[3])
{
    if (firn_seed_region_inside(region, point))
        return 0.0;
    double entry = region->kind == FIRN_REGION_BOX ? box_entry(region, point, velocity)
                                                   : sphere_entry(region, point, velocity);
    // A point that is not in comes in later, however the last bit was rounded.
    return fmax(entry, DBL_MIN);
}

bool firn_seed_region_enters(const firn_seed_region *region, const double point[3],
                             const double move[3], int64_t step)
{
    double stride = sqrt(dot(move, move));
    double at[3];
    for (int64_t back = step; back >= 0;) {
        bool left = false;
        for (int axis = 0; axis < 3; axis++) {
            at[axis] = point[axis] + move[axis] * (double)back;
            left = left || at[axis] < region->lower[axis] || at[axis] > region->upper[axis];
        }
        if (left)
            return back != step;
        double distance = firn_seed_region_distance(region, at);
        if ((distance < 0.0) != (back == step))
            return false;
        // Outside, whole steps within half the distance meet no surface.
        int64_t skipped = back < step ? (int64_t)(0.5 * distance / stride) : 0;
        back -= skipped > 1 ? skipped : 1;
    }
    return true;
}

double firn_seed_region_volume(const firn_seed_region *region)
{
    const double *half = region->half;
    double box = 8.0 * half[0] * half[1] * half[2];
    return region->kind == FIRN_REGION_BOX ? box : box * 0.5235987755982988; // pi / 6
}
