#include "subd.h"

#include <string.h>

void firn_abc_cage_free(firn_abc_cage *cage)
{
    firn_free(cage->crease);
    firn_free(cage->crease_sharpness);
    firn_free(cage->peak);
    firn_free(cage->peak_sharpness);
    firn_free(cage->hole);
    *cage = (firn_abc_cage){0};
}

// An array of the schema that may be missing.
static firn_result read_optional(const firn_abc *archive, int object, const char *path, double time,
                                 firn_abc_pod pod, firn_abc_array *array, firn_error *error)
{
    *array = (firn_abc_array){.pod = pod, .extent = 1};
    int property = firn_abc_property_find(archive, object, path);
    if (property < 0)
        return FIRN_OK;
    return firn_abc_read_typed(archive, property, firn_abc_index_at(archive, property, time), pod,
                               1, array, error);
}

static firn_result check_indices(const firn_abc_place *place, const char *what,
                                 const firn_abc_array *indices, size_t limit)
{
    const int32_t *index = indices->values;
    for (size_t i = 0; i < indices->count; i++)
        if (index[i] < 0 || (size_t)index[i] >= limit)
            return firn_abc_fail(place, FIRN_ERR_FORMAT, "%s %zu has number %d, of %zu", what, i,
                                 (int)index[i], limit);
    return FIRN_OK;
}

static firn_result read_scheme(const firn_abc *archive, int object, double time,
                               firn_abc_cage *cage, firn_error *error)
{
    static const struct {
        const char *name;
        firn_abc_scheme scheme;
    } schemes[] = {
        {"catmull-clark", FIRN_ABC_SCHEME_CATMULL_CLARK},
        {"loop", FIRN_ABC_SCHEME_LOOP},
        {"bilinear", FIRN_ABC_SCHEME_BILINEAR},
    };
    firn_abc_array value;
    FIRN_TRY(
        read_optional(archive, object, ".geom/.scheme", time, FIRN_ABC_POD_STRING, &value, error));
    const char *name = value.count > 0 ? value.values : "catmull-clark";
    firn_result result = FIRN_OK;
    bool known = false;
    for (size_t i = 0; i < FIRN_COUNT(schemes); i++)
        if (strcmp(name, schemes[i].name) == 0) {
            cage->scheme = schemes[i].scheme;
            known = true;
        }
    if (!known) {
        firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
        result = firn_abc_fail(&place, FIRN_ERR_UNSUPPORTED,
                               "its subdivision scheme '%.100s' is not known", name);
    }
    firn_abc_array_free(&value);
    FIRN_TRY(result);
    FIRN_TRY(read_optional(archive, object, ".geom/.interpolateBoundary", time, FIRN_ABC_POD_INT32,
                           &value, error));
    cage->boundary = value.count > 0 ? *(const int32_t *)value.values : 0;
    firn_abc_array_free(&value);
    return FIRN_OK;
}

// Chains of vertices become pairs, each with the sharpness of its chain or of its own.
static firn_result join_creases(const firn_abc_place *place, const firn_abc_array *vertices,
                                const firn_abc_array *lengths, const firn_abc_array *sharpnesses,
                                firn_abc_cage *cage)
{
    const int32_t *vertex = vertices->values, *length = lengths->values;
    uint64_t sum = 0, pairs = 0;
    for (size_t i = 0; i < lengths->count; i++) {
        if (length[i] < 0)
            return firn_abc_fail(place, FIRN_ERR_FORMAT, "crease %zu has %d vertices", i,
                                 (int)length[i]);
        sum += (uint64_t)length[i];
        pairs += length[i] > 1 ? (uint64_t)length[i] - 1 : 0;
    }
    if (sum != vertices->count ||
        (sharpnesses->count != lengths->count && sharpnesses->count != pairs))
        return firn_abc_fail(place, FIRN_ERR_FORMAT,
                             "its creases have %llu vertices and %zu sharpnesses, but %zu vertices "
                             "in %zu creases are stored",
                             (unsigned long long)sum, sharpnesses->count, vertices->count,
                             lengths->count);
    cage->crease = firn_abc_alloc_array((size_t)pairs, 2 * sizeof *cage->crease);
    cage->crease_sharpness = firn_abc_alloc_array((size_t)pairs, sizeof *cage->crease_sharpness);
    if (cage->crease == NULL || cage->crease_sharpness == NULL)
        return firn_abc_fail_memory(place, (size_t)pairs * 3 * sizeof(int32_t));
    const float *sharpness = sharpnesses->values;
    bool by_chain = sharpnesses->count == lengths->count;
    size_t at = 0;
    for (size_t i = 0; i < lengths->count; i++) {
        for (int32_t k = 0; k + 1 < length[i]; k++) {
            size_t pair = cage->crease_count++;
            cage->crease[2 * pair] = vertex[at + (size_t)k];
            cage->crease[2 * pair + 1] = vertex[at + (size_t)k + 1];
            cage->crease_sharpness[pair] = sharpness[by_chain ? i : pair];
        }
        at += (size_t)length[i];
    }
    return FIRN_OK;
}

