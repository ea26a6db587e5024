/// What the readers and writers of Houdini geometry share.
#ifndef FIRN_BGEO_FILE_H
#define FIRN_BGEO_FILE_H

#include "byte_source.h"
#include "json.h"
#include "sink.h"

#include "firn/bgeo.h"

typedef struct firn_bgeo_block firn_bgeo_block;

typedef struct firn_bgeo_table {
    firn_attribute *rows;
    size_t count, capacity;
} firn_bgeo_table;

struct firn_bgeo {
    firn_points points;
    firn_bgeo_info info;
    firn_bgeo_block *blocks; // all memory below
    uint64_t claimed, max_bytes;
    firn_bgeo_table attributes, details;
    const char **skipped;
    size_t skipped_capacity;
};

/// Memory that lives as long as the geometry, within the limits; NULL after a failure that has
/// been reported.
void *firn_bgeo_claim(firn_bgeo *geometry, firn_byte_source *source, uint64_t count, size_t size);

/// A copy of text, or NULL.
const char *firn_bgeo_claim_text(firn_bgeo *geometry, firn_byte_source *source, const char *text,
                                 size_t length);

firn_result firn_bgeo_add(firn_bgeo *geometry, firn_byte_source *source, firn_bgeo_table *table,
                          const firn_attribute *attribute);
firn_result firn_bgeo_add_skipped(firn_bgeo *geometry, firn_byte_source *source, const char *name);

firn_result firn_bgeo_read_json(firn_bgeo *geometry, firn_byte_source *source);
firn_result firn_bgeo_read_classic(firn_bgeo *geometry, firn_byte_source *source);

/// A list of names and values, stored as an array or a map: reads the next name and the first
/// token of its value. *more is false after the last.
firn_result firn_bgeo_next_pair(firn_json *json, char *key, size_t key_size, firn_json_token *value,
                                bool *more);

/// The "values" of an attribute: count tuples into data, which is claimed when they appear.
/// attribute->name is not looked at; storage FIRN_STORAGE_COUNT on return: a kind not read.
firn_result firn_bgeo_read_values(firn_bgeo *geometry, firn_json *json, size_t count,
                                  firn_attribute *attribute);

firn_result firn_bgeo_expect_integer(firn_json *json, const firn_json_token *token, int64_t lower,
                                     int64_t upper, int64_t *value);

void firn_bgeo_write_json(firn_sink *sink, const firn_points *points, const firn_bgeo_def *def);
firn_result firn_bgeo_check_classic(const firn_points *points, firn_error *error);
void firn_bgeo_write_classic(firn_sink *sink, const firn_points *points);

#endif
