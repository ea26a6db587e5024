/// Folders of caches: made, cleaned, listed. Where a link stands for a folder, nothing is cleaned
/// or listed, unless the path ends with "/.".
#ifndef FIRN_FOLDER_H
#define FIRN_FOLDER_H

#include "firn/file.h"

/// firn_folder_make for one in a cache; FIRN_ERR_FORMAT when something else has its name, as a link
/// that leads out of the cache.
firn_result firn_folder_make_inside(const char *path, firn_error *error);

/// Removes what interrupted writers left, by the names that Firn gives to unfinished files, unless
/// they are of a process that may still write them.
void firn_folder_sweep(const char *path);

/// Tells the names in a folder, but for hidden ones.
typedef void firn_folder_tell(const char *name, void *user);
void firn_folder_list(const char *path, firn_folder_tell *tell, void *user);

bool firn_ends_with(const char *name, const char *ending);

/// Removes files that end so.
void firn_folder_clear(const char *path, const char *ending);

/// The largest number below `limit` in names "<stem>.<number>.chk"; false when there is none.
bool firn_folder_last(const char *path, const char *stem, int limit, int *number);

#endif