static firn_result read_creases(const firn_abc *archive, int object, double time,
                                firn_abc_cage *cage, firn_error *error)
{
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    firn_abc_array vertices = {0}, lengths = {0}, sharpnesses = {0};
    firn_result result = read_optional(archive, object, ".geom/.creaseIndices", time,
                                       FIRN_ABC_POD_INT32, &vertices, error);
    if (result == FIRN_OK)
        result = read_optional(archive, object, ".geom/.creaseLengths", time, FIRN_ABC_POD_INT32,
                               &lengths, error);
    if (result == FIRN_OK)
        result = read_optional(archive, object, ".geom/.creaseSharpnesses", time,
                               FIRN_ABC_POD_FLOAT32, &sharpnesses, error);
    if (result == FIRN_OK)
        result = check_indices(&place, "vertex of creases", &vertices, cage->vertex_count);
    if (result == FIRN_OK && vertices.count > 0)
        result = join_creases(&place, &vertices, &lengths, &sharpnesses, cage);
    firn_abc_array_free(&vertices);
    firn_abc_array_free(&lengths);
    firn_abc_array_free(&sharpnesses);
    return result;
}

static firn_result read_peaks(const firn_abc *archive, int object, double time, firn_abc_cage *cage,
                              firn_error *error)
{
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    firn_abc_array array;
    FIRN_TRY(read_optional(archive, object, ".geom/.cornerIndices", time, FIRN_ABC_POD_INT32,
                           &array, error));
    cage->peak = array.values;
    cage->peak_count = array.count;
    FIRN_TRY(check_indices(&place, "sharp vertex", &array, cage->vertex_count));
    FIRN_TRY(read_optional(archive, object, ".geom/.cornerSharpnesses", time, FIRN_ABC_POD_FLOAT32,
                           &array, error));
    cage->peak_sharpness = array.values;
    if (array.count != cage->peak_count)
        return firn_abc_fail(&place, FIRN_ERR_FORMAT, "it has %zu sharp vertices, but %zu values",
                             cage->peak_count, array.count);
    FIRN_TRY(
        read_optional(archive, object, ".geom/.holes", time, FIRN_ABC_POD_INT32, &array, error));
    cage->hole = array.values;
    cage->hole_count = array.count;
    return check_indices(&place, "hole", &array, cage->face_count);
}

firn_result firn_abc_read_cage(const firn_abc *archive, int object, double time,
                               firn_abc_cage *cage, firn_error *error)
{
    *cage = (firn_abc_cage){0};
    bool is_subd = firn_abc_object_at(archive, object)->kind == FIRN_ABC_KIND_SUBD;
    FIRN_TRY(firn_abc_check_query(archive, object, is_subd, "subdivision surface", time, error));
    firn_abc_mesh sizes;
    FIRN_TRY(firn_abc_mesh_measure(archive, object, time, &sizes, error));
    firn_abc_cage read = {.object = object,
                          .vertex_count = sizes.vertex_count,
                          .face_count = sizes.face_count,
                          .corner_count = sizes.corner_count};
    firn_result result = read_scheme(archive, object, time, &read, error);
    if (result == FIRN_OK)
        result = read_creases(archive, object, time, &read, error);
    if (result == FIRN_OK)
        result = read_peaks(archive, object, time, &read, error);
    if (result != FIRN_OK) {
        firn_abc_cage_free(&read);
        return result;
    }
    *cage = read;
    return FIRN_OK;
}

firn_result firn_abc_cage_exclude(const firn_abc_place *place, firn_abc_cage *cage,
                                  const bool *kept)
{
    size_t left_out = 0;
    for (size_t f = 0; f < cage->face_count; f++)
        left_out += !kept[f];
    int32_t *hole = firn_abc_alloc_array(cage->hole_count + left_out, sizeof *hole);
    if (hole == NULL)
        return firn_abc_fail_memory(place, (cage->hole_count + left_out) * sizeof *hole);
    if (cage->hole_count > 0)
        memcpy(hole, cage->hole, cage->hole_count * sizeof *hole);
    for (size_t f = 0; f < cage->face_count; f++)
        if (!kept[f])
            hole[cage->hole_count++] = (int32_t)f;
    firn_free(cage->hole);
    cage->hole = hole;
    return FIRN_OK;
}
