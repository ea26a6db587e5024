#include "doc.h"

#include "firn/file.h"

#include <string.h>

typedef struct firn_usd_block {
    struct firn_usd_block *next;
    size_t used, size;
    char text[];
} firn_usd_block;

const char *firn_usd_doc_keep(firn_usd_doc *doc, const char *text, size_t length)
{
    enum { BLOCK = 1 << 16 };
    firn_usd_block *block = doc->blocks;
    if (block == NULL || length + 1 > block->size - block->used) {
        size_t size = length + 1 > BLOCK ? length + 1 : BLOCK;
        block = firn_alloc(sizeof *block + size);
        if (block == NULL)
            return NULL;
        *block = (firn_usd_block){.next = doc->blocks, .size = size};
        doc->blocks = block;
    }
    char *copy = block->text + block->used;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    block->used += length + 1;
    return copy;
}

// Makes place for one more.
static bool grow(void **rows, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t larger = 2 * *room + 64;
    void *moved = larger < SIZE_MAX / size ? firn_alloc(larger * size) : NULL;
    if (moved == NULL)
        return false;
    if (count > 0)
        memcpy(moved, *rows, count * size);
    firn_free(*rows);
    *rows = moved;
    *room = larger;
    return true;
}

int firn_usd_doc_add_spec(firn_usd_doc *doc, int parent, const char *name)
{
    if (doc->spec_count >= FIRN_USD_SPECS || name == NULL ||
        !grow((void **)&doc->specs, doc->spec_count, &doc->spec_room, sizeof *doc->specs))
        return -1;
    int added = (int)doc->spec_count++;
    doc->specs[added] = (firn_usd_spec){.name = name,
                                        .type = "",
                                        .parent = parent,
                                        .first_child = -1,
                                        .last_child = -1,
                                        .next = -1,
                                        .first_property = -1,
                                        .last_property = -1,
                                        .first_arc = -1,
                                        .last_arc = -1};
    if (parent < 0)
        return added;
    firn_usd_spec *above = &doc->specs[parent];
    if (above->first_child < 0)
        above->first_child = added;
    else
        doc->specs[above->last_child].next = added;
    above->last_child = added;
    return added;
}

int firn_usd_doc_add_property(firn_usd_doc *doc, int spec, const char *name, const char *type)
{
    if (doc->property_count >= FIRN_USD_SPECS || name == NULL || type == NULL ||
        !grow((void **)&doc->properties, doc->property_count, &doc->property_room,
              sizeof *doc->properties))
        return -1;
    int added = (int)doc->property_count++;
    doc->properties[added] = (firn_usd_property){.name = name, .type = type, .next = -1};
    firn_usd_spec *of = &doc->specs[spec];
    if (of->first_property < 0)
        of->first_property = added;
    else
        doc->properties[of->last_property].next = added;
    of->last_property = added;
    return added;
}

int firn_usd_doc_add_arc(firn_usd_doc *doc, int spec, firn_usd_arc arc)
{
    if (doc->arc_count >= FIRN_USD_SPECS || arc.asset == NULL || arc.prim == NULL ||
        !grow((void **)&doc->arcs, doc->arc_count, &doc->arc_room, sizeof *doc->arcs))
        return -1;
    int added = (int)doc->arc_count++;
    arc.next = -1;
    doc->arcs[added] = arc;
    firn_usd_spec *of = &doc->specs[spec];
    if (of->first_arc < 0)
        of->first_arc = added;
    else
        doc->arcs[of->last_arc].next = added;
    of->last_arc = added;
    return added;
}

bool firn_usd_doc_add_sample(firn_usd_doc *doc, firn_usd_sample sample)
{
    if (!grow((void **)&doc->samples, doc->sample_count, &doc->sample_room, sizeof *doc->samples))
        return false;
    doc->samples[doc->sample_count++] = sample;
    return true;
}

int firn_usd_doc_child(const firn_usd_doc *doc, int spec, const char *name)
{
    for (int i = doc->specs[spec].first_child; i >= 0; i = doc->specs[i].next)
        if (strcmp(doc->specs[i].name, name) == 0)
            return i;
    return -1;
}

