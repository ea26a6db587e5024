/// What `firn measure` finds in clouds of which the answer is known.
#include "packing.h"
#include "pieces.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EDGE = 20, COUNT = EDGE * EDGE * EDGE };

/// A cube of 20 cm with a particle in each cubic centimeter, jittered by less than half of that.
typedef struct cloud {
    firn_vec3 before[COUNT], after[COUNT];
    float volume[COUNT], strength[COUNT], density_before[COUNT], density_after[COUNT];
} cloud;

static float random_offset(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return 0.004f * ((float)(*random >> 8) / (float)(1 << 24) - 0.5f);
}

static int setup(void **state)
{
    cloud *c = calloc(1, sizeof *c);
    uint32_t random = 1;
    assert_non_null(c);
    for (int i = 0; i < COUNT; i++) {
        int x = i / (EDGE * EDGE), y = i / EDGE % EDGE, z = i % EDGE;
        c->before[i] = (firn_vec3){0.01f * ((float)x + 0.5f) + random_offset(&random),
                                   0.01f * ((float)y + 0.5f) + random_offset(&random),
                                   0.01f * ((float)z + 0.5f) + random_offset(&random)};
        c->after[i] = c->before[i];
        c->volume[i] = 1e-6f;
        c->strength[i] = 1.0f;
        c->density_before[i] = c->density_after[i] = 200.0f;
    }
    *state = c;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static firn_pieces find_within(const cloud *c, double tolerance)
{
    firn_pieces_input input = {COUNT, c->before, c->after, c->volume, c->strength};
    firn_pieces_def def = firn_pieces_def_default();
    firn_pieces pieces;
    def.tolerance = tolerance;
    assert_int_equal(firn_pieces_find(&input, &def, &pieces, NULL), FIRN_OK);
    assert_true(fabs(pieces.pieces + pieces.crumbs + pieces.dust - 1.0) < 1e-9);
    return pieces;
}

static firn_pieces find(const cloud *c) { return find_within(c, 0.25); }

static bool is_near(double a, double b, double by) { return fabs(a - b) <= by; }

static void what_turns_and_flies_stays_whole(void **state)
{
    cloud *c = *state;
    const float s = 0.6f, k = 0.8f;
    for (int i = 0; i < COUNT; i++) {
        firn_vec3 x = c->before[i];
        c->after[i] = (firn_vec3){k * x.x - s * x.y + 3.0f, s * x.x + k * x.y - 1.0f, x.z + 7.0f};
    }
    firn_pieces pieces = find(c);
    assert_true(pieces.bonds > 4 * COUNT && pieces.bonds < 9 * COUNT);
    assert_true(pieces.whole == 1.0 && is_near(pieces.pieces, 1.0, 1e-9));
    assert_int_equal(pieces.piece_count, 1);
    assert_true(is_near(pieces.sizes[0], COUNT * 1e-6, 1e-9));
    assert_true(is_near(firn_pieces_quantile(&pieces, 0.5), COUNT * 1e-6, 1e-9));
    firn_pieces_free(&pieces);
}

static bool is_upper(const cloud *c, int i) { return c->before[i].y > 0.15f; }

static void a_cut_makes_two(void **state)
{
    cloud *c = *state;
    for (int i = 0; i < COUNT; i++)
        if (is_upper(c, i))
            c->after[i].y += 1.0f;
    firn_pieces pieces = find(c);
    assert_int_equal(pieces.piece_count, 2);
    assert_true(pieces.pieces > 0.999);
    assert_true(is_near(pieces.largest, 0.75, 0.01));
    assert_true(pieces.whole > 0.9 && pieces.whole < 0.99);
    firn_pieces_free(&pieces);
}

// The upper part lies on the lower one, but further on: a heap is no piece.
static void what_lies_together_is_not_joined(void **state)
{
    cloud *c = *state;
    for (int i = 0; i < COUNT; i++)
        if (is_upper(c, i))
            c->after[i].x += 0.05f;
    firn_pieces pieces = find(c);
    assert_int_equal(pieces.piece_count, 2);
    assert_true(is_near(pieces.largest, 0.75, 0.01));
    firn_pieces_free(&pieces);
}

static void cubes_of_many_sizes_are_told_apart(void **state)
{
    // Cuts at 1/4, 1/2 of each axis: 27 boxes of 5, 5 and 10 cells each way.
    cloud *c = *state;
    for (int i = 0; i < COUNT; i++) {
        float *to = &c->after[i].x;
        int cell[3] = {i / (EDGE * EDGE), i / EDGE % EDGE, i % EDGE};
        for (int axis = 0; axis < 3; axis++)
            to[axis] += 0.3f * (float)(cell[axis] >= 10 ? 2 : cell[axis] >= 5);
    }
    firn_pieces pieces = find(c);
    assert_int_equal(pieces.piece_count, 27);
    assert_true(is_near(pieces.sizes[0], 1000e-6, 1e-9));
    assert_true(is_near(pieces.sizes[1], 500e-6, 1e-9));
    assert_true(is_near(pieces.sizes[6], 500e-6, 1e-9));
    assert_true(is_near(pieces.sizes[7], 250e-6, 1e-9));
    assert_true(is_near(pieces.sizes[26], 125e-6, 1e-9));
    // 1000 + 6 * 500 is half of the volume.
    assert_true(is_near(firn_pieces_quantile(&pieces, 0.1), 1000e-6, 1e-9));
    assert_true(is_near(firn_pieces_quantile(&pieces, 0.49), 500e-6, 1e-9));
    assert_true(is_near(firn_pieces_quantile(&pieces, 0.51), 250e-6, 1e-9));
    firn_pieces_free(&pieces);
}

static void boxes_between_the_sizes_are_crumbs(void **state)
{
    // Slabs of two cells, cut into rods of two by two by four: 16 cm3.
    cloud *c = *state;
    for (int i = 0; i < COUNT; i++) {
        int x = i / (EDGE * EDGE), y = i / EDGE % EDGE, z = i % EDGE;
        c->after[i].x += 0.2f * (float)(x / 2);
        c->after[i].y += 0.2f * (float)(y / 2);
        c->after[i].z += 0.2f * (float)(z / 4);
    }
    firn_pieces pieces = find(c);
    assert_int_equal(pieces.piece_count, 0);
    assert_true(pieces.crumbs > 0.9);
    firn_pieces_free(&pieces);
}

static void what_is_strewn_is_dust(void **state)
{
    cloud *c = *state;
    uint32_t random = 7;
    for (int i = 0; i < COUNT; i++)
        c->after[i] = (firn_vec3){100.0f * random_offset(&random), 100.0f * random_offset(&random),
                                  100.0f * random_offset(&random)};
    firn_pieces pieces = find(c);
    assert_true(pieces.dust > 0.99 && pieces.piece_count == 0);
    assert_true(pieces.whole < 0.05);
    firn_pieces_free(&pieces);
}

// The same places in another order: nothing to see for who looks at places alone.
static void what_was_stirred_is_dust(void **state)
{
    cloud *c = *state;
    for (int i = 0; i < COUNT; i++)
        c->after[i] = c->before[(int)((int64_t)i * 3607 % COUNT)];
    firn_pieces pieces = find(c);
    assert_true(pieces.dust > 0.99 && pieces.piece_count == 0);
    firn_pieces_free(&pieces);
}

static void packing_by_a_fifth_breaks_at_the_stricter_threshold(void **state)
{
    cloud *c = *state;
    for (int i = 0; i < COUNT; i++)
        c->after[i] = firn_scale(0.8f, c->before[i]);
    firn_pieces whole = find_within(c, 0.25), broken = find_within(c, 0.1);
    assert_true(is_near(whole.pieces, 1.0, 1e-9) && whole.whole == 1.0);
    assert_true(is_near(broken.dust, 1.0, 1e-9) && broken.whole == 0.0);
    firn_pieces_free(&whole);
    firn_pieces_free(&broken);
}

static void strength_is_that_of_the_weaker_end(void **state)
{
    cloud *c = *state;
    for (int i = 0; i < COUNT; i++)
        c->strength[i] = is_upper(c, i) ? 0.5f : 1.0f;
    firn_pieces pieces = find(c);
    // A quarter of the snow, and what crosses the border.
    assert_true(pieces.strength > 0.84 && pieces.strength < 0.875);
    firn_pieces_free(&pieces);
    firn_pieces_input input = {COUNT, c->before, c->after, c->volume, NULL};
    firn_pieces_def def = firn_pieces_def_default();
    assert_int_equal(firn_pieces_find(&input, &def, &pieces, NULL), FIRN_OK);
    assert_true(isnan(pieces.strength) && pieces.whole == 1.0);
    firn_pieces_free(&pieces);
}

static void nothing_has_no_pieces(void **state)
{
    (void)state;
    firn_pieces_input none = {0};
    firn_pieces_def def = firn_pieces_def_default();
    firn_pieces pieces;
    assert_int_equal(firn_pieces_find(&none, &def, &pieces, NULL), FIRN_OK);
    assert_true(pieces.piece_count == 0 && firn_pieces_quantile(&pieces, 0.5) == 0.0);
    firn_vec3 points[2] = {{0}};
    float zero[2] = {0};
    firn_pieces_input flat = {2, points, points, zero, NULL};
    firn_error error;
    assert_int_equal(firn_pieces_find(&flat, &def, &pieces, &error), FIRN_ERR_ARGUMENT);
    firn_pieces_free(&pieces);
}

static firn_packing pack(const cloud *c)
{
    firn_packing_input input = {COUNT,     c->before,         c->after,
                                c->volume, c->density_before, c->density_after};
    firn_packing packing;
    assert_int_equal(firn_packing_find(&input, &packing, NULL), FIRN_OK);
    return packing;
}

static void snow_at_rest_has_no_imprint(void **state)
{
    firn_packing p = pack(*state);
    assert_true(p.imprint == 0.0 && p.rim == 0.0 && p.depth == 0.0);
    assert_true(isnan(p.density_below));
    assert_true(is_near(p.density_before, 200.0, 1e-3) && is_near(p.density_after, 200.0, 1e-3));
    assert_true(is_near(p.height_before, 0.19, 0.005) && p.height_after == p.height_before);
}

// A square of 10 x 10 cm is pressed to half of its height.
static void an_imprint_is_as_large_as_the_plate(void **state)
{
    cloud *c = *state;
    for (int i = 0; i < COUNT; i++)
        if (c->before[i].x < 0.1f && c->before[i].z < 0.1f) {
            c->after[i].y *= 0.5f;
            c->density_after[i] = 400.0f;
        }
    firn_packing p = pack(c);
    assert_true(is_near(p.depth, 0.0975, 0.005));
    assert_true(is_near(p.imprint, 0.1 * 0.1 * 0.0975, 0.15 * 0.1 * 0.1 * 0.0975));
    assert_true(p.rim < 0.02 * p.imprint);
    assert_true(is_near(p.density_below, 400.0, 25.0));
    // Of three quarters at 200 and one at 400.
    assert_true(is_near(p.density_after, 1.0 / (0.75 / 200.0 + 0.25 / 400.0), 3.0));
}

// Half of what is under the plate goes up beside it.
static void what_was_pushed_aside_is_rim(void **state)
{
    cloud *c = *state;
    for (int i = 0; i < COUNT; i++) {
        if (c->before[i].x < 0.1f && c->before[i].y > 0.1f) {
            c->after[i].x += 0.1f;
            c->after[i].y += 0.1f;
        }
    }
    firn_packing p = pack(c);
    assert_true(is_near(p.rim / p.imprint, 1.0, 0.1));
    assert_true(is_near(p.height_after, 0.29, 0.01));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_turns_and_flies_stays_whole),
        TEST(a_cut_makes_two),
        TEST(what_lies_together_is_not_joined),
        TEST(cubes_of_many_sizes_are_told_apart),
        TEST(boxes_between_the_sizes_are_crumbs),
        TEST(what_is_strewn_is_dust),
        TEST(what_was_stirred_is_dust),
        TEST(packing_by_a_fifth_breaks_at_the_stricter_threshold),
        TEST(strength_is_that_of_the_weaker_end),
        TEST(nothing_has_no_pieces),
        TEST(snow_at_rest_has_no_imprint),
        TEST(an_imprint_is_as_large_as_the_plate),
        TEST(what_was_pushed_aside_is_rim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
