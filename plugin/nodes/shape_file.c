#include "shape_file.h"

#include "firn/node.h"

#include <string.h>

const firn_vdb_stamp *firn_stamp_of(const char *path, firn_vdb_stamp *room)
{
    return firn_file_noted(path, &room->size, &room->checksum) ? room : NULL;
}

firn_result firn_stamp_check(const char *path, firn_error *error)
{
    firn_vdb_stamp noted, found;
    if (firn_stamp_of(path, &noted) == NULL)
        return FIRN_OK;
    FIRN_TRY(firn_vdb_stamp_file(path, &found, error));
    if (found.size == noted.size && found.checksum == noted.checksum)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_FORMAT,
                     "'%.300s' is not as Firn wrote it: %llu bytes with checksum %016llx expected, "
                     "%llu bytes with checksum %016llx found; cook it again, or move it away from "
                     "the manifest.json beside it if it was changed on purpose",
                     path, (unsigned long long)noted.size, (unsigned long long)noted.checksum,
                     (unsigned long long)found.size, (unsigned long long)found.checksum);
}

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

bool firn_path_is_archive(const char *path)
{
    static const char *const endings[] = {".abc", ".usd", ".usda", ".usdc"};
    for (size_t i = 0; i < FIRN_COUNT(endings); i++)
        if (firn_path_ends_with(path, endings[i]))
            return true;
    return false;
}

bool firn_path_is_usd(const char *path)
{
    return firn_path_is_archive(path) && !firn_path_ends_with(path, ".abc");
}

firn_result firn_check_level_set_name(const char *path, const char *setting, firn_error *error)
{
    static const char *const meshes[] = {".obj", ".ply", ".stl", ".abc", ".usd", ".usda", ".usdc"};
    for (size_t i = 0; i < FIRN_COUNT(meshes); i++)
        if (firn_path_ends_with(path, meshes[i]))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "file is '%.300s', a mesh; level sets are .vdb files: set %s to mesh",
                             path, setting);
    return FIRN_OK;
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
    firn_vdb_stamp room;
    const firn_vdb_stamp *stamp = firn_stamp_of(path, &room);
    firn_result result = firn_vdb_read_shape(reader, path, stamp, &wanted, shape, error);
    firn_vdb_reader_destroy(reader);
    return result;
}
