#include "wedge_table.h"

#include "view.h"

#include "firn/png.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    CELL_WIDTH = 320,
    PICTURE_HEIGHT = 180,
    LINE_HEIGHT = 18,
    LINES_MAX = 4,
    MARGIN = 6,
    LETTER = 2,
    LETTERS_MAX = (CELL_WIDTH - 2 * MARGIN) / (6 * LETTER),
    CELLS_MAX = 144,
};

typedef struct sheet {
    const firn_wedge *wedge;
    const char *folder;
    size_t count;
    int columns, cell_height;
    firn_picture_def def; // of every picture
    firn_picture_canvas canvas;
} sheet;

// The last frame of a variant; false when there is nothing to draw.
static bool open_last(const sheet *s, size_t variant, firn_view **view)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/w%zu", s->folder, variant);
    return firn_view_open(path, view, NULL) == FIRN_OK &&
           firn_view_load(*view, firn_view_last(*view), NULL) == FIRN_OK;
}

// All that any variant shows, from the side where the last of them is best seen.
static bool find_camera(sheet *s)
{
    bool any = false;
    for (size_t v = 0; v < s->count; v++) {
        firn_view *view = NULL;
        firn_vec3 lower, upper;
        if (open_last(s, v, &view) &&
            firn_picture_box(firn_view_scene(view), &lower, &upper, NULL) == FIRN_OK) {
            firn_picture_include(&s->def, lower, upper);
            firn_picture_def tried = s->def;
            tried.azimuth = firn_picture_def_default().azimuth;
            if (firn_view_choose_side(view, &tried, NULL) == FIRN_OK)
                s->def.azimuth = tried.azimuth;
            any = true;
        }
        firn_view_close(view);
    }
    return any;
}

// "hardening=5"; the node's name only makes it longer.
static void print_value(const sheet *s, size_t variant, size_t axis, char text[LETTERS_MAX + 1])
{
    const char *name = s->wedge->axes[axis].name, *dot = strrchr(name, '.');
    char full[2 * FIRN_TEXT_SIZE];
    snprintf(full, sizeof full, "%.200s=%.1000s", dot != NULL ? dot + 1 : name,
             firn_wedge_value(s->wedge, variant, axis));
    snprintf(text, LETTERS_MAX + 1, "%.*s", LETTERS_MAX, full);
}

static void draw_labels(const sheet *s, size_t variant, int left, int top)
{
    static const uint8_t ink[3] = {235, 235, 232}, soft[3] = {170, 170, 165};
    char text[LETTERS_MAX + 1];
    snprintf(text, sizeof text, "w%zu", variant);
    firn_picture_label(&s->canvas, left + MARGIN, top + MARGIN, LETTER, ink, text);
    for (size_t i = 0; i < s->wedge->axis_count && i + 1 < LINES_MAX; i++) {
        print_value(s, variant, i, text);
        firn_picture_label(&s->canvas, left + MARGIN, top + MARGIN + LINE_HEIGHT * (int)(i + 1),
                           LETTER, soft, text);
    }
}

static void draw_cell(const sheet *s, size_t variant)
{
    int left = (int)variant % s->columns * CELL_WIDTH;
    int top = (int)variant / s->columns * s->cell_height;
    firn_view *view = NULL;
    uint8_t *rgb = NULL;
    static const uint8_t soft[3] = {170, 170, 165};
    if (open_last(s, variant, &view) && firn_view_draw(view, &s->def, &rgb, NULL) == FIRN_OK)
        for (int y = 0; y < PICTURE_HEIGHT; y++)
            memcpy(s->canvas.rgb + 3 * ((size_t)(top + y) * (size_t)s->canvas.width + (size_t)left),
                   rgb + 3 * (size_t)y * CELL_WIDTH, 3 * CELL_WIDTH);
    else
        firn_picture_label(&s->canvas, left + MARGIN, top + PICTURE_HEIGHT / 2, LETTER, soft,
                           "nothing to draw");
    firn_free(rgb);
    firn_view_close(view);
    draw_labels(s, variant, left, top + PICTURE_HEIGHT);
}

firn_result firn_wedge_sheet(const firn_wedge *wedge, const firn_graph *graph, firn_error *error)
{
    char folder[FIRN_PATH_SIZE];
    FIRN_TRY(firn_wedge_home(graph, folder, error));
    size_t count = wedge->variant_count < CELLS_MAX ? wedge->variant_count : CELLS_MAX;
    int lines = (int)(wedge->axis_count + 1 < LINES_MAX ? wedge->axis_count + 1 : LINES_MAX);
    sheet s = {.wedge = wedge,
               .folder = folder,
               .count = count,
               .columns = (int)ceil(sqrt((double)count)),
               .cell_height = PICTURE_HEIGHT + LINE_HEIGHT * lines + MARGIN,
               .def = firn_picture_def_default()};
    int rows = ((int)count + s.columns - 1) / s.columns;
    s.def.width = CELL_WIDTH;
    s.def.height = PICTURE_HEIGHT;
    s.canvas.width = s.columns * CELL_WIDTH;
    s.canvas.height = rows * s.cell_height;
    if (!find_camera(&s))
        return FIRN_OK; // no variant has particles
    size_t size = 3 * (size_t)s.canvas.width * (size_t)s.canvas.height;
    s.canvas.rgb = firn_alloc(size);
    if (s.canvas.rgb == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the contact sheet");
    memset(s.canvas.rgb, 32, size);
    for (size_t v = 0; v < count; v++)
        draw_cell(&s, v);
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/contact_sheet.png", folder);
    firn_result result = firn_png_write(path, s.canvas.width, s.canvas.height, s.canvas.rgb, error);
    firn_free(s.canvas.rgb);
    return result;
}
