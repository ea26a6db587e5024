#include "graph_state.h"

#include <string.h>

firn_result firn_grow(void *items, size_t *capacity, size_t count, size_t item_size,
                      firn_error *error)
{
    if (count < *capacity)
        return FIRN_OK;
    size_t wanted = *capacity > 0 ? 2 * *capacity : 8;
    void *old = NULL;
    memcpy(&old, items, sizeof old);
    void *grown = firn_alloc_zero(wanted * item_size);
    if (grown == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make the graph larger");
    if (old != NULL)
        memcpy(grown, old, count * item_size);
    firn_free(old);
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return FIRN_OK;
}

char *firn_text_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = firn_alloc(size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

bool firn_list_has(const char *list, const char *name)
{
    if (list == NULL)
        return false;
    if (strcmp(list, "*") == 0)
        return true;
    size_t length = strlen(name);
    for (const char *at = list; *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, name, length) == 0)
            return true;
        at += word;
        at += *at == ' ';
    }
    return false;
}
