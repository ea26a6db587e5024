#include "abc_write_support.h"

#include "write.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const char official[] = "Alembic 1.8.12 (built Nov 16 2026 04:10:59)";

// The samples of a fixture, in the order of the file.
typedef struct blocks {
    file_bytes file;
    size_t at;
} blocks;

static blocks open_blocks(const char *path, size_t at) { return (blocks){read_whole(path), at}; }

static const void *next_block(blocks *b, size_t *bytes)
{
    uint64_t size;
    memcpy(&size, b->file.bytes + b->at, sizeof size);
    const unsigned char *data = b->file.bytes + b->at + 24;
    b->at += 8 + (size_t)size;
    assert_true(b->at < b->file.size);
    *bytes = (size_t)size - 16;
    // Blocks start at any byte; a copy is aligned. Tests are short: eight live at a time suffice.
    static _Alignas(64) unsigned char copies[8][8192];
    static int next = 0;
    assert_true(*bytes <= sizeof copies[0]);
    unsigned char *copy = copies[next++ % 8];
    memcpy(copy, data, *bytes);
    return copy;
}

static firn_abc_writer_def fixture_def(const char *name)
{
    static char description[128];
    snprintf(description, sizeof description, "reference fixture %s", name);
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.library = official;
    def.application = "make_fixtures";
    def.date = "Thu Jan  1 00:00:00 1970";
    def.description = description;
    return def;
}

static void two_points_give_the_bytes_of_the_official_library(void **state)
{
    (void)state;
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.library = official;
    def.application = NULL;
    def.fps = 0.0;
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create("abc_tiny.abc", &def, &writer, error));
    firn_abc_points_def points = firn_abc_points_def_default();
    ASSERT_OK(firn_abc_writer_add_clock(writer, 1.0 / 24.0, 1.0 / 24.0, &points.clock, error));
    firn_abc_node node;
    ASSERT_OK(firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "p", &points, &node, error));
    uint32_t frame = 7;
    ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
    assert_int_equal(frame, 0);
    blocks b = open_blocks(FIRN_FIXTURES "/alembic/tiny.abc", 0x28);
    size_t bytes;
    const firn_vec3 *first = next_block(&b, &bytes);
    const uint64_t *ids = next_block(&b, &bytes);
    next_block(&b, &bytes);
    const firn_vec3 *second = next_block(&b, &bytes);
    ASSERT_OK(firn_abc_writer_put_points(
        writer, node, &(firn_abc_points_data){2, first, ids, NULL, NULL, NULL}, error));
    ASSERT_OK(firn_abc_writer_put_points(
        writer, node, &(firn_abc_points_data){2, second, ids, NULL, NULL, NULL}, error));
    ASSERT_OK(firn_abc_writer_finish(writer, error));
    firn_free(b.file.bytes);
    assert_same_files("abc_tiny.abc", FIRN_FIXTURES "/alembic/tiny.abc");
}

static void deforming_mesh_gives_the_bytes_of_the_official_library(void **state)
{
    (void)state;
    firn_abc_writer_def def = fixture_def("mesh_deform");
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create("abc_mesh_deform.abc", &def, &writer, error));
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    mesh.velocities = true;
    ASSERT_OK(firn_abc_writer_add_clock(writer, 1.0 / 24.0, 1.0 / 24.0, &mesh.clock, error));
    firn_abc_node node;
    ASSERT_OK(firn_abc_writer_add_mesh(writer, FIRN_ABC_ROOT, "blob", &mesh, &node, error));
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
    blocks b = open_blocks(FIRN_FIXTURES "/alembic/mesh_deform.abc", 0x28);
    firn_abc_mesh_data data = {0};
    size_t bytes;
    static int32_t indices[2048], counts[2048];
    for (frame = 0; frame < 12; frame++) {
        data.positions = next_block(&b, &bytes);
        data.point_count = bytes / sizeof(firn_vec3);
        if (frame == 0) {
            memcpy(indices, next_block(&b, &bytes), sizeof indices);
            data.corner_count = bytes / 4;
            memcpy(counts, next_block(&b, &bytes), sizeof counts);
            data.face_count = bytes / 4;
            data.face_indices = indices;
            data.face_counts = counts;
        }
        data.velocities = next_block(&b, &bytes);
        next_block(&b, &bytes);
        ASSERT_OK(firn_abc_writer_put_mesh(writer, node, &data, error));
    }
    ASSERT_OK(firn_abc_writer_finish(writer, error));
    firn_free(b.file.bytes);
    assert_same_files("abc_mesh_deform.abc", FIRN_FIXTURES "/alembic/mesh_deform.abc");
}

