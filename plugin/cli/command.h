/// What the sub-commands of `firn` share: their table, options and exit codes.
#ifndef FIRN_COMMAND_H
#define FIRN_COMMAND_H

#include "firn/base.h"

/// Exit codes, documented in docs/cli.md.
typedef enum firn_exit {
    FIRN_EXIT_OK = 0,
    FIRN_EXIT_FAILED = 1, // anything that has no code of its own
    FIRN_EXIT_USAGE = 2,  // unknown command, option or value
    FIRN_EXIT_MEMORY = 3,
    FIRN_EXIT_DIVERGED = 4,
} firn_exit;

typedef struct firn_command {
    const char *name;
    const char *summary;                  // one line
    int (*run)(int count, char **values); // the words after the name; returns an exit code
} firn_command;

extern const firn_command firn_command_bench;

/// An option `--name VALUE`, or `--name` alone when value is NULL in the table's flag column.
typedef struct firn_option {
    const char *name; // with its dashes
    const char *what; // of the value, "N"; NULL: a flag
    const char *help;
    const char **text; // where the value goes; for a flag a non-NULL text
} firn_option;

/// Reads options into their places; words that are none are collected in rest, rest_count of them
/// at most. Prints what is wrong and returns false.
bool firn_options_read(const char *command, const firn_option *options, size_t option_count,
                       int count, char **values, const char **rest, int *rest_count);

/// Prints a table of options for --help.
void firn_options_print(const firn_option *options, size_t option_count);

/// Prints the error's sentence and gives the exit code that goes with the result.
int firn_exit_of(firn_result result, const firn_error *error);

#endif
