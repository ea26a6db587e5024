// Speed of the VDB bridge, as CSV: stage, threads, seconds, MB, MB/s, ratio to a copy of the same
// bytes in the same run.
//   vdb_bench FOLDER
#define _POSIX_C_SOURCE 200809L
#include "firn/file.h"
#include "firn/vdb.h"
#include "firn/vdb_points.h"
#include "firn/vdb_surface.h"
#include "firn/vdb_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { REPEATS = 3, EDGE = 172, TORUS_RINGS = 200, TORUS_SECTORS = 50, POINTS = 1000000 };

static void check(firn_result result, const firn_error *error)
{
    if (result != FIRN_OK) {
        fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

static void *take(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL)
        exit(1);
    return memory;
}

static float noise(uint64_t i)
{
    return (float)(firn_hash64(&i, sizeof i, 0) >> 40) / (float)(1 << 24);
}

/// A cube of EDGE^3 voxels with smooth density and some noise.
static firn_field_view make_field(void)
{
    size_t side = (EDGE + 7) / 8, leaves = side * side * side;
    firn_coord *origin = take(leaves * sizeof *origin);
    uint64_t *mask = take(8 * leaves * sizeof *mask);
    float *density = take(512 * leaves * sizeof *density);
    firn_vec3 *velocity = take(512 * leaves * sizeof *velocity);
    for (size_t leaf = 0; leaf < leaves; leaf++) {
        firn_coord o = {(int32_t)(8 * (leaf / (side * side))), (int32_t)(8 * (leaf / side % side)),
                        (int32_t)(8 * (leaf % side))};
        origin[leaf] = o;
        for (int n = 0; n < 512; n++) {
            int x = o.x + (n >> 6), y = o.y + ((n >> 3) & 7), z = o.z + (n & 7);
            if (x >= EDGE || y >= EDGE || z >= EDGE)
                continue;
            size_t at = 512 * leaf + (size_t)n;
            mask[8 * leaf + (size_t)(n >> 6)] |= (uint64_t)1 << (n & 63);
            density[at] = 300.0f + 100.0f * sinf(0.05f * (float)(x + y)) + 20.0f * noise(at);
            velocity[at] =
                firn_vec(sinf(0.02f * (float)y), cosf(0.03f * (float)z), 0.1f * noise(at + 1));
        }
    }
    firn_field_view view = {.voxel_size = 0.01f,
                            .leaf_count = leaves,
                            .leaf_origin = origin,
                            .mask = mask,
                            .density = density,
                            .velocity = velocity};
    return view;
}

/// Seconds to write, sync and rename the bytes of a file beside it.
static double copy_seconds(const char *path)
{
    firn_error error;
    void *bytes = NULL;
    size_t size;
    char copy[FIRN_PATH_SIZE];
    snprintf(copy, sizeof copy, "%s.copy", path);
    check(firn_file_read(path, SIZE_MAX, &bytes, &size, &error), &error);
    double best = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        double start = firn_seconds();
        firn_file_writer *file = NULL;
        check(firn_file_create(copy, &file, &error), &error);
        firn_file_write(file, bytes, size);
        check(firn_file_commit(file, &error), &error);
        best = fmin(best, firn_seconds() - start);
    }
    firn_free(bytes);
    remove(copy);
    return best;
}

static double read_seconds(const char *path)
{
    double best = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        firn_error error;
        void *bytes = NULL;
        size_t size;
        double start = firn_seconds();
        check(firn_file_read(path, SIZE_MAX, &bytes, &size, &error), &error);
        best = fmin(best, firn_seconds() - start);
        firn_free(bytes);
    }
    return best;
}

static void report(const char *stage, int threads, double seconds, double bytes, double copy)
{
    printf("%s,%d,%.4f,%.2f,%.1f,%.2f\n", stage, threads, seconds, 1e-6 * bytes,
           1e-6 * bytes / seconds, copy > 0.0 ? seconds / copy : 0.0);
    fflush(stdout);
}

static void bench_volume(const char *path, firn_vdb_reader *reader)
{
    static const struct {
        const char *name;
        bool half;
        int compression;
    } kinds[] = {{"half+blosc", true, FIRN_VDB_BLOSC},
                 {"float+blosc", false, FIRN_VDB_BLOSC},
                 {"half+none", true, FIRN_VDB_NONE}};
    firn_error error;
    firn_field_view view = make_field();
    firn_vdb_content content = {.field = &view};
    for (size_t kind = 0; kind < FIRN_COUNT(kinds); kind++)
        for (int threads = 1; threads <= 2; threads++) {
            firn_vdb_write_def def = firn_vdb_write_def_default();
            def.half = kinds[kind].half;
            def.compression = kinds[kind].compression;
            def.thread_count = threads;
            firn_vdb_stamp stamp;
            double best[3] = {INFINITY, INFINITY, INFINITY};
            for (int i = 0; i < REPEATS; i++) {
                double start = firn_seconds();
                check(firn_vdb_write(path, &def, &content, &stamp, &error), &error);
                best[0] = fmin(best[0], firn_seconds() - start);
                for (int trusted = 0; trusted < 2; trusted++) {
                    firn_vdb_volume *volume = NULL;
                    start = firn_seconds();
                    check(firn_vdb_read_volume(reader, path, trusted ? &stamp : NULL, NULL, &volume,
                                               &error),
                          &error);
                    best[1 + trusted] = fmin(best[1 + trusted], firn_seconds() - start);
                    firn_vdb_volume_destroy(volume);
                }
            }
            char stage[64];
            double size = (double)stamp.size;
            snprintf(stage, sizeof stage, "write density+vel %s", kinds[kind].name);
            report(stage, threads, best[0], size, copy_seconds(path));
            snprintf(stage, sizeof stage, "read foreign %s", kinds[kind].name);
            report(stage, threads, best[1], size, read_seconds(path));
            snprintf(stage, sizeof stage, "read own %s", kinds[kind].name);
            report(stage, threads, best[2], size, read_seconds(path));
        }
    free((void *)view.leaf_origin);
    free((void *)view.mask);
    free((void *)view.density);
    free((void *)view.velocity);
}

