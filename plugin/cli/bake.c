#define _POSIX_C_SOURCE 200809L
#include "bake.h"

#include "shot.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

// All that a signal handler may touch.
static volatile sig_atomic_t stop_signal, checkpoint_asked;

// A terminal that is closed ends the run as the farm would.
static void on_stop(int number) { stop_signal = number == SIGHUP ? SIGTERM : number; }

// Nobody reads what is printed, as when a host has crashed. It may come again at every line.
static void on_reader_gone(int number)
{
    (void)number;
    if (stop_signal == 0)
        stop_signal = SIGINT;
}

static void on_checkpoint(int number)
{
    (void)number;
    checkpoint_asked = 1;
}

void firn_signals_catch(void)
{
    struct sigaction stop = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    struct sigaction gone = {.sa_handler = on_reader_gone, .sa_flags = SA_RESTART};
    struct sigaction checkpoint = {.sa_handler = on_checkpoint, .sa_flags = SA_RESTART};
    sigemptyset(&stop.sa_mask);
    sigemptyset(&gone.sa_mask);
    sigemptyset(&checkpoint.sa_mask);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) // as by nohup
        sigaction(SIGHUP, &stop, NULL);
    sigaction(SIGPIPE, &gone, NULL);
    sigaction(SIGUSR1, &checkpoint, NULL);
}

int firn_signals_stop(void) { return stop_signal; }

typedef struct listener {
    firn_graph *graph;
    firn_meter meter;
} listener;

static firn_answer on_progress(const firn_report *report, void *user)
{
    listener *own = user;
    const firn_node_info *type = firn_graph_node_type(own->graph, report->node);
    firn_meter_report(&own->meter, report, type != NULL && type->sequential);
    if (stop_signal != 0)
        return FIRN_STOP;
    if (checkpoint_asked == 0)
        return FIRN_CONTINUE;
    checkpoint_asked = 0;
    firn_meter_log(&own->meter, FIRN_LEVEL_INFO, NULL, "a checkpoint follows this frame");
    return FIRN_CHECKPOINT;
}

static void on_log(firn_level level, const char *node, const char *message, void *user)
{
    firn_meter_log(&((listener *)user)->meter, level, node, message);
}

static void on_frame(int frame, bool skipped, const firn_stat *stats, size_t count, void *user)
{
    firn_meter_frame(&((listener *)user)->meter, frame, skipped, stats, count);
}

static int finish(listener *own, firn_result result, bool checkpoint, const firn_error *error)
{
    int code = firn_exit_code(result);
    char stopped[100];
    const char *message = result == FIRN_OK ? NULL : error->message;
    if (result == FIRN_ERR_CANCELLED && stop_signal != 0) {
        code = 128 + stop_signal;
        snprintf(stopped, sizeof stopped, "stopped by %s%s; `firn resume` continues",
                 stop_signal == SIGTERM ? "SIGTERM" : "SIGINT",
                 checkpoint ? " after a checkpoint" : "");
        message = stopped;
    }
    firn_meter_finish(&own->meter, code, firn_graph_failed_node(own->graph), message);
    return code;
}

int firn_bake_run(firn_graph *graph, const firn_bake_def *def, const firn_bake_run_def *run)
{
    firn_error error;
    int code = firn_shot_check_cook(graph, &error);
    if (code != FIRN_EXIT_OK) {
        firn_meter_refuse(run->voice, code, error.message);
        return code;
    }
    const firn_shot *shot = firn_graph_shot(graph);
    char folder[FIRN_PATH_SIZE];
    firn_result result = firn_graph_cache_folder(graph, folder, sizeof folder, &error);
    if (result != FIRN_OK)
        return firn_exit_of(result, &error);
    listener own = {.graph = graph,
                    .meter = {.voice = run->voice,
                              .part = run->part,
                              .parts = run->parts,
                              .first = shot->first,
                              .last = def->last}};
    firn_host host = {.progress = on_progress, .log = on_log, .frame_done = on_frame, .user = &own};
    firn_graph_set_host(graph, &host);
    firn_meter_start(&own.meter, shot->name, folder);
    result = firn_graph_bake(graph, def, &error);
    firn_graph_set_host(graph, NULL);
    return finish(&own, result, !def->from_cache, &error);
}
