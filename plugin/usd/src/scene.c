#include "scene.h"

#include "firn/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

firn_result firn_usd_fail_memory(const firn_usd_scene *scene, firn_error *error)
{
    return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%.300s': out of memory",
                     scene->docs[0]->path);
}

firn_result firn_usd_fail_prim(const firn_usd_scene *scene, int prim, const char *what,
                               firn_error *error)
{
    return firn_fail(error, FIRN_ERR_FORMAT, "'%.300s', prim %.200s: %s", scene->docs[0]->path,
                     scene->prims[prim].path, what);
}

static void describe(firn_usd_scene *scene)
{
    const firn_usd_doc *doc = scene->docs[0];
    // What USD itself takes where nothing is said: centimeters, Y up.
    double unit = doc->meters_per_unit > 0.0 ? doc->meters_per_unit : 0.01;
    const char *up = doc->up_axis[0] != '\0' ? doc->up_axis : "Y";
    snprintf(scene->metadata, sizeof scene->metadata, "metersPerUnit=%.9g;upAxis=%.8s", unit, up);
    for (char *at = scene->metadata; *at != '\0'; at++)
        *at = *at == ',' ? '.' : *at; // of a locale
}

firn_result firn_usd_scene_open(const char *path, firn_usd_scene **out, firn_error *error)
{
    enum { DOCS = 4096 };
    *out = NULL;
    firn_usd_scene *scene = firn_alloc_zero(sizeof *scene);
    if (scene != NULL)
        scene->docs = firn_alloc_zero(DOCS * sizeof *scene->docs);
    if (scene == NULL || scene->docs == NULL) {
        firn_free(scene);
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot open '%.300s': out of memory", path);
    }
    firn_result result = firn_usd_doc_open(path, &scene->docs[0], error);
    if (result == FIRN_OK) {
        scene->doc_count = 1;
        describe(scene);
        result = firn_usd_compose(scene, error);
    }
    if (result != FIRN_OK) {
        firn_usd_scene_close(scene);
        return result;
    }
    *out = scene;
    return FIRN_OK;
}

void firn_usd_scene_close(firn_usd_scene *scene)
{
    if (scene == NULL)
        return;
    for (size_t i = 0; i < scene->doc_count; i++)
        firn_usd_doc_close(scene->docs[i]);
    for (size_t i = 0; i < scene->prim_count; i++)
        firn_free(scene->prims[i].path);
    firn_free(scene->docs);
    firn_free(scene->prims);
    firn_free(scene->opinions);
    firn_free(scene);
}

const char *firn_usd_scene_metadata(const firn_usd_scene *scene) { return scene->metadata; }

// --- What there is -------------------------------------------------------------------------------

bool firn_usd_scene_prim(const firn_usd_scene *scene, size_t index, firn_usd_prim_view *view)
{
    if (index >= scene->prim_count)
        return false;
    const firn_usd_prim *prim = &scene->prims[index];
    *view = (firn_usd_prim_view){prim->path, prim->type, prim->depth, 0};
    for (int o = prim->first_opinion; o >= 0; o = scene->opinions[o].next) {
        const firn_usd_opinion *from = &scene->opinions[o];
        const firn_usd_doc *doc = scene->docs[from->doc];
        for (int k = doc->specs[from->spec].first_property; k >= 0; k = doc->properties[k].next)
            if (doc->properties[k].sample_count > view->sample_count)
                view->sample_count = doc->properties[k].sample_count;
    }
    return true;
}

enum { CLASS_LIMIT = 16, NAME_LIMIT = 4 };

/// Prims that are not used for the same reason.
typedef struct leftovers {
    const char *what;
    size_t count;
    int named[NAME_LIMIT];
} leftovers;

// Why a prim is not used; NULL: it is, or is where others are.
static const char *reason_of(const firn_usd_scene *scene, int prim, const char *pattern)
{
    static const char *const plain[] = {"",         "Xform",      "Scope",        "GeomSubset",
                                        "SkelRoot", "BlendShape", "Skeleton",     "Material",
                                        "Shader",   "NodeGraph",  "SkelAnimation"};
    for (size_t i = 0; i < FIRN_COUNT(plain); i++)
        if (firn_usd_is_type(scene, prim, plain[i]))
            return NULL;
    if (!firn_usd_is_type(scene, prim, "Mesh"))
        return scene->prims[prim].type;
    return firn_usd_mesh_selected(scene, prim, pattern) ? NULL : "meshes not selected";
}

static void add(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

void firn_usd_scene_leftover(const firn_usd_scene *scene, const char *pattern, char *text,
                             size_t size)
{
    leftovers classes[CLASS_LIMIT] = {0};
    size_t count = 0;
    text[0] = '\0';
    for (size_t i = 1; i < scene->prim_count; i++) {
        const char *what =
            firn_usd_prim_counts(scene, (int)i) ? reason_of(scene, (int)i, pattern) : NULL;
        size_t k = 0;
        while (what != NULL && k < count && strcmp(classes[k].what, what) != 0)
            k++;
        if (what == NULL || k == CLASS_LIMIT)
            continue;
        count += k == count;
        classes[k].what = what;
        if (classes[k].count < NAME_LIMIT)
            classes[k].named[classes[k].count] = (int)i;
        classes[k].count++;
    }
    for (size_t k = 0; k < count; k++) {
        add(text, size, "%s%zu %.60s (", k > 0 ? ", " : "", classes[k].count, classes[k].what);
        for (size_t n = 0; n < classes[k].count && n < NAME_LIMIT; n++)
            add(text, size, "%s%.120s", n > 0 ? ", " : "", scene->prims[classes[k].named[n]].path);
        add(text, size, "%s)", classes[k].count > NAME_LIMIT ? ", ..." : "");
    }
}

bool firn_usd_scene_range(const firn_usd_scene *scene, const char *pattern, double *first,
                          double *last)
{
    bool any = false;
    double from = 0.0, to = 0.0;
    static const char *const names[] = {"points", "faceVertexCounts", "velocities", "visibility"};
    for (size_t i = 1; i < scene->prim_count; i++) {
        int prim = (int)i;
        bool wanted =
            firn_usd_mesh_selected(scene, prim, pattern) ||
            (firn_usd_is_points(scene, prim) && firn_path_matches(pattern, scene->prims[i].path));
        if (!wanted)
            continue;
        for (size_t k = 0; k < FIRN_COUNT(names); k++)
            firn_usd_add_range(scene, prim, names[k], &from, &to, &any);
        firn_usd_add_skin_range(scene, prim, &from, &to, &any);
        firn_usd_add_moving_range(scene, prim, &from, &to, &any);
    }
    *first = from / scene->codes_per_second;
    *last = to / scene->codes_per_second;
    return any;
}
