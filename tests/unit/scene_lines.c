#include "scene_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const char text[] = "{\n"
                           "  \"firn\": 1, \"note\": \"nodes { \\\" [ solver\",\n"
                           "  \"list\": [{\"nodes\": 0}, 2],\n"
                           "  \"nodes\": {\n"
                           "    \"ball\": {\"params\": {\"radius\":\n"
                           "      1}},\n"
                           "    \"solver\": {\n"
                           "      \"params\": {\"a\": [1, 2],\n"
                           "        \"radius\": \"params\"}\n"
                           "    }\n"
                           "  },\n"
                           "  \"tail\": {\"params\": 1}\n"
                           "}\n";

static int line_of(const char *a, const char *b, const char *c, const char *d)
{
    const char *const path[FIRN_SCENE_DEPTH] = {a, b, c, d};
    return firn_scene_line(text, sizeof text - 1, path);
}

static void a_path_leads_to_its_key(void **state)
{
    (void)state;
    assert_int_equal(line_of("firn", NULL, NULL, NULL), 2);
    assert_int_equal(line_of("nodes", NULL, NULL, NULL), 4);
    assert_int_equal(line_of("nodes", "ball", "params", "radius"), 5);
    assert_int_equal(line_of("nodes", "solver", "params", "radius"), 9);
    assert_int_equal(line_of("tail", "params", NULL, NULL), 12);
}

static void a_path_that_ends_early_gives_what_is_there(void **state)
{
    (void)state;
    assert_int_equal(line_of("nodes", "solver", "inputs", NULL), 7);
    assert_int_equal(line_of("nodes", "ball", "params", "a"), 5);
    assert_int_equal(line_of("nothing", NULL, NULL, NULL), 1);
}

static void any_cut_of_the_text_is_survived(void **state)
{
    (void)state;
    const char *const path[FIRN_SCENE_DEPTH] = {"nodes", "solver", "params", "radius"};
    for (size_t size = 0; size < sizeof text; size++)
        assert_true(firn_scene_line(text, size, path) <= 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_leads_to_its_key),
        cmocka_unit_test(a_path_that_ends_early_gives_what_is_there),
        cmocka_unit_test(any_cut_of_the_text_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
