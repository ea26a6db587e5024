#include "matrix.h"

#include "archive.h"

#include <math.h>
#include <string.h>

firn_abc_matrix firn_abc_matrix_identity(void)
{
    return (firn_abc_matrix){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
}

firn_abc_matrix firn_abc_matrix_mul(const firn_abc_matrix *a, const firn_abc_matrix *b)
{
    firn_abc_matrix product;
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            double sum = 0.0;
            for (int k = 0; k < 4; k++)
                sum += a->m[4 * row + k] * b->m[4 * k + column];
            product.m[4 * row + column] = sum;
        }
    return product;
}

firn_abc_matrix firn_abc_matrix_difference(const firn_abc_matrix *a, const firn_abc_matrix *b,
                                           double factor)
{
    firn_abc_matrix difference;
    for (int i = 0; i < 16; i++)
        difference.m[i] = factor * (a->m[i] - b->m[i]);
    return difference;
}

firn_abc_matrix firn_abc_matrix_scale(const double factor[3])
{
    return (firn_abc_matrix){
        {factor[0], 0, 0, 0, 0, factor[1], 0, 0, 0, 0, factor[2], 0, 0, 0, 0, 1}};
}

firn_abc_matrix firn_abc_matrix_translate(const double offset[3])
{
    return (firn_abc_matrix){
        {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, offset[0], offset[1], offset[2], 1}};
}

// A rotation as a unit quaternion x y z w.
typedef struct turn {
    double q[4];
} turn;

static firn_abc_matrix turn_matrix(turn t)
{
    double x = t.q[0], y = t.q[1], z = t.q[2], w = t.q[3];
    return (firn_abc_matrix){{1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0,
                              2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0,
                              2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0,
                              0, 0, 0, 1}};
}

firn_abc_matrix firn_abc_matrix_rotate(const double axis[3], double degrees)
{
    double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    if (!(length > 0.0))
        return firn_abc_matrix_identity();
    double half = degrees * (3.14159265358979323846 / 360.0);
    double s = sin(half) / length;
    return turn_matrix((turn){{s * axis[0], s * axis[1], s * axis[2], cos(half)}});
}

double firn_abc_matrix_det(const firn_abc_matrix *a)
{
    const double *m = a->m;
    return m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
           m[2] * (m[4] * m[9] - m[5] * m[8]);
}

static turn turn_of(const firn_abc_matrix *rotation)
{
    // The largest of the four sums keeps the division away from zero.
    const double *m = rotation->m;
    double sum[4] = {1 + m[0] - m[5] - m[10], 1 - m[0] + m[5] - m[10], 1 - m[0] - m[5] + m[10],
                     1 + m[0] + m[5] + m[10]};
    int best = 0;
    for (int i = 1; i < 4; i++)
        best = sum[i] > sum[best] ? i : best;
    double root = 0.5 * sqrt(sum[best]), f = 0.25 / root;
    double xy = m[1] + m[4], xz = m[2] + m[8], yz = m[6] + m[9];
    double wx = m[6] - m[9], wy = m[8] - m[2], wz = m[1] - m[4];
    turn t = {{f * wx, f * wy, f * wz, root}};
    if (best == 0)
        t = (turn){{root, f * xy, f * xz, f * wx}};
    else if (best == 1)
        t = (turn){{f * xy, root, f * yz, f * wy}};
    else if (best == 2)
        t = (turn){{f * xz, f * yz, root, f * wz}};
    return t;
}

static turn turn_mix(turn a, turn b, double mix)
{
    double dot = 0.0;
    for (int i = 0; i < 4; i++)
        dot += a.q[i] * b.q[i];
    double sign = dot < 0.0 ? -1.0 : 1.0;
    double angle = acos(fmin(fabs(dot), 1.0)), sine = sin(angle);
    // For tiny angles the arc is a straight line.
    double from = sine > 1e-9 ? sin((1.0 - mix) * angle) / sine : 1.0 - mix;
    double to = sign * (sine > 1e-9 ? sin(mix * angle) / sine : mix);
    turn t;
    double length = 0.0;
    for (int i = 0; i < 4; i++) {
        t.q[i] = from * a.q[i] + to * b.q[i];
        length += t.q[i] * t.q[i];
    }
    length = sqrt(length);
    for (int i = 0; i < 4; i++)
        t.q[i] /= length;
    return t;
}

static firn_abc_matrix transposed(const firn_abc_matrix *a)
{
    firn_abc_matrix t;
    for (int i = 0; i < 16; i++)
        t.m[i] = a->m[4 * (i % 4) + i / 4];
    return t;
}