/// A torus of 20,000 triangles about as large as a person.
static void bench_mesh(void)
{
    enum { COUNT = TORUS_RINGS * TORUS_SECTORS };
    firn_error error;
    firn_vec3 *points = take(COUNT * sizeof *points), *velocity = take(COUNT * sizeof *velocity);
    int32_t *indices = take(6 * COUNT * sizeof *indices);
    for (int i = 0; i < COUNT; i++) {
        int ring = i / TORUS_SECTORS, sector = i % TORUS_SECTORS;
        float a = 6.2831853f * (float)ring / TORUS_RINGS;
        float b = 6.2831853f * (float)sector / TORUS_SECTORS;
        float r = 0.7f + 0.2f * cosf(b);
        points[i] = firn_vec(r * cosf(a), 0.2f * sinf(b), r * sinf(a));
        velocity[i] = firn_vec(1.0f, 0.0f, 0.0f);
        int32_t right = (ring + 1) % TORUS_RINGS * TORUS_SECTORS + sector;
        int32_t up = ring * TORUS_SECTORS + (sector + 1) % TORUS_SECTORS;
        int32_t both = (ring + 1) % TORUS_RINGS * TORUS_SECTORS + (sector + 1) % TORUS_SECTORS;
        int32_t face[6] = {i, up, both, i, both, right};
        memcpy(indices + 6 * i, face, sizeof face);
    }
    firn_vdb_mesh mesh = {COUNT, points, velocity, 2 * COUNT, NULL, 6 * COUNT, indices};
    for (int threads = 1; threads <= 2; threads++) {
        firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
        def.thread_count = threads;
        double best = INFINITY, bytes = 0.0;
        for (int i = 0; i < REPEATS; i++) {
            firn_vdb_shape *shape = NULL;
            double start = firn_seconds();
            check(firn_vdb_shape_from_mesh(&def, &mesh, &shape, &error), &error);
            best = fmin(best, firn_seconds() - start);
            bytes = 2048.0 * (double)firn_vdb_shape_level_set(shape)->leaf_count;
            firn_vdb_shape_destroy(shape);
        }
        report("mesh of 20000 triangles at 2 cm", threads, best, bytes, 0.0);
    }
    free(points);
    free(velocity);
    free(indices);
}

static void bench_points(const char *path, firn_vdb_reader *reader)
{
    firn_error error;
    firn_vec3 *position = take(POINTS * sizeof *position),
              *velocity = take(POINTS * sizeof *velocity);
    int32_t *id = take(POINTS * sizeof *id);
    for (int i = 0; i < POINTS; i++) {
        uint64_t n = 3 * (uint64_t)i;
        position[i] = firn_vec(noise(n), noise(n + 1), noise(n + 2));
        velocity[i] = firn_vec(position[i].y, -9.81f * position[i].x, 0.0f);
        id[i] = i;
    }
    firn_vdb_attribute attributes[2] = {{"v", FIRN_VDB_ATTRIBUTE_VEC3, velocity},
                                        {"id", FIRN_VDB_ATTRIBUTE_INT, id}};
    firn_vdb_points points = {POINTS, position, 2, attributes};
    for (int threads = 1; threads <= 2; threads++) {
        firn_vdb_points_def def = firn_vdb_points_def_default();
        def.thread_count = threads;
        firn_vdb_stamp stamp;
        double best[2] = {INFINITY, INFINITY};
        for (int i = 0; i < REPEATS; i++) {
            double start = firn_seconds();
            check(firn_vdb_write_points(path, &def, &points, &stamp, &error), &error);
            best[0] = fmin(best[0], firn_seconds() - start);
            firn_vdb_cloud *cloud = NULL;
            start = firn_seconds();
            check(firn_vdb_read_points(reader, path, &stamp, NULL, &cloud, &error), &error);
            best[1] = fmin(best[1], firn_seconds() - start);
            firn_vdb_cloud_destroy(cloud);
        }
        report("write 1M points", threads, best[0], (double)stamp.size, copy_seconds(path));
        report("read 1M points", threads, best[1], (double)stamp.size, read_seconds(path));
    }
    free(position);
    free(velocity);
    free(id);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%s/vdb_bench.vdb", argv[1]);
    firn_error error;
    firn_vdb_reader_def def = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    check(firn_vdb_reader_create(&def, &reader, &error), &error);
    printf("stage,threads,seconds,MB,MB/s,ratio to copy\n");
    bench_volume(path, reader);
    bench_mesh();
    bench_points(path, reader);
    firn_vdb_reader_destroy(reader);
    remove(path);
    return 0;
}
