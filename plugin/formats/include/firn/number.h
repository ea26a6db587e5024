/// Numbers of text files, exact and independent of the locale.
#ifndef FIRN_NUMBER_H
#define FIRN_NUMBER_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Reads the longest decimal number at text (sign, digits, point, exponent; no infinities) and
/// returns where it ends, or NULL when there is none. The value is the nearest double; too large
/// becomes infinite.
FIRN_API const char *firn_number_parse(const char *text, const char *end, double *value);

/// The same, rounded to the nearest float directly.
FIRN_API const char *firn_number_parse_float(const char *text, const char *end, float *value);

/// An integer without point or exponent that fits int64; NULL when there is none.
FIRN_API const char *firn_number_parse_integer(const char *text, const char *end, int64_t *value);

/// Between these two the calling thread prints and parses numbers with a decimal point.
FIRN_API void *firn_number_locale_enter(void);
FIRN_API void firn_number_locale_leave(void *previous);

FIRN_API float firn_half_to_float(uint16_t half);

/// Rounds to nearest even.
FIRN_API uint16_t firn_half_from_double(double value);

#ifdef __cplusplus
}
#endif

#endif