int firn_usd_doc_find(const firn_usd_doc *doc, const char *path)
{
    int spec = 0;
    while (*path == '/' && spec >= 0) {
        char name[512];
        size_t length = strcspn(path + 1, "/");
        if (length == 0 || length >= sizeof name)
            return length == 0 && path[1] == '\0' ? spec : -1;
        memcpy(name, path + 1, length);
        name[length] = '\0';
        spec = firn_usd_doc_child(doc, spec, name);
        path += 1 + length;
    }
    return *path == '\0' ? spec : -1;
}

const firn_usd_property *firn_usd_doc_property(const firn_usd_doc *doc, int spec, const char *name)
{
    for (int i = doc->specs[spec].first_property; i >= 0; i = doc->properties[i].next)
        if (strcmp(doc->properties[i].name, name) == 0)
            return &doc->properties[i];
    return NULL;
}

// --- Opening -------------------------------------------------------------------------------------

static firn_result open_text(firn_usd_doc *doc, void *bytes, size_t size, firn_error *error)
{
    doc->is_text = true;
    doc->text = bytes;
    doc->text_size = size;
    return firn_usd_doc_parse(doc, error);
}

static firn_result open_as(firn_usd_doc *doc, firn_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_file_read(doc->path, SIZE_MAX / 4, &bytes, &size, error));
    if (size >= 5 && memcmp(bytes, "#usda", 5) == 0)
        return open_text(doc, bytes, size, error);
    bool packed = size >= 4 && memcmp(bytes, "PK\3\4", 4) == 0;
    firn_free(bytes);
    if (packed)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "'%.300s' is a package of USD layers; unpack it (unzip) and name the "
                         "layer in it",
                         doc->path);
    FIRN_TRY(firn_crate_read(doc->path, &doc->crate, error));
    return firn_usd_doc_decode(doc, error);
}

firn_result firn_usd_doc_open(const char *path, firn_usd_doc **out, firn_error *error)
{
    *out = NULL;
    firn_usd_doc *doc = firn_alloc_zero(sizeof *doc);
    if (doc == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot open '%.300s': out of memory", path);
    doc->default_prim = doc->up_axis = "";
    doc->path = firn_alloc(strlen(path) + 1);
    firn_result result = FIRN_OK;
    if (doc->path == NULL || firn_usd_doc_add_spec(doc, -1, "") < 0)
        result = firn_fail(error, FIRN_ERR_MEMORY, "cannot open '%.300s': out of memory", path);
    else
        memcpy(doc->path, path, strlen(path) + 1);
    if (result == FIRN_OK)
        result = open_as(doc, error);
    if (result != FIRN_OK) {
        firn_usd_doc_close(doc);
        return result;
    }
    *out = doc;
    return FIRN_OK;
}

void firn_usd_doc_close(firn_usd_doc *doc)
{
    if (doc == NULL)
        return;
    while (doc->blocks != NULL) {
        firn_usd_block *next = doc->blocks->next;
        firn_free(doc->blocks);
        doc->blocks = next;
    }
    firn_crate_release(&doc->crate);
    firn_free(doc->path);
    firn_free(doc->text);
    firn_free(doc->specs);
    firn_free(doc->properties);
    firn_free(doc->samples);
    firn_free(doc->arcs);
    firn_free(doc);
}

firn_result firn_usd_doc_numbers(const firn_usd_doc *doc, firn_usd_ref value,
                                 firn_usd_number_kind kind, firn_usd_numbers *numbers,
                                 firn_error *error)
{
    *numbers = (firn_usd_numbers){.kind = kind, .tuple = 1};
    if (!value.given)
        return FIRN_OK;
    firn_result result = doc->is_text
                             ? firn_usd_text_numbers(doc, (size_t)value.place, numbers, error)
                             : firn_usd_crate_numbers(doc, value.place, numbers, error);
    if (result != FIRN_OK) {
        firn_free(numbers->data);
        *numbers = (firn_usd_numbers){.kind = kind, .tuple = 1};
    }
    return result;
}
