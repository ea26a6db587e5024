/// The structure of a crate file, decoded and checked: every index in it is in range.
#ifndef FIRN_CRATE_READ_H
#define FIRN_CRATE_READ_H

#include "crate.h"

typedef struct firn_crate_spec {
    int32_t path, fields, type;
} firn_crate_spec;

typedef struct firn_crate_file {
    const char *name; // for messages
    unsigned char *bytes;
    size_t size;
    int minor;

    unsigned char *texts; // of all tokens, each with its end
    const char **tokens;
    size_t token_count;
    int32_t *strings; // tokens
    size_t string_count;
    int32_t *field_names; // tokens
    firn_crate_value *field_values;
    size_t field_count;
    int32_t *field_sets; // fields; -1 ends a set, and the last one is ended
    size_t field_set_count;
    int32_t *path_tokens;  // by the number of the path; negative: a property
    int32_t *path_parents; // -1: the root
    size_t path_count;
    firn_crate_spec *specs;
    size_t spec_count;
} firn_crate_file;

/// Reads and checks a file; released by firn_crate_release also after a failure.
firn_result firn_crate_read(const char *path, firn_crate_file *file, firn_error *error);
void firn_crate_release(firn_crate_file *file);

/// The value of a field of a spec; false: it has none of that name.
bool firn_crate_field(const firn_crate_file *file, const firn_crate_spec *spec, const char *name,
                      firn_crate_value *value);

/// The text of a token value, or NULL.
const char *firn_crate_text(const firn_crate_file *file, firn_crate_value value);

/// Writes "/snow/particles.points"; false when it is longer than the room.
bool firn_crate_path_text(const firn_crate_file *file, int32_t path, char *text, size_t size);

/// The bytes of an array value, or NULL with an error; *count is its length.
const unsigned char *firn_crate_items(const firn_crate_file *file, firn_crate_value value,
                                      size_t item_size, size_t *count, firn_error *error);

/// Values over time: where their times (doubles) and values (8 bytes each) stand, in any alignment;
/// false when they are damaged.
bool firn_crate_samples_of(const firn_crate_file *file, firn_crate_value samples,
                           const unsigned char **times, const unsigned char **values,
                           size_t *count);

/// Bytes from a place on, as far as they are in the file; NULL: they are not.
const unsigned char *firn_crate_at(const firn_crate_file *file, uint64_t place, size_t size);

/// The last of the values over time; false when they are damaged.
bool firn_crate_last_sample(const firn_crate_file *file, firn_crate_value samples, double *time,
                            firn_crate_value *value);

#endif
