// Particles in OpenVDB's point format, there and back.
#define _GNU_SOURCE
#include "unit/vdb_support.h"

#include "firn/vdb_points.h"

enum { COUNT = 5000 };

typedef struct fixture {
    char folder[64];
    char path[256];
    firn_vdb_reader *reader;
    firn_vec3 position[COUNT], velocity[COUNT];
    float pscale[COUNT], jp[COUNT];
    int32_t id[COUNT];
    firn_vdb_attribute attributes[4];
    firn_vdb_points points;
} fixture;

static float noise(int i, int salt)
{
    uint64_t bits = firn_hash64(&i, sizeof i, (uint64_t)salt);
    return (float)(bits & 0xffffff) / (float)0x1000000;
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    scene_folder_create(f->folder);
    scene_path(f->path, f->folder, "points.0001.vdb");
    f->reader = scene_reader();
    for (int i = 0; i < COUNT; i++) {
        f->position[i] = firn_vec(noise(i, 1) - 0.5f, 2.0f * noise(i, 2), noise(i, 3) - 7.0f);
        f->velocity[i] = scene_velocity(f->position[i]);
        f->pscale[i] = 0.01f + 0.01f * noise(i, 4);
        f->jp[i] = 0.9f + 0.2f * noise(i, 5);
        f->id[i] = i == 0 ? -5 : 7 * i; // ids beyond 2^31 are stored as negative numbers
    }
    f->attributes[0] = (firn_vdb_attribute){"v", FIRN_VDB_ATTRIBUTE_VEC3, f->velocity};
    f->attributes[1] = (firn_vdb_attribute){"id", FIRN_VDB_ATTRIBUTE_INT, f->id};
    f->attributes[2] = (firn_vdb_attribute){"pscale", FIRN_VDB_ATTRIBUTE_FLOAT, f->pscale};
    f->attributes[3] = (firn_vdb_attribute){"Jp", FIRN_VDB_ATTRIBUTE_FLOAT, f->jp};
    f->points = (firn_vdb_points){COUNT, f->position, 4, f->attributes};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    firn_vdb_reader_destroy(f->reader);
    scene_folder_destroy(f->folder);
    free(f);
    return 0;
}

static const void *attribute(const firn_vdb_points *points, const char *name, int type)
{
    for (size_t i = 0; i < points->attribute_count; i++)
        if (strcmp(points->attributes[i].name, name) == 0) {
            assert_int_equal(points->attributes[i].type, type);
            return points->attributes[i].values;
        }
    fail_msg("no attribute %s", name);
    return NULL;
}

static void write_and_compare(fixture *f, const firn_vdb_points_def *def, float position_error,
                              float value_error)
{
    firn_error error;
    firn_vdb_stamp stamp;
    assert_ok(firn_vdb_write_points(f->path, def, &f->points, &stamp, &error));
    const firn_vdb_stamp *trust[2] = {&stamp, NULL};
    for (int round = 0; round < 2; round++) {
        firn_vdb_cloud *cloud = NULL;
        assert_ok(firn_vdb_read_points(f->reader, f->path, trust[round], NULL, &cloud, &error));
        firn_vdb_points points = firn_vdb_cloud_read(cloud);
        assert_int_equal(points.count, COUNT);
        assert_int_equal(points.attribute_count, 4);
        const int32_t *id = attribute(&points, "id", FIRN_VDB_ATTRIBUTE_INT);
        const firn_vec3 *v = attribute(&points, "v", FIRN_VDB_ATTRIBUTE_VEC3);
        const float *pscale = attribute(&points, "pscale", FIRN_VDB_ATTRIBUTE_FLOAT);
        const float *jp = attribute(&points, "Jp", FIRN_VDB_ATTRIBUTE_FLOAT);
        bool *seen = calloc(COUNT, sizeof *seen);
        for (int i = 0; i < COUNT; i++) {
            int there = id[i] == -5 ? 0 : id[i] / 7;
            assert_in_range(there, 0, COUNT - 1);
            assert_int_equal(id[i], f->id[there]);
            assert_false(seen[there]);
            seen[there] = true;
            firn_vec3 off = firn_sub(points.position[i], f->position[there]);
            assert_true(firn_length(off) <= position_error);
            assert_true(firn_length(firn_sub(v[i], f->velocity[there])) <= 8.0f * value_error);
            assert_float_equal(pscale[i], f->pscale[there], 0.02f * value_error);
            assert_float_equal(jp[i], f->jp[there], 1.1f * value_error);
        }
        free(seen);
        firn_vdb_cloud_destroy(cloud);
    }
}

static void points_come_back_whole_in_full_precision(void **state)
{
    for (int compression = 0; compression < 3; compression++) {
        firn_vdb_points_def def = firn_vdb_points_def_default();
        def.quantize = false;
        def.compression = compression;
        write_and_compare(*state, &def, 2e-6f, 0.0f); // the sum of voxel and offset rounds
    }
}

