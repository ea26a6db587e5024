/// What processes that share a cache leave about single frames: records beside its manifest, until
/// somebody who has the cache for himself merges them into it.
#ifndef FIRN_RECORDS_H
#define FIRN_RECORDS_H

#include "manifest_json.h"

#define FIRN_RECORD_FOLDER "frames"

typedef struct firn_records {
    json_t **roots;
    size_t count, capacity;
} firn_records;

/// The folder of records of a cache; makes it. FIRN_ERR_FORMAT when it is none, or elsewhere.
firn_result firn_records_open(const char *cache, char *path, size_t size, firn_error *error);

/// Says what one node wrote of a frame.
firn_result firn_record_write(const char *cache, const char *node, const firn_cache_frame *frame,
                              firn_error *error);

/// Reads all that are whole. One that is not counts as if the frame had not been made.
firn_result firn_records_read(const char *cache, firn_records *records, firn_error *error);
firn_result firn_records_merge(const firn_records *records, firn_manifest *manifest,
                               firn_error *error);
void firn_records_free(firn_records *records);

/// Before they are read to be merged for good, and when the manifest is written: only by whoever
/// has the lock of the cache. Those that come in between stay.
bool firn_records_claim(const char *cache); // true: there are some
void firn_records_discard(const char *cache);

#endif
