#include "contact/collider_state.h"
#include "level_set_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static firn_collider_def shape(int kind)
{
    firn_collider_def def = firn_collider_def_default();
    def.shape = kind;
    def.half_size = firn_vec(0.5f, 0.3f, 0.7f);
    def.radius = 0.4f;
    return def;
}

static void plane_measures_height(void **state)
{
    (void)state;
    firn_collider_def def = shape(FIRN_SHAPE_PLANE);
    firn_distance d = firn_shape_distance(&def, firn_vec(3.0f, -0.25f, 9.0f));
    assert_float_equal(d.value, -0.25f, 0.0f);
    assert_float_equal(d.gradient.y, 1.0f, 0.0f);
}

static void sphere_measures_from_its_center(void **state)
{
    (void)state;
    firn_collider_def def = shape(FIRN_SHAPE_SPHERE);
    firn_distance d = firn_shape_distance(&def, firn_vec(0.0f, 3.0f, 4.0f));
    assert_float_equal(d.value, 4.6f, 1e-6f);
    assert_float_equal(d.gradient.z, 0.8f, 1e-6f);
    d = firn_shape_distance(&def, firn_vec(0.0f, 0.0f, 0.0f));
    assert_float_equal(d.value, -0.4f, 0.0f);
    assert_float_equal(firn_length(d.gradient), 1.0f, 1e-6f);
}

static void box_has_faces_edges_corners_and_an_inside(void **state)
{
    (void)state;
    firn_collider_def def = shape(FIRN_SHAPE_BOX);
    firn_distance d = firn_shape_distance(&def, firn_vec(-0.9f, 0.1f, 0.2f));
    assert_float_equal(d.value, 0.4f, 1e-6f);
    assert_float_equal(d.gradient.x, -1.0f, 1e-6f);
    d = firn_shape_distance(&def, firn_vec(0.8f, -0.7f, 0.0f));
    assert_float_equal(d.value, 0.5f, 1e-6f);
    assert_float_equal(d.gradient.x, 0.6f, 1e-6f);
    assert_float_equal(d.gradient.y, -0.8f, 1e-6f);
    d = firn_shape_distance(&def, firn_vec(0.7f, 0.4f, -0.9f));
    assert_float_equal(d.value, 0.3f, 1e-6f);
    d = firn_shape_distance(&def, firn_vec(0.1f, -0.2f, 0.3f));
    assert_float_equal(d.value, -0.1f, 1e-6f);
    assert_float_equal(d.gradient.y, -1.0f, 0.0f);
}

static void capsule_is_a_thick_segment(void **state)
{
    (void)state;
    firn_collider_def def = shape(FIRN_SHAPE_CAPSULE);
    firn_distance d = firn_shape_distance(&def, firn_vec(0.6f, 0.2f, 0.8f));
    assert_float_equal(d.value, 0.6f, 1e-6f);
    assert_float_equal(d.gradient.x, 0.6f, 1e-6f);
    d = firn_shape_distance(&def, firn_vec(0.0f, -0.9f, 0.8f));
    assert_float_equal(d.value, 0.6f, 1e-6f);
    assert_float_equal(d.gradient.y, -0.6f, 1e-6f);
    d = firn_shape_distance(&def, firn_vec(0.0f, 0.1f, 0.0f));
    assert_float_equal(d.value, -0.4f, 0.0f);
    assert_float_equal(firn_length(d.gradient), 1.0f, 1e-6f);
}

static void normals_are_derivatives_of_length_one(void **state)
{
    (void)state;
    uint32_t random = 11u;
    for (int kind = FIRN_SHAPE_PLANE; kind <= FIRN_SHAPE_CAPSULE; kind++) {
        firn_collider_def def = shape(kind);
        int smooth = 0;
        for (int i = 0; i < 4000; i++) {
            firn_vec3 p = fixture_random_point(&random, 1.5f);
            const float h = 2e-3f;
            firn_vec3 steps[3] = {{h, 0.0f, 0.0f}, {0.0f, h, 0.0f}, {0.0f, 0.0f, h}};
            firn_distance d = firn_shape_distance(&def, p);
            assert_float_equal(firn_length(d.gradient), 1.0f, 1e-5f);
            float n[3] = {d.gradient.x, d.gradient.y, d.gradient.z}, worst = 0.0f;
            for (int k = 0; k < 3; k++) {
                float rise = firn_shape_distance(&def, firn_add(p, steps[k])).value -
                             firn_shape_distance(&def, firn_sub(p, steps[k])).value;
                worst = fmaxf(worst, fabsf(n[k] - rise / (2.0f * h)));
            }
            smooth += worst < 5e-3f;
        }
        assert_true(smooth > 3900); // a few are on creases of the inside
    }
}

static void walking_the_distance_arrives_at_the_surface(void **state)
{
    (void)state;
    uint32_t random = 12u;
    for (int kind = FIRN_SHAPE_PLANE; kind <= FIRN_SHAPE_CAPSULE; kind++) {
        firn_collider_def def = shape(kind);
        for (int i = 0; i < 2000; i++) {
            firn_vec3 p = fixture_random_point(&random, 1.5f);
            firn_distance d = firn_shape_distance(&def, p);
            firn_vec3 foot = firn_add_scaled(p, -d.value, d.gradient);
            assert_float_equal(firn_shape_distance(&def, foot).value, 0.0f, 2e-6f);
        }
    }
}

static void reach_holds_the_whole_shape(void **state)
{
    (void)state;
    uint32_t random = 13u;
    for (int kind = FIRN_SHAPE_BOX; kind <= FIRN_SHAPE_CAPSULE; kind++) {
        firn_collider_def def = shape(kind);
        for (int i = 0; i < 4000; i++) {
            firn_vec3 p = fixture_random_point(&random, 1.0f);
            if (firn_shape_distance(&def, p).value <= 0.0f)
                assert_true(firn_length(p) <= 1.00001f * firn_shape_reach(&def));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane_measures_height),
        cmocka_unit_test(sphere_measures_from_its_center),
        cmocka_unit_test(box_has_faces_edges_corners_and_an_inside),
        cmocka_unit_test(capsule_is_a_thick_segment),
        cmocka_unit_test(normals_are_derivatives_of_length_one),
        cmocka_unit_test(walking_the_distance_arrives_at_the_surface),
        cmocka_unit_test(reach_holds_the_whole_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
