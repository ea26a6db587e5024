#define _POSIX_C_SOURCE 200809L
#include "firn/report.h"

#include "page.h"
#include "report_parts.h"
#include "wedge_table.h"

#include "firn/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 8 };

// --- Parts ---------------------------------------------------------------------------------------

static void print_tile(FILE *page, const char *value, const char *label)
{
    fprintf(page, "<div><b>%s</b><span>%s</span></div>\n", value, label);
}

void firn_report_tiles(FILE *page, const firn_record *record)
{
    char text[64], number[32];
    const firn_manifest_view *view = &record->view;
    fputs("<div class=\"tiles\">\n", page);
    snprintf(text, sizeof text, "%zu of %zu", view->frame_count,
             view->frame_count + record->missing);
    print_tile(page, text, "frames in the cache");
    double particles = firn_record_peak(record, "particles", NULL);
    if (isfinite(particles))
        print_tile(page, firn_page_count(particles, number), "particles, at most");
    print_tile(page, firn_page_time(firn_record_sum(record, "seconds"), number), "wall time");
    print_tile(page, firn_page_count(firn_record_sum(record, "substeps"), number), "substeps");
    double speed = firn_record_peak(record, "max_speed", NULL);
    snprintf(text, sizeof text, "%.3g m/s", speed);
    if (isfinite(speed))
        print_tile(page, text, "highest speed");
    print_tile(page, firn_page_bytes(firn_record_bytes(record), number), "on disk");
    fputs("</div>\n", page);
}

void firn_report_frames(FILE *page, const firn_record *record)
{
    const firn_manifest_view *view = &record->view;
    if (view->frame_count == 0)
        return;
    const firn_cache_frame *model = &view->frames[view->frame_count - 1];
    fputs("<details><summary>All numbers, frame by frame</summary><div class=\"wide\"><table>\n"
          "<tr><th class=\"n\">frame</th>",
          page);
    for (size_t k = 0; k < model->stat_count; k++) {
        fputs("<th class=\"n\">", page);
        firn_page_text(page, model->stats[k].name);
        fputs("</th>", page);
    }
    fputs("</tr>\n", page);
    for (size_t i = 0; i < view->frame_count; i++) {
        fprintf(page, "<tr><td class=\"n\">%d</td>", view->frames[i].frame);
        for (size_t k = 0; k < model->stat_count; k++) {
            double value = firn_record_stat(record, i, model->stats[k].name);
            fprintf(page, isfinite(value) ? "<td class=\"n\">%.5g</td>" : "<td></td>", value);
        }
        fputs("</tr>\n", page);
    }
    fputs("</table></div></details>\n", page);
}

static void print_state(FILE *page, const firn_record *record)
{
    const char *state = firn_record_state(record);
    bool whole = strcmp(state, "complete") == 0;
    fprintf(page, "<p><span class=\"state %s\">%s</span> ", whole ? "good" : "warn", state);
    if (record->writer[0] != '\0') {
        fputs("This page shows what was there when it was made; written by ", page);
        firn_page_text(page, record->writer);
        fputc('.', page);
    } else if (!whole) {
        fprintf(page,
                "%zu of %zu frames of the shot are not in the cache; <code>firn resume"
                "</code> goes on with them.",
                record->missing, record->missing + record->view.frame_count);
    }
    fputs("</p>\n", page);
}

firn_result firn_report_cache(FILE *page, const firn_record *record, size_t pictures,
                              firn_error *error)
{
    print_state(page, record);
    if (record->graph != NULL && firn_graph_shot(record->graph)->comment[0] != '\0') {
        fputs("<p>", page);
        firn_page_text(page, firn_graph_shot(record->graph)->comment);
        fputs("</p>\n", page);
    }
    firn_report_tiles(page, record);
    FIRN_TRY(firn_report_pictures(page, record, pictures, error));
    fputs("<h2>Frame by frame</h2>\n", page);
    FIRN_TRY(firn_report_plots(page, record, error));
    firn_report_measures(page, record);
    firn_report_frames(page, record);
    firn_report_settings(page, record);
    fputs("<footer>", page);
    firn_page_text(page, record->view.program);
    fprintf(page, ", graph %016" PRIx64 ", %g frames per second, ", record->view.hash,
            (double)record->view.fps);
    firn_page_text(page, record->folder);
    fputs("</footer>\n", page);
    return FIRN_OK;
}

// --- The page ------------------------------------------------------------------------------------

static firn_result print_cache(FILE *page, const char *folder, firn_error *error)
{
    firn_record record;
    firn_result result = firn_record_open(folder, &record, error);
    if (result == FIRN_OK) {
        char title[2 * FIRN_TEXT_SIZE];
        int version = record.graph != NULL ? firn_graph_shot(record.graph)->version : 0;
        snprintf(title, sizeof title, record.graph != NULL ? "%.1000s, version %d" : "%.1000s",
                 record.view.name, version);
        firn_page_begin(page, title);
        fputs("<h1>", page);
        firn_page_text(page, title);
        fputs("</h1>\n", page);
        result = firn_report_cache(page, &record, PICTURES, error);
        firn_page_end(page);
    }
    firn_record_close(&record);
    return result;
}

static firn_result print_page(const char *folder, char **text, size_t *size, firn_error *error)
{
    FILE *page = open_memstream(text, size);
    if (page == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make the page");
    firn_result result = firn_wedge_has_table(folder) ? firn_report_wedge(page, folder, error)
                                                      : print_cache(page, folder, error);
    bool fine = ferror(page) == 0;
    fine = fclose(page) == 0 && fine;
    if (result == FIRN_OK && !fine)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make the page");
    return result;
}

firn_result firn_report_write(const char *folder, const char *path, firn_error *error)
{
    char *text = NULL;
    size_t size = 0;
    firn_file_writer *file = NULL;
    firn_result result = print_page(folder, &text, &size, error);
    if (result == FIRN_OK)
        result = firn_file_create(path, &file, error);
    if (result == FIRN_OK) {
        firn_file_write(file, text, size);
        result = firn_file_commit(file, error);
    }
    free(text);
    return result;
}
