#include "firn/defs.h"

#include <string.h>

uint32_t firn_def_cookie(size_t size)
{
    uint64_t bytes = size;
    return (uint32_t)firn_hash64(&bytes, sizeof bytes, 0) | 1u; // zeroed memory never matches
}

void firn_def_copy(void *def, size_t size, const void *full, size_t full_size)
{
    size_t common = size < full_size ? size : full_size;
    memcpy(def, full, common);
    memset((char *)def + common, 0, size - common);
}

firn_result firn_def_check(uint32_t cookie, size_t size, firn_param_table table, const void *def,
                           const char *what, firn_error *error)
{
    if (cookie != firn_def_cookie(size))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the %s settings are not initialized, or the program was compiled with "
                         "headers of another version; start from the default function",
                         what);
    return firn_params_check(table, def, what, error);
}
