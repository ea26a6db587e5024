#include "lanes.h"

static float lane_value(int lane) { return 0.75f * (float)lane - 2.0f; }

static firn_fx ramp(void)
{
    firn_fx a = {0};
    for (int i = 0; i < FIRN_LANES; i++)
        a[i] = lane_value(i);
    return a;
}

static void memory_keeps_lanes_in_order_at_any_address(void **state)
{
    (void)state;
    float memory[FIRN_LANES + 2] = {0};
    firn_fx_store(memory + 1, ramp());
    assert_true(memory[0] == 0.0f && memory[FIRN_LANES + 1] == 0.0f);
    for (int i = 0; i < FIRN_LANES; i++)
        assert_true(memory[1 + i] == lane_value(i));
    assert_true(firn_ix_all(firn_fx_load(memory + 1) == ramp()));
    int32_t integers[FIRN_LANES + 1] = {0};
    firn_ix_store(integers + 1, firn_ix_set(-5));
    assert_true(firn_ix_all(firn_ix_load(integers + 1) == -5) && integers[0] == 0);
}

static void tails_touch_only_their_lanes(void **state)
{
    (void)state;
    for (int n = 0; n <= FIRN_LANES; n++) {
        float source[FIRN_LANES], target[FIRN_LANES];
        for (int i = 0; i < FIRN_LANES; i++) {
            source[i] = i < n ? lane_value(i) : NAN;
            target[i] = 9.0f;
        }
        firn_fx a = firn_fx_load_tail(source, n, 7.0f);
        firn_fx_store_tail(target, ramp(), n);
        for (int i = 0; i < FIRN_LANES; i++) {
            assert_true(a[i] == (i < n ? lane_value(i) : 7.0f));
            assert_true(target[i] == (i < n ? lane_value(i) : 9.0f));
        }
        int32_t integers[FIRN_LANES] = {0};
        firn_ix_store_tail(integers, firn_ix_set(3), n);
        firn_ix b = firn_ix_load_tail(integers, n, 3);
        assert_true(firn_ix_all(b == 3));
        assert_true(n == FIRN_LANES || integers[n] == 0);
    }
}

static void choices_are_made_per_lane(void **state)
{
    (void)state;
    firn_fx a = ramp(), b = -ramp();
    firn_fx chosen = firn_fx_select(a < b, a, b);
    firn_ix whole = firn_ix_select(a < b, firn_ix_set(1), firn_ix_set(2));
    for (int i = 0; i < FIRN_LANES; i++) {
        float x = lane_value(i), y = -x;
        assert_true(chosen[i] == (x < y ? x : y));
        assert_int_equal(whole[i], x < y ? 1 : 2);
        assert_true(firn_fx_min(a, b)[i] == fminf(x, y));
        assert_true(firn_fx_max(a, b)[i] == fmaxf(x, y));
        assert_true(firn_fx_abs(a)[i] == fabsf(x));
        assert_true(firn_fx_copysign(firn_fx_set(3.0f), a)[i] == copysignf(3.0f, x));
        assert_true(firn_fx_sqrt(a * a + 0.3f)[i] == sqrtf((a * a + 0.3f)[i]));
        assert_true(firn_fx_reciprocal(a + 0.3f)[i] == 1.0f / (x + 0.3f));
    }
}

static void a_clamp_keeps_what_is_not_a_number(void **state)
{
    (void)state;
    firn_fx low = firn_fx_set(-1.0f), high = firn_fx_set(1.0f);
    assert_true(isnan(firn_fx_clamp(firn_fx_set(NAN), low, high)[0]));
    assert_true(firn_fx_clamp(firn_fx_set(INFINITY), low, high)[0] == 1.0f);
    assert_true(firn_fx_clamp(firn_fx_set(-INFINITY), low, high)[0] == -1.0f);
    assert_true(isnan(firn_fx_exp(firn_fx_set(NAN))[0]));
}

static void floor_is_the_floor(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        float x = (float)ref_random(&random, -1000.0, 1000.0);
        x = i % 3 == 0 ? rintf(x) : x;
        assert_true(firn_fx_floor(firn_fx_set(x))[0] == floorf(x));
        assert_int_equal(firn_ix_floor(firn_fx_set(x))[FIRN_LANES - 1], (int)floorf(x));
        assert_int_equal(firn_ix_from_fx(firn_fx_set(x))[0], (int)x);
    }
}

