/// Level sets from files, as sources and colliders need them.
#ifndef FIRN_SHAPE_FILE_H
#define FIRN_SHAPE_FILE_H

#include "firn/vdb_surface.h"

/// A surface from a .vdb file; grid "" chooses by itself.
firn_result firn_shape_from_vdb_file(const char *path, const char *grid,
                                     const firn_vdb_shape_def *def, firn_vdb_shape **shape,
                                     firn_error *error);

/// Refuses a name that is that of a mesh; setting is the parameter that says what the file is.
firn_result firn_check_level_set_name(const char *path, const char *setting, firn_error *error);

/// The stamp of a file that Firn wrote into a cache; NULL: it is another's. *room is for it.
const firn_vdb_stamp *firn_stamp_of(const char *path, firn_vdb_stamp *room);

/// Refuses a file of a cache that is not as it was written; any other passes.
firn_result firn_stamp_check(const char *path, firn_error *error);

/// True when the name ends so, such as ".abc"; case does not count.
bool firn_path_ends_with(const char *path, const char *ending);

/// True for files with times of their own, Alembic and USD.
bool firn_path_is_archive(const char *path);
bool firn_path_is_usd(const char *path);

#endif
