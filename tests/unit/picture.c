/// Pictures show snow where it is, lit and with its shadow.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "firn/file.h"
#include "firn/picture.h"
#include "firn/png.h"

#include <string.h>

enum { WIDTH = 96, HEIGHT = 64, EDGE = 9, COUNT = EDGE * EDGE * EDGE };

static firn_vec3 positions[COUNT];
static float radii[COUNT];
static uint8_t pixels[2][3 * WIDTH * HEIGHT];

static firn_picture_cloud block(void)
{
    for (int i = 0; i < COUNT; i++) {
        positions[i] = firn_vec(0.1f * (float)(i % EDGE), 0.1f * (float)(i / EDGE % EDGE),
                                0.1f * (float)(i / EDGE / EDGE));
        radii[i] = 0.06f;
    }
    firn_picture_cloud cloud = {COUNT, positions, radii, {0.95f, 0.95f, 0.95f}, true};
    return cloud;
}

static firn_picture_def small_def(void)
{
    firn_picture_def def = firn_picture_def_default();
    def.width = WIDTH;
    def.height = HEIGHT;
    return def;
}

static const uint8_t *pixel(int x, int y) { return &pixels[0][3 * (y * WIDTH + x)]; }

static void snow_is_bright_in_the_middle_and_the_corner_is_not(void **state)
{
    (void)state;
    firn_picture_cloud cloud = block();
    firn_picture_scene scene = {.cloud_count = 1, .clouds = &cloud};
    firn_picture_def def = small_def();
    assert_int_equal(firn_picture_render(&def, &scene, pixels[0], NULL), FIRN_OK);
    assert_true(pixel(WIDTH / 2, HEIGHT / 2)[0] > 150);
    assert_true(pixel(2, HEIGHT - 3)[0] < 150);
}

static void equal_input_gives_equal_pixels(void **state)
{
    (void)state;
    firn_picture_cloud cloud = block();
    firn_picture_scene scene = {.cloud_count = 1, .clouds = &cloud};
    firn_picture_def def = small_def();
    for (int i = 0; i < 2; i++)
        assert_int_equal(firn_picture_render(&def, &scene, pixels[i], NULL), FIRN_OK);
    assert_memory_equal(pixels[0], pixels[1], sizeof pixels[0]);
}

static void no_snow_is_a_picture_too(void **state)
{
    (void)state;
    firn_picture_scene scene = {.cloud_count = 0};
    firn_picture_def def = small_def();
    assert_int_equal(firn_picture_render(&def, &scene, pixels[0], NULL), FIRN_OK);
}

static void bad_positions_are_left_out(void **state)
{
    (void)state;
    firn_picture_cloud cloud = block();
    positions[5] = firn_vec(NAN, 0.0f, 1.0f);
    positions[6] = firn_vec(1e30f, INFINITY, 1.0f);
    firn_picture_scene scene = {.cloud_count = 1, .clouds = &cloud};
    firn_picture_def def = small_def();
    assert_int_equal(firn_picture_render(&def, &scene, pixels[0], NULL), FIRN_OK);
    assert_true(pixel(WIDTH / 2, HEIGHT / 2)[0] > 150);
}

static void a_picture_without_pixels_is_refused(void **state)
{
    (void)state;
    firn_picture_scene scene = {.cloud_count = 0};
    firn_picture_def def = small_def();
    def.width = 0;
    assert_int_equal(firn_picture_render(&def, &scene, pixels[0], NULL), FIRN_ERR_ARGUMENT);
}

static void the_file_is_a_png(void **state)
{
    (void)state;
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(firn_png_write("test_picture.png", WIDTH, HEIGHT, pixels[0], NULL), FIRN_OK);
    assert_int_equal(firn_file_read("test_picture.png", 1 << 20, &bytes, &size, NULL), FIRN_OK);
    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    firn_free(bytes);
    assert_int_equal(firn_png_write("no/such/folder/a.png", WIDTH, HEIGHT, pixels[0], NULL),
                     FIRN_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snow_is_bright_in_the_middle_and_the_corner_is_not),
        cmocka_unit_test(equal_input_gives_equal_pixels),
        cmocka_unit_test(no_snow_is_a_picture_too),
        cmocka_unit_test(bad_positions_are_left_out),
        cmocka_unit_test(a_picture_without_pixels_is_refused),
        cmocka_unit_test(the_file_is_a_png),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
