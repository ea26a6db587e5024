#include "json.h"

#include <math.h>
#include <string.h>

void firn_print_json_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(file, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

void firn_print_json_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "%.9g", value);
    else
        fputs("null", file);
}

void firn_print_key(FILE *file, int *count, const char *name)
{
    fputs((*count)++ > 0 ? ", " : "", file);
    firn_print_json_text(file, name);
    fputs(": ", file);
}

void firn_print_member_text(FILE *file, int *count, const char *name, const char *text)
{
    firn_print_key(file, count, name);
    firn_print_json_text(file, text);
}

void firn_print_member_number(FILE *file, int *count, const char *name, double value)
{
    firn_print_key(file, count, name);
    firn_print_json_number(file, value);
}
