/// Isotropic elasticity, one particle per lane: what several models are made of.
///
/// Everything follows from the strain e = s - I, where F = s R is the left polar decomposition: an
/// isotropic energy needs neither R nor eigenvectors. e is computed from B = F F^T - I by the
/// identity sqrt(1 + l) - sqrt(1 + k) = (l - k) / (sqrt(1 + l) + sqrt(1 + k)), which loses no
/// digits however small the strain.
#ifndef FIRN_ELASTICITY_H
#define FIRN_ELASTICITY_H

#include "base/svd.h"
#include "matter.h"

typedef struct firn_moduli {
    firn_fx mu, lambda; // Pa
} firn_moduli;

/// B = F F^T - I. The one comes off first, so that it cancels before digits are lost.
static inline firn_fs3 firn_green(const firn_fm3 *f)
{
    const firn_fx *m = f->m;
    return (firn_fs3){(m[0] * m[0] - 1.0f) + m[1] * m[1] + m[2] * m[2],
                      m[0] * m[3] + m[1] * m[4] + m[2] * m[5],
                      m[0] * m[6] + m[1] * m[7] + m[2] * m[8],
                      (m[3] * m[3] - 1.0f) + m[4] * m[4] + m[5] * m[5],
                      m[3] * m[6] + m[4] * m[7] + m[5] * m[8],
                      (m[6] * m[6] - 1.0f) + m[7] * m[7] + m[8] * m[8]};
}

/// All that energy and stress need of F.
typedef struct firn_deformation {
    firn_fs3 b; // F F^T - I
    firn_fx det;
} firn_deformation;

static inline firn_deformation firn_deformation_of(const firn_fm3 *f)
{
    return (firn_deformation){firn_green(f), firn_fm3_det(*f)};
}

/// 2 cos(2/3 acos(x)) for 0 <= x <= 1, within 2e-7.
static inline firn_fx firn_trisect(firn_fx x)
{
    firn_fx p = firn_fx_set(2.25527259e-3f);
    p = p * x - 1.21786911e-2f;
    p = p * x + 3.20945606e-2f;
    p = p * x - 6.04707934e-2f;
    p = p * x + 0.10568282f;
    p = p * x - 0.222077027f;
    p = p * x + 1.15469384f;
    return p * x + 1.0f;
}

/// Eigenvalues of a symmetric matrix, x >= y >= z. The one that lies apart from the other two comes
/// from the trigonometric formula. The formula would lose half the digits of a close pair, and
/// plastic flow leads right there: two singular values at the same limit. So the pair is found from
/// what remains of the matrix when the part of the lone eigenvector is taken off.
FIRN_INLINE firn_fx3 firn_fs3_eigenvalues(firn_fs3 b)
{
    firn_fx mean = (1.0f / 3.0f) * firn_fs3_trace(b);
    firn_fs3 d = firn_fs3_add_scalar(b, -mean);
    firn_fx p2 = (1.0f / 6.0f) * firn_fs3_norm2(d);
    firn_fx p = firn_fx_root(p2);
    firn_fx least = firn_fx_set(1e-30f);
    firn_fx r = firn_fx_ratio(0.5f * firn_fs3_det(d), firn_fx_max(least, p2 * p));
    firn_fx cosine = firn_fx_root(0.5f + 0.5f * firn_fx_min(firn_fx_set(1.0f), firn_fx_abs(r)));
    firn_fx alone = firn_fx_copysign(p * firn_trisect(cosine), r);

    // d - middle has the eigenvalues far, half and -half.
    firn_fx middle = -0.5f * alone;
    firn_fx far = 1.5f * alone;
    firn_fx half2 = 3.0f * p2 - 0.75f * (alone * alone);
    firn_fs3 m = firn_fs3_add_scalar(d, -middle);
    firn_fs3 lone = firn_fs3_add_scalar(firn_fs3_mul_commuting(m, m), -half2);
    firn_fx scale = firn_fx_ratio(far, firn_fx_max(least, far * far - half2));
    firn_fs3 rest = firn_fs3_add_scaled(m, -scale, lone);
    firn_fx half = firn_fx_root(0.5f * firn_fs3_norm2(rest));

    alone += mean;
    firn_fx high = mean + (middle + half);
    firn_fx low = mean + (middle - half);
    return (firn_fx3){firn_fx_max(alone, high), firn_fx_clamp(alone, low, high),
                      firn_fx_min(alone, low)};
}

