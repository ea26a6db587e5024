#include "archive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "firn/file.h"

enum { TEXT_CHUNK = 4096 };

// The shortest object or property takes 14 bytes of a file and about 100 of the table of contents,
// so that honest archives stay far below this; only groups shared by many parents exceed it.
enum { INDEX_BYTES_PER_FILE_BYTE = 16, INDEX_BYTES_ALWAYS = 1 << 16 };

struct firn_abc_text_chunk {
    firn_abc_text_chunk *next;
    size_t used, size;
    char text[];
};

firn_result firn_abc_claim(firn_abc *archive, const firn_abc_place *place, size_t bytes)
{
    uint64_t limit = INDEX_BYTES_ALWAYS;
    if (archive->source.size < (UINT64_MAX - limit) / INDEX_BYTES_PER_FILE_BYTE)
        limit += INDEX_BYTES_PER_FILE_BYTE * archive->source.size;
    if (bytes > limit - archive->index_bytes)
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "it lists more objects and properties than a file of %llu bytes can "
                             "hold",
                             (unsigned long long)archive->source.size);
    archive->index_bytes += bytes;
    return FIRN_OK;
}

firn_result firn_abc_grow(firn_abc *archive, const firn_abc_place *place, void **elements,
                          int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return FIRN_OK;
    if (*capacity > INT32_MAX / 2)
        return firn_abc_fail(place, FIRN_ERR_UNSUPPORTED, "it lists more than 2^30 things");
    int larger = *capacity > 0 ? 2 * *capacity : 8;
    FIRN_TRY(firn_abc_claim(archive, place, (size_t)(larger - *capacity) * size));
    void *moved = firn_abc_alloc_array((size_t)larger, size);
    if (moved == NULL)
        return firn_abc_fail_memory(place, (size_t)larger * size);
    if (count > 0)
        memcpy(moved, *elements, (size_t)count * size);
    firn_free(*elements);
    *elements = moved;
    *capacity = larger;
    return FIRN_OK;
}

firn_result firn_abc_text(firn_abc *archive, const firn_abc_place *place, const char *prefix,
                          const unsigned char *text, size_t length, const char **copy)
{
    size_t prefix_length = prefix != NULL ? strlen(prefix) + 1 : 0;
    size_t total = prefix_length + length + 1;
    firn_abc_text_chunk *chunk = archive->text;
    if (chunk == NULL || chunk->size - chunk->used < total) {
        size_t size = total > TEXT_CHUNK ? total : TEXT_CHUNK;
        FIRN_TRY(firn_abc_claim(archive, place, size));
        chunk = firn_alloc(sizeof *chunk + size);
        if (chunk == NULL)
            return firn_abc_fail_memory(place, size);
        *chunk = (firn_abc_text_chunk){.next = archive->text, .size = size};
        archive->text = chunk;
    }
    char *at = chunk->text + chunk->used;
    if (prefix != NULL) {
        memcpy(at, prefix, prefix_length - 1);
        at[prefix_length - 1] = '/';
    }
    if (length > 0)
        memcpy(at + prefix_length, text, length);
    at[total - 1] = '\0';
    chunk->used += total;
    *copy = at;
    return FIRN_OK;
}

bool firn_abc_is_name(const unsigned char *text, size_t length)
{
    return length > 0 && memchr(text, '/', length) == NULL && memchr(text, '\0', length) == NULL;
}

firn_result firn_abc_header_metadata(firn_abc *archive, const firn_abc_place *place, unsigned index,
                                     const unsigned char *text, size_t length,
                                     const char **metadata)
{
    if (index == OGAWA_METADATA_INLINE)
        return firn_abc_text(archive, place, NULL, text, length, metadata);
    if (index >= (unsigned)archive->metadata_count)
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "metadata %u is not among the %d of the archive", index,
                             archive->metadata_count - 1);
    *metadata = archive->metadata_table[index];
    return FIRN_OK;
}

