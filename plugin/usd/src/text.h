/// Text of USD layers, gathered in memory.
#ifndef FIRN_USD_TEXT_H
#define FIRN_USD_TEXT_H

#include "crate.h"

#include "firn/vec.h"

/// Appends text; `indent` levels of four spaces at its beginning.
void firn_usd_put(firn_crate_bytes *out, int indent, const char *format, ...) FIRN_PRINTF(3, 4);

/// Numbers as the shortest decimals that come back, with a point in any locale.
enum { FIRN_USD_NUMBER = 32 };
const char *firn_usd_number(double value, char text[FIRN_USD_NUMBER]);

/// "(1, 2, 3)", and a text in quotes, with what would end it taken out.
void firn_usd_put_vec3(firn_crate_bytes *out, firn_vec3 value);
void firn_usd_put_quoted(firn_crate_bytes *out, const char *text);

/// Writes the text to a file, whole or not at all, and releases it.
firn_result firn_usd_save(firn_crate_bytes *text, const char *path, firn_error *error);

#endif
