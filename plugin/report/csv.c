#include "csv.h"

#include <string.h>

bool firn_csv_read(const char **at, const char *end, firn_csv_row *row)
{
    if (*at == end)
        return false;
    row->count = 0;
    size_t length = 0;
    bool quoted = false, ended = false;
    for (; *at < end && !ended; (*at)++) {
        char c = **at;
        char *cell = row->cells[row->count];
        if (c == '"' && quoted && *at + 1 < end && (*at)[1] == '"')
            (*at)++;
        else if (c == '"') {
            quoted = !quoted;
            continue;
        }
        ended = !quoted && c == '\n';
        if (!quoted && (c == ',' || c == '\n')) {
            cell[length] = '\0';
            length = 0;
            row->count += row->count + 1 < FIRN_CSV_CELLS;
        } else if (length + 1 < FIRN_TEXT_SIZE) {
            cell[length++] = c;
        }
    }
    if (!ended) {
        row->cells[row->count][length] = '\0';
        row->count++;
    }
    return true;
}

size_t firn_csv_find(const firn_csv_row *row, const char *text)
{
    for (size_t i = 0; i < row->count; i++)
        if (strcmp(row->cells[i], text) == 0)
            return i;
    return row->count;
}

void firn_csv_write(firn_file_writer *file, const char *text, const char *end)
{
    bool quote = strpbrk(text, ",\" \n") != NULL;
    if (quote)
        firn_file_write(file, "\"", 1);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            firn_file_write(file, "\"", 1);
        firn_file_write(file, text, 1);
    }
    if (quote)
        firn_file_write(file, "\"", 1);
    firn_file_write(file, end, 1);
}