static firn_result load_metadata_table(firn_abc *archive, const firn_abc_place *place,
                                       uint64_t word)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_abc_data_load(place, word, &bytes, &size));
    archive->metadata_table[0] = "";
    archive->metadata_count = 1;
    firn_result result = FIRN_OK;
    if (size > OGAWA_METADATA_TABLE_LIMIT)
        result = firn_abc_fail(place, FIRN_ERR_FORMAT, "its metadata table has %zu bytes", size);
    ogawa_cursor cursor = {bytes, bytes != NULL ? bytes + size : bytes};
    while (result == FIRN_OK && cursor.at < cursor.end) {
        uint32_t length;
        const unsigned char *text;
        if (archive->metadata_count >= OGAWA_METADATA_INLINE || !firn_ogawa_u8(&cursor, &length) ||
            !firn_ogawa_take(&cursor, length, &text))
            result = firn_abc_fail(place, FIRN_ERR_FORMAT, "its metadata table is damaged");
        else
            result = firn_abc_text(archive, place, NULL, text, length,
                                   &archive->metadata_table[archive->metadata_count++]);
    }
    firn_free(bytes);
    return result;
}

static firn_result load_number(const firn_abc_place *place, uint64_t word, int32_t *number)
{
    uint64_t offset = 0, size = 0;
    FIRN_TRY(firn_abc_data(place, word, &offset, &size));
    if (size != sizeof *number)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "a version number of it is damaged");
    return firn_abc_bytes(place, offset, number, sizeof *number);
}

static firn_result load_versions(firn_abc *archive, const firn_abc_place *place,
                                 const uint64_t *children)
{
    int32_t layout = 0, library = 0;
    FIRN_TRY(load_number(place, children[0], &layout));
    FIRN_TRY(load_number(place, children[1], &library));
    if (layout != OGAWA_LAYOUT_VERSION || library < OGAWA_MIN_LIBRARY_VERSION)
        return firn_abc_fail(place, FIRN_ERR_UNSUPPORTED,
                             "it has layout version %d of library version %d; only layout %d of "
                             "%d and later is known",
                             layout, library, OGAWA_LAYOUT_VERSION, OGAWA_MIN_LIBRARY_VERSION);
    archive->library_version = library;
    return FIRN_OK;
}

static firn_result load_header(const firn_abc_place *place, uint64_t *root)
{
    unsigned char header[OGAWA_HEADER_SIZE] = {0};
    uint64_t size = place->archive->source.size;
    FIRN_TRY(firn_abc_bytes(place, 0, header, size < sizeof header ? (size_t)size : sizeof header));
    if (memcmp(header, "\x89HDF", 4) == 0)
        return firn_abc_fail(place, FIRN_ERR_UNSUPPORTED,
                             "it is an old Alembic archive in HDF5; convert it to Ogawa with "
                             "abcconvert");
    if (size < sizeof header || memcmp(header, OGAWA_MAGIC, strlen(OGAWA_MAGIC)) != 0)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "it is not an Alembic (Ogawa) archive");
    if (header[OGAWA_FROZEN_AT] != OGAWA_FROZEN)
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "it was not finished; its writer was interrupted or is still at work");
    if (header[6] != 0 || header[7] != 1)
        return firn_abc_fail(place, FIRN_ERR_UNSUPPORTED,
                             "it has version %d of the Ogawa format; only version 1 is known",
                             256 * header[6] + header[7]);
    memcpy(root, header + OGAWA_ROOT_OFFSET_AT, sizeof *root);
    return FIRN_OK;
}

static firn_result load_index(firn_abc *archive, firn_error *error)
{
    firn_abc_place place = {.archive = archive, .error = error};
    uint64_t root = 0, count = 0, children[OGAWA_ROOT_CHILDREN] = {0};
    FIRN_TRY(load_header(&place, &root));
    FIRN_TRY(firn_abc_group(&place, root, &count));
    if (count < OGAWA_ROOT_CHILDREN)
        return firn_abc_fail(&place, FIRN_ERR_FORMAT, "its root has %llu parts instead of %d",
                             (unsigned long long)count, OGAWA_ROOT_CHILDREN);
    for (uint64_t i = 0; i < OGAWA_ROOT_CHILDREN; i++)
        FIRN_TRY(firn_abc_child(&place, root, i, &children[i]));
    FIRN_TRY(load_versions(archive, &place, children));

    unsigned char *metadata = NULL;
    size_t metadata_size = 0;
    FIRN_TRY(firn_abc_data_load(&place, children[3], &metadata, &metadata_size));
    firn_result result =
        firn_abc_text(archive, &place, NULL, metadata, metadata_size, &archive->metadata);
    firn_free(metadata);
    FIRN_TRY(result);

    FIRN_TRY(firn_abc_load_samplings(archive, &place, children[4]));
    FIRN_TRY(load_metadata_table(archive, &place, children[5]));
    return firn_abc_load_objects(archive, &place, children[2]);
}

