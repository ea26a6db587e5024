// Writing volumes and surfaces, reading them back, listing what a file holds.
#define _GNU_SOURCE
#include "unit/vdb_support.h"

#include "firn/file.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const float VOXEL = 0.05f;

typedef struct fixture {
    char folder[64];
    char path[256];
    scene_field *field;
    firn_vdb_reader *reader;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    scene_folder_create(f->folder);
    scene_path(f->path, f->folder, "ball.0007.vdb");
    f->field = scene_field_create(VOXEL);
    f->reader = scene_reader();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    firn_vdb_reader_destroy(f->reader);
    scene_folder_destroy(f->folder);
    free(f->field);
    free(f);
    return 0;
}

static void assert_field_equal(const firn_vdb_volume *volume, const scene_field *field,
                               float tolerance)
{
    firn_vdb_volume_view view = firn_vdb_volume_read(volume);
    assert_true(view.aligned);
    assert_int_equal(view.field.leaf_count, SCENE_LEAVES);
    assert_non_null(view.field.velocity);
    assert_non_null(view.field.compaction);
    for (int leaf = 0; leaf < SCENE_LEAVES; leaf++) {
        size_t there =
            scene_find_leaf(view.field.leaf_origin, view.field.leaf_count, field->origin[leaf]);
        assert_true(there < SCENE_LEAVES);
        assert_memory_equal(view.field.mask + 8 * there, field->mask + 8 * leaf, 64);
        for (int n = 0; n < 512; n++) {
            size_t a = 512 * there + (size_t)n, b = (size_t)(512 * leaf + n);
            bool active = field->mask[8 * leaf + (n >> 6)] >> (n & 63) & 1;
            float compaction = active ? field->compaction[b] : 1.0f;
            assert_float_equal(view.field.density[a], field->density[b],
                               tolerance * field->density[b]);
            assert_float_equal(view.field.velocity[a].x, field->velocity[b].x, tolerance * 4.0f);
            assert_float_equal(view.field.velocity[a].y, field->velocity[b].y, tolerance * 4.0f);
            assert_float_equal(view.field.velocity[a].z, field->velocity[b].z, tolerance * 4.0f);
            assert_float_equal(view.field.compaction[a], compaction, tolerance * 2.0f);
        }
    }
}

static void write_and_compare(fixture *f, const firn_vdb_write_def *def, float tolerance)
{
    firn_error error;
    firn_vdb_content content = {.field = &f->field->view};
    firn_vdb_stamp stamp;
    assert_ok(firn_vdb_write(f->path, def, &content, &stamp, &error));
    const firn_vdb_stamp *trust[2] = {&stamp, NULL};
    for (int i = 0; i < 2; i++) {
        firn_vdb_volume *volume = NULL;
        assert_ok(firn_vdb_read_volume(f->reader, f->path, trust[i], NULL, &volume, &error));
        assert_field_equal(volume, f->field, tolerance);
        firn_vdb_volume_destroy(volume);
    }
}

static void a_field_comes_back_with_any_compression_and_unit(void **state)
{
    fixture *f = *state;
    for (int compression = 0; compression < 3; compression++)
        for (int density = 0; density < 2; density++) {
            firn_vdb_write_def def = firn_vdb_write_def_default();
            def.half = false;
            def.compression = compression;
            def.density = density;
            def.reference_density = 256.0f; // a power of two scales without rounding
            write_and_compare(f, &def, 0.0f);
        }
}

static void half_floats_lose_at_most_their_last_bit(void **state)
{
    firn_vdb_write_def def = firn_vdb_write_def_default();
    write_and_compare(*state, &def, 5e-4f);
}

