/// Small vectors, matrices, rotations and transforms, passed and returned by value.
#ifndef FIRN_VEC_H
#define FIRN_VEC_H

#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_vec3 {
    float x, y, z;
} firn_vec3;

/// Integer position of a voxel, cell or block.
typedef struct firn_coord {
    int32_t x, y, z;
} firn_coord;

/// Row-major: m[3 * row + column].
typedef struct firn_mat3 {
    float m[9];
} firn_mat3;

/// A rotation as a unit quaternion; w is the real part.
typedef struct firn_quat {
    float x, y, z, w;
} firn_quat;

/// world = translation + scale * (rotation * local)
typedef struct firn_transform {
    firn_vec3 translation; // m
    firn_quat rotation;
    float scale;
} firn_transform;

static inline firn_vec3 firn_vec(float x, float y, float z)
{
    firn_vec3 v = {x, y, z};
    return v;
}

static inline firn_vec3 firn_add(firn_vec3 a, firn_vec3 b)
{
    firn_vec3 sum = {a.x + b.x, a.y + b.y, a.z + b.z};
    return sum;
}

static inline firn_vec3 firn_sub(firn_vec3 a, firn_vec3 b)
{
    firn_vec3 difference = {a.x - b.x, a.y - b.y, a.z - b.z};
    return difference;
}

static inline firn_vec3 firn_scale(float s, firn_vec3 a)
{
    firn_vec3 product = {s * a.x, s * a.y, s * a.z};
    return product;
}

/// a + s * b
static inline firn_vec3 firn_add_scaled(firn_vec3 a, float s, firn_vec3 b)
{
    firn_vec3 sum = {a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
    return sum;
}

static inline float firn_dot(firn_vec3 a, firn_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static inline firn_vec3 firn_cross(firn_vec3 a, firn_vec3 b)
{
    firn_vec3 product = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    return product;
}

static inline float firn_length(firn_vec3 a) { return sqrtf(firn_dot(a, a)); }

/// A zero vector stays zero.
static inline firn_vec3 firn_normalize(firn_vec3 a)
{
    float length = firn_length(a);
    return length > 0.0f ? firn_scale(1.0f / length, a) : a;
}

static inline firn_vec3 firn_lerp(firn_vec3 a, firn_vec3 b, float t)
{
    firn_vec3 mix = {a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z)};
    return mix;
}

static inline int firn_vec_is_finite(firn_vec3 a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}

static inline firn_mat3 firn_mat_identity(void)
{
    firn_mat3 identity = {{1.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 1.0f}};
    return identity;
}

static inline firn_vec3 firn_mul(firn_mat3 a, firn_vec3 v)
{
    firn_vec3 product = {a.m[0] * v.x + a.m[1] * v.y + a.m[2] * v.z,
                         a.m[3] * v.x + a.m[4] * v.y + a.m[5] * v.z,
                         a.m[6] * v.x + a.m[7] * v.y + a.m[8] * v.z};
    return product;
}

static inline firn_mat3 firn_mat_mul(firn_mat3 a, firn_mat3 b)
{
    firn_mat3 product;
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
            product.m[3 * row + column] = a.m[3 * row] * b.m[column] +
                                          a.m[3 * row + 1] * b.m[3 + column] +
                                          a.m[3 * row + 2] * b.m[6 + column];
    return product;
}

static inline firn_mat3 firn_mat_transpose(firn_mat3 a)
{
    firn_mat3 transpose = {
        {a.m[0], a.m[3], a.m[6], a.m[1], a.m[4], a.m[7], a.m[2], a.m[5], a.m[8]}};
    return transpose;
}

static inline float firn_mat_det(firn_mat3 a)
{
    return a.m[0] * (a.m[4] * a.m[8] - a.m[5] * a.m[7]) -
           a.m[1] * (a.m[3] * a.m[8] - a.m[5] * a.m[6]) +
           a.m[2] * (a.m[3] * a.m[7] - a.m[4] * a.m[6]);
}

static inline firn_quat firn_quat_identity(void)
{
    firn_quat identity = {0.0f, 0.0f, 0.0f, 1.0f};
    return identity;
}

/// A turn by angle (radians) about axis, which need not have length one.
static inline firn_quat firn_quat_turn(firn_vec3 axis, float angle)
{
    firn_vec3 a = firn_scale(sinf(0.5f * angle), firn_normalize(axis));
    firn_quat q = {a.x, a.y, a.z, cosf(0.5f * angle)};
    return q;
}

static inline firn_quat firn_quat_mul(firn_quat a, firn_quat b)
{
    firn_quat product = {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                         a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                         a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                         a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
    return product;
}

static inline firn_quat firn_quat_conjugate(firn_quat q)
{
    firn_quat conjugate = {-q.x, -q.y, -q.z, q.w};
    return conjugate;
}

static inline firn_vec3 firn_rotate(firn_quat q, firn_vec3 v)
{
    firn_vec3 axis = {q.x, q.y, q.z};
    firn_vec3 t = firn_scale(2.0f, firn_cross(axis, v));
    return firn_add(firn_add_scaled(v, q.w, t), firn_cross(axis, t));
}

static inline firn_transform firn_transform_identity(void)
{
    firn_transform identity = {{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, 1.0f};
    return identity;
}

static inline firn_vec3 firn_transform_point(firn_transform t, firn_vec3 local)
{
    return firn_add_scaled(t.translation, t.scale, firn_rotate(t.rotation, local));
}

static inline firn_vec3 firn_transform_point_inverse(firn_transform t, firn_vec3 world)
{
    return firn_scale(1.0f / t.scale,
                      firn_rotate(firn_quat_conjugate(t.rotation), firn_sub(world, t.translation)));
}

#ifdef __cplusplus
}
#endif

#endif
