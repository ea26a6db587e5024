/// The snow model as the paper writes it, in double precision and without any shortcut: what the
/// lanes of core/src are measured against.
#ifndef FIRN_REFERENCE_MODEL_H
#define FIRN_REFERENCE_MODEL_H

#include <math.h>
#include <stdint.h>

typedef struct ref_mat {
    double m[3][3];
} ref_mat;

typedef struct ref_svd {
    ref_mat u, v;
    double s[3];
} ref_svd;

static inline ref_mat ref_diagonal(double x, double y, double z)
{
    ref_mat a = {{{x, 0, 0}, {0, y, 0}, {0, 0, z}}};
    return a;
}

static inline ref_mat ref_mul(ref_mat a, ref_mat b)
{
    ref_mat c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    return c;
}

static inline ref_mat ref_transpose(ref_mat a)
{
    ref_mat t;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t.m[i][j] = a.m[j][i];
    return t;
}

/// a + s b
static inline ref_mat ref_add(ref_mat a, double s, ref_mat b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a.m[i][j] += s * b.m[i][j];
    return a;
}

static inline double ref_inner(ref_mat a, ref_mat b)
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += a.m[i][j] * b.m[i][j];
    return sum;
}

static inline double ref_norm(ref_mat a) { return sqrt(ref_inner(a, a)); }

/// det(a) a^-T
static inline ref_mat ref_cofactor(ref_mat a)
{
    ref_mat c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int p = (i + 1) % 3, q = (i + 2) % 3, r = (j + 1) % 3, s = (j + 2) % 3;
            c.m[i][j] = a.m[p][r] * a.m[q][s] - a.m[p][s] * a.m[q][r];
        }
    return c;
}

static inline double ref_det(ref_mat a)
{
    ref_mat c = ref_cofactor(a);
    return a.m[0][0] * c.m[0][0] + a.m[0][1] * c.m[0][1] + a.m[0][2] * c.m[0][2];
}

/// Turns the pair (p, q) of the symmetric matrix a to zero and collects the rotation in v.
static inline void ref_jacobi(ref_mat *a, ref_mat *v, int p, int q)
{
    double angle = 0.5 * atan2(2.0 * a->m[p][q], a->m[q][q] - a->m[p][p]);
    ref_mat turn = ref_diagonal(1.0, 1.0, 1.0);
    turn.m[p][p] = turn.m[q][q] = cos(angle);
    turn.m[p][q] = sin(angle);
    turn.m[q][p] = -sin(angle);
    *a = ref_mul(ref_transpose(turn), ref_mul(*a, turn));
    *v = ref_mul(*v, turn);
}

/// Rotations u and v, s[0] >= s[1] >= |s[2]|; for matrices of rank two at least.
static inline ref_svd ref_svd_of(ref_mat f)
{
    ref_mat a = ref_mul(ref_transpose(f), f);
    ref_mat v = ref_diagonal(1.0, 1.0, 1.0);
    for (int sweep = 0; sweep < 12; sweep++) {
        ref_jacobi(&a, &v, 0, 1);
        ref_jacobi(&a, &v, 0, 2);
        ref_jacobi(&a, &v, 1, 2);
    }
    int order[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++)
            if (a.m[order[j]][order[j]] > a.m[order[i]][order[i]]) {
                int swap = order[i];
                order[i] = order[j];
                order[j] = swap;
            }
    ref_svd svd = {.s = {0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            svd.v.m[i][j] = v.m[i][order[j]];
    if (ref_det(svd.v) < 0.0)
        for (int i = 0; i < 3; i++)
            svd.v.m[i][2] = -svd.v.m[i][2];
    ref_mat fv = ref_mul(f, svd.v);
    for (int j = 0; j < 2; j++) {
        svd.s[j] =
            sqrt(fv.m[0][j] * fv.m[0][j] + fv.m[1][j] * fv.m[1][j] + fv.m[2][j] * fv.m[2][j]);
        for (int i = 0; i < 3; i++)
            svd.u.m[i][j] = fv.m[i][j] / svd.s[j];
    }
    for (int i = 0; i < 3; i++) {
        int p = (i + 1) % 3, q = (i + 2) % 3;
        svd.u.m[i][2] = svd.u.m[p][0] * svd.u.m[q][1] - svd.u.m[q][0] * svd.u.m[p][1];
        svd.s[2] += svd.u.m[i][2] * fv.m[i][2];
    }
    return svd;
}

static inline ref_mat ref_compose(const ref_svd *svd, double x, double y, double z)
{
    return ref_mul(ref_mul(svd->u, ref_diagonal(x, y, z)), ref_transpose(svd->v));
}

/// Energy per initial volume, the paper's (1).
static inline double ref_energy(ref_mat f, double mu, double lambda)
{
    ref_svd svd = ref_svd_of(f);
    double sum = 0.0;
    for (int i = 0; i < 3; i++)
        sum += (svd.s[i] - 1.0) * (svd.s[i] - 1.0);
    double j = ref_det(f);
    return mu * sum + 0.5 * lambda * (j - 1.0) * (j - 1.0);
}

/// dPsi/dF = 2 mu (F - R) + lambda (J - 1) J F^-T
static inline ref_mat ref_piola(ref_mat f, double mu, double lambda)
{
    ref_svd svd = ref_svd_of(f);
    ref_mat r = ref_compose(&svd, 1.0, 1.0, 1.0);
    ref_mat p = ref_add(f, -1.0, r);
    ref_mat zero = {{{0}}};
    ref_mat sum = ref_add(zero, 2.0 * mu, p);
    return ref_add(sum, lambda * (ref_det(f) - 1.0), ref_cofactor(f));
}

typedef struct ref_return {
    ref_mat f;
    double jp;
} ref_return;

static inline double ref_clamp(double a, double low, double high)
{
    return a < low ? low : a > high ? high : a;
}

/// Section 7 of the paper: singular values clamped, what was clamped goes to J_P.
static inline ref_return ref_return_map(ref_mat f, double jp, double low, double high)
{
    ref_svd svd = ref_svd_of(f);
    double c[3];
    for (int i = 0; i < 3; i++) {
        c[i] = ref_clamp(svd.s[i], low, high);
        jp *= svd.s[i] / c[i];
    }
    ref_return result = {ref_compose(&svd, c[0], c[1], c[2]), jp};
    return result;
}

/// A sequence of numbers that is the same everywhere.
static inline double ref_random(uint64_t *state, double low, double high)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*state >> 11) * 0x1p-53;
}

static inline ref_mat ref_random_matrix(uint64_t *state, double size)
{
    ref_mat a;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a.m[i][j] = ref_random(state, -size, size);
    return a;
}

static inline ref_mat ref_random_rotation(uint64_t *state)
{
    double q[4], n = 0.0;
    do {
        n = 0.0;
        for (int i = 0; i < 4; i++) {
            q[i] = ref_random(state, -1.0, 1.0);
            n += q[i] * q[i];
        }
    } while (n < 0.01 || n > 1.0);
    double x = q[0], y = q[1], z = q[2], w = q[3], s = 2.0 / n;
    ref_mat r = {{{1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)},
                  {s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)},
                  {s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)}}};
    return r;
}

/// A matrix with these singular values and random rotations.
static inline ref_mat ref_stretched(uint64_t *state, double x, double y, double z)
{
    ref_mat u = ref_random_rotation(state);
    return ref_mul(ref_mul(u, ref_diagonal(x, y, z)), ref_random_rotation(state));
}

#endif
