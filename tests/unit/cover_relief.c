/// How deep snow lies from place to place: means, scales, directions, borders, pictures.
#include "cover_relief.h"

#include "firn/exr.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// 10 cm of snow, flat, on 40 by 40 m.
static firn_cover_def flat(void)
{
    firn_cover_def def;
    firn_params_reset(firn_cover_params(), &def);
    def.half_size = firn_vec(20.0f, 1.0f, 20.0f);
    def.unevenness = 0.0f;
    return def;
}

typedef struct numbers {
    double mean, spread, least, most;
} numbers;

static numbers look(const firn_cover_def *def)
{
    firn_cover_relief relief = {.def = def};
    numbers n = {0, 0, 1e9, -1e9};
    enum { EDGE = 400 };
    for (int i = 0; i < EDGE; i++)
        for (int k = 0; k < EDGE; k++) {
            double d = (double)firn_cover_depth(&relief, -20.0f + 40.0f * ((float)i + 0.5f) / EDGE,
                                                -20.0f + 40.0f * ((float)k + 0.5f) / EDGE);
            n.mean += d / (EDGE * EDGE);
            n.spread += d * d / (EDGE * EDGE);
            n.least = fmin(n.least, d);
            n.most = fmax(n.most, d);
        }
    n.spread = sqrt(fmax(n.spread - n.mean * n.mean, 0.0));
    return n;
}

static void wind_moves_snow_and_takes_none(void **state)
{
    (void)state;
    for (int run = 0; run < 6; run++) {
        firn_cover_def def = flat();
        def.seed = 1 + run;
        def.wind_direction = 70.0f * (float)run;
        if (run != 1)
            def.drifts = 0.6f;
        if (run != 2)
            def.ripples = 0.03f;
        numbers n = look(&def);
        print_message("mean %.4f m, spread %.4f, %.3f to %.3f m\n", n.mean, n.spread, n.least,
                      n.most);
        assert_true(fabs(n.mean / 0.1 - 1.0) < 0.04);
        assert_true(n.least >= 0.0);
        // A wave that is seen: at least a fifth of its greatest height as the mean deviation.
        double heights = (run != 1 ? 0.06 : 0.0) + (run != 2 ? 0.015 : 0.0);
        assert_true(n.spread > 0.2 * heights && n.most - 0.1 < 1.01 * heights);
    }
}

// Crossings of the mean depth in a meter, along a direction given in degrees from +X to +Z.
static double crossings(const firn_cover_def *def, double degrees)
{
    firn_cover_relief relief = {.def = def};
    const double turn = degrees * 0.017453292519943295, step = 0.005;
    int count = 0, steps = 0;
    for (int line = -15; line <= 15; line++) {
        bool above = false;
        for (int i = 0; i < 6000; i++) {
            double s = step * (i - 3000), t = line;
            double x = s * cos(turn) - t * sin(turn), z = s * sin(turn) + t * cos(turn);
            if (fabs(x) > 19.0 || fabs(z) > 19.0)
                continue;
            bool now = firn_cover_depth(&relief, (float)x, (float)z) > def->depth;
            count += steps > 0 && now != above;
            above = now;
            steps++;
        }
    }
    return count / (steps * step);
}

static void ripples_have_their_length_and_lie_across_the_wind(void **state)
{
    (void)state;
    for (int run = 0; run < 3; run++) {
        firn_cover_def def = flat();
        def.ripples = 0.02f;
        def.ripple_size = 0.15f + 0.1f * (float)run;
        def.wind_direction = 30.0f * (float)run;
        double along = crossings(&def, (double)def.wind_direction);
        double across = crossings(&def, (double)def.wind_direction + 90.0);
        print_message("%.2f crossings a meter along the wind, %.2f across\n", along, across);
        // Two for each crest; where patches are bare there are none.
        double each = 2.0 / (double)def.ripple_size;
        assert_true(along < 1.15 * each && along > 0.8 * each);
        assert_true(across < 0.5 * along);
    }
}

// Behind a crest it is steep: the surface falls faster along the wind than it rises.
static void ripples_are_steep_behind_the_wind(void **state)
{
    (void)state;
    firn_cover_def def = flat();
    def.ripples = 0.02f;
    for (int run = 0; run < 4; run++) {
        def.wind_direction = 90.0f * (float)run;
        firn_cover_relief relief = {.def = &def};
        const double turn = (double)def.wind_direction * 0.017453292519943295;
        int rises = 0, falls = 0;
        for (int i = 0; i < 20000; i++) {
            double s = 0.001 * (i - 10000);
            float here = firn_cover_depth(&relief, (float)(s * cos(turn)), (float)(s * sin(turn)));
            s += 0.001;
            float next = firn_cover_depth(&relief, (float)(s * cos(turn)), (float)(s * sin(turn)));
            rises += next > here;
            falls += next < here;
        }
        assert_true(rises > 1.6 * falls);
    }
}

