/// Readers of `firn info`: each prints what a file of its kind holds.
#ifndef FIRN_CLI_INFO_H
#define FIRN_CLI_INFO_H

#include "firn/base.h"

firn_result firn_info_abc(const char *path, firn_error *error);
firn_result firn_info_bgeo(const char *path, firn_error *error);
firn_result firn_info_obj(const char *path, firn_error *error);
firn_result firn_info_vdb(const char *path, firn_error *error);

#endif
