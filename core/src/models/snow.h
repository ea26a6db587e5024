/// The snow of Stomakhin et al. 2013, sections 5 to 7, one particle per lane: fixed corotated
/// elasticity, hardening, singular values kept in [1 - theta_c, 1 + theta_s].
#ifndef FIRN_MODEL_SNOW_H
#define FIRN_MODEL_SNOW_H

#include "elasticity.h"
#include "matter.h"

enum {
    firn_snow_packs = true,
    firn_snow_keeps_f = true,
    firn_snow_weighs = false,
    firn_snow_wears = false,
};

/// Its columns of the material table.
enum {
    FIRN_SNOW_MU,     // Pa, before packing
    FIRN_SNOW_LAMBDA, // Pa
    FIRN_SNOW_HARDENING,
    FIRN_SNOW_COMPRESSION, // theta_c
    FIRN_SNOW_STRETCH,     // theta_s
    FIRN_SNOW_JP_MIN,
    FIRN_SNOW_JP_MAX,
    FIRN_SNOW_DAMPING, // s
};

/// Beyond exp(30), or below exp(-30), hardening changes nothing but the chance of an overflow.
#define FIRN_SNOW_HARDENING_LIMIT 30.0f

/// How far a squared singular value may pass its limit before it counts as yielding, relative to
/// the squared upper limit: above the rounding of the test, so that what the return map has
/// produced does not yield again.
#define FIRN_SNOW_YIELD_SLACK 2e-6f

/// How deep in their range, as a part of it, squared singular values are called elastic at first
/// sight: above the rounding of a determinant with two small factors.
#define FIRN_SNOW_ELASTIC_MARGIN 1e-3f

/// Singular values for which B has enough digits; beyond, the return map takes them from the SVD.
#define FIRN_SNOW_MODERATE_LOW 0.5f
#define FIRN_SNOW_MODERATE_HIGH 1.75f

typedef struct firn_snow_limits {
    firn_fx low, high;      // of the singular values: 1 - theta_c > 0 and 1 + theta_s
    firn_fx jp_min, jp_max; // of J_P; 0 < jp_min
} firn_snow_limits;

/// Compacted snow is stiffer, stretched snow weaker: exp(xi (1 - J_P)) on both moduli.
static inline firn_moduli firn_snow_harden(firn_moduli initial, firn_fx hardening,
                                           firn_fx stiffness, firn_fx jp)
{
    firn_fx exponent =
        firn_fx_clamp(hardening * (1.0f - jp), firn_fx_set(-FIRN_SNOW_HARDENING_LIMIT),
                      firn_fx_set(FIRN_SNOW_HARDENING_LIMIT));
    firn_fx factor = stiffness * firn_fx_exp(exponent);
    return (firn_moduli){factor * initial.mu, factor * initial.lambda};
}

/// F with its singular values clamped, as H F with H - I a function of B: exact for isotropic
/// limits, no eigenvectors. For moderate singular values and det F > 0.
FIRN_INLINE firn_fm3 firn_snow_clamp(firn_fm3 f, firn_fs3 b, firn_fx3 l,
                                     const firn_snow_limits *limits)
{
    // h(s) - 1 = clamp(s) / s - 1, with one division for three; equal s give equal h to the last
    // bit.
    firn_fx3 s = firn_stretches(l, firn_fx_set(1.0f));
    firn_fx one = firn_fx_set(1.0f);
    firn_fx over = firn_fx_ratio(one, s.x * s.y * s.z);
    firn_fx hx = (firn_fx_clamp(s.x, limits->low, limits->high) - s.x) * (over * (s.y * s.z));
    firn_fx hy = (firn_fx_clamp(s.y, limits->low, limits->high) - s.y) * (over * (s.z * s.x));
    firn_fx hz = (firn_fx_clamp(s.z, limits->low, limits->high) - s.z) * (over * (s.x * s.y));

    firn_fx3 c = firn_divided_differences(l, (firn_fx3){hx, hy, hz});
    firn_fs3 h = firn_fs3_function(b, l, c);
    return firn_fm3_add(f, firn_fm3_mul(firn_fm3_from_fs3(h), f));
}