static void borders_run_out_to_nothing(void **state)
{
    (void)state;
    firn_cover_def def = flat();
    def.border = 3.0f;
    def.center = firn_vec(5.0f, 0.0f, -7.0f);
    firn_cover_relief relief = {.def = &def};
    double least = 1e9, most = 0.0;
    for (int i = -200; i <= 200; i++) {
        float s = 0.1f * (float)i;
        const float sides[4][2] = {{s, 20.0f}, {s, -20.0f}, {20.0f, s}, {-20.0f, s}};
        for (int side = 0; side < 4; side++) {
            float x = def.center.x + sides[side][0], z = def.center.z + sides[side][1];
            assert_true(firn_cover_depth(&relief, x, z) == 0.0f);
        }
        if (abs(i) <= 150)
            assert_true(firn_cover_depth(&relief, 5.0f + s, -7.0f) == def.depth);
        // How far inside of one side the first snow lies: not on a line.
        float in = 0.0f;
        while (firn_cover_depth(&relief, 5.0f + 0.7f * s, 13.0f - in) <= 0.0f)
            in += 0.02f;
        least = fmin(least, (double)in);
        most = fmax(most, (double)in);
    }
    print_message("snow begins %.2f to %.2f m inside\n", least, most);
    assert_true(most < 3.0 && most - least > 0.5);
}

static void write_picture(const char *path, int width, int height, const float *red)
{
    const firn_exr_channel channels[] = {
        {"B", red, 1, false}, {"G", red, 1, false}, {"R", red, 1, false}};
    const firn_exr_picture picture = {width, height, channels, 3, NULL, 0};
    firn_error error;
    if (firn_exr_write(path, &picture, &error) != FIRN_OK)
        fail_msg("%s", error.message);
}

static void a_picture_gives_the_depth(void **state)
{
    (void)state;
    enum { WIDTH = 8, HEIGHT = 4 };
    float red[WIDTH * HEIGHT];
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        red[i] = (float)(i % WIDTH) + 10.0f * (float)(i / WIDTH);
    write_picture("cover_relief.exr", WIDTH, HEIGHT, red);
    firn_cover_def def = flat();
    strcpy(def.depth_file, "cover_relief.exr");
    firn_cover_relief relief;
    firn_error error;
    assert_int_equal(firn_cover_relief_make(&def, &relief, &error), FIRN_OK);
    // Linear inside, held beyond the middles of the outermost pixels.
    for (int n = 0; n < 200; n++) {
        double x = -20.0 + 0.2 * n, z = 20.0 - 0.17 * n;
        double column = fmin(fmax((x + 20.0) / 5.0 - 0.5, 0.0), WIDTH - 1.0);
        double row = fmin(fmax((z + 20.0) / 10.0 - 0.5, 0.0), HEIGHT - 1.0);
        double expected = 0.1 * (column + 10.0 * row);
        double got = (double)firn_cover_depth(&relief, (float)x, (float)z);
        assert_true(fabs(got - expected) < 1e-5 * (1.0 + expected));
    }
    firn_cover_relief_free(&relief);
    remove("cover_relief.exr");
}

static void bad_pictures_are_refused(void **state)
{
    (void)state;
    firn_cover_def def = flat();
    firn_cover_relief relief;
    firn_error error;
    strcpy(def.depth_file, "no_such_picture.exr");
    assert_int_not_equal(firn_cover_relief_make(&def, &relief, &error), FIRN_OK);
    assert_non_null(strstr(error.message, "no_such_picture.exr"));
    strcpy(def.depth_file, "cover_bad.exr");
    const float bad[3] = {-1.0f, NAN, INFINITY};
    for (int n = 0; n < 3; n++) {
        const float red[4] = {1.0f, 1.0f, bad[n], 1.0f};
        write_picture("cover_bad.exr", 2, 2, red);
        assert_int_equal(firn_cover_relief_make(&def, &relief, &error), FIRN_ERR_FORMAT);
        assert_non_null(strstr(error.message, "column 0 of row 1"));
        assert_null(relief.picture.rgb);
    }
    remove("cover_bad.exr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wind_moves_snow_and_takes_none),
        cmocka_unit_test(ripples_have_their_length_and_lie_across_the_wind),
        cmocka_unit_test(ripples_are_steep_behind_the_wind),
        cmocka_unit_test(borders_run_out_to_nothing),
        cmocka_unit_test(a_picture_gives_the_depth),
        cmocka_unit_test(bad_pictures_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
