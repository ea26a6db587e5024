#define _DEFAULT_SOURCE
#include "wedge_table.h"

#include "csv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { TABLE_LIMIT = 64 << 20 };

static void append_head(firn_file_writer *file, const firn_wedge *wedge)
{
    firn_csv_write(file, "wedge", ",");
    for (size_t i = 0; i < wedge->axis_count; i++)
        firn_csv_write(file, wedge->axes[i].name, ",");
    firn_csv_write(file, "folder", ",");
    firn_csv_write(file, "status", ",");
    firn_csv_write(file, "exit", "\n");
}

static void append_row(firn_file_writer *file, const firn_wedge *wedge, size_t variant,
                       const char *status, const char *code)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", variant);
    firn_csv_write(file, text, ",");
    for (size_t i = 0; i < wedge->axis_count; i++)
        firn_csv_write(file, firn_wedge_value(wedge, variant, i), ",");
    snprintf(text, sizeof text, "w%zu", variant);
    firn_csv_write(file, text, ",");
    firn_csv_write(file, status, ",");
    firn_csv_write(file, code, "\n");
}

// True when the row of the old table is about the same variant with the same values.
static bool is_row_of(const firn_wedge *wedge, size_t variant, const firn_csv_row *row)
{
    if (row->count != wedge->axis_count + 4)
        return false;
    for (size_t i = 0; i < wedge->axis_count; i++)
        if (strcmp(row->cells[i + 1], firn_wedge_value(wedge, variant, i)) != 0)
            return false;
    return true;
}

static void append_table(firn_file_writer *file, const firn_wedge *wedge, size_t variant,
                         const char *const note[2], const char *old, size_t size, firn_csv_row *row)
{
    const char *at = old, *end = old + size;
    append_head(file, wedge);
    bool any = firn_csv_read(&at, end, row);
    for (size_t v = 0; v < wedge->variant_count; v++) {
        any = any && firn_csv_read(&at, end, row);
        bool known = any && is_row_of(wedge, v, row);
        size_t last = wedge->axis_count + 2;
        if (v == variant)
            append_row(file, wedge, v, note[0], note[1]);
        else
            append_row(file, wedge, v, known ? row->cells[last] : "waiting",
                       known ? row->cells[last + 1] : "");
    }
}

static firn_result rewrite(const firn_wedge *wedge, const char *folder, size_t variant,
                           const char *const note[2], firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    void *old = NULL;
    size_t size = 0;
    firn_file_writer *file = NULL;
    snprintf(path, sizeof path, "%.4000s/wedges.csv", folder);
    if (firn_file_read(path, TABLE_LIMIT, &old, &size, NULL) != FIRN_OK)
        size = 0;
    firn_csv_row *row = firn_alloc(sizeof *row);
    firn_result result =
        row != NULL ? firn_file_create(path, &file, error)
                    : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot write '%s'", path);
    if (result == FIRN_OK) {
        append_table(file, wedge, variant, note, size > 0 ? old : "", size, row);
        result = firn_file_commit(file, error);
    }
    firn_free(row);
    firn_free(old);
    return result;
}

firn_result firn_wedge_note(const firn_wedge *wedge, const firn_graph *graph, size_t variant,
                            const char *state, int code, firn_error *error)
{
    char path[FIRN_PATH_SIZE], folder[FIRN_PATH_SIZE], number[16] = "";
    if (code >= 0)
        snprintf(number, sizeof number, "%d", code);
    const char *const note[2] = {state, number};
    FIRN_TRY(firn_wedge_home(graph, folder, error));
    FIRN_TRY(firn_folder_make(folder, error));
    // Jobs of an array write the same table.
    snprintf(path, sizeof path, "%.4000s/.wedges.lock", folder);
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return firn_fail_errno(error, errno, "create", path);
    while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
        ;
    firn_result result = rewrite(wedge, folder, variant, note, error);
    close(descriptor);
    return result;
}

