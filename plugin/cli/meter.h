/// What a long command says while it runs: a bar on a terminal, plain lines for logs and farms, one
/// JSON object per line for programs, or nothing.
#ifndef FIRN_CLI_METER_H
#define FIRN_CLI_METER_H

#include "firn/graph.h"

typedef enum firn_voice {
    FIRN_VOICE_QUIET,
    FIRN_VOICE_PLAIN, // lines, with ALF_PROGRESS as render farms read it
    FIRN_VOICE_BAR,
    FIRN_VOICE_JSON,
    FIRN_VOICE_OPENJD, // lines, with those that queues of the Open Job Description read
} firn_voice;

typedef struct firn_meter {
    firn_voice voice;
    int part, parts;   // this run among several, for ALF_PROGRESS; parts 0: it is the only one
    int first, last;   // frames from the start of the shot to the end of the range
    double begun;      // s, of firn_seconds
    double done;       // frames that are finished since first, and parts of one
    double done_first; // the same when the first report came, for the time that is left
    double spoken;     // s, when the bar was drawn or progress was logged
    int percent;       // last one told, -1: none
    int written;       // frames that this run wrote
} firn_meter;

/// The voice that the options and the terminal ask for; progress NULL: not given.
firn_voice firn_voice_choose(bool quiet, bool json, const char *progress);

/// Whether --progress takes this: "alf", "openjd", or nothing at all (NULL).
bool firn_progress_is_known(const char *progress);

void firn_meter_start(firn_meter *meter, const char *name, const char *folder);

/// Within a frame: whole says that the node is the one that a frame's time goes into.
void firn_meter_report(firn_meter *meter, const firn_report *report, bool whole);
void firn_meter_frame(firn_meter *meter, int frame, bool skipped, const firn_stat *stats,
                      size_t count);
void firn_meter_log(firn_meter *meter, firn_level level, const char *node, const char *message);

/// Instead of a start: what kept the run from beginning, for who reads JSON. It was printed before.
void firn_meter_refuse(firn_voice voice, int code, const char *message);

/// The end: code is the exit code, message the error's sentence or NULL, node where it happened.
void firn_meter_finish(firn_meter *meter, int code, const char *node, const char *message);

#endif
