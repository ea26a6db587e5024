/// `firn bench alembic`: a million points over a second, written and read.
#include "bench.h"

#include "firn/abc.h"
#include "firn/abc_write.h"
#include "firn/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 1000000, FRAMES = 24, BYTES = 36 * POINTS };
enum { POINTS_OBJECT = 1 }; // the only child of the root

typedef struct arrays {
    firn_vec3 *positions, *velocities;
    uint64_t *ids;
    float *widths;
} arrays;

static arrays make_arrays(void)
{
    arrays a = {firn_bench_take(POINTS * sizeof *a.positions),
                firn_bench_take(POINTS * sizeof *a.velocities),
                firn_bench_take(POINTS * sizeof *a.ids),
                firn_bench_take(POINTS * sizeof *a.widths)};
    for (size_t i = 0; i < POINTS; i++) {
        a.positions[i] = firn_vec((float)i, (float)(i * 7919 % 1000), 1.0f);
        a.velocities[i] = firn_vec(0.0f, (float)i, 1.0f);
        a.ids[i] = i;
        a.widths[i] = (float)i;
    }
    return a;
}

// Every array differs from frame to frame, so nothing is shared.
static void move(arrays *a, int frame)
{
    a->positions[0].x = (float)frame;
    a->velocities[0].x = (float)frame;
    a->ids[0] = (uint64_t)frame;
    a->widths[0] = (float)frame;
}

static firn_result write_archive(arrays *a, const char *path, bool resumable, firn_error *error)
{
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.resumable = resumable;
    firn_abc_writer *writer = NULL;
    FIRN_TRY(firn_abc_writer_create(path, &def, &writer, error));
    firn_abc_points_def points = firn_abc_points_def_default();
    points.velocities = true;
    points.widths = true;
    firn_abc_node node;
    uint32_t frame;
    FIRN_TRY(firn_abc_writer_add_clock(writer, 0.0, 1.0 / 24.0, &points.clock, error));
    FIRN_TRY(firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "p", &points, &node, error));
    FIRN_TRY(firn_abc_writer_begin(writer, &frame, error));
    for (; frame < FRAMES; frame++) {
        move(a, (int)frame);
        const firn_abc_points_data data = {POINTS,        a->positions, a->ids,
                                           a->velocities, a->widths,    NULL};
        FIRN_TRY(firn_abc_writer_put_points(writer, node, &data, error));
        FIRN_TRY(firn_abc_writer_end_frame(writer, error));
    }
    return firn_abc_writer_finish(writer, error);
}

static firn_result write_plain(arrays *a, const char *path, firn_error *error)
{
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_create(path, &file, error));
    for (int frame = 0; frame < FRAMES; frame++) {
        move(a, frame);
        firn_file_write(file, a->positions, POINTS * sizeof *a->positions);
        firn_file_write(file, a->ids, POINTS * sizeof *a->ids);
        firn_file_write(file, a->velocities, POINTS * sizeof *a->velocities);
        firn_file_write(file, a->widths, POINTS * sizeof *a->widths);
    }
    return firn_file_commit(file, error);
}

static firn_result read_plain(const char *path, void *frame, firn_error *error)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return firn_fail(error, FIRN_ERR_IO, "cannot read '%s'", path);
    size_t frames = 0;
    while (fread(frame, BYTES, 1, file) == 1)
        frames++;
    fclose(file);
    return frames == FRAMES ? FIRN_OK : firn_fail(error, FIRN_ERR_IO, "cannot read '%s'", path);
}

static firn_result read_archive(const char *path, firn_error *error)
{
    firn_abc *archive = NULL;
    FIRN_TRY(firn_abc_open(path, &archive, error));
    firn_result result = FIRN_OK;
    for (int frame = 0; frame < FRAMES && result == FIRN_OK; frame++) {
        firn_abc_points points;
        result = firn_abc_read_points(archive, POINTS_OBJECT, frame / 24.0, &points, error);
        firn_abc_points_free(&points);
    }
    firn_abc_close(archive);
    return result;
}

enum { PLAIN, ARCHIVE, RESUMABLE, KINDS };

static void measure_round(arrays *a, const char *path, void *frame, double best[KINDS][2])
{
    for (int kind = 0; kind < KINDS; kind++) {
        firn_error error;
        double start = firn_seconds();
        firn_bench_check(kind == PLAIN ? write_plain(a, path, &error)
                                       : write_archive(a, path, kind == RESUMABLE, &error),
                         &error);
        double written = firn_seconds();
        firn_bench_check(
            kind == PLAIN ? read_plain(path, frame, &error) : read_archive(path, &error), &error);
        double done = firn_seconds();
        best[kind][0] = fmin(best[kind][0], written - start);
        best[kind][1] = fmin(best[kind][1], done - written);
        remove(path);
    }
}

void firn_bench_alembic(const char *folder)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/firn_bench.abc", folder);
    arrays a = make_arrays();
    void *frame = firn_bench_take(BYTES);
    double best[KINDS][2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}, {INFINITY, INFINITY}};
    for (int round = 0; round < FIRN_BENCH_ROUNDS; round++)
        measure_round(&a, path, frame, best);
    const double megabytes = 1e-6 * BYTES * FRAMES;
    const char *const names[KINDS] = {"plain", "alembic", "alembic resumable"};
    printf("what,write MB/s,speed against plain,read MB/s,speed against plain\n");
    for (int kind = 0; kind < KINDS; kind++)
        printf("%s,%.0f,%.2f,%.0f,%.2f\n", names[kind], megabytes / best[kind][0],
               best[PLAIN][0] / best[kind][0], megabytes / best[kind][1],
               best[PLAIN][1] / best[kind][1]);
    firn_free(frame);
    firn_free(a.positions);
    firn_free(a.velocities);
    firn_free(a.ids);
    firn_free(a.widths);
}
