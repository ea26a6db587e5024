// Limit surfaces against closed forms of Catmull-Clark, and what cannot be subdivided.
#include "firn/vdb_subdivide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static const int32_t quads[6] = {4, 4, 4, 4, 4, 4};
static const int32_t corners[24] = {0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1,
                                    2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3};
static const int32_t edges[24] = {0, 1, 1, 3, 3, 2, 2, 0, 4, 6, 6, 7,
                                  7, 5, 5, 4, 0, 4, 1, 5, 2, 6, 3, 7};

static firn_vec3 cube_point(int i)
{
    return firn_vec(i & 4 ? 1.0f : -1.0f, i & 2 ? 1.0f : -1.0f, i & 1 ? 1.0f : -1.0f);
}

static firn_vdb_cage cube(void)
{
    return (firn_vdb_cage){.boundary = FIRN_VDB_BOUNDARY_EDGE_CORNER,
                           .point_count = 8,
                           .face_count = 6,
                           .face_sizes = quads,
                           .index_count = 24,
                           .indices = corners};
}

static firn_vdb_subdivision *refined(const firn_vdb_cage *cage, int level)
{
    firn_vdb_subdivision *made = NULL;
    firn_error error = {0};
    firn_result result = firn_vdb_subdivision_create(cage, level, &made, &error);
    if (result != FIRN_OK)
        print_error("%s\n", error.message);
    assert_int_equal(result, FIRN_OK);
    return made;
}

static firn_vec3 *limit_of(const firn_vdb_subdivision *subdivision, const firn_vec3 *cage)
{
    size_t count = firn_vdb_subdivision_limit(subdivision).point_count;
    firn_vec3 *points = firn_alloc(count * sizeof *points);
    assert_int_equal(firn_vdb_subdivision_apply(subdivision, cage, points, NULL), FIRN_OK);
    return points;
}

// The limit of a vertex of n quads: (n^2 v + 4 sum of neighbors + sum of diagonals) / (n (n + 5)),
// which for a cube of half edge 1 is (9 + 4 - 1) / 24.
static void corners_of_a_cube_come_to_half_of_it(void **state)
{
    (void)state;
    firn_vdb_cage cage = cube();
    firn_vec3 points[8];
    for (int i = 0; i < 8; i++)
        points[i] = cube_point(i);
    for (int level = 0; level <= 4; level++) {
        firn_vdb_subdivision *s = refined(&cage, level);
        firn_vdb_limit view = firn_vdb_subdivision_limit(s);
        assert_int_equal(view.face_count, (size_t)6 << (2 * level));
        assert_int_equal(view.index_count, 4 * view.face_count);
        firn_vec3 *limit = limit_of(s, points);
        // The points of the cage come last or first; look for all eight.
        int found = 0;
        for (int i = 0; i < 8; i++)
            for (size_t k = 0; k < view.point_count; k++)
                found += firn_length(firn_sub(limit[k], firn_scale(0.5f, points[i]))) < 1e-6f;
        assert_int_equal(found, 8);
        firn_free(limit);
        firn_vdb_subdivision_destroy(s);
    }
}

static void every_level_lies_on_one_surface(void **state)
{
    (void)state;
    firn_vdb_cage cage = cube();
    firn_vec3 points[8];
    for (int i = 0; i < 8; i++)
        points[i] = firn_vec(1.5f * cube_point(i).x, cube_point(i).y, 0.7f * cube_point(i).z);
    firn_vdb_subdivision *coarse = refined(&cage, 2), *fine = refined(&cage, 3);
    firn_vec3 *a = limit_of(coarse, points), *b = limit_of(fine, points);
    size_t few = firn_vdb_subdivision_limit(coarse).point_count;
    size_t many = firn_vdb_subdivision_limit(fine).point_count;
    for (size_t i = 0; i < few; i++) {
        float nearest = 1.0f;
        for (size_t k = 0; k < many; k++)
            nearest = fminf(nearest, firn_length(firn_sub(a[i], b[k])));
        assert_true(nearest < 1e-6f);
    }
    firn_free(a);
    firn_free(b);
    firn_vdb_subdivision_destroy(coarse);
    firn_vdb_subdivision_destroy(fine);
}

