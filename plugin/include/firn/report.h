/// A cache on one page: plots of the numbers of every frame, pictures, settings.
///
///     FIRN_TRY(firn_report_write("cache/snow/v1", "snow.html", error));
#ifndef FIRN_REPORT_H
#define FIRN_REPORT_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Writes an HTML page that needs no other file, about a cache, which may still be cooked, or about
/// the variants in the folder of a wedge.
FIRN_API firn_result firn_report_write(const char *folder, const char *path, firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
