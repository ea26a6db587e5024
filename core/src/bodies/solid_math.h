/// Vectors, matrices and rotations in double, for the few numbers of a body.
#ifndef FIRN_SOLID_MATH_H
#define FIRN_SOLID_MATH_H

#include "firn/vec.h"

#include <math.h>
#include <string.h>

typedef struct firn_d3 {
    double x[3];
} firn_d3;

/// Row-major.
typedef struct firn_d33 {
    double m[9];
} firn_d33;

static inline firn_d3 firn_d3_of(firn_vec3 v)
{
    return (firn_d3){{(double)v.x, (double)v.y, (double)v.z}};
}
static inline firn_d3 firn_d3_from(const double v[3]) { return (firn_d3){{v[0], v[1], v[2]}}; }
static inline firn_vec3 firn_d3_vec(firn_d3 v)
{
    return firn_vec((float)v.x[0], (float)v.x[1], (float)v.x[2]);
}
static inline void firn_d3_put(double to[3], firn_d3 v) { memcpy(to, v.x, sizeof v.x); }

/// a + s b
static inline firn_d3 firn_d3_madd(firn_d3 a, double s, firn_d3 b)
{
    return (firn_d3){{a.x[0] + s * b.x[0], a.x[1] + s * b.x[1], a.x[2] + s * b.x[2]}};
}
static inline firn_d3 firn_d3_sub(firn_d3 a, firn_d3 b) { return firn_d3_madd(a, -1.0, b); }
static inline firn_d3 firn_d3_scale(double s, firn_d3 a)
{
    return (firn_d3){{s * a.x[0], s * a.x[1], s * a.x[2]}};
}
static inline double firn_d3_dot(firn_d3 a, firn_d3 b)
{
    return a.x[0] * b.x[0] + a.x[1] * b.x[1] + a.x[2] * b.x[2];
}
static inline double firn_d3_length(firn_d3 a) { return sqrt(firn_d3_dot(a, a)); }
static inline firn_d3 firn_d3_cross(firn_d3 a, firn_d3 b)
{
    return (firn_d3){{a.x[1] * b.x[2] - a.x[2] * b.x[1], a.x[2] * b.x[0] - a.x[0] * b.x[2],
                      a.x[0] * b.x[1] - a.x[1] * b.x[0]}};
}

static inline firn_d3 firn_d33_mul(firn_d33 a, firn_d3 v)
{
    firn_d3 r;
    for (int i = 0; i < 3; i++)
        r.x[i] = a.m[3 * i] * v.x[0] + a.m[3 * i + 1] * v.x[1] + a.m[3 * i + 2] * v.x[2];
    return r;
}

static inline firn_d33 firn_d33_product(firn_d33 a, firn_d33 b)
{
    firn_d33 r;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            r.m[3 * i + k] =
                a.m[3 * i] * b.m[k] + a.m[3 * i + 1] * b.m[3 + k] + a.m[3 * i + 2] * b.m[6 + k];
    return r;
}

static inline firn_d33 firn_d33_transpose(firn_d33 a)
{
    return (firn_d33){{a.m[0], a.m[3], a.m[6], a.m[1], a.m[4], a.m[7], a.m[2], a.m[5], a.m[8]}};
}

/// The matrix of a unit quaternion x, y, z, w.
static inline firn_d33 firn_d33_rotation(const double q[4])
{
    double x = q[0], y = q[1], z = q[2], w = q[3];
    return (firn_d33){{1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
                       2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
                       2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)}};
}

/// R A R^T
static inline firn_d33 firn_d33_turned(firn_d33 r, firn_d33 a)
{
    return firn_d33_product(firn_d33_product(r, a), firn_d33_transpose(r));
}

/// The inverse of a matrix that has one.
static inline firn_d33 firn_d33_inverse(firn_d33 a)
{
    firn_d33 c = {{a.m[4] * a.m[8] - a.m[5] * a.m[7], a.m[2] * a.m[7] - a.m[1] * a.m[8],
                   a.m[1] * a.m[5] - a.m[2] * a.m[4], a.m[5] * a.m[6] - a.m[3] * a.m[8],
                   a.m[0] * a.m[8] - a.m[2] * a.m[6], a.m[2] * a.m[3] - a.m[0] * a.m[5],
                   a.m[3] * a.m[7] - a.m[4] * a.m[6], a.m[1] * a.m[6] - a.m[0] * a.m[7],
                   a.m[0] * a.m[4] - a.m[1] * a.m[3]}};
    double det = a.m[0] * c.m[0] + a.m[1] * c.m[3] + a.m[2] * c.m[6];
    for (int i = 0; i < 9; i++)
        c.m[i] /= det;
    return c;
}

#endif
