#include "lanes.h"

#include "models/snow.h"

static const ref_mat identity = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
static const double mu = 0.7, lambda = 0.4;

static firn_moduli soft(void)
{
    return (firn_moduli){firn_fx_set((float)mu), firn_fx_set((float)lambda)};
}

static firn_snow_limits limits_of(float theta_c, float theta_s)
{
    return (firn_snow_limits){firn_fx_set(1.0f - theta_c), firn_fx_set(1.0f + theta_s),
                              firn_fx_set(0.1f), firn_fx_set(10.0f)};
}

static firn_fm3 one_lane(ref_mat f)
{
    firn_fm3 a = firn_fm3_identity();
    lanes_put(&a, 0, f);
    return a;
}

/// Deformations of all kinds that the lanes have to cope with.
static ref_mat random_deformation(uint64_t *random, int kind)
{
    double a = ref_random(random, 0.9, 1.1), b = ref_random(random, 0.9, 1.1);
    switch (kind % 6) {
    case 0: // any
        return ref_stretched(random, a, b, ref_random(random, 0.9, 1.1));
    case 1: // two equal
        return ref_stretched(random, a, a, b);
    case 2: // three equal
        return ref_stretched(random, a, a, a);
    case 3: // nearly equal
        return ref_stretched(random, a, a * (1.0 + 1e-5), a * (1.0 - 1e-5));
    case 4: // small strain
        return ref_stretched(random, 1.0 + 0.01 * (a - 1.0), 1.0, 1.0 + 0.01 * (b - 1.0));
    default: // large strain
        return ref_stretched(random, a + 0.8, b, ref_random(random, 0.2, 0.8));
    }
}

static void reference_stress_is_the_derivative_of_the_energy(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 600; round++) {
        ref_mat f = random_deformation(&random, round);
        ref_mat df = ref_random_matrix(&random, 1.0);
        const double h = 1e-5;
        double up = ref_energy(ref_add(f, h, df), mu, lambda);
        double down = ref_energy(ref_add(f, -h, df), mu, lambda);
        assert_near(ref_inner(ref_piola(f, mu, lambda), df), (up - down) / (2.0 * h), 1e-8);
    }
}

static void strain_is_the_left_stretch_minus_one(void **state)
{
    (void)state;
    uint64_t random = 2;
    for (int round = 0; round < 6000; round++) {
        firn_fm3 f = one_lane(random_deformation(&random, round));
        firn_fs3 e = firn_strain(f);
        ref_svd svd = ref_svd_of(lanes_get(&f, 0));
        svd.v = svd.u;
        ref_mat exact = ref_compose(&svd, svd.s[0] - 1.0, svd.s[1] - 1.0, svd.s[2] - 1.0);
        assert_matrix_near(lanes_get_symmetric(&e, 0), exact, 4e-7 + 2e-6 * ref_norm(exact));
    }
}

static void stress_and_energy_follow_the_reference(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int round = 0; round < 6000; round++) {
        firn_fm3 f = one_lane(random_deformation(&random, round));
        ref_mat exact_f = lanes_get(&f, 0);
        firn_fs3 e = firn_strain(f);
        firn_fs3 tau = firn_corotated_stress(e, soft());
        ref_mat exact = ref_mul(ref_piola(exact_f, mu, lambda), ref_transpose(exact_f));
        assert_matrix_near(lanes_get_symmetric(&tau, 0), exact, 2e-6 + 4e-6 * ref_norm(exact));
        double energy = ref_energy(exact_f, mu, lambda);
        assert_near((double)firn_corotated_energy(e, soft())[0], energy,
                    1e-5 * energy + 2e-6 * sqrt(energy));
    }
}

