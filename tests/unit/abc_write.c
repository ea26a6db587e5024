#include "abc_write_support.h"

#include "write.h"

#include <float.h>
#include <math.h>
#include <unistd.h>

static const char official[] = "Alembic 1.8.12 (built Nov 16 2026 04:10:59)";

// The samples of a fixture, in the order of the file.
typedef struct blocks {
    file_bytes file;
    size_t at;
} blocks;

static blocks open_blocks(const char *path, size_t at)
{
    return (blocks){read_whole(path), at};
}

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
    ASSERT_OK(firn_abc_writer_put_points(writer, node,
                                         &(firn_abc_points_data){2, first, ids, NULL, NULL, NULL},
                                         error));
    ASSERT_OK(firn_abc_writer_put_points(writer, node,
                                         &(firn_abc_points_data){2, second, ids, NULL, NULL, NULL},
                                         error));
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
    static int32_t indices[8192], counts[2048];
    for (frame = 0; frame < 12; frame++) {
        data.positions = next_block(&b, &bytes);
        data.point_count = bytes / sizeof(firn_vec3);
        if (frame == 0) {
            memcpy(indices, next_block(&b, &bytes), sizeof indices > 8192 ? 8192 : sizeof indices);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_points_give_the_bytes_of_the_official_library),
        cmocka_unit_test(deforming_mesh_gives_the_bytes_of_the_official_library),
        cmocka_unit_test(transform_hierarchy_gives_the_bytes_of_the_official_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