/// Eigenvalues of s = sqrt(I + B) from those of B; the last takes the sign of det F.
static inline firn_fx3 firn_stretches(firn_fx3 l, firn_fx det)
{
    firn_fx zero = {0};
    return (firn_fx3){firn_fx_root(firn_fx_max(zero, 1.0f + l.x)),
                      firn_fx_root(firn_fx_max(zero, 1.0f + l.y)),
                      firn_fx_copysign(firn_fx_root(firn_fx_max(zero, 1.0f + l.z)), det)};
}

/// c0 I + c1 (B - l.x) + c2 (B - l.x)(B - l.y): the matrix function with these divided differences.
static inline firn_fs3 firn_fs3_function(firn_fs3 b, firn_fx3 l, firn_fx3 c)
{
    firn_fs3 bx = firn_fs3_add_scalar(b, -l.x);
    firn_fs3 by = firn_fs3_add_scalar(b, -l.y);
    firn_fs3 f = firn_fs3_scale(c.z, firn_fs3_mul_commuting(bx, by));
    f = firn_fs3_add_scaled(f, c.y, bx);
    return firn_fs3_add_scalar(f, c.x);
}

/// Divided differences of a function with the values h at the eigenvalues l. Where eigenvalues
/// coincide, so must the values, and any slope will do.
FIRN_INLINE firn_fx3 firn_divided_differences(firn_fx3 l, firn_fx3 h)
{
    firn_fx least = firn_fx_set(1e-8f);
    firn_fx xy = firn_fx_max(least, l.x - l.y);
    firn_fx yz = firn_fx_max(least, l.y - l.z);
    firn_fx xz = firn_fx_max(least, l.x - l.z);
    firn_fx over = firn_fx_ratio(firn_fx_set(1.0f), xy * yz * xz);
    firn_fx slope_xy = (h.x - h.y) * (over * yz * xz);
    firn_fx slope_yz = (h.y - h.z) * (over * xy * xz);
    return (firn_fx3){h.x, slope_xy, (slope_xy - slope_yz) * (over * xy * yz)};
}

/// sqrt(I + B) - I, whose divided differences have closed forms without any difference.
static inline firn_fs3 firn_strain_root(firn_fs3 b, firn_fx3 l, firn_fx3 s)
{
    firn_fx least = firn_fx_set(1e-3f);
    firn_fx xy = 1.0f / firn_fx_max(least, s.x + s.y);
    firn_fx yz_zx = 1.0f / (firn_fx_max(least, s.y + s.z) * firn_fx_max(least, s.z + s.x));
    firn_fx3 c = {l.x / (1.0f + s.x), xy, -xy * yz_zx};
    return firn_fs3_function(b, l, c);
}

static __attribute__((noinline)) firn_fs3 firn_strain_large(firn_fs3 b, firn_fx det)
{
    firn_fx3 l = firn_fs3_eigenvalues(b);
    return firn_strain_root(b, l, firn_stretches(l, det));
}

/// The strain e = s - I. Where F is inverted, the smallest eigenvalue of s is negative, so that
/// energy and stress continue smoothly; at s.y + s.z = 0 the rotation is undefined and e bounded.
FIRN_INLINE firn_fs3 firn_strain_of(const firn_deformation *deformation)
{
    firn_fs3 b = deformation->b;
    firn_fs3 b2 = firn_fs3_mul_commuting(b, b);
    firn_ix small = (firn_fs3_trace(b2) <= 0.01f) & (deformation->det > 0.0f);

    // e = B (c0 + c1 B + c2 B^2 + c3 B^3), off by 4e-8 at most for eigenvalues up to 0.1.
    firn_fs3 odd = firn_fs3_add_scaled(firn_fs3_scale(firn_fx_set(0.0627748594f), b),
                                       firn_fx_set(-0.0392687321f), b2);
    firn_fs3 e =
        firn_fs3_add_scaled(firn_fs3_mul_commuting(b2, odd), firn_fx_set(-0.124999739f), b2);
    e = firn_fs3_add_scaled(e, firn_fx_set(0.499999642f), b);
    if (firn_ix_all(small))
        return e;
    return firn_fs3_select(small, e, firn_strain_large(b, deformation->det));
}

FIRN_INLINE firn_fs3 firn_strain(firn_fm3 f)
{
    firn_deformation deformation = firn_deformation_of(&f);
    return firn_strain_of(&deformation);
}