// What float makes of F itself is the only error that small strains may show.
static void small_strains_have_exact_stress(void **state)
{
    (void)state;
    for (int k = 1; k <= 4096; k *= 2) {
        float strain = (float)k * 0x1p-22f;
        firn_fm3 f = firn_fm3_identity();
        f.m[0] += strain;
        f.m[4] -= 0.5f * strain;
        firn_fs3 tau = firn_corotated_stress(firn_strain(f), soft());
        ref_mat exact_f = lanes_get(&f, 0);
        ref_mat exact = ref_mul(ref_piola(exact_f, mu, lambda), ref_transpose(exact_f));
        assert_matrix_near(lanes_get_symmetric(&tau, 0), exact, 1e-6 * ref_norm(exact) + 1.5e-7);
    }
    firn_fs3 none = firn_corotated_stress(firn_strain(firn_fm3_identity()), soft());
    assert_true(ref_norm(lanes_get_symmetric(&none, 0)) == 0.0);
}

static void stress_turns_with_the_body(void **state)
{
    (void)state;
    uint64_t random = 4;
    for (int round = 0; round < 1200; round++) {
        ref_mat f = random_deformation(&random, round);
        ref_mat q = ref_random_rotation(&random);
        ref_mat p = ref_random_rotation(&random);
        firn_fs3 tau = firn_corotated_stress(firn_strain(one_lane(f)), soft());
        ref_mat turned_f = ref_mul(ref_mul(q, f), p);
        firn_fs3 turned = firn_corotated_stress(firn_strain(one_lane(turned_f)), soft());
        ref_mat expected = ref_mul(ref_mul(q, lanes_get_symmetric(&tau, 0)), ref_transpose(q));
        assert_matrix_near(lanes_get_symmetric(&turned, 0), expected,
                           3e-6 + 6e-6 * ref_norm(expected));
    }
}

static void inverted_stress_continues_the_energy(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 1000; round++) {
        double z = ref_random(&random, -0.5, 0.1);
        firn_fm3 f = one_lane(ref_stretched(&random, 1.1, 0.9, z));
        ref_mat exact_f = lanes_get(&f, 0);
        firn_fs3 tau = firn_corotated_stress(firn_strain(f), soft());
        ref_mat exact = ref_mul(ref_piola(exact_f, mu, lambda), ref_transpose(exact_f));
        assert_matrix_near(lanes_get_symmetric(&tau, 0), exact, 2e-3);
    }
}

/// (P(F + h G F) - P(F - h G F)) / 2h F^T
static ref_mat differenced_hessian(ref_mat f, ref_mat g)
{
    const double h = 1e-6;
    ref_mat df = ref_mul(g, f);
    ref_mat up = ref_piola(ref_add(f, h, df), mu, lambda);
    ref_mat down = ref_piola(ref_add(f, -h, df), mu, lambda);
    ref_mat zero = {{{0}}};
    ref_mat slope = ref_add(zero, 0.5 / h, ref_add(up, -1.0, down));
    return ref_mul(slope, ref_transpose(f));
}

static void check_hessian(ref_mat deformation, ref_mat gradient, double tolerance)
{
    firn_fm3 f = one_lane(deformation);
    firn_fm3 g = one_lane(gradient);
    firn_fm3 k = firn_corotated_hessian(firn_strain(f), soft(), g);
    ref_mat exact = differenced_hessian(lanes_get(&f, 0), lanes_get(&g, 0));
    assert_matrix_near(lanes_get(&k, 0), exact, tolerance * ref_norm(lanes_get(&g, 0)));
}

static void hessian_is_the_derivative_of_the_stress(void **state)
{
    (void)state;
    uint64_t random = 6;
    for (int round = 0; round < 6000; round++) {
        ref_mat f = random_deformation(&random, round);
        check_hessian(f, ref_random_matrix(&random, 1.0), 2e-5);
    }
}

static void hessian_holds_near_and_beyond_collapse(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int round = 0; round < 1000; round++) {
        ref_mat g = ref_random_matrix(&random, 1.0);
        check_hessian(ref_stretched(&random, 1.05, 0.95, 0.1), g, 1e-4);
        check_hessian(ref_stretched(&random, 1.05, 0.95, 0.01), g, 2e-3);
        check_hessian(ref_stretched(&random, 1.05, 0.95, -0.3), g, 1e-3);
    }
}