static void velocities_beyond_the_snow_come_back(void **state)
{
    fixture *f = *state;
    // All snow of the first leaf goes; the velocities stay, and one voxel of another gets one.
    uint64_t known[8 * SCENE_LEAVES];
    memcpy(known, f->field->mask, sizeof known);
    for (int i = 0; i < 8; i++)
        f->field->mask[i] = 0;
    for (int i = 0; i < 512; i++)
        f->field->density[i] = 0.0f;
    size_t corner = 512 * (size_t)(SCENE_LEAVES - 1) + 511;
    known[corner / 64] |= (uint64_t)1 << corner % 64;
    f->field->velocity[corner] = firn_vec(1.0f, 2.0f, 4.0f);
    f->field->view.velocity_mask = known;

    firn_vdb_write_def def = firn_vdb_write_def_default();
    def.half = false;
    firn_vdb_content content = {.field = &f->field->view};
    firn_error error;
    assert_ok(firn_vdb_write(f->path, &def, &content, NULL, &error));
    firn_vdb_volume *volume = NULL;
    assert_ok(firn_vdb_read_volume(f->reader, f->path, NULL, NULL, &volume, &error));
    firn_field_view view = firn_vdb_volume_read(volume).field;
    assert_int_equal(view.leaf_count, SCENE_LEAVES);
    assert_non_null(view.velocity_mask);
    for (size_t leaf = 0; leaf < SCENE_LEAVES; leaf++) {
        size_t there = scene_find_leaf(view.leaf_origin, view.leaf_count, f->field->origin[leaf]);
        assert_memory_equal(view.mask + 8 * there, f->field->mask + 8 * leaf, 64);
        assert_memory_equal(view.velocity_mask + 8 * there, known + 8 * leaf, 64);
        assert_memory_equal(view.velocity + 512 * there, f->field->velocity + 512 * leaf,
                            512 * sizeof(firn_vec3));
    }
    firn_vdb_volume_destroy(volume);

    firn_vdb_listing *listing = NULL;
    assert_ok(firn_vdb_list(f->reader, f->path, NULL, &listing, &error));
    firn_vdb_listing_view grids = firn_vdb_listing_read(listing);
    uint64_t moving = 0, snow = 0;
    for (size_t i = 0; i < grids.grid_count; i++) {
        moving += strcmp(grids.grids[i].name, "vel") == 0 ? grids.grids[i].active_voxels : 0;
        snow += strcmp(grids.grids[i].name, "density") == 0 ? grids.grids[i].active_voxels : 0;
    }
    assert_true(snow > 0 && snow < moving);
    firn_vdb_listing_destroy(listing);
}

static void the_same_field_gives_the_same_file_for_any_thread_count(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_content content = {.field = &f->field->view};
    void *bytes[2];
    size_t sizes[2];
    for (int i = 0; i < 2; i++) {
        firn_vdb_write_def def = firn_vdb_write_def_default();
        def.thread_count = 1 + 3 * i;
        assert_ok(firn_vdb_write(f->path, &def, &content, NULL, &error));
        assert_ok(firn_file_read(f->path, 1 << 24, &bytes[i], &sizes[i], &error));
    }
    assert_int_equal(sizes[0], sizes[1]);
    // Bytes 22 to 57 are a random identifier.
    assert_memory_equal(bytes[0], bytes[1], 21);
    assert_memory_equal((char *)bytes[0] + 58, (char *)bytes[1] + 58, sizes[0] - 58);
    firn_free(bytes[0]);
    firn_free(bytes[1]);
}

static const char *meta_value(const firn_vdb_meta *meta, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(meta[i].name, name) == 0)
            return meta[i].value;
    return "";
}

