/// What all ..._def structs share: the cookie that tells a def made by its default function from
/// uninitialized memory and from a struct of other headers.
///
///     void firn_thing_def_reset(firn_thing_def *def, size_t size)
///     {
///         firn_thing_def full = {.cookie = firn_def_cookie(size)};
///         firn_params_reset(firn_thing_params(), &full);
///         firn_def_copy(def, size, &full, sizeof full);
///     }
#ifndef FIRN_DEFS_H
#define FIRN_DEFS_H

#include "firn/params.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The cookie of a def of this many bytes.
FIRN_API uint32_t firn_def_cookie(size_t size);

/// Copies a complete def to a caller whose struct has size bytes: never writes beyond it, and
/// zeroes what the caller has more.
FIRN_API void firn_def_copy(void *def, size_t size, const void *full, size_t full_size);

/// Refuses a def with the wrong cookie, then any value that the table does not allow.
/// size is the library's own sizeof; what names the owner in messages, as in "solver".
FIRN_API firn_result firn_def_check(uint32_t cookie, size_t size, firn_param_table table,
                                    const void *def, const char *what, firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