// dA : d2Psi : dB = A F : K(B) F^-T = A : K(B), the symmetric form that the grid system inherits.
static void hessian_is_symmetric(void **state)
{
    (void)state;
    uint64_t random = 8;
    for (int round = 0; round < 3000; round++) {
        firn_fs3 e = firn_strain(one_lane(random_deformation(&random, round)));
        firn_fm3 a = one_lane(ref_random_matrix(&random, 1.0));
        firn_fm3 b = one_lane(ref_random_matrix(&random, 1.0));
        firn_fm3 ka = firn_corotated_hessian(e, soft(), a);
        firn_fm3 kb = firn_corotated_hessian(e, soft(), b);
        double ab = ref_inner(lanes_get(&a, 0), lanes_get(&kb, 0));
        double ba = ref_inner(lanes_get(&b, 0), lanes_get(&ka, 0));
        assert_near(ab, ba, 1e-5);
    }
}

static void rotating_an_unstrained_body_costs_nothing(void **state)
{
    (void)state;
    ref_mat spin = {{{0, -1, 2}, {1, 0, -3}, {-2, 3, 0}}};
    firn_fs3 none = firn_strain(firn_fm3_identity());
    firn_fm3 k = firn_corotated_hessian(none, soft(), one_lane(spin));
    assert_true(ref_norm(lanes_get(&k, 0)) == 0.0);
}

static void return_map_follows_the_reference(void **state)
{
    (void)state;
    uint64_t random = 9;
    for (int round = 0; round < 12000; round++) {
        float theta_c = (float)ref_random(&random, 0.001, 0.5);
        float theta_s = (float)ref_random(&random, 0.001, 0.5);
        firn_snow_limits limits = limits_of(theta_c, theta_s);
        firn_fm3 f = one_lane(random_deformation(&random, round));
        firn_fx jp = firn_fx_set(0.9f);
        ref_return exact = ref_return_map(lanes_get(&f, 0), (double)0.9f, (double)limits.low[0],
                                          (double)limits.high[0]);
        firn_snow_return_map(&f, &jp, &limits);
        assert_matrix_near(lanes_get(&f, 0), exact.f, 4e-6);
        assert_near((double)jp[0], exact.jp, 4e-6);
    }
}

static void nothing_leaves_the_yield_surface(void **state)
{
    (void)state;
    uint64_t random = 10;
    for (int round = 0; round < 6000; round++) {
        firn_snow_limits limits = limits_of(0.025f, 0.0075f);
        firn_fm3 f = one_lane(ref_random_matrix(&random, pow(10.0, ref_random(&random, -3, 3))));
        if (round % 2 == 0)
            f = one_lane(random_deformation(&random, round));
        firn_fx jp = firn_fx_set(1.0f);
        firn_snow_return_map(&f, &jp, &limits);
        ref_svd svd = ref_svd_of(lanes_get(&f, 0));
        assert_true(svd.s[0] <= 1.0075 + 2e-6 && svd.s[2] >= 0.975 - 2e-6);
        assert_true(jp[0] >= 0.1f && jp[0] <= 10.0f);
    }
}

static void elastic_lanes_keep_every_bit(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (int round = 0; round < 2000; round++) {
        firn_snow_limits limits = limits_of(0.12f, 0.12f);
        firn_fm3 f = firn_fm3_identity();
        for (int lane = 0; lane < FIRN_LANES; lane++)
            lanes_put(&f, lane, random_deformation(&random, round % 5));
        if (FIRN_LANES > 1 && round % 2 == 0)
            lanes_put(&f, 1, ref_random_matrix(&random, 2.0));
        firn_fm3 before = f;
        firn_fx jp = firn_fx_set(0.8f);
        firn_snow_return_map(&f, &jp, &limits);
        for (int lane = 0; lane < FIRN_LANES; lane += lane == 0 ? 2 : 1) {
            for (int i = 0; i < 9; i++)
                assert_true(f.m[i][lane] == before.m[i][lane]);
            assert_true(jp[lane] == 0.8f);
        }
    }
}

