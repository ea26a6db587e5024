/// Tables of comma-separated values, as RFC 4180 has them.
#ifndef FIRN_CSV_H
#define FIRN_CSV_H

#include "firn/file.h"
#include "firn/params.h"

enum { FIRN_CSV_CELLS = 64 };

/// A row; cells are cut to the length of a parameter's text.
typedef struct firn_csv_row {
    size_t count;
    char cells[FIRN_CSV_CELLS][FIRN_TEXT_SIZE];
} firn_csv_row;

/// Reads the row at *at and moves on to the next; false at the end.
bool firn_csv_read(const char **at, const char *end, firn_csv_row *row);

/// The cell with this text; row->count when there is none.
size_t firn_csv_find(const firn_csv_row *row, const char *text);

/// Appends a cell with its quotes, and what ends it: "," or "\n".
void firn_csv_write(firn_file_writer *file, const char *text, const char *end);

#endif
