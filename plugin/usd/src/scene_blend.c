// Blend shapes: offsets of points, each with a weight that an animation changes.
#include "scene.h"

#include <string.h>

static firn_result read_names(const firn_usd_scene *scene, int prim, const char *name,
                              const char ***names, size_t *count, firn_error *error)
{
    firn_usd_attribute_view view = firn_usd_find_attribute(scene, prim, name);
    *names = NULL;
    *count = 0;
    return view.doc != NULL
               ? firn_usd_doc_words(view.doc, view.property->value, names, count, error)
               : FIRN_OK;
}

// Weights by their names.
typedef struct weights {
    const char **names;
    size_t count;
    firn_usd_numbers values;
} weights;

static float weight_of(const weights *w, const char *name)
{
    for (size_t i = 0; i < w->count && i < w->values.count; i++)
        if (strcmp(w->names[i], name) == 0)
            return ((const float *)w->values.data)[i];
    return 0.0f;
}

static firn_result add_shape(const firn_usd_scene *scene, int shape, double code, float weight,
                             size_t count, firn_vec3 *position, firn_error *error)
{
    firn_usd_numbers offset, index = {0};
    FIRN_TRY(firn_usd_numbers_at(scene, shape, "offsets", code, FIRN_USD_F32, &offset, error));
    firn_result result =
        firn_usd_numbers_at(scene, shape, "pointIndices", code, FIRN_USD_I32, &index, error);
    const firn_vec3 *way = offset.data;
    const int32_t *point = index.data;
    bool fits = offset.count == 0 ||
                (offset.tuple == 3 && offset.count == (index.count > 0 ? index.count : count));
    for (size_t i = 0; i < offset.count && fits && result == FIRN_OK; i++) {
        size_t at = index.count > 0 ? (size_t)(point[i] < 0 ? (int32_t)-1 : point[i]) : i;
        fits = at < count;
        if (fits)
            position[at] = firn_add_scaled(position[at], weight, way[i]);
    }
    if (result == FIRN_OK && !fits)
        result = firn_usd_fail_prim(scene, shape, "its offsets do not fit the points of its mesh",
                                    error);
    firn_free(offset.data);
    firn_free(index.data);
    return result;
}

static firn_result add_shapes(const firn_usd_scene *scene, int prim, double code, const weights *w,
                              size_t count, firn_vec3 *position, firn_error *error)
{
    const char **names;
    size_t shapes;
    FIRN_TRY(read_names(scene, prim, "skel:blendShapes", &names, &shapes, error));
    firn_result result = FIRN_OK;
    for (size_t i = 0; i < shapes && result == FIRN_OK; i++) {
        float weight = weight_of(w, names[i]);
        int shape =
            weight != 0.0f ? firn_usd_find_related(scene, prim, "skel:blendShapeTargets", i) : -1;
        if (shape > 0)
            result = add_shape(scene, shape, code, weight, count, position, error);
    }
    firn_free((void *)names);
    return result;
}

firn_result firn_usd_blend(const firn_usd_scene *scene, int prim, double code, size_t count,
                           firn_vec3 *position, bool *shaped, firn_error *error)
{
    int skeleton = firn_usd_find_attribute(scene, prim, "skel:blendShapes").doc != NULL
                       ? firn_usd_find_related(scene, prim, "skel:skeleton", 0)
                       : -1;
    int animation =
        skeleton > 0 ? firn_usd_find_related(scene, skeleton, "skel:animationSource", 0) : -1;
    *shaped = animation > 0;
    if (!*shaped)
        return FIRN_OK;
    weights w = {0};
    firn_result result = read_names(scene, animation, "blendShapes", &w.names, &w.count, error);
    if (result == FIRN_OK)
        result = firn_usd_numbers_at(scene, animation, "blendShapeWeights", code, FIRN_USD_F32,
                                     &w.values, error);
    if (result == FIRN_OK)
        result = add_shapes(scene, prim, code, &w, count, position, error);
    firn_free((void *)w.names);
    firn_free(w.values.data);
    return result;
}