static void a_listing_tells_what_the_file_holds(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_write_def def = firn_vdb_write_def_default();
    def.frame = 7;
    firn_vdb_meta extra[2] = {{"shot", "string", "sq010"}, {"take", "int32", "3"}};
    firn_vdb_content content = {.field = &f->field->view, .meta_count = 2, .meta = extra};
    assert_ok(firn_vdb_write(f->path, &def, &content, NULL, &error));
    extra[1].value = "3.5";
    assert_int_equal(firn_vdb_write(f->path, &def, &content, NULL, &error), FIRN_ERR_ARGUMENT);
    firn_vdb_listing *listing = NULL;
    assert_ok(firn_vdb_list(f->reader, f->path, NULL, &listing, &error));
    firn_vdb_listing_view view = firn_vdb_listing_read(listing);

    struct stat info;
    assert_int_equal(stat(f->path, &info), 0);
    assert_int_equal(view.bytes, info.st_size);
    assert_string_equal(meta_value(view.meta, view.meta_count, "frame"), "7");
    assert_string_equal(meta_value(view.meta, view.meta_count, "fps"), "24");
    assert_string_equal(meta_value(view.meta, view.meta_count, "units"), "m kg s");
    assert_string_equal(meta_value(view.meta, view.meta_count, "up_axis"), "y");
    assert_string_equal(meta_value(view.meta, view.meta_count, "software_version"), FIRN_VERSION);
    assert_string_equal(meta_value(view.meta, view.meta_count, "shot"), "sq010");
    assert_string_equal(meta_value(view.meta, view.meta_count, "take"), "3");

    assert_int_equal(view.grid_count, 3);
    uint64_t active = 0;
    for (size_t i = 0; i < 8 * SCENE_LEAVES; i++)
        active += (uint64_t)__builtin_popcountll(f->field->mask[i]);
    const char *names[3] = {"compaction", "density", "vel"};
    const char *types[3] = {"float", "float", "vec3s"};
    int classes[3] = {FIRN_VDB_CLASS_UNKNOWN, FIRN_VDB_CLASS_FOG, FIRN_VDB_CLASS_UNKNOWN};
    for (size_t i = 0; i < 3; i++) {
        const firn_vdb_grid *grid = &view.grids[i];
        assert_string_equal(grid->name, names[i]);
        assert_string_equal(grid->type, types[i]);
        assert_int_equal(grid->grid_class, classes[i]);
        assert_true(grid->half);
        assert_true(grid->usable);
        assert_true(grid->counted);
        assert_int_equal(grid->active_voxels, active);
        assert_int_equal(grid->box_min.x, -7);
        assert_int_equal(grid->box_max.z, 6);
        assert_float_equal(grid->voxel_size.y, VOXEL, 1e-7f);
        assert_float_equal(grid->map.translation.z, 0.5f * VOXEL, 1e-7f);
        assert_float_equal(grid->matrix[0], VOXEL, 1e-7f);
        assert_float_equal(grid->matrix[3], 0.5f * VOXEL, 1e-7f);
    }
    const firn_vdb_grid *density = &view.grids[1];
    assert_string_equal(meta_value(density->meta, density->meta_count, "g"), "0.5");
    assert_string_equal(meta_value(density->meta, density->meta_count, "albedo"), "[0.9, 0.95, 1]");
    assert_string_equal(meta_value(density->meta, density->meta_count, "sigma_t_per_density"),
                        "724");
    assert_string_equal(meta_value(density->meta, density->meta_count, "density_ref_kg_m3"), "400");
    assert_string_equal(meta_value(view.grids[2].meta, view.grids[2].meta_count, "vector_type"),
                        "contravariant relative");
    firn_vdb_listing_destroy(listing);
}