static void put_box(firn_abc_writer *writer, firn_abc_node box, blocks *b)
{
    size_t bytes;
    firn_abc_mesh_data data = {0};
    data.positions = next_block(b, &bytes);
    data.point_count = bytes / sizeof(firn_vec3);
    data.face_indices = next_block(b, &bytes);
    data.corner_count = bytes / 4;
    data.face_counts = next_block(b, &bytes);
    data.face_count = bytes / 4;
    next_block(b, &bytes);
    ASSERT_OK(firn_abc_writer_put_mesh(writer, box, &data, error));
}

static void transform_hierarchy_gives_the_bytes_of_the_official_library(void **state)
{
    (void)state;
    firn_abc_writer_def def = fixture_def("xform_hierarchy");
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create("abc_xform_hierarchy.abc", &def, &writer, error));
    blocks b = open_blocks(FIRN_FIXTURES "/alembic/xform_hierarchy.abc", 0x1f9);
    size_t bytes;
    const unsigned char *ops = next_block(&b, &bytes);
    firn_abc_xform_def xform = firn_abc_xform_def_default();
    ASSERT_OK(firn_abc_writer_add_clock(writer, 0.0, 1.0 / 24.0, &xform.clock, error));
    xform.op_count = (uint32_t)bytes;
    for (size_t i = 0; i < bytes; i++)
        xform.ops[i] = (firn_abc_op)ops[i];
    firn_abc_node root, child, box;
    ASSERT_OK(firn_abc_writer_add_xform(writer, FIRN_ABC_ROOT, "root_xf", &xform, &root, error));
    b.at = 0x27c;
    ops = next_block(&b, &bytes);
    for (size_t i = 0; i < bytes; i++)
        xform.ops[i] = (firn_abc_op)ops[i];
    ASSERT_OK(firn_abc_writer_add_xform(writer, root, "child_xf", &xform, &child, error));
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    ASSERT_OK(firn_abc_writer_add_mesh(writer, child, "box", &mesh, &box, error));
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
    b.at = 0x28;
    put_box(writer, box, &b);
    next_block(&b, &bytes); // .inherits
    for (frame = 0; frame < 24; frame++) {
        const double *channels = next_block(&b, &bytes);
        if (frame == 0)
            next_block(&b, &bytes); // .ops
        ASSERT_OK(firn_abc_writer_put_xform(writer, root, channels, true, error));
        channels = next_block(&b, &bytes);
        if (frame == 0)
            next_block(&b, &bytes);
        ASSERT_OK(firn_abc_writer_put_xform(writer, child, channels, true, error));
    }
    ASSERT_OK(firn_abc_writer_finish(writer, error));
    firn_free(b.file.bytes);
    assert_same_files("abc_xform_hierarchy.abc", FIRN_FIXTURES "/alembic/xform_hierarchy.abc");
}

static bool contains(const file_bytes *file, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i + size <= file->size; i++)
        if (memcmp(file->bytes + i, bytes, size) == 0)
            return true;
    return false;
}

