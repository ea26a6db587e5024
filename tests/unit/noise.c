#include "base/noise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void noise_stays_between_minus_one_and_one_and_uses_the_range(void **state)
{
    (void)state;
    double lowest = 0.0, highest = 0.0, sum = 0.0;
    const int n = 60;
    for (int i = 0; i < n * n * n; i++) {
        const double point[3] = {0.37 * (i % n), 0.41 * (i / n % n), 0.43 * (i / n / n)};
        double value = firn_noise(point, 3);
        sum += value;
        lowest = fmin(lowest, value);
        highest = fmax(highest, value);
    }
    assert_true(lowest >= -1.0 && highest <= 1.0);
    assert_true(lowest < -0.7 && highest > 0.7);
    assert_true(fabs(sum / (n * n * n)) < 0.01);
}

static void noise_and_its_slope_are_continuous_across_lattice_planes(void **state)
{
    (void)state;
    const double h = 1e-4;
    for (int i = 0; i < 3000; i++) {
        // Every tenth point straddles a plane of the lattice.
        double point[3] = {0.1 * i - 150.0, 0.317 * i, -0.211 * i};
        double value[3];
        for (int k = 0; k < 3; k++) {
            const double at[3] = {point[0] + (k - 1) * h, point[1], point[2]};
            value[k] = firn_noise(at, 11);
        }
        double slope = (value[2] - value[0]) / (2.0 * h);
        double bend = (value[2] - 2.0 * value[1] + value[0]) / (h * h);
        assert_true(fabs(slope) < 5.0);
        assert_true(fabs(bend) < 30.0);
    }
}

static void another_seed_gives_unrelated_noise(void **state)
{
    (void)state;
    double product = 0.0, square = 0.0;
    for (int i = 0; i < 20000; i++) {
        const double point[3] = {0.713 * i, 0.377 * i, 0.191 * i};
        double a = firn_noise(point, 1), b = firn_noise(point, 2);
        product += a * b;
        square += 0.5 * (a * a + b * b);
    }
    assert_true(fabs(product) < 0.05 * square);
}

static void noise_survives_any_number(void **state)
{
    (void)state;
    const double values[] = {0.0, -0.0, 1e-300, -1e11, 1e30, INFINITY, NAN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const double point[3] = {values[i], 0.5, 0.5};
        assert_true(fabs(firn_noise(point, 1)) <= 1.0);
    }
}

static void hash_offsets_are_even_and_independent(void **state)
{
    (void)state;
    enum { N = 40, BINS = 10 };
    const int count = N * N * N;
    int bins[3][BINS] = {{0}};
    double sum[3] = {0}, cross[3] = {0};
    for (int i = 0; i < count; i++) {
        const int64_t index[3] = {i % N - 20, i / N % N - 20, i / N / N - 20};
        double offset[3];
        firn_hash_offsets(firn_lattice_hash(index, 5), offset);
        for (int axis = 0; axis < 3; axis++) {
            assert_true(offset[axis] > -0.5 && offset[axis] < 0.5);
            bins[axis][(int)((offset[axis] + 0.5) * BINS)]++;
            sum[axis] += offset[axis];
            cross[axis] += offset[axis] * offset[(axis + 1) % 3];
        }
    }
    // Five standard deviations each.
    for (int axis = 0; axis < 3; axis++) {
        assert_true(fabs(sum[axis]) < 5.0 * sqrt(count / 12.0));
        assert_true(fabs(cross[axis]) < 5.0 * sqrt(count) / 12.0);
        for (int bin = 0; bin < BINS; bin++)
            assert_true(fabs(bins[axis][bin] - count / (double)BINS) < 5.0 * sqrt(count * 0.09));
    }
}

// The two points scattered nearest, by looking at all that are near enough.
static void find_middles(const double point[3], uint64_t seed, double nearest[2][3])
{
    enum { REACH = 2, EDGE = 2 * REACH + 1 };
    double least[2] = {INFINITY, INFINITY};
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) {
        const int64_t cube[3] = {(int64_t)floor(point[0]) + i % EDGE - REACH,
                                 (int64_t)floor(point[1]) + i / EDGE % EDGE - REACH,
                                 (int64_t)floor(point[2]) + i / EDGE / EDGE - REACH};
        double middle[3], square = 0.0;
        firn_hash_offsets(firn_lattice_hash(cube, seed), middle);
        for (int axis = 0; axis < 3; axis++) {
            middle[axis] += (double)cube[axis] + 0.5;
            square += (point[axis] - middle[axis]) * (point[axis] - middle[axis]);
        }
        for (int k = 0; k < 2; k++) {
            if (square >= least[k])
                continue;
            if (k == 0) {
                least[1] = least[0];
                memcpy(nearest[1], nearest[0], sizeof nearest[1]);
            }
            least[k] = square;
            memcpy(nearest[k], middle, sizeof middle);
            break;
        }
    }
}