// The type of the velocity grid becomes one that no OpenVDB has.
static void grids_of_an_unknown_type_are_passed_over(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_write_def def = firn_vdb_write_def_default();
    firn_vdb_content content = {.field = &f->field->view};
    assert_ok(firn_vdb_write(f->path, &def, &content, NULL, &error));
    void *bytes = NULL;
    size_t size = 0;
    assert_ok(firn_file_read(f->path, SIZE_MAX, &bytes, &size, &error));
    unsigned char *type = memmem(bytes, size, "Tree_vec3s_5_4_3", 16);
    assert_non_null(type);
    type[15] = '9';
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    firn_free(bytes);
    firn_vdb_listing *listing = NULL;
    assert_ok(firn_vdb_list(f->reader, f->path, NULL, &listing, &error));
    assert_int_equal(firn_vdb_listing_read(listing).grid_count, 3);
    firn_vdb_listing_destroy(listing);
    firn_vdb_volume *volume = NULL;
    assert_ok(firn_vdb_read_volume(f->reader, f->path, NULL, NULL, &volume, &error));
    firn_vdb_volume_view view = firn_vdb_volume_read(volume);
    assert_int_equal(view.field.leaf_count, SCENE_LEAVES);
    assert_null(view.field.velocity);
    firn_vdb_volume_destroy(volume);
}

static void a_surface_comes_back_with_its_rotation_and_tiles(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_transform map = {
        {1.0f, -2.0f, 0.5f}, firn_quat_turn((firn_vec3){1.0f, 2.0f, -1.0f}, 2.5f), VOXEL};
    scene_ball *ball = scene_ball_create(map, 0.5f);
    firn_velocity_grid velocity = {map, 64, ball->origin, NULL};
    firn_vec3 *values = calloc(64 * 512, sizeof *values);
    for (int i = 0; i < 64 * 512; i++)
        values[i] = firn_vec(1.0f, (float)i, -2.0f);
    velocity.values = values;
    firn_vdb_write_def def = firn_vdb_write_def_default();
    def.half = false;
    firn_vdb_content content = {.surface = &ball->view, .velocity = &velocity};
    assert_ok(firn_vdb_write(f->path, &def, &content, NULL, &error));

    firn_vdb_shape_def wanted = firn_vdb_shape_def_default();
    firn_vdb_shape *shape = NULL;
    assert_ok(firn_vdb_read_shape(f->reader, f->path, NULL, &wanted, &shape, &error));
    assert_string_equal(firn_vdb_shape_warning(shape), "");
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    const firn_velocity_grid *moving = firn_vdb_shape_velocity(shape);
    assert_non_null(moving);
    assert_float_equal(set->background, 3.0f * VOXEL, 0.0f);
    assert_int_equal(set->tile_count, 3);
    for (int i = 0; i < 20; i++) {
        firn_vec3 p = {(float)(i * i), (float)(7 - i), (float)(3 * i)};
        firn_vec3 a = firn_transform_point(map, p), b = firn_transform_point(set->map, p);
        assert_true(firn_length(firn_sub(a, b)) < 2e-5f);
    }
    for (int x = -20; x < 20; x++)
        for (int y = -20; y < 20; y++)
            for (int z = -20; z < 20; z++)
                assert_true(scene_level_set_value(set, x, y, z) ==
                            scene_level_set_value(&ball->view, x, y, z));
    assert_true(scene_level_set_value(set, 130, 1, 2) == -3.0f * VOXEL);
    assert_true(scene_level_set_value(set, 300, 200, 5) == -3.0f * VOXEL);
    assert_true(scene_level_set_value(set, 5000, 9, -50) == -3.0f * VOXEL);
    assert_int_equal(moving->leaf_count, 64);
    for (size_t leaf = 0; leaf < 64; leaf++) {
        size_t there = scene_find_leaf(moving->leaf_origin, 64, ball->origin[leaf]);
        assert_memory_equal(moving->values + 512 * there, values + 512 * leaf,
                            512 * sizeof *values);
    }
    firn_vdb_shape_destroy(shape);
    free(values);
    scene_ball_destroy(ball);
}

