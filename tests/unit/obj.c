#define _POSIX_C_SOURCE 200809L
#include "firn/obj.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static firn_obj *read_text(const char *text)
{
    firn_error error = {0};
    firn_obj *obj = NULL;
    if (firn_obj_read_memory(text, strlen(text), "text", &obj, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return obj;
}

static void assert_mesh(const char *text, size_t positions, const int32_t *counts, size_t faces,
                        const int32_t *indices)
{
    firn_obj *obj = read_text(text);
    const firn_obj_mesh *mesh = firn_obj_view(obj);
    assert_int_equal(mesh->position_count, positions);
    assert_int_equal(mesh->face_count, faces);
    size_t corners = 0;
    for (size_t i = 0; i < faces; i++) {
        assert_int_equal(mesh->face_counts[i], counts[i]);
        corners += (size_t)counts[i];
    }
    assert_int_equal(mesh->index_count, corners);
    if (corners > 0)
        assert_memory_equal(mesh->face_indices, indices, corners * sizeof *indices);
    firn_obj_destroy(obj);
}

static void positions_and_faces_are_read(void **state)
{
    (void)state;
    static const int32_t counts[] = {3, 4, 5}, indices[] = {0, 1, 2, 0, 1, 2, 3, 4, 3, 2, 1, 0};
    assert_mesh("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0.5 0.5 1\n"
                "f 1 2 3\nf 1 2 3 4\nf 5 4 3 2 1\n",
                5, counts, 3, indices);
    firn_obj *obj = read_text("v 0 0 0\nv 1 -2 3e1\nv 1 1 0\nv 4 4 4\nf 1 2 3\nf 1 2 3 4");
    const firn_obj_mesh *mesh = firn_obj_view(obj);
    assert_true(mesh->triangle_count == 1 && mesh->quad_count == 1);
    assert_true(mesh->lower.x == 0 && mesh->lower.y == -2 && mesh->lower.z == 0);
    assert_true(mesh->upper.x == 4 && mesh->upper.y == 4 && mesh->upper.z == 30);
    assert_true(mesh->positions[1].z == 30.0f);
    firn_obj_destroy(obj);
}

static void the_rest_of_the_format_is_passed_over(void **state)
{
    (void)state;
    static const int32_t counts[] = {3, 3, 3, 4},
                         indices[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
    assert_mesh("\xEF\xBB\xBF# exporter 1.0\r\nmtllib a.mtl\r\no thing\r\n"
                "v 0 0 0 1.0 0.5 0.25 0.125\r\nv\t1 0 0 1.0\r\n  v 1 1 0 # corner\r\n"
                "vn 0 0 1\r\nvt 0.5 0.5\r\nvp 1 2\r\ng left\r\ns off\r\nusemtl snow\r\n"
                "f 1/1/1 2/1/1 3/1/1\r\nf 1//1 2//1 3//1\r\nf 1/1 2/1 3/1 # last\r\n"
                "l 1 2\r\np 1\r\ncurv2 0 1\r\n\r\n"
                "f 1 \\\r\n 2 \\\r\n 3 1\r\nfoo bar",
                3, counts, 4, indices);
    // line ends of old machines, and a comment that continues
    assert_mesh("v 0 0 0\rv 1 0 0\rv 1 1 0\r# x \\\rf 9 9 9\rf 1 2 3", 3, counts, 1, indices);
}

static void negative_indices_count_from_the_last_vertex(void **state)
{
    (void)state;
    static const int32_t counts[] = {3, 3}, indices[] = {0, 1, 2, 1, 2, 3};
    assert_mesh("v 0 0 0\nv 1 0 0\nv 1 1 0\nf -3 -2 -1\nv 0 0 1\nf -3 -2 -1\n", 4, counts, 2,
                indices);
}

static void faces_may_come_before_their_vertices(void **state)
{
    (void)state;
    static const int32_t counts[] = {3}, indices[] = {0, 1, 2};
    assert_mesh("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 1 1 0\n", 3, counts, 1, indices);
}

static void errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"v 0 0 0\nv 1 x 0\n", "line 2: a coordinate is not a number"},
        {"v 0 0 0\nv 1 1.5.2 0\n", "line 2: a coordinate is not a number"},
        {"v 0 0 nan\n", "line 1: a coordinate is not a number"},
        {"\n\nv 0 0\n", "line 3: a vertex needs three"},
        {"v 0 0 \\\n\n", "line 2: a vertex needs three"},
        {"v 0 0 1e39\n", "line 1: a coordinate is too large"},
        {"v 0 0 0\nf 1 1\n", "line 2: a face needs"},
        {"v 0 0 0\nf 1 1 0\n", "line 2: a face uses a vertex"},
        {"v 0 0 0\nf 1 1 -2\n", "line 2: a face uses a vertex"},
        {"v 0 0 0\n# c\nf 1 1 2\nf 1 1 1\n", "line 3: a face uses a vertex"},
        {"v 0 0 0\nf 1 1 99999999999999999999\n", "line 2: a vertex number"},
        {"v 0 0 0\nf 1 1 1x\n", "line 2: a vertex number"},
        {"v 0 0 0\nf 1 1 1.5\n", "line 2: a vertex number"},
        {"v 0 0 0\r\nf 1 1 a\r\n", "line 2: a vertex number"},
        {"", "no vertices"},
        {"P6 100 100 255\n", "no vertices"},
    };
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_error error = {0};
        firn_obj *obj = NULL;
        assert_int_equal(
            firn_obj_read_memory(cases[i].text, strlen(cases[i].text), "bad.obj", &obj, &error),
            FIRN_ERR_FORMAT);
        assert_null(obj);
        assert_non_null(strstr(error.message, "bad.obj"));
        if (strstr(error.message, cases[i].words) == NULL)
            fail_msg("'%s' lacks '%s'", error.message, cases[i].words);
    }
    firn_obj *obj = NULL;
    assert_int_equal(firn_obj_read("absent.obj", &obj, NULL), FIRN_ERR_NOT_FOUND);
}

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ (*seed >> 29);
}

