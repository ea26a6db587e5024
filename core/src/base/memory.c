#include "memory.h"

#include <string.h>

enum {
    LARGE = 1 << 20, // bytes
    KEPT = 1 << 16,  // bytes of scratch memory that are worth keeping
    CHUNK = 1 << 18, // bytes that a thread copies at a time
};

static firn_result resize(firn_budget *budget, firn_array *array, size_t bytes, bool keep,
                          firn_error *error)
{
    size_t held = keep ? array->bytes : 0;
    if (!keep)
        firn_array_free(budget, array);
    size_t others = budget->used - array->bytes;
    // While contents move, the old and the new memory are held at once.
    if (budget->limit > 0 && (bytes > budget->limit || others + held > budget->limit - bytes))
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "%.1f MB more would pass the memory limit of %.1f MB (%.1f MB in use); "
                         "raise memory_limit, enlarge the cells or use fewer particles",
                         1e-6 * (double)bytes, 1e-6 * (double)budget->limit,
                         1e-6 * (double)budget->used);
    void *data = firn_alloc(bytes);
    if (data == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "out of memory: cannot allocate %.1f MB more (%.1f MB in use)",
                         1e-6 * (double)bytes, 1e-6 * (double)budget->used);
    if (held > 0)
        memcpy(data, array->data, held);
    if (others + held + bytes > budget->peak)
        budget->peak = others + held + bytes;
    firn_array_free(budget, array);
    array->data = data;
    array->bytes = bytes;
    budget->used += bytes;
    return FIRN_OK;
}

static firn_result grow(firn_budget *budget, firn_array *array, size_t count, size_t element,
                        bool keep, firn_error *error)
{
    if (count > (SIZE_MAX / 2) / element)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: %zu elements of %zu bytes", count,
                         element);
    size_t bytes = count * element;
    if (bytes <= array->bytes)
        return FIRN_OK;
    // Large arrays grow by an eighth: still few copies, and little memory that nobody uses.
    size_t generous = array->bytes + array->bytes / (array->bytes > LARGE ? 8 : 2);
    if (generous > bytes && resize(budget, array, generous, keep, NULL) == FIRN_OK)
        return FIRN_OK;
    return resize(budget, array, bytes, keep, error);
}

firn_result firn_array_reserve(firn_budget *budget, firn_array *array, size_t count, size_t element,
                               firn_error *error)
{
    return grow(budget, array, count, element, true, error);
}

firn_result firn_array_claim(firn_budget *budget, firn_array *array, size_t count, size_t element,
                             firn_error *error)
{
    return grow(budget, array, count, element, false, error);
}

void firn_array_free(firn_budget *budget, firn_array *array)
{
    firn_free(array->data);
    budget->used -= array->bytes;
    array->data = NULL;
    array->bytes = 0;
}

void firn_array_relax(firn_budget *budget, firn_array *array)
{
    if (array->bytes > KEPT)
        firn_array_free(budget, array);
}

void firn_copy(void *to, const void *from, size_t size, int thread_count)
{
    size_t count = (size + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(count > 1 ? thread_count : 1)
    for (size_t c = 0; c < count; c++) {
        size_t at = c * CHUNK, rest = size - at;
        memcpy((char *)to + at, (const char *)from + at, rest < CHUNK ? rest : CHUNK);
    }
}
