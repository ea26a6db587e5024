/// Files and frames of a cache as JSON, for its manifest and its records.
#ifndef FIRN_MANIFEST_JSON_H
#define FIRN_MANIFEST_JSON_H

#include "json_text.h"
#include "manifest.h"

json_t *firn_hex_json(uint64_t value);
json_t *firn_files_json(const firn_cache_file *files, size_t count);

/// Numbers of a frame: those about the snow, or those about the run, which another has not.
json_t *firn_stats_json(const firn_cache_frame *frame, bool of_the_run);
json_t *firn_frame_json(const firn_cache_frame *frame);

firn_result firn_json_load(const char *path, json_t **root, firn_error *error);
bool firn_hex_read(const json_t *json, uint64_t *value);

/// Texts stay those of the JSON.
bool firn_file_json_read(const json_t *json, firn_cache_file *file);

/// Hands a frame on; graph is the hash of one that does not tell its own. *fine: it is one.
typedef firn_result firn_frame_taker(const firn_cache_frame *frame, void *user, firn_error *error);
firn_result firn_frame_json_read(const json_t *json, uint64_t graph, firn_frame_taker *take,
                                 void *user, bool *fine, firn_error *error);

#endif