static void pieces_are_what_is_nearest_to_their_middles(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        const double point[3] = {0.713 * i - 900.0, 0.377 * i, -0.191 * i};
        double middle[2][3], along[3], apart = 0.0, way = 0.0;
        find_middles(point, 7, middle);
        for (int axis = 0; axis < 3; axis++) {
            along[axis] = middle[1][axis] - middle[0][axis];
            apart += along[axis] * along[axis];
        }
        for (int axis = 0; axis < 3; axis++) {
            along[axis] /= sqrt(apart);
            way += along[axis] * (0.5 * (middle[0][axis] + middle[1][axis]) - point[axis]);
        }
        uint64_t border;
        assert_true(fabs(firn_piece_border(point, 7, &border) - way) < 1e-9);
    }
}

// A step over a border ends as far behind it, and the border has the same name from there.
static void a_border_has_one_name(void **state)
{
    (void)state;
    int crossed = 0;
    for (int i = 0; i < 4000; i++) {
        const double point[3] = {0.331 * i, 0.577 * i - 400.0, 0.193 * i};
        double middle[2][3], beyond[3], apart = 0.0;
        uint64_t border, back;
        double way = firn_piece_border(point, 9, &border);
        if (way > 0.02)
            continue;
        find_middles(point, 9, middle);
        for (int axis = 0; axis < 3; axis++)
            apart += pow(middle[1][axis] - middle[0][axis], 2.0);
        for (int axis = 0; axis < 3; axis++)
            beyond[axis] =
                point[axis] + 2.0 * way * (middle[1][axis] - middle[0][axis]) / sqrt(apart);
        double other[2][3];
        find_middles(beyond, 9, other);
        if (memcmp(other[0], middle[1], sizeof other[0]) != 0 ||
            memcmp(other[1], middle[0], sizeof other[1]) != 0)
            continue; // a third piece is near
        crossed++;
        assert_true(fabs(firn_piece_border(beyond, 9, &back) - way) < 1e-9);
        assert_true(back == border);
    }
    assert_true(crossed > 50);
}

static void pieces_survive_any_number(void **state)
{
    (void)state;
    const double values[] = {-0.0, 1e-300, -1e11, 1e30, INFINITY, NAN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const double point[3] = {values[i], 0.5, 0.5};
        uint64_t border;
        assert_true(firn_piece_border(point, 1, &border) >= 0.0);
    }
}

// The curl of a potential has no divergence; the derivatives are of fourth order here.
static void swirls_gather_nothing_and_have_unit_strength(void **state)
{
    (void)state;
    double sum = 0.0, mean[3] = {0.0, 0.0, 0.0}, worst = 0.0, steepest = 0.0;
    const int n = 4000;
    const double e = 1e-3;
    for (int i = 0; i < n; i++) {
        const double point[3] = {0.3713 * i, 0.7177 * i + 0.3, 0.1931 * i}, drift = 0.01 * i;
        double u[3], divergence = 0.0;
        firn_noise_swirl(point, drift, 7, u);
        for (int k = 0; k < 3; k++) {
            sum += u[k] * u[k] / n;
            mean[k] += u[k] / n;
            double slope = 0.0;
            for (int step = -2; step <= 2; step++) {
                const double factor[5] = {1.0 / 12, -2.0 / 3, 0.0, 2.0 / 3, -1.0 / 12};
                double at[3] = {point[0], point[1], point[2]}, v[3];
                at[k] += step * e;
                firn_noise_swirl(at, drift, 7, v);
                slope += factor[step + 2] * v[k] / e;
            }
            divergence += slope;
            steepest = fmax(steepest, fabs(slope));
        }
        worst = fmax(worst, fabs(divergence));
    }
    print_message("rms %.4f, largest divergence %.2e of slopes up to %.2f\n", sqrt(sum), worst,
                  steepest);
    assert_true(fabs(sqrt(sum) - 1.0) < 0.03 && steepest > 1.0 && worst < 1e-4 * steepest);
    for (int k = 0; k < 3; k++)
        assert_true(fabs(mean[k]) < 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_stays_between_minus_one_and_one_and_uses_the_range),
        cmocka_unit_test(noise_and_its_slope_are_continuous_across_lattice_planes),
        cmocka_unit_test(another_seed_gives_unrelated_noise),
        cmocka_unit_test(noise_survives_any_number),
        cmocka_unit_test(swirls_gather_nothing_and_have_unit_strength),
        cmocka_unit_test(hash_offsets_are_even_and_independent),
        cmocka_unit_test(pieces_are_what_is_nearest_to_their_middles),
        cmocka_unit_test(a_border_has_one_name),
        cmocka_unit_test(pieces_survive_any_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