firn_result firn_abc_create(const char *name, firn_abc **out, firn_error *error)
{
    size_t length = strlen(name);
    firn_abc *archive = firn_alloc_zero(sizeof *archive);
    if (archive != NULL) {
        archive->source.descriptor = -1;
        archive->name = firn_alloc(length + 1);
        if (archive->name != NULL) {
            memcpy(archive->name, name, length + 1);
            *out = archive;
            return FIRN_OK;
        }
    }
    firn_free(archive);
    return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%.500s': out of memory", name);
}

static firn_result finish_open(firn_abc *archive, firn_abc **out, firn_error *error)
{
    firn_result result = FIRN_OK;
    if (!firn_ogawa_start_cache(&archive->source))
        result =
            firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%.500s': out of memory", archive->name);
    if (result == FIRN_OK)
        result = load_index(archive, error);
    if (result != FIRN_OK) {
        firn_abc_close(archive);
        return result;
    }
    firn_ogawa_stop_cache(&archive->source);
    *out = archive;
    return FIRN_OK;
}

firn_result firn_abc_open(const char *path, firn_abc **out, firn_error *error)
{
    *out = NULL;
    firn_abc *archive = NULL;
    FIRN_TRY(firn_abc_create(path, &archive, error));
    int failure = firn_ogawa_open(&archive->source, path);
    if (failure == 0)
        return finish_open(archive, out, error);
    firn_abc_close(archive);
    if (failure == EINVAL)
        return firn_fail(error, FIRN_ERR_IO, "cannot read '%.500s': not a regular file", path);
    return firn_fail_errno(error, failure, "read", path);
}

firn_result firn_abc_open_memory(const void *bytes, size_t size, const char *name, firn_abc **out,
                                 firn_error *error)
{
    *out = NULL;
    firn_abc *archive = NULL;
    FIRN_TRY(firn_abc_create(name, &archive, error));
    // A file of no bytes has no address either; it still is in memory.
    firn_ogawa_open_memory(&archive->source, bytes != NULL ? bytes : name, size);
    return finish_open(archive, out, error);
}

void firn_abc_close(firn_abc *archive)
{
    if (archive == NULL)
        return;
    firn_ogawa_close(&archive->source);
    for (int i = 0; i < archive->layer_count; i++)
        firn_abc_close(archive->layers[i]);
    firn_free(archive->layers);
    while (archive->text != NULL) {
        firn_abc_text_chunk *next = archive->text->next;
        firn_free(archive->text);
        archive->text = next;
    }
    firn_free(archive->samplings);
    firn_free(archive->times);
    firn_free(archive->objects);
    firn_free(archive->properties);
    firn_free(archive->name);
    firn_free(archive);
}

const char *firn_abc_metadata(const firn_abc *archive) { return archive->metadata; }

int firn_abc_library_version(const firn_abc *archive) { return archive->library_version; }

bool firn_abc_metadata_value(const char *metadata, const char *key, char *value, size_t size)
{
    FIRN_ASSERT(size > 0);
    value[0] = '\0';
    size_t key_length = strlen(key);
    for (const char *at = metadata; *at != '\0';) {
        size_t length = strcspn(at, ";");
        const char *equals = memchr(at, '=', length);
        if (equals == NULL)
            return false;
        if ((size_t)(equals - at) == key_length && memcmp(at, key, key_length) == 0) {
            int value_length = (int)(length - key_length - 1);
            snprintf(value, size, "%.*s", value_length, equals + 1);
            return true;
        }
        at += length;
        at += *at == ';' ? 1 : 0;
    }
    return false;
}