static void a_second_return_map_changes_nothing(void **state)
{
    (void)state;
    uint64_t random = 12;
    for (int round = 0; round < 12000; round++) {
        float theta_c = (float)ref_random(&random, 0.0, round % 2 == 0 ? 0.05 : 0.9);
        float theta_s = (float)ref_random(&random, 0.0, round % 2 == 0 ? 0.02 : 1.0);
        firn_snow_limits limits = limits_of(theta_c, theta_s);
        firn_fm3 f = one_lane(round % 7 == 0 ? ref_random_matrix(&random, 2.0)
                                             : random_deformation(&random, round));
        firn_fx jp = firn_fx_set(1.0f);
        firn_snow_return_map(&f, &jp, &limits);
        firn_fm3 once = f;
        firn_fx jp_once = jp;
        firn_snow_return_map(&f, &jp, &limits);
        assert_memory_equal(&f, &once, sizeof f);
        assert_memory_equal(&jp, &jp_once, sizeof jp);
    }
}

static void the_return_map_keeps_the_volume(void **state)
{
    (void)state;
    uint64_t random = 13;
    for (int round = 0; round < 6000; round++) {
        firn_snow_limits limits = limits_of(0.025f, 0.0075f);
        firn_fm3 f = one_lane(random_deformation(&random, round));
        firn_fx jp = firn_fx_set(1.1f);
        double volume = ref_det(lanes_get(&f, 0)) * (double)jp[0];
        firn_snow_return_map(&f, &jp, &limits);
        double tolerance = round % 6 == 5 ? 4e-6 : 1e-6;
        assert_near(ref_det(lanes_get(&f, 0)) * (double)jp[0], volume, tolerance * volume);
    }
}

static void inverted_snow_is_fully_compacted(void **state)
{
    (void)state;
    uint64_t random = 14;
    for (int round = 0; round < 2000; round++) {
        firn_snow_limits limits = limits_of(0.025f, 0.0075f);
        double z = -pow(10.0, ref_random(&random, -6.0, 6.0));
        firn_fm3 f = one_lane(ref_stretched(&random, 1.0, 1.0, z));
        firn_fx jp = firn_fx_set(1.0f);
        firn_snow_return_map(&f, &jp, &limits);
        assert_true(jp[0] == 0.1f);
        assert_true(ref_det(lanes_get(&f, 0)) > 0.9);
    }
}

// One copy of the code: each inlined copy may round in its own way.
static __attribute__((noinline)) firn_fs3 map_and_strain(firn_fm3 *f, firn_fx *jp)
{
    firn_snow_limits limits = limits_of(0.025f, 0.0075f);
    firn_snow_return_map(f, jp, &limits);
    return firn_strain(*f);
}

static void a_lane_does_not_see_its_neighbors(void **state)
{
    (void)state;
    uint64_t random = 15;
    for (int round = 0; round < 500; round++) {
        firn_fm3 f = firn_fm3_identity();
        for (int lane = 0; lane < FIRN_LANES; lane++)
            lanes_put(&f, lane, random_deformation(&random, lane));
        if (round % 2 == 0)
            lanes_put(&f, 0, ref_random_matrix(&random, 1e4));
        firn_fm3 together = f;
        firn_fx jp = firn_fx_set(1.0f);
        firn_fs3 e = map_and_strain(&together, &jp);
        for (int lane = 1; lane < FIRN_LANES; lane++) {
            firn_fm3 alone = firn_fm3_identity();
            lanes_put(&alone, lane, lanes_get(&f, lane));
            firn_fx jp_alone = firn_fx_set(1.0f);
            firn_fs3 e_alone = map_and_strain(&alone, &jp_alone);
            for (int i = 0; i < 9; i++)
                assert_true(alone.m[i][lane] == together.m[i][lane]);
            assert_true(jp_alone[lane] == jp[lane]);
            assert_true(e_alone.xy[lane] == e.xy[lane]);
        }
    }
}

static void what_is_not_finite_stays_so(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        firn_snow_limits limits = limits_of(0.025f, 0.0075f);
        ref_mat broken = identity;
        broken.m[1][2] = bad[i];
        firn_fm3 f = one_lane(broken);
        firn_fx jp = firn_fx_set(1.0f);
        firn_snow_return_map(&f, &jp, &limits);
        assert_true(!isfinite(ref_norm(lanes_get(&f, 0))));
    }
}

