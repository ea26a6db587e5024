#include "command.h"

#include "firn/params.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUGGEST_MAX = 96 };

static const firn_exit_meaning meanings[] = {
    {FIRN_EXIT_OK, "done"},
    {FIRN_EXIT_FAILED, "failed for a reason that has no code of its own"},
    {FIRN_EXIT_USAGE, "unknown command, option, value or --set name"},
    {FIRN_EXIT_MEMORY, "out of memory, or over --max-memory"},
    {FIRN_EXIT_DIVERGED, "the simulation diverged even with the smallest step"},
    {FIRN_EXIT_MISSING, "a scene, an input file or a simulated frame is not there"},
    {FIRN_EXIT_GRAPH, "the graph is invalid"},
    {FIRN_EXIT_DISK_FULL, "no room left on the disk"},
    {FIRN_EXIT_STALE, "the cache was cooked from other settings"},
    {FIRN_EXIT_LOCKED, "another process writes the same cache, or the frames of a chunk"},
    {FIRN_EXIT_FORMAT, "an input file is damaged or of another kind"},
    {FIRN_EXIT_EXISTS, "something is there that would be replaced"},
    {FIRN_EXIT_INTERRUPTED, "stopped by SIGINT; resume continues"},
    {FIRN_EXIT_TERMINATED, "stopped by SIGTERM; resume continues"},
};

static const firn_exit codes[] = {
    [FIRN_OK] = FIRN_EXIT_OK,
    [FIRN_ERR_ARGUMENT] = FIRN_EXIT_USAGE,
    [FIRN_ERR_STALE] = FIRN_EXIT_STALE,
    [FIRN_ERR_MEMORY] = FIRN_EXIT_MEMORY,
    [FIRN_ERR_NOT_FOUND] = FIRN_EXIT_MISSING,
    [FIRN_ERR_IO] = FIRN_EXIT_FAILED,
    [FIRN_ERR_DISK_FULL] = FIRN_EXIT_DISK_FULL,
    [FIRN_ERR_FORMAT] = FIRN_EXIT_FORMAT,
    [FIRN_ERR_UNSUPPORTED] = FIRN_EXIT_FAILED,
    [FIRN_ERR_DIVERGED] = FIRN_EXIT_DIVERGED,
    [FIRN_ERR_CANCELLED] = FIRN_EXIT_INTERRUPTED,
    [FIRN_ERR_TIMEOUT] = FIRN_EXIT_FAILED,
    [FIRN_ERR_LOCKED] = FIRN_EXIT_LOCKED,
    [FIRN_ERR_EXISTS] = FIRN_EXIT_EXISTS,
};

const firn_exit_meaning *firn_exit_at(size_t index)
{
    return index < FIRN_COUNT(meanings) ? &meanings[index] : NULL;
}

int firn_exit_code(firn_result result)
{
    return (int)((size_t)result < FIRN_COUNT(codes) ? codes[result] : FIRN_EXIT_FAILED);
}

int firn_exit_of(firn_result result, const firn_error *error)
{
    if (result != FIRN_OK)
        fprintf(stderr, "firn: %s\n", error->message);
    return firn_exit_code(result);
}

int firn_usage(const char *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "firn %s: ", command);
    vfprintf(stderr, format, values);
    fprintf(stderr, " (see firn %s --help)\n", command);
    va_end(values);
    return FIRN_EXIT_USAGE;
}

const char *firn_suggest(const char *const *known, size_t count, const char *word, char *text,
                         size_t size)
{
    firn_param rows[SUGGEST_MAX] = {0};
    count = count < SUGGEST_MAX ? count : SUGGEST_MAX;
    for (size_t i = 0; i < count; i++)
        rows[i].name = known[i];
    const char *found = firn_params_suggest((firn_param_table){rows, count}, word);
    snprintf(text, size, found != NULL ? "; did you mean '%s'?" : "%s", found != NULL ? found : "");
    return text;
}

bool firn_read_number(const char *text, double *value)
{
    char *end = NULL;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

bool firn_read_int(const char *text, int min, int max, int *value)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    *value = (int)number;
    return end != text && *end == '\0' && errno == 0 && number >= min && number <= max;
}

// --- Options -------------------------------------------------------------------------------------

static const firn_option *find_option(firn_options table, const char *name, size_t length)
{
    for (size_t i = 0; i < table.count; i++)
        if (strlen(table.rows[i].name) == length && memcmp(table.rows[i].name, name, length) == 0)
            return &table.rows[i];
    return NULL;
}

static bool store(const firn_option *option, void *request, const char *value)
{
    char *place = (char *)request + option->offset;
    if (!option->many) {
        *(const char **)(void *)place = value;
        return true;
    }
    firn_words *words = (firn_words *)(void *)place;
    if (words->count == FIRN_WORDS_MAX)
        return false;
    words->words[words->count++] = value;
    return true;
}

const char *firn_row_option(const firn_param *row, char *text)
{
    snprintf(text, FIRN_OPTION_SIZE, "--%s", row->name);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '_' ? '-' : *at;
    return text;
}

