/// A shot small enough to cook in a moment, and folders to cook it into.
#ifndef FIRN_GRAPH_FIXTURE_H
#define FIRN_GRAPH_FIXTURE_H

#include "firn/cache.h"

/// A ball of a few hundred particles that falls on a plane; frames 1 to 6.
extern const char fixture_scene[];

/// The scene with a text replaced; released with firn_free.
char *fixture_scene_with(const char *old_text, const char *new_text);

/// Loads a scene or fails the test.
firn_graph *fixture_load(const char *text, const char *folder);

/// An empty folder of its own; removed with fixture_remove.
void fixture_folder(char *path, size_t size);
void fixture_remove(const char *path);

/// All files below a folder as one checksum over names and bytes, except those that tell how long
/// it took and where it is.
uint64_t fixture_hash_files(const char *folder);

#endif
