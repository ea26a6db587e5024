/// Light flies through density as far as the closed form and brute force say.
#include "unit/render_fixture.h"

#include "half.h"
#include "phase.h"
#include "tracking.h"

#include <math.h>

static float lumpy(int x, int y, int z)
{
    uint64_t hash = firn_mix((uint64_t)(x + 100) * 1000003u + (uint64_t)(y * 1009 + z));
    float noise = firn_unit_float(hash);
    bool hole = (x / 5 + y / 3 + z / 4) % 3 == 0;
    return hole ? 0.0f : 0.05f + noise * noise;
}

static firn_density_grid make_grid(const block_field *field, float extinction)
{
    firn_density_def def = {
        .field = &field->view, .reference_density = 1.0f, .extinction = extinction};
    firn_density_grid grid;
    firn_error error = {0};
    if (firn_density_grid_create(&grid, &def, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return grid;
}

static void halves_come_back_to_the_nearest_value(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7c00u; bits++) {
        float value = firn_half_to_float((uint16_t)bits);
        assert_int_equal(firn_half_from_float(value), bits);
        assert_int_equal(firn_half_from_float(-value), bits | 0x8000u);
        // Halfway to the next one goes to the even one.
        float next = bits + 1 < 0x7c00u ? firn_half_to_float((uint16_t)(bits + 1)) : 65536.0f;
        float middle = 0.5f * (value + next);
        assert_int_equal(firn_half_from_float(middle), bits + (bits & 1));
    }
    assert_true(firn_half_to_float(0x3c00u) == 1.0f);
    assert_true(firn_half_to_float(0x0001u) == 0x1p-24f);
    assert_int_equal(firn_half_from_float(1e9f), 0x7c00u);
}

static void scattering_has_the_mean_cosine_g(void **state)
{
    (void)state;
    const float gs[] = {-0.7f, 0.0f, 0.3f, 0.5f, 0.9f};
    firn_random random = firn_random_of(1, 2, 3);
    for (size_t i = 0; i < FIRN_COUNT(gs); i++) {
        firn_vec3 axis = firn_normalize(firn_vec(0.3f, -0.8f, 0.5f));
        double sum = 0.0, square = 0.0, all = 0.0;
        enum { COUNT = 200000 };
        for (int n = 0; n < COUNT; n++) {
            float cosine = firn_phase_cosine(gs[i], firn_random_unit(&random));
            firn_vec3 d = firn_around(axis, cosine, &random);
            assert_true(fabsf(firn_dot(d, d) - 1.0f) < 1e-4f);
            double c = (double)firn_dot(axis, d);
            sum += c;
            square += c * c;
        }
        double mean = sum / COUNT, error = sqrt((square / COUNT - mean * mean) / COUNT);
        assert_true(fabs(mean - (double)gs[i]) < 4.0 * error + 1e-5);
        // The function that is sampled is the one that is evaluated: it has unit integral.
        for (int n = 0; n < 20000; n++)
            all += (double)firn_phase(gs[i], -1.0f + 2.0f * ((float)n + 0.5f) / 20000.0f) * 4.0 *
                   (double)FIRN_PI / 20000.0;
        assert_true(fabs(all - 1.0) < 1e-3);
    }
}

typedef struct estimate {
    double flown, passed; // share that flew through, mean transmittance
    double flown_error, passed_error;
} estimate;

static estimate measure(const firn_density_grid *grid, firn_vec3 from, firn_vec3 direction,
                        float end, int count)
{
    firn_tracker tracker;
    assert_int_equal(firn_tracker_open(&tracker, grid, NULL), FIRN_OK);
    double flown = 0.0, sum = 0.0, square = 0.0;
    for (int i = 0; i < count; i++) {
        firn_random random = firn_random_of(7, (uint64_t)i, 0);
        float tau = -logf(1.0f - firn_random_unit(&random));
        flown += isinf(firn_tracker_fly(&tracker, &random, tau, from, direction, end)) ? 1.0 : 0.0;
        double share = (double)firn_tracker_transmit(&tracker, &random, from, direction, end);
        sum += share;
        square += share * share;
    }
    firn_tracker_close(&tracker);
    estimate e = {.flown = flown / count, .passed = sum / count};
    e.flown_error = sqrt(e.flown * (1.0 - e.flown) / count);
    e.passed_error = sqrt(fmax(0.0, square / count - e.passed * e.passed) / count);
    return e;
}

static void a_slab_lets_through_what_beer_and_lambert_say(void **state)
{
    (void)state;
    block_field field = block_field_create(3, 2, 3, 0.01f, full);
    const float depths[] = {0.3f, 1.0f, 3.0f};
    for (size_t i = 0; i < FIRN_COUNT(depths); i++) {
        // 16 voxels of 1 cm across; the ramps at both ends add up to the half voxels.
        firn_density_grid grid = make_grid(&field, depths[i] / 0.16f);
        estimate e = measure(&grid, firn_vec(11.3f, -7.0f, 12.6f), firn_vec(0.0f, 1.0f, 0.0f),
                             INFINITY, 100000);
        double expected = exp(-(double)depths[i]);
        assert_true(fabs(e.flown - expected) < 4.0 * e.flown_error);
        assert_true(fabs(e.passed - expected) < 4.0 * e.passed_error + 1e-4);
        firn_density_grid_free(&grid);
    }
    block_field_free(&field);
}

// Trilinear density from the field itself, rounded as the grid stores it.
static double dense_at(const block_field *field, double x, double y, double z)
{
    int i = (int)floor(x), j = (int)floor(y), k = (int)floor(z);
    double u = x - i, v = y - j, w = z - k, sum = 0.0;
    for (int c = 0; c < 8; c++) {
        float voxel = block_field_at(field, i + (c >> 2), j + (c >> 1 & 1), k + (c & 1));
        double value = (double)firn_half_to_float(firn_half_from_float(voxel));
        sum += value * ((c & 4) != 0 ? u : 1.0 - u) * ((c & 2) != 0 ? v : 1.0 - v) *
               ((c & 1) != 0 ? w : 1.0 - w);
    }
    return sum;
}

static void a_lumpy_field_agrees_with_marching(void **state)
{
    (void)state;
    block_field field = block_field_create(3, 3, 3, 1.0f, lumpy);
    firn_density_grid grid = make_grid(&field, 0.4f);
    firn_random random = firn_random_of(5, 5, 5);
    for (int ray = 0; ray < 12; ray++) {
        firn_vec3 a = {-3.0f + 30.0f * firn_random_unit(&random), -2.0f,
                       -3.0f + 30.0f * firn_random_unit(&random)};
        firn_vec3 b = {24.0f * firn_random_unit(&random), 26.0f * firn_random_unit(&random),
                       24.0f * firn_random_unit(&random)};
        firn_vec3 d = firn_normalize(firn_sub(b, a));
        float end = ray % 2 == 0 ? 17.0f : 60.0f;
        double depth = 0.0, step = 0.002;
        for (double t = 0.5 * step; t < (double)end; t += step)
            depth += step * 0.4 *
                     dense_at(&field, (double)a.x + t * (double)d.x, (double)a.y + t * (double)d.y,
                              (double)a.z + t * (double)d.z);
        estimate e = measure(&grid, a, d, end, 40000);
        assert_true(fabs(e.flown - exp(-depth)) < 4.5 * e.flown_error + 1e-4);
        assert_true(fabs(e.passed - exp(-depth)) < 4.5 * e.passed_error + 1e-4);
    }
    firn_density_grid_free(&grid);
    block_field_free(&field);
}

static void no_point_of_a_block_exceeds_its_bound(void **state)
{
    (void)state;
    block_field field = block_field_create(2, 3, 2, 1.0f, lumpy);
    firn_density_grid grid = make_grid(&field, 1.0f);
    firn_tracker tracker;
    assert_int_equal(firn_tracker_open(&tracker, &grid, NULL), FIRN_OK);
    firn_random random = firn_random_of(9, 9, 9);
    for (int i = 0; i < 200000; i++) {
        firn_vec3 p = {-3.0f + 22.0f * firn_random_unit(&random),
                       -3.0f + 30.0f * firn_random_unit(&random),
                       -3.0f + 22.0f * firn_random_unit(&random)};
        float extinction = firn_tracker_extinction(&tracker, p);
        int32_t block = firn_block_find(&grid.index, (int32_t)floorf(p.x) >> 3,
                                        (int32_t)floorf(p.y) >> 3, (int32_t)floorf(p.z) >> 3);
        assert_true(extinction <= (block == FIRN_NO_BLOCK ? 0.0f : 1.0001f * grid.majorant[block]));
        assert_true(fabs((double)extinction -
                         dense_at(&field, (double)p.x, (double)p.y, (double)p.z)) < 1e-4);
    }
    firn_tracker_close(&tracker);
    firn_density_grid_free(&grid);
    block_field_free(&field);
}

static void moving_density_stays_below_its_bound_and_moves(void **state)
{
    (void)state;
    block_field field = block_field_create(4, 2, 2, 1.0f, lumpy);
    for (size_t i = 0; i < 512 * field.view.leaf_count; i++)
        field.velocity[i] = firn_vec(6.0f, 0.0f, 0.0f);
    field.view.velocity = field.velocity;
    firn_density_def def = {
        .field = &field.view, .reference_density = 1.0f, .extinction = 1.0f, .shutter = 1.0f};
    firn_density_grid grid;
    assert_int_equal(firn_density_grid_create(&grid, &def, NULL), FIRN_OK);
    firn_tracker tracker;
    assert_int_equal(firn_tracker_open(&tracker, &grid, NULL), FIRN_OK);
    firn_random random = firn_random_of(9, 9, 9);
    for (int i = 0; i < 50000; i++) {
        firn_vec3 p = {8.0f + 16.0f * firn_random_unit(&random),
                       1.0f + 12.0f * firn_random_unit(&random),
                       1.0f + 12.0f * firn_random_unit(&random)};
        tracker.time = firn_random_unit(&random) - 0.5f;
        float extinction = firn_tracker_extinction(&tracker, p);
        int32_t block =
            firn_block_find(&grid.index, (int32_t)p.x >> 3, (int32_t)p.y >> 3, (int32_t)p.z >> 3);
        assert_true(extinction <= 1.0001f * grid.majorant[block]);
        double from = (double)p.x - 6.0 * (double)tracker.time;
        assert_true(fabs((double)extinction - dense_at(&field, from, (double)p.y, (double)p.z)) <
                    2e-3);
    }
    firn_tracker_close(&tracker);
    firn_density_grid_free(&grid);
    block_field_free(&field);
}

static float ball(int x, int y, int z)
{
    float d = firn_length(firn_vec((float)x - 31.5f, (float)y - 31.5f, (float)z - 31.5f));
    return d < 30.0f ? 1.0f : 0.0f;
}

static void memory_is_that_of_the_active_voxels(void **state)
{
    (void)state;
    block_field field = block_field_create(8, 8, 8, 1.0f, ball);
    firn_density_grid grid = make_grid(&field, 1.0f);
    double bytes =
        (double)(firn_density_grid_bytes(&grid) - grid.index.count * sizeof *grid.majorant);
    assert_true(bytes < 1.2 * 2.0 * (double)grid.value_count);
    for (int i = 0; i < 1000; i++) {
        int x = i * 7 % 64, y = i * 13 % 64, z = i * 29 % 64;
        assert_true(firn_density_voxel(&grid, x, y, z) == ball(x, y, z));
    }
    firn_density_grid_free(&grid);
    block_field_free(&field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_come_back_to_the_nearest_value),
        cmocka_unit_test(scattering_has_the_mean_cosine_g),
        cmocka_unit_test(a_slab_lets_through_what_beer_and_lambert_say),
        cmocka_unit_test(a_lumpy_field_agrees_with_marching),
        cmocka_unit_test(no_point_of_a_block_exceeds_its_bound),
        cmocka_unit_test(moving_density_stays_below_its_bound_and_moves),
        cmocka_unit_test(memory_is_that_of_the_active_voxels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
