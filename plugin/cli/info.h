/// Readers of `firn info`: each prints what a file of its kind holds.
#ifndef FIRN_CLI_INFO_H
#define FIRN_CLI_INFO_H

#include "firn/base.h"

firn_result firn_info_abc(const char *path, firn_error *error);
firn_result firn_info_bgeo(const char *path, firn_error *error);
/// Meshes and points, of PLY and STL.
firn_result firn_info_polygons(const char *path, firn_error *error);
firn_result firn_info_usd(const char *path, firn_error *error);
firn_result firn_info_obj(const char *path, firn_error *error);
/// A cache, or the variants of a wedge; check compares every file with its checksum.
firn_result firn_info_folder(const char *folder, bool json, bool check, firn_error *error);
firn_result firn_info_vdb(const char *path, firn_error *error);

#endif
