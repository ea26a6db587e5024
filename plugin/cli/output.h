/// Where commands may write: never over what a cache is made of.
#ifndef FIRN_CLI_OUTPUT_H
#define FIRN_CLI_OUTPUT_H

#include "command.h"

/// True when path ends with `ending` and has more than that.
bool firn_output_ends(const char *path, const char *ending);

/// FIRN_ERR_EXISTS where a path is that of a file which a cache knows as its own.
firn_result firn_output_check(const char *path, firn_error *error);

/// The same for the file of each frame of a pattern.
firn_result firn_output_check_frames(const char *pattern, int first, int last, int step,
                                     firn_error *error);

#endif
