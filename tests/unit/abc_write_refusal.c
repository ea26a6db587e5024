#include "abc_write_support.h"

typedef struct open_writer {
    firn_abc_writer *writer;
    firn_abc_node points, mesh;
    firn_abc_clock any;
    firn_error error;
} open_writer;

static const firn_abc_param_def density = {"density", FIRN_ABC_FLOAT, FIRN_ABC_VARYING};

static open_writer declare(void)
{
    open_writer w = {0};
    firn_abc_writer_def def = firn_abc_writer_def_default();
    ASSERT_OK(firn_abc_writer_create("abc_refusal.abc", &def, &w.writer, error));
    ASSERT_OK(firn_abc_writer_add_acyclic_clock(w.writer, &w.any, error));
    firn_abc_points_def points = firn_abc_points_def_default();
    points.params = &density;
    points.param_count = 1;
    ASSERT_OK(firn_abc_writer_add_points(w.writer, FIRN_ABC_ROOT, "p", &points, &w.points, error));
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    mesh.clock = w.any;
    ASSERT_OK(firn_abc_writer_add_mesh(w.writer, FIRN_ABC_ROOT, "m", &mesh, &w.mesh, error));
    return w;
}

static open_writer begin(void)
{
    open_writer w = declare();
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(w.writer, &frame, error));
    return w;
}

// Whatever was refused, the file does not appear.
static void refused(open_writer *w, firn_result result, firn_result expected)
{
    if (result != expected)
        fail_msg("got %s (%s), not %s", firn_result_name(result), w->error.message,
                 firn_result_name(expected));
    assert_int_equal(w->error.code, expected);
    assert_true(w->error.message[0] != '\0');
    firn_abc_writer_destroy(w->writer);
    assert_false(file_exists("abc_refusal.abc"));
}

static void names_with_slash_empty_or_twice_are_refused(void **state)
{
    (void)state;
    char long_name[300];
    memset(long_name, 'x', sizeof long_name);
    long_name[299] = '\0';
    const char *const names[] = {"", "a/b", "p", long_name};
    for (size_t i = 0; i < FIRN_COUNT(names); i++) {
        open_writer w = declare();
        firn_abc_node node;
        refused(&w, firn_abc_writer_add_group(w.writer, FIRN_ABC_ROOT, names[i], &node, &w.error),
                FIRN_ERR_ARGUMENT);
    }
}

static void parameters_of_one_name_are_refused(void **state)
{
    (void)state;
    open_writer w = declare();
    const firn_abc_param_def twice[] = {density, density};
    firn_abc_points_def points = firn_abc_points_def_default();
    points.params = twice;
    points.param_count = 2;
    firn_abc_node node;
    refused(&w, firn_abc_writer_add_points(w.writer, FIRN_ABC_ROOT, "q", &points, &node, &w.error),
            FIRN_ERR_ARGUMENT);
}

static void uninitialized_defs_are_refused(void **state)
{
    (void)state;
    open_writer w = declare();
    firn_abc_points_def points = {0};
    firn_abc_node node;
    refused(&w, firn_abc_writer_add_points(w.writer, FIRN_ABC_ROOT, "q", &points, &node, &w.error),
            FIRN_ERR_ARGUMENT);
}

static void samples_before_begin_and_objects_after_it_are_refused(void **state)
{
    (void)state;
    open_writer w = declare();
    const firn_abc_points_data none = {0};
    refused(&w, firn_abc_writer_put_points(w.writer, w.points, &none, &w.error), FIRN_ERR_ARGUMENT);
    w = begin();
    firn_abc_node node;
    refused(&w, firn_abc_writer_add_group(w.writer, FIRN_ABC_ROOT, "g", &node, &w.error),
            FIRN_ERR_ARGUMENT);
}