/// What the SVD gives for lanes out of the moderate range.
typedef struct firn_snow_return {
    firn_fm3 f;
    firn_fx ratio; // of the volumes before and after
    firn_ix yields;
} firn_snow_return;

static __attribute__((noinline)) firn_snow_return
firn_snow_clamp_svd(firn_fm3 f, const firn_snow_limits *limits)
{
    firn_svd svd = firn_svd_of(f);
    firn_fx3 s = {firn_fx_clamp(svd.s.x, limits->low, limits->high),
                  firn_fx_clamp(svd.s.y, limits->low, limits->high),
                  firn_fx_clamp(svd.s.z, limits->low, limits->high)};
    firn_fx most = firn_fx_set(1e12f);
    firn_fx slack = 1.0f + firn_fx_set(FIRN_SNOW_YIELD_SLACK);
    firn_snow_return result;
    result.f = firn_svd_compose(&svd, s);
    result.ratio = firn_fx_min(most, svd.s.x / s.x) * firn_fx_min(most, svd.s.y / s.y) *
                   firn_fx_clamp(svd.s.z / s.z, -most, most);
    result.yields = ~((svd.s.x <= slack * limits->high) & (slack * svd.s.z >= limits->low));
    return result;
}

/// Moves what exceeds the limits from F to J_P, so that det(F) J_P stays what it was unless a bound
/// of J_P acts. Lanes that do not yield keep all their bits.
///
/// An inverted F has no snow it could stand for; it is taken as the end of a compression: its
/// negative singular value becomes 1 - theta_c, det F is positive again, and J_P, on its way to
/// zero as the singular value went to zero, stops at jp_min. A lane that is not finite stays so.
/// Gives the deformation of the new F.
FIRN_INLINE firn_deformation firn_snow_return_map(firn_fm3 *f, firn_fx *jp,
                                                  const firn_snow_limits *limits)
{
    firn_deformation deformation = firn_deformation_of(f);
    firn_fs3 b = deformation.b;
    firn_fx det = deformation.det;
    firn_fx slack = FIRN_SNOW_YIELD_SLACK * (limits->high * limits->high);
    firn_fx l_high = limits->high * limits->high - 1.0f + slack;
    firn_fx l_low = limits->low * limits->low - 1.0f - slack;

    // Most snow is elastic most of the time, which is seen without eigenvalues: l_low < B < l_high.
    firn_fx margin = FIRN_SNOW_ELASTIC_MARGIN * (l_high - l_low);
    firn_fs3 above = firn_fs3_add_scalar(b, -(l_low + margin));
    firn_fs3 below = firn_fs3_add_scalar(firn_fs3_scale(firn_fx_set(-1.0f), b), l_high - margin);
    firn_ix upright = det > 0.0f;
    if (firn_ix_all(firn_fs3_is_positive(above) & firn_fs3_is_positive(below) & upright))
        return deformation;

    firn_fx3 l = firn_fs3_eigenvalues(b);
    const float low = FIRN_SNOW_MODERATE_LOW * FIRN_SNOW_MODERATE_LOW - 1.0f;
    const float high = FIRN_SNOW_MODERATE_HIGH * FIRN_SNOW_MODERATE_HIGH - 1.0f;
    firn_ix moderate = (l.z >= low) & (l.x <= high) & upright;
    firn_ix yields = ~((l.x <= l_high) & (l.z >= l_low) & moderate);
    if (!firn_ix_any(yields))
        return deformation;

    firn_fm3 clamped = firn_snow_clamp(*f, b, l, limits);
    firn_fx ratio = firn_fx_ratio(det, firn_fm3_det(clamped));
    if (!firn_ix_all(moderate)) {
        firn_snow_return extreme = firn_snow_clamp_svd(*f, limits);
        clamped = firn_fm3_select(moderate, clamped, extreme.f);
        ratio = firn_fx_select(moderate, ratio, extreme.ratio);
        yields = firn_ix_select(moderate, yields, extreme.yields);
    }
    *f = firn_fm3_select(yields, clamped, *f);
    *jp = firn_fx_select(yields, firn_fx_clamp(ratio * *jp, limits->jp_min, limits->jp_max), *jp);
    return firn_deformation_of(f);
}

