/// Arrays that grow, counted against the memory limit of their owner.
#ifndef FIRN_MEMORY_H
#define FIRN_MEMORY_H

#include "firn/base.h"

typedef struct firn_budget {
    size_t used;  // bytes
    size_t peak;  // bytes
    size_t limit; // bytes, 0: none
} firn_budget;

/// A growing array without a type; data is 64-byte aligned.
typedef struct firn_array {
    void *data;
    size_t bytes;
} firn_array;

/// Makes room for count elements; what is there stays. Capacity grows by a share at least, so that
/// repeated growth is cheap; on failure nothing changes.
firn_result firn_array_reserve(firn_budget *budget, firn_array *array, size_t count, size_t element,
                               firn_error *error);

/// The same without keeping the contents, for scratch memory.
firn_result firn_array_claim(firn_budget *budget, firn_array *array, size_t count, size_t element,
                             firn_error *error);

/// memcpy by several threads at once; nothing when size is 0.
void firn_copy(void *to, const void *from, size_t size, int thread_count);

void firn_array_free(firn_budget *budget, firn_array *array);

/// Frees scratch memory that is large; a little is worth keeping for the next time.
void firn_array_relax(firn_budget *budget, firn_array *array);

#endif
