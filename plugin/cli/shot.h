/// A scene as the command line asks for it: loaded, overrides applied, frames chosen.
#ifndef FIRN_CLI_SHOT_H
#define FIRN_CLI_SHOT_H

#include "command.h"

#include "firn/cache.h"

/// Options of every command that takes a scene. First member of their requests.
typedef struct firn_shot_words {
    firn_words sets;
    const char *frames, *base, *quality, *threads, *memory;
} firn_shot_words;

enum { FIRN_SHOT_ROW_COUNT = 6 };
extern const firn_option firn_shot_rows[FIRN_SHOT_ROW_COUNT];

/// Loads the scene and applies the options. Prints what is wrong and keeps it in `said`, which may
/// be NULL; *graph is then NULL and the result an exit code.
int firn_shot_load(const char *command, const char *path, const firn_shot_words *words,
                   firn_graph **graph, firn_error *said);

/// Reads --frames: "7", "1001-1100", "1-100x2"; the whole graph when text is NULL.
bool firn_shot_frames(const char *text, const firn_graph *graph, firn_bake_def *def);

/// Cuts the path down to the part of it that is there, since the folder of a cache may not be yet.
const char *firn_shot_nearest(char *path);

/// Prints "firn: " and the sentence to stderr and keeps it in `said`, which may be NULL; returns
/// the code.
int firn_shot_refuse(firn_error *said, int code, const char *format, ...) FIRN_PRINTF(3, 4);

/// Prints every problem of the graph to stderr and keeps the first error in `said`, which may be
/// NULL; the exit code of the worst.
int firn_shot_check(firn_graph *graph, firn_error *said);

/// The same for a graph that is to be cooked: it must write something.
int firn_shot_check_cook(firn_graph *graph, firn_error *said);

#endif
