/// What the sub-commands of `firn` share: their table, options and exit codes.
///
/// A command is one file that ends with its row: options are read into its request by offset, and
/// the help is printed from the same tables.
#ifndef FIRN_COMMAND_H
#define FIRN_COMMAND_H

#include "firn/params.h"

/// Exit codes; command.c has their meaning, docs/cli.md what to do about them.
typedef enum firn_exit {
    FIRN_EXIT_OK = 0,
    FIRN_EXIT_FAILED = 1, // anything that has no code of its own
    FIRN_EXIT_USAGE = 2,
    FIRN_EXIT_MEMORY = 3,
    FIRN_EXIT_DIVERGED = 4,
    FIRN_EXIT_MISSING = 5,
    FIRN_EXIT_GRAPH = 6,
    FIRN_EXIT_DISK_FULL = 7,
    FIRN_EXIT_STALE = 8,
    FIRN_EXIT_LOCKED = 9,
    FIRN_EXIT_FORMAT = 10,
    FIRN_EXIT_EXISTS = 11,
    FIRN_EXIT_INTERRUPTED = 130, // 128 + SIGINT, as shells have it
    FIRN_EXIT_TERMINATED = 143,  // 128 + SIGTERM
} firn_exit;

typedef struct firn_exit_meaning {
    firn_exit code;
    const char *meaning;
} firn_exit_meaning;

/// The codes in order, NULL past the last.
const firn_exit_meaning *firn_exit_at(size_t index);

/// "0.1.0 (commit 0123abc)"
const char *firn_version_text(void);

enum { FIRN_WORDS_MAX = 256 };

/// Words of the command line, in order.
typedef struct firn_words {
    size_t count;
    const char *words[FIRN_WORDS_MAX];
} firn_words;

/// An option `--name VALUE`, or `--name` alone when it is a flag.
typedef struct firn_option {
    const char *name; // with its dashes
    const char *what; // of the value, "N"; NULL: a flag
    const char *help;
    size_t offset; // in the request: a const char *, for a flag non-NULL when given
    bool many;     // may be repeated: a firn_words
} firn_option;

/// A table of options and its length.
typedef struct firn_options {
    const firn_option *rows;
    size_t count;
} firn_options;

typedef struct firn_command {
    const char *name;
    const char *summary; // one line
    const char *usage;   // the words after the name, "SHOT.firn [OPTIONS]"
    const char *about;   // what it does, lines of 80 columns
    const char *example; // a few command lines
    firn_options own, shared;
    size_t request_size; // of the struct that the options are read into
    size_t least, most;  // words that are no options

    /// Rows that are options too, `--sun-angle VALUE` for sun_angle; NULL: none. What is given goes
    /// into a firn_words of the request, names and values in turn.
    firn_param_table (*params)(void);
    size_t params_offset;

    /// Returns an exit code.
    int (*run)(const void *request, const firn_words *words);
} firn_command;

extern const firn_command firn_command_bench, firn_command_check, firn_command_collider,
    firn_command_cook, firn_command_describe, firn_command_estimate, firn_command_info,
    firn_command_manual, firn_command_measure, firn_command_new, firn_command_picture,
    firn_command_preview, firn_command_render, firn_command_report, firn_command_resume,
    firn_command_submit, firn_command_usd, firn_command_wedge;

/// The commands in the order of the help, NULL past the last.
const firn_command *firn_command_at(size_t index);

enum { FIRN_OPTION_SIZE = 64 };

/// "--sun-angle" for sun_angle, in a text of FIRN_OPTION_SIZE.
const char *firn_row_option(const firn_param *row, char *text);

/// Reads the words after the name of a command and runs it, or prints its help.
int firn_command_run(const firn_command *command, int count, char **values);

/// Says what is wrong with the command line; returns FIRN_EXIT_USAGE.
int firn_usage(const char *command, const char *format, ...) FIRN_PRINTF(2, 3);

/// "; did you mean 'cook'?" with the known word that is most like a wrong one, or "".
const char *firn_suggest(const char *const *known, size_t count, const char *word, char *text,
                         size_t size);

/// The exit code that goes with a result.
int firn_exit_code(firn_result result);

/// Prints the error's sentence and gives the exit code that goes with the result.
int firn_exit_of(firn_result result, const firn_error *error);

/// Reads a whole number in a range; false when text is not one.
bool firn_read_int(const char *text, int min, int max, int *value);

/// Reads a finite number; false when text is not one.
bool firn_read_number(const char *text, double *value);

#endif
