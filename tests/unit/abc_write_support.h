/// What the tests of the Alembic writer share: whole files, blocks of fixtures, a small scene.
#ifndef FIRN_TEST_ABC_WRITE_SUPPORT_H
#define FIRN_TEST_ABC_WRITE_SUPPORT_H

#include "firn/abc_write.h"
#include "firn/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct file_bytes {
    unsigned char *bytes;
    size_t size;
} file_bytes;

static inline file_bytes read_whole(const char *path)
{
    file_bytes file = {NULL, 0};
    void *memory = NULL;
    firn_error error = {0};
    if (firn_file_read(path, (size_t)1 << 31, &memory, &file.size, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    file.bytes = memory;
    return file;
}

static inline bool file_exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file != NULL)
        fclose(file);
    return file != NULL;
}

static inline void assert_same_files(const char *a, const char *b)
{
    file_bytes left = read_whole(a), right = read_whole(b);
    assert_int_equal(left.size, right.size);
    for (size_t i = 0; i < left.size; i++)
        if (left.bytes[i] != right.bytes[i])
            fail_msg("%s and %s differ at byte %zu", a, b, i);
    firn_free(left.bytes);
    firn_free(right.bytes);
}

#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        firn_error ok_error = {0};                                                                 \
        firn_error *error = &ok_error;                                                             \
        if ((call) != FIRN_OK)                                                                     \
            fail_msg("%s", ok_error.message);                                                      \
    } while (0)

/// A scene that uses everything: counts that change, an empty frame, a pause, ids beyond 32 bits,
/// parameters of every kind, a moving mesh below a moving transform, an acyclic clock.
enum { SCENE_POINTS = 40, SCENE_VALUES = 9 * SCENE_POINTS };

typedef struct scene {
    firn_abc_node group, xform, points, late, mesh;
    firn_abc_clock frames, any;
} scene;

firn_result scene_declare(firn_abc_writer *writer, scene *s, firn_error *error);
firn_result scene_put_frame(firn_abc_writer *writer, const scene *s, uint32_t frame,
                            firn_error *error);

/// Writes frames from where an earlier run stopped up to `stop`; finishes if that is `total`.
firn_result scene_write(const char *path, bool resumable, uint32_t stop, uint32_t total,
                        firn_error *error);

#endif
