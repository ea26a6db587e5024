/// Numbers of text files, exact and independent of the locale.
#ifndef FIRN_NUMBER_H
#define FIRN_NUMBER_H

#include "firn/base.h"

/// Reads the longest decimal number at text (sign, digits, point, exponent; no infinities) and
/// returns where it ends, or NULL when there is none. The value is the nearest double; too large
/// becomes infinite.
const char *firn_number_parse(const char *text, const char *end, double *value);

/// The same, rounded to the nearest float directly.
const char *firn_number_parse_float(const char *text, const char *end, float *value);

/// An integer without point or exponent that fits int64; NULL when there is none.
const char *firn_number_parse_integer(const char *text, const char *end, int64_t *value);

/// Between these two the calling thread prints and parses numbers with a decimal point.
void *firn_number_locale_enter(void);
void firn_number_locale_leave(void *previous);

float firn_half_to_float(uint16_t half);

/// Rounds to nearest even.
uint16_t firn_half_from_double(double value);

#endif
