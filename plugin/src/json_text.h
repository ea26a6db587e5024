/// JSON values as text in memory of Firn, and back.
#ifndef FIRN_JSON_TEXT_H
#define FIRN_JSON_TEXT_H

#include "firn/base.h"

#include <jansson.h>

/// The text of a value, released with firn_free; NULL when there is no memory.
char *firn_json_text(const json_t *json, size_t flags);

/// Writes a value to a file, whole or not at all.
firn_result firn_json_write(const json_t *json, const char *path, firn_error *error);

#endif
