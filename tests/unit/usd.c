/// USD layers: what is written comes back, equal particles are equal files, damage is an error.
#define _POSIX_C_SOURCE 200809L
#include "firn/usd_stage.h"

#include "crate.h"

#include "firn/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT = 100 };

typedef struct fixture {
    char folder[64], path[128];
    firn_vec3 position[COUNT], velocity[COUNT];
    float pscale[COUNT], jp[COUNT], frame9[9 * COUNT];
    uint32_t id[COUNT];
    firn_attribute columns[6];
    firn_points points;
    firn_usd_points_def def;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/firn_usd_XXXXXX");
    if (f == NULL || mkdtemp(f->folder) == NULL)
        return -1;
    snprintf(f->path, sizeof f->path, "%s/points.0007.usdc", f->folder);
    for (int i = 0; i < COUNT; i++) {
        float t = (float)i;
        f->position[i] = (firn_vec3){0.1f * t, sinf(t), -t};
        f->velocity[i] = (firn_vec3){t, 2.0f * t, 3.0f * t};
        f->pscale[i] = 0.01f + 1e-4f * t;
        f->jp[i] = 1.0f - 1e-3f * t;
        f->id[i] = (uint32_t)(4000000000u - (unsigned)i);
        for (int k = 0; k < 9; k++)
            f->frame9[9 * i + k] = t + 0.1f * (float)k;
    }
    const firn_attribute columns[] = {
        {"P", FIRN_STORAGE_FLOAT32, FIRN_TYPE_POINT, 3, f->position},
        {"v", FIRN_STORAGE_FLOAT32, FIRN_TYPE_VECTOR, 3, f->velocity},
        {"pscale", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, f->pscale},
        {"id", FIRN_STORAGE_UINT32, FIRN_TYPE_NONE, 1, f->id},
        {"Jp", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, f->jp},
        {"F", FIRN_STORAGE_FLOAT32, FIRN_TYPE_MATRIX, 9, f->frame9},
    };
    memcpy(f->columns, columns, sizeof columns);
    f->points = (firn_points){
        .count = COUNT, .attributes = f->columns, .attribute_count = FIRN_COUNT(columns)};
    f->def = (firn_usd_points_def){.prim = "/snow/particles", .frame = 7.0};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    unlink(f->path);
    rmdir(f->folder);
    free(f);
    return 0;
}

static const firn_usd_value *find(const firn_usd_layer *layer, const char *name, const char *type,
                                  size_t count)
{
    char path[128];
    snprintf(path, sizeof path, "/snow/particles.%s", name);
    const firn_usd_value *value = firn_usd_find(layer, path);
    assert_non_null(value);
    assert_string_equal(value->type, type);
    assert_int_equal(value->count, count);
    return value;
}

