#include "command.h"

#include <stdio.h>
#include <string.h>

static const firn_option *find_option(const firn_option *options, size_t count, const char *name,
                                      size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0)
            return &options[i];
    return NULL;
}

static bool complain(const char *command, const char *problem, const char *word)
{
    fprintf(stderr, "firn %s: %s '%s'; see firn %s --help\n", command, problem, word, command);
    return false;
}

bool firn_options_read(const char *command, const firn_option *options, size_t option_count,
                       int count, char **values, const char **rest, int *rest_count)
{
    int limit = *rest_count;
    *rest_count = 0;
    for (int i = 0; i < count; i++) {
        if (strncmp(values[i], "--", 2) != 0) {
            if (*rest_count == limit)
                return complain(command, "one word too many:", values[i]);
            rest[(*rest_count)++] = values[i];
            continue;
        }
        const char *equals = strchr(values[i], '=');
        size_t length = equals != NULL ? (size_t)(equals - values[i]) : strlen(values[i]);
        const firn_option *option = find_option(options, option_count, values[i], length);
        if (option == NULL)
            return complain(command, "unknown option", values[i]);
        if (option->what == NULL) {
            if (equals != NULL)
                return complain(command, "no value is expected by", values[i]);
            *option->text = option->name;
        } else if (equals != NULL) {
            *option->text = equals + 1;
        } else if (i + 1 < count) {
            *option->text = values[++i];
        } else {
            return complain(command, "a value is missing after", values[i]);
        }
    }
    return true;
}

void firn_options_print(const firn_option *options, size_t option_count)
{
    for (size_t i = 0; i < option_count; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", options[i].name,
                 options[i].what != NULL ? options[i].what : "");
        printf("  %-28s %s\n", left, options[i].help);
    }
}

int firn_exit_of(firn_result result, const firn_error *error)
{
    if (result == FIRN_OK)
        return FIRN_EXIT_OK;
    fprintf(stderr, "firn: %s\n", error->message);
    switch (result) {
    case FIRN_ERR_ARGUMENT:
        return FIRN_EXIT_USAGE;
    case FIRN_ERR_MEMORY:
        return FIRN_EXIT_MEMORY;
    case FIRN_ERR_DIVERGED:
        return FIRN_EXIT_DIVERGED;
    default:
        return FIRN_EXIT_FAILED;
    }
}
