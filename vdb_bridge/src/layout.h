/// The layout of a .vdb file: header, file metadata, and the positions of its grids. Parsed with
/// bounds, without OpenVDB, which reads truncated files without complaint.
#ifndef FIRN_VDB_LAYOUT_H
#define FIRN_VDB_LAYOUT_H

#include "firn/vdb.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Checks an open file: positions rise, each descriptor follows the grid before it, and the last
/// grid ends where the file ends. path is for messages.
firn_result firn_vdb_layout_check(int descriptor, const char *path, firn_error *error);

/// Size and checksum of an open file, read from its start.
firn_result firn_vdb_stamp_descriptor(int descriptor, const char *path, firn_vdb_stamp *stamp,
                                      firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