/// Whether the slots of F are in use for a group.
FIRN_INLINE bool firn_snow_moves_f(const firn_matter *matter)
{
    (void)matter;
    return true;
}

typedef struct firn_snow_group {
    firn_deformation deformation;
    firn_moduli moduli; // hardened
} firn_snow_group;

FIRN_INLINE firn_moduli firn_snow_moduli_of(const firn_matter *matter)
{
    const firn_lane_materials *m = &matter->materials;
    firn_moduli initial = {firn_material_of(m, FIRN_SNOW_MU),
                           firn_material_of(m, FIRN_SNOW_LAMBDA)};
    return firn_snow_harden(initial, firn_material_of(m, FIRN_SNOW_HARDENING), matter->stiffness,
                            matter->jp);
}

FIRN_INLINE firn_snow_group firn_snow_load(const firn_matter *matter)
{
    return (firn_snow_group){firn_deformation_of(&matter->f), firn_snow_moduli_of(matter)};
}

/// F_E and J_P, method.md (12) and (13).
FIRN_INLINE firn_snow_group firn_snow_update(firn_matter *matter, firn_fm3 gradient, float dt)
{
    const firn_lane_materials *m = &matter->materials;
    firn_snow_limits limits = {1.0f - firn_material_of(m, FIRN_SNOW_COMPRESSION),
                               1.0f + firn_material_of(m, FIRN_SNOW_STRETCH),
                               firn_material_of(m, FIRN_SNOW_JP_MIN),
                               firn_material_of(m, FIRN_SNOW_JP_MAX)};
    firn_fm3 step = firn_fm3_scale(firn_fx_set(dt), gradient);
    matter->f = firn_fm3_mul_add(step, matter->f, matter->f);
    firn_snow_group group;
    group.deformation = firn_snow_return_map(&matter->f, &matter->jp, &limits);
    group.moduli = firn_snow_moduli_of(matter);
    return group;
}

/// (lambda + 2 mu) / rho of the hardened snow, method.md (17).
FIRN_INLINE firn_fx firn_snow_wave2(const firn_snow_group *group, const firn_bulk *bulk)
{
    return firn_bulk_wave2(bulk, group->moduli.lambda + 2.0f * group->moduli.mu);
}

/// Method.md (10).
FIRN_INLINE firn_lane_stress firn_snow_stress(const firn_snow_group *group)
{
    firn_fs3 strain = firn_strain_of(&group->deformation);
    return (firn_lane_stress){firn_corotated_stress(strain, group->moduli),
                              firn_corotated_energy(strain, group->moduli)};
}

/// What resists the rate of deformation, method.md (24).
FIRN_INLINE firn_fs3 firn_snow_viscosity(const firn_lane_materials *materials,
                                         const firn_snow_group *group, const firn_flow *flow)
{
    firn_fx wanted = firn_material_of(materials, FIRN_SNOW_DAMPING);
    return firn_damping(wanted, group->moduli, flow);
}

FIRN_INLINE void firn_snow_prepare(const firn_matter *matter, const firn_snow_group *group,
                                   firn_implicit_bulk bulk, firn_fx cache[FIRN_CACHE_CHANNELS])
{
    (void)matter;
    firn_corotated_prepare(firn_strain_of(&group->deformation), group->moduli, bulk.volume, cache);
}

FIRN_INLINE firn_fm3 firn_snow_product(const firn_fx cache[FIRN_CACHE_CHANNELS], float factor,
                                       firn_fm3 gradient)
{
    return firn_corotated_product(cache, factor, gradient);
}

#endif