static void fog_becomes_a_region_where_it_passes_the_threshold(void **state)
{
    fixture *f = *state;
    firn_error error;
    // Density falls with the distance from the center and is 200 kg/m^3 at 0.2 m.
    for (int leaf = 0; leaf < SCENE_LEAVES; leaf++)
        for (int n = 0; n < 512; n++) {
            firn_coord c = scene_voxel(f->field->origin[leaf], n);
            firn_vec3 p = firn_scale(
                VOXEL, firn_vec((float)c.x + 0.5f, (float)c.y + 0.5f, (float)c.z + 0.5f));
            f->field->density[512 * leaf + n] = 400.0f - 1000.0f * firn_length(p);
        }
    firn_vdb_write_def def = firn_vdb_write_def_default();
    firn_vdb_content content = {.field = &f->field->view};
    assert_ok(firn_vdb_write(f->path, &def, &content, NULL, &error));
    firn_vdb_shape_def wanted = firn_vdb_shape_def_default();
    wanted.region = FIRN_VDB_REGION_ANY; // there is no level set, so the fog is taken
    wanted.threshold = 0.5f;
    firn_vdb_shape *shape = NULL;
    assert_ok(firn_vdb_read_shape(f->reader, f->path, NULL, &wanted, &shape, &error));
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    assert_true(set->background > 0.0f);
    for (int x = -7; x < 7; x++)
        for (int y = -7; y < 7; y++)
            for (int z = -7; z < 7; z++) {
                firn_vec3 p =
                    firn_transform_point(set->map, firn_vec((float)x, (float)y, (float)z));
                float expected = scene_ball_distance(p, 0.2f, set->background);
                assert_float_equal(scene_level_set_value(set, x, y, z), expected, 0.3f * VOXEL);
            }
    firn_vdb_shape_destroy(shape);

    wanted.threshold = 5.0f;
    assert_int_equal(firn_vdb_read_shape(f->reader, f->path, NULL, &wanted, &shape, &error),
                     FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "threshold"));
    wanted.region = FIRN_VDB_REGION_LEVEL_SET;
    assert_int_equal(firn_vdb_read_shape(f->reader, f->path, NULL, &wanted, &shape, &error),
                     FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "'density' (fog volume)"));
}

static void nothing_is_left_where_nothing_can_be_written(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_write_def def = firn_vdb_write_def_default();
    firn_vdb_content content = {.field = &f->field->view};
    char path[256];
    scene_path(path, f->folder, "missing/ball.vdb");
    assert_int_equal(firn_vdb_write(path, &def, &content, NULL, &error), FIRN_ERR_NOT_FOUND);
    assert_int_equal(firn_vdb_write("/proc/ball.vdb", &def, &content, NULL, &error),
                     FIRN_ERR_NOT_FOUND);
    assert_int_equal(scene_folder_count(f->folder), 0);
    def.reference_density = -1.0f;
    assert_int_equal(firn_vdb_write(f->path, &def, &content, NULL, &error), FIRN_ERR_ARGUMENT);
    def = firn_vdb_write_def_default();
    f->field->velocity[1000].y = NAN;
    assert_int_equal(firn_vdb_write(f->path, &def, &content, NULL, &error), FIRN_ERR_DIVERGED);
    memset(&def, 0, sizeof def);
    assert_int_equal(firn_vdb_write(f->path, &def, &content, NULL, &error), FIRN_ERR_ARGUMENT);
    assert_int_equal(scene_folder_count(f->folder), 0);
}

static void a_write_cut_by_a_size_limit_is_reported_and_leaves_the_old_file(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_write_def def = firn_vdb_write_def_default();
    def.compression = FIRN_VDB_NONE;
    firn_vdb_content content = {.field = &f->field->view};
    firn_vdb_stamp before, after;
    assert_ok(firn_vdb_write(f->path, &def, &content, &before, &error));

    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < before.size; limit += 1 + before.size / 7) {
        small.rlim_cur = limit;
        setrlimit(RLIMIT_FSIZE, &small);
        firn_result result = firn_vdb_write(f->path, &def, &content, NULL, &error);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(result, FIRN_ERR_IO);
        assert_int_equal(scene_folder_count(f->folder), 1);
    }
    signal(SIGXFSZ, handler);
    assert_ok(firn_vdb_stamp_file(f->path, &after, &error));
    assert_memory_equal(&before, &after, sizeof before);
}

