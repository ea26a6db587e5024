/// Singular values and polar decomposition of 3x3 matrices, one matrix per lane.
///
/// One-sided Jacobi: the columns of F V are turned in pairs until they are orthogonal; their
/// lengths are the singular values. Nothing is squared that is not needed, so that small singular
/// values keep the accuracy of the largest (about 1e-6 of it), for any scale that float can hold.
#ifndef FIRN_SVD_H
#define FIRN_SVD_H

#include "simd.h"

/// F = u diag(s) v^T; u and v are rotations, s.x >= s.y >= |s.z|, and s.z has the sign of det F.
typedef struct firn_svd {
    firn_fm3 u;
    firn_fx3 s;
    firn_fm3 v;
} firn_svd;

/// F = r s with a rotation r and a symmetric s, whose smallest eigenvalue is negative where F is
/// inverted.
typedef struct firn_polar {
    firn_fm3 r;
    firn_fs3 s;
} firn_polar;

static inline firn_fx3 firn_svd_column(const firn_fm3 *a, int c)
{
    return (firn_fx3){a->m[c], a->m[3 + c], a->m[6 + c]};
}

static inline void firn_svd_set_column(firn_fm3 *a, int c, firn_fx3 v)
{
    a->m[c] = v.x;
    a->m[3 + c] = v.y;
    a->m[6 + c] = v.z;
}

static inline void firn_svd_turn(firn_fm3 *a, int p, int q, firn_fx cosine, firn_fx sine)
{
    for (int i = 0; i < 9; i += 3) {
        firn_fx ap = a->m[i + p];
        firn_fx aq = a->m[i + q];
        a->m[i + p] = cosine * ap - sine * aq;
        a->m[i + q] = sine * ap + cosine * aq;
    }
}

/// Makes columns p and q of a orthogonal and takes v along; gives the lanes that had to turn.
/// Lanes that are orthogonal already keep their bits, whatever the other lanes need.
static inline firn_ix firn_svd_orthogonalize(firn_fm3 *a, firn_fm3 *v, int p, int q)
{
    firn_fx3 ap = firn_svd_column(a, p);
    firn_fx3 aq = firn_svd_column(a, q);
    firn_fx pp = firn_fx3_dot(ap, ap);
    firn_fx qq = firn_fx3_dot(aq, aq);
    firn_fx pq = firn_fx3_dot(ap, aq);
    firn_ix turn = pq * pq > 4e-14f * (pp * qq);
    // The smaller root of t^2 + (qq - pp) / pq t - 1 = 0 is the tangent of the angle.
    firn_fx d = qq - pp;
    firn_fx root = firn_fx_abs(d) + firn_fx_sqrt(d * d + 4.0f * (pq * pq));
    firn_fx t = firn_fx_copysign(2.0f * pq / firn_fx_max(firn_fx_set(1e-37f), root),
                                 (firn_fx)((firn_ix)pq ^ ((firn_ix)d & INT32_MIN)));
    t = firn_fx_select(turn, t, (firn_fx){0});
    firn_fx cosine = 1.0f / firn_fx_sqrt(1.0f + t * t);
    firn_svd_turn(a, p, q, cosine, t * cosine);
    firn_svd_turn(v, p, q, cosine, t * cosine);
    return turn;
}

/// Exchanges columns p and q where mask says so, one of them negated to stay a rotation.
static inline void firn_svd_exchange(firn_fm3 *a, int p, int q, firn_ix mask)
{
    for (int i = 0; i < 9; i += 3) {
        firn_fx ap = a->m[i + p];
        firn_fx aq = a->m[i + q];
        a->m[i + p] = firn_fx_select(mask, aq, ap);
        a->m[i + q] = firn_fx_select(mask, -ap, aq);
    }
}

