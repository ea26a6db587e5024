#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "ranks.h"

#include "firn/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const firn_command *const commands[] = {
    &firn_command_new,      &firn_command_check,  &firn_command_preview,  &firn_command_estimate,
    &firn_command_cook,     &firn_command_resume, &firn_command_wedge,    &firn_command_submit,
    &firn_command_collider, &firn_command_info,   &firn_command_describe, &firn_command_picture,
    &firn_command_render,   &firn_command_report, &firn_command_measure,  &firn_command_usd,
    &firn_command_bench,    &firn_command_manual,
};

const firn_command *firn_command_at(size_t index)
{
    return index < FIRN_COUNT(commands) ? commands[index] : NULL;
}

static void print_help(void)
{
    printf("Firn %s: snow simulation\n\nUsage: firn COMMAND [OPTIONS]\n\n", FIRN_VERSION);
    for (size_t i = 0; i < FIRN_COUNT(commands); i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("\nA first shot, from an example to files on disk:\n\n"
           "  firn new snowball_smash -o shot.firn\n"
           "  firn check shot.firn\n"
           "  firn preview shot.firn\n"
           "  firn estimate shot.firn\n"
           "  firn cook shot.firn\n\n"
           "`firn COMMAND --help` tells about a command, with examples. Exit codes:\n\n");
    for (size_t i = 0; firn_exit_at(i) != NULL; i++)
        printf("  %3d  %s\n", firn_exit_at(i)->code, firn_exit_at(i)->meaning);
}

const char *firn_version_text(void) { return FIRN_VERSION " (commit " FIRN_COMMIT ")"; }

// The second word is the version, for scripts.
static void print_version(void)
{
    firn_sim_def def = firn_sim_def_default();
    firn_sim *sim = NULL;
    printf("firn %s\n", firn_version_text());
    if (firn_sim_create(&def, &sim, NULL) == FIRN_OK)
        printf("instruction set: %s\n", firn_sim_isa(sim));
    firn_sim_destroy(sim);
    printf("libraries: %s\n", FIRN_LIBRARIES);
}

// OpenMP reads its settings when the program is loaded. Threads that wait by spinning stall a
// machine that others use as well, so the program starts itself once more with a short spin.
//
// Ranks on one machine share its cores, unless the launcher has given each its own.
static void wait_politely(char **values)
{
    char threads[16];
    bool waits = getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL;
    bool shares = getenv("OMP_NUM_THREADS") == NULL && firn_ranks_threads() > 0;
    if (waits && !shares)
        return;
    if (!waits) {
        setenv("OMP_WAIT_POLICY", "passive", 1);
        setenv("GOMP_SPINCOUNT", "2000", 1);
    }
    if (shares) {
        snprintf(threads, sizeof threads, "%d", firn_ranks_threads());
        setenv("OMP_NUM_THREADS", threads, 1);
    }
    // By its own path, so that the process keeps its name.
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    execv(path, values); // without it, all the same but for the spinning
}

static const firn_command *find_command(const char *name)
{
    for (size_t i = 0; i < FIRN_COUNT(commands); i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    return NULL;
}

int main(int count, char **values)
{
    wait_politely(values);
    if (count < 2) {
        print_help();
        return FIRN_EXIT_USAGE;
    }
    if (strcmp(values[1], "--version") == 0) {
        print_version();
        return FIRN_EXIT_OK;
    }
    bool help = strcmp(values[1], "help") == 0 || strcmp(values[1], "--help") == 0;
    if (help && count == 2) {
        print_help();
        return FIRN_EXIT_OK;
    }
    const char *name = values[help ? 2 : 1];
    const firn_command *command = find_command(name);
    if (command == NULL) {
        const char *known[FIRN_COUNT(commands)];
        char hint[128];
        for (size_t i = 0; i < FIRN_COUNT(commands); i++)
            known[i] = commands[i]->name;
        fprintf(stderr, "firn: unknown command '%s'%s (see firn --help)\n", name,
                firn_suggest(known, FIRN_COUNT(commands), name, hint, sizeof hint));
        return FIRN_EXIT_USAGE;
    }
    char *only_help[] = {"--help"};
    return help ? firn_command_run(command, 1, only_help)
                : firn_command_run(command, count - 2, values + 2);
}
