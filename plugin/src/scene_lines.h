/// Where things stand in a JSON text, for messages about what they mean.
#ifndef FIRN_SCENE_LINES_H
#define FIRN_SCENE_LINES_H

#include <stddef.h>

enum { FIRN_SCENE_DEPTH = 4 };

/// The line, from 1, of the key that a path leads to: {"nodes", "solver", "params"}. When the path
/// ends early in the text, the line of the last key that is there; 1 when there is none. The text
/// has passed a JSON parser.
int firn_scene_line(const char *text, size_t size, const char *const path[FIRN_SCENE_DEPTH]);

#endif
