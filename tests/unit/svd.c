#include "lanes.h"

#include "base/svd.h"

static const ref_mat identity = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

static void check_rotation(ref_mat r)
{
    assert_matrix_near(ref_mul(r, ref_transpose(r)), identity, 3e-6);
    assert_near(ref_det(r), 1.0, 3e-6);
}

/// The definition of the decomposition, for one lane.
static void check_lane(const firn_svd *svd, int lane, ref_mat f)
{
    double s[3] = {(double)svd->s.x[lane], (double)svd->s.y[lane], (double)svd->s.z[lane]};
    ref_mat u = lanes_get(&svd->u, lane);
    ref_mat v = lanes_get(&svd->v, lane);
    check_rotation(u);
    check_rotation(v);
    assert_true(s[0] >= s[1] && s[1] >= fabs(s[2]));
    double volume = ref_det(f);
    if (fabs(volume) > 1e-6 * s[0] * s[0] * s[0])
        assert_true((s[2] < 0.0) == (volume < 0.0));
    ref_mat product = ref_mul(ref_mul(u, ref_diagonal(s[0], s[1], s[2])), ref_transpose(v));
    assert_matrix_near(product, f, 2e-6 * ref_norm(f) + 1e-44);
}

static void check_matrix(ref_mat f)
{
    firn_fm3 a = firn_fm3_identity();
    for (int lane = 0; lane < FIRN_LANES; lane++)
        lanes_put(&a, lane, f);
    firn_svd svd = firn_svd_of(a);
    check_lane(&svd, FIRN_LANES - 1, lanes_get(&a, FIRN_LANES - 1));
}

static void random_matrices_are_decomposed(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 20000; round += FIRN_LANES) {
        firn_fm3 f = firn_fm3_identity();
        for (int lane = 0; lane < FIRN_LANES; lane++)
            lanes_put(&f, lane, ref_random_matrix(&random, 2.0));
        firn_svd svd = firn_svd_of(f);
        for (int lane = 0; lane < FIRN_LANES; lane++)
            check_lane(&svd, lane, lanes_get(&f, lane));
    }
}

static void singular_values_are_right_to_a_millionth_of_the_largest(void **state)
{
    (void)state;
    uint64_t random = 2;
    for (int round = 0; round < 4000; round++) {
        double x = ref_random(&random, 0.5, 2.0);
        double y = x * pow(10.0, ref_random(&random, -6.0, 0.0));
        double z = y * ref_random(&random, -1.0, 1.0);
        firn_fm3 f = firn_fm3_identity();
        lanes_put(&f, 0, ref_stretched(&random, x, y, z));
        firn_svd svd = firn_svd_of(f);
        assert_near((double)svd.s.x[0], x, 1e-6 * x);
        assert_near((double)svd.s.y[0], y, 1e-6 * x);
        assert_near((double)svd.s.z[0], z, 1e-6 * x);
    }
}

static void identity_is_left_alone(void **state)
{
    (void)state;
    firn_fm3 one = firn_fm3_identity();
    firn_svd svd = firn_svd_of(one);
    firn_fm3 product = firn_svd_compose(&svd, svd.s);
    assert_memory_equal(&product, &one, sizeof one);
}

static void equal_singular_values_are_decomposed(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int round = 0; round < 500; round++) {
        check_matrix(ref_stretched(&random, 1.0, 1.0, 1.0));
        check_matrix(ref_stretched(&random, 1.3, 1.3, 0.7));
        check_matrix(ref_stretched(&random, 1.3, 0.7, 0.7));
        check_matrix(ref_stretched(&random, 1.0, 1.0, -1.0));
        check_matrix(ref_stretched(&random, 1.0, 1.0 - 1e-6, 1.0 - 2e-6));
    }
}

static void rank_deficient_matrices_are_decomposed(void **state)
{
    (void)state;
    uint64_t random = 4;
    check_matrix(ref_diagonal(0, 0, 0));
    check_matrix(ref_diagonal(0, 0, 3));
    check_matrix(ref_diagonal(0, 2, 2));
    check_matrix(ref_diagonal(-1, 0, 0));
    check_matrix(ref_diagonal(-1, -2, -3));
    ref_mat ones = {{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};
    check_matrix(ones);
    for (int round = 0; round < 500; round++) {
        check_matrix(ref_stretched(&random, 1.0, 0.0, 0.0));
        check_matrix(ref_stretched(&random, 1.0, 0.5, 0.0));
        check_matrix(ref_stretched(&random, 1.0, 1e-7, -1e-8));
        check_matrix(ref_stretched(&random, 1.0, 1e-4, 1e-9));
    }
}

static void inverted_matrices_have_one_negative_singular_value(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 2000; round++) {
        double z = ref_random(&random, -0.9, -0.01);
        check_matrix(ref_stretched(&random, 1.1, 0.95, z));
    }
}

static void the_scale_does_not_matter(void **state)
{
    (void)state;
    uint64_t random = 6;
    for (int round = 0; round < 2000; round++) {
        ref_mat f = ref_random_matrix(&random, 1.0);
        ref_mat zero = {{{0}}};
        check_matrix(ref_add(zero, pow(10.0, ref_random(&random, -30.0, 30.0)), f));
    }
}

static void a_lane_does_not_see_its_neighbors(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int round = 0; round < 300; round++) {
        firn_fm3 mixed = firn_fm3_identity();
        for (int lane = 0; lane < FIRN_LANES; lane++)
            lanes_put(&mixed, lane, ref_random_matrix(&random, pow(10.0, lane - 8)));
        lanes_put(&mixed, 0, ref_diagonal(NAN, 1, 1));
        firn_svd together = firn_svd_of(mixed);
        for (int lane = 1; lane < FIRN_LANES; lane++) {
            firn_fm3 alone = firn_fm3_identity();
            lanes_put(&alone, lane, lanes_get(&mixed, lane));
            firn_svd single = firn_svd_of(alone);
            for (int i = 0; i < 9; i++) {
                assert_true(single.u.m[i][lane] == together.u.m[i][lane]);
                assert_true(single.v.m[i][lane] == together.v.m[i][lane]);
            }
            assert_true(single.s.z[lane] == together.s.z[lane]);
        }
    }
}

static void polar_parts_are_a_rotation_and_a_symmetric_matrix(void **state)
{
    (void)state;
    uint64_t random = 8;
    for (int round = 0; round < 2000; round++) {
        firn_fm3 f = firn_fm3_identity();
        lanes_put(&f, 0, ref_random_matrix(&random, 2.0));
        firn_polar polar = firn_polar_of(f);
        ref_mat r = lanes_get(&polar.r, 0);
        check_rotation(r);
        ref_mat product = ref_mul(r, lanes_get_symmetric(&polar.s, 0));
        assert_matrix_near(product, lanes_get(&f, 0), 1e-5);
    }
}

static int run(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_matrices_are_decomposed),
        cmocka_unit_test(singular_values_are_right_to_a_millionth_of_the_largest),
        cmocka_unit_test(identity_is_left_alone),
        cmocka_unit_test(equal_singular_values_are_decomposed),
        cmocka_unit_test(rank_deficient_matrices_are_decomposed),
        cmocka_unit_test(inverted_matrices_have_one_negative_singular_value),
        cmocka_unit_test(the_scale_does_not_matter),
        cmocka_unit_test(a_lane_does_not_see_its_neighbors),
        cmocka_unit_test(polar_parts_are_a_rotation_and_a_symmetric_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return lanes_supported() ? run() : LANES_SKIPPED; }