// The row that an option such as --sun-angle stands for, or NULL.
static const firn_param *find_row(const firn_command *command, const char *name, size_t length)
{
    char row[64];
    if (command->params == NULL || length < 3 || length >= sizeof row || name[1] != '-')
        return NULL;
    for (size_t i = 2; i < length; i++)
        row[i - 2] = name[i];
    row[length - 2] = '\0';
    for (char *at = row; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    return firn_params_find(command->params(), row);
}

static int store_row(const firn_command *command, void *request, const firn_param *row,
                     const char *value)
{
    firn_words *words = (firn_words *)(void *)((char *)request + command->params_offset);
    if (words->count + 2 > FIRN_WORDS_MAX)
        return firn_usage(command->name, "too many options");
    words->words[words->count++] = row->name;
    words->words[words->count++] = value;
    return FIRN_EXIT_OK;
}

static int unknown_option(const firn_command *command, const char *word)
{
    const char *known[SUGGEST_MAX];
    size_t count = 0;
    char hint[128];
    for (size_t i = 0; i < command->own.count && count < SUGGEST_MAX; i++)
        known[count++] = command->own.rows[i].name;
    for (size_t i = 0; i < command->shared.count && count < SUGGEST_MAX; i++)
        known[count++] = command->shared.rows[i].name;
    firn_param_table table = {0};
    if (command->params != NULL)
        table = command->params();
    char names[SUGGEST_MAX][FIRN_OPTION_SIZE];
    for (size_t i = 0; i < table.count && count < SUGGEST_MAX; i++, count++)
        known[count] = firn_row_option(&table.params[i], names[count]);
    return firn_usage(command->name, "unknown option '%s'%s", word,
                      firn_suggest(known, count, word, hint, sizeof hint));
}

// Reads the option at values[*at] and the word after it where that is its value.
static int read_option(const firn_command *command, void *request, int count, char **values,
                       int *at)
{
    const char *word = values[*at], *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const firn_option *option = find_option(command->own, word, length);
    if (option == NULL)
        option = find_option(command->shared, word, length);
    const firn_param *row = option == NULL ? find_row(command, word, length) : NULL;
    if (row != NULL && equals == NULL && *at + 1 == count)
        return firn_usage(command->name, "a value is missing after '%s'", word);
    if (row != NULL)
        return store_row(command, request, row, equals != NULL ? equals + 1 : values[++*at]);
    if (option == NULL)
        return unknown_option(command, word);
    const char *value = option->name;
    if (option->what == NULL && equals != NULL)
        return firn_usage(command->name, "no value is expected by '%s'", word);
    if (option->what != NULL && equals == NULL && *at + 1 == count)
        return firn_usage(command->name, "a value is missing after '%s'", word);
    if (option->what != NULL)
        value = equals != NULL ? equals + 1 : values[++*at];
    if (!store(option, request, value))
        return firn_usage(command->name, "'%s' is given too often", option->name);
    return FIRN_EXIT_OK;
}

static int read_words(const firn_command *command, void *request, int count, char **values,
                      firn_words *words)
{
    for (int i = 0; i < count; i++) {
        int code = FIRN_EXIT_OK;
        if (values[i][0] == '-' && values[i][1] != '\0')
            code = read_option(command, request, count, values, &i);
        else if (words->count == command->most || words->count == FIRN_WORDS_MAX)
            code = firn_usage(command->name, "one word too many: '%s'", values[i]);
        else
            words->words[words->count++] = values[i];
        if (code != FIRN_EXIT_OK)
            return code;
    }
    if (words->count < command->least)
        return firn_usage(command->name, "expected firn %s %s", command->name, command->usage);
    return FIRN_EXIT_OK;
}

static void print_options(firn_options table)
{
    for (size_t i = 0; i < table.count; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", table.rows[i].name,
                 table.rows[i].what != NULL ? table.rows[i].what : "");
        printf("  %-26s %s\n", left, table.rows[i].help);
    }
}

static void print_rows(firn_param_table table)
{
    for (size_t i = 0; i < table.count; i++) {
        const firn_param *row = &table.params[i];
        char name[FIRN_OPTION_SIZE], left[2 * FIRN_OPTION_SIZE];
        snprintf(left, sizeof left, "%s %s", firn_row_option(row, name),
                 row->choices != NULL   ? row->choices
                 : row->unit[0] != '\0' ? row->unit
                                        : "VALUE");
        printf("  %-26s %s\n", left, row->help);
    }
}

static void print_help(const firn_command *command)
{
    printf("Usage: firn %s %s\n\n%s\n\nOptions:\n", command->name, command->usage, command->about);
    print_options(command->own);
    print_options(command->shared);
    if (command->params != NULL)
        print_rows(command->params());
    printf("  %-26s %s\n\nFor example:\n%s\n", "--help", "this text", command->example);
}

int firn_command_run(const firn_command *command, int count, char **values)
{
    for (int i = 0; i < count; i++)
        if (strcmp(values[i], "--help") == 0) {
            print_help(command);
            return FIRN_EXIT_OK;
        }
    void *request = firn_alloc_zero(command->request_size);
    firn_words *words = firn_alloc_zero(sizeof *words);
    int code = FIRN_EXIT_MEMORY;
    if (request != NULL && words != NULL)
        code = read_words(command, request, count, values, words);
    if (code == FIRN_EXIT_OK)
        code = command->run(request, words);
    firn_free(words);
    firn_free(request);
    return code;
}