// Inverse of the transposed 3x3 part, which must not be singular.
static firn_abc_matrix inverse_transposed(const firn_abc_matrix *a)
{
    const double *m = a->m;
    double f = 1.0 / firn_abc_matrix_det(a);
    return (firn_abc_matrix){{f * (m[5] * m[10] - m[6] * m[9]), f * (m[6] * m[8] - m[4] * m[10]),
                              f * (m[4] * m[9] - m[5] * m[8]), 0, f * (m[2] * m[9] - m[1] * m[10]),
                              f * (m[0] * m[10] - m[2] * m[8]), f * (m[1] * m[8] - m[0] * m[9]), 0,
                              f * (m[1] * m[6] - m[2] * m[5]), f * (m[2] * m[4] - m[0] * m[6]),
                              f * (m[0] * m[5] - m[1] * m[4]), 0, 0, 0, 0, 1}};
}

// Splits the 3x3 part into stretch * rotation by Newton's iteration for the polar decomposition.
// A mirroring matrix gives a mirroring stretch. False when it is singular or too skewed.
static bool split(const firn_abc_matrix *a, firn_abc_matrix *stretch, turn *rotation)
{
    firn_abc_matrix linear = *a;
    for (int i = 0; i < 3; i++)
        linear.m[12 + i] = linear.m[4 * i + 3] = 0.0;
    linear.m[15] = 1.0;
    double det = firn_abc_matrix_det(&linear);
    double size = 0.0;
    for (int i = 0; i < 12; i++)
        size = fmax(size, fabs(linear.m[i]));
    if (!(fabs(det) > 1e-12 * size * size * size) || !isfinite(det))
        return false;
    double sign = det < 0.0 ? -1.0 : 1.0;
    firn_abc_matrix r = linear;
    for (int i = 0; i < 12; i++)
        r.m[i] *= sign;
    double change = 1.0;
    for (int step = 0; step < 60 && change > 1e-14; step++) {
        firn_abc_matrix inverse = inverse_transposed(&r);
        change = 0.0;
        for (int i = 0; i < 12; i++) {
            double next = 0.5 * (r.m[i] + inverse.m[i]);
            change = fmax(change, fabs(next - r.m[i]));
            r.m[i] = next;
        }
    }
    if (!(change <= 1e-9))
        return false;
    firn_abc_matrix back = transposed(&r);
    *stretch = firn_abc_matrix_mul(&linear, &back);
    *rotation = turn_of(&r);
    return true;
}

firn_abc_matrix firn_abc_matrix_mix(const firn_abc_matrix *a, const firn_abc_matrix *b, double mix)
{
    firn_abc_matrix plain, stretch_a, stretch_b;
    turn turn_a, turn_b;
    for (int i = 0; i < 16; i++)
        plain.m[i] = a->m[i] + mix * (b->m[i] - a->m[i]);
    if (mix <= 0.0 || mix >= 1.0 || !split(a, &stretch_a, &turn_a) ||
        !split(b, &stretch_b, &turn_b))
        return plain;
    firn_abc_matrix rotation = turn_matrix(turn_mix(turn_a, turn_b, mix));
    firn_abc_matrix stretch;
    for (int i = 0; i < 16; i++)
        stretch.m[i] = stretch_a.m[i] + mix * (stretch_b.m[i] - stretch_a.m[i]);
    firn_abc_matrix mixed = firn_abc_matrix_mul(&stretch, &rotation);
    // The last column and row are the projective part and the translation.
    for (int i = 0; i < 4; i++) {
        mixed.m[12 + i] = plain.m[12 + i];
        mixed.m[4 * i + 3] = plain.m[4 * i + 3];
    }
    return mixed;
}

bool firn_abc_is_at_rest(const firn_abc_matrix *matrix, const firn_abc_matrix *rate)
{
    static const firn_abc_matrix zero = {{0}};
    firn_abc_matrix unit = firn_abc_matrix_identity();
    return memcmp(matrix, &unit, sizeof unit) == 0 && memcmp(rate, &zero, sizeof zero) == 0;
}

void firn_abc_to_world(const firn_abc_matrix *matrix, const firn_abc_matrix *rate, size_t count,
                       firn_vec3 *position, firn_vec3 *velocity)
{
    const double *m = matrix->m, *r = rate->m;
    if (firn_abc_is_at_rest(matrix, rate))
        return;
    for (size_t i = 0; i < count; i++) {
        double p[3] = {position[i].x, position[i].y, position[i].z};
        double v[3] = {velocity[i].x, velocity[i].y, velocity[i].z};
        double world[3], moved[3];
        for (int c = 0; c < 3; c++) {
            world[c] = p[0] * m[c] + p[1] * m[4 + c] + p[2] * m[8 + c] + m[12 + c];
            moved[c] = v[0] * m[c] + v[1] * m[4 + c] + v[2] * m[8 + c] + p[0] * r[c] +
                       p[1] * r[4 + c] + p[2] * r[8 + c] + r[12 + c];
        }
        position[i] = firn_vec((float)world[0], (float)world[1], (float)world[2]);
        velocity[i] = firn_vec((float)moved[0], (float)moved[1], (float)moved[2]);
    }
}
