/// Folders of caches: made, cleaned, listed.
#ifndef FIRN_FOLDER_H
#define FIRN_FOLDER_H

#include "firn/file.h"

/// Makes a folder and those above it.
firn_result firn_folder_make(const char *path, firn_error *error);

/// Removes what interrupted writers left: files with ".tmp." in their names.
void firn_folder_sweep(const char *path);

/// Removes files that end so.
void firn_folder_clear(const char *path, const char *ending);

/// The largest number below `limit` in names "<stem>.<number>.chk"; false when there is none.
bool firn_folder_last(const char *path, const char *stem, int limit, int *number);

#endif
