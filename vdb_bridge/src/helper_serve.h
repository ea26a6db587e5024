/// What the program firn-vdb-helper calls; not for others.
#ifndef FIRN_VDB_HELPER_SERVE_H
#define FIRN_VDB_HELPER_SERVE_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FIRN_VDB_HELPER_MISMATCH = 3 }; // exit code: started by a library of another version

/// Reads files for the process at the other end of the standard input until that closes, with this
/// much address space (MB, 0: no limit) and ending itself when a file takes longer than seconds.
/// Returns the exit code.
FIRN_API int firn_vdb_helper_serve(const char *version, uint64_t megabytes, unsigned seconds);

#ifdef __cplusplus
}
#endif

#endif