/// J - 1 = det(I + e) - 1, without the cancellation.
static inline firn_fx firn_volume_change(firn_fs3 e)
{
    firn_fx second =
        e.xx * e.yy - e.xy * e.xy + (e.xx * e.zz - e.xz * e.xz) + (e.yy * e.zz - e.yz * e.yz);
    return firn_fs3_trace(e) + (second + firn_fs3_det(e));
}

/// Energy per initial volume: mu |e|^2 + lambda / 2 (J - 1)^2.
static inline firn_fx firn_corotated_energy(firn_fs3 e, firn_moduli moduli)
{
    firn_fx dj = firn_volume_change(e);
    return moduli.mu * firn_fs3_norm2(e) + 0.5f * moduli.lambda * (dj * dj);
}

/// Kirchhoff stress dPsi/dF F^T = 2 mu s (s - I) + lambda (J - 1) J I.
static inline firn_fs3 firn_corotated_stress(firn_fs3 e, firn_moduli moduli)
{
    firn_fx dj = firn_volume_change(e);
    firn_fs3 deformation = firn_fs3_add(e, firn_fs3_mul_commuting(e, e));
    return firn_fs3_add_scalar(firn_fs3_scale(2.0f * moduli.mu, deformation),
                               moduli.lambda * (dj * (1.0f + dj)));
}

/// How much of the explicit viscosity's range of stability is used; 0.6 is all of it, method.md
/// (24).
#define FIRN_DAMPING_SHARE 0.3f

/// The time constant of the viscosity that an explicit step of dt can bear where waves cross
/// transit2^-1/2 cells a second, method.md (24): all of the wanted one in soft snow, less in hard.
static inline firn_fx firn_damping_time(firn_fx wanted, firn_fx transit2, float dt)
{
    firn_fx most = FIRN_DAMPING_SHARE * (transit2 * (1.0f / dt) - dt);
    return firn_fx_clamp(wanted, firn_fx_set(0.0f), firn_fx_max(firn_fx_set(0.0f), most));
}

/// Stress of the strain rate, 2 mu sym(L) + lambda tr(L) I, times the time constant: none for a
/// rotation, and symmetric, so that it keeps angular momentum.
static inline firn_fs3 firn_damping_stress(const firn_fm3 *l, firn_moduli moduli, firn_fx time)
{
    const firn_fx *m = l->m;
    firn_fx mu = time * moduli.mu;
    firn_fx bulk = time * moduli.lambda * (m[0] + m[4] + m[8]);
    return (firn_fs3){2.0f * mu * m[0] + bulk, mu * (m[1] + m[3]), mu * (m[2] + m[6]),
                      2.0f * mu * m[4] + bulk, mu * (m[5] + m[7]), 2.0f * mu * m[8] + bulk};
}

/// Both, in an explicit substep.
FIRN_INLINE firn_fs3 firn_damping(firn_fx wanted, firn_moduli moduli, const firn_flow *flow)
{
    float h = flow->cell_size;
    firn_fx transit2 =
        firn_fx_ratio(firn_fx_set(h * h), firn_fx_max(firn_fx_set(1e-30f), flow->wave2));
    return firn_damping_stress(flow->gradient, moduli,
                               firn_damping_time(wanted, transit2, flow->dt));
}

/// Solves (2 I + tr(e) I - e) w = v; its eigenvalues are the sums of two eigenvalues of s, never
/// small for an F that went through the return map. For others the determinant is bounded from
/// below, which keeps w finite.
static inline firn_fx3 firn_corotated_spin(firn_fs3 e, firn_fx3 v)
{
    firn_fx trace = firn_fs3_trace(e);
    firn_fx xx = 2.0f + (trace - e.xx), yy = 2.0f + (trace - e.yy), zz = 2.0f + (trace - e.zz);
    firn_fs3 c = {yy * zz - e.yz * e.yz, e.xy * zz + e.xz * e.yz, e.xy * e.yz + e.xz * yy,
                  xx * zz - e.xz * e.xz, e.yz * xx + e.xy * e.xz, xx * yy - e.xy * e.xy};
    firn_fx det = xx * c.xx - e.xy * c.xy - e.xz * c.xz;
    firn_fx scale = 1.0f / firn_fx_max(firn_fx_set(1e-4f), det);
    return (firn_fx3){scale * (c.xx * v.x + c.xy * v.y + c.xz * v.z),
                      scale * (c.xy * v.x + c.yy * v.y + c.yz * v.z),
                      scale * (c.xz * v.x + c.yz * v.y + c.zz * v.z)};
}