static void it_is_linear_in_what_it_is_applied_to(void **state)
{
    (void)state;
    firn_vdb_cage cage = cube();
    firn_vec3 points[8], moved[8], ones[8];
    firn_vec3 axis = {0.3f, -1.0f, 0.5f}, shift = {3.0f, 1.0f, -2.0f};
    for (int i = 0; i < 8; i++) {
        points[i] = cube_point(i);
        moved[i] = firn_add(shift, firn_cross(axis, points[i]));
        ones[i] = firn_vec(1.0f, 1.0f, 1.0f);
    }
    firn_vdb_subdivision *s = refined(&cage, 3);
    firn_vec3 *p = limit_of(s, points), *v = limit_of(s, moved), *one = limit_of(s, ones);
    for (size_t i = 0; i < firn_vdb_subdivision_limit(s).point_count; i++) {
        firn_vec3 expected = firn_add(shift, firn_cross(axis, p[i]));
        assert_true(firn_length(firn_sub(v[i], expected)) < 1e-5f);
        assert_true(firn_length(firn_sub(one[i], ones[0])) < 1e-5f);
    }
    firn_free(p);
    firn_free(v);
    firn_free(one);
    firn_vdb_subdivision_destroy(s);
}

static float farthest_from_cube(const firn_vec3 *points, size_t count)
{
    float worst = 0.0f;
    for (size_t i = 0; i < count; i++) {
        firn_vec3 p = points[i];
        float edge = fmaxf(fabsf(p.x), fmaxf(fabsf(p.y), fabsf(p.z)));
        worst = fmaxf(worst, fabsf(edge - 1.0f));
    }
    return worst;
}

static void infinitely_sharp_edges_keep_a_cube(void **state)
{
    (void)state;
    firn_vec3 points[8];
    float sharp[12];
    for (int i = 0; i < 8; i++)
        points[i] = cube_point(i);
    for (int i = 0; i < 12; i++)
        sharp[i] = 10.0f;
    firn_vdb_cage plain = cube(), creased = cube(), bilinear = cube();
    creased.crease_count = 12;
    creased.creases = edges;
    creased.crease_sharpness = sharp;
    bilinear.scheme = FIRN_VDB_SCHEME_BILINEAR;
    const firn_vdb_cage *cages[3] = {&plain, &creased, &bilinear};
    float off[3];
    for (int i = 0; i < 3; i++) {
        firn_vdb_subdivision *s = refined(cages[i], 3);
        firn_vec3 *limit = limit_of(s, points);
        off[i] = farthest_from_cube(limit, firn_vdb_subdivision_limit(s).point_count);
        firn_free(limit);
        firn_vdb_subdivision_destroy(s);
    }
    assert_true(off[0] > 0.3f && off[1] < 1e-6f && off[2] < 1e-6f);
}

static void a_semi_sharp_edge_lies_between(void **state)
{
    (void)state;
    firn_vec3 points[8];
    float sharp[12], before = 1.0f;
    for (int i = 0; i < 8; i++)
        points[i] = cube_point(i);
    for (int step = 0; step <= 4; step++) {
        for (int i = 0; i < 12; i++)
            sharp[i] = (float)step;
        firn_vdb_cage cage = cube();
        cage.crease_count = 12;
        cage.creases = edges;
        cage.crease_sharpness = sharp;
        firn_vdb_subdivision *s = refined(&cage, 4);
        firn_vec3 *limit = limit_of(s, points);
        float off = farthest_from_cube(limit, firn_vdb_subdivision_limit(s).point_count);
        assert_true(off < before);
        before = off;
        firn_free(limit);
        firn_vdb_subdivision_destroy(s);
    }
}

static void holes_are_left_out_and_still_shape_the_rest(void **state)
{
    (void)state;
    const int32_t hole = 2;
    firn_vec3 points[8];
    for (int i = 0; i < 8; i++)
        points[i] = cube_point(i);
    firn_vdb_cage whole = cube(), open = cube();
    open.hole_count = 1;
    open.holes = &hole;
    firn_vdb_subdivision *a = refined(&whole, 2), *b = refined(&open, 2);
    firn_vec3 *p = limit_of(a, points), *q = limit_of(b, points);
    assert_int_equal(firn_vdb_subdivision_limit(b).face_count,
                     firn_vdb_subdivision_limit(a).face_count / 6 * 5);
    size_t count = firn_vdb_subdivision_limit(a).point_count;
    assert_int_equal(firn_vdb_subdivision_limit(b).point_count, count);
    assert_memory_equal(p, q, count * sizeof *p);
    firn_free(p);
    firn_free(q);
    firn_vdb_subdivision_destroy(a);
    firn_vdb_subdivision_destroy(b);
}

