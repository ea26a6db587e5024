#define _POSIX_C_SOURCE 200809L
#include "page.h"
#include "csv.h"

#include "firn/picture.h"
#include "firn/png.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void marks_are_round_and_few(void **state)
{
    (void)state;
    for (double span = 1e-7; span < 1e9; span *= 1.37) {
        double step = firn_plot_step(0.0, span, 5, 0.0), power = pow(10.0, floor(log10(step)));
        double lead = step / power;
        assert_true(fabs(lead - 1.0) < 1e-6 || fabs(lead - 2.0) < 1e-6 || fabs(lead - 5.0) < 1e-6 ||
                    fabs(lead - 10.0) < 1e-6);
        assert_true(span / step <= 5.0 + 1e-6);
        assert_true(span / step >= 2.0 - 1e-6);
    }
    assert_true(firn_plot_step(1.0, 3.0, 8, 1.0) == 1.0); // frames are whole
    assert_true(firn_plot_step(4.0, 4.0, 8, 1.0) == 1.0);
}

static void neighboring_marks_differ(void **state)
{
    (void)state;
    for (double step = 1e-6; step < 1e8; step *= 10.0)
        for (int i = -3; i < 12; i++) {
            char a[32], b[32];
            firn_plot_mark(i * step, step, a);
            firn_plot_mark((i + 1) * step, step, b);
            assert_string_not_equal(a, b);
        }
    char text[32];
    assert_string_equal(firn_plot_mark(0.0, 0.5, text), "0");
    assert_string_equal(firn_plot_mark(0.04, 0.02, text), "0.04");
    assert_string_equal(firn_plot_mark(20000.0, 10000.0, text), "20k");
}

// The page as text; released with free.
static char *print_plot(const firn_plot *plot)
{
    char *text = NULL;
    size_t size = 0;
    FILE *page = open_memstream(&text, &size);
    assert_non_null(page);
    firn_page_plot(page, plot);
    fclose(page);
    return text;
}

static void a_plot_draws_what_is_finite(void **state)
{
    (void)state;
    const int frames[] = {1, 2, 3, 4};
    const double values[] = {1.0, NAN, 3.0, INFINITY};
    firn_plot plot = {.title = "<t>",
                      .finding = "\"f\"",
                      .unit = "m/s",
                      .first = 1,
                      .last = 9,
                      .count = 4,
                      .frames = frames,
                      .series_count = 1,
                      .series = {{"a&b", values}}};
    char *text = print_plot(&plot);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_null(strstr(text, "<t>"));
    assert_null(strstr(text, "a&b"));
    assert_non_null(strstr(text, "[1,null,3,null]"));
    assert_non_null(strstr(text, "not cooked"));
    free(text);
    plot.count = 0;
    free(print_plot(&plot)); // nothing to draw is no reason to fail
}

static void nothing_in_a_text_is_markup(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *page = open_memstream(&text, &size);
    assert_non_null(page);
    firn_page_text(page, "<a b=\"c\">&'\x01\x1b");
    fclose(page);
    assert_null(strpbrk(text, "<>\"'\x01\x1b"));
    free(text);
}

static void cells_come_back_as_they_were(void **state)
{
    (void)state;
    static const char *const cells[] = {"plain", "a,b", "say \"hi\"", "two\nlines", "", "\"", " "};
    const char *path = "page_cells.csv";
    firn_file_writer *file = NULL;
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(firn_file_create(path, &file, NULL), FIRN_OK);
    for (int row = 0; row < 2; row++)
        for (size_t i = 0; i < FIRN_COUNT(cells); i++)
            firn_csv_write(file, cells[i], i + 1 < FIRN_COUNT(cells) ? "," : "\n");
    assert_int_equal(firn_file_commit(file, NULL), FIRN_OK);
    assert_int_equal(firn_file_read(path, 10000, &bytes, &size, NULL), FIRN_OK);
    unlink(path);
    const char *at = bytes, *end = at + size;
    firn_csv_row *row = firn_alloc(sizeof *row);
    for (int r = 0; r < 2; r++) {
        assert_true(firn_csv_read(&at, end, row));
        assert_int_equal(row->count, FIRN_COUNT(cells));
        for (size_t i = 0; i < FIRN_COUNT(cells); i++)
            assert_string_equal(row->cells[i], cells[i]);
    }
    assert_false(firn_csv_read(&at, end, row));
    assert_int_equal(firn_csv_find(row, "a,b"), 1);
    firn_free(row);
    firn_free(bytes);
}

static void tables_of_any_bytes_are_read_within_their_bounds(void **state)
{
    (void)state;
    firn_csv_row *row = firn_alloc(sizeof *row);
    unsigned random = 7;
    for (int i = 0; i < 200; i++) {
        char text[4000];
        size_t size = (size_t)(i * 20);
        for (size_t k = 0; k < size; k++) {
            random = random * 1664525u + 1013904223u;
            text[k] = ",\"\nxy,,,"[random >> 29];
        }
        const char *at = text;
        while (firn_csv_read(&at, text + size, row))
            assert_true(row->count <= FIRN_CSV_CELLS && at <= text + size);
    }
    firn_free(row);
}

static void a_label_stays_on_its_canvas(void **state)
{
    (void)state;
    enum { WIDTH = 40, HEIGHT = 12, GUARD = 64 };
    uint8_t pixels[GUARD + 3 * WIDTH * HEIGHT + GUARD];
    memset(pixels, 0, sizeof pixels);
    firn_picture_canvas canvas = {WIDTH, HEIGHT, pixels + GUARD};
    const uint8_t white[3] = {255, 255, 255};
    firn_picture_label(&canvas, -3, -2, 2, white, "w12=\xff long enough to leave it");
    firn_picture_label(&canvas, 0, HEIGHT - 3, 3, white, "deep");
    size_t drawn = 0;
    for (size_t i = 0; i < sizeof pixels; i++) {
        bool inside = i >= GUARD && i < sizeof pixels - GUARD;
        assert_true(inside || pixels[i] == 0);
        drawn += pixels[i] != 0;
    }
    assert_true(drawn > 100);
}

static void a_packed_picture_is_the_file(void **state)
{
    (void)state;
    uint8_t rgb[3 * 31 * 7];
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * 37);
    void *packed = NULL, *written = NULL;
    size_t packed_size = 0, written_size = 0;
    assert_int_equal(firn_png_pack(31, 7, rgb, &packed, &packed_size, NULL), FIRN_OK);
    assert_int_equal(firn_png_write("page_packed.png", 31, 7, rgb, NULL), FIRN_OK);
    assert_int_equal(firn_file_read("page_packed.png", 1 << 20, &written, &written_size, NULL),
                     FIRN_OK);
    unlink("page_packed.png");
    assert_int_equal(packed_size, written_size);
    assert_memory_equal(packed, written, packed_size);
    firn_free(packed);
    firn_free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_round_and_few),
        cmocka_unit_test(neighboring_marks_differ),
        cmocka_unit_test(a_plot_draws_what_is_finite),
        cmocka_unit_test(nothing_in_a_text_is_markup),
        cmocka_unit_test(cells_come_back_as_they_were),
        cmocka_unit_test(tables_of_any_bytes_are_read_within_their_bounds),
        cmocka_unit_test(a_label_stays_on_its_canvas),
        cmocka_unit_test(a_packed_picture_is_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