// /partly_constant of points_edge: 8 samples, of which 3 to 5 change, the fifth by repetition.
static void pauses_are_hashed_as_the_official_library_does(void **state)
{
    (void)state;
    static const unsigned char hash[16] = {0xe2, 0x87, 0x41, 0x2a, 0x7b, 0x62, 0xe9, 0x66,
                                           0x8b, 0xbf, 0xd4, 0xd4, 0x32, 0xe6, 0x3c, 0x9e};
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create("abc_pause.abc", &def, &writer, error));
    firn_abc_points_def points = firn_abc_points_def_default();
    ASSERT_OK(firn_abc_writer_add_clock(writer, 0.0, 1.0 / 24.0, &points.clock, error));
    firn_abc_node node;
    ASSERT_OK(firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "partly_constant", &points, &node,
                                         error));
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
    blocks b = open_blocks(FIRN_FIXTURES "/alembic/points_edge.abc", 0x5f8);
    size_t bytes;
    const firn_vec3 *a = next_block(&b, &bytes);
    const size_t count = bytes / sizeof *a;
    const uint64_t *ids = next_block(&b, &bytes);
    next_block(&b, &bytes);
    const firn_vec3 *second = next_block(&b, &bytes);
    next_block(&b, &bytes);
    const firn_vec3 *third = next_block(&b, &bytes);
    const firn_vec3 *poses[8] = {a, a, a, second, second, third, third, third};
    for (frame = 0; frame < 8; frame++) {
        const firn_abc_points_data data = {count, poses[frame], ids, NULL, NULL, NULL};
        ASSERT_OK(firn_abc_writer_put_points(writer, node, &data, error));
    }
    const firn_abcw_property *p =
        &writer->properties[writer->objects[node.index].role1[FIRN_ABCW_POSITIONS] - 1];
    assert_int_equal(p->first, 3);
    assert_int_equal(p->last, 5);
    assert_int_equal(p->word_count, 4);
    assert_int_equal(p->words[1], p->words[2]);
    ASSERT_OK(firn_abc_writer_finish(writer, error));
    file_bytes file = read_whole("abc_pause.abc");
    assert_true(contains(&file, hash, sizeof hash));
    firn_free(file.bytes);
    firn_free(b.file.bytes);
}

static void same_input_gives_the_same_bytes(void **state)
{
    (void)state;
    ASSERT_OK(scene_write("abc_scene.abc", false, 20, 20, error));
    ASSERT_OK(scene_write("abc_scene_again.abc", false, 20, 20, error));
    assert_same_files("abc_scene.abc", "abc_scene_again.abc");
}

static void one_file_per_frame_is_a_whole_archive_each(void **state)
{
    (void)state;
    for (int frame = 1; frame <= 3; frame++) {
        char path[64];
        snprintf(path, sizeof path, "abc_frame.%04d.abc", frame);
        ASSERT_OK(scene_write(path, false, (uint32_t)frame, (uint32_t)frame, error));
        assert_true(file_exists(path));
    }
}

static void more_than_255_samples_are_readable(void **state)
{
    (void)state;
    ASSERT_OK(scene_write("abc_many.abc", false, 300, 300, error));
}

static void blocks_are_told_apart_by_key_and_size(void **state)
{
    (void)state;
    firn_abcw_block_map map = {0};
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(firn_abcw_blocks_reserve(&map));
        const firn_abcw_digest key = {{i / 4 % 2, i / 8}};
        firn_abcw_block *block = firn_abcw_blocks_find(&map, key, i % 4);
        assert_int_equal(block->word, 0);
        *block = (firn_abcw_block){key, i % 4, i + 1, 0};
        map.count++;
    }
    for (uint64_t i = 0; i < 1000; i++) {
        const firn_abcw_digest key = {{i / 4 % 2, i / 8}};
        assert_int_equal(firn_abcw_blocks_find(&map, key, i % 4)->word, i + 1);
    }
    firn_free(map.slots);
}

static void equal_data_is_stored_once(void **state)
{
    (void)state;
    enum { POINTS = 1000, FRAMES = 50 };
    static firn_vec3 positions[POINTS];
    for (size_t i = 0; i < POINTS; i++)
        positions[i] = firn_vec((float)i, 1.0f, 2.0f);
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create("abc_equal.abc", &def, &writer, error));
    firn_abc_points_def points = firn_abc_points_def_default();
    points.velocities = true;
    firn_abc_node nodes[2];
    ASSERT_OK(firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "a", &points, &nodes[0], error));
    ASSERT_OK(firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "b", &points, &nodes[1], error));
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
    const firn_abc_points_data data = {POINTS, positions, NULL, positions, NULL, NULL};
    for (frame = 0; frame < FRAMES; frame++)
        for (int i = 0; i < 2; i++)
            ASSERT_OK(firn_abc_writer_put_points(writer, nodes[i], &data, error));
    ASSERT_OK(firn_abc_writer_finish(writer, error));
    file_bytes file = read_whole("abc_equal.abc");
    assert_true(file.size < sizeof positions + 4096);
    firn_free(file.bytes);
}