static void printed_floats_come_back_exactly(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    char *text = malloc(COUNT * 64);
    float *expected = malloc(COUNT * 3 * sizeof *expected);
    size_t size = 0;
    uint64_t seed = 4;
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < 3; k++)
            expected[3 * i + k] = (float)((double)(int64_t)random_next(&seed) * 1e-17);
        size += (size_t)snprintf(text + size, 64, "v %.9g %.9g %.9g\n", expected[3 * i],
                                 expected[3 * i + 1], expected[3 * i + 2]);
    }
    firn_obj *obj = NULL;
    assert_int_equal(firn_obj_read_memory(text, size, "x", &obj, NULL), FIRN_OK);
    assert_memory_equal(firn_obj_view(obj)->positions, expected, COUNT * 3 * sizeof *expected);
    firn_obj_destroy(obj);
    free(text);
    free(expected);
}

static const char sample[] = "# s\nv 0 0 0\nv 1e0 -.5 2.5E+1\nv 1 1 0 \\\n 0.5\nvt 0 0\n"
                             "f 1/1 2/2 3/3\nf -3 -2 -1 # x\r\nf 1//1 2//1 3//1 1\n";

static void truncations_and_mutations_do_no_harm(void **state)
{
    (void)state;
    size_t size = sizeof sample - 1;
    uint64_t seed = 8;
    for (int i = 0; i < 20000; i++) {
        size_t cut = i < (int)size ? (size_t)i : size;
        char *copy = malloc(cut + 1);
        memcpy(copy, sample, cut);
        char *exact = malloc(cut > 0 ? cut : 1);
        for (int k = 0; i >= (int)size && k < 1 + i % 3; k++) {
            static const char nasty[] = "\\\n\r/-+.e#9 0vf\t\0\xFF";
            uint64_t bits = random_next(&seed);
            copy[bits % cut] = nasty[(bits >> 40) % (sizeof nasty - 1)];
        }
        memcpy(exact, copy, cut);
        firn_obj *obj = NULL;
        firn_error error = {0};
        firn_result result = firn_obj_read_memory(exact, cut, "x", &obj, &error);
        assert_true(result == FIRN_OK || (result == FIRN_ERR_FORMAT && error.message[0] != '\0'));
        for (size_t k = 0; result == FIRN_OK && k < firn_obj_view(obj)->index_count; k++)
            assert_true((size_t)firn_obj_view(obj)->face_indices[k] <
                        firn_obj_view(obj)->position_count);
        firn_obj_destroy(obj);
        free(copy);
        free(exact);
    }
}

static size_t allocations, failing_allocation;

static void *failing_allocate(size_t size, size_t alignment, void *user)
{
    (void)user;
    void *memory = NULL;
    if (++allocations == failing_allocation || posix_memalign(&memory, alignment, size) != 0)
        return NULL;
    return memory;
}

static void plain_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    static const firn_allocator failing = {failing_allocate, plain_release, NULL};
    FILE *file = fopen("memory.obj", "w");
    assert_non_null(file);
    for (int i = 0; i < 3000; i++)
        fprintf(file, "v %d 0 0\nf 1 1 1\n", i);
    fclose(file);
    firn_set_allocator(&failing);
    firn_result result = FIRN_ERR_MEMORY;
    for (failing_allocation = 1; result != FIRN_OK; failing_allocation++) {
        firn_obj *obj = NULL;
        allocations = 0;
        result = firn_obj_read("memory.obj", &obj, NULL);
        assert_true(result == FIRN_OK || result == FIRN_ERR_MEMORY);
        firn_obj_destroy(obj);
        assert_true(failing_allocation < 100);
    }
    assert_true(failing_allocation > 8);
    firn_set_allocator(NULL);
    unlink("memory.obj");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_and_faces_are_read),
        cmocka_unit_test(the_rest_of_the_format_is_passed_over),
        cmocka_unit_test(negative_indices_count_from_the_last_vertex),
        cmocka_unit_test(faces_may_come_before_their_vertices),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(printed_floats_come_back_exactly),
        cmocka_unit_test(truncations_and_mutations_do_no_harm),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
