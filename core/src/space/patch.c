#include "firn/patch.h"

#include "base/noise.h"

#include <math.h>

static double lobe(const firn_patch *patch, int octave, double x, double z)
{
    const double point[3] = {x, 0.37, z};
    return firn_noise(point, (uint64_t)patch->seed + 401u + (uint64_t)octave);
}

float firn_patch_inset(const firn_patch *patch, float x, float z)
{
    double dx = (double)x - (double)patch->center.x, dz = (double)z - (double)patch->center.z;
    double inside =
        fmin((double)patch->half_size.x - fabs(dx), (double)patch->half_size.z - fabs(dz));
    if (patch->border <= 0.0f)
        return inside > 0.0 ? INFINITY : -INFINITY;
    double b = (double)patch->border;
    // Lobes reach from 0 to half a border inward: elsewhere they need not be known.
    if (inside < 0.0 || inside > 3.0 * b)
        return (float)(inside / b - 0.25);
    double lobes = lobe(patch, 0, 1.1 * dx / b, 1.1 * dz / b) +
                   0.5 * lobe(patch, 1, 2.9 * dx / b, 2.9 * dz / b);
    return (float)(inside / b - 0.25 * (1.0 + fmin(fmax(lobes, -1.0), 1.0)));
}
