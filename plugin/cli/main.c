#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const firn_command *const commands[] = {
    &firn_command_bench,
};

static void print_help(void)
{
    printf("Firn %s: snow simulation\n\nUsage: firn COMMAND [OPTIONS]\n\n", FIRN_VERSION);
    for (size_t i = 0; i < FIRN_COUNT(commands); i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("\n`firn COMMAND --help` tells about a command.\n");
}

// OpenMP reads its settings when the program is loaded. Threads that wait by spinning stall a
// machine that others use as well, so the program starts itself once more with a short spin.
static void wait_politely(char **values)
{
    if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL)
        return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("GOMP_SPINCOUNT", "2000", 1);
    execv("/proc/self/exe", values); // without it, all the same but for the spinning
}

int main(int count, char **values)
{
    wait_politely(values);
    if (count < 2) {
        print_help();
        return FIRN_EXIT_USAGE;
    }
    if (strcmp(values[1], "--help") == 0 || strcmp(values[1], "help") == 0) {
        print_help();
        return FIRN_EXIT_OK;
    }
    if (strcmp(values[1], "--version") == 0) {
        printf("firn %s\n", FIRN_VERSION);
        return FIRN_EXIT_OK;
    }
    for (size_t i = 0; i < FIRN_COUNT(commands); i++)
        if (strcmp(values[1], commands[i]->name) == 0)
            return commands[i]->run(count - 2, values + 2);
    fprintf(stderr, "firn: unknown command '%s'; see firn --help\n", values[1]);
    return FIRN_EXIT_USAGE;
}