static void hardening_is_monotone_and_finite(void **state)
{
    (void)state;
    firn_moduli before = {firn_fx_set(INFINITY), firn_fx_set(INFINITY)};
    for (int i = 0; i <= 200; i++) {
        float jp = 0.5f + 0.005f * (float)i;
        firn_moduli now =
            firn_snow_harden(soft(), firn_fx_set(10.0f), firn_fx_set(2.0f), firn_fx_set(jp));
        double factor = 2.0 * exp(10.0 * (1.0 - (double)jp));
        assert_near((double)now.mu[0], mu * factor, 2e-6 * mu * factor);
        assert_near((double)now.lambda[0], lambda * factor, 2e-6 * lambda * factor);
        assert_true(now.mu[0] < before.mu[0] && now.lambda[0] < before.lambda[0]);
        before = now;
    }
    firn_moduli extreme = {firn_fx_set(1e9f), firn_fx_set(1e9f)};
    extreme = firn_snow_harden(extreme, firn_fx_set(1e3f), firn_fx_set(1e3f), firn_fx_set(-1e3f));
    assert_true(isfinite(extreme.mu[0]));
}

static void everything_stays_finite_for_any_parameters(void **state)
{
    (void)state;
    uint64_t random = 16;
    firn_moduli initial = {firn_fx_set(1e8f), firn_fx_set(1e9f)};
    for (int round = 0; round < 20000; round++) {
        firn_snow_limits limits =
            limits_of((float)ref_random(&random, 0.0, 0.99), (float)ref_random(&random, 0.0, 3.0));
        double size = pow(10.0, ref_random(&random, -15.0, 15.0));
        firn_fm3 f = one_lane(ref_random_matrix(&random, size));
        if (round % 10 == 0)
            f = one_lane(ref_diagonal(size, 0.0, round % 20 == 0 ? 0.0 : -size));
        firn_fx jp = firn_fx_set((float)ref_random(&random, 0.1, 10.0));
        firn_snow_return_map(&f, &jp, &limits);
        firn_fs3 e = firn_strain(f);
        firn_fx xi = firn_fx_set((float)ref_random(&random, 0.0, 50.0));
        firn_moduli moduli = firn_snow_harden(initial, xi, firn_fx_set(10.0f), jp);
        firn_fs3 tau = firn_corotated_stress(e, moduli);
        firn_fm3 k = firn_corotated_hessian(e, moduli, one_lane(ref_random_matrix(&random, 100.0)));
        assert_true(jp[0] >= 0.1f && jp[0] <= 10.0f);
        assert_true(ref_det(lanes_get(&f, 0)) > 0.0);
        assert_true(isfinite(ref_norm(lanes_get_symmetric(&tau, 0))));
        assert_true(isfinite(ref_norm(lanes_get(&k, 0))));
        assert_true(isfinite(firn_corotated_energy(e, moduli)[0]));
    }
}

static int run(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_stress_is_the_derivative_of_the_energy),
        cmocka_unit_test(strain_is_the_left_stretch_minus_one),
        cmocka_unit_test(stress_and_energy_follow_the_reference),
        cmocka_unit_test(small_strains_have_exact_stress),
        cmocka_unit_test(stress_turns_with_the_body),
        cmocka_unit_test(inverted_stress_continues_the_energy),
        cmocka_unit_test(hessian_is_the_derivative_of_the_stress),
        cmocka_unit_test(hessian_holds_near_and_beyond_collapse),
        cmocka_unit_test(hessian_is_symmetric),
        cmocka_unit_test(rotating_an_unstrained_body_costs_nothing),
        cmocka_unit_test(return_map_follows_the_reference),
        cmocka_unit_test(nothing_leaves_the_yield_surface),
        cmocka_unit_test(elastic_lanes_keep_every_bit),
        cmocka_unit_test(a_second_return_map_changes_nothing),
        cmocka_unit_test(the_return_map_keeps_the_volume),
        cmocka_unit_test(inverted_snow_is_fully_compacted),
        cmocka_unit_test(a_lane_does_not_see_its_neighbors),
        cmocka_unit_test(what_is_not_finite_stays_so),
        cmocka_unit_test(hardening_is_monotone_and_finite),
        cmocka_unit_test(everything_stays_finite_for_any_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return lanes_supported() ? run() : LANES_SKIPPED; }
