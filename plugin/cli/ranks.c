#define _GNU_SOURCE
#include "ranks.h"

#include "bake.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int firn_ranks_join(firn_ranks **ranks)
{
    firn_error error;
    *ranks = NULL;
    if (firn_ranks_launched() == 0)
        return FIRN_EXIT_OK;
    return firn_exit_of(firn_ranks_open(ranks, &error), &error);
}

bool firn_ranks_follows(const firn_ranks *ranks)
{
    return ranks != NULL && firn_ranks_exchange(ranks)->rank > 0;
}

firn_hush firn_ranks_hush(const firn_ranks *ranks)
{
    firn_hush hush = {{-1, -1}};
    int nowhere = firn_ranks_follows(ranks) ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    for (int i = 0; nowhere >= 0 && i < 2; i++) {
        hush.descriptors[i] = dup(STDOUT_FILENO + i);
        dup2(nowhere, STDOUT_FILENO + i);
    }
    if (nowhere >= 0)
        close(nowhere);
    return hush;
}

void firn_ranks_unhush(const firn_hush *hush)
{
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        if (hush->descriptors[i] >= 0) {
            dup2(hush->descriptors[i], STDOUT_FILENO + i);
            close(hush->descriptors[i]);
        }
}

static firn_result result_of(int code)
{
    for (int r = 0; r <= FIRN_ERR_EXISTS; r++)
        if (firn_exit_code((firn_result)r) == code)
            return (firn_result)r;
    return FIRN_ERR_ARGUMENT;
}

int firn_ranks_meet(const firn_ranks *ranks, firn_graph *graph, int code, const char *sentence)
{
    firn_error error;
    firn_meeting own = {.result = code == FIRN_EXIT_OK ? FIRN_OK : result_of(code), .code = code};
    snprintf(own.identity, sizeof own.identity, "firn %s", firn_version_text());
    snprintf(own.sentence, sizeof own.sentence, "%s", sentence);
    const firn_exchange *exchange = firn_ranks_exchange(ranks);
    firn_result result = firn_graph_meet(graph, exchange, &own, &error);
    if (result == FIRN_OK)
        return FIRN_EXIT_OK;
    bool told = own.rank == 0 && code != FIRN_EXIT_OK;
    if (exchange->rank == 0 && !told && own.code != FIRN_EXIT_OK)
        fprintf(stderr, "firn: rank %d: %s\n", own.rank, error.message);
    else if (exchange->rank == 0 && !told)
        fprintf(stderr, "firn: %s\n", error.message);
    return own.code != FIRN_EXIT_OK ? own.code : firn_exit_code(result);
}

static firn_answer on_progress(const firn_report *report, void *user)
{
    (void)report, (void)user;
    return firn_signals_stop() != 0 ? FIRN_STOP : FIRN_CONTINUE;
}

int firn_ranks_follow(firn_graph *graph)
{
    firn_error error;
    int code = FIRN_EXIT_OK;
    const firn_host host = {.progress = on_progress};
    firn_graph_set_host(graph, &host);
    firn_result result = firn_graph_follow(graph, &code, &error);
    firn_graph_set_host(graph, NULL);
    return result == FIRN_OK ? code : firn_exit_of(result, &error);
}

int firn_ranks_threads(void)
{
    int together = firn_ranks_local(), online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t mine;
    if (together < 2 || sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) < online)
        return 0;
    return online / together > 0 ? online / together : 1;
}
