// Writes points as an Alembic archive and as plain bytes, in turn, and prints the ratio as CSV.
#include "firn/abc_write.h"
#include "firn/file.h"

#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 1000000, FRAMES = 24, ROUNDS = 5 };

typedef struct arrays {
    firn_vec3 *positions, *velocities;
    uint64_t *ids;
    float *widths;
} arrays;

static arrays make_arrays(void)
{
    arrays a = {firn_alloc(POINTS * sizeof *a.positions), firn_alloc(POINTS * sizeof *a.velocities),
                firn_alloc(POINTS * sizeof *a.ids), firn_alloc(POINTS * sizeof *a.widths)};
    if (a.positions == NULL || a.velocities == NULL || a.ids == NULL || a.widths == NULL)
        exit(1);
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

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : ".";
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/abc_bench.abc", directory);
    arrays a = make_arrays();
    const double megabytes = 36e-6 * POINTS * FRAMES;
    double best[3] = {1e30, 1e30, 1e30};
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < 3; kind++) {
            firn_error error;
            double start = firn_seconds();
            firn_result result = kind == 0 ? write_plain(&a, path, &error)
                                           : write_archive(&a, path, kind == 2, &error);
            double seconds = firn_seconds() - start;
            best[kind] = seconds < best[kind] ? seconds : best[kind];
            remove(path);
            if (result != FIRN_OK) {
                fprintf(stderr, "%s\n", error.message);
                return 1;
            }
        }
    puts("what,MB/s,ratio");
    const char *const names[3] = {"plain", "alembic", "alembic resumable"};
    for (int kind = 0; kind < 3; kind++)
        printf("%s,%.0f,%.2f\n", names[kind], megabytes / best[kind], best[0] / best[kind]);
    firn_free(a.positions);
    firn_free(a.velocities);
    firn_free(a.ids);
    firn_free(a.widths);
    return 0;
}
