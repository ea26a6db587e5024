/// Limits of the process.
#ifndef FIRN_CLI_LIMITS_H
#define FIRN_CLI_LIMITS_H

#include "firn/base.h"

/// Memory that is claimed beyond so many megabytes is refused from now on, to whatever part of the
/// program asks for it; what is refused ends with FIRN_ERR_MEMORY. Code and files that are mapped
/// do not count.
void firn_memory_bound(double megabytes);

#endif