// The corner of an open square stays, or the border becomes a smooth curve.
static void borders_follow_their_rule(void **state)
{
    (void)state;
    const int32_t size = 4, square[4] = {0, 1, 2, 3};
    const firn_vec3 points[4] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    for (int rule = 0; rule < 2; rule++) {
        firn_vdb_cage cage = {.boundary = rule,
                              .point_count = 4,
                              .face_count = 1,
                              .face_sizes = &size,
                              .index_count = 4,
                              .indices = square};
        firn_vdb_subdivision *s = refined(&cage, 3);
        firn_vec3 *limit = limit_of(s, points);
        float nearest = 1.0f;
        for (size_t i = 0; i < firn_vdb_subdivision_limit(s).point_count; i++)
            nearest = fminf(nearest, firn_length(limit[i]));
        // On the curve: (4 v + two neighbors) / 6.
        float expected = rule == FIRN_VDB_BOUNDARY_EDGE_CORNER ? 0.0f : sqrtf(2.0f) / 6.0f;
        assert_true(fabsf(nearest - expected) < 1e-5f);
        firn_free(limit);
        firn_vdb_subdivision_destroy(s);
    }
}

static void faces_without_area_are_left_out_and_counted(void **state)
{
    (void)state;
    int32_t sizes[8], all[24 + 2 + 3];
    memcpy(sizes, quads, sizeof quads);
    sizes[6] = 2;
    sizes[7] = 3;
    memcpy(all, corners, sizeof corners);
    const int32_t more[5] = {0, 1, 2, 2, 5};
    memcpy(all + 24, more, sizeof more);
    firn_vdb_cage cage = cube();
    cage.face_count = 8;
    cage.face_sizes = sizes;
    cage.index_count = 29;
    cage.indices = all;
    firn_vdb_subdivision *s = refined(&cage, 1);
    assert_int_equal(firn_vdb_subdivision_limit(s).left_out, 2);
    assert_int_equal(firn_vdb_subdivision_limit(s).face_count, 24);
    firn_vdb_subdivision_destroy(s);
}

static void refuse(const firn_vdb_cage *cage, int level, const char *word)
{
    firn_vdb_subdivision *s = NULL;
    firn_error error;
    assert_int_not_equal(firn_vdb_subdivision_create(cage, level, &s, &error), FIRN_OK);
    assert_null(s);
    if (strstr(error.message, word) == NULL)
        print_error("%s\n", error.message);
    assert_non_null(strstr(error.message, word));
}

static void what_cannot_be_subdivided_is_refused(void **state)
{
    (void)state;
    firn_vdb_cage cage = cube();
    refuse(&cage, -1, "level");
    refuse(&cage, 7, "level");
    cage.scheme = FIRN_VDB_SCHEME_LOOP;
    refuse(&cage, 1, "triangles");
    cage = cube();
    int32_t wrong[24];
    memcpy(wrong, corners, sizeof wrong);
    wrong[5] = 8;
    cage.indices = wrong;
    refuse(&cage, 1, "point 8 of 8");
    cage = cube();
    const int32_t hole = 6;
    cage.hole_count = 1;
    cage.holes = &hole;
    refuse(&cage, 1, "hole");
    cage = cube();
    cage.index_count = 23;
    refuse(&cage, 1, "face 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corners_of_a_cube_come_to_half_of_it),
        cmocka_unit_test(every_level_lies_on_one_surface),
        cmocka_unit_test(it_is_linear_in_what_it_is_applied_to),
        cmocka_unit_test(infinitely_sharp_edges_keep_a_cube),
        cmocka_unit_test(a_semi_sharp_edge_lies_between),
        cmocka_unit_test(holes_are_left_out_and_still_shape_the_rest),
        cmocka_unit_test(borders_follow_their_rule),
        cmocka_unit_test(faces_without_area_are_left_out_and_counted),
        cmocka_unit_test(what_cannot_be_subdivided_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
