/// The layout of a .vdb file: header, file metadata, and the positions of its grids. Parsed with
/// bounds, without OpenVDB, which reads truncated files without complaint.
#ifndef FIRN_VDB_LAYOUT_H
#define FIRN_VDB_LAYOUT_H

#include "firn/vdb.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Takes the name and the type of each grid as they are in the file, cut to 255 bytes.
typedef struct firn_vdb_grid_list {
    void (*add)(const char *name, const char *type, void *user);
    void *user;
} firn_vdb_grid_list;

/// Checks an open file: positions rise, each descriptor follows the grid before it, and the last
/// grid ends where the file ends. list may be NULL; path is for messages.
firn_result firn_vdb_layout_check(int descriptor, const char *path, const firn_vdb_grid_list *list,
                                  firn_error *error);

/// Size and checksum of an open file, read from its start.
firn_result firn_vdb_stamp_descriptor(int descriptor, const char *path, firn_vdb_stamp *stamp,
                                      firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