static void quantized_positions_are_exact_to_a_fraction_of_the_voxel(void **state)
{
    firn_vdb_points_def def = firn_vdb_points_def_default();
    def.voxel_size = 0.25f;
    write_and_compare(*state, &def, 1.8f * 0.25f / 65536.0f + 2e-6f, 0.0f); // on each axis
    def.voxel_size = 0.0f;
    def.half = true;
    write_and_compare(*state, &def, 1e-5f, 5e-4f);
}

static void metadata_of_the_caller_is_in_the_file(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_points_def def = firn_vdb_points_def_default();
    const firn_vdb_meta meta[] = {{"firn_units", "string", "m kg s"}, {"shot", "int32", "42"}};
    firn_vdb_points points = f->points;
    points.meta_count = 2;
    points.meta = meta;
    assert_ok(firn_vdb_write_points(f->path, &def, &points, NULL, &error));
    firn_vdb_listing *listing = NULL;
    assert_ok(firn_vdb_list(f->reader, f->path, NULL, &listing, &error));
    firn_vdb_listing_view view = firn_vdb_listing_read(listing);
    int found = 0;
    for (size_t i = 0; i < view.meta_count; i++)
        for (size_t j = 0; j < 2; j++)
            found += strcmp(view.meta[i].name, meta[j].name) == 0 &&
                     strcmp(view.meta[i].value, meta[j].value) == 0;
    assert_int_equal(found, 2);
    firn_vdb_listing_destroy(listing);
    points.meta = &(firn_vdb_meta){"shot", "int32", "forty-two"};
    points.meta_count = 1;
    assert_int_equal(firn_vdb_write_points(f->path, &def, &points, NULL, &error),
                     FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "shot"));
}

static void quantized_files_are_smaller(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_stamp full, small;
    firn_vdb_points_def def = firn_vdb_points_def_default();
    def.quantize = false;
    assert_ok(firn_vdb_write_points(f->path, &def, &f->points, &full, &error));
    def.quantize = true;
    def.half = true;
    assert_ok(firn_vdb_write_points(f->path, &def, &f->points, &small, &error));
    assert_true((double)small.size < 0.7 * (double)full.size);
}

static void no_points_at_all_is_a_file_without_points(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_points none = {0};
    firn_vdb_points_def def = firn_vdb_points_def_default();
    assert_ok(firn_vdb_write_points(f->path, &def, &none, NULL, &error));
    firn_vdb_cloud *cloud = NULL;
    assert_ok(firn_vdb_read_points(f->reader, f->path, NULL, NULL, &cloud, &error));
    assert_int_equal(firn_vdb_cloud_read(cloud).count, 0);
    firn_vdb_cloud_destroy(cloud);
}

static void bad_points_are_refused_by_number(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_points_def def = firn_vdb_points_def_default();
    f->position[17].y = NAN;
    assert_int_equal(firn_vdb_write_points(f->path, &def, &f->points, NULL, &error),
                     FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "point 17"));
    f->position[17].y = 1e30f;
    def.voxel_size = 0.1f;
    assert_int_equal(firn_vdb_write_points(f->path, &def, &f->points, NULL, &error),
                     FIRN_ERR_ARGUMENT);
    f->position[17].y = 0.0f;
    f->attributes[2].name = "P";
    assert_int_equal(firn_vdb_write_points(f->path, &def, &f->points, NULL, &error),
                     FIRN_ERR_ARGUMENT);
    f->attributes[2].name = "pscale";
    f->attributes[2].type = 9;
    assert_int_equal(firn_vdb_write_points(f->path, &def, &f->points, NULL, &error),
                     FIRN_ERR_ARGUMENT);
    assert_int_equal(scene_folder_count(f->folder), 0);
}

static void a_file_without_points_says_what_it_has(void **state)
{
    fixture *f = *state;
    firn_error error;
    scene_field *field = scene_field_create(0.1f);
    firn_vdb_write_def def = firn_vdb_write_def_default();
    firn_vdb_content content = {.field = &field->view};
    assert_ok(firn_vdb_write(f->path, &def, &content, NULL, &error));
    free(field);
    firn_vdb_cloud *cloud = NULL;
    assert_int_equal(firn_vdb_read_points(f->reader, f->path, NULL, NULL, &cloud, &error),
                     FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "'density' (fog volume)"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(points_come_back_whole_in_full_precision),
        TEST(quantized_positions_are_exact_to_a_fraction_of_the_voxel),
        TEST(metadata_of_the_caller_is_in_the_file),
        TEST(quantized_files_are_smaller),
        TEST(no_points_at_all_is_a_file_without_points),
        TEST(bad_points_are_refused_by_number),
        TEST(a_file_without_points_says_what_it_has),
    };
    return cmocka_run_group_tests_name("vdb_points", tests, NULL, NULL);
}
