/// Limits of the process.
#ifndef FIRN_CLI_LIMITS_H
#define FIRN_CLI_LIMITS_H

#include "firn/base.h"

/// Memory that is claimed beyond so many megabytes is refused from now on, to whatever part of the
/// program asks for it; what is refused ends with FIRN_ERR_MEMORY. Code and files that are mapped
/// do not count.
void firn_memory_bound(double megabytes);

/// From now on a signal to stop ends the process within a second, also in the middle of work that
/// does not look up, such as reading a large volume. `path` is the file that it may be writing:
/// what is half written beside it goes. For commands that have nothing to save.
void firn_watch_stop(const char *path);

#endif