static void samples_for_another_kind_of_object_are_refused(void **state)
{
    (void)state;
    open_writer w = begin();
    const firn_abc_points_data none = {0};
    refused(&w, firn_abc_writer_put_points(w.writer, w.mesh, &none, &w.error), FIRN_ERR_STALE);
    w = begin();
    refused(&w, firn_abc_writer_put_points(w.writer, (firn_abc_node){77}, &none, &w.error),
            FIRN_ERR_STALE);
}

static void declared_values_that_are_missing_are_refused(void **state)
{
    (void)state;
    const firn_vec3 position = {0};
    const void *nothing = NULL;
    const firn_abc_points_data cases[] = {{1, NULL, NULL, NULL, NULL, NULL},
                                          {1, &position, NULL, NULL, NULL, NULL},
                                          {1, &position, NULL, NULL, NULL, &nothing}};
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        open_writer w = begin();
        refused(&w, firn_abc_writer_put_points(w.writer, w.points, &cases[i], &w.error),
                FIRN_ERR_ARGUMENT);
    }
}

static void faces_that_do_not_fit_the_points_are_refused(void **state)
{
    (void)state;
    static const firn_vec3 points[3];
    static const int32_t three = 3, negative = -3, indices[3] = {0, 1, 2}, beyond[3] = {0, 1, 3};
    const firn_abc_mesh_data cases[] = {
        {3, 1, 4, points, &three, indices, NULL, NULL, NULL, NULL},
        {3, 1, 3, points, &negative, indices, NULL, NULL, NULL, NULL},
        {3, 1, 3, points, &three, beyond, NULL, NULL, NULL, NULL},
        {3, 1, 3, points, NULL, indices, NULL, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        open_writer w = begin();
        ASSERT_OK(firn_abc_writer_put_time(w.writer, w.any, 0.0, error));
        refused(&w, firn_abc_writer_put_mesh(w.writer, w.mesh, &cases[i], &w.error),
                FIRN_ERR_ARGUMENT);
    }
}

static void acyclic_samples_need_a_later_time_each(void **state)
{
    (void)state;
    open_writer w = begin();
    const firn_abc_mesh_data empty = {0};
    ASSERT_OK(firn_abc_writer_put_time(w.writer, w.any, 1.0, error));
    ASSERT_OK(firn_abc_writer_put_mesh(w.writer, w.mesh, &empty, error));
    refused(&w, firn_abc_writer_put_mesh(w.writer, w.mesh, &empty, &w.error), FIRN_ERR_ARGUMENT);
    w = begin();
    ASSERT_OK(firn_abc_writer_put_time(w.writer, w.any, 1.0, error));
    refused(&w, firn_abc_writer_put_time(w.writer, w.any, 1.0, &w.error), FIRN_ERR_ARGUMENT);
}

static void failure_is_reported_again_by_every_later_call(void **state)
{
    (void)state;
    open_writer w = begin();
    const firn_abc_points_data bad = {1, NULL, NULL, NULL, NULL, NULL}, good = {0};
    assert_int_equal(firn_abc_writer_put_points(w.writer, w.points, &bad, NULL), FIRN_ERR_ARGUMENT);
    firn_error again;
    assert_int_equal(firn_abc_writer_put_points(w.writer, w.points, &good, &again),
                     FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(again.message, "'P'"));
    assert_int_equal(firn_abc_writer_end_frame(w.writer, &again), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_abc_writer_finish(w.writer, &again), FIRN_ERR_ARGUMENT);
    assert_false(file_exists("abc_refusal.abc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_with_slash_empty_or_twice_are_refused),
        cmocka_unit_test(parameters_of_one_name_are_refused),
        cmocka_unit_test(uninitialized_defs_are_refused),
        cmocka_unit_test(samples_before_begin_and_objects_after_it_are_refused),
        cmocka_unit_test(samples_for_another_kind_of_object_are_refused),
        cmocka_unit_test(declared_values_that_are_missing_are_refused),
        cmocka_unit_test(faces_that_do_not_fit_the_points_are_refused),
        cmocka_unit_test(acyclic_samples_need_a_later_time_each),
        cmocka_unit_test(failure_is_reported_again_by_every_later_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