static void exponential_is_right_to_two_parts_in_ten_million(void **state)
{
    (void)state;
    for (int i = 0; i <= 175000; i++) {
        float x = fminf(88.0f, -87.0f + 0.001f * (float)i);
        double exact = exp((double)x);
        firn_fx y = firn_fx_exp(firn_fx_set(x));
        assert_near((double)y[0], exact, 2e-7 * exact);
        assert_true(y[FIRN_LANES - 1] == y[0]);
    }
    assert_true(firn_fx_exp((firn_fx){0})[0] == 1.0f);
    assert_true(isfinite(firn_fx_exp(firn_fx_set(1e30f))[0]));
    assert_true(firn_fx_exp(firn_fx_set(-1e30f))[0] > 0.0f);
}

static void tables_are_read_by_lane(void **state)
{
    (void)state;
    float table[5] = {10.0f, 11.0f, 12.0f, 13.0f, 14.0f};
    firn_ix index = {0};
    for (int i = 0; i < FIRN_LANES; i++)
        index[i] = (3 * i + 1) % 5;
    firn_fx a = firn_fx_gather(table, index);
    for (int i = 0; i < FIRN_LANES; i++)
        assert_true(a[i] == table[(3 * i + 1) % 5]);
}

static void lanes_reduce_to_one_number(void **state)
{
    (void)state;
    double sum = 0.0;
    for (int i = 0; i < FIRN_LANES; i++)
        sum += (double)lane_value(i);
    assert_true(firn_fx_sum(ramp()) == sum);
    assert_true(firn_fx_min_lane(ramp()) == lane_value(0));
    assert_true(firn_fx_max_lane(ramp()) == lane_value(FIRN_LANES - 1));
    assert_true(firn_fx_max_lane(-ramp()) == -lane_value(0));
    for (int i = 0; i < FIRN_LANES; i++) {
        firn_ix one = {0};
        one[i] = -1;
        assert_true(firn_ix_any(one) && !firn_ix_all(~one) && firn_ix_all(~one | one));
    }
    assert_false(firn_ix_any((firn_ix){0}));
}

static void small_matrices_follow_the_reference(void **state)
{
    (void)state;
    uint64_t random = 2;
    firn_fm3 a = firn_fm3_identity(), b = firn_fm3_identity();
    lanes_put(&a, 0, ref_random_matrix(&random, 1.0));
    lanes_put(&b, 0, ref_random_matrix(&random, 1.0));
    ref_mat ra = lanes_get(&a, 0), rb = lanes_get(&b, 0);
    firn_fm3 product = firn_fm3_mul(a, b);
    assert_matrix_near(lanes_get(&product, 0), ref_mul(ra, rb), 1e-6);
    firn_fm3 crossed = firn_fm3_mul_transpose(a, b);
    assert_matrix_near(lanes_get(&crossed, 0), ref_mul(ra, ref_transpose(rb)), 1e-6);
    assert_near((double)firn_fm3_det(a)[0], ref_det(ra), 1e-6);
    firn_fs3 s = {a.m[0], a.m[1], a.m[2], a.m[4], a.m[5], a.m[8]};
    ref_mat rs = lanes_get_symmetric(&s, 0);
    assert_near((double)firn_fs3_det(s)[0], ref_det(rs), 1e-6);
    assert_near((double)firn_fs3_norm2(s)[0], ref_inner(rs, rs), 1e-6);
    firn_fs3 square = firn_fs3_mul_commuting(s, s);
    assert_matrix_near(lanes_get_symmetric(&square, 0), ref_mul(rs, rs), 1e-6);
    firn_fx3 v = {a.m[3], a.m[6], a.m[7]};
    firn_fx3 image = firn_fm3_apply(b, v);
    firn_fx3 normal = firn_fx3_cross(v, image);
    assert_near((double)firn_fx3_dot(normal, image)[0], 0.0, 1e-6);
    assert_near((double)image.y[0],
                rb.m[1][0] * ra.m[1][0] + rb.m[1][1] * ra.m[2][0] + rb.m[1][2] * ra.m[2][1], 1e-6);
}

static int run(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_keeps_lanes_in_order_at_any_address),
        cmocka_unit_test(tails_touch_only_their_lanes),
        cmocka_unit_test(choices_are_made_per_lane),
        cmocka_unit_test(a_clamp_keeps_what_is_not_a_number),
        cmocka_unit_test(floor_is_the_floor),
        cmocka_unit_test(exponential_is_right_to_two_parts_in_ten_million),
        cmocka_unit_test(tables_are_read_by_lane),
        cmocka_unit_test(lanes_reduce_to_one_number),
        cmocka_unit_test(small_matrices_follow_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return lanes_supported() ? run() : LANES_SKIPPED; }
