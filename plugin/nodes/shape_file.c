#include "shape_file.h"

#include <string.h>

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool firn_path_ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    if (length < tail)
        return false;
    for (size_t i = 0; i < tail; i++)
        if (lower(path[length - tail + i]) != lower(ending[i]))
            return false;
    return true;
}

firn_result firn_shape_from_vdb_file(const char *path, const char *grid,
                                     const firn_vdb_shape_def *def, firn_vdb_shape **shape,
                                     firn_error *error)
{
    firn_vdb_reader_def settings = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    FIRN_TRY(firn_vdb_reader_create(&settings, &reader, error));
    firn_vdb_shape_def wanted = *def;
    wanted.grid = grid[0] != '\0' ? grid : NULL;
    firn_result result = firn_vdb_read_shape(reader, path, NULL, &wanted, shape, error);
    firn_vdb_reader_destroy(reader);
    return result;
}
