// Every fixture archive holds what the official library says it holds.
#include "firn/abc_scene.h"

#include "unit/abc_support.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct fixture {
    firn_abc *archive;
    json_t *json;
} fixture;

static fixture open_fixture(const char *name)
{
    fixture f;
    char path[1024];
    firn_error error = {0};
    snprintf(path, sizeof path, FIRN_FIXTURES "/alembic/%s.abc", name);
    if (firn_abc_open(path, &f.archive, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    snprintf(path, sizeof path, FIRN_FIXTURES "/alembic/%s.json", name);
    // 64-bit ids do not fit jansson's integers; the hashes below compare them exactly.
    json_error_t json_error;
    f.json = json_load_file(path, JSON_DECODE_INT_AS_REAL, &json_error);
    if (f.json == NULL)
        fail_msg("%s: %s", path, json_error.text);
    return f;
}

static void close_fixture(fixture *f)
{
    firn_abc_close(f->archive);
    json_decref(f->json);
}

static double number(const json_t *parent, const char *key)
{
    const json_t *value = json_object_get(parent, key);
    if (!json_is_real(value))
        fail_msg("no number %s", key);
    return json_real_value(value);
}

static const char *text(const json_t *parent, const char *key)
{
    return json_string_value(json_object_get(parent, key));
}

static void check_metadata(const char *metadata, json_t *expected)
{
    const char *key;
    json_t *value;
    size_t length = 0;
    json_object_foreach(expected, key, value)
    {
        char found[512];
        assert_true(firn_abc_metadata_value(metadata, key, found, sizeof found));
        assert_string_equal(found, json_string_value(value));
        length += strlen(key) + strlen(found) + 2;
    }
    assert_int_equal(strlen(metadata), length > 0 ? length - 1 : 0);
}

// --- Properties ----------------------------------------------------------------------------------

static uint64_t fnv1a64(const unsigned char *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static double value_at(const firn_abc_array *array, size_t index)
{
    const void *v = array->values;
    switch (array->pod) {
    case FIRN_ABC_POD_BOOL:
    case FIRN_ABC_POD_UINT8:
        return ((const uint8_t *)v)[index];
    case FIRN_ABC_POD_UINT32:
        return ((const uint32_t *)v)[index];
    case FIRN_ABC_POD_INT32:
        return ((const int32_t *)v)[index];
    case FIRN_ABC_POD_UINT64:
        return (double)((const uint64_t *)v)[index];
    case FIRN_ABC_POD_FLOAT32:
        return ((const float *)v)[index];
    case FIRN_ABC_POD_FLOAT64:
        return ((const double *)v)[index];
    default:
        fail_msg("no fixture has %s", firn_abc_pod_name(array->pod));
        return 0.0;
    }
}

static const char *string_at(const firn_abc_array *array, size_t index)
{
    const char *at = array->values;
    for (size_t i = 0; i < index; i++)
        at += strlen(at) + 1;
    return at;
}

static void check_number(const firn_abc_array *array, size_t index, const json_t *expected)
{
    double value = json_real_value(expected);
    if (array->pod == FIRN_ABC_POD_FLOAT32)
        value = (float)value;
    assert_true(value_at(array, index) == value);
}

static void check_value(const firn_abc_array *array, size_t index, const json_t *expected)
{
    if (array->pod == FIRN_ABC_POD_STRING) {
        assert_string_equal(string_at(array, index), json_string_value(expected));
    } else if (json_is_array(expected)) {
        assert_int_equal(json_array_size(expected), array->extent);
        for (size_t i = 0; i < (size_t)array->extent; i++)
            check_number(array, index * (size_t)array->extent + i, json_array_get(expected, i));
    } else {
        assert_int_equal(array->extent, 1);
        check_number(array, index, expected);
    }
}

static void check_array(const firn_abc_array *array, const json_t *expected)
{
    char hex[40] = "";
    for (size_t i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", array->key[i]);
    assert_string_equal(hex, text(expected, "key"));
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)fnv1a64(array->values, array->bytes));
    assert_string_equal(hex, text(expected, "fnv1a64"));
    assert_int_equal(array->count, (size_t)number(expected, "n"));
    if (array->count == 0)
        return;
    check_value(array, 0, json_object_get(expected, "first"));
    check_value(array, array->count / 2, json_object_get(expected, "mid"));
    check_value(array, array->count - 1, json_object_get(expected, "last"));
}

static void check_samples(const fixture *f, int property, json_t *samples)
{
    const firn_abc_property *info = firn_abc_property_at(f->archive, property);
    assert_int_equal(info->sample_count, json_array_size(samples));
    for (uint32_t i = 0; i < info->sample_count; i++) {
        firn_abc_array array;
        firn_error error = {0};
        if (firn_abc_read(f->archive, property, i, &array, &error) != FIRN_OK)
            fail_msg("%s", error.message);
        if (info->kind == FIRN_ABC_PROPERTY_ARRAY)
            check_array(&array, json_array_get(samples, i));
        else
            check_value(&array, 0, json_array_get(samples, i));
        firn_abc_array_free(&array);
    }
}

static void check_property(const fixture *f, int property, json_t *expected)
{
    static const char *const kinds[] = {"compound", "scalar", "array"};
    const firn_abc_property *info = firn_abc_property_at(f->archive, property);
    assert_string_equal(info->path, text(expected, "path"));
    const char *slash = strrchr(info->path, '/');
    assert_string_equal(info->name, slash != NULL ? slash + 1 : info->path);
    assert_string_equal(kinds[info->kind], text(expected, "kind"));
    check_metadata(info->metadata, json_object_get(expected, "metadata"));
    if (info->kind == FIRN_ABC_PROPERTY_COMPOUND)
        return;
    assert_string_equal(firn_abc_pod_name(info->pod), text(expected, "pod"));
    assert_int_equal(info->extent, (int)number(expected, "extent"));
    assert_int_equal(info->time_sampling, (int)number(expected, "timeSampling"));
    assert_int_equal(info->sample_count, (uint32_t)number(expected, "numSamples"));
    assert_int_equal(info->constant, json_is_true(json_object_get(expected, "constant")));
    assert_int_equal(info->scalar_like, json_is_true(json_object_get(expected, "scalarLike")));
    check_samples(f, property, json_object_get(expected, "samples"));
}

// --- Geometry ------------------------------------------------------------------------------------

static void check_bounds(const firn_vec3 *position, size_t count, const json_t *expected)
{
    if (count == 0) {
        assert_true(json_is_null(expected));
        return;
    }
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        const float p[3] = {position[i].x, position[i].y, position[i].z};
        for (int c = 0; c < 3; c++) {
            low[c] = fminf(low[c], p[c]);
            high[c] = fmaxf(high[c], p[c]);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        assert_near(low[c], json_real_value(json_array_get(expected, c)), 2e-6);
        assert_near(high[c], json_real_value(json_array_get(expected, c + 3)), 2e-6);
    }
}

static double signed_volume(const firn_abc_mesh *mesh)
{
    double six = 0.0;
    const int32_t *corner = mesh->corner;
    for (size_t f = 0; f < mesh->face_count; corner += mesh->face_size[f++])
        for (int32_t k = 2; k < mesh->face_size[f]; k++) {
            firn_vec3 a = mesh->position[corner[0]], b = mesh->position[corner[k - 1]];
            six += firn_dot(a, firn_cross(b, mesh->position[corner[k]]));
        }
    return six / 6.0;
}

static void check_mesh_sample(const fixture *f, int object, const json_t *expected)
{
    firn_abc_mesh mesh;
    firn_error error = {0};
    if (firn_abc_read_mesh(f->archive, object, number(expected, "time"), &mesh, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(mesh.vertex_count, (size_t)number(expected, "points"));
    assert_int_equal(mesh.face_count, (size_t)number(expected, "faces"));
    assert_int_equal(mesh.corner_count, (size_t)number(expected, "indices"));
    size_t sizes[5] = {0};
    for (size_t i = 0; i < mesh.face_count; i++)
        sizes[mesh.face_size[i] < 5 ? mesh.face_size[i] : 0]++;
    assert_int_equal(sizes[3], (size_t)number(expected, "tris"));
    assert_int_equal(sizes[4], (size_t)number(expected, "quads"));
    assert_int_equal(sizes[0], (size_t)number(expected, "ngons"));
    double volume = number(expected, "signedVolumeStoredWinding");
    assert_near(signed_volume(&mesh), volume, 1e-5 * (1.0 + fabs(volume)));
    check_bounds(mesh.position, mesh.vertex_count, json_object_get(expected, "computedBounds"));
    firn_abc_mesh_free(&mesh);
}

static void check_points_sample(const fixture *f, int object, const json_t *expected)
{
    firn_abc_points points;
    firn_error error = {0};
    double time = number(expected, "time");
    if (firn_abc_read_points(f->archive, object, time, &points, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(points.count, (size_t)number(expected, "count"));
    if (points.count > 0) {
        assert_true(number(expected, "idCount") > 0.0 && points.id != NULL);
        uint64_t least = UINT64_MAX, most = 0;
        for (size_t i = 0; i < points.count; i++) {
            least = points.id[i] < least ? points.id[i] : least;
            most = points.id[i] > most ? points.id[i] : most;
        }
        assert_true((double)least == number(expected, "idMin"));
        assert_true((double)most == number(expected, "idMax"));
    }
    check_bounds(points.position, points.count, json_object_get(expected, "computedBounds"));
    firn_abc_points_free(&points);
}

static void check_summary(const fixture *f, int object, const json_t *expected,
                          const char *count_key)
{
    firn_abc_summary summary;
    firn_error error = {0};
    assert_int_equal(firn_abc_summarize(f->archive, object, &summary, &error), FIRN_OK);
    json_t *samples = json_object_get(expected, "samples");
    size_t count = json_array_size(samples);
    assert_int_equal(summary.sample_count, count);
    size_t least = SIZE_MAX, most = 0;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        const json_t *sample = json_array_get(samples, i);
        if (i == 0)
            assert_true(summary.first_time == number(sample, "time"));
        assert_true(summary.last_time == number(sample, "time") || i + 1 < count);
        if (count_key == NULL)
            continue;
        size_t points = (size_t)number(sample, count_key);
        least = points < least ? points : least;
        most = points > most ? points : most;
        const json_t *box = json_object_get(sample, "selfBounds");
        double x0 = json_real_value(json_array_get(box, 0));
        double x1 = json_real_value(json_array_get(box, 3));
        low = x0 <= x1 ? fmin(low, x0) : low;
        high = x0 <= x1 ? fmax(high, x1) : high;
    }
    if (count == 0 || count_key == NULL)
        return;
    assert_int_equal(summary.min_points, least);
    assert_int_equal(summary.max_points, most);
    assert_int_equal(summary.has_bounds, low <= high);
    assert_true(!summary.has_bounds || (summary.bounds[0] == low && summary.bounds[3] == high));
}

static void check_variance(const fixture *f, int object, const char *expected)
{
    static const char *const names[] = {"constant", "homogeneous", "heterogeneous"};
    firn_abc_summary summary;
    assert_int_equal(firn_abc_summarize(f->archive, object, &summary, NULL), FIRN_OK);
    assert_string_equal(names[summary.variance], expected);
}

static void check_world(const fixture *f, int object, const json_t *expected)
{
    const char *path = firn_abc_object_at(f->archive, object)->path;
    double time = number(expected, "time");
    firn_abc_matrix matrix;
    assert_int_equal(firn_abc_world_matrix(f->archive, object, time, &matrix, NULL, NULL), FIRN_OK);
    const json_t *elements = json_object_get(expected, "matrix");
    for (size_t i = 0; i < 16; i++)
        assert_near(matrix.m[i], json_real_value(json_array_get(elements, i)), 1e-13);
    firn_abc_mesh mesh;
    assert_int_equal(firn_abc_read_world_mesh(f->archive, path, time, &mesh, NULL), FIRN_OK);
    check_bounds(mesh.position, mesh.vertex_count, json_object_get(expected, "bounds"));
    const json_t *first = json_object_get(expected, "P0");
    assert_near(mesh.position[0].x, json_real_value(json_array_get(first, 0)), 2e-6);
    assert_near(mesh.position[0].y, json_real_value(json_array_get(first, 1)), 2e-6);
    assert_near(mesh.position[0].z, json_real_value(json_array_get(first, 2)), 2e-6);
    assert_true(signed_volume(&mesh) > 0.0);
    firn_abc_mesh_free(&mesh);
}

// The matrix of an Xform relative to its parent is world * inverse(parent world); comparing
// world with local * parent world needs no inverse.
static void check_xform_sample(const fixture *f, int object, const json_t *expected)
{
    double time = number(expected, "time");
    firn_abc_matrix world, parent = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    assert_int_equal(firn_abc_world_matrix(f->archive, object, time, &world, NULL, NULL), FIRN_OK);
    if (json_is_true(json_object_get(expected, "inherits")))
        assert_int_equal(firn_abc_world_matrix(f->archive,
                                               firn_abc_object_at(f->archive, object)->parent, time,
                                               &parent, NULL, NULL),
                         FIRN_OK);
    const json_t *local = json_object_get(expected, "matrix");
    for (size_t row = 0; row < 4; row++)
        for (size_t column = 0; column < 4; column++) {
            double sum = 0.0;
            for (size_t k = 0; k < 4; k++)
                sum +=
                    json_real_value(json_array_get(local, 4 * row + k)) * parent.m[4 * k + column];
            assert_near(world.m[4 * row + column], sum, 1e-13);
        }
}

static void check_geometry(const fixture *f, int object, const json_t *expected)
{
    json_t *points = json_object_get(expected, "points");
    json_t *mesh = json_object_get(expected, "polymesh");
    json_t *xform = json_object_get(expected, "xform");
    size_t i;
    json_t *sample;
    json_array_foreach(json_object_get(points, "samples"), i, sample)
    {
        check_points_sample(f, object, sample);
    }
    json_array_foreach(json_object_get(mesh, "samples"), i, sample)
    {
        check_mesh_sample(f, object, sample);
    }
    json_array_foreach(json_object_get(mesh, "worldOfStaticMesh"), i, sample)
    {
        check_world(f, object, sample);
    }
    json_array_foreach(json_object_get(xform, "samples"), i, sample)
    {
        check_xform_sample(f, object, sample);
    }
    if (points != NULL)
        check_summary(f, object, points, "count");
    if (mesh != NULL) {
        check_summary(f, object, mesh, "points");
        check_variance(f, object, text(mesh, "topologyVariance"));
    }
    if (xform != NULL)
        check_summary(f, object, xform, NULL);
}

// --- The whole archive ---------------------------------------------------------------------------

static void check_samplings(const fixture *f)
{
    static const char *const kinds[] = {"uniform", "cyclic", "acyclic"};
    json_t *samplings = json_object_get(f->json, "timeSamplings"), *expected;
    size_t i;
    assert_int_equal(firn_abc_time_sampling_count(f->archive), json_array_size(samplings));
    json_array_foreach(samplings, i, expected)
    {
        const firn_abc_time_sampling *found = firn_abc_time_sampling_at(f->archive, (int)i);
        json_t *times = json_object_get(expected, "storedTimes");
        assert_string_equal(kinds[found->kind], text(expected, "type"));
        assert_true(found->time_per_cycle == number(expected, "timePerCycle"));
        assert_int_equal(found->max_samples, (uint32_t)number(expected, "maxNumSamples"));
        assert_int_equal(found->time_count, json_array_size(times));
        for (uint32_t k = 0; k < found->time_count; k++)
            assert_true(found->times[k] == json_real_value(json_array_get(times, k)));
    }
}

static void check_fixture(const char *name)
{
    // The list of expectations does not name face sets.
    static const char *const schemas[] = {"none", "Xform", "PolyMesh", "SubD", "Points", "none"};
    fixture f = open_fixture(name);
    assert_int_equal(firn_abc_library_version(f.archive), (int)number(f.json, "libraryVersion"));
    check_metadata(firn_abc_metadata(f.archive), json_object_get(f.json, "archiveMetadata"));
    check_samplings(&f);
    json_t *objects = json_object_get(f.json, "objects"), *expected;
    size_t i;
    assert_int_equal(firn_abc_object_count(f.archive), json_array_size(objects));
    json_array_foreach(objects, i, expected)
    {
        const firn_abc_object *object = firn_abc_object_at(f.archive, (int)i);
        json_t *properties = json_object_get(expected, "properties"), *property;
        size_t k;
        assert_string_equal(object->path, text(expected, "path"));
        assert_int_equal(firn_abc_object_find(f.archive, object->path), i);
        assert_int_equal(object->child_count, (int)number(expected, "numChildren"));
        assert_string_equal(schemas[object->kind], text(expected, "schema"));
        check_metadata(object->metadata, json_object_get(expected, "metadata"));
        assert_int_equal(object->property_count, json_array_size(properties));
        json_array_foreach(properties, k, property)
        {
            check_property(&f, object->first_property + (int)k, property);
        }
        check_geometry(&f, (int)i, expected);
    }
    close_fixture(&f);
}

static void tiny_agrees(void **state) { (void)state, check_fixture("tiny"); }
static void animated_points_agree(void **state) { (void)state, check_fixture("points_anim"); }
static void points_at_the_edges_agree(void **state) { (void)state, check_fixture("points_edge"); }
static void deforming_mesh_agrees(void **state) { (void)state, check_fixture("mesh_deform"); }
static void hierarchy_agrees(void **state) { (void)state, check_fixture("xform_hierarchy"); }
static void groups_of_meshes_agree(void **state) { (void)state, check_fixture("groups_meshes"); }
static void acyclic_and_cyclic_times_agree(void **state) { (void)state, check_fixture("acyclic"); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_agrees),
        cmocka_unit_test(animated_points_agree),
        cmocka_unit_test(points_at_the_edges_agree),
        cmocka_unit_test(deforming_mesh_agrees),
        cmocka_unit_test(hierarchy_agrees),
        cmocka_unit_test(groups_of_meshes_agree),
        cmocka_unit_test(acyclic_and_cyclic_times_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
