/// Snow that fell before the shot: how much there is, where it lies, and that it rests.
#include "firn/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph_fixture.h"

#define TABLE                                                                                      \
    "\"table\":{\"type\":\"collider\",\"params\":{\"shape\":\"box\",\"half_size\":[0.4,0.02,0.4]," \
    "\"translation\":[0,0.5,0]}},"

// A shot with ground and more, whose cover has these parameters beside its box.
static firn_graph *load(const char *more, const char *names, const char *params)
{
    char text[4000];
    snprintf(text, sizeof text,
             "{\"firn\":1,\"name\":\"c\",\"frames\":[1,4],\"nodes\":{"
             "\"ground\":{\"type\":\"collider\"},%s"
             "\"cover\":{\"type\":\"snow_cover\",\"params\":{\"center\":[0,0.9,0],"
             "\"half_size\":[0.8,1,0.8],\"voxel_size\":0.02,%s},\"inputs\":{\"colliders\":[%s]}},"
             "\"solver\":{\"type\":\"solver\",\"inputs\":{\"sources\":[\"cover\"],"
             "\"colliders\":[%s]}},"
             "\"out\":{\"type\":\"write_particles\",\"inputs\":{\"particles\":\"solver\"}}}}",
             more, params, names, names);
    return fixture_load(text, ".");
}

typedef struct snow {
    double mass, speed; // kg, m/s
    size_t under;       // below the table, 5 cm from its edges
    size_t on_wall;     // beside the steep wall, above the snow on the ground
    double highest;     // m
} snow;

static snow look(firn_graph *graph, int frame)
{
    firn_error error;
    const firn_data *data = NULL;
    for (int f = 1; f <= frame; f++)
        if (firn_graph_cook(graph, "solver", f, &data, &error) != FIRN_OK)
            fail_msg("%s", error.message);
    const firn_points *points = &data->particles->points;
    const float *p = firn_points_find(points, "P")->data;
    const float *v = firn_points_find(points, "v")->data;
    const float *m = firn_points_find(points, "mass")->data;
    snow s = {0};
    for (size_t i = 0; i < points->count; i++) {
        s.mass += m[i];
        s.speed += sqrt((double)(v[3 * i] * v[3 * i] + v[3 * i + 1] * v[3 * i + 1] +
                                 v[3 * i + 2] * v[3 * i + 2])) /
                   (double)points->count;
        double x = fabs((double)p[3 * i]), y = p[3 * i + 1], z = fabs((double)p[3 * i + 2]);
        s.under += x < 0.1 && z < 0.1 && y < 0.48;
        s.on_wall += x > 0.55 && x < 0.75 && y > 0.2;
        s.highest = fmax(s.highest, y);
    }
    return s;
}

static void mass_is_depth_times_area_times_density(void **state)
{
    (void)state;
    firn_graph *graph = load("", "\"ground\"", "\"depth\":0.12,\"edge\":90");
    snow s = look(graph, 1);
    double expected = 0.12 * 1.6 * 1.6 * 400.0;
    print_message("%.2f kg, %.2f expected\n", s.mass, expected);
    assert_true(fabs(s.mass / expected - 1.0) < 0.02);
    // Not a slab.
    assert_true(s.highest > 0.125 && s.highest < 0.15);
    firn_graph_destroy(graph);
}

// A frustum with edges of 45 degrees: d (a^2 - 2 a d + 4/3 d^2).
static void edges_thin_out(void **state)
{
    (void)state;
    firn_graph *graph = load("", "\"ground\"", "\"depth\":0.2,\"edge\":45,\"unevenness\":0");
    snow s = look(graph, 1);
    const double a = 1.6, d = 0.2, expected = d * (a * a - 2.0 * a * d + 4.0 / 3.0 * d * d) * 400.0;
    print_message("%.2f kg, %.2f expected\n", s.mass, expected);
    assert_true(fabs(s.mass / expected - 1.0) < 0.03);
    firn_graph_destroy(graph);
}