/// The Hessian applied to dF = G F, as K = (d2Psi/dF2 : dF) F^T: the force on node i changes by
/// -sum V0 K grad w_i. e is the strain of F.
///
/// With dR = W R, K = 2 mu (G s - W) s + lambda J ((2 J - 1) tr(G) I - (J - 1) G^T). The skew part
/// of G s = ds + s W gives W; it is split as skew(G) + W', and only the small W' is solved for.
static inline firn_fm3 firn_corotated_hessian(firn_fs3 e, firn_moduli moduli, firn_fm3 g)
{
    firn_fm3 ge = firn_fm3_mul(g, firn_fm3_from_fs3(e));
    firn_fx3 spin = {0.5f * (g.m[7] - g.m[5]), 0.5f * (g.m[2] - g.m[6]), 0.5f * (g.m[3] - g.m[1])};
    firn_fx trace = firn_fs3_trace(e);
    firn_fx3 v = {(ge.m[7] - ge.m[5]) - (trace - e.xx) * spin.x + e.xy * spin.y + e.xz * spin.z,
                  (ge.m[2] - ge.m[6]) + e.xy * spin.x - (trace - e.yy) * spin.y + e.yz * spin.z,
                  (ge.m[3] - ge.m[1]) + e.xz * spin.x + e.yz * spin.y - (trace - e.zz) * spin.z};
    firn_fx3 w = firn_corotated_spin(e, v);

    // a = G s - W = sym(G) + G e - W'
    firn_fx xy = 0.5f * (g.m[1] + g.m[3]);
    firn_fx xz = 0.5f * (g.m[2] + g.m[6]);
    firn_fx yz = 0.5f * (g.m[5] + g.m[7]);
    firn_fm3 a = {{g.m[0] + ge.m[0], xy + (ge.m[1] + w.z), xz + (ge.m[2] - w.y),
                   xy + (ge.m[3] - w.z), g.m[4] + ge.m[4], yz + (ge.m[5] + w.x),
                   xz + (ge.m[6] + w.y), yz + (ge.m[7] - w.x), g.m[8] + ge.m[8]}};
    firn_fm3 as = firn_fm3_add(a, firn_fm3_mul(a, firn_fm3_from_fs3(e)));

    firn_fx dj = firn_volume_change(e);
    firn_fx pressure = moduli.lambda * (1.0f + dj);
    firn_fx turn = pressure * dj;
    firn_fx bulk = pressure * (1.0f + 2.0f * dj) * (g.m[0] + g.m[4] + g.m[8]);
    firn_fx mu2 = 2.0f * moduli.mu;
    return (firn_fm3){{mu2 * as.m[0] + (bulk - turn * g.m[0]), mu2 * as.m[1] - turn * g.m[3],
                       mu2 * as.m[2] - turn * g.m[6], mu2 * as.m[3] - turn * g.m[1],
                       mu2 * as.m[4] + (bulk - turn * g.m[4]), mu2 * as.m[5] - turn * g.m[7],
                       mu2 * as.m[6] - turn * g.m[2], mu2 * as.m[7] - turn * g.m[5],
                       mu2 * as.m[8] + (bulk - turn * g.m[8])}};
}

/// The cache of the product: strain, V0 mu, V0 lambda.
FIRN_INLINE void firn_corotated_prepare(firn_fs3 e, firn_moduli moduli, firn_fx volume,
                                        firn_fx cache[FIRN_CACHE_CHANNELS])
{
    const firn_fx values[FIRN_CACHE_CHANNELS] = {
        e.xx, e.xy, e.xz, e.yy, e.yz, e.zz, volume * moduli.mu, volume * moduli.lambda};
    for (int c = 0; c < FIRN_CACHE_CHANNELS; c++)
        cache[c] = values[c];
}

FIRN_INLINE firn_fm3 firn_corotated_product(const firn_fx c[FIRN_CACHE_CHANNELS], float factor,
                                            firn_fm3 gradient)
{
    firn_fs3 strain = {c[0], c[1], c[2], c[3], c[4], c[5]};
    firn_moduli moduli = {factor * c[6], factor * c[7]};
    return firn_corotated_hessian(strain, moduli, gradient);
}

#endif