static void a_full_disk_is_reported_and_nothing_is_left(void **state)
{
    fixture *f = *state;
    firn_error error;
    // A file system of its own in a mount namespace of this process; needs the right to mount.
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", f->folder, "tmpfs", 0, "size=64k") != 0)
        skip();
    for (int compression = 0; compression < 3; compression++) {
        firn_vdb_write_def def = firn_vdb_write_def_default();
        def.compression = compression;
        def.half = false;
        // Noise, which no codec shrinks below the room there is.
        for (int i = 0; i < 512 * SCENE_LEAVES; i++) {
            uint64_t noise = firn_hash64(&i, sizeof i, 1);
            f->field->velocity[i] =
                firn_vec((float)(noise & 0xfffff), (float)(noise >> 20 & 0xfffff),
                         (float)(noise >> 40 & 0xfffff));
        }
        memset(f->field->mask, 255, sizeof f->field->mask);
        firn_vdb_content content = {.field = &f->field->view};
        assert_int_equal(firn_vdb_write(f->path, &def, &content, NULL, &error), FIRN_ERR_DISK_FULL);
        assert_non_null(strstr(error.message, f->path));
        assert_int_equal(scene_folder_count(f->folder), 0);
    }
    umount(f->folder);
}

/// Fails the allocation with this number; counts all.
typedef struct failing {
    int count, fails_at;
} failing;

static void *failing_allocate(size_t bytes, size_t alignment, void *user)
{
    failing *f = user;
    if (f->count++ == f->fails_at)
        return NULL;
    void *memory = NULL;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void failing_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static void any_failing_allocation_is_out_of_memory(void **state)
{
    fixture *f = *state;
    firn_error error;
    firn_vdb_write_def def = firn_vdb_write_def_default();
    firn_vdb_content content = {.field = &f->field->view};
    firn_vdb_stamp stamp;
    assert_ok(firn_vdb_write(f->path, &def, &content, &stamp, &error));
    bool done = false;
    for (int n = 0; !done; n++) {
        failing counter = {0, n};
        firn_allocator allocator = {failing_allocate, failing_release, &counter};
        firn_set_allocator(&allocator);
        firn_vdb_volume *volume = NULL;
        firn_result result = firn_vdb_read_volume(f->reader, f->path, n % 2 == 0 ? &stamp : NULL,
                                                  NULL, &volume, &error);
        done = counter.count <= n;
        assert_int_equal(result, done ? FIRN_OK : FIRN_ERR_MEMORY);
        firn_vdb_volume_destroy(volume);
        if (!done && n % 2 == 1)
            assert_int_equal(firn_vdb_write(f->path, &def, &content, NULL, &error), FIRN_OK);
        firn_set_allocator(NULL);
        if (!done && n % 2 == 1)
            assert_ok(firn_vdb_stamp_file(f->path, &stamp, &error));
        assert_true(n < 100);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_field_comes_back_with_any_compression_and_unit),
        TEST(half_floats_lose_at_most_their_last_bit),
        TEST(velocities_beyond_the_snow_come_back),
        TEST(the_same_field_gives_the_same_file_for_any_thread_count),
        TEST(a_listing_tells_what_the_file_holds),
        TEST(grids_of_an_unknown_type_are_passed_over),
        TEST(a_surface_comes_back_with_its_rotation_and_tiles),
        TEST(fog_becomes_a_region_where_it_passes_the_threshold),
        TEST(nothing_is_left_where_nothing_can_be_written),
        TEST(a_write_cut_by_a_size_limit_is_reported_and_leaves_the_old_file),
        TEST(a_full_disk_is_reported_and_nothing_is_left),
        TEST(any_failing_allocation_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("vdb_volume", tests, NULL, NULL);
}
