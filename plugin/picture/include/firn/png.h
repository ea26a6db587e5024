/// PNG files of 8-bit RGB pixels.
#ifndef FIRN_PNG_H
#define FIRN_PNG_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Writes width * height pixels of three bytes, rows from the top. The file appears whole or not
/// at all, and equal pixels give equal bytes.
FIRN_API firn_result firn_png_write(const char *path, int width, int height, const uint8_t *rgb,
                                    firn_error *error);

/// The same file in memory; *bytes is released with firn_free.
FIRN_API firn_result firn_png_pack(int width, int height, const uint8_t *rgb, void **bytes,
                                   size_t *size, firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
