/// Writes a crate file: values go to the file as they come, structure is kept until the end.
///
///     firn_crate_writer *crate = NULL;
///     FIRN_TRY(firn_crate_create("points.0001.usdc", &crate, error));
///     int root = firn_crate_add_path(crate, -1, "", false);
///     firn_crate_begin_spec(crate, root, FIRN_SPEC_ROOT);
///     firn_crate_add_field(crate, "defaultPrim", firn_crate_token(crate, "snow"));
///     firn_crate_end_spec(crate);
///     FIRN_TRY(firn_crate_finish(crate, error)); // reports any earlier failure; frees crate
#ifndef FIRN_CRATE_WRITE_H
#define FIRN_CRATE_WRITE_H

#include "crate.h"

typedef struct firn_crate_writer firn_crate_writer;

firn_result firn_crate_create(const char *path, firn_crate_writer **crate, firn_error *error);
firn_result firn_crate_finish(firn_crate_writer *crate, firn_error *error);

/// Ends it for want of memory; nothing stays on disk.
firn_result firn_crate_abandon(firn_crate_writer *crate, firn_error *error);

/// Paths come depth first: every path after its parent, and all that is below it before its next
/// sibling. The first is the root; parent -1 and no name.
int firn_crate_add_path(firn_crate_writer *crate, int parent, const char *name, bool is_property);

/// A spec and its fields, one spec at a time.
void firn_crate_begin_spec(firn_crate_writer *crate, int path, firn_spec_type type);
void firn_crate_add_field(firn_crate_writer *crate, const char *name, firn_crate_value value);
void firn_crate_end_spec(firn_crate_writer *crate);

/// Values. Arrays are copied to the file as they are.
firn_crate_value firn_crate_token(firn_crate_writer *crate, const char *text);
firn_crate_value firn_crate_tokens(firn_crate_writer *crate, const char *const *texts,
                                   size_t count);
firn_crate_value firn_crate_double(firn_crate_writer *crate, double number);
firn_crate_value firn_crate_array(firn_crate_writer *crate, firn_crate_type type, const void *data,
                                  size_t count, size_t item_size);

/// Values over time; times rise.
firn_crate_value firn_crate_samples(firn_crate_writer *crate, const double *times,
                                    const firn_crate_value *values, size_t count);

/// Bools, ints and enums, which are in the value itself.
static inline firn_crate_value firn_crate_inlined(firn_crate_type type, uint32_t bits)
{
    return FIRN_CRATE_IS_INLINED | (uint64_t)type << 48 | bits;
}

#endif
