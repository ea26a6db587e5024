#include "archive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "firn/file.h"

firn_abc_place firn_abc_place_of(const firn_abc *archive, int object, int property,
                                 firn_error *error)
{
    firn_abc_place place = {.archive = archive, .error = error};
    if (object >= 0)
        place.object = archive->objects[object].info.path;
    if (property >= 0)
        place.property = archive->properties[property].info.path;
    return place;
}

firn_result firn_abc_fail(const firn_abc_place *place, firn_result code, const char *format, ...)
{
    char reason[FIRN_MESSAGE_SIZE / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    char where[FIRN_MESSAGE_SIZE / 4] = "";
    if (place->object != NULL && place->property != NULL)
        snprintf(where, sizeof where, "object '%.120s', property '%.90s': ", place->object,
                 place->property);
    else if (place->object != NULL)
        snprintf(where, sizeof where, "object '%.200s': ", place->object);
    return firn_fail(place->error, code, "cannot read '%.240s': %s%s", place->archive->name, where,
                     reason);
}

firn_result firn_abc_fail_memory(const firn_abc_place *place, size_t bytes)
{
    return firn_abc_fail(place, FIRN_ERR_MEMORY, "out of memory for %zu bytes", bytes);
}

void *firn_abc_alloc_array(size_t count, size_t size)
{
    if (count > SIZE_MAX / size)
        return NULL;
    return firn_alloc(count * size);
}

firn_result firn_abc_bytes(const firn_abc_place *place, uint64_t offset, void *bytes, size_t size)
{
    switch (firn_ogawa_read(&place->archive->source, offset, bytes, size)) {
    case OGAWA_READ_OK:
        return FIRN_OK;
    case OGAWA_READ_SHORTER:
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the file became shorter while being read");
    default:
        return firn_fail_errno(place->error, errno, "read", place->archive->name);
    }
}

static firn_result block_head(const firn_abc_place *place, uint64_t offset, const char *what,
                              uint64_t *head, uint64_t *room)
{
    uint64_t size = place->archive->source.size;
    if (offset < OGAWA_HEADER_SIZE || size < 8 || offset > size - 8)
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "a %s is said to be at byte %llu of a file of %llu bytes; it is "
                             "damaged or cut short",
                             what, (unsigned long long)offset, (unsigned long long)size);
    *room = size - 8 - offset;
    return firn_abc_bytes(place, offset, head, sizeof *head);
}

firn_result firn_abc_group(const firn_abc_place *place, uint64_t word, uint64_t *count)
{
    *count = 0;
    if (word == 0)
        return FIRN_OK;
    if ((word & OGAWA_DATA_BIT) != 0)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "there is data where a group is expected");
    uint64_t room = 0;
    FIRN_TRY(block_head(place, word, "group", count, &room));
    if (*count > room / 8)
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "a group at byte %llu claims %llu children, more than the file holds",
                             (unsigned long long)word, (unsigned long long)*count);
    return FIRN_OK;
}

firn_result firn_abc_child(const firn_abc_place *place, uint64_t group, uint64_t index,
                           uint64_t *word)
{
    return firn_abc_bytes(place, group + 8 + 8 * index, word, sizeof *word);
}

firn_result firn_abc_data(const firn_abc_place *place, uint64_t word, uint64_t *offset,
                          uint64_t *size)
{
    *offset = 0;
    *size = 0;
    if ((word & OGAWA_DATA_BIT) == 0)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "there is a group where data is expected");
    uint64_t at = word & ~OGAWA_DATA_BIT;
    if (at == 0)
        return FIRN_OK;
    uint64_t room = 0;
    FIRN_TRY(block_head(place, at, "data block", size, &room));
    if (*size > room)
        return firn_abc_fail(
            place, FIRN_ERR_FORMAT,
            "a data block at byte %llu claims %llu bytes, more than the file holds",
            (unsigned long long)at, (unsigned long long)*size);
    *offset = at + 8;
    return FIRN_OK;
}

firn_result firn_abc_data_load(const firn_abc_place *place, uint64_t word, unsigned char **bytes,
                               size_t *size)
{
    *bytes = NULL;
    *size = 0;
    uint64_t offset = 0, length = 0;
    FIRN_TRY(firn_abc_data(place, word, &offset, &length));
    if (length == 0)
        return FIRN_OK;
    if (length > SIZE_MAX)
        return firn_abc_fail_memory(place, SIZE_MAX);
    unsigned char *block = firn_alloc((size_t)length);
    if (block == NULL)
        return firn_abc_fail_memory(place, (size_t)length);
    firn_result result = firn_abc_bytes(place, offset, block, (size_t)length);
    if (result != FIRN_OK) {
        firn_free(block);
        return result;
    }
    *bytes = block;
    *size = (size_t)length;
    return FIRN_OK;
}
