#include "seed_region.h"

#include <float.h>
#include <math.h>

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

firn_seed_region firn_seed_region_make(const firn_source_def *def)
{
    bool box = def->region == FIRN_REGION_BOX;
    firn_seed_region region = {
        .kind = def->region,
        .center = {def->center.x, def->center.y, def->center.z},
        .half = {box ? def->half_size.x : def->radius, box ? def->half_size.y : def->radius,
                 box ? def->half_size.z : def->radius},
        .radius = def->radius,
    };
    for (int axis = 0; axis < 3; axis++) {
        region.lower[axis] = region.center[axis] - region.half[axis];
        region.upper[axis] = region.center[axis] + region.half[axis];
    }
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
    double offset[3];
    for (int axis = 0; axis < 3; axis++)
        offset[axis] = point[axis] - region->center[axis];
    return sqrt(dot(offset, offset)) - region->radius;
}

bool firn_seed_region_inside(const firn_seed_region *region, const double point[3])
{
    if (region->kind != FIRN_REGION_BOX)
        return firn_seed_region_distance(region, point) <= 0.0;
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

double firn_seed_region_volume(const firn_seed_region *region)
{
    const double *half = region->half;
    double box = 8.0 * half[0] * half[1] * half[2];
    return region->kind == FIRN_REGION_BOX ? box : box * 0.5235987755982988; // pi / 6
}
