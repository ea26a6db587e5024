// PLY and STL: the same mesh from every encoding, and nothing but a sentence from damaged bytes.
#include "firn/polygons.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A pyramid: four vertices, a quad-free mesh with an element of its own in between.
static const float points[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1.5f, 0}, {0, 0, -2}};
static const int32_t faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

typedef struct bytes {
    unsigned char data[2048];
    size_t size;
} bytes;

static void put(bytes *b, const void *value, size_t size, bool swap)
{
    assert_true(b->size + size <= sizeof b->data);
    for (size_t i = 0; i < size; i++)
        b->data[b->size + i] = ((const unsigned char *)value)[swap ? size - 1 - i : i];
    b->size += size;
}

static void print(bytes *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    b->size +=
        (size_t)vsnprintf((char *)b->data + b->size, sizeof b->data - b->size, format, arguments);
    va_end(arguments);
}

static void print_header(bytes *b, const char *format, const char *end)
{
    print(b, "ply%sformat %s 1.0%scomment made by hand%s", end, format, end, end);
    print(b, "element vertex 4%sproperty uchar red%s", end, end);
    for (int i = 0; i < 3; i++)
        print(b, "property %s %c%s", i == 1 ? "double" : "float", "xyz"[i], end);
    for (int i = 0; i < 3; i++)
        print(b, "property float v%c%s", "xyz"[i], end);
    print(b, "element strip 1%sproperty list uchar int parts%s", end, end);
    print(b, "element face 4%sproperty list uchar int vertex_indices%s", end, end);
    print(b, "property short flags%send_header%s", end, end);
}

static bytes text_ply(const char *end)
{
    bytes b = {.size = 0};
    print_header(&b, "ascii", end);
    for (int i = 0; i < 4; i++)
        print(&b, "255 %g %g %g 1 2 %d%s", (double)points[i][0], (double)points[i][1],
              (double)points[i][2], i, end);
    print(&b, "2 7 8%s", end);
    for (int i = 0; i < 4; i++)
        print(&b, "3 %d %d %d -1%s", faces[i][0], faces[i][1], faces[i][2], end);
    return b;
}

static bytes binary_ply(bool big)
{
    bytes b = {.size = 0};
    print_header(&b, big ? "binary_big_endian" : "binary_little_endian", "\n");
    for (int i = 0; i < 4; i++) {
        const double y = (double)points[i][1];
        const float velocity[3] = {1, 2, (float)i};
        put(&b, "\377", 1, false);
        put(&b, &points[i][0], 4, big);
        put(&b, &y, 8, big);
        put(&b, &points[i][2], 4, big);
        for (int k = 0; k < 3; k++)
            put(&b, &velocity[k], 4, big);
    }
    const int32_t parts[2] = {7, 8};
    put(&b, "\2", 1, false);
    put(&b, &parts[0], 4, big);
    put(&b, &parts[1], 4, big);
    for (int i = 0; i < 4; i++) {
        const int16_t flags = -1;
        put(&b, "\3", 1, false);
        for (int k = 0; k < 3; k++)
            put(&b, &faces[i][k], 4, big);
        put(&b, &flags, 2, big);
    }
    return b;
}

static bytes binary_stl(void)
{
    bytes b = {.size = 80};
    const uint32_t count = 4;
    const float normal[3] = {0, 0, 0};
    put(&b, &count, 4, false);
    for (int i = 0; i < 4; i++) {
        put(&b, normal, sizeof normal, false);
        for (int k = 0; k < 3; k++)
            put(&b, points[faces[i][k]], sizeof points[0], false);
        put(&b, "\0", 2, false);
    }
    return b;
}

static bytes text_stl(void)
{
    bytes b = {.size = 0};
    print(&b, "solid pyramid\n");
    for (int i = 0; i < 4; i++) {
        print(&b, " facet normal 0 0 0\n  outer loop\n");
        for (int k = 0; k < 3; k++)
            print(&b, "   vertex %g %g %g\n", (double)points[faces[i][k]][0],
                  (double)points[faces[i][k]][1], (double)points[faces[i][k]][2]);
        print(&b, "  endloop\n endfacet\n");
    }
    print(&b, "endsolid pyramid\n");
    return b;
}

static void assert_pyramid(const firn_polygons *mesh)
{
    assert_int_equal(mesh->face_count, 4);
    assert_int_equal(mesh->index_count, 12);
    for (int i = 0; i < 12; i++) {
        firn_vec3 p = mesh->positions[mesh->face_indices[i]];
        const float *expected = points[faces[i / 3][i % 3]];
        assert_int_equal(mesh->face_counts[i / 3], 3);
        assert_true(p.x == expected[0] && p.y == expected[1] && p.z == expected[2]);
    }
}

typedef firn_result reader(const void *bytes, size_t size, const char *name, firn_polygons *mesh,
                           firn_error *error);

static const struct {
    const char *name;
    reader *read;
} readers[] = {{"ply", firn_ply_read_memory}, {"stl", firn_stl_read_memory}};

static size_t samples(bytes list[6], reader *read[6])
{
    const bytes made[6] = {text_ply("\n"),   text_ply("\r\n"), binary_ply(false),
                           binary_ply(true), binary_stl(),     text_stl()};
    for (int i = 0; i < 6; i++) {
        list[i] = made[i];
        read[i] = readers[i >= 4].read;
    }
    return 6;
}

static void every_encoding_gives_the_same_mesh(void **state)
{
    (void)state;
    static bytes list[6];
    reader *read[6];
    size_t count = samples(list, read);
    for (size_t i = 0; i < count; i++) {
        firn_polygons mesh;
        firn_error error = {0};
        if (read[i](list[i].data, list[i].size, "pyramid", &mesh, &error) != FIRN_OK)
            fail_msg("%s", error.message);
        assert_pyramid(&mesh);
        if (i < 4) {
            assert_int_equal(mesh.position_count, 4);
            assert_true(mesh.velocities[3].y == 2.0f && mesh.velocities[3].z == 3.0f);
        }
        firn_polygons_free(&mesh);
    }
}

static void files_that_are_cut_are_refused_by_name(void **state)
{
    (void)state;
    static bytes list[6];
    reader *read[6];
    size_t count = samples(list, read);
    for (size_t i = 0; i + 1 < count; i++) // the end of a text STL is only a word
        for (size_t size = 0; size + 3 < list[i].size; size++) {
            unsigned char *copy = malloc(size + 1); // so that a sanitizer sees the end
            memcpy(copy, list[i].data, size);
            firn_polygons mesh;
            firn_error error = {0};
            assert_int_equal(read[i](copy, size, "pyramid", &mesh, &error), FIRN_ERR_FORMAT);
            assert_non_null(strstr(error.message, "pyramid"));
            free(copy);
        }
}

static void flipped_bytes_give_a_mesh_or_a_sentence(void **state)
{
    (void)state;
    static bytes list[6];
    reader *read[6];
    size_t count = samples(list, read);
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < list[i].size; at++)
            for (int bit = 0; bit < 8; bit++) {
                bytes damaged = list[i];
                damaged.data[at] ^= (unsigned char)(1 << bit);
                firn_polygons mesh;
                if (read[i](damaged.data, damaged.size, "pyramid", &mesh, NULL) != FIRN_OK)
                    continue;
                for (size_t k = 0; k < mesh.index_count; k++)
                    assert_true((size_t)mesh.face_indices[k] < mesh.position_count);
                firn_polygons_free(&mesh);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_gives_the_same_mesh),
        cmocka_unit_test(files_that_are_cut_are_refused_by_name),
        cmocka_unit_test(flipped_bytes_give_a_mesh_or_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