static void file_has_its_name_only_when_it_is_whole(void **state)
{
    (void)state;
    remove("abc_whole.abc");
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    for (int finishes = 0; finishes < 2; finishes++) {
        ASSERT_OK(firn_abc_writer_create("abc_whole.abc", &def, &writer, error));
        uint32_t frame;
        ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
        ASSERT_OK(firn_abc_writer_end_frame(writer, error));
        char temporary[FIRN_PATH_SIZE];
        snprintf(temporary, sizeof temporary, "%s", firn_file_temporary_path(writer->stream.file));
        assert_true(file_exists(temporary));
        assert_false(file_exists("abc_whole.abc"));
        if (finishes)
            ASSERT_OK(firn_abc_writer_finish(writer, error));
        else
            firn_abc_writer_destroy(writer);
        assert_false(file_exists(temporary));
        assert_int_equal(file_exists("abc_whole.abc"), finishes);
    }
}

static void assert_bounds_are_those_of_a_plain_loop(const firn_vec3 *points, size_t count)
{
    double expected[6] = {DBL_MAX, DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX, -DBL_MAX};
    for (size_t i = 0; i < 3 * count; i++) {
        double value = (&points->x)[i];
        if (value < expected[i % 3])
            expected[i % 3] = value;
        if (value > expected[3 + i % 3])
            expected[3 + i % 3] = value;
    }
    double bounds[6] = {DBL_MAX, DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX, -DBL_MAX};
    firn_abcw_bounds_extend(bounds, points, count / 2);
    firn_abcw_bounds_extend(bounds, points + count / 2, count - count / 2);
    assert_memory_equal(bounds, expected, sizeof bounds);
}

static void bounds_enclose_the_points_and_ignore_nan(void **state)
{
    (void)state;
    enum { POINTS = 23 };
    firn_vec3 points[POINTS];
    for (size_t i = 0; i < POINTS; i++)
        points[i] = firn_vec((float)((i * 7) % 11) - 4.0f, (float)((i * 5) % 13), -(float)(i % 4));
    for (size_t count = 0; count <= POINTS; count++)
        assert_bounds_are_those_of_a_plain_loop(points, count);
    points[3].y = NAN;
    points[22].x = INFINITY;
    assert_bounds_are_those_of_a_plain_loop(points, POINTS);
    points[0] = firn_vec(NAN, NAN, NAN);
    assert_bounds_are_those_of_a_plain_loop(points, 1);
}

static void bounds_and_keys_of_large_samples_are_those_of_the_whole(void **state)
{
    (void)state;
    enum { POINTS = 10001 };
    static firn_vec3 points[POINTS];
    for (size_t i = 0; i < POINTS; i++)
        points[i] = firn_vec((float)(i * 7919 % POINTS), 5.0f - (float)(i * 31 % POINTS), (float)i);
    double expected[6] = {0.0, 6.0 - POINTS, 0.0, POINTS - 1.0, 5.0, POINTS - 1.0};
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create("abc_windows.abc", &def, &writer, error));
    firn_abc_points_def points_def = firn_abc_points_def_default();
    points_def.widths = true;
    firn_abc_node node;
    ASSERT_OK(firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "p", &points_def, &node, error));
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
    const firn_abc_points_data data = {POINTS, points, NULL, NULL, &points[0].x, NULL};
    ASSERT_OK(firn_abc_writer_put_points(writer, node, &data, error));
    const firn_abcw_property *bounds =
        &writer->properties[writer->objects[node.index].role1[FIRN_ABCW_SELF_BOUNDS] - 1];
    firn_abcw_digest key = firn_murmur_key(expected, sizeof expected);
    assert_memory_equal(&bounds->key, &key, sizeof key);
    key = firn_murmur_key(points, sizeof points);
    assert_memory_equal(&bounds[1].key, &key, sizeof key); // P follows .selfBnds
    ASSERT_OK(firn_abc_writer_finish(writer, error));
}

