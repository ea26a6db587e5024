/// Elasticity in the logarithmic strain of Hencky, e = log(s), where F = s R: energy
/// mu |e|^2 + lambda/2 tr(e)^2, Kirchhoff stress 2 mu e + lambda tr(e) I. One particle per lane.
#ifndef FIRN_HENCKY_H
#define FIRN_HENCKY_H

#include "elasticity.h"

/// Singular values for which F F^T - I has enough digits; beyond, they come from the SVD.
#define FIRN_HENCKY_LOW 0.5f
#define FIRN_HENCKY_HIGH 1.75f

/// Below this a singular value counts as this: an inverted F is the end of a compression.
#define FIRN_HENCKY_LEAST 1e-3f

/// log of the singular values, in the order of the eigenvalues l of F F^T - I.
static inline firn_fx3 firn_hencky_principal(firn_fx3 l)
{
    firn_fx least = firn_fx_set(FIRN_HENCKY_LEAST * FIRN_HENCKY_LEAST);
    return (firn_fx3){0.5f * firn_fx_log(firn_fx_max(least, 1.0f + l.x)),
                      0.5f * firn_fx_log(firn_fx_max(least, 1.0f + l.y)),
                      0.5f * firn_fx_log(firn_fx_max(least, 1.0f + l.z))};
}

static inline firn_ix firn_hencky_is_moderate(firn_fx3 l, firn_fx det)
{
    const float low = FIRN_HENCKY_LOW * FIRN_HENCKY_LOW - 1.0f;
    const float high = FIRN_HENCKY_HIGH * FIRN_HENCKY_HIGH - 1.0f;
    return (l.z >= low) & (l.x <= high) & (det > 0.0f);
}

/// The same from the SVD, for any F.
static inline firn_fx3 firn_hencky_principal_svd(const firn_svd *svd)
{
    firn_fx least = firn_fx_set(FIRN_HENCKY_LEAST);
    return (firn_fx3){firn_fx_log(firn_fx_max(least, svd->s.x)),
                      firn_fx_log(firn_fx_max(least, svd->s.y)),
                      firn_fx_log(firn_fx_max(least, svd->s.z))};
}

/// U diag(a) U^T.
static inline firn_fs3 firn_svd_symmetric(const firn_svd *svd, firn_fx3 a)
{
    const firn_fx *u = svd->u.m;
    return (firn_fs3){a.x * u[0] * u[0] + a.y * u[1] * u[1] + a.z * u[2] * u[2],
                      a.x * u[0] * u[3] + a.y * u[1] * u[4] + a.z * u[2] * u[5],
                      a.x * u[0] * u[6] + a.y * u[1] * u[7] + a.z * u[2] * u[8],
                      a.x * u[3] * u[3] + a.y * u[4] * u[4] + a.z * u[5] * u[5],
                      a.x * u[3] * u[6] + a.y * u[4] * u[7] + a.z * u[5] * u[8],
                      a.x * u[6] * u[6] + a.y * u[7] * u[7] + a.z * u[8] * u[8]};
}

static __attribute__((noinline)) firn_fs3 firn_hencky_strain_svd(firn_fm3 f)
{
    firn_svd svd = firn_svd_of(f);
    return firn_svd_symmetric(&svd, firn_hencky_principal_svd(&svd));
}

FIRN_INLINE firn_fs3 firn_hencky_strain(const firn_fm3 *f)
{
    firn_deformation deformation = firn_deformation_of(f);
    firn_fx3 l = firn_fs3_eigenvalues(deformation.b);
    firn_fx3 c = firn_divided_differences(l, firn_hencky_principal(l));
    firn_fs3 e = firn_fs3_function(deformation.b, l, c);
    firn_ix moderate = firn_hencky_is_moderate(l, deformation.det);
    if (firn_ix_all(moderate))
        return e;
    return firn_fs3_select(moderate, e, firn_hencky_strain_svd(*f));
}

static inline firn_fx firn_hencky_energy(firn_fs3 e, firn_moduli moduli)
{
    firn_fx trace = firn_fs3_trace(e);
    return moduli.mu * firn_fs3_norm2(e) + 0.5f * moduli.lambda * (trace * trace);
}

static inline firn_fs3 firn_hencky_stress(firn_fs3 e, firn_moduli moduli)
{
    return firn_fs3_add_scalar(firn_fs3_scale(2.0f * moduli.mu, e),
                               moduli.lambda * firn_fs3_trace(e));
}

/// a + a^T.
static inline firn_fs3 firn_fm3_twice_symmetric(firn_fm3 a)
{
    const firn_fx *m = a.m;
    return (firn_fs3){m[0] + m[0], m[1] + m[3], m[2] + m[6], m[4] + m[4], m[5] + m[7], m[8] + m[8]};
}

/// [e, [e, a]] of symmetric matrices.
FIRN_INLINE firn_fs3 firn_hencky_commutate(firn_fm3 e, firn_fs3 a)
{
    firn_fm3 ea = firn_fm3_mul(e, firn_fm3_from_fs3(a));
    firn_fx xy = ea.m[1] - ea.m[3], xz = ea.m[2] - ea.m[6], yz = ea.m[5] - ea.m[7];
    firn_fx zero = {0};
    firn_fm3 skew = {{zero, xy, xz, -xy, zero, yz, -xz, -yz, zero}};
    return firn_fm3_twice_symmetric(firn_fm3_mul(e, skew));
}

/// The Hessian applied to dF = G F, as K = (d2Psi/dF2 : dF) F^T = dtau - tau G^T.
///
/// In the axes of e, with S and W the symmetric and the skew part of G, the change of e is
/// S_ij t coth(t) - W_ij t, t = e_i - e_j. So without eigenvectors
/// de = S + [W, e] + [e, [e, S]] / 3 - [e, [e, [e, [e, S]]]] / 45, off by 2e-3 t^6 of S.
FIRN_INLINE firn_fm3 firn_hencky_hessian(firn_fs3 e, firn_moduli moduli, firn_fm3 g)
{
    firn_fm3 em = firn_fm3_from_fs3(e);
    firn_fs3 s = firn_fs3_scale(firn_fx_set(0.5f), firn_fm3_twice_symmetric(g));
    firn_fx zero = {0};
    firn_fx xy = 0.5f * (g.m[1] - g.m[3]), xz = 0.5f * (g.m[2] - g.m[6]),
            yz = 0.5f * (g.m[5] - g.m[7]);
    firn_fm3 w = {{zero, xy, xz, -xy, zero, yz, -xz, -yz, zero}};
    firn_fs3 second = firn_hencky_commutate(em, s);
    firn_fs3 fourth = firn_hencky_commutate(em, second);
    firn_fs3 de = firn_fs3_add(s, firn_fm3_twice_symmetric(firn_fm3_mul(w, em)));
    de = firn_fs3_add_scaled(de, firn_fx_set(1.0f / 3.0f), second);
    de = firn_fs3_add_scaled(de, firn_fx_set(-1.0f / 45.0f), fourth);
    firn_fm3 tau = firn_fm3_from_fs3(firn_hencky_stress(e, moduli));
    firn_fm3 dtau = firn_fm3_from_fs3(firn_hencky_stress(de, moduli));
    return firn_fm3_add_scaled(dtau, firn_fx_set(-1.0f), firn_fm3_mul_transpose(tau, g));
}

#endif