static void what_is_written_comes_back(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_usd_layer *layer = NULL;
    assert_int_equal(firn_usd_write_points(f->path, &f->points, &f->def, &error), FIRN_OK);
    if (firn_usd_open(f->path, &layer, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    const firn_usd_value *points = find(layer, "points", "point3f[]", COUNT);
    assert_memory_equal(points->data, f->position, sizeof f->position);
    assert_true(points->time == 7.0);
    assert_memory_equal(find(layer, "velocities", "vector3f[]", COUNT)->data, f->velocity,
                        sizeof f->velocity);
    assert_memory_equal(find(layer, "primvars:Jp", "float[]", COUNT)->data, f->jp, sizeof f->jp);
    assert_memory_equal(find(layer, "primvars:F", "float[]", 9 * COUNT)->data, f->frame9,
                        sizeof f->frame9);
    const float *widths = find(layer, "widths", "float[]", COUNT)->data;
    const int64_t *ids = find(layer, "ids", "int64[]", COUNT)->data;
    for (int i = 0; i < COUNT; i++) {
        assert_true(widths[i] == 2.0f * f->pscale[i]);
        assert_true(ids[i] == (int64_t)f->id[i]);
    }
    // Every particle is inside with all of its radius.
    const firn_vec3 *extent = find(layer, "extent", "float3[]", 2)->data;
    assert_true(extent[0].z <= -99.0f - 0.01f && extent[1].x >= 9.9f + 0.01f);
    firn_usd_close(layer);
}

static void equal_particles_are_equal_files(void **state)
{
    fixture *f = *state;
    void *bytes[2] = {NULL, NULL};
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(firn_usd_write_points(f->path, &f->points, &f->def, NULL), FIRN_OK);
        assert_int_equal(firn_file_read(f->path, 1 << 20, &bytes[i], &size[i], NULL), FIRN_OK);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    firn_free(bytes[0]);
    firn_free(bytes[1]);
}

static void no_particles_are_a_layer_too(void **state)
{
    fixture *f = *state;
    firn_usd_layer *layer = NULL;
    f->points.count = 0;
    assert_int_equal(firn_usd_write_points(f->path, &f->points, &f->def, NULL), FIRN_OK);
    assert_int_equal(firn_usd_open(f->path, &layer, NULL), FIRN_OK);
    find(layer, "points", "point3f[]", 0);
    firn_usd_close(layer);
}

static void paths_that_are_none_are_refused(void **state)
{
    fixture *f = *state;
    static const char *const wrong[] = {"", "snow", "/", "/snow/", "//snow"};
    for (size_t i = 0; i < FIRN_COUNT(wrong); i++) {
        f->def.prim = wrong[i];
        assert_int_equal(firn_usd_write_points(f->path, &f->points, &f->def, NULL),
                         FIRN_ERR_ARGUMENT);
        assert_int_equal(access(f->path, F_OK), -1);
    }
}

// --- Damage --------------------------------------------------------------------------------------

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void try_to_read(const char *path, const void *bytes, size_t size)
{
    firn_error error = {0};
    firn_usd_layer *layer = NULL;
    write_bytes(path, bytes, size);
    firn_result result = firn_usd_open(path, &layer, &error);
    if (result != FIRN_OK) {
        assert_null(layer);
        assert_true(strlen(error.message) > 10);
        return;
    }
    // Whatever is shown can be read to its end.
    unsigned sum = 0;
    for (size_t i = 0; firn_usd_look(layer, i) != NULL; i++) {
        const firn_usd_value *value = firn_usd_look(layer, i);
        size_t length =
            value->count * (size_t)value->tuple_size * firn_storage_size(value->storage);
        for (size_t k = 0; k < length; k++)
            sum += ((const unsigned char *)value->data)[k];
    }
    assert_true(sum < UINT32_MAX);
    firn_usd_close(layer);
}

static void damaged_layers_are_errors_or_harmless(void **state)
{
    fixture *f = *state;
    unsigned char *bytes = NULL;
    size_t size;
    f->points.count = 20;
    assert_int_equal(firn_usd_write_points(f->path, &f->points, &f->def, NULL), FIRN_OK);
    assert_int_equal(firn_file_read(f->path, 1 << 20, (void **)&bytes, &size, NULL), FIRN_OK);
    for (size_t cut = 0; cut < size; cut += 1 + cut / 16)
        try_to_read(f->path, bytes, cut);
    // The structure is at the end, the header at the beginning.
    static const unsigned char values[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    for (size_t at = 0; at < size; at += at < 88 || at + 1500 > size ? 1 : 37)
        for (size_t v = 0; v < FIRN_COUNT(values); v++) {
            unsigned char kept = bytes[at];
            bytes[at] = values[v];
            try_to_read(f->path, bytes, size);
            bytes[at] = kept;
        }
    firn_free(bytes);
}

static void newer_versions_are_named(void **state)
{
    fixture *f = *state;
    unsigned char *bytes = NULL;
    size_t size;
    firn_error error;
    firn_usd_layer *layer = NULL;
    assert_int_equal(firn_usd_write_points(f->path, &f->points, &f->def, NULL), FIRN_OK);
    assert_int_equal(firn_file_read(f->path, 1 << 20, (void **)&bytes, &size, NULL), FIRN_OK);
    bytes[9] = 99;
    write_bytes(f->path, bytes, size);
    assert_int_equal(firn_usd_open(f->path, &layer, &error), FIRN_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "0.99"));
    firn_free(bytes);
}

// --- Coding --------------------------------------------------------------------------------------

static void whole_numbers_come_back(void **state)
{
    (void)state;
    static const int32_t values[] = {0,  1,      2,  3, -1,        -128,      127,       128, 40000,
                                     -5, 100000, -1, 7, INT32_MAX, INT32_MIN, INT32_MAX, 0,   0};
    for (size_t count = 0; count <= FIRN_COUNT(values); count++) {
        firn_crate_bytes out = {0};
        int32_t found[FIRN_COUNT(values)] = {0};
        unsigned char scratch[512];
        firn_crate_write_integers(&out, values, count);
        assert_false(out.failed);
        assert_true(firn_crate_integers_room(count) <= sizeof scratch);
        assert_true(firn_crate_read_integers(out.data + 8, out.count - 8, found, count, scratch));
        assert_memory_equal(found, values, count * sizeof *values);
        firn_free(out.data);
    }
}

static void lz4_copies_may_overlap(void **state)
{
    (void)state;
    // "ab", then ten bytes from two back, then "!": one block with a match and a last literal.
    static const unsigned char frame[] = {0, 0x26, 'a', 'b', 2, 0, 0x10, '!'};
    unsigned char text[14] = {0};
    assert_true(firn_crate_read_frame(frame, sizeof frame, text, 13));
    assert_string_equal((char *)text, "abababababab!");
    assert_false(firn_crate_read_frame(frame, sizeof frame, text, 12));
    static const unsigned char before[] = {0, 0x16, 'a', 9, 0, 0x10, '!'};
    assert_false(firn_crate_read_frame(before, sizeof before, text, 12));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_comes_back),
        TEST(equal_particles_are_equal_files),
        TEST(no_particles_are_a_layer_too),
        TEST(paths_that_are_none_are_refused),
        TEST(damaged_layers_are_errors_or_harmless),
        TEST(newer_versions_are_named),
        cmocka_unit_test(whole_numbers_come_back),
        cmocka_unit_test(lz4_copies_may_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