static void offsets_do_not_wrap_at_4_gib(void **state)
{
    (void)state;
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create("abc_offset.abc", &def, &writer, error));
    firn_abc_points_def points = firn_abc_points_def_default();
    firn_abc_node node;
    ASSERT_OK(firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "p", &points, &node, error));
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
    // A replayed sample moves the offset without writing its bytes.
    const uint64_t huge = (UINT64_C(5) << 30) + 7;
    const firn_abcw_sample sample = {
        .property = 2, .bytes = huge, .elements = huge, .key = {{1, 2}}};
    ASSERT_OK(firn_abcw_sample_apply(writer, &sample, error));
    assert_int_equal(writer->stream.offset, FIRN_ABCW_FILE_START + 24 + huge);
    const firn_vec3 position = {1.0f, 2.0f, 3.0f};
    const uint64_t id = 9;
    const firn_abc_points_data data = {1, &position, &id, NULL, NULL, NULL};
    ASSERT_OK(firn_abc_writer_put_points(writer, node, &data, error));
    const firn_abcw_property *ids = &writer->properties[3];
    assert_string_equal(ids->name, ".pointIds");
    // After the huge sample and a key, a size and 12 bytes of P.
    assert_true(ids->words[0] == (FIRN_ABCW_EMPTY_DATA | (FIRN_ABCW_FILE_START + 24 + huge + 36)));
    firn_abc_writer_destroy(writer);
}

static void archives_beyond_4_gib_are_whole(void **state)
{
    (void)state;
    if (getenv("FIRN_TEST_LARGE") == NULL)
        skip();
    enum { POINTS = 1 << 20, FRAMES = 360 };
    firn_vec3 *positions = firn_alloc_zero(POINTS * sizeof *positions);
    assert_non_null(positions);
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    ASSERT_OK(firn_abc_writer_create("abc_large.abc", &def, &writer, error));
    firn_abc_points_def points = firn_abc_points_def_default();
    ASSERT_OK(firn_abc_writer_add_clock(writer, 0.0, 1.0 / 24.0, &points.clock, error));
    firn_abc_node node;
    ASSERT_OK(firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "p", &points, &node, error));
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(writer, &frame, error));
    for (; frame < FRAMES; frame++) {
        positions[frame].x = (float)frame;
        const firn_abc_points_data data = {POINTS, positions, NULL, NULL, NULL, NULL};
        ASSERT_OK(firn_abc_writer_put_points(writer, node, &data, error));
        ASSERT_OK(firn_abc_writer_end_frame(writer, error));
    }
    ASSERT_OK(firn_abc_writer_finish(writer, error));
    firn_free(positions);

    // The root group, the last thing in the file, has its six children.
    FILE *file = fopen("abc_large.abc", "rb");
    assert_non_null(file);
    uint64_t header[2], children = 0;
    assert_int_equal(fread(header, sizeof header, 1, file), 1);
    assert_true(header[1] > UINT32_MAX);
    assert_int_equal(fseek(file, (long)header[1], SEEK_SET), 0);
    assert_int_equal(fread(&children, sizeof children, 1, file), 1);
    assert_int_equal(children, 6);
    assert_int_equal(fseek(file, 6 * sizeof children, SEEK_CUR), 0);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    remove("abc_large.abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_points_give_the_bytes_of_the_official_library),
        cmocka_unit_test(deforming_mesh_gives_the_bytes_of_the_official_library),
        cmocka_unit_test(transform_hierarchy_gives_the_bytes_of_the_official_library),
        cmocka_unit_test(pauses_are_hashed_as_the_official_library_does),
        cmocka_unit_test(same_input_gives_the_same_bytes),
        cmocka_unit_test(one_file_per_frame_is_a_whole_archive_each),
        cmocka_unit_test(more_than_255_samples_are_readable),
        cmocka_unit_test(blocks_are_told_apart_by_key_and_size),
        cmocka_unit_test(equal_data_is_stored_once),
        cmocka_unit_test(file_has_its_name_only_when_it_is_whole),
        cmocka_unit_test(bounds_enclose_the_points_and_ignore_nan),
        cmocka_unit_test(bounds_and_keys_of_large_samples_are_those_of_the_whole),
        cmocka_unit_test(offsets_do_not_wrap_at_4_gib),
        cmocka_unit_test(archives_beyond_4_gib_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
