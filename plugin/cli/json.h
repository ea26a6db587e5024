/// Printing JSON: texts, numbers, and the commas between members.
#ifndef FIRN_CLI_JSON_H
#define FIRN_CLI_JSON_H

#include <stddef.h>
#include <stdio.h>

/// A text with its quotes.
void firn_print_json_text(FILE *file, const char *text);

/// A number with all its digits; one that is not finite is null.
void firn_print_json_number(FILE *file, double value);

/// `"name": ` with the comma that it needs after another member; *count counts them.
void firn_print_key(FILE *file, int *count, const char *name);

/// The same with its value.
void firn_print_member_text(FILE *file, int *count, const char *name, const char *text);
void firn_print_member_number(FILE *file, int *count, const char *name, double value);

#endif