// Takes over what a row says of a variant; false when it tells of one of other values.
static bool take_row(const firn_wedge *wedge, size_t number, size_t variant,
                     const firn_csv_row *row, firn_wedge_mark *mark)
{
    const char *state = row->count >= 2 ? row->cells[row->count - 2] : "";
    bool fits = number < wedge->variant_count && is_row_of(wedge, number, row);
    if (fits && number == variant) {
        snprintf(mark->state, sizeof mark->state, "%.31s", state);
        if (row->cells[row->count - 1][0] != '\0')
            mark->code = (int)strtol(row->cells[row->count - 1], NULL, 10);
    }
    return fits || strcmp(state, "waiting") == 0;
}

static firn_result look_back(const firn_wedge *wedge, const char *folder, size_t variant,
                             bool overwrite, firn_wedge_mark *mark, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    void *text = NULL;
    size_t size = 0, number = 0;
    snprintf(path, sizeof path, "%.4000s/wedges.csv", folder);
    if (firn_file_read(path, TABLE_LIMIT, &text, &size, NULL) != FIRN_OK)
        return FIRN_OK; // there is none
    firn_csv_row *row = firn_alloc(sizeof *row);
    const char *at = text, *end = at + size;
    bool same = true;
    if (row != NULL && firn_csv_read(&at, end, row))
        for (; same && firn_csv_read(&at, end, row); number++)
            same = take_row(wedge, number, variant, row, mark) || overwrite;
    bool fine = row != NULL;
    firn_free(row);
    firn_free(text);
    if (!fine)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read '%s'", path);
    return same ? FIRN_OK
                : firn_fail(error, FIRN_ERR_EXISTS,
                            "'%.700s' tells of variants of other values, w%zu for one; overwrite "
                            "replaces them, another version leaves them",
                            path, number - 1);
}

firn_result firn_wedge_begin(const firn_wedge *wedge, const firn_graph *graph, size_t variant,
                             bool overwrite, firn_wedge_mark *before, firn_error *error)
{
    char folder[FIRN_PATH_SIZE];
    *before = (firn_wedge_mark){.code = -1};
    FIRN_TRY(firn_wedge_home(graph, folder, error));
    FIRN_TRY(look_back(wedge, folder, variant, overwrite, before, error));
    return firn_wedge_note(wedge, graph, variant, "cooking", -1, error);
}

// --- Reading -------------------------------------------------------------------------------------

bool firn_wedge_has_table(const char *folder)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/wedges.csv", folder);
    return access(path, R_OK) == 0;
}

static void keep_row(const firn_csv_row *head, const firn_csv_row *row, firn_wedge_row *to)
{
    size_t status = firn_csv_find(head, "status"), folder = firn_csv_find(head, "folder");
    size_t length = 0;
    snprintf(to->status, sizeof to->status, "%.31s",
             status < row->count ? row->cells[status] : "unknown");
    for (size_t i = 1; i < folder && i < row->count && length < sizeof to->values; i++)
        length += (size_t)snprintf(to->values + length, sizeof to->values - length, "%s%s=%s",
                                   i > 1 ? " " : "", head->cells[i], row->cells[i]);
}

static size_t count_lines(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    return count + 1;
}

firn_result firn_wedge_table_read(const char *folder, firn_wedge_table **table, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    void *text = NULL;
    size_t size = 0;
    *table = NULL;
    snprintf(path, sizeof path, "%.4000s/wedges.csv", folder);
    FIRN_TRY(firn_file_read(path, TABLE_LIMIT, &text, &size, error));
    size_t most = count_lines(text, size);
    firn_csv_row *rows = firn_alloc_zero(2 * sizeof *rows);
    *table = firn_alloc_zero(sizeof **table + most * sizeof(firn_wedge_row));
    const char *at = text, *end = at + size;
    bool fine = rows != NULL && *table != NULL;
    if (fine && firn_csv_read(&at, end, &rows[0]))
        while ((*table)->count < most && firn_csv_read(&at, end, &rows[1]))
            keep_row(&rows[0], &rows[1], &(*table)->rows[(*table)->count++]);
    firn_free(rows);
    firn_free(text);
    return fine ? FIRN_OK
                : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read '%s'", path);
}

void firn_wedge_table_free(firn_wedge_table *table) { firn_free(table); }
