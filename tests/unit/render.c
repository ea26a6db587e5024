/// Whole pictures: the same bytes for any threads, less noise with more samples, sound files, and
/// sentences for what cannot be done.
#define _POSIX_C_SOURCE 200809L
#include "unit/render_fixture.h"

#include "firn/exr.h"
#include "phase.h"
#include "solids.h"

#include "firn/defs.h"
#include "firn/render.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { WIDTH = 48, HEIGHT = 32, PIXELS = WIDTH * HEIGHT };

static float ball(int x, int y, int z)
{
    float d = firn_length(firn_vec((float)x - 15.5f, (float)y - 15.5f, (float)z - 15.5f));
    return d < 12.0f ? 400.0f - 10.0f * d : 0.0f;
}

static firn_render_def small_def(void)
{
    firn_render_def def = firn_render_def_default();
    def.width = WIDTH;
    def.height = HEIGHT;
    def.samples = 4;
    def.max_bounces = 24;
    return def;
}

static firn_render *make(const firn_render_def *def, const firn_render_scene *scene)
{
    firn_error error = {0};
    firn_render *render = NULL;
    if (firn_render_create(def, scene, &render, &error) != FIRN_OK ||
        firn_render_run(render, NULL, NULL, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return render;
}

static void bytes_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    block_field field = block_field_create(4, 4, 4, 0.01f, ball);
    firn_collider_def box =
        firn_collider_def_box(firn_vec(0.3f, 0.1f, 0.1f), firn_vec(0.02f, 0.1f, 0.1f));
    firn_render_scene scene = {.field = &field.view, .solid_count = 1, .solids = &box};
    firn_render_def def = small_def();
    const int threads[] = {1, 2, 5};
    float first[4 * PIXELS];
    for (size_t i = 0; i < FIRN_COUNT(threads); i++) {
        def.thread_count = threads[i];
        firn_render *render = make(&def, &scene);
        firn_render_image image = firn_render_picture(render);
        if (i == 0) {
            memcpy(first, image.rgb, 3 * PIXELS * sizeof *first);
            memcpy(first + 3 * PIXELS, image.depth, PIXELS * sizeof *first);
        }
        assert_memory_equal(first, image.rgb, 3 * PIXELS * sizeof *first);
        assert_memory_equal(first + 3 * PIXELS, image.depth, PIXELS * sizeof *first);
        firn_render_destroy(render);
    }
    block_field_free(&field);
}

// Root of the mean squared difference of two pictures with other noise, over the root of two.
static double noise_between(firn_render_def def, const firn_render_scene *scene, double *told)
{
    firn_render *a = make(&def, scene);
    def.seed = 1;
    firn_render *b = make(&def, scene);
    firn_render_image x = firn_render_picture(a), y = firn_render_picture(b);
    double sum = 0.0, variance = 0.0;
    for (size_t i = 0; i < PIXELS; i++) {
        const float *p = x.rgb + 3 * i, *q = y.rgb + 3 * i;
        double d = 0.2126 * (double)(p[0] - q[0]) + 0.7152 * (double)(p[1] - q[1]) +
                   0.0722 * (double)(p[2] - q[2]);
        sum += d * d / 2.0;
        variance += (double)x.variance[i];
    }
    *told = sqrt(variance / PIXELS);
    firn_render_destroy(a);
    firn_render_destroy(b);
    return sqrt(sum / PIXELS);
}

static void four_times_the_samples_halve_the_noise(void **state)
{
    (void)state;
    block_field field = block_field_create(4, 4, 4, 0.01f, ball);
    firn_render_scene scene = {.field = &field.view};
    firn_render_def def = small_def();
    def.ground = FIRN_GROUND_NONE;
    double noise[2], told[2];
    for (int i = 0; i < 2; i++) {
        def.samples = i == 0 ? 8 : 32;
        noise[i] = noise_between(def, &scene, &told[i]);
        // What the variance says is what it is; samples are spread better than at random.
        assert_true(told[i] > 0.8 * noise[i] && told[i] < 1.5 * noise[i]);
    }
    assert_true(noise[0] / noise[1] > 1.7 && noise[0] / noise[1] < 2.5);
    block_field_free(&field);
}

static void a_limit_of_noise_ends_the_work(void **state)
{
    (void)state;
    block_field field = block_field_create(4, 4, 4, 0.01f, ball);
    firn_render_scene scene = {.field = &field.view};
    firn_render_def def = small_def();
    def.samples = 4096;
    def.noise_limit = 0.08f;
    firn_render *render = make(&def, &scene);
    firn_render_image image = firn_render_picture(render);
    assert_true(image.samples < 1024 && image.noise <= 0.08 && image.noise > 0.02);
    firn_render_destroy(render);
    block_field_free(&field);
}

static void write_sky(const char *path, firn_vec3 low, firn_vec3 high)
{
    enum { W = 16, H = 8 };
    float rgb[3 * W * H];
    for (int i = 0; i < W * H; i++) {
        firn_vec3 c = i == 2 * W + 3 ? high : low;
        rgb[3 * i] = c.x;
        rgb[3 * i + 1] = c.y;
        rgb[3 * i + 2] = c.z;
    }
    const firn_exr_channel channels[] = {
        {"R", rgb, 3, true}, {"G", rgb + 1, 3, true}, {"B", rgb + 2, 3, true}};
    firn_error error = {0};
    const firn_exr_picture picture = {W, H, channels, 3, NULL, 0};
    if (firn_exr_write(path, &picture, &error) != FIRN_OK)
        fail_msg("%s", error.message);
}

static double mean_of(const firn_render_image *image, int channel)
{
    double sum = 0.0;
    for (int i = 0; i < PIXELS; i++)
        sum += (double)image->rgb[3 * i + channel];
    return sum / PIXELS;
}

static void white_snow_vanishes_in_a_white_sky(void **state)
{
    (void)state;
    block_field field = block_field_create(4, 4, 4, 0.01f, ball);
    firn_render_scene scene = {.field = &field.view};
    firn_render_def def = small_def();
    def.ground = FIRN_GROUND_NONE;
    def.sun_irradiance = 0.0f;
    def.albedo = firn_vec(1.0f, 1.0f, 1.0f);
    def.sky_strength = 1.0f;
    def.sky_color = firn_vec(1.0f, 1.0f, 1.0f);
    def.max_bounces = 100000;
    def.extinction = 100.0f;
    write_sky("render_white.exr", firn_vec(1.0f, 1.0f, 1.0f), firn_vec(1.0f, 1.0f, 1.0f));
    snprintf(def.sky_file, sizeof def.sky_file, "render_white.exr");
    const int skies[] = {FIRN_SKY_CONSTANT, FIRN_SKY_IMAGE};
    for (size_t i = 0; i < FIRN_COUNT(skies); i++) {
        def.sky = skies[i];
        def.samples = i == 0 ? 4 : 64; // light that is looked for is noisy
        firn_render *render = make(&def, &scene);
        firn_render_image image = firn_render_picture(render);
        assert_true(fabs(mean_of(&image, 0) - 1.0) < 0.01);
        firn_render_destroy(render);
    }
    unlink("render_white.exr");
    block_field_free(&field);
}

// The bright pixel of a sky lights a floor as a sun of the same size and strength does.
static void a_bright_spot_of_the_sky_is_found(void **state)
{
    (void)state;
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    firn_render_scene scene = {.solid_count = 1, .solids = &floor};
    firn_render_def def = small_def();
    def.camera = FIRN_CAMERA_PLACED;
    def.position = firn_vec(0.0f, 2.0f, 2.0f);
    def.target = firn_vec(0.0f, 0.0f, 0.0f);
    def.ground_albedo = firn_vec(0.5f, 0.5f, 0.5f);
    def.sun_irradiance = 0.0f;
    def.sky = FIRN_SKY_IMAGE;
    def.sky_strength = 1.0f;
    def.samples = 16;
    write_sky("render_spot.exr", firn_vec(0.0f, 0.0f, 0.0f), firn_vec(100.0f, 200.0f, 50.0f));
    snprintf(def.sky_file, sizeof def.sky_file, "render_spot.exr");
    firn_render *render = make(&def, &scene);
    firn_render_image image = firn_render_picture(render);
    // Row 2 of 8, one of 16 columns: the integral of cos over the patch.
    double low = cos((double)FIRN_PI * 2.0 / 8.0), high = cos((double)FIRN_PI * 3.0 / 8.0);
    double lit = 2.0 * (double)FIRN_PI / 16.0 * (low * low - high * high) / 2.0;
    assert_true(fabs(mean_of(&image, 1) / (200.0 * lit * 0.5 / (double)FIRN_PI) - 1.0) < 0.01);
    assert_true(image.noise < 0.1);
    firn_render_destroy(render);
    unlink("render_spot.exr");
}

static void shapes_and_their_level_sets_are_met_at_the_same_place(void **state)
{
    (void)state;
    enum { EDGE = 5, LEAVES = EDGE * EDGE * EDGE };
    static float values[512 * LEAVES];
    static firn_coord origins[LEAVES];
    for (int leaf = 0; leaf < LEAVES; leaf++) {
        firn_coord o = {8 * (leaf / (EDGE * EDGE)) - 16, 8 * (leaf / EDGE % EDGE) - 16,
                        8 * (leaf % EDGE) - 16};
        origins[leaf] = o;
        for (int n = 0; n < 512; n++)
            values[512 * leaf + n] =
                0.1f * firn_length(firn_vec((float)(o.x + (n >> 6)), (float)(o.y + (n >> 3 & 7)),
                                            (float)(o.z + (n & 7)))) -
                1.2f;
    }
    firn_level_set set = {.map = {{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, 0.1f},
                          .background = 0.3f,
                          .leaf_count = LEAVES,
                          .leaf_origin = origins,
                          .values = values};
    firn_collider_def defs[2] = {firn_collider_def_sphere(firn_vec(3.0f, 0.5f, 0.0f), 1.2f),
                                 firn_collider_def_level_set(&set)};
    defs[1].pose.translation = firn_vec(3.0f, 0.5f, 0.0f);
    firn_solids solids[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(firn_solids_open(&solids[i], 1, NULL), FIRN_OK);
        assert_int_equal(firn_solids_add(&solids[i], &defs[i], firn_vec(0.5f, 0.5f, 0.5f),
                                         firn_vec(0.1f, 0.2f, 0.3f), 0.05f, NULL),
                         FIRN_OK);
    }
    firn_random random = firn_random_of(4, 4, 4);
    int met = 0;
    for (int i = 0; i < 2000; i++) {
        firn_vec3 from = {-20.0f, 100.0f * firn_random_unit(&random) - 50.0f, 40.0f};
        firn_vec3 to = {58.0f, 6.0f + 60.0f * (firn_random_unit(&random) - 0.5f),
                        60.0f * (firn_random_unit(&random) - 0.5f)};
        firn_vec3 d = firn_normalize(firn_sub(to, from));
        firn_hit a = {.distance = INFINITY}, b = a;
        bool hit = firn_solids_meet(&solids[0], from, d, &a);
        bool same = firn_solids_meet(&solids[1], from, d, &b);
        if (hit && firn_dot(a.normal, d) < -0.2f) {
            float grazing = fabsf(firn_dot(a.normal, d));
            assert_true(same && fabsf(a.distance - b.distance) < 0.06f / grazing);
            assert_true(firn_dot(a.normal, b.normal) > 0.98f && firn_dot(a.normal, d) < 0.0f);
            met++;
        }
    }
    assert_true(met > 300);
    for (int i = 0; i < 2; i++)
        firn_solids_free(&solids[i]);
}

// Rays from above meet the field around a patch, and the ground below it within.
static void a_field_is_open_where_its_patch_is(void **state)
{
    (void)state;
    const firn_patch patch = {{0.3f, 0.25f, -0.2f}, {1.5f, 1.0f, 1.2f}, 0.4f, 5};
    const firn_vec3 origin = {-0.7f, 0.1f, 0.2f}, up = {0.0f, 1.0f, 0.0f}, white = {1, 1, 1};
    const float voxel = 0.02f;
    firn_collider_def ground = firn_collider_def_plane(up, 0.0f),
                      plane = firn_collider_def_plane(up, patch.center.y);
    firn_solids solids;
    assert_int_equal(firn_solids_open(&solids, 2, NULL), FIRN_OK);
    assert_int_equal(firn_solids_add(&solids, &ground, white, origin, voxel, NULL), FIRN_OK);
    assert_int_equal(firn_solids_add(&solids, &plane, white, origin, voxel, NULL), FIRN_OK);
    solids.list[1].patch = &patch;
    int within = 0, without = 0, frayed[2] = {0};
    for (int i = 0; i < 200; i++)
        for (int k = 0; k < 200; k++) {
            firn_vec3 world = {-2.0f + 0.02f * (float)i, 1.0f, -2.0f + 0.02f * (float)k};
            firn_vec3 from = firn_scale(1.0f / voxel, firn_sub(world, origin));
            firn_hit hit = {.distance = INFINITY};
            assert_true(firn_solids_meet(&solids, from, firn_vec(0.0f, -1.0f, 0.0f), &hit));
            float height = 1.0f - voxel * hit.distance;
            bool open = fabsf(height) < 1e-4f;
            assert_true(open || fabsf(height - patch.center.y) < 1e-4f);
            float over = firn_patch_inset(&patch, world.x, world.z) - FIRN_PATCH_FULL;
            if (fabsf(over) < 0.16f) {
                frayed[open]++;
                continue;
            }
            assert_true(open == (over > 0.0f));
            within += open;
            without += !open;
        }
    assert_true(within > 4000 && without > 10000 && frayed[0] > 300 && frayed[1] > 300);
    firn_solids_free(&solids);
}

static void pictures_come_back_from_their_files(void **state)
{
    (void)state;
    block_field field = block_field_create(4, 4, 4, 0.01f, ball);
    firn_render_scene scene = {.field = &field.view};
    firn_render_def def = small_def();
    for (int half = 0; half < 2; half++) {
        def.half = half != 0;
        firn_render *render = make(&def, &scene);
        firn_error error = {0};
        if (firn_render_write(render, "render_test.exr", &error) != FIRN_OK)
            fail_msg("%s", error.message);
        int width, height;
        float *rgb = NULL;
        assert_int_equal(firn_exr_read("render_test.exr", &width, &height, &rgb, &error), FIRN_OK);
        assert_true(width == WIDTH && height == HEIGHT);
        firn_render_image image = firn_render_picture(render);
        for (int i = 0; i < 3 * PIXELS; i++)
            assert_true(fabsf(rgb[i] - image.rgb[i]) <= (half ? 1e-3f * image.rgb[i] : 0.0f));
        firn_free(rgb);
        assert_int_equal(firn_render_write(render, "render_test.PNG", &error), FIRN_OK);
        firn_render_destroy(render);
    }
    unlink("render_test.exr");
    unlink("render_test.PNG");
    block_field_free(&field);
}

// --- What cannot be done -------------------------------------------------------------------------

static void assert_refused(const firn_render_def *def, const firn_render_scene *scene,
                           firn_result expected, const char *word)
{
    firn_render *render = NULL;
    firn_error error = {0};
    assert_int_equal(firn_render_create(def, scene, &render, &error), expected);
    assert_null(render);
    if (strstr(error.message, word) == NULL)
        fail_msg("'%s' has no '%s'", error.message, word);
}

static void bad_input_is_refused_with_a_sentence(void **state)
{
    (void)state;
    block_field field = block_field_create(2, 2, 2, 0.01f, ball);
    firn_render_scene scene = {.field = &field.view};
    firn_render_def def = small_def(), bad = def;
    bad.width = 0;
    assert_refused(&bad, &scene, FIRN_ERR_ARGUMENT, "width");
    bad = def;
    bad.cookie = 0;
    assert_refused(&bad, &scene, FIRN_ERR_ARGUMENT, "render");
    bad = def;
    bad.camera = FIRN_CAMERA_PLACED;
    bad.position = bad.target;
    assert_refused(&bad, &scene, FIRN_ERR_ARGUMENT, "camera");
    bad = def;
    bad.sky = FIRN_SKY_IMAGE;
    assert_refused(&bad, &scene, FIRN_ERR_ARGUMENT, "sky_file");
    snprintf(bad.sky_file, sizeof bad.sky_file, "no_such_sky.exr");
    assert_refused(&bad, &scene, FIRN_ERR_NOT_FOUND, "no_such_sky.exr");
    field.density[100] = NAN;
    assert_refused(&def, &scene, FIRN_ERR_FORMAT, "finite");
    block_field_free(&field);
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    firn_render_scene scene = {0};
    firn_render_def def = small_def();
    firn_render *render = make(&def, &scene);
    firn_error error = {0};
    assert_int_not_equal(firn_render_write(render, "no/such/folder/a.exr", &error), FIRN_OK);
    assert_non_null(strstr(error.message, "no/such/folder"));
    assert_int_not_equal(firn_render_write(render, "no/such/folder/a.png", &error), FIRN_OK);
    assert_int_equal(firn_render_write(render, "a.jpg", &error), FIRN_ERR_ARGUMENT);
    assert_true(firn_render_can_write("a.EXR") && !firn_render_can_write("a.jpg"));
    firn_render_destroy(render);
}

static void damaged_skies_are_refused(void **state)
{
    (void)state;
    write_sky("render_whole.exr", firn_vec(1.0f, 1.0f, 1.0f), firn_vec(2.0f, 2.0f, 2.0f));
    FILE *file = fopen("render_whole.exr", "rb");
    unsigned char bytes[4096];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    firn_random random = firn_random_of(8, 8, 8);
    for (int round = 0; round < 300; round++) {
        unsigned char damaged[4096];
        memcpy(damaged, bytes, size);
        size_t kept = size;
        if (round % 2 == 0)
            kept = (size_t)((float)size * firn_random_unit(&random));
        else
            damaged[(size_t)((float)size * firn_random_unit(&random))] ^=
                (unsigned char)(1 + round);
        file = fopen("render_damaged.exr", "wb");
        fwrite(damaged, 1, kept, file);
        fclose(file);
        int width, height;
        float *rgb = NULL;
        if (firn_exr_read("render_damaged.exr", &width, &height, &rgb, NULL) == FIRN_OK)
            firn_free(rgb);
    }
    unlink("render_whole.exr");
    unlink("render_damaged.exr");
}

static bool stop_at_once(const firn_render_report *report, void *user)
{
    int *calls = user;
    ++*calls;
    return report->samples < 2;
}

static void a_picture_stops_when_told(void **state)
{
    (void)state;
    block_field field = block_field_create(4, 4, 4, 0.01f, ball);
    firn_render_scene scene = {.field = &field.view};
    firn_render_def def = small_def();
    def.samples = 100000;
    firn_render *render = NULL;
    int calls = 0;
    assert_int_equal(firn_render_create(&def, &scene, &render, NULL), FIRN_OK);
    assert_int_equal(firn_render_run(render, stop_at_once, &calls, NULL), FIRN_ERR_CANCELLED);
    assert_true(calls >= 1 && firn_render_picture(render).samples < 100000);
    firn_render_destroy(render);
    block_field_free(&field);
}

typedef struct scarcity {
    int left;
} scarcity;

static void *allocate_some(size_t bytes, size_t alignment, void *user)
{
    scarcity *own = user;
    if (own->left-- <= 0)
        return NULL;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release_any(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static void running_out_of_memory_is_an_error_everywhere(void **state)
{
    (void)state;
    block_field field = block_field_create(2, 2, 2, 0.01f, ball);
    const float place[15] = {0.1f, 0.1f, 0.1f, 0.2f}, speed[15] = {0}, radius[5] = {1, 1, 1, 1, 1};
    const firn_grains grains = {5, place, speed, radius, NULL, place};
    firn_render_scene scene = {.field = &field.view, .grains = &grains};
    firn_render_def def = small_def();
    def.width = def.height = 4;
    def.samples = 1;
    def.shutter = 0.5f;
    def.denoise = true;
    firn_result result = FIRN_ERR_MEMORY;
    int allowed = 0;
    for (; result != FIRN_OK && allowed < 200; allowed++) {
        scarcity own = {allowed};
        firn_allocator allocator = {allocate_some, release_any, &own};
        firn_set_allocator(&allocator);
        firn_render *render = NULL;
        result = firn_render_create(&def, &scene, &render, NULL);
        if (result == FIRN_OK)
            result = firn_render_run(render, NULL, NULL, NULL);
        if (result == FIRN_OK)
            result = firn_render_write(render, "render_memory.exr", NULL);
        firn_render_destroy(render);
        firn_set_allocator(NULL);
        assert_true(result == FIRN_OK || result == FIRN_ERR_MEMORY);
    }
    assert_true(result == FIRN_OK && allowed > 10);
    unlink("render_memory.exr");
    block_field_free(&field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(four_times_the_samples_halve_the_noise),
        cmocka_unit_test(a_limit_of_noise_ends_the_work),
        cmocka_unit_test(white_snow_vanishes_in_a_white_sky),
        cmocka_unit_test(a_bright_spot_of_the_sky_is_found),
        cmocka_unit_test(shapes_and_their_level_sets_are_met_at_the_same_place),
        cmocka_unit_test(a_field_is_open_where_its_patch_is),
        cmocka_unit_test(pictures_come_back_from_their_files),
        cmocka_unit_test(bad_input_is_refused_with_a_sentence),
        cmocka_unit_test(what_cannot_be_written_is_said),
        cmocka_unit_test(damaged_skies_are_refused),
        cmocka_unit_test(a_picture_stops_when_told),
        cmocka_unit_test(running_out_of_memory_is_an_error_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
