#include "subd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CLASS_LIMIT = 16, NAME_LIMIT = 4 };

// Objects that are not used for the same reason.
typedef struct leftovers {
    char what[64];
    size_t count;
    int named[NAME_LIMIT]; // the first of them
} leftovers;

static bool is_used(const firn_abc *archive, int object, const char *pattern)
{
    const firn_abc_object_record *record = &archive->objects[object];
    switch (record->info.kind) {
    case FIRN_ABC_KIND_GROUP:
    case FIRN_ABC_KIND_XFORM:
    case FIRN_ABC_KIND_FACESET:
        return true; // they are where others are
    case FIRN_ABC_KIND_POLYMESH:
    case FIRN_ABC_KIND_SUBD:
        return firn_abc_object_matches(archive, object, pattern) ||
               firn_abc_selects_faces(archive, object, pattern);
    default:
        return false;
    }
}

// "AbcGeom_Curve_v2" is "Curve".
static void name_class(const firn_abc_object *info, char what[64])
{
    static const char *const known[] = {[FIRN_ABC_KIND_POLYMESH] = "meshes not selected",
                                        [FIRN_ABC_KIND_SUBD] = "meshes not selected",
                                        [FIRN_ABC_KIND_POINTS] = "points",
                                        [FIRN_ABC_KIND_CAMERA] = "cameras",
                                        [FIRN_ABC_KIND_OTHER] = NULL};
    if (known[info->kind] != NULL) {
        snprintf(what, 64, "%s", known[info->kind]);
        return;
    }
    char title[64];
    if (!firn_abc_metadata_value(info->metadata, "schemaObjTitle", title, sizeof title))
        firn_abc_metadata_value(info->metadata, "schema", title, sizeof title);
    title[strcspn(title, ":")] = '\0';
    char *version = strstr(title, "_v");
    if (version != NULL)
        *version = '\0';
    const char *begin = strncmp(title, "AbcGeom_", 8) == 0 ? title + 8 : title;
    snprintf(what, 64, "%s", begin);
}

static size_t collect(const firn_abc *archive, const char *pattern, leftovers *classes)
{
    size_t count = 0;
    for (int i = 1; i < archive->object_count; i++) {
        char what[64];
        if (is_used(archive, i, pattern))
            continue;
        name_class(&archive->objects[i].info, what);
        size_t k = 0;
        while (k < count && strcmp(classes[k].what, what) != 0)
            k++;
        if (k == CLASS_LIMIT)
            continue;
        if (k == count)
            snprintf(classes[count++].what, sizeof classes->what, "%s", what);
        if (classes[k].count < NAME_LIMIT)
            classes[k].named[classes[k].count] = i;
        classes[k].count++;
    }
    return count;
}

static void add(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

void firn_abc_leftover(const firn_abc *archive, const char *pattern, char *text, size_t size)
{
    FIRN_ASSERT(size > 0);
    leftovers classes[CLASS_LIMIT] = {0};
    size_t count = collect(archive, pattern, classes);
    text[0] = '\0';
    for (size_t k = 0; k < count; k++) {
        add(text, size, "%s%zu %s (", k > 0 ? ", " : "", classes[k].count, classes[k].what);
        for (size_t n = 0; n < classes[k].count && n < NAME_LIMIT; n++)
            add(text, size, "%s%.120s", n > 0 ? ", " : "",
                archive->objects[classes[k].named[n]].info.path);
        add(text, size, "%s)", classes[k].count > NAME_LIMIT ? ", ..." : "");
    }
}