static inline void firn_svd_sort(firn_fm3 *a, firn_fm3 *v)
{
    static const int pair[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (int i = 0; i < 3; i++) {
        int p = pair[i][0], q = pair[i][1];
        firn_fx3 ap = firn_svd_column(a, p);
        firn_fx3 aq = firn_svd_column(a, q);
        firn_ix mask = firn_fx3_dot(ap, ap) < firn_fx3_dot(aq, aq);
        firn_svd_exchange(a, p, q, mask);
        firn_svd_exchange(v, p, q, mask);
    }
}

/// A unit vector at right angles to the unit vector a.
static inline firn_fx3 firn_svd_perpendicular(firn_fx3 a)
{
    firn_fx zero = {0};
    firn_ix flat = firn_fx_abs(a.x) > 0.7f;
    firn_fx3 b = {firn_fx_select(flat, -a.z, zero), firn_fx_select(flat, zero, a.z),
                  firn_fx_select(flat, a.x, -a.y)};
    firn_fx scale = 1.0f / firn_fx_sqrt(firn_fx3_dot(b, b));
    return firn_fx3_scale(scale, b);
}

/// u and s from the orthogonal, sorted columns of a. Where columns vanish, any rotation serves.
static inline void firn_svd_factor(const firn_fm3 *a, firn_fm3 *u, firn_fx3 *s)
{
    firn_fx zero = {0};
    firn_fx tiny = firn_fx_set(1e-18f);
    firn_fx3 a0 = firn_svd_column(a, 0);
    firn_fx3 a1 = firn_svd_column(a, 1);
    s->x = firn_fx_sqrt(firn_fx3_dot(a0, a0));
    firn_ix none = s->x < tiny;
    firn_fx3 u0 = firn_fx3_scale(1.0f / firn_fx_max(tiny, s->x), a0);
    u0 = firn_fx3_select(none, (firn_fx3){firn_fx_set(1.0f), zero, zero}, u0);

    // Of a second column that is mostly rounding, only the part across the first may count.
    firn_fx3 across = firn_fx3_add_scaled(a1, -firn_fx3_dot(u0, a1), u0);
    firn_fx length = firn_fx_sqrt(firn_fx3_dot(across, across));
    firn_fx3 u1 = firn_fx3_scale(1.0f / firn_fx_max(tiny, length), across);
    u1 = firn_fx3_add_scaled(u1, -firn_fx3_dot(u0, u1), u0);
    firn_fx scale = 1.0f / firn_fx_sqrt(firn_fx_max(tiny, firn_fx3_dot(u1, u1)));
    u1 = firn_fx3_select(length <= 1e-7f * s->x, firn_svd_perpendicular(u0),
                         firn_fx3_scale(scale, u1));
    firn_fx3 u2 = firn_fx3_cross(u0, u1);

    s->y = firn_fx_clamp(firn_fx3_dot(u1, a1), zero, s->x);
    s->z = firn_fx3_dot(u2, firn_svd_column(a, 2));
    s->z = firn_fx_clamp(s->z, -s->y, s->y);
    firn_svd_set_column(u, 0, u0);
    firn_svd_set_column(u, 1, u1);
    firn_svd_set_column(u, 2, u2);
}

static inline firn_svd firn_svd_of(firn_fm3 f)
{
    enum { MAX_SWEEPS = 8 };
    // A power of two brings the largest element near one, without changing any digit.
    firn_fx largest = {0};
    for (int i = 0; i < 9; i++)
        largest = firn_fx_max(largest, firn_fx_abs(f.m[i]));
    firn_ix exponent = ((firn_ix)largest >> 23) & 0xff;
    exponent = firn_ix_select(exponent < 1, firn_ix_set(1), exponent);
    exponent = firn_ix_select(exponent > 253, firn_ix_set(253), exponent);
    firn_fx scale = (firn_fx)((254 - exponent) << 23);
    firn_fx unscale = (firn_fx)(exponent << 23);

    firn_svd svd = {.v = firn_fm3_identity()};
    firn_fm3 a = firn_fm3_scale(scale, f);
    firn_ix turned = firn_ix_set(-1);
    for (int sweep = 0; sweep < MAX_SWEEPS && firn_ix_any(turned); sweep++) {
        turned = firn_svd_orthogonalize(&a, &svd.v, 0, 1);
        turned |= firn_svd_orthogonalize(&a, &svd.v, 0, 2);
        turned |= firn_svd_orthogonalize(&a, &svd.v, 1, 2);
    }
    firn_svd_sort(&a, &svd.v);
    firn_svd_factor(&a, &svd.u, &svd.s);
    svd.s = firn_fx3_scale(unscale, svd.s);
    return svd;
}

/// u diag(s) v^T
static inline firn_fm3 firn_svd_compose(const firn_svd *svd, firn_fx3 s)
{
    firn_fm3 us = svd->u;
    for (int i = 0; i < 9; i += 3) {
        us.m[i] *= s.x;
        us.m[i + 1] *= s.y;
        us.m[i + 2] *= s.z;
    }
    return firn_fm3_mul_transpose(us, svd->v);
}

static inline firn_polar firn_polar_of(firn_fm3 f)
{
    firn_svd svd = firn_svd_of(f);
    firn_polar polar = {.r = firn_fm3_mul_transpose(svd.u, svd.v)};
    svd.u = svd.v;
    firn_fm3 s = firn_svd_compose(&svd, svd.s);
    polar.s = (firn_fs3){s.m[0], s.m[1], s.m[2], s.m[4], s.m[5], s.m[8]};
    return polar;
}

#endif
