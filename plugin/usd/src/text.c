#include "text.h"

#include "firn/file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 2 * FIRN_PATH_SIZE };

void firn_usd_put(firn_crate_bytes *out, int indent, const char *format, ...)
{
    char line[LINE_SIZE];
    for (; indent > 0; indent--)
        firn_crate_append(out, "    ", 4);
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= sizeof line)
        out->failed = true; // no name is that long
    else
        firn_crate_append(out, line, (size_t)length);
}

const char *firn_usd_number(double value, char text[FIRN_USD_NUMBER])
{
    if (!isfinite(value))
        value = 0.0; // boxes of nothing
    for (int digits = 6; digits <= 17; digits += digits < 9 ? 3 : 8) {
        snprintf(text, FIRN_USD_NUMBER, "%.*g", digits, value);
        if ((float)strtod(text, NULL) == (float)value &&
            (digits > 6 || strtod(text, NULL) == value))
            break;
    }
    for (char *at = text; *at != '\0'; at++)
        if (strchr("0123456789+-e", *at) == NULL)
            *at = '.'; // what the locale has between 0 and 5 in one half
    return text;
}

void firn_usd_put_vec3(firn_crate_bytes *out, firn_vec3 value)
{
    char x[FIRN_USD_NUMBER], y[FIRN_USD_NUMBER], z[FIRN_USD_NUMBER];
    firn_usd_put(out, 0, "(%s, %s, %s)", firn_usd_number((double)value.x, x),
                 firn_usd_number((double)value.y, y), firn_usd_number((double)value.z, z));
}

void firn_usd_put_quoted(firn_crate_bytes *out, const char *text)
{
    firn_crate_append(out, "\"", 1);
    for (const char *at = text; *at != '\0'; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
            firn_crate_append(out, "_", 1);
        else
            firn_crate_append(out, at, 1);
    firn_crate_append(out, "\"", 1);
}

firn_result firn_usd_save(firn_crate_bytes *text, const char *path, firn_error *error)
{
    firn_file_writer *file = NULL;
    firn_result result = FIRN_OK;
    if (text->failed)
        result = firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", path);
    if (result == FIRN_OK)
        result = firn_file_create(path, &file, error);
    if (result == FIRN_OK) {
        firn_file_write(file, text->data, text->count);
        result = firn_file_commit(file, error);
    }
    firn_free(text->data);
    *text = (firn_crate_bytes){0};
    return result;
}
