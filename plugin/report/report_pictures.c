#include "page.h"
#include "report_parts.h"
#include "view.h"

enum { WIDTH = 400, HEIGHT = 225, PICTURES_MAX = 16 };

// Frames of the cache, evenly spread from the first to the last.
static size_t choose(const firn_record *record, size_t count, int *frames)
{
    size_t have = record->view.frame_count;
    count = count < have ? count : have;
    for (size_t i = 0; i < count; i++) {
        size_t at = count > 1 ? (i * (have - 1) + (count - 1) / 2) / (count - 1) : have - 1;
        frames[i] = record->view.frames[at].frame;
    }
    return count;
}

static firn_result frame_all(firn_view *view, const int *frames, size_t count,
                             firn_picture_def *def, firn_error *error)
{
    for (size_t i = 0; i < count; i++) {
        firn_vec3 lower, upper;
        FIRN_TRY(firn_view_load(view, frames[i], error));
        FIRN_TRY(firn_picture_box(firn_view_scene(view), &lower, &upper, error));
        firn_picture_include(def, lower, upper);
    }
    return FIRN_OK;
}

static firn_result print_picture(FILE *page, firn_view *view, const firn_picture_def *def,
                                 int frame, firn_error *error)
{
    uint8_t *rgb = NULL;
    char text[64], count[32];
    FIRN_TRY(firn_view_load(view, frame, error));
    FIRN_TRY(firn_view_draw(view, def, &rgb, error));
    snprintf(text, sizeof text, "Frame %d, %s particles", frame,
             firn_page_count((double)firn_view_scene(view)->clouds[0].count, count));
    fputs("<figure>", page);
    firn_result result = firn_page_image(page, def->width, def->height, rgb, text, error);
    fprintf(page, "<figcaption>%s</figcaption></figure>\n", text);
    firn_free(rgb);
    return result;
}

static firn_result print_all(FILE *page, firn_view *view, const int *frames, size_t count,
                             firn_error *error)
{
    firn_picture_def def = firn_picture_def_default();
    def.width = WIDTH;
    def.height = HEIGHT;
    FIRN_TRY(frame_all(view, frames, count, &def, error));
    FIRN_TRY(firn_view_load(view, frames[count / 2], error));
    FIRN_TRY(firn_view_choose_side(view, &def, error));
    fputs("<div class=\"shots\">\n", page);
    firn_result result = FIRN_OK;
    for (size_t i = 0; result == FIRN_OK && i < count; i++)
        result = print_picture(page, view, &def, frames[i], error);
    fputs("</div>\n", page);
    return result;
}

firn_result firn_report_pictures(FILE *page, const firn_record *record, size_t count,
                                 firn_error *error)
{
    int frames[PICTURES_MAX];
    firn_view *view = NULL;
    firn_error problem;
    count = choose(record, count < PICTURES_MAX ? count : PICTURES_MAX, frames);
    if (count == 0)
        return FIRN_OK;
    firn_result result = firn_view_open(record->folder, &view, &problem);
    if (result == FIRN_OK)
        result = print_all(page, view, frames, count, &problem);
    firn_view_close(view);
    if (result == FIRN_ERR_MEMORY)
        return firn_fail(error, result, "%s", problem.message);
    // No particles, or an archive that is not finished: the numbers are still worth a page.
    if (result != FIRN_OK) {
        fputs("<p>No pictures: ", page);
        firn_page_text(page, problem.message);
        fputs(record->missing > 0 ? ". An archive of all frames can be drawn when it is complete."
                                    "</p>\n"
                                  : ".</p>\n",
              page);
    }
    return FIRN_OK;
}
