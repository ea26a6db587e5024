/// What the program firn-vdb-helper calls; not for others.
#ifndef FIRN_VDB_HELPER_SERVE_H
#define FIRN_VDB_HELPER_SERVE_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FIRN_VDB_HELPER_MISMATCH = 3 }; // exit code: started by a library of another version

/// Reads files for the process at the other end of the standard input until that closes. Sets the
/// limit of the address space (MB, 0: none) first. Returns the exit code.
FIRN_API int firn_vdb_helper_serve(const char *version, double memory_limit);

#ifdef __cplusplus
}
#endif

#endif
