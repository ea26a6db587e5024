#define _POSIX_C_SOURCE 200809L
#include "report_parts.h"

#include "csv.h"
#include "page.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { TABLE_LIMIT = 64 << 20, PICTURES = 4 };

static void table_path(const char *folder, char *path)
{
    snprintf(path, FIRN_PATH_SIZE, "%.4000s/wedges.csv", folder);
}

// Only folders that a wedge makes: "w" and a number.
static bool is_variant(const char *name)
{
    if (name[0] != 'w' || name[1] == '\0')
        return false;
    for (const char *at = name + 1; *at != '\0'; at++)
        if (!isdigit((unsigned char)*at))
            return false;
    return true;
}

static void print_number(FILE *page, double value, const char *unit)
{
    if (isfinite(value))
        fprintf(page, "<td class=\"n\">%.4g%s</td>", value, unit);
    else
        fputs("<td></td>", page);
}

static void print_numbers(FILE *page, const firn_record *record)
{
    char text[32];
    size_t count = record->view.frame_count;
    fprintf(page, "<td>%s</td><td class=\"n\">%zu of %zu</td>", firn_record_state(record), count,
            count + record->missing);
    double particles = firn_record_peak(record, "particles", NULL);
    fprintf(page, "<td class=\"n\">%s</td>",
            isfinite(particles) ? firn_page_count(particles, text) : "");
    fprintf(page, "<td class=\"n\">%s</td>",
            firn_page_time(firn_record_sum(record, "seconds"), text));
    print_number(page, firn_record_sum(record, "substeps"), "");
    print_number(page, firn_record_peak(record, "max_speed", NULL), " m/s");
    print_number(page, count > 0 ? firn_record_stat(record, count - 1, "kinetic") : NAN, " J");
    print_number(page, count > 0 ? firn_record_stat(record, count - 1, "mean_jp") : NAN, "");
    fprintf(page, "<td class=\"n\">%s</td>", firn_page_bytes(firn_record_bytes(record), text));
}

static void print_variant_row(FILE *page, const char *folder, const firn_csv_row *row, size_t place,
                              size_t status)
{
    char path[FIRN_PATH_SIZE];
    const char *name = place < row->count ? row->cells[place] : "";
    snprintf(path, sizeof path, "%.3000s/%.100s", folder, name);
    firn_record record;
    firn_error error;
    bool there = is_variant(name) && firn_record_open(path, &record, &error) == FIRN_OK;
    fputs("<tr><td>", page);
    if (there)
        fprintf(page, "<a href=\"#%s\">%s</a>", name, name);
    else
        firn_page_text(page, name);
    fputs("</td>", page);
    for (size_t i = 1; i < row->count; i++) {
        if (i == place)
            continue;
        fputs(i == status ? "<td>" : "<td class=\"n\">", page);
        firn_page_text(page, row->cells[i]);
        fputs("</td>", page);
    }
    if (there) {
        print_numbers(page, &record);
        firn_record_close(&record);
    } else {
        fputs("<td colspan=\"9\">no cache yet</td>", page);
    }
    fputs("</tr>\n", page);
}

static firn_result print_variant(FILE *page, const char *folder, const firn_csv_row *head,
                                 const firn_csv_row *row, size_t place, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    const char *name = place < row->count ? row->cells[place] : "";
    snprintf(path, sizeof path, "%.3000s/%.100s", folder, name);
    firn_record record;
    if (!is_variant(name) || firn_record_open(path, &record, NULL) != FIRN_OK)
        return FIRN_OK;
    fprintf(page, "<section id=\"%s\">\n<h2>%s", name, name);
    for (size_t i = 1; i < row->count && i < head->count; i++) {
        if (i == place || strcmp(head->cells[i], "status") == 0 ||
            strcmp(head->cells[i], "exit") == 0)
            continue;
        fputs(", ", page);
        firn_page_text(page, head->cells[i]);
        fputs(" = ", page);
        firn_page_text(page, row->cells[i]);
    }
    fputs("</h2>\n", page);
    firn_result result = firn_report_cache(page, &record, PICTURES, error);
    fputs("</section>\n", page);
    firn_record_close(&record);
    return result;
}

static void print_head(FILE *page, const firn_csv_row *head, size_t place)
{
    static const char *const columns[] = {"cache",         "frames",         "particles",
                                          "wall time",     "substeps",       "highest speed",
                                          "kinetic, last", "mean J_P, last", "on disk"};
    fputs("<div class=\"wide\"><table>\n<tr><th>variant</th>", page);
    for (size_t i = 1; i < head->count; i++) {
        if (i == place)
            continue;
        fputs("<th>", page);
        firn_page_text(page, head->cells[i]);
        fputs("</th>", page);
    }
    for (size_t i = 0; i < FIRN_COUNT(columns); i++)
        fprintf(page, "<th%s>%s</th>", i > 0 ? " class=\"n\"" : "", columns[i]);
    fputs("</tr>\n", page);
}

static firn_result print_variants(FILE *page, const char *folder, const char *text, size_t size,
                                  firn_csv_row rows[2], firn_error *error)
{
    firn_csv_row *head = &rows[0], *row = &rows[1];
    const char *at = text, *end = text + size;
    if (!firn_csv_read(&at, end, head))
        return FIRN_OK;
    size_t place = firn_csv_find(head, "folder"), status = firn_csv_find(head, "status");
    const char *body = at;
    print_head(page, head, place);
    while (firn_csv_read(&at, end, row))
        print_variant_row(page, folder, row, place, status);
    fputs("</table></div>\n", page);
    for (at = body; firn_csv_read(&at, end, row);)
        FIRN_TRY(print_variant(page, folder, head, row, place, error));
    return FIRN_OK;
}

firn_result firn_report_wedge(FILE *page, const char *folder, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    void *text = NULL;
    size_t size = 0;
    table_path(folder, path);
    FIRN_TRY(firn_file_read(path, TABLE_LIMIT, &text, &size, error));
    firn_csv_row *rows = firn_alloc(2 * sizeof *rows);
    firn_result result =
        rows != NULL ? FIRN_OK
                     : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read '%s'", path);
    if (result == FIRN_OK) {
        firn_page_begin(page, folder);
        fputs("<h1>Variants of ", page);
        firn_page_text(page, folder);
        fputs("</h1>\n<p>Each row leads to the plots and settings of its variant.</p>\n", page);
        result = print_variants(page, folder, text, size, rows, error);
        firn_page_end(page);
    }
    firn_free(rows);
    firn_free(text);
    return result;
}
