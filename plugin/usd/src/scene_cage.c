// The rules of subdivision surfaces. A mesh that says nothing is one, by catmullClark.
#include "scene.h"

#include <string.h>

static firn_result read_list(const firn_usd_scene *scene, int prim, const char *name, double code,
                             firn_usd_number_kind kind, size_t *count, void *list,
                             firn_error *error)
{
    firn_usd_numbers numbers;
    FIRN_TRY(firn_usd_numbers_at(scene, prim, name, code, kind, &numbers, error));
    *count = numbers.count * (size_t)numbers.tuple;
    memcpy(list, &numbers.data, sizeof numbers.data);
    return FIRN_OK;
}

static bool in_range(const int32_t *list, size_t count, size_t limit)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] < 0 || (size_t)list[i] >= limit)
            return false;
    return true;
}

// Creases are chains of vertices; the reader's are edges.
static firn_result read_creases(const firn_usd_scene *scene, int prim, double code,
                                firn_usd_cage *cage, firn_error *error)
{
    int32_t *vertex = NULL, *length = NULL;
    float *sharp = NULL;
    size_t vertices = 0, chains = 0, sharps = 0, edges = 0, sum = 0;
    firn_result result =
        read_list(scene, prim, "creaseIndices", code, FIRN_USD_I32, &vertices, &vertex, error);
    if (result == FIRN_OK)
        result =
            read_list(scene, prim, "creaseLengths", code, FIRN_USD_I32, &chains, &length, error);
    if (result == FIRN_OK)
        result =
            read_list(scene, prim, "creaseSharpnesses", code, FIRN_USD_F32, &sharps, &sharp, error);
    bool fits = in_range(vertex, vertices, cage->vertex_count);
    for (size_t i = 0; i < chains && fits; i++) {
        fits = length[i] >= 2 && (size_t)length[i] <= vertices - sum;
        sum += fits ? (size_t)length[i] : 0;
        edges += fits ? (size_t)length[i] - 1 : 0;
    }
    fits = fits && sum == vertices && (sharps == chains || sharps == edges);
    if (result == FIRN_OK && !fits)
        result = firn_usd_fail_prim(scene, prim, "its creases do not fit its points", error);
    if (result == FIRN_OK) {
        cage->crease = firn_alloc((2 * edges + 1) * sizeof *cage->crease);
        cage->crease_sharpness = firn_alloc((edges + 1) * sizeof *cage->crease_sharpness);
        if (cage->crease == NULL || cage->crease_sharpness == NULL)
            result = firn_usd_fail_memory(scene, error);
    }
    for (size_t i = 0, at = 0; i < chains && result == FIRN_OK; i++, at++)
        for (int32_t k = 1; k < length[i]; k++, at++) {
            size_t e = cage->crease_count++;
            cage->crease[2 * e] = vertex[at];
            cage->crease[2 * e + 1] = vertex[at + 1];
            cage->crease_sharpness[e] = sharp[sharps == chains ? i : e];
        }
    firn_free(vertex);
    firn_free(length);
    firn_free(sharp);
    return result;
}

static firn_result read_corners(const firn_usd_scene *scene, int prim, double code,
                                firn_usd_cage *cage, firn_error *error)
{
    size_t sharps = 0;
    FIRN_TRY(read_list(scene, prim, "cornerIndices", code, FIRN_USD_I32, &cage->peak_count,
                       &cage->peak, error));
    FIRN_TRY(read_list(scene, prim, "cornerSharpnesses", code, FIRN_USD_F32, &sharps,
                       &cage->peak_sharpness, error));
    FIRN_TRY(read_list(scene, prim, "holeIndices", code, FIRN_USD_I32, &cage->hole_count,
                       &cage->hole, error));
    if (sharps != cage->peak_count || !in_range(cage->peak, cage->peak_count, cage->vertex_count) ||
        !in_range(cage->hole, cage->hole_count, cage->face_count))
        return firn_usd_fail_prim(scene, prim, "its corners and holes do not fit its points",
                                  error);
    return FIRN_OK;
}

firn_result firn_usd_read_cage(const firn_usd_scene *scene, int prim, double code,
                               firn_usd_cage *cage, bool *none, firn_error *error)
{
    const char *scheme = firn_usd_word_at(scene, prim, "subdivisionScheme", code);
    const char *boundary = firn_usd_word_at(scene, prim, "interpolateBoundary", code);
    *none = strcmp(scheme, "none") == 0;
    if (*none)
        return FIRN_OK;
    cage->scheme = strcmp(scheme, "loop") == 0       ? FIRN_USD_SCHEME_LOOP
                   : strcmp(scheme, "bilinear") == 0 ? FIRN_USD_SCHEME_BILINEAR
                                                     : FIRN_USD_SCHEME_CATMULL_CLARK;
    cage->boundary = strcmp(boundary, "none") == 0 ? 0 : strcmp(boundary, "edgeOnly") == 0 ? 2 : 1;
    firn_result result = read_creases(scene, prim, code, cage, error);
    if (result == FIRN_OK)
        result = read_corners(scene, prim, code, cage, error);
    if (result != FIRN_OK) {
        firn_free(cage->crease);
        firn_free(cage->crease_sharpness);
        firn_free(cage->peak);
        firn_free(cage->peak_sharpness);
        firn_free(cage->hole);
        memset(cage, 0, sizeof *cage);
        *none = true;
    }
    return result;
}