static void nothing_lies_under_a_table_or_on_a_steep_wall(void **state)
{
    (void)state;
    firn_graph *graph =
        load(TABLE "\"wall\":{\"type\":\"collider\",\"params\":{\"shape\":\"box\",\"half_size\":"
                   "[0.02,0.5,0.5],\"rotation\":[0,0,20],\"translation\":[0.65,0.55,0]}},",
             "\"ground\",\"table\",\"wall\"", "\"depth\":0.1,\"rays\":1");
    snow s = look(graph, 1);
    assert_int_equal(s.under, 0);
    // The tip of the wall, a corner upward, may hold some; its faces do not.
    print_message("%zu particles on the wall\n", s.on_wall);
    assert_true(s.on_wall < 40);
    assert_true(s.highest > 0.6);
    firn_graph_destroy(graph);
}

// Flakes drift in at the edge of a roof, not into its middle.
static void a_low_roof_keeps_its_middle_bare(void **state)
{
    (void)state;
    firn_graph *graph = load(TABLE, "\"ground\",\"table\"", "\"depth\":0.1");
    snow s = look(graph, 1);
    firn_graph_destroy(graph);
    graph = load(TABLE, "\"ground\",\"table\"", "\"depth\":0.1,\"rays\":1");
    snow upright = look(graph, 1);
    firn_graph_destroy(graph);
    assert_int_equal(upright.under, 0);
    assert_int_equal(s.under, 0);
    print_message("%zu of the particles below the table\n", s.under);
    assert_true(s.mass < 0.12 * 1.6 * 1.6 * 400.0);
}

static void it_rests_from_the_start(void **state)
{
    (void)state;
    firn_graph *graph = load(TABLE, "\"ground\",\"table\"", "\"depth\":0.1");
    snow first = look(graph, 1), later = look(graph, 3);
    print_message("mean speed %.4f m/s after two frames\n", later.speed);
    assert_true(first.speed == 0.0 && later.speed < 0.02);
    assert_true(fabs(later.mass - first.mass) < 1e-6 * first.mass);
    firn_graph_destroy(graph);
}

static const firn_source_data *cover_of(firn_graph *graph)
{
    firn_error error;
    const firn_data *data = NULL;
    if (firn_graph_cook(graph, "cover", 1, &data, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return data->source;
}

// Pictures go on with the snow at the height that it has all around.
static void a_border_on_level_ground_opens_a_field(void **state)
{
    (void)state;
    const firn_patch *patch = NULL;
    firn_error error;
    firn_graph *graph = load("", "\"ground\"", "\"depth\":0.15,\"border\":0.45,\"drifts\":0.5");
    assert_int_equal(firn_source_patch(cover_of(graph), &patch, &error), FIRN_OK);
    assert_true(fabsf(patch->center.y - 0.155f) < 0.004f && patch->border == 0.45f);
    firn_graph_destroy(graph);
    graph = load("", "\"ground\"", "\"depth\":0.2");
    assert_int_equal(firn_source_patch(cover_of(graph), &patch, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "border"));
    firn_graph_destroy(graph);
    graph = load("\"hill\":{\"type\":\"collider\",\"params\":{\"shape\":\"plane\",\"rotation\":"
                 "[0,0,15]}},",
                 "\"hill\"", "\"depth\":0.15,\"border\":0.45");
    assert_int_equal(firn_source_patch(cover_of(graph), &patch, &error), FIRN_ERR_ARGUMENT);
    assert_null(patch);
    firn_graph_destroy(graph);
}

static void a_box_without_ground_is_refused(void **state)
{
    (void)state;
    firn_error error;
    const firn_data *data;
    firn_graph *graph = load("", "\"ground\"", "\"depth\":0.1");
    const double away[3] = {0.0, 50.0, 0.0};
    assert_int_equal(firn_graph_set(graph, "cover", "center", away, NULL), FIRN_OK);
    assert_int_equal(firn_graph_cook(graph, "solver", 1, &data, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "no collider has a place in the box"));
    firn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_is_depth_times_area_times_density),
        cmocka_unit_test(edges_thin_out),
        cmocka_unit_test(nothing_lies_under_a_table_or_on_a_steep_wall),
        cmocka_unit_test(a_low_roof_keeps_its_middle_bare),
        cmocka_unit_test(it_rests_from_the_start),
        cmocka_unit_test(a_border_on_level_ground_opens_a_field),
        cmocka_unit_test(a_box_without_ground_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
